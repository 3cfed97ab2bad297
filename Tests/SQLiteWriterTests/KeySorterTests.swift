import Fixtures
import Foundation
import Testing

@testable import SQLiteWriter

/// Byte strings that come out of the sorter, and the same in the order of the standard library.
@Suite struct KeySorterTests {
  /// Less than a sorter takes in any case, and what it puts aside once and again.
  private static let counts = [0, 1, 2, 127, 700, 6000, 20_000]

  private enum Kind: CaseIterable {
    /// Of any bytes, up to 300.
    case any
    /// Of few different bytes, so that some begin like others or are others, and of zeros.
    case alike
    /// Sixteen bytes that are equal, and some more.
    case prefixed
    /// Two numbers, as an index of a column has them: few of the first, the second in order.
    case numbers
    /// The same with the second in any order, and equal as far as the sorter looks at first.
    case shuffledNumbers
    /// Words of which only the lowest bytes are alike.
    case wide
    case ascending
    case descending
  }

  private static func keys(_ kind: Kind, _ count: Int) -> [[UInt8]] {
    var random = SplitMix64(seed: UInt64(count))
    func bytes(_ value: UInt64) -> [UInt8] {
      stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> $0) }
    }
    return (0..<count).map { index in
      switch kind {
      case .any: random.bytes(Int.random(in: 0...300, using: &random))
      case .alike:
        (0..<Int.random(in: 0...24, using: &random)).map { _ in
          random.next() % 8 == 0 ? UInt8.random(in: 0...1, using: &random) * 255 : 0
        }
      case .prefixed:
        [UInt8](repeating: 7, count: 16) + random.bytes(Int.random(in: 0...3, using: &random))
      case .numbers: bytes((random.next() % 50) << 40) + bytes(UInt64(index))
      case .shuffledNumbers: bytes(random.next() % 3) + bytes(random.next())
      case .wide: bytes(random.next() & ~0xffff) + [UInt8(index & 0xff)]
      case .ascending: bytes(UInt64(index)) + [UInt8](repeating: 1, count: index % 30)
      case .descending: bytes(UInt64(count - index)) + [UInt8](repeating: 1, count: index % 30)
      }
    }
  }

  /// The user's file takes the name of the file for sorting behind the look at it.
  @Test func anotherFileOfTheNameStays() throws {
    let folder = try TemporaryFolder()
    let mine = folder.url.appendingPathComponent("mine").path
    try Data("mine".utf8).write(to: URL(fileURLWithPath: mine))
    let waiting = try WaitingKeys(beside: folder.url.appendingPathComponent("new").path) { path in
      #expect(unsafe rename(mine, path) == 0)
    }
    withExtendedLifetime(waiting) {}
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["new-keys"])
    let kept = folder.url.appendingPathComponent("new-keys").path
    #expect(FileManager.default.contents(atPath: kept) == Data("mine".utf8))
  }

  private static func sorted(_ keys: [[UInt8]], in folder: TemporaryFolder) throws -> [[UInt8]] {
    let waiting = try WaitingKeys(beside: folder.url.appendingPathComponent("new").path)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
    var sorter = KeySorter(waiting, maxBytes: 0)
    for key in keys {
      // What lies behind a string is no part of it.
      let memory = ContiguousArray(key + [UInt8](repeating: 0xee, count: KeySorter.spareBytes))
      try sorter.add(memory, count: key.count)
    }
    var sorted: [[UInt8]] = []
    try sorter.drain { key throws(SQLiteWriterError) in
      sorted.append(unsafe key.withUnsafeBytes { unsafe [UInt8]($0) })
      return true
    }
    return sorted
  }

  /// All counts of all kinds, but the largest count usually of each third kind only.
  private static let cases: [(Kind, Int)] = {
    var all: [(Kind, Int)] = []
    for kind in Kind.allCases {
      for count in counts.dropLast() { all.append((kind, count)) }
    }
    for kind in Rounds.part(of: Kind.allCases, every: 3) {
      for count in counts.suffix(1) { all.append((kind, count)) }
    }
    return all
  }()

  @Test(arguments: cases)
  private func stringsComeInTheOrderOfTheirBytes(_ kind: Kind, _ count: Int) throws {
    let keys = Self.keys(kind, count)
    let given = try Self.sorted(keys, in: TemporaryFolder())
    #expect(given == keys.sorted { $0.lexicographicallyPrecedes($1) })
  }

  /// More pieces than are read at a time, of strings as long as they may be.
  @Test(arguments: [2, 15, 16, 17, 70])
  func manyPiecesBecomeFewer(_ pieces: Int) throws {
    var random = SplitMix64(seed: 9)
    let keys = (0..<2 * pieces).map { index in
      random.bytes(index % 2 == 0 ? KeySorter.maxKeyBytes : Int.random(in: 32_000...32_700))
    }
    let given = try Self.sorted(keys, in: TemporaryFolder())
    #expect(given == keys.sorted { $0.lexicographicallyPrecedes($1) })
  }

  @Test func itStopsWhenItIsTold() throws {
    let folder = try TemporaryFolder()
    let waiting = try WaitingKeys(beside: folder.url.appendingPathComponent("new").path)
    var sorter = KeySorter(waiting, maxBytes: 0)
    for key in Self.keys(.any, 1000) {
      try sorter.add(ContiguousArray(key + [UInt8](repeating: 0, count: 16)), count: key.count)
    }
    var count = 0
    try sorter.drain { _ throws(SQLiteWriterError) in
      count += 1
      return count < 3
    }
    #expect(count == 3)
  }
}
