import Fixtures
import Foundation
import Testing

@testable import SQLiteFile

/// The small rules of the format, at their edges.
@Suite struct FormulaTests {
  @Test(
    arguments: [
      ([0x00], 0), ([0x7f], 0x7f), ([0x81, 0x00], 0x80), ([0xff, 0x7f], 0x3fff),
      ([0x81, 0x80, 0x00], 0x4000), ([0x80, 0x01], 1),
      ([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], 0x00ff_ffff_ffff_ffff),
      ([0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00], 1 << 57),
      ([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], .max),
      ([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0xff], 0xff),
      ([0xc0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00], 1 << 63),
    ] as [([UInt8], UInt64)])
  func varints(_ bytes: [UInt8], _ value: UInt64) {
    let padded = ContiguousArray([0x55] + bytes + [0xff, 0xff])
    let read = Varint.read(padded.rawSpan, at: 1, end: padded.count)
    #expect(read?.value == value)
    #expect(read?.length == bytes.count)
    // The integer must end before the end given, whatever stands behind it.
    for end in 1..<(1 + bytes.count) {
      #expect(Varint.read(padded.rawSpan, at: 1, end: end) == nil)
    }
    #expect(Varint.read(padded.rawSpan, at: 1, end: 1 + bytes.count)?.value == value)
  }

  /// The formulas of section 1.6 as they stand there, with U, X, M, K and P by name.
  @Test(arguments: [480, 512, 769, 1024, 4088, 4096, 32_768, 65_536])
  func localLengths(_ u: Int) {
    for isTableLeaf in [true, false] {
      let x = isTableLeaf ? u - 35 : ((u - 12) * 64 / 255) - 23
      let m = ((u - 12) * 32 / 255) - 23
      for p in Set(
        (0...3 * u).filter { $0 % max(1, u / 512) < 2 } + [x - 1, x, x + 1, m, u, 1 << 31, 1 << 62])
      {
        let k = m + ((p - m) % (u - 4))
        let wanted = p <= x ? p : k <= x ? k : m
        #expect(
          BTreePage.localLength(payload: p, usableSize: u, isTableLeaf: isTableLeaf) == wanted)
      }
    }
  }

  @Test func serialTypesHaveTheirLengths() {
    let lengths = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2]
    #expect(lengths.indices.map { RecordDecoder.length(ofType: UInt64($0)) } == lengths)
    // Too long for any record, and no overflow.
    #expect(RecordDecoder.length(ofType: .max) == Int.max - 6)
    #expect(RecordDecoder.length(ofType: .max - 1) == Int.max - 6)
  }

  @Test func randomBytesLookRandomAndOthersDoNot() throws {
    var generator = SplitMix64(seed: 1)
    for count in [4096, 10_000, 65_536] {
      for _ in 0..<20 { #expect(Entropy.looksRandom(generator.bytes(count))) }
    }
    #expect(!Entropy.looksRandom(generator.bytes(4095)))
    #expect(!Entropy.looksRandom([]))
    #expect(!Entropy.looksRandom([UInt8](repeating: 0, count: 65_536)))
    #expect(!Entropy.looksRandom((0..<8192).map { UInt8(truncatingIfNeeded: $0 * 7 / 256) }))
    #expect(
      !Entropy.looksRandom(Array(String(repeating: "Text, like any other. ", count: 900).utf8)))
    let base64 = Data(generator.bytes(20_000)).base64EncodedString()
    #expect(!Entropy.looksRandom(Array(base64.utf8)))
    let folder = try TemporaryFolder()
    for name in ["page-4096", "core-data-shape", "serial-types"] {
      let database = try bytes(of: try StoreFixtures.named(name).make(folder.url))
      #expect(!Entropy.looksRandom(Array(database.prefix(65_536))), "\(name)")
    }
    for store in RealStores.all {
      #expect(!Entropy.looksRandom(Array(try bytes(of: store.url).prefix(65_536))), "\(store)")
    }
  }

  /// Numbers past the main file's end cost what they are, not what lies before them.
  @Test func pageSets() {
    var pages = PageSet(pageCount: 130)
    for page in [1, 63, 64, 65, 127, 128, 130, 191, 192, 500, .max] as [UInt32] {
      let first = pages.insert(page)
      let second = pages.insert(page)
      #expect(first && !second)
    }
  }

  /// Two tables, of which SQLite compares the names by their bytes.
  @Test func findingsOfTwoTablesAreTwo() {
    var list = FindingList()
    for table in ["caf\u{e9}", "cafe\u{301}", "caf\u{e9}", "cafe\u{301}"] {
      list.add(Finding(.init(rawValue: "x"), "y", table: table))
    }
    #expect(list.count == 2 && list.kept.count == 2 && list.damageCount == 2)
  }

  /// Findings beyond those kept are still counted.
  @Test func findingsAreCountedBeyondTheLimit() {
    var list = FindingList()
    let count = FindingList.limit + 100
    for number in 0..<count {
      list.add(
        Finding(
          .init(rawValue: "x"), "y", severity: number % 2 == 0 ? .damage : .note,
          offset: Int64(number)))
    }
    list.add(Finding(.init(rawValue: "x"), "y", offset: 0))
    var all = FindingList()
    all.add(Finding(.init(rawValue: "other"), "y"))
    all.add(list)
    #expect(list.kept.count == FindingList.limit)
    #expect(list.count >= count)
    #expect(all.count == list.count + 1)
    #expect(all.damageCount == list.damageCount + 1)
  }
}
