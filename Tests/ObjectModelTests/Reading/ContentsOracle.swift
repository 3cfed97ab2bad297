import Foundation

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// A model's source as a plain XML tree, read by Foundation and not by this project.
final class XMLTree: NSObject, XMLParserDelegate {
  struct Node {
    var name: String
    var attributes: [String: String]
    var children: [Node] = []

    func children(_ name: String) -> [Node] { children.filter { $0.name == name } }
    var id: String { attributes["name"] ?? "" }
  }

  private var stack: [Node] = [Node(name: "", attributes: [:])]

  static func root(_ path: String) throws -> Node? {
    let parser = XMLParser(data: try Data(contentsOf: URL(fileURLWithPath: path)))
    let tree = XMLTree()
    parser.delegate = tree
    guard parser.parse() else { return nil }
    return tree.stack.first?.children.first
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
    qualifiedName: String?, attributes: [String: String]
  ) {
    stack.append(Node(name: name, attributes: attributes))
  }

  func parser(
    _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
  ) {
    let node = stack.removeLast()
    stack[stack.count - 1].children.append(node)
  }
}

/// What differs between two sources, element by element and XML attribute by XML attribute, in the
/// words of the format. Left out: tool and system versions, the order of elements, the diagram.
struct ContentsOracle {
  /// One difference, as a reported change has to name it: `attribute Note.title changed optional`.
  private(set) var expected: Set<String> = []
  /// XML attributes that the oracle has no name for; a test fails on any.
  private(set) var unnamed: Set<String> = []

  /// XML attributes of `model` that tell about tools, systems and the project, not about data.
  private static let aboutTools: Set<String> = [
    "type", "documentVersion", "lastSavedToolsVersion", "systemVersion", "minimumToolsVersion",
    "macOSVersion", "iOSVersion", "sourceLanguage", "name",
  ]

  /// What the XML attributes of each element are called in a report.
  private static let names: [String: [String: String]] = [
    "model": [
      "userDefinedModelVersionIdentifier": "version identifiers",
      "usedWithSwiftData": "used with SwiftData", "usedWithCloudKit": "used with CloudKit",
    ],
    "entity": [
      "representedClassName": "class", "parentEntity": "parent", "isAbstract": "abstract",
      "elementID": "renaming identifier", "versionHashModifier": "version hash modifier",
      "codeGenerationType": "code generation",
    ],
    "attribute": [
      "attributeType": "type", "optional": "optional", "transient": "transient",
      "indexed": "indexed", "defaultValueString": "default", "defaultDateTimeInterval": "default",
      "minValueString": "validation", "maxValueString": "validation",
      "valueTransformerName": "value transformer", "customClassName": "value class",
      "elementID": "renaming identifier", "versionHashModifier": "version hash modifier",
      "allowsExternalBinaryDataStorage": "external storage",
      "preserveAfterDeletion": "preserved in history on deletion", "derived": "derivation",
      "derivationExpression": "derivation", "usesScalarValueType": "scalar in generated code",
    ],
    "relationship": [
      "destinationEntity": "destination", "inverseName": "inverse",
      "inverseEntity": "inverse entity", "minCount": "least count", "maxCount": "greatest count",
      "toMany": "greatest count", "ordered": "ordered", "optional": "optional",
      "transient": "transient", "deletionRule": "delete rule", "indexed": "indexed",
      "elementID": "renaming identifier", "versionHashModifier": "version hash modifier",
    ],
    "fetchedProperty": ["optional": "optional"],
    "fetchRequest": ["entity": "destination", "predicateString": "predicate"],
    "fetchIndex": ["partialIndexPredicate": "filter"],
    "configuration": [:],
  ]

  init(_ old: XMLTree.Node, _ new: XMLTree.Node) {
    compareAttributes(old, new, "model", leaving: Self.aboutTools)
    let pairs = match(old.children("entity"), new.children("entity"), "entity", in: "")
    for (before, after) in pairs { compareEntities(before, after) }
    for name in ["configuration", "fetchRequest"] {
      for (before, after) in match(old.children(name), new.children(name), name, in: "") {
        compareAttributes(before, after, "\(name) \(after.id)")
        if members(before) != members(after) { expect("\(name) \(after.id) changed entities") }
      }
    }
  }

  private func members(_ node: XMLTree.Node) -> [String] {
    node.children("memberEntity").map(\.id).sorted()
  }

  private mutating func expect(_ text: String) { expected.insert(text) }

  private mutating func compareEntities(_ old: XMLTree.Node, _ new: XMLTree.Node) {
    let entity = new.id
    compareAttributes(old, new, "entity \(entity)")
    for kind in ["attribute", "relationship", "fetchedProperty", "fetchIndex"] {
      for (before, after) in match(old.children(kind), new.children(kind), kind, in: entity + ".") {
        let place = "\(kind) \(entity).\(after.id)"
        compareAttributes(before, after, place)
        compareUserInfo(before, after, "\(entity).\(after.id)")
        if kind == "fetchedProperty",
          let one = before.children("fetchRequest").first,
          let other = after.children("fetchRequest").first
        {
          compareAttributes(one, other, place, leaving: ["name"])
        }
        if kind == "fetchIndex", columns(before) != columns(after) {
          expect("\(place) changed columns")
        }
      }
    }
    compareUserInfo(old, new, "\(entity).")
    compareLists(old, new, "uniquenessConstraints", "uniquenessConstraint", " + ", entity)
    compareLists(old, new, "compoundIndexes", "compoundIndex", ", ", entity)
  }

  private func columns(_ node: XMLTree.Node) -> [[String: String]] {
    node.children.map(\.attributes)
  }

  /// Pairs elements by name, and by `elementID` where the name is new; expects what has no partner.
  private mutating func match(
    _ old: [XMLTree.Node], _ new: [XMLTree.Node], _ kind: String, in place: String
  ) -> [(XMLTree.Node, XMLTree.Node)] {
    var left = Dictionary(grouping: old, by: \.id)
    var pairs: [(XMLTree.Node, XMLTree.Node)] = []
    let newNames = Set(new.map(\.id))
    for node in new {
      if let partner = left.removeValue(forKey: node.id)?.first {
        pairs.append((partner, node))
        continue
      }
      // The canonical name: the identifier, else the name.
      let identifier = node.attributes["elementID"] ?? node.id
      let partner = left.values.flatMap { $0 }.first { candidate in
        !newNames.contains(candidate.id)
          && (candidate.id == identifier || candidate.attributes["elementID"] == identifier)
      }
      if let partner {
        left[partner.id] = nil
        expect("\(kind) \(place)\(node.id) renamed")
        pairs.append((partner, node))
      } else {
        expect("\(kind) \(place)\(node.id) added")
      }
    }
    for name in left.keys { expect("\(kind) \(place)\(name) removed") }
    return pairs
  }

  private mutating func compareAttributes(
    _ old: XMLTree.Node, _ new: XMLTree.Node, _ place: String, leaving: Set<String> = []
  ) {
    for key in Set(old.attributes.keys).union(new.attributes.keys).subtracting(leaving)
    where normal(old, key) != normal(new, key) && key != "name" {
      if let name = Self.names[new.name]?[key] {
        expect("\(place) changed \(name)")
      } else {
        unnamed.insert("\(new.name) \(key)")
      }
    }
  }

  /// What an XML attribute says: absent is NO; an identifier equal to the name says nothing;
  /// `syncable` is YES where it is absent, as newer tools write it.
  private func normal(_ node: XMLTree.Node, _ key: String) -> String {
    let value = node.attributes[key] ?? ""
    switch key {
    case "syncable": return value == "YES" ? "" : value
    case "elementID": return value == node.id ? "" : value
    default: return value == "NO" ? "" : value
    }
  }

  private mutating func compareUserInfo(
    _ old: XMLTree.Node, _ new: XMLTree.Node, _ owner: String
  ) {
    func entries(_ node: XMLTree.Node) -> [String: String] {
      Dictionary(
        node.children("userInfo").flatMap { $0.children("entry") }.map {
          ($0.attributes["key"] ?? "", $0.attributes["value"] ?? "")
        }
      ) { $1 }
    }
    let (before, after) = (entries(old), entries(new))
    for key in Set(before.keys).union(after.keys) where before[key] != after[key] {
      let action = before[key] == nil ? "added" : after[key] == nil ? "removed" : "changed value"
      expect("userInfoEntry \(owner)/\(key) \(action)")
    }
  }

  /// Lists of property names, the order of the lists apart.
  private mutating func compareLists(
    _ old: XMLTree.Node, _ new: XMLTree.Node, _ list: String, _ item: String, _ separator: String,
    _ entity: String
  ) {
    func names(_ node: XMLTree.Node) -> [String] {
      node.children(list).flatMap { $0.children(item) }.map { item in
        item.children.compactMap { $0.attributes["value"] }.joined(separator: separator)
      }
    }
    let (before, after) = (Set(names(old)), Set(names(new)))
    for name in after.subtracting(before) { expect("\(item) \(entity).\(name) added") }
    for name in before.subtracting(after) { expect("\(item) \(entity).\(name) removed") }
  }
}
