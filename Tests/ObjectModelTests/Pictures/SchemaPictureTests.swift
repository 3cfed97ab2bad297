import Fixtures
import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

/// The picture of one model: what it lists, that it is bounded, and that its files are well formed.
struct SchemaPictureTests {
  private static let model = ManagedObjectModel(entities: [
    Entity(
      name: "Note",
      attributes: [
        Attribute(name: "title", type: .string, isOptional: true),
        Attribute(name: "rating", type: .integer16),
      ],
      relationships: [
        Relationship(
          name: "folder", destinationEntityName: "Folder", inverseName: "notes", isOptional: true)
      ]),
    Entity(
      name: "Folder",
      relationships: [
        Relationship(
          name: "notes", destinationEntityName: "Note", inverseName: "folder", maxCount: 0,
          isOptional: true)
      ]),
    Entity(name: "Alone", attributes: [Attribute(name: "x", type: .date)]),
  ])

  @Test func eachPropertyIsListedOnce() throws {
    let diagram = ModelDiagram(schemaOf: Self.model, about: Self.model.entityNames)
    let rows = Dictionary(
      uniqueKeysWithValues: diagram.boxes.map { ($0.name, $0.rows.map(\.text)) })
    let expected = [
      "Note": ["rating: Integer 16", "title: String?", "folder: Folder?"],
      "Folder": ["notes: many Note"], "Alone": ["x: Date"],
    ]
    #expect(rows == expected)
    #expect(diagram.lines.count == 1 && diagram.leftOutCount == 0)
    #expect(diagram.boxes.allSatisfy { diagram.rest($0) == nil })
    #expect(diagram.dotText.contains("title: String?\\l"))
    #expect(PictureTests.dotStatements(diagram.dotText)?.count == 3 + 3 + 1)
    for line in diagram.mermaidText.split(separator: "\n") {
      #expect(PictureTests.isMermaid(line), "\(line)")
    }
    let svg = diagram.svgFile(title: "Notes")
    #expect(SealedPage.faults(inSVG: svg) == [])
    #expect(svg.contains(">rating: Integer 16</text>"))
  }

  /// Entities that are not asked for are drawn where something leads to them, and list nothing.
  @Test func neighboursAreDrawnEmpty() {
    let diagram = ModelDiagram(schemaOf: Self.model, about: ["Note"])
    #expect(diagram.boxes.map(\.name).sorted() == ["Folder", "Note"])
    #expect(diagram.boxes.first { $0.name == "Folder" }?.rows == [])
    #expect(diagram.leftOutCount == 1)
  }

  @Test func namesAreNoMarkup() {
    for model in [PictureTests.evilModels.0, PictureTests.evilModels.1] {
      let diagram = ModelDiagram(schemaOf: model, about: model.entityNames)
      #expect(SealedPage.faults(inSVG: diagram.svgFile(title: PictureTests.evil)) == [])
      #expect(
        PictureTests.dotStatements(diagram.dotText)?.count
          == 3 + diagram.boxes.count + diagram.lines.count)
      for line in diagram.mermaidText.split(separator: "\n") {
        #expect(PictureTests.isMermaid(line), "\(line)")
      }
    }
  }

  /// However large a model is, its picture is not, and what is left out is counted. There are more entities than boxes,
  /// more properties than a box has rows, longer names than are shown, and more of all that than a picture lists.
  @Test func largeModelsAreBounded() {
    let long = String(repeating: "\u{202E}<", count: 160)
    let model = ManagedObjectModel(
      entities: (0..<350).map { number in
        Entity(
          name: "E\(number)",
          attributes: (0..<65).map { Attribute(name: "a\($0)" + long, type: .string) },
          relationships: [
            Relationship(
              name: "next", destinationEntityName: "E\((number + 1) % 350)", isOptional: true)
          ])
      })
    let diagram = ModelDiagram(schemaOf: model, about: model.entityNames)
    #expect(diagram.boxes.count == 300 && diagram.leftOutCount == 50)
    #expect(diagram.boxes.allSatisfy { $0.rows.count + $0.unchangedCount == 66 })
    #expect(SealedPage.faults(inSVG: diagram.svgFile(title: "x"), maxBytes: 4_000_000) == [])
    // Without properties all of a large model is drawn, too.
    #expect(ModelDiagram(of: model).boxes.count == 300)
  }

  @Test(.enabled(if: Shared.isThere)) func realModelsHaveAPicture() throws {
    for family in try ModelFamilies.all() {
      guard let model = family.versions.last?.model else { continue }
      let diagram = ModelDiagram(schemaOf: model, about: model.entityNames)
      #expect(diagram.boxes.count == model.entities.count, "\(family.name)")
      let listed = diagram.boxes.reduce(0) { $0 + $1.rows.count + $1.unchangedCount }
      let properties = model.entities.values.reduce(0) {
        $0 + $1.attributes.count + $1.relationships.count
      }
      #expect(listed == properties, "\(family.name)")
      #expect(SealedPage.faults(inSVG: diagram.svgFile(title: family.name)) == [])
    }
  }

  // MARK: - Colours

  /// The relative luminance of a colour, as WCAG 2 defines it.
  private static func luminance(_ colour: String) throws -> Double {
    let number = try #require(Int(colour.dropFirst(), radix: 16))
    let parts = [number >> 16, number >> 8 & 0xff, number & 0xff].map { part in
      let share = Double(part) / 255
      return share <= 0.04045 ? share / 12.92 : pow((share + 0.055) / 1.055, 2.4)
    }
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
  }

  private static func contrast(_ one: String, _ other: String) throws -> Double {
    let (left, right) = (try luminance(one), try luminance(other))
    return (max(left, right) + 0.05) / (min(left, right) + 0.05)
  }

  @Test func textCanBeReadOnEachGround() throws {
    for colours in [PictureColours.light, .dark] {
      let grounds = [
        colours.back, colours.code, colours.same, colours.added, colours.removed, colours.changed,
      ]
      for ground in grounds {
        for text in [colours.text, colours.quiet] {
          #expect(try Self.contrast(text, ground) >= 4.5, "\(text) on \(ground)")
        }
      }
      for text in [colours.addedLine, colours.removedLine, colours.changedLine, colours.lost] {
        #expect(try Self.contrast(text, colours.back) >= 4.5, "\(text)")
      }
      // Parts of pictures, by WCAG 1.4.11; free pages and places of no use may be faint.
      for part in [colours.rows, colours.entries, colours.long, colours.lost, colours.alone] {
        #expect(try Self.contrast(part, colours.back) >= 3, "\(part)")
      }
    }
  }
}
