import Fixtures
import Testing

@testable import ModelTools
@testable import ObjectModel

/// What is read once of the versions of a model is not read again, and changes nothing of what they say.
struct KnownEntitiesTests {
  private static func source(_ entities: some Sequence<String>) -> [UInt8] {
    Array(("<model>\n" + entities.joined(separator: "\n") + "\n</model>\n").utf8)
  }

  private static func entity(_ name: String, _ attributes: [String]) -> String {
    let lines = attributes.map { "  <attribute name=\"\($0)\" attributeType=\"String\"/>\n" }
    return "<entity name=\"\(name)\">\n" + lines.joined() + "</entity>"
  }

  /// What reading gives, or the error in its own words.
  private static func outcome(_ bytes: [UInt8], _ known: inout KnownEntities) -> String {
    do throws(ModelError) {
      let (model, unread) = try ManagedObjectModel.read(contentsXML: bytes, knowing: &known)
      return "\(model.entityNames.map { model.entities[$0].debugDescription }) \(model) \(unread)"
    } catch {
      return "\(error)"
    }
  }

  private static func alone(_ bytes: [UInt8]) -> String {
    var known = KnownEntities()
    return outcome(bytes, &known)
  }

  /// Thirty entities, one of which changes from each version to the next.
  @Test func onlyWhatChangedIsRead() throws {
    var known = KnownEntities()
    for version in 0..<139 {
      let bytes = Self.source(
        (0..<30).map { entity in
          let count = 5 + (version - entity + 30) / 30
          return Self.entity("E\(entity)", (0..<count).map { "a\($0)" })
        })
      let model = try ManagedObjectModel.read(contentsXML: bytes, knowing: &known).model
      #expect(try model == ManagedObjectModel(contentsXML: bytes))
    }
    #expect(known.readCount == 30 + 138)
  }

  @Test(.enabled(if: Shared.isThere)) func realVersionsSayTheSame() throws {
    guard let root = SharedFiles.path("stores") else { return }
    var (known, count, entityCount) = (KnownEntities(), 0, 0)
    for path in SharedFiles.files(below: root, suffix: "/contents") {
      let bytes = try SharedFiles.bytes(path)
      var own = KnownEntities()
      let expected = try ManagedObjectModel.read(contentsXML: bytes, knowing: &own)
      let read = try ManagedObjectModel.read(contentsXML: bytes, knowing: &known)
      #expect(read.model == expected.model && read.unread == expected.unread, "\(path)")
      count += 1
      entityCount += read.model.entities.count
    }
    print("\(count) sources: \(known.readCount) of \(entityCount) entities read")
    #expect(count > 80)
    #expect(entityCount > 2 * known.readCount)
  }

  /// A known element is told of like one that is read: twice in a model, behind more lines, with values unread,
  /// within a comment, below another root, cut off, or with a composite that is another one by now.
  @Test func whatStandsAroundAKnownElementCounts() throws {
    let note = Self.entity("Note", ["a", "b"])
    let odd =
      "<entity name=\"Odd\"><attribute name=\"c\" attributeType=\"String\" indexed=\"maybe\"/></entity>"
    let mixed =
      "<entity name=\"Mixed\"><attribute name=\"c\" attributeType=\"Composite\" composite=\"C\"/></entity>"
    func composite(_ name: String) -> String {
      "<composite name=\"C\"><attribute name=\"\(name)\" attributeType=\"String\"/></composite>"
    }
    let whole = Self.source([note])
    let sources =
      [
        Self.source([note, note]), Self.source(["<!-- \(note) -->", note]),
        Self.source(["\n\n", note, "<entity name=\"Note\"/>"]), Self.source([odd, note]),
        Self.source([odd, note, odd]), Self.source([mixed, composite("x")]),
        Self.source([composite("y"), mixed]), Self.source([mixed]),
        Array("<other>\(note)</other>".utf8), Array("<model><x>\(note)</x></model>".utf8),
        Self.source([note.replacing("</entity>", with: "<entity name=\"In\"></entity></entity>")]),
        Self.source([Self.entity("Note", ["a", "a"])]), Self.source([note, "<entity name=\"\"/>"]),
      ] + stride(from: 1, to: whole.count, by: 7).map { Array(whole[..<$0]) }
    var known = KnownEntities()
    _ = Self.outcome(whole, &known)
    for _ in 0..<2 {
      for bytes in sources {
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(Self.outcome(bytes, &known) == Self.alone(bytes), "\(text)")
      }
    }
  }
}
