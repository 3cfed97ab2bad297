import Fixtures
import Foundation
import Testing

@testable import RowText
@testable import SQLiteFile
@testable import SQLiteForensics

/// The parts of the check that stand alone.
@Suite struct CheckPartsTests {
  @Test func keySetsKeepKeys() {
    var generator = SplitMix64(seed: 5)
    var set = KeySet()
    var other = KeySet()
    var truth: Set<Int64> = []
    var otherTruth: Set<Int64> = []
    for _ in 0..<5000 {
      let key = Int64.random(in: 0..<3_000_000, using: &generator)
      set.insert(key)
      truth.insert(key)
      if Bool.random(using: &generator) {
        other.insert(key)
        otherTruth.insert(key)
      }
    }
    #expect(truth.allSatisfy { set.contains($0) })
    for key in Int64(0)..<20_000 { #expect(set.contains(key) == truth.contains(key)) }
    #expect(set.countMissing(in: other) == truth.subtracting(otherTruth).count)
    #expect(other.countMissing(in: set) == 0)
    #expect(set.isComplete)
  }

  @Test(arguments: [-1, Int64.min, Int64.max, 1 << 31]) func keysOutOfReachAreNotKept(_ key: Int64)
  {
    var set = KeySet()
    set.insert(key)
    #expect(!set.isComplete)
    #expect(!set.contains(key))
  }

  @Test func scatteredKeysAreBounded() {
    var set = KeySet()
    for index in Int64(0)..<60_000 { set.insert(index << 15) }
    #expect(!set.isComplete)
    #expect(set.contains(0) && set.contains(2047 << 15) && !set.contains(2048 << 15))
  }

  // MARK: References

  /// Checks a table `book` whose column `author` must lead to rows of the table `writer`.
  private static func checkOfReferences(_ writers: String, _ books: String) throws
    -> DemandingCheck
  {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("r.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA page_size = 512; CREATE TABLE writer(id INTEGER PRIMARY KEY, name TEXT);
      CREATE TABLE book(id INTEGER PRIMARY KEY, author INTEGER);
      INSERT INTO writer \(writers); INSERT INTO book \(books);
      """)
    connection.close()
    var demand = ColumnDemand(table: "book", column: 1, classes: .integer)
    demand.rowIDsOf = "writer"
    let check = try SQLiteDatabase(path: url.path).check(depth: .full, demands: [demand])
    #expect(check.report.findings.kept.isEmpty, "\(check.report.findings)")
    return check
  }

  /// A reference that no set of keys can hold leads to no row, and hides no other.
  @Test(arguments: [-1, 4, 1 << 40, Int64.min]) func aReferenceOutOfReachIsBroken(_ odd: Int64)
    throws
  {
    let check = try Self.checkOfReferences(
      "VALUES (1, 'a'), (2, 'b')", "VALUES (1, \(odd)), (2, 99), (3, 99), (4, 2)")
    #expect(check.breaches.map(\.kind) == [.rowID])
    #expect(check.breaches.first?.count == 3 && check.breaches.first?.first.rowID == 1)
    #expect(check.report.unchecked.isEmpty, "\(check.report.unchecked)")
  }

  /// The same where several threads read the file.
  @Test func aReferenceOutOfReachIsBrokenInALargeFile() throws {
    let check = try Self.checkOfReferences(
      "VALUES (1, 'a'), (2, 'b')",
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
      SELECT i, CASE i WHEN 1 THEN -1 ELSE 2 + i % 2 END FROM n
      """)
    #expect(check.report.pageCount > 2048)
    #expect(check.breaches.map(\.count) == [100_000])
    #expect(check.report.unchecked.isEmpty, "\(check.report.unchecked)")
  }

  /// More ranges of references than a set can hold.
  @Test func scatteredReferencesAreBroken() throws {
    let check = try Self.checkOfReferences(
      "VALUES (32768, 'a')",
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
      SELECT i, i << 15 FROM n
      """)
    #expect(check.breaches.map(\.count) == [2999])
    #expect(check.report.unchecked.isEmpty, "\(check.report.unchecked)")
  }

  /// Where keys do not fit, a reference that is not among the others may still lead to a row.
  @Test func referencesToKeysOutOfReachAreNotChecked() throws {
    let writers = "VALUES (-5, 'a'), (1, 'b'), (2, 'c')"
    let check = try Self.checkOfReferences(writers, "VALUES (1, -5), (2, 1)")
    #expect(check.breaches.isEmpty)
    #expect(check.report.unchecked.map(\.id.rawValue) == ["coredata.keysNotChecked"])
    #expect(check.report.unchecked.first?.message.contains("writer") == true)
    // All references are among the keys that fit.
    let whole = try Self.checkOfReferences(writers, "VALUES (1, 2), (2, 1)")
    #expect(whole.breaches.isEmpty && whole.report.unchecked.isEmpty)
  }

  @Test func spaceOfAPageIsAccountedFor() {
    var generator = SplitMix64(seed: 6)
    for _ in 0..<200 {
      var space = PageSpace()
      space.reset(4096)
      var truth = [Bool](repeating: false, count: 4096)
      for _ in 0..<20 {
        let start = Int.random(in: 0..<4096, using: &generator)
        let count = Int.random(in: 1...min(300, 4096 - start), using: &generator)
        let isFree = !truth[start..<start + count].contains(true)
        #expect(space.take(start, count) == isFree)
        for index in start..<start + count { truth[index] = true }
      }
    }
  }

  @Test(
    arguments: [
      ("CREATE INDEX a ON t(x)", ["x"], false),
      (
        "CREATE UNIQUE INDEX IF NOT EXISTS \"a b\" ON \"t\" (x COLLATE BINARY ASC, \"y z\" DESC)",
        ["x", "y z"], false
      ),
      ("create index a on t(x) where x > (1)", ["x"], true),
      ("CREATE INDEX a ON t(x, lower(y))", nil, false),
      ("CREATE INDEX a ON t(x+1)", nil, false),
      ("CREATE INDEX a ON t('x')", nil, false),
    ] as [(String, [String]?, Bool)])
  func indexesAreRead(_ sql: String, _ columns: [String]?, _ isPartial: Bool) throws {
    let index = try #require(IndexDefinition(sql: sql))
    #expect(index.columns == columns)
    #expect(index.isPartial == isPartial)
  }

  @Test(arguments: [
    "", "CREATE", "CREATE INDEX", "CREATE INDEX a ON t", "CREATE TABLE t(x)",
    "CREATE INDEX a ON t(",
  ])
  func noIndexIsNone(_ sql: String) {
    #expect(IndexDefinition(sql: sql)?.columns == nil)
  }

  /// Against the standard library's own judgement.
  @Test func validTextIsToldFromOther() {
    var generator = SplitMix64(seed: 8)
    let pieces: [[UInt8]] = [
      Array("a".utf8), Array("ascii text of some length".utf8), Array("ü".utf8), Array("東京".utf8),
      Array("🎉".utf8), [0xc0, 0x80], [0xe0, 0x80, 0x80], [0xed, 0xa0, 0x80],
      [0xf4, 0x90, 0x80, 0x80],
      [0x80], [0xff], [0xe2, 0x82], [0xc3], [0xef, 0xbf, 0xbf], [0xed, 0x9f, 0xbf],
      [0xf0, 0x90, 0x80, 0x80],
    ]
    var valid = 0
    for round in 0..<20_000 {
      var bytes = ContiguousArray<UInt8>()
      for _ in 0..<Int.random(in: 0...(round % 3 == 0 ? 60 : 8), using: &generator) {
        let last = round % 2 == 0 ? 5 : pieces.count
        bytes += pieces[Int.random(in: 0..<last, using: &generator)]
      }
      let truth = String(validating: bytes, as: UTF8.self) != nil
      if truth { valid += 1 }
      #expect(UTF8Scan.isValid(bytes.rawSpan) == truth, "\(Array(bytes))")
      var wide = ContiguousArray<UInt8>()
      var units: [UInt16] = []
      for _ in 0..<Int.random(in: 0...5, using: &generator) {
        let unit = [0x41, 0xd800, 0xdc00, 0xdbff, 0x6771].randomElement(using: &generator) ?? 0x41
        units.append(UInt16(unit))
        wide += [UInt8(unit & 0xff), UInt8(unit >> 8)]
      }
      #expect(
        UTF16Scan.isValid(wide.rawSpan, isBigEndian: false)
          == (String(validating: units, as: UTF16.self) != nil))
    }
    #expect(valid > 5000)
  }

  @Test func anOverflowChainThatEndsTooEarlyLeadsToNoPage() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("o.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      "PRAGMA page_size = 512; CREATE TABLE t(a); INSERT INTO t VALUES(randomblob(3000))")
    let first = try #require(
      try connection.integer(
        "SELECT pageno FROM dbstat WHERE pagetype = 'overflow' ORDER BY path LIMIT 1"))
    connection.close()
    try overwrite(url, at: (Int(first) - 1) * 512, bytes: [0, 0, 0, 0])
    let broken = try SQLiteDatabase(path: url.path).check().findings.kept
      .first { $0.id.rawValue == "overflow.broken" }
    #expect(broken?.message.contains("an overflow chain ends too early, after") == true)
  }

  /// SQLite refuses a record that has more fields than a table can have.
  @Test func aRecordHeaderOfMegabytesIsDamage() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("h.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      "PRAGMA page_size = 4096; CREATE TABLE t(a); INSERT INTO t VALUES(zeroblob(6000000))")
    let root = try #require(
      try connection.integer("SELECT rootpage FROM sqlite_schema WHERE name = 't'"))
    connection.close()
    let content = try bytes(of: url)
    let page = (Int(root) - 1) * 4096
    let cell = page + Int(content[page + 8]) << 8 + Int(content[page + 9])
    // The length of the payload has four bytes, the row id one. The length of the header becomes 5,000,000.
    try overwrite(url, at: cell + 5, bytes: [0x82, 0xb1, 0x96, 0x40])
    #expect(try CheckTests.verdict(url) != ["ok"])
    #expect(try CheckTests.damage(url) == ["record.badHeader"])
  }

  /// Fifty cells with the same bytes: when they are longer than the page, their records are not read any more.
  @Test func cellsWithTheSameBytesAreReadAFewTimes() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("c.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec("PRAGMA page_size = 512; CREATE TABLE t(a)")
    connection.close()
    // A record of 150 fields, all 0, in a cell of 155 bytes.
    let cell: [UInt8] = [0x81, 0x18, 5, 0x81, 0x18] + [UInt8](repeating: 8, count: 150)
    let start = UInt16(512 - cell.count)
    var page: [UInt8] = [13, 0, 0]
    page += UInt16(50).bigEndianBytes + start.bigEndianBytes + [0]
    for _ in 0..<50 { page += start.bigEndianBytes }
    page += [UInt8](repeating: 0, count: Int(start) - page.count)
    try overwrite(url, at: 512, bytes: page + cell)
    let damage = try #require(try CheckTests.damage(url))
    #expect(damage.contains("cell.overlap"))
    #expect(damage.count { $0 == "record.tooManyFields" } == 3)
  }

  @Test func mapsKeepClaims() {
    var map = PageMap(mainPageCount: 5000)
    #expect(map.claim(7, as: .leafTable, owner: 3, parent: 2) == nil)
    #expect(map.claim(7, as: .overflow, owner: 4, parent: 9)?.kind == .leafTable)
    #expect(map[7] == PageMap.Entry(kind: .leafTable, owner: 3, parent: 2))
    #expect(map.claim(.max, as: .overflow, owner: 1, parent: 1) == nil)
    #expect(map[.max].kind == .overflow)
    _ = map.claim(4100, as: .leafIndex, owner: 0, parent: 1)
    _ = map.claim(5002, as: .leafIndex, owner: 0, parent: 1)
    var runs: [ClosedRange<UInt32>] = []
    map.orphans(upTo: 5004) { runs.append($0) }
    #expect(runs == [1...6, 8...4099, 4101...5001, 5003...5004])
  }

  /// Page numbers of pointer maps as btree.c computes them.
  @Test func pointerMapsAreWhereSQLiteHasThem() {
    #expect(PointerMapCheck.mapPages(upTo: 300, usableSize: 512, pageSize: 512) == [2, 105, 208])
    #expect(PointerMapCheck.mapPage(of: 104, usableSize: 512, pageSize: 512) == 2)
    #expect(PointerMapCheck.mapPage(of: 106, usableSize: 512, pageSize: 512) == 105)
    #expect(PointerMapCheck.lockBytePage(4096) == 262_145)
  }
}
