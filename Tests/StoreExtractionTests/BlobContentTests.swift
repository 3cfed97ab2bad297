import Fixtures
import Foundation
import ModelTools
import ObjectModel
import Testing

@testable import StoreExtraction

/// What bytes say that they are.
@Suite struct BlobContentTests {
  @Test func formsAreTold() throws {
    func list(_ value: Any, _ format: PropertyListSerialization.PropertyListFormat) throws
      -> [UInt8]
    {
      [UInt8](
        try PropertyListSerialization.data(fromPropertyList: value, format: format, options: 0))
    }
    for format in [PropertyListSerialization.PropertyListFormat.binary, .xml] {
      let content = BlobContent(try list(["b": [1, 2.5, "x"], "a": true], format))
      #expect(
        content.summary(sizeBytes: 9) == "property list: {a: true, b: [1, 2.5, \"x\"]} (9 bytes)")
    }
    let archive: [String: Any] = [
      "$archiver": "NSKeyedArchiver", "$top": [String: Any](),
      "$objects": [
        "$null", ["$classname": "NSArray", "$classes": ["NSArray"]], ["$classname": "MyApp.Note"],
      ],
    ]
    #expect(
      BlobContent(try list(archive, .binary))
        == .keyedArchive(
          classes: ["NSArray", "MyApp.Note"], tree: .dictionary([:])))
    let png: [UInt8] = [
      0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 0, 2,
      0, 0, 0, 1, 44,
    ]
    #expect(BlobContent(png) == .image(type: "image/png", width: 512, height: 300))
    #expect(BlobContent(Array(png.dropLast())) == .unknown)
    let jpeg: [UInt8] = [
      0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xc0, 0, 11, 8, 0, 32, 0, 64, 1, 0,
    ]
    #expect(BlobContent(jpeg) == .image(type: "image/jpeg", width: 64, height: 32))
    #expect(
      BlobContent(Array("GIF89a".utf8) + [10, 0, 20, 0])
        == .image(type: "image/gif", width: 10, height: 20))
    #expect(BlobContent([0x1f, 0x8b, 0x08, 0]) == .compressed("gzip", nil))
    #expect(BlobContent([0x78, 0x9c, 1, 2]) == .compressed("zlib", nil))
    #expect(BlobContent(Array("{\"a\":1}".utf8)) == .text("{\"a\":1}"))
    #expect(BlobContent(Array("xyz".utf8)) == .text("xyz"))
    for bytes: [UInt8] in [[], [0], [0xff, 0xfe], [0x1b, 0x5b], Array("bplist00".utf8)] {
      #expect(BlobContent(bytes) != .compressed("gzip", nil))
      _ = BlobContent(bytes).summary(sizeBytes: bytes.count)
    }
  }

  /// What Foundation's own archiver writes, as values.
  @Test func anArchiveIsATree() throws {
    let value: [String: Any] = [
      "title": "Milk", "tags": ["a", "b"], "when": Date(timeIntervalSinceReferenceDate: 86_400),
      "inner": ["count": 3, "ratio": 0.5] as [String: Any],
    ]
    let bytes = [UInt8](
      try NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: false))
    guard case .keyedArchive(_, let tree) = BlobContent(bytes) else {
      Issue.record("not taken for an archive")
      return
    }
    #expect(
      tree
        == .dictionary([
          "title": .string("Milk"), "tags": .array([.string("a"), .string("b")]),
          "when": .date(86_400), "inner": .dictionary(["count": .integer(3), "ratio": .real(0.5)]),
        ]))
  }

  /// Objects that refer to themselves and to each other, and references that lead nowhere.
  @Test func archivesWithoutEnd() {
    func tree(_ objects: [PropertyList]) -> PropertyList? {
      ArchiveTree.tree(
        of: .dictionary([
          "$archiver": .string("NSKeyedArchiver"), "$objects": .array([.string("$null")] + objects),
          "$top": .dictionary(["root": .uid(1)]),
        ]))
    }
    #expect(
      tree([.dictionary(["a": .uid(1)])]) == .dictionary(["a": .dictionary(["$cycle": .uid(1)])]))
    #expect(tree([.uid(7)]) == .string("no object 7"))
    #expect(tree([.uid(.max)]) == .string("no object \(UInt64.max)"))
    #expect(tree([]) == .string("no object 1"))
    // Each level refers twice to the next one: 2^30 values if nothing stopped it.
    let doubling = (2...31).map { PropertyList.array([.uid($0), .uid($0)]) } + [.null]
    #expect(tree(doubling) != nil)
    let chain = (2...100).map { PropertyList.array([.uid($0)]) } + [.null]
    #expect(tree(chain) != nil)
  }

  /// A binary property list of objects that are given as bytes; the last one is the top object. References have two
  /// bytes.
  static func list(_ objects: [[UInt8]]) -> [UInt8] {
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for object in objects {
      offsets += UInt32(bytes.count).bigEndianBytes
      bytes += object
    }
    let table = bytes.count
    bytes += offsets + [0, 0, 0, 0, 0, 0, 4, 2]
    for number in [objects.count, objects.count - 1, table] {
      bytes += UInt64(number).bigEndianBytes
    }
    return bytes
  }

  /// A text of `length` letters as an object of a binary property list.
  private static func text(_ length: Int) -> [UInt8] {
    let head: [UInt8] = [0x5f, 0x12] + UInt32(length).bigEndianBytes
    return head + [UInt8](repeating: 0x61, count: length)
  }

  /// A list may name one text any number of times, and so may the tree of an archive.
  @Test func aTextThatIsSharedTooOftenIsNotWrittenOut() {
    func shared(_ count: Int) -> [UInt8] {
      let head: [UInt8] = [0xaf, 0x12] + UInt32(count).bigEndianBytes
      return Self.list([Self.text(100_000), head + [UInt8](repeating: 0, count: 2 * count)])
    }
    guard case .propertyList = BlobContent(shared(20)) else {
      Issue.record("not taken for a list")
      return
    }
    #expect(BlobContent(shared(100_000)) == .unknown)
    let archive = PropertyList.dictionary([
      "$archiver": .string("NSKeyedArchiver"), "$top": .dictionary(["root": .uid(1)]),
      "$objects": .array([
        .string("$null"), .array(Array(repeating: .uid(2), count: 1000)),
        .string(String(repeating: "a", count: 100_000)),
      ]),
    ])
    guard case .propertyList = BlobContent(archive.binaryBytes()) else {
      Issue.record("taken for an archive")
      return
    }
  }

  /// Dates that no calendar has, and a date of our time.
  @Test(arguments: [
    (Double.nan, "nan seconds since 2001"), (.infinity, "inf seconds since 2001"),
    (-1e300, "-1e+300 seconds since 2001"), (86_400, "2001-01-02T00:00:00Z"),
  ])
  func datesAreTold(_ seconds: Double, _ text: String) {
    let bytes = Self.list([[0x33] + seconds.bitPattern.bigEndianBytes])
    #expect(BlobContent(bytes).summary(sizeBytes: 1) == "property list: \(text) (1 byte)")
  }

  @Test func keysAndNamesOfClassesAreCut() {
    let long = String(repeating: "k", count: 10_000)
    let list = PropertyList.dictionary([long: .integer(1)])
    #expect(BlobContent(list.binaryBytes()).summary(sizeBytes: 1).utf8.count < 300)
    let archive = PropertyList.dictionary([
      "$archiver": .string("NSKeyedArchiver"), "$top": .dictionary([:]),
      "$objects": .array([.dictionary(["$classname": .string(long)])]),
    ])
    #expect(BlobContent(archive.binaryBytes()).summary(sizeBytes: 1).utf8.count < 300)
  }

  /// No prefix and no flipped bit of a value makes trouble, and a summary stays short.
  @Test func hostileBytes() throws {
    var deep: Any = "x"
    for _ in 0..<100 { deep = [deep, deep as Any].count > 0 ? [deep] : [] }
    var seeds: [[UInt8]] = try [
      deep, ["k": Data(repeating: 1, count: 40)], Array(repeating: "long text", count: 500),
    ].map {
      [UInt8](try PropertyListSerialization.data(fromPropertyList: $0, format: .binary, options: 0))
    }
    seeds.append([0xff, 0xd8, 0xff, 0xe0, 0xff, 0xff] + Array(repeating: 0xff, count: 40))
    var random = SplitMix64(seed: 7)
    for seed in seeds {
      for length in stride(from: 0, through: seed.count, by: max(1, seed.count / 200)) {
        _ = BlobContent(Array(seed.prefix(length))).summary(sizeBytes: length)
      }
      for _ in 0..<500 {
        var bytes = seed
        bytes[Int(random.next() % UInt64(bytes.count))] ^= 1 << UInt8(random.next() % 8)
        let text = BlobContent(bytes).summary(sizeBytes: bytes.count)
        #expect(text.utf8.count < 2_000)
      }
    }
  }
}
