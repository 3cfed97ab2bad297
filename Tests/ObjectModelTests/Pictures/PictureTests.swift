import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// The pictures of a difference: that they are well formed, and that nothing from a model gets through
/// as markup.
struct PictureTests {
  static func page(_ old: ManagedObjectModel, _ new: ManagedObjectModel) -> String {
    DifferencePage(
      oldName: "old", newName: "new", from: old, to: new, ModelDifference(from: old, to: new)
    ).html
  }

  /// A mark that combines with a quotation mark before it makes both one `Character`, and escapes nothing.
  @Test(arguments: ["\u{301}", "\u{338}", "\u{FE0F}", "\u{200D}", "\u{1F3FD}"])
  func quotesWithMarksEndNoText(_ mark: String) {
    let name =
      "A\"\(mark)=1, URL=\"\(mark)javascript:alert(1)\"\(mark), x=\"\(mark)\\\(mark)`\(mark)<\(mark)b"
    var new = ManagedObjectModel(entities: [
      Entity(
        name: name,
        relationships: [
          Relationship(name: "r" + name, destinationEntityName: name, isOptional: true)
        ])
    ])
    let old = new
    new.entities[name]?.attributes = [Attribute(name: name, type: .string, isOptional: true)]
    let diagram = ModelDiagram(from: old, to: new, ModelDifference(from: old, to: new))
    // Outside of quoted strings nothing of the name is left.
    var outside = ""
    var isQuoted = false
    var isEscaped = false
    for scalar in diagram.dotText.unicodeScalars {
      if isEscaped {
        isEscaped = false
      } else if isQuoted, scalar == "\\" {
        isEscaped = true
      } else if scalar == "\"" {
        isQuoted.toggle()
      } else if !isQuoted {
        outside.unicodeScalars.append(scalar)
      }
    }
    #expect(!isQuoted)
    #expect(!outside.contains("URL"), "\(outside)")
    #expect(!diagram.mermaidText.unicodeScalars.contains { "<`\\".unicodeScalars.contains($0) })
    let page = Self.page(old, new)
    let tags = page.unicodeScalars.split(separator: "<").dropFirst()
      .map { String(String.UnicodeScalarView($0.prefix(1))) }
    #expect(!tags.contains(mark))
  }

  /// Everything that could be taken for markup, or hide or reorder text.
  static let evil = "</script><img src=x onerror='1'>\"&\\\u{202E}\u{0}\u{200B}--> ]]> #lt; {|}"

  static let evilModels: (ManagedObjectModel, ManagedObjectModel) = {
    let old = ManagedObjectModel(entities: [
      Entity(
        name: "A" + evil,
        attributes: [Attribute(name: evil, type: .string, defaultValue: .string(evil))],
        relationships: [
          Relationship(name: "r" + evil, destinationEntityName: "A" + evil, isOptional: true)
        ], userInfo: [:])
    ])
    var new = old
    new.entities["A" + evil]?.attributes = []
    new.entities["A" + evil]?.className = evil
    new.entities["A" + evil]?.relationships[0].isOptional = false
    new.entities["B" + evil] = Entity(name: "B" + evil, superentityName: "A" + evil)
    new.configurations[evil] = [evil]
    return (old, new)
  }()

  @Test func nothingGetsThroughAsMarkup() throws {
    let page = Self.page(Self.evilModels.0, Self.evilModels.1)
    for part in ["<script", "<img", "onerror='", "\u{202E}", "\u{0}", "\u{200B}", "]]>"] {
      #expect(!page.contains(part), "\(part)")
    }
    #expect(page.contains("&lt;img src=x"))
    #expect(page.contains("\\u{202E}"))
    try Self.expectWellFormed(page)
  }

  /// One file: no script, nothing from elsewhere.
  @Test func thePageNeedsNothingElse() throws {
    for family in try ModelFamilies.all() {
      guard let old = family.versions.first?.model, let new = family.versions.last?.model
      else { continue }
      let page = Self.page(old, new)
      for part in ["<script", "src=", "href=", "http:", "https:", "@import", "url(h", "javascript"]
      {
        #expect(!page.contains(part), "\(family.name): \(part)")
      }
      #expect(page.contains("default-src 'none'"))
      #expect(page.components(separatedBy: "<h1>").count == 2)
      try Self.expectWellFormed(page)
      // Every change is told.
      let difference = ModelDifference(from: old, to: new)
      #expect(page.components(separatedBy: "<li class=").count == difference.changes.count + 1)
    }
  }

  /// The page is XML too, but for elements that HTML leaves open.
  static func expectWellFormed(_ page: String) throws {
    var text = page.replacingOccurrences(of: "<!DOCTYPE html>\n", with: "")
    for match in page.matches(of: /<meta [^>]*>/) {
      text = text.replacingOccurrences(of: String(match.output), with: "")
    }
    let parser = XMLParser(data: Data(text.utf8))
    let isParsed = parser.parse()
    #expect(isParsed, "line \(parser.lineNumber): \(String(describing: parser.parserError))")
  }

  /// A small reader of the DOT grammar: statements of identifiers, edges and attribute lists whose
  /// values are quoted strings or words.
  static func dotStatements(_ text: String) -> [String]? {
    var rest = text[...]
    guard rest.hasPrefix("digraph model {\n"), rest.hasSuffix("}\n") else { return nil }
    rest = rest.dropFirst(16).dropLast(2)
    var found: [String] = []
    let statement =
      /\s*([A-Za-z0-9]+(?: -> [A-Za-z0-9]+)?) \[((?:[a-z]+=(?:"(?:[^"\\\n]|\\.)*"|[A-Za-z0-9]+)(?:, )?)*)\];\n/
    while !rest.isEmpty {
      guard let match = rest.prefixMatch(of: statement) else { return nil }
      found.append(String(match.output.1))
      rest = rest[match.range.upperBound...]
    }
    return found
  }

  @Test func dot() throws {
    let (old, new) = Self.evilModels
    let evil = ModelDiagram(from: old, to: new, ModelDifference(from: old, to: new))
    #expect(Self.dotStatements(evil.dotText)?.count == 3 + evil.boxes.count + evil.lines.count)
    for family in try ModelFamilies.all() {
      guard let old = family.versions.first?.model, let new = family.versions.last?.model
      else { continue }
      let diagram = ModelDiagram(from: old, to: new, ModelDifference(from: old, to: new))
      let statements = try #require(Self.dotStatements(diagram.dotText), "\(family.name)")
      let extra = diagram.leftOutCount > 0 ? 1 : 0
      #expect(statements.count == 3 + diagram.boxes.count + diagram.lines.count + extra)
    }
  }

  /// Each line of a Mermaid class diagram is one of the forms that its documentation gives.
  static func isMermaid(_ line: Substring) -> Bool {
    let forms = [
      #/classDiagram/#,
      #/ {2}class (?:E[0-9]+|Rest)\["(?:[\p{L}\p{N} _.,+\/→−\-]|#[0-9]+;)+"\]/#,
      #/ {2}E[0-9]+ : (?:[+#\-] )?(?:[\p{L}\p{N} _.,+\/→−\-]|#[0-9]+;)+/#,
      #/ {2}E[0-9]+ <\|(?:--|\.\.) E[0-9]+/#,
      #/ {2}E[0-9]+ (?:-->|\.\.>) "[1*]" E[0-9]+(?: : (?:[\p{L}\p{N} _.,+\/→−\-]|#[0-9]+;)+)?/#,
      #/ {2}style E[0-9]+ fill:#[0-9a-f]{6},stroke:#[0-9a-f]{6},color:#[0-9a-f]{6}/#,
    ]
    return forms.contains { line.wholeMatch(of: $0) != nil }
  }

  @Test func mermaid() throws {
    var pairs = [Self.evilModels]
    for family in try ModelFamilies.all() {
      if let old = family.versions.first?.model, let new = family.versions.last?.model {
        pairs.append((old, new))
      }
    }
    for (old, new) in pairs {
      let diagram = ModelDiagram(from: old, to: new, ModelDifference(from: old, to: new))
      for line in diagram.mermaidText.split(separator: "\n") {
        #expect(Self.isMermaid(line), "\(line)")
      }
    }
  }

  @Test func whatIsDrawn() {
    var new = HashEffectTests.base
    new.entities["Other"] = nil
    new.entities["New"] = Entity(name: "New", superentityName: "Item")
    new.entities["Tag"]?.relationships[0].isOrdered = true
    let difference = ModelDifference(from: HashEffectTests.base, to: new)
    let diagram = ModelDiagram(from: HashEffectTests.base, to: new, difference)
    let statuses = Dictionary(uniqueKeysWithValues: diagram.boxes.map { ($0.name, $0.status) })
    #expect(
      statuses == [
        "Item": .same, "Note": .same, "Memo": .same, "New": .added, "Other": .removed,
        "Tag": .changed,
      ])
    let lines = diagram.lines.map { line in
      "\(diagram.boxes[line.source].name) \(diagram.boxes[line.target].name) \(line.status)"
    }
    #expect(
      lines.sorted() == [
        "Memo Note same", "New Item added", "Note Item same", "Tag Note changed",
      ])
    #expect(diagram.leftOutCount == 0)
  }

  /// An entity that leaves its parent: the old line is drawn as gone; a renamed parent is the same.
  @Test func parentsThatChange() {
    func lines(_ change: (inout ManagedObjectModel) -> Void) -> [String] {
      var new = HashEffectTests.base
      change(&new)
      let diagram = ModelDiagram(
        from: HashEffectTests.base, to: new, ModelDifference(from: HashEffectTests.base, to: new))
      return diagram.lines.filter { $0.kind == .parent }.map { line in
        "\(diagram.boxes[line.source].name) \(diagram.boxes[line.target].name) \(line.status)"
      }.sorted()
    }
    #expect(
      lines { $0.entities["Memo"]?.superentityName = "Item" } == [
        "Memo Item added", "Memo Note removed", "Note Item same",
      ])
    let renamed = lines { model in
      var item = model.entities.removeValue(forKey: "Item") ?? Entity(name: "")
      item.name = "Thing"
      item.renamingIdentifier = "Item"
      model.entities["Thing"] = item
      model.entities["Note"]?.superentityName = "Thing"
    }
    #expect(renamed == ["Memo Note same", "Note Thing same"])
  }

  /// A large model: only what changed and what is next to it.
  @Test func largeModels() {
    let old = ManagedObjectModel(
      entities: (0..<2_000).map { number in
        Entity(
          name: "E\(number)", attributes: [Attribute(name: "a", type: .string)],
          relationships: [
            Relationship(
              name: "next", destinationEntityName: "E\((number + 1) % 2_000)", isOptional: true)
          ])
      })
    var new = old
    new.entities["E7"]?.attributes = []
    let difference = ModelDifference(from: old, to: new)
    let diagram = ModelDiagram(from: old, to: new, difference)
    #expect(diagram.boxes.map(\.name).sorted() == ["E6", "E7", "E8"])
    #expect(diagram.leftOutCount == 1_997)
    #expect(Self.page(old, new).contains("1997 more entities are not drawn"))
  }

  /// Models of 10,000 entities that have nothing or everything in common: a result, however slow the
  /// machine is; the time limit only stops a hang.
  @Test(arguments: ["E", "F"])
  func hugeModels(_ prefix: String) {
    func model(_ prefix: String, _ parent: String?) -> ManagedObjectModel {
      ManagedObjectModel(
        entities: (0..<10_000).map { number in
          Entity(
            name: "\(prefix)\(number)", superentityName: number == 0 ? nil : parent,
            attributes: (0..<3).map { Attribute(name: "a\($0)", type: .string, isOptional: true) })
        })
    }
    let (old, new) = (model("E", nil), model(prefix, prefix + "0"))
    let difference = ModelDifference(from: old, to: new)
    let page = DifferencePage(oldName: "old", newName: "new", from: old, to: new, difference).html
    #expect(difference.verdict.name == (prefix == "E" ? "notHandled" : "handled"))
    #expect(page.utf8.count < 4_000_000)
  }
}
