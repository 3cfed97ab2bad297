import Fixtures
import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

/// `.omo` files against the `.mom` and `VersionInfo.plist` beside them.
struct OptimisedModelTests {
  private static let files = [
    "Haimanu-MobilApp/DVIA_v2.momd/DVIA_v2",
    "alemar11-CoreDataPlus/Tests/Resources/SampleModel/Fixtures/SampleModel.momd/SampleModel",
    "alemar11-CoreDataPlus/Tests/Resources/SampleModel3/Fixtures/SampleModel3.momd/SampleModel3",
  ]

  @Test(.enabled(if: Shared.isThere), arguments: files) func agreesWithTheCompiledModel(
    _ name: String
  ) throws {
    guard let path = SharedFiles.path("stores/real/\(name).omo") else { return }
    let optimised = try OptimisedModel(bytes: SharedFiles.bytes(path))
    let model = try ManagedObjectModel(
      archive: SharedFiles.bytes(String(path.dropLast(3)) + "mom"))
    #expect(optimised.problems == [])
    #expect(optimised.entityCount == model.entities.count)
    let properties = model.entities.values.reduce(0) { $0 + $1.propertyNames.count }
    #expect(optimised.propertyCount == properties)
    let hashes = model.versionHashes()
    #expect(optimised.matches(hashes.hashes))
    for hash in hashes.hashes.values { #expect(optimised.contains(hash)) }
    for entity in model.entities.values {
      #expect(optimised.entityStrings.contains(entity.name))
      for property in entity.propertyNames { #expect(optimised.strings.contains(property)) }
      for attribute in entity.attributes where !attribute.isTransient {
        let bytes = VersionHashing.attribute(attribute)
        #expect(VersionHash(bytes: bytes).map { optimised.contains($0) } == true)
      }
    }
    #expect(
      optimised.versionIdentifiers.filter { !$0.isEmpty }
        == model.versionIdentifiers.filter { !$0.isEmpty })
    let other = VersionHash(bytes: [UInt8](repeating: 7, count: 32))
    #expect(other.map { optimised.contains($0) } == false)
  }

  /// It is told to be of the current version, and of no other.
  @Test(.enabled(if: Shared.isThere)) func bundlesSayOfWhichVersionItIs() throws {
    for name in Self.files {
      let folder = "stores/real/" + name.split(separator: "/").dropLast().joined(separator: "/")
      guard let path = SharedFiles.path(folder) else { return }
      let collection = try ModelCollection(searching: path)
      #expect(
        collection.versions.filter { $0.optimised != nil }.map(\.name)
          == [collection.currentVersionName])
      #expect(!collection.versions.contains { $0.problem != nil })
    }
  }

  /// Without the `.mom` it still says which store it opens.
  @Test(.enabled(if: Shared.isThere)) func aloneItIsIdentifiedByHashes() throws {
    guard let path = SharedFiles.path("stores/real/\(Self.files[1]).omo") else { return }
    let model = try ManagedObjectModel(
      archive: SharedFiles.bytes(String(path.dropLast(3)) + "mom"))
    let collection = try ModelCollection(searching: path)
    let version = try #require(collection.versions.first)
    #expect(collection.versions.count == 1)
    #expect(version.model == nil)
    #expect(version.problem?.code == .optimisedFormat)
    var hashes = model.versionHashes().hashes
    #expect(collection.versions(matching: hashes).count == 1)
    hashes["Car"] = VersionHash(bytes: [UInt8](repeating: 7, count: 32))
    #expect(collection.versions(matching: hashes).isEmpty)
  }

  /// Every truncation and every changed word of a header gives an error or a result.
  @Test(.enabled(if: Shared.isThere)) func damageIsToldOrSurvived() throws {
    guard let path = SharedFiles.path("stores/real/\(Self.files[2]).omo") else { return }
    let bytes = try SharedFiles.bytes(path)
    for count in stride(from: 0, to: bytes.count, by: 7) {
      _ = try? OptimisedModel(bytes: Array(bytes[..<count]))
    }
    for place in stride(from: 64, to: 64 + 24 * 4, by: 4) {
      for word: [UInt8] in [
        [255, 255, 255, 255], [0, 0, 0, 0], [0, 0, 8, 100], [127, 255, 255, 253],
      ] {
        var copy = bytes
        copy.replaceSubrange(place..<place + 4, with: word)
        _ = try? OptimisedModel(bytes: copy)
      }
    }
    let empty = #expect(throws: ModelError.self) {
      try OptimisedModel(bytes: Array("momv2$".utf8) + [UInt8](repeating: 65, count: 58))
    }
    #expect(empty?.code == .malformed)
    #expect(throws: ModelError.self) { try OptimisedModel(bytes: Array("bplist00".utf8)) }
  }

  /// An optimised model without entities whose data section has these items.
  private static func model(data items: [[UInt8]]) -> [UInt8] {
    func word(_ value: Int) -> [UInt8] {
      [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
    // A word of zero behind the header is the count of every section but that of the data items.
    var words = [Int](repeating: 0, count: 20)
    for place in [1, 3, 13, 15] { words[place] = 152 }
    words[11] = 156
    words[12] = items.count + 1
    let border: [UInt8] = [0xEF, 0xBE, 0xAD, 0xDE, 0xEF, 0xBE, 0xAD, 0xDE]
    var bytes = Array("momv2$".utf8) + [UInt8](repeating: 0x5B, count: 58)
    bytes += words.flatMap { word($0) } + border + word(0) + word(items.count + 1)
    for item in items {
      bytes += word(item.count) + word(0) + item
      bytes += [UInt8](repeating: 0, count: (4 - item.count % 4) % 4)
    }
    return bytes + border
  }

  /// The version identifiers are found behind archives of something else, and behind one that is damaged.
  @Test func theIdentifiersNeedNotComeFirst() throws {
    var builder = KeyedArchiveBuilder()
    let number = builder.scalar(.integer(5))
    let roots = (
      builder.dictionary([("key", number)]), builder.array([number]), builder.string("2.1")
    )
    let dictionary = builder.bytes(root: roots.0)
    let numbers = builder.bytes(root: roots.1)
    let identifier = builder.bytes(root: roots.2)
    let damaged = Array("bplist00 and no more".utf8)
    let model = try OptimisedModel(
      bytes: Self.model(data: [damaged, dictionary, numbers, identifier]))
    #expect(model.versionIdentifiers == ["2.1"])
    #expect(model.problems == [])
    let without = try OptimisedModel(bytes: Self.model(data: [damaged, dictionary, numbers]))
    #expect(without.versionIdentifiers == [])
    #expect(
      without.problems == [
        "no version identifiers were found; archives read: 3 of 3"
      ])
    #expect(try OptimisedModel(bytes: Self.model(data: [[1, 2, 3]])).problems == [])
    // The search ends, although there are many archives.
    let many = Array(repeating: dictionary, count: 1_000)
    #expect(
      try OptimisedModel(bytes: Self.model(data: many)).problems == [
        "no version identifiers were found; archives read: 64 of 1000"
      ])
  }

  /// Files of two older compilers. The entity hash is one that `VersionInfo.plist` records in the bundle
  /// that the first of them is from.
  @Test(.enabled(if: Shared.isThere)) func olderFormsAreRead() throws {
    let names = [("KonotorModel 21", 7, 62), ("KonotorModel 24", 13, 113)]
    for (name, entities, properties) in names {
      guard let path = SharedFiles.path("stores/found/models/omo-old/\(name).omo") else { return }
      let model = try OptimisedModel(bytes: SharedFiles.bytes(path))
      #expect(model.problems == [])
      #expect(model.entityCount == entities)
      #expect(model.propertyCount == properties)
      #expect(model.entityStrings.contains("KonotorUser"))
      #expect(model.strings.contains("_pk"))
      let hash = VersionHash(
        hex: "e950d9613c3fcbad7c112a333a9ebeacf534136f51ed12107ab31112b49a548b")
      #expect(hash.map { model.contains($0) } == (entities == 7))
      let version = try #require(try ModelCollection(searching: path).versions.first)
      #expect(version.optimised == model)
    }
  }
}
