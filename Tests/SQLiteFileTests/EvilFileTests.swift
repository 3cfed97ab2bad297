import Fixtures
import Foundation
import SQLiteFile
import Testing

/// Files made by hand to make a reader crash, hang or fill the memory.
@Suite struct EvilFileTests {
  // MARK: - B-trees

  @Test func aSchemaPageThatIsItsOwnChildEnds() throws {
    var file = EvilFile()
    file.setSchemaPage(type: 5, cells: [], rightChild: 1)
    let database = try file.open()
    #expect(database.schema.entries.isEmpty)
    #expect(database.findings.kept.map(\.id.rawValue) == ["page.referencedTwice"])
  }

  @Test func childrenInACircleEnd() throws {
    var file = EvilFile(tables: [("t", 2)])
    file.setPage(2, type: 5, cells: [EvilFile.word(3) + [1]], rightChild: 4)
    file.setPage(
      3, type: 5, cells: [EvilFile.word(2) + [2], EvilFile.word(4) + [3]], rightChild: 3)
    file.setPage(4, type: 13, cells: [EvilFile.row(7, [1, 9], [42])])
    let database = try file.open()
    #expect(try database.rows(of: database.schema.tables[0]).map(\.rowID) == [7])
    #expect(database.findings.kept.count { $0.id.rawValue == "page.referencedTwice" } == 3)
  }

  @Test func aTreeDeeperThanAnyEnds() throws {
    var file = EvilFile(tables: [("t", 2)])
    for page in 2..<200 { file.setPage(page, type: 5, cells: [], rightChild: UInt32(page + 1)) }
    file.setPage(200, type: 13, cells: [EvilFile.row(1, [1, 9], [42])])
    let database = try file.open()
    #expect(try database.rows(of: database.schema.tables[0]).isEmpty)
    #expect(database.findings.kept.contains { $0.id.rawValue == "tree.tooDeep" })
  }

  /// 32,000 pointers to one large cell would make 500 MB of a page of 64 KB.
  @Test func manyPointersToOneCellDoNotMultiplyIt() throws {
    var file = EvilFile(tables: [("t", 2)], pageSize: 65_536)
    let body = [UInt8](repeating: 0x61, count: 30_000)
    let cell = EvilFile.row(1, [4] + EvilFile.varint(UInt64(13 + 2 * body.count)), body)
    file.setPage(2, type: 13, cells: [cell], repeating: 16_000)
    for page in 3...20 { file.setPage(page, type: 13, cells: [cell], repeating: 16_000) }
    file.setPage(
      2, type: 5, cells: (3...19).map { EvilFile.word(UInt32($0)) + [UInt8($0)] }, rightChild: 20)
    let database = try file.open()
    let rows = try database.rows(of: database.schema.tables[0]).count
    #expect(rows > 0 && rows < 1000, "\(rows)")
    #expect(database.findings.kept.contains { $0.id.rawValue == "tree.moreThanFile" })
  }

  /// Every cell of a page leads to the same long overflow chain.
  @Test func oneOverflowChainForAllCellsIsReadOnlySoOften() throws {
    var file = EvilFile(tables: [("t", 2)])
    let pages = 2000
    let length = pages * 508
    let header = EvilFile.varint(UInt64(13 + 2 * (length - 6)))
    let local = EvilFile.localLength(length)
    let record = [UInt8(header.count + 1)] + header
    let cell =
      EvilFile.varint(UInt64(length)) + [1] + record
      + [UInt8](repeating: 0x61, count: local - record.count) + EvilFile.word(3)
    file.setPage(2, type: 13, cells: [cell], repeating: 100)
    for page in 3...(pages + 2) {
      file.setBytes(page, EvilFile.word(UInt32(page + 1)) + [UInt8](repeating: 0x61, count: 508))
    }
    let database = try file.open()
    let rows = try database.rows(of: database.schema.tables[0]).count
    #expect(rows >= 1 && rows < 10, "\(rows)")
  }

  /// The test for BLOBs that end in zeros reads an overflow chain for one table, however many lead to it.
  @Test func tablesThatShareOverflowChainsDoNotEachReadThem() throws {
    var file = EvilFile(tables: [("t", 2), ("u", 3)], pageCount: 11)
    let length = 1055
    let record = [3] + EvilFile.varint(UInt64(12 + 2 * (length - 3)))
    let local = EvilFile.localLength(length)
    try #require(length - local == 2 * 508)
    let cells = (0..<4).map { row -> [UInt8] in
      var cell = EvilFile.varint(UInt64(length)) + [UInt8(row + 1)]
      cell += record
      cell += [UInt8](repeating: 0x61, count: local - record.count)
      cell += EvilFile.word(UInt32(4 + 2 * row))
      return cell
    }
    let content = [UInt8](repeating: 0x61, count: 508)
    let last = content.dropLast(16) + [UInt8](repeating: 0, count: 16)
    for row in 0..<4 {
      file.setBytes(4 + 2 * row, EvilFile.word(UInt32(5 + 2 * row)) + content)
      file.setBytes(5 + 2 * row, EvilFile.word(0) + last)
    }
    for root in [2, 3] { file.setPage(root, type: 13, cells: cells) }
    let database = try file.open()
    let claims = PageClaims(pageCount: 11, spare: 11 * 512)
    let pads = database.schema.tables.map {
      database.padsBlobs(of: $0, database.anotherReader(), claims)
    }
    #expect(pads == [true, false])
  }

  @Test(arguments: [[3], [3, 4], [3, 4, 5], [3, 4, 5, 6, 7, 8, 9]])
  func anOverflowChainInACircleEnds(_ pages: [Int]) throws {
    var file = EvilFile(tables: [("t", 2)], pageCount: 12)
    for (index, page) in pages.enumerated() {
      file.setBytes(page, EvilFile.word(UInt32(pages[(index + 1) % pages.count])))
    }
    let length = 6000
    let cell =
      EvilFile.varint(UInt64(length)) + [1] + [3, 0xdd, 0x00]
      + [UInt8](repeating: 0, count: EvilFile.localLength(length) - 3) + EvilFile.word(3)
    file.setPage(2, type: 13, cells: [cell, EvilFile.row(2, [1, 9], [42])])
    let database = try file.open()
    #expect(try database.rows(of: database.schema.tables[0]).map(\.rowID) == [2])
    #expect(database.findings.kept.contains { $0.id.rawValue == "overflow.broken" })
  }

  @Test func anOverflowChainThatEndsTooEarlyLeadsToNoPage() throws {
    var file = EvilFile(tables: [("t", 2)], pageCount: 4)
    file.setBytes(3, EvilFile.word(0) + [UInt8](repeating: 0x61, count: 508))
    let length = 1500
    let local = EvilFile.localLength(length)
    let cell =
      EvilFile.varint(UInt64(length)) + [1] + [3, 0x97, 0x3e]
      + [UInt8](repeating: 0x61, count: local - 3) + EvilFile.word(3)
    file.setPage(2, type: 13, cells: [cell])
    let database = try file.open()
    #expect(try database.rows(of: database.schema.tables[0]).isEmpty)
    #expect(
      database.findings.kept.map(\.message).contains(
        "an overflow chain ends too early, after \(local + 508) of \(length) bytes"))
  }

  @Test(
    arguments: [
      // Payload lengths of 2^63, 2^64 - 1 and 2^62.
      [0xc0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 1],
      [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
      [0xa0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 1],
      // Header lengths of 9 bytes: huge, and 3 written long.
      [12, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1, 1],
      [12, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x0b, 1, 1, 1],
      // A header that claims to be shorter than its own length, and one longer than the record.
      [4, 1, 0, 1, 1, 1], [4, 1, 100, 1, 1, 1],
      // A value of 2^62 bytes, and of 2^63 bytes.
      [12, 1, 10, 0xc0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 1, 1],
      [12, 1, 10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1],
      // A varint that runs past the record's header, a real of which a byte is missing.
      [3, 1, 2, 0x81, 1], [9, 1, 2, 7, 1, 1, 1, 1, 1, 1, 1],
    ] as [[UInt8]])
  func cellsWithImpossibleLengthsAreLost(_ cell: [UInt8]) throws {
    var file = EvilFile(tables: [("t", 2)])
    file.setPage(2, type: 13, cells: [cell, EvilFile.row(9, [1, 9], [42])])
    let database = try file.open()
    let rows = try database.rows(of: database.schema.tables[0])
    #expect(rows.last?.values == [.integer(42), .integer(1)])
    #expect(rows.count == 1 || rows.first?.rowID == 1, "\(rows)")
    #expect(rows.count == 2 || database.findings.damageCount > 0)
  }

  @Test func cellPointersOutsideThePageAreLost() throws {
    var file = EvilFile(tables: [("t", 2)])
    file.setPage(2, type: 13, cells: [EvilFile.row(1, [1, 9], [42])], repeating: 5)
    for (index, pointer) in [0xffff, 511, 0, 509].enumerated() {
      file.setBytes(2, [UInt8(pointer >> 8), UInt8(pointer & 255)], at: 8 + 2 * index)
    }
    let database = try file.open()
    #expect(try database.rows(of: database.schema.tables[0]).count == 1)
    file.setBytes(2, [0xff, 0xff], at: 3)
    let other = try file.open()
    #expect(try other.rows(of: other.schema.tables[0]).isEmpty)
    #expect(
      other.findings.kept.filter { $0.table == "t" }.map(\.id.rawValue) == ["page.badCellCount"])
  }

  // MARK: - Schema

  @Test(arguments: [0, -1, 1, 4_294_967_296, 4_294_967_295, .min, .max] as [Int64])
  func rootPagesThatCannotBe(_ root: Int64) throws {
    let file = EvilFile(schema: [("table", "t", root, "CREATE TABLE t(a, b)")])
    let database = try file.open()
    let tables = database.schema.tables
    #expect(tables.count == (root > 0 && root <= Int64(UInt32.max) ? 1 : 0))
    for table in tables {
      let rows = try database.rows(of: table)
      // The schema's own rows are no table's.
      #expect(rows.isEmpty)
    }
  }

  @Test(
    arguments: [
      "CREATE TABLE t(a DEFAULT " + String(repeating: "(", count: 100_000),
      "CREATE TABLE t(a DEFAULT " + String(repeating: "(", count: 50_000) + "1"
        + String(repeating: ")", count: 50_000) + ")",
      "CREATE TABLE t(a DEFAULT (" + String(repeating: "- ", count: 50_000) + "1))",
      "CREATE TABLE t(a CHECK" + String(repeating: "(", count: 50_000)
        + String(repeating: ")", count: 50_000) + ")",
      "CREATE TABLE t(" + String(repeating: ",", count: 100_000) + ")",
      "CREATE TABLE t(a" + String(repeating: "[", count: 100_000),
      "CREATE TABLE t(a" + String(repeating: "/*", count: 50_000),
      "CREATE TABLE t(" + (0..<8000).map { "c\($0)" }.joined(separator: ",") + ")",
      "CREATE TABLE t(" + (0..<5000).map { "c\($0)" }.joined(separator: ",") + ",PRIMARY KEY("
        + (0..<5000).map { "c\($0)" }.joined(separator: ",") + ")) WITHOUT ROWID",
      "CREATE TABLE", "CREATE TABLE t", "CREATE TABLE t(", "CREATE TABLE t()", "CREATE", "\0", "",
      "CREATE TABLE t(a) WITHOUT", "CREATE TABLE t(a PRIMARY", "CREATE TABLE t(a COLLATE",
      "CREATE TABLE t(a GENERATED ALWAYS AS", "CREATE TABLE t(a DEFAULT",
      "CREATE TABLE t(a DEFAULT -",
      "CREATE TABLE t(CONSTRAINT", "CREATE TABLE t(PRIMARY KEY(", "CREATE TABLE t.",
      "CREATE TABLE IF",
      "CREATE TABLE t(a DEFAULT ())", "CREATE TABLE t(a DEFAULT (-))",
      "CREATE TABLE t(a DEFAULT x'1')",
    ])
  func statementsThatNoSQLiteWrote(_ sql: String) throws {
    let file = EvilFile(schema: [("table", "t", 2, sql)])
    let database = try file.open()
    _ = try database.rows(of: try #require(database.schema.tables.first))
  }

  /// As many keys as fit into a megabyte: the work on them grows with the statement, not with its square.
  @Test(arguments: [
    "CREATE TABLE t(" + (0..<100_000).map { "c\($0) UNIQUE" }.joined(separator: ",") + ")",
    "CREATE TABLE t(" + (0..<100_000).map { "c\($0)" }.joined(separator: ",") + ",PRIMARY KEY("
      + (0..<100_000).map { "c\($0)" }.joined(separator: ",") + ")) WITHOUT ROWID",
  ])
  func statementsOfManyKeys(_ sql: String) throws {
    let file = EvilFile(schema: [("table", "t", 2, sql)])
    let table = try #require(try file.open().schema.tables.first)
    #expect(table.columnNames.count == 100_000)
  }

  // MARK: - Header and size

  @Test(arguments: [512, 513, 1000, 65_535])
  func aHugePageSizeInAShortFile(_ size: Int) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("t.sqlite")
    var bytes = EvilFile(tables: [("t", 2)]).bytes
    bytes.replaceSubrange(16..<18, with: [0, 1])
    try Data((bytes + [UInt8](repeating: 0, count: 65_536)).prefix(size)).write(to: url)
    let database = try SQLiteDatabase(path: url.path)
    #expect(database.header.pageSize == 65_536)
    // The entry of the schema is in the part of page 1 that the file has.
    #expect(database.schema.tables.map(\.name) == ["t"])
    #expect(
      database.findings.kept.contains { $0.id.rawValue == "page.missing" && $0.page == 1 })
  }

  @Test func everyByteOfTheHeaderMayBeAnything() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("t.sqlite")
    var file = EvilFile(tables: [("t", 2)])
    file.setPage(2, type: 13, cells: [EvilFile.row(1, [1, 9], [42])])
    for offset in 0..<108 {
      for value in [0, 1, 0x7f, 0x80, 0xff] as [UInt8] {
        var bytes = file.bytes
        bytes[offset] = value
        try Data(bytes).write(to: url)
        guard let database = try? SQLiteDatabase(path: url.path) else { continue }
        for table in database.schema.tables { _ = try database.rows(of: table) }
      }
    }
    for count in 0..<600 {
      try Data(file.bytes.prefix(count)).write(to: url)
      _ = try? SQLiteDatabase(path: url.path)
    }
  }

  /// The values of a text column of UTF-16 with an odd number of bytes, whole and behind one another.
  @Test(arguments: [2, 3] as [UInt8])
  func utf16OfAnOddLength(_ encoding: UInt8) throws {
    var file = EvilFile(schema: [])
    file.setBytes(1, [0, 0, 0, encoding], at: 56)
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("t.sqlite")
    let name = encoding == 2 ? "t\0" : "\0t"
    let type = Array("table".utf8).flatMap { encoding == 2 ? [$0, 0] : [0, $0] }
    let body = type + Array(name.utf8) + Array(name.utf8) + [2] + [0x61, 0xd8, 0x00]
    file.setSchemaPage(
      type: 13, cells: [EvilFile.row(1, [6, 33, 17, 17, 1, 19], body)], rightChild: nil)
    file.setPage(2, type: 13, cells: [EvilFile.row(1, [3, 15, 19], [0xd8, 0x61, 0x00, 0xd8])])
    try Data(file.bytes).write(to: url)
    let database = try SQLiteDatabase(path: url.path)
    let rows = try database.rows(of: try #require(database.schema.table(named: "t")))
    #expect(rows.count == 1 && rows[0].values.count == 2)
  }
}

/// A database of 512-byte pages, put together by hand.
struct EvilFile {
  private(set) var bytes: [UInt8]
  private let pageSize: Int

  /// Tables `t(a, b)` with these roots.
  init(tables: [(String, Int64)] = [], pageSize: Int = 512, pageCount: Int = 2) {
    self.init(
      schema: tables.map { ("table", $0.0, $0.1, "CREATE TABLE \($0.0)(a, b)") },
      pageSize: pageSize,
      pageCount: pageCount)
  }

  /// A schema table of these rows.
  init(schema: [(String, String, Int64, String)], pageSize: Int = 512, pageCount: Int = 2) {
    // A long statement takes overflow pages, from page 3 on.
    self.pageSize = pageSize
    bytes = [UInt8](repeating: 0, count: pageSize * pageCount)
    let lead = Array("SQLite format 3\0".utf8)
    bytes.replaceSubrange(0..<16, with: lead)
    let stored = pageSize == 65_536 ? 1 : pageSize
    bytes.replaceSubrange(16..<18, with: [UInt8(stored >> 8), UInt8(stored & 255)])
    bytes.replaceSubrange(18..<24, with: [1, 1, 0, 64, 32, 32])
    bytes[47] = 4
    bytes[59] = 1
    var cells: [[UInt8]] = []
    for (index, (type, name, root, sql)) in schema.enumerated() {
      let texts = [type, name, name].map { Array($0.utf8) }
      let rootBytes = (0..<8).map { UInt8(truncatingIfNeeded: root >> Int64(56 - 8 * $0)) }
      var statement = Array(sql.utf8)
      var record: [UInt8]
      // Spaces at the end, until the part on page 1 leaves room for the database header.
      repeat {
        let types =
          texts.flatMap { Self.varint(UInt64(13 + 2 * $0.count)) } + [6]
          + Self.varint(UInt64(13 + 2 * statement.count))
        record = [UInt8(types.count + 1)] + types + texts.flatMap { $0 } + rootBytes + statement
        statement.append(0x20)
      } while Self.localLength(record.count, usable: pageSize) > pageSize - 140
      var cell = Self.varint(UInt64(record.count)) + [UInt8(index + 1)]
      let local = Self.localLength(record.count, usable: pageSize)
      cell += record[..<local]
      if local < record.count {
        var page = 3
        cell += Self.word(3)
        for start in stride(from: local, to: record.count, by: pageSize - 4) {
          let piece = record[start..<min(start + pageSize - 4, record.count)]
          let isLast = start + pageSize - 4 >= record.count
          setBytes(page, Self.word(isLast ? 0 : UInt32(page + 1)) + piece)
          page += 1
        }
      }
      cells.append(cell)
    }
    setSchemaPage(type: 13, cells: cells, rightChild: nil)
    setPage(2, type: 13, cells: [])
  }

  /// Writes the file and opens it.
  func open() throws -> SQLiteDatabase {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("evil.sqlite")
    try Data(bytes).write(to: url)
    return try SQLiteDatabase(path: url.path)
  }

  mutating func setBytes(_ page: Int, _ content: [UInt8], at offset: Int = 0) {
    let end = max(page * pageSize, (page - 1) * pageSize + offset + content.count)
    if bytes.count < end { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
    let start = (page - 1) * pageSize + offset
    bytes.replaceSubrange(start..<start + content.count, with: content)
  }

  mutating func setSchemaPage(type: UInt8, cells: [[UInt8]], rightChild: UInt32?) {
    set(1, 100, type, cells, rightChild, 1)
  }

  /// Writes a b-tree page; with `repeating` each cell has that many pointers.
  mutating func setPage(
    _ page: Int, type: UInt8, cells: [[UInt8]], rightChild: UInt32? = nil, repeating: Int = 1
  ) {
    set(page, 0, type, cells, rightChild, repeating)
  }

  private mutating func set(
    _ page: Int, _ start: Int, _ type: UInt8, _ cells: [[UInt8]], _ rightChild: UInt32?,
    _ repeating: Int
  ) {
    let count = cells.count * repeating
    setBytes(page, [type, 0, 0, UInt8(count >> 8), UInt8(count & 255), 0, 0, 0], at: start)
    if let rightChild { setBytes(page, Self.word(rightChild), at: start + 8) }
    var end = pageSize
    var pointer = start + (rightChild == nil ? 8 : 12)
    for cell in cells {
      end -= max(cell.count, 4)
      setBytes(page, cell, at: end)
      for _ in 0..<repeating {
        setBytes(page, [UInt8(end >> 8), UInt8(end & 255)], at: pointer)
        pointer += 2
      }
    }
  }

  /// A cell of a table's leaf: a header whose first byte is its own length, without that byte's own place in it.
  static func row(_ id: UInt8, _ types: [UInt8], _ body: [UInt8]) -> [UInt8] {
    // `types` may begin with the header's length already.
    let header =
      types.first.map { Int($0) } == types.count ? types : [UInt8(types.count + 1)] + types
    return varint(UInt64(header.count + body.count)) + [id] + header + body
  }

  static func word(_ value: UInt32) -> [UInt8] {
    value.bigEndianBytes
  }

  static func varint(_ value: UInt64) -> [UInt8] {
    if value >> 56 != 0 {
      return (0..<8).map { 0x80 | UInt8(truncatingIfNeeded: value >> UInt64(57 - 7 * $0)) & 0xff }
        + [UInt8(truncatingIfNeeded: value)]
    }
    var bytes = [UInt8(value & 0x7f)]
    var rest = value >> 7
    while rest > 0 {
      bytes.insert(0x80 | UInt8(rest & 0x7f), at: 0)
      rest >>= 7
    }
    return bytes
  }

  /// The local part of a payload in a table's leaf (file format, section 1.6).
  static func localLength(_ payload: Int, usable: Int = 512) -> Int {
    let most = usable - 35
    if payload <= most { return payload }
    let least = (usable - 12) * 32 / 255 - 23
    let local = least + (payload - least) % (usable - 4)
    return local <= most ? local : least
  }
}
