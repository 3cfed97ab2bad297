import Fixtures
import SQLiteFile
@testable import SQLiteForensics
import Testing

/// Deleted rows into whose space newer ones were written, which were deleted in their turn: what is left of the older
/// ones is told from what is no longer theirs.
@Suite struct OverwrittenRowsTests {
  private static func blob(_ count: Int, _ seed: UInt64) -> FixtureValue {
    var random = SplitMix64(seed: seed)
    return .blob(random.bytes(count))
  }

  /// SQLite takes the space of a new row from the end of a free block. Rows that are freed one after the other in the
  /// order of the page are joined with the block before them and stay whole; others lose four bytes to a block's header.
  @Test(arguments: [[20], [20, 21], [21, 20], [20, 21, 22], [22, 20, 21], [21, 22, 20]])
  func aValueThatANewerRowStandsInIsMarked(_ deletions: [Int64]) throws {
    let older = Self.blob(900, 1)
    let newer = deletions.sorted().map { key in
      [
        .integer(key), .string("newer \(key)"), .integer(key * 1000), .real(0.5),
        Self.blob(120, UInt64(key)),
      ] as [FixtureValue]
    }
    let store = try DamageCase(pageSize: 4096) { connection in
      try connection.exec(
        "CREATE TABLE t(k INTEGER PRIMARY KEY, a TEXT, b INTEGER, c REAL, d BLOB)")
      let insert = "INSERT INTO t VALUES (?, ?, ?, ?, ?)"
      for key: Int64 in 1...4 {
        let value = key == 3 ? older : Self.blob(300, UInt64(key) + 50)
        try connection.insert(
          insert,
          [[.integer(key), .string("row \(key)"), .integer(70_000 + key), .real(1.25), value]])
      }
      try connection.exec("DELETE FROM t WHERE k = 3")
      try connection.insert(insert, newer)
      for key in deletions { try connection.exec("DELETE FROM t WHERE k = \(key)") }
    }
    let dead = try store.recover(.deleted) { _ in }.dead
    let values = dead.filter(\.partial.isEmpty).map {
      $0.values.dropFirst().map { FixtureValue($0) }
    }
    for row in newer { #expect(values.contains(Array(row.dropFirst()))) }
    #expect(values.count == newer.count)
    let marked = try #require(dead.first { !$0.partial.isEmpty })
    #expect(FixtureValue(marked.values[1]) == .string("row 3"))
    #expect(FixtureValue(marked.values[2]) == .integer(70_003))
    guard case .blob(let bytes) = older else { return }
    let value = try #require(marked.partial.first)
    #expect(marked.partial.count == 1 && value.column == 4 && value.of == 900)
    // All that stands before the newer rows is there, and nothing of theirs.
    #expect(value.isDoubtful && value.have > 400 && value.bytes == Array(bytes.prefix(value.have)))
  }

  /// The first newer row has lost its first four bytes, and its block was joined with that of a whole, much longer row
  /// behind it.
  @Test func aNewerRowBeforeALongOneIsReadByItsOwnTypes() throws {
    func row(_ key: Int64, _ count: Int) -> [FixtureValue] {
      [
        .integer(key), .string("row \(key)"), .integer(key), .string("x"),
        Self.blob(count, UInt64(key)),
      ]
    }
    let newer = [row(20, 60), row(21, 60)]
    let long = row(2, 2500)
    let store = try DamageCase(pageSize: 4096) { connection in
      try connection.exec(
        "CREATE TABLE t(k INTEGER PRIMARY KEY, a TEXT, b INTEGER, c TEXT, d BLOB)")
      let insert = "INSERT INTO t VALUES (?, ?, ?, ?, ?)"
      try connection.insert(insert, [row(1, 40), long, row(3, 600), row(4, 40)])
      try connection.exec("DELETE FROM t WHERE k = 3")
      try connection.insert(insert, newer)
      for key in [20, 2, 21] { try connection.exec("DELETE FROM t WHERE k = \(key)") }
    }
    let dead = try store.recover(.deleted) { _ in }.dead
    let values = dead.filter(\.partial.isEmpty).map {
      $0.values.dropFirst().map { FixtureValue($0) }
    }
    for row in newer + [long] { #expect(values.contains(Array(row.dropFirst())), "\(row[0])") }
    #expect(values.count == 3)
    #expect(dead.count { !$0.partial.isEmpty } == 1)
  }

  /// Small numbers one after the other look like headers of free blocks and of records at every fourth byte.
  @Test(arguments: [4096, 65536])
  func numbersInAValueAreNoNewerRow(_ pageSize: Int) throws {
    var random = SplitMix64(seed: 5)
    let rows = (1...200).map { key in
      let numbers = (0..<200).flatMap { _ in
        let number = Int.random(in: 0..<3000, using: &random)
        return [0, 0, UInt8(number >> 8), UInt8(number & 0xff)]
      }
      return [.integer(Int64(key)), .integer(Int64(key) * 3), .integer(7), .blob(numbers)]
        as [FixtureValue]
    }
    let store = try DamageCase(pageSize: pageSize) { connection in
      try connection.exec("CREATE TABLE t(k INTEGER PRIMARY KEY, a INTEGER, b INTEGER, d BLOB)")
      try connection.insert("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
      try connection.exec("DELETE FROM t WHERE k % 3 = 0")
    }
    let found = Set(
      try store.recover(.deleted) { _ in }.dead.filter(\.partial.isEmpty).map { row in
        row.values.dropFirst().map { FixtureValue($0) }
      })
    let deleted = rows.enumerated().filter { ($0.offset + 1) % 3 == 0 }.map(\.element)
    let missing = deleted.count { !found.contains(Array($0.dropFirst())) }
    #expect(missing <= 1, "\(missing) of \(deleted.count)")
  }

  /// SQLite writes the length of a header below 128 in one byte; in two it would put the record behind the page's end.
  @Test(arguments: 4...6)
  func aHeaderLengthOfTwoBytesIsNone(_ prefix: Int) throws {
    let store = try DamageCase(pageSize: 1024) { connection in
      try connection.exec("CREATE TABLE t(k INTEGER PRIMARY KEY, a INTEGER, b INTEGER)")
      try connection.insert(
        "INSERT INTO t VALUES (?, ?, ?)",
        (1...20).map { [.integer($0), .integer($0 * 100_000), .integer($0 * 200_000)] })
      try connection.exec("DELETE FROM t WHERE k = 1")
    }
    let recovered = try store.recover(.all) { content in
      let block = 1024 + Int(content[1025]) << 8 + Int(content[1026])
      let size = Int(content[block + 2]) << 8 + Int(content[block + 3])
      try #require(block + size == content.count)
      // Types of which the values end where the page does.
      let left = size - prefix - 5
      let first = [4, 2, 3, 1].first { [1, 2, 3, 4, 6, 8].contains(left - $0) } ?? 1
      func type(_ length: Int) -> UInt8 { length == 6 ? 5 : length == 8 ? 6 : UInt8(length) }
      let cell =
        [UInt8](repeating: 1, count: prefix - 4) + [0x80, 5, 0, type(first), type(left - first)]
        + [UInt8](repeating: 7, count: left)
      content.replaceSubrange(block + 4..<block + size, with: cell)
    }
    #expect(recovered.live.count == 19)
  }

  /// What SQLite wrote, by the values of all rows that ever were.
  private struct Churn {
    private let kinds: [Character]
    private let longest: Int
    private var random: SplitMix64
    /// The keys of the rows that are there, in order.
    private var live: [Int64] = []
    private var next: Int64 = 1
    private(set) var truth: [[FixtureValue]: Set<Int64>] = [:]

    init(_ seed: UInt64) {
      random = SplitMix64(seed: seed)
      let shapes = ["TITRB", "IIRIB", "TTIRTIB", "RIBI", "ITBTRIBII"]
      kinds = Array(shapes[Int(seed) % shapes.count])
      longest = [60, 200, 600, 1500][Int(seed / 5) % 4]
    }

    private mutating func value(_ kind: Character) -> FixtureValue {
      if Int.random(in: 0..<8, using: &random) == 0 { return .null }
      switch kind {
      case "I":
        let most: Int64 = [1, 100, 70_000, 1 << 40].randomElement(using: &random) ?? 1
        return .integer(Int64.random(in: 0...most, using: &random))
      case "R": return .real(Double.random(in: 0..<1e9, using: &random))
      case "T":
        let words = ["alpha", "beta", "gamma", "delta", "Straße", "мир", "会議"]
        let count = Int.random(in: 1...max(1, longest / 30), using: &random)
        return .string(
          (0..<count).map { _ in words.randomElement(using: &random) ?? "" }.joined(separator: " "))
      default: return .blob(random.bytes(Int.random(in: 0...longest, using: &random)))
      }
    }

    private mutating func insert(_ connection: SQLiteConnection, _ key: Int64) throws {
      let row = kinds.map { value($0) }
      truth[row, default: []].insert(key)
      if key > live.last ?? 0 { live.append(key) }
      let places = row.map { _ in ", ?" }.joined()
      try connection.insert("INSERT OR REPLACE INTO t VALUES (?\(places))", [[.integer(key)] + row])
    }

    mutating func run(_ connection: SQLiteConnection) throws {
      let columns = kinds.enumerated().map { place, kind in
        let type = ["I": "INTEGER", "R": "REAL", "T": "TEXT"][kind] ?? "BLOB"
        return ", c\(place) \(type)"
      }
      try connection.exec("CREATE TABLE t(k INTEGER PRIMARY KEY\(columns.joined()))")
      try connection.exec("BEGIN")
      for _ in 0..<300 {
        try insert(connection, next)
        next += 1
      }
      for _ in 0..<600 {
        guard let key = live.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<5:
          try connection.exec("DELETE FROM t WHERE k = \(key)")
          live.removeAll { $0 == key }
        case 5..<7: try insert(connection, key)
        default:
          try insert(connection, next)
          next += 1
        }
      }
      try connection.exec("COMMIT")
    }
  }

  @Test func deletedRowsThatAreNotMarkedWereTrueOnce() throws {
    var exact = 0
    var marked = 0
    var wrong: [String] = []
    for seed in 0..<30 {
      var churn = Churn(UInt64(seed))
      let pageSize = [1024, 2048, 4096, 8192][seed % 4]
      let store = try DamageCase(pageSize: pageSize) { try churn.run($0) }
      for row in try store.recover(.deleted, { _ in }).dead {
        if !row.partial.isEmpty {
          marked += 1
          continue
        }
        let keys = churn.truth[row.values.dropFirst().map { FixtureValue($0) }] ?? []
        if row.rowID.map({ keys.contains($0) }) ?? !keys.isEmpty {
          exact += 1
        } else {
          wrong.append("seed \(seed) page \(row.origin.page) offset \(row.origin.offset)")
        }
      }
    }
    // Nothing tells a page of an overflow chain that went to another row of which all else is gone, for one.
    #expect(wrong.count * 250 <= exact, "\(wrong.count) wrong, \(exact) exact: \(wrong)")
    #expect(exact > 2500)
    #expect(marked * 6 < exact, "\(marked) marked, \(exact) exact")
  }
}
