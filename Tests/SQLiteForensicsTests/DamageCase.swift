import Fixtures
import Foundation
import SQLiteFile
import Testing
@testable import SQLiteForensics

/// A store made by SQLite, what SQLite reads from it while it is whole, and which page holds which row: all that
/// is needed to ruin it at a chosen place and to judge what is recovered.
///
/// Where rows stand is told by SQLite's own dbstat table, not by the reader under test.
struct DamageCase {
  /// A page as dbstat describes it.
  struct Page {
    let number: Int
    let table: String
    /// `leaf`, `internal` or `overflow`.
    let kind: String
    let path: String
    let cellCount: Int
  }

  let pageSize: Int
  let encoding: String
  /// Rows by table, in the order of their b-tree.
  let truth: [String: [SQLiteConnection.FixtureRow]]
  let pages: [Page]
  /// The bytes of the main file and of what stood beside it.
  let bytes: [UInt8]
  var sides: [String: [UInt8]] = [:]

  var pageCount: Int { bytes.count / pageSize }

  /// Makes a database: `pragmas` is what must be set before the first table, `build` fills it.
  init(
    pageSize: Int = 1024, reserved: Int32 = 0, pragmas: String = "",
    _ build: (SQLiteConnection) throws -> Void
  ) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("made.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec("PRAGMA page_size = \(pageSize)")
    if reserved > 0 { try connection.reserve(bytes: reserved) }
    // Debian builds SQLite with secure_delete on, which leaves nothing of deleted rows.
    try connection.exec("PRAGMA synchronous = OFF; PRAGMA secure_delete = OFF; \(pragmas)")
    try build(connection)
    try self.init(connection, url)
    connection.close()
  }

  /// Takes a database as it stands, with the connection still open.
  init(_ connection: SQLiteConnection, _ url: URL) throws {
    pageSize = Int(try connection.integer("PRAGMA page_size") ?? 0)
    encoding = try connection.string("PRAGMA encoding") ?? ""
    pages = try connection.rows(
      "SELECT pageno, name, pagetype, path, ncell FROM dbstat ORDER BY name, path"
    ).map { row in
      guard case .integer(let number) = row[0], case .text(let name) = row[1],
        case .text(let kind) = row[2], case .text(let path) = row[3],
        case .integer(let count) = row[4]
      else { throw FixtureError("dbstat gives \(row)") }
      return Page(
        number: Int(number), table: String(decoding: name, as: UTF8.self),
        kind: String(decoding: kind, as: UTF8.self), path: String(decoding: path, as: UTF8.self),
        cellCount: Int(count))
    }
    var truth: [String: [SQLiteConnection.FixtureRow]] = [:]
    for table in try connection.ordinaryTables() {
      truth[table] = try connection.rowsOfTable(table, virtualColumns: true)
    }
    self.truth = truth
    bytes = try Fixtures.bytes(of: url)
    for suffix in ["-wal", "-journal"] {
      let side = URL(fileURLWithPath: url.path + suffix)
      if let content = try? Fixtures.bytes(of: side) { sides[suffix] = content }
    }
  }

  // MARK: - Where things are

  /// Pages of tables (not of indexes) of one kind.
  func pages(_ kind: String, of table: String? = nil) -> [Page] {
    pages.filter {
      $0.kind == kind && (table == nil ? truth[$0.table] != nil : $0.table == table)
    }
  }

  /// The places of the rows, in the truth, that a leaf of a table with row ids holds.
  func rows(of leaf: Page) -> Range<Int> {
    var first = 0
    for page in pages(leaf.kind, of: leaf.table) where page.kind == "leaf" {
      if page.number == leaf.number { return first..<first + page.cellCount }
      first += page.cellCount
    }
    return 0..<0
  }

  /// The pages that each row of a table stands on: its leaf, and its overflow pages in their order.
  func places(of table: String) -> [[Int]] {
    var result: [[Int]] = []
    // The path of an overflow page is that of its leaf, the cell, a plus sign and the place in the chain.
    let chains = Dictionary(grouping: pages("overflow", of: table)) { page in
      String(page.path.prefix { $0 != "+" })
    }
    for leaf in pages("leaf", of: table) {
      for cell in 0..<leaf.cellCount {
        let digits = String(cell, radix: 16)
        let name = String(repeating: "0", count: max(0, 3 - digits.count)) + digits
        let chain = (chains[leaf.path + name] ?? []).sorted { $0.path < $1.path }
        result.append([leaf.number] + chain.map(\.number))
      }
    }
    return result
  }

  /// The bytes of a page in the file.
  func range(_ page: Int) -> Range<Int> { (page - 1) * pageSize..<page * pageSize }

  // MARK: - Recovery

  /// Writes a ruined form of the file and reads it. `expect` are statements of tables that the reader is told to
  /// expect beside its own.
  func recover(
    _ selection: DamagedDatabase.Selection = .live, expect: [String] = [],
    _ ruin: (inout [UInt8]) throws -> Void
  ) throws -> Recovered {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("ruined.sqlite")
    var content = bytes
    try ruin(&content)
    try Data(content).write(to: url)
    for (suffix, side) in sides {
      try Data(side).write(to: URL(fileURLWithPath: url.path + suffix))
    }
    let before = treeState(of: folder.url)
    let recovered = try Recovered(path: url.path, selection, expect: expect)
    #expect(treeState(of: folder.url) == before)
    return recovered
  }
}

/// What the reader of damaged files gives.
struct Recovered {
  let layout: FileLayout
  let tables: [String]
  let rows: [RecoveredRow]
  let findings: [String]

  init(
    path: String, _ selection: DamagedDatabase.Selection, expect: [String] = [],
    logView: SQLiteDatabase.LogView = .committed
  ) throws {
    let database = try DamagedDatabase(path: path, logView: logView)
    if !expect.isEmpty {
      let known = Set(database.tables.map(\.name))
      let told = expect.compactMap { sql in
        ExpectedTable(name: Self.name(in: sql), sql: sql)
      }
      try database.expect(database.tables + told.filter { !known.contains($0.name) })
    }
    var rows: [RecoveredRow] = []
    try database.forEachRow(selection) { row in
      rows.append(row)
      return true
    }
    layout = database.layout
    tables = database.tables.map(\.name)
    self.rows = rows
    findings = database.findings.kept.map(\.id.rawValue)
  }

  /// The name in a plain CREATE TABLE statement.
  static func name(in sql: String) -> String {
    let words = sql.split { " (".contains($0) }
    return words.count > 2 ? String(words[2]) : sql
  }

  func table(of row: RecoveredRow) -> String? { row.origin.table.map { tables[$0] } }

  var live: [RecoveredRow] { rows.filter { $0.origin.state == nil } }
  var dead: [RecoveredRow] { rows.filter { $0.origin.state != nil } }
}

/// What plain reading and recovery find in the same file.
struct BothFindings {
  /// The ids of what plain reading finds damaged.
  let plain: [String]
  /// The ids of what the check finds damaged.
  let checked: [String]
  let recovered: FindingList

  init(in bytes: [UInt8]) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("ruined.sqlite")
    try Data(bytes).write(to: url)
    let database = try SQLiteDatabase(path: url.path)
    for table in database.schema.tables { try database.forEachRow(of: table) { _ in true } }
    plain = database.findings.kept.filter { $0.severity == .damage }.map(\.id.rawValue)
    checked = try SQLiteDatabase(path: url.path).check().findings.kept
      .filter { $0.severity == .damage }.map(\.id.rawValue)
    let damaged = try DamagedDatabase(path: url.path)
    try damaged.forEachRow(.all) { _ in true }
    recovered = damaged.findings
  }
}

/// Live rows that were recovered, held against the truth.
struct Judgement {
  struct Key: Hashable {
    let table: String
    let place: Int
  }

  /// Rows given whole, under the name of their table.
  private(set) var exact: Set<Key> = []
  /// Rows given whole, without the name of a table.
  private(set) var nameless: Set<Key> = []
  /// Rows given with values marked as not whole, all others right.
  private(set) var partial: Set<Key> = []
  /// Rows whose row id was in doubt, all values right.
  private(set) var doubtful = 0
  /// Rows that are marked throughout.
  private(set) var wrecked = 0
  /// What is not marked, and not so.
  private(set) var wrong: [String] = []
  private(set) var repeated: [String] = []
  let total: Int
  private let truth: [String: [SQLiteConnection.FixtureRow]]

  init(_ recovered: Recovered, _ original: DamageCase) {
    self.init(recovered, original.truth, isUTF8: original.encoding == "UTF-8")
  }

  init(
    _ recovered: Recovered, _ truth: [String: [SQLiteConnection.FixtureRow]], isUTF8: Bool = true
  ) {
    self.truth = truth
    total = truth.values.reduce(0) { $0 + $1.count }
    var places: [String: [Int64: Int]] = [:]
    for (table, rows) in truth {
      places[table] = Dictionary(
        rows.enumerated().compactMap { place, row in row.rowid.map { ($0, place) } },
        uniquingKeysWith: { one, _ in one })
    }
    // Those whose row id is certain first, so that the others find what is left.
    let live = recovered.live
    for row in live.filter({ $0.rowID != nil }) + live.filter({ $0.rowID == nil }) {
      let name = recovered.table(of: row)
      if let name, truth[name] == nil {
        wrong.append("a row of \(name), which is no table")
        continue
      }
      let tables = name.map { [$0] } ?? truth.keys.sorted()
      if row.partial.count == row.values.count, !row.partial.isEmpty {
        wrecked += 1
        continue
      }
      var found: Key?
      var isKnown = false
      for table in tables {
        guard let rows = truth[table] else { continue }
        if let rowID = row.rowID {
          guard let place = places[table]?[rowID] else { continue }
          isKnown = true
          if Self.agrees(row, rows[place], isNamed: name != nil, isUTF8) {
            found = Key(table: table, place: place)
          }
        } else {
          let place = rows.indices.first {
            Self.agrees(row, rows[$0], isNamed: name != nil, isUTF8)
              && !exact.contains(Key(table: table, place: $0))
              && !nameless.contains(Key(table: table, place: $0))
          }
          if let place {
            found = Key(table: table, place: place)
            if rows[place].rowid != nil { doubtful += 1 }
          }
        }
        if found != nil { break }
      }
      guard let found else {
        wrong.append(
          "\(name ?? "?") \(row.rowID ?? -1) \(isKnown ? "" : "(never was) ")\(row.values.map { FixtureValue($0) }) page \(row.origin.page) partial \(row.partial.map(\.column))"
        )
        continue
      }
      if exact.contains(found) || nameless.contains(found) || partial.contains(found) {
        repeated.append("\(found.table) row \(row.rowID ?? -1) page \(row.origin.page)")
      }
      if !row.partial.isEmpty {
        partial.insert(found)
      } else if name == nil {
        nameless.insert(found)
      } else {
        exact.insert(found)
      }
    }
  }

  /// Whether all values that are given as whole are the row's, and the others begin as it does.
  static func agrees(
    _ row: RecoveredRow, _ truth: SQLiteConnection.FixtureRow, isNamed: Bool, _ isUTF8: Bool
  ) -> Bool {
    let wanted = truth.values
    guard isNamed ? row.values.count == wanted.count : row.values.count <= wanted.count else {
      return false
    }
    // Most rows are as they were, and are compared by optimized code.
    if isNamed, row.partial.isEmpty, FixtureValue.areEqual(row.values, wanted) { return true }
    for (column, value) in row.values.enumerated() {
      if !row.partial.isEmpty, let partial = row.partial.first(where: { $0.column == column }) {
        guard case .null = value else { return false }
        if isBorderless(partial, wanted[column]) { continue }
        switch wanted[column] {
        case .blob(let bytes):
          if partial.of != bytes.count || !bytes.starts(with: partial.bytes) { return false }
        case .text(let bytes) where isUTF8:
          if partial.of != bytes.count || !bytes.starts(with: partial.bytes) { return false }
        default: break
        }
        continue
      }
      // A row id in doubt is given in no column either.
      if row.rowID == nil, value == .null, let rowID = truth.rowid,
        wanted[column] == .integer(rowID)
      {
        continue
      }
      if !isSame(FixtureValue(value), wanted[column], isNamed: isNamed) { return false }
    }
    return true
  }

  /// Whether a value is in doubt of which not even the length is certain: its bytes begin with the true ones, or none
  /// are given.
  private static func isBorderless(_ partial: PartialValue, _ wanted: FixtureValue) -> Bool {
    guard partial.isDoubtful else { return false }
    guard partial.of > 0 else { return true }
    switch wanted {
    case .blob(let bytes): return partial.bytes.starts(with: bytes)
    case .text(let bytes): return partial.bytes.starts(with: bytes)
    default: return false
    }
  }

  /// Without a table a real is what the file has, which may be an integer, and the key column is NULL.
  private static func isSame(_ value: FixtureValue, _ wanted: FixtureValue, isNamed: Bool) -> Bool {
    if value == wanted { return true }
    guard !isNamed else { return false }
    switch (value, wanted) {
    case (.integer(let number), .real(let real)): return Double(number) == real
    case (.null, .integer): return true
    default: return false
    }
  }

  /// Rows that were not given, neither whole nor in part.
  var missing: [Key] {
    truth.keys.sorted().flatMap { table in
      (truth[table] ?? []).indices.map { Key(table: table, place: $0) }
    }.filter { !exact.contains($0) && !nameless.contains($0) && !partial.contains($0) }
  }

  /// Demands that nothing unmarked is wrong and nothing comes twice.
  func expectHonest(
    _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(wrong.isEmpty, comment, sourceLocation: sourceLocation)
    #expect(repeated.isEmpty, comment, sourceLocation: sourceLocation)
  }

  /// Demands every row whole under its table's name.
  func expectAll(_ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation) {
    expectHonest(comment, sourceLocation: sourceLocation)
    #expect(exact.count == total, comment, sourceLocation: sourceLocation)
  }
}

/// Tables of different shapes, filled the same way in each run.
enum Notebook {
  static let statements = [
    "CREATE TABLE note(id INTEGER PRIMARY KEY, folder INTEGER, title TEXT NOT NULL, body TEXT, weight REAL, picture BLOB)",
    "CREATE TABLE folder(id INTEGER PRIMARY KEY, name TEXT NOT NULL, kind INTEGER, color TEXT)",
    "CREATE TABLE event(at REAL, what TEXT, amount NUMERIC, flag INTEGER, who TEXT)",
  ]

  private static let words = [
    "mast", "sail", "harbour", "Tromsø", "東京", "rope", "chart", "buoy", "anchor", "tide", "",
  ]

  static func text(_ generator: inout SplitMix64, _ count: Int) -> FixtureValue {
    .string(
      (0..<count).map { _ in words[Int.random(in: 0..<words.count, using: &generator)] }
        .joined(separator: " "))
  }

  /// Fills so many notes, and fewer folders and events. `longest` are the bytes of the longest pictures, which
  /// take overflow pages.
  static func fill(
    _ connection: SQLiteConnection, rows: Int = 300, longest: Int = 0, seed: UInt64 = 7
  ) throws {
    var generator = SplitMix64(seed: seed)
    try connection.exec("BEGIN")
    for sql in statements { try connection.exec(sql) }
    try connection.exec("CREATE INDEX note_folder ON note(folder)")
    var notes: [[FixtureValue]] = []
    for number in 1...rows {
      let folder = FixtureValue.integer(Int64.random(in: 0...20, using: &generator))
      let title = text(&generator, 4)
      let body: FixtureValue = number % 7 == 0 ? .null : text(&generator, 12)
      // A REAL column keeps whole numbers as integers.
      let weight = number % 3 == 0 ? Double(number) : Double(number) / 8
      var picture = FixtureValue.null
      if longest > 0, number % 10 == 0 {
        let length = Int.random(in: longest / 4...longest, using: &generator)
        picture = .blob(generator.bytes(length))
      } else if number % 5 == 0 {
        picture = .blob(generator.bytes(20))
      }
      notes.append([.integer(Int64(number)), folder, title, body, .real(weight), picture])
    }
    try connection.insert("INSERT INTO note VALUES(?, ?, ?, ?, ?, ?)", notes)
    var folders: [[FixtureValue]] = []
    for number in 1...max(3, rows / 5) {
      let name = text(&generator, 3)
      let color: FixtureValue = number % 2 == 0 ? .null : .string("#\(number)aa00")
      folders.append([.integer(Int64(number * 3)), name, .integer(Int64(number % 4)), color])
    }
    try connection.insert("INSERT INTO folder VALUES(?, ?, ?, ?)", folders)
    var events: [[FixtureValue]] = []
    for number in 1...max(3, rows / 3) {
      let time = 7e8 + Double(number) * 1.25
      let who: FixtureValue = number % 4 == 0 ? .null : .string("crew \(number)")
      let amount = Int64(number) << 20
      events.append([
        .real(time), text(&generator, 6), .integer(amount), .integer(Int64(number % 2)), who,
      ])
    }
    try connection.insert("INSERT INTO event VALUES(?, ?, ?, ?, ?)", events)
    try connection.exec("COMMIT")
  }
}
