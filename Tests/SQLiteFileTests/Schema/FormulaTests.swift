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

  /// Fields are quoted by their bytes, and programs that part them at semicolons or tabs get no formula either.
  @Test func fieldsAreQuotedAndSafe() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("fields")
    let cases: [(text: String, safe: String, plain: String)] = [
      (";=1+1", "\"';=1+1\"", ";=1+1"), ("x;=1+1", "\"'x;=1+1\"", "x;=1+1"),
      ("x\t=1+1", "\"'x\t=1+1\"", "x\t=1+1"), ("x;y", "\"x;y\"", "x;y"),
      ("x\ty", "\"x\ty\"", "x\ty"), ("\u{1F}=1", "'\u{1F}=1", "\u{1F}=1"),
      ("=1", "'=1", "=1"), ("x", "x", "x"), ("x\n-y", "\"'x\n-y\"", "\"x\n-y\""),
      ("", "\"\"", "\"\""), ("a,b", "\"a,b\"", "\"a,b\""), ("a\r\nb", "\"a\r\nb\"", "\"a\r\nb\""),
      // A quote or a comma is one with a mark behind it, too.
      ("\"\u{301}", "\"\"\"\u{301}\"", "\"\"\"\u{301}\""),
      (",\u{301}", "\",\u{301}\"", "\",\u{301}\""),
    ]
    for isSafe in [true, false] {
      for field in cases {
        try Data().write(to: url)
        let file = try FileHandle(forWritingTo: url)
        var output = OutputBuffer(descriptor: file.fileDescriptor)
        output.append(csvField: field.text, safeForSpreadsheets: isSafe)
        try output.finish()
        try file.close()
        let written = try bytes(of: url)
        #expect(written == Array((isSafe ? field.safe : field.plain).utf8), "\(field.text)")
      }
    }
  }

  /// Digits of integers as the output writes them.
  @Test func integersAreWrittenAsTheyAre() throws {
    var values: [Int64] = [.min, .min + 1, .max, 0, -1, 9, 10, -10]
    for power in 1...18 {
      let ten = (0..<power).reduce(Int64(1)) { value, _ in value * 10 }
      values += [ten - 1, ten, ten + 1, -ten, 1 - ten, ten / 3]
    }
    var generator = SplitMix64(seed: 3)
    for _ in 0..<2000 {
      values.append(Int64(bitPattern: generator.next()) >> Int64(generator.next() % 64))
    }
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("digits")
    try Data().write(to: url)
    let file = try FileHandle(forWritingTo: url)
    var output = OutputBuffer(descriptor: file.fileDescriptor)
    for value in values {
      output.append(integer: value)
      output.append(0x0a)
    }
    try output.finish()
    try file.close()
    let lines = String(decoding: try bytes(of: url), as: UTF8.self).split(separator: "\n")
    #expect(lines.map(String.init) == values.map { "\($0)" })
  }
}
