import CoreDataStore
import Fixtures
import Foundation
import SQLiteFile
@testable import SQLiteForensics
import SQLiteWriter
import StoreExtraction
import Testing

/// Rebuilt files, held against SQLite's own view of the source.
@Suite struct RebuildTests {
  // MARK: - Undamaged

  @Test(arguments: StoreFixtures.all.map(\.name))
  func anUndamagedStoreComesOutEqual(_ name: String) throws {
    let folder = try TemporaryFolder()
    let source = try StoreFixtures.named(name).make(folder.url)
    try Self.compareWhole(source, name)
  }

  @Test(
    .enabled(if: Shared.isThere),
    arguments: [
      "Moody.moody", "Bookmarks_V3.sqlite", "SampleModel2_V2.sqlite", "default.store",
      "store2-24-1.wiredatabase", "ios/Accounts3.sqlite", "kik.sqlite", "NotesV7.storedata",
      "SampleModel_V2.sqlite", "ios17-mastodon/shared.sqlite",
    ])
  func aRealStoreComesOutEqual(_ name: String) throws {
    guard Shared.require("rebuilding \(name)") != nil else { return }
    try Self.compareWhole(try RealStores.named(name).url, name)
  }

  private static func compareWhole(_ source: URL, _ name: String) throws {
    let before = treeState(of: source.deletingLastPathComponent())
    let place = try TemporaryFolder()
    let output = place.url.appendingPathComponent("new.sqlite")
    let store: DamagedStore
    do {
      store = try DamagedStore(path: source.path)
    } catch let error as SQLiteFileError where error.code == .empty {
      return
    }
    let result = try StoreRebuild().run(store, to: output.path)
    #expect(treeState(of: source.deletingLastPathComponent()) == before)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: place.url.path) == ["new.sqlite"])
    #expect(result.conflictCount == 0, "\(result.findings)")
    #expect(result.partialRowCount == 0, "\(result.findings)")
    #expect(result.unattributedCount == 0, "\(result.findings)")
    let wanted = try SQLiteConnection.rowsOfEveryTable(inCopyOf: source)
    let given = try SQLiteConnection.rowsOfEveryTable(inCopyOf: output)
      .filter { !$0.key.hasPrefix("_lifeboat_") }
    #expect(Set(given.keys) == Set(wanted.keys), "\(result.findings)")
    for (table, rows) in wanted {
      let new = given[table] ?? []
      #expect(new.count == rows.count, "\(name) \(table)")
      for (one, other) in zip(rows, new)
      where one.values != other.values || one.rowid != other.rowid {
        Issue.record("\(name) \(table): \(one) became \(other)")
        break
      }
    }
    let copy = try SQLiteConnection.copyStore(source, into: place.url)
    let old = try SQLiteConnection(copy)
    defer { old.close() }
    let new = try SQLiteConnection(output)
    defer { new.close() }
    #expect(try schema(of: new) == schema(of: old))
    #expect(try new.integrityCheck() == ["ok"])
    // What a rollback leaves nothing of has no page size; SQLite then tells its own default.
    let isEmpty = try old.integer("PRAGMA page_count") == 0
    let pragmas = ["encoding", "auto_vacuum", "user_version", "application_id"]
    for pragma in pragmas + (isEmpty ? [] : ["page_size"]) {
      #expect(try new.rows("PRAGMA \(pragma)") == old.rows("PRAGMA \(pragma)"), "\(pragma)")
    }
  }

  private static func schema(of database: SQLiteConnection) throws -> Set<[FixtureValue]> {
    Set(
      try database.rows(
        "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE '\\_lifeboat\\_%' ESCAPE '\\'"
      ))
  }

  // MARK: - Damaged

  /// A store with some thousand rows, and SQLite's own list of them.
  private struct Case {
    let folder: TemporaryFolder
    let url: URL
    let healthy: URL
    var output: URL { folder.url.appendingPathComponent("new.sqlite") }

    init(_ name: String = "core-data-shape") throws {
      folder = try TemporaryFolder()
      url = try StoreFixtures.named(name).make(folder.url)
      healthy = folder.url.appendingPathComponent("healthy")
      try FileManager.default.copyItem(at: url, to: healthy)
    }

    /// The pages of a table's b-tree by type.
    func pages(_ kind: UInt8, pageSize: Int = 4096) throws -> [Int] {
      let content = try bytes(of: url)
      return stride(from: pageSize, to: content.count, by: pageSize).filter { content[$0] == kind }
        .map { $0 / pageSize + 1 }
    }

    func rebuild(_ likes: [String] = [], _ change: (inout StoreRebuild) -> Void = { _ in }) throws
      -> RebuildResult
    {
      var rebuild = StoreRebuild()
      change(&rebuild)
      return try rebuild.run(try DamagedStore(path: url.path, like: likes), to: output.path)
    }

    func rows(_ url: URL) throws -> [String: [SQLiteConnection.FixtureRow]] {
      try SQLiteConnection.rowsOfEveryTable(inCopyOf: url)
    }
  }

  @Test func withoutPageOneAnotherStoreTellsTheSchema() throws {
    let damaged = try Case()
    try overwrite(damaged.url, at: 0, bytes: [UInt8](repeating: 0, count: 4096))
    let result = try damaged.rebuild([damaged.healthy.path])
    #expect(!result.isLossless)
    #expect(result.tables.allSatisfy { $0.source == .like || $0.source == .model })
    let wanted = try damaged.rows(damaged.healthy)
    let given = try damaged.rows(damaged.output)
    // Tables of some rows are told by the look of them.
    for (table, rows) in wanted where rows.count > 20 {
      #expect(given[table]?.map(\.values) == rows.map(\.values), "\(table)")
    }
    let total = given.filter { !$0.key.hasPrefix("_lifeboat_") || $0.key.contains("unattributed") }
      .values.reduce(0) { $0 + $1.count }
    #expect(total == wanted.values.reduce(0) { $0 + $1.count })
    let database = try SQLiteConnection(damaged.output)
    defer { database.close() }
    #expect(try database.integrityCheck() == ["ok"])
    let healthy = try SQLiteConnection(damaged.healthy)
    defer { healthy.close() }
    let difference = try Self.schema(of: database).symmetricDifference(Self.schema(of: healthy))
    #expect(difference.isEmpty, "\(difference)")
    #expect(
      try database.integer("SELECT count(*) FROM _lifeboat_findings WHERE severity = 'damage'")
        != 0)
  }

  @Test func interiorPagesAreNotNeeded() throws {
    let damaged = try Case()
    let interiors = try damaged.pages(5)
    #expect(!interiors.isEmpty)
    for page in interiors {
      try overwrite(
        damaged.url, at: (page - 1) * 4096, bytes: [UInt8](repeating: 0, count: 4096))
    }
    let result = try damaged.rebuild()
    #expect(!result.isLossless)
    let wanted = try damaged.rows(damaged.healthy)
    let given = try damaged.rows(damaged.output)
    let total = given.filter { !$0.key.hasPrefix("_lifeboat_") || $0.key.contains("unattributed") }
      .values.reduce(0) { $0 + $1.count }
    #expect(total == wanted.values.reduce(0) { $0 + $1.count })
  }

  @Test func aLeafWithoutHeaderKeepsItsRows() throws {
    let damaged = try Case()
    let leaves = try damaged.pages(13)
    let page = try #require(leaves.dropFirst(leaves.count / 2).first)
    try overwrite(damaged.url, at: (page - 1) * 4096, bytes: [UInt8](repeating: 0, count: 8))
    let result = try damaged.rebuild()
    #expect(result.rowCount > 0)
    let wanted = try damaged.rows(damaged.healthy)
    let given = try damaged.rows(damaged.output)
    for (table, rows) in wanted {
      #expect(given[table]?.map(\.values) == rows.map(\.values), "\(table)")
    }
  }

  @Test func rowsThatAConstraintRefusesAreKept() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("twice.sqlite")
    let database = try SQLiteConnection(url)
    try database.exec(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE ON CONFLICT REPLACE, n INT);
      WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 400)
      INSERT INTO t SELECT i, printf('name %04d', i) || hex(zeroblob(40)), 2 + i % 100 FROM c;
      """)
    let wanted = try database.rowsOfTable("t")
    database.close()
    // The second leaf becomes a copy of the first with row ids of its own: the same names twice.
    var content = try bytes(of: url)
    let leaves = stride(from: 4096, to: content.count, by: 4096).filter { content[$0] == 13 }
    let first = leaves[0]
    let second = leaves[1]
    content.replaceSubrange(second..<second + 4096, with: content[first..<first + 4096])
    let count = Int(content[second + 3]) << 8 | Int(content[second + 4])
    for index in 0..<count {
      let pointer = second + 8 + 2 * index
      let cell = second + Int(content[pointer]) << 8 + Int(content[pointer + 1])
      // Behind the payload's length, which is one byte as the row id is.
      content[cell + 1] = UInt8(count + 1 + index)
    }
    try Data(content).write(to: url)
    let output = folder.url.appendingPathComponent("new.sqlite")
    let result = try StoreRebuild().run(try DamagedStore(path: url.path), to: output.path)
    #expect(!result.isLossless)
    let new = try SQLiteConnection(output)
    defer { new.close() }
    let table = try #require(result.tables.first)
    #expect(table.conflictCount + table.repeatedCount > 1)
    #expect(try new.integer("SELECT count(*) FROM t") == Int64(table.rowCount))
    #expect(
      try new.integer("SELECT count(*) FROM _lifeboat_conflicts_t") == Int64(table.conflictCount))
    // Nothing was replaced: what is there is what was.
    let names = Dictionary(wanted.compactMap { row in row.rowid.map { ($0, row.values) } }) {
      one, _ in one
    }
    var different = 0
    for row in try new.rowsOfTable("t") where names[row.rowid ?? 0] != row.values { different += 1 }
    #expect(different == 0)
    #expect(try new.integrityCheck() == ["ok"])
    #expect(
      try new.integer(
        "SELECT count(*) FROM _lifeboat_provenance WHERE \"table\" = '_lifeboat_conflicts_t' AND page > 0"
      ) == Int64(table.conflictCount))
  }

  /// A leaf from before its rows went to other pages: SQLite reads them, and the keys that lead to the leaf speak against
  /// them.
  @Test func rowsThatTheirPageContradictsAreKept() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("stale.sqlite")
    let database = try SQLiteConnection(url)
    try database.exec(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT);
      WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 400)
      INSERT INTO t SELECT i, printf('name %04d ', i) || hex(zeroblob(40)) FROM c;
      """)
    database.close()
    var content = try bytes(of: url)
    let leaves = stride(from: 4096, to: content.count, by: 4096).filter { content[$0] == 13 }
    content.replaceSubrange(
      leaves[2]..<leaves[2] + 4096, with: content[leaves[0]..<leaves[0] + 4096])
    // Rows of their own: another first letter.
    for offset in leaves[2]..<leaves[2] + 4092
    where content[offset..<offset + 5].elementsEqual("name ".utf8) {
      content[offset] = UInt8(ascii: "f")
    }
    try Data(content).write(to: url)
    let ruined = try SQLiteConnection(url)
    let read = Set(try ruined.rowsOfTable("t").map(\.values))
    ruined.close()
    let output = folder.url.appendingPathComponent("new.sqlite")
    let result = try StoreRebuild().run(try DamagedStore(path: url.path), to: output.path)
    let new = try SQLiteConnection(output)
    defer { new.close() }
    var given = Set(try new.rowsOfTable("t").map(\.values))
    #expect(read.subtracting(given).count > 10)
    #expect(result.conflictCount > 10)
    // They break no constraint, so nothing says that they do.
    let told = Set(result.findings.map(\.id.rawValue))
    #expect(told.contains("recover.contradicted") && !told.contains("recover.conflict"), "\(told)")
    #expect(result.tables.first?.contradictedCount == result.conflictCount)
    let trial = try StoreRebuild().survey(try DamagedStore(path: url.path))
    #expect(trial.findings.contains { $0.id.rawValue == "recover.contradicted" })
    #expect(!trial.findings.contains { $0.id.rawValue == "recover.conflict" })
    given.formUnion(try new.rows("SELECT id, name FROM _lifeboat_conflicts_t"))
    #expect(read.subtracting(given).isEmpty)
  }

  @Test func aUniqueIndexThatRowsContradictIsAFinding() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("index.sqlite")
    let database = try SQLiteConnection(url)
    try database.exec(
      """
      CREATE TABLE t(a INT, b TEXT); CREATE UNIQUE INDEX u ON t(a); CREATE INDEX good ON t(b);
      INSERT INTO t VALUES(100, 'x'), (101, 'y');
      """)
    database.close()
    var content = try bytes(of: url)
    // 101 becomes 100: the bytes of the value in its row on the table's page.
    let page = 4096
    let place = try #require(
      (page..<2 * page).first { content[$0] == 101 && content[$0 + 1] == UInt8(ascii: "y") })
    content[place] = 100
    try Data(content).write(to: url)
    let output = folder.url.appendingPathComponent("new.sqlite")
    let result = try StoreRebuild().run(try DamagedStore(path: url.path), to: output.path)
    #expect(result.rowCount == 2)
    #expect(result.findings.contains { $0.id.rawValue == "recover.indexNotBuilt" })
    let new = try SQLiteConnection(output)
    defer { new.close() }
    #expect(try new.integrityCheck() == ["ok"])
    #expect(
      try new.rows("SELECT name FROM sqlite_schema WHERE type = 'index'") == [[.string("good")]])
  }

  @Test func deletedRowsHaveTablesOfTheirOwn() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("deleted.sqlite")
    let database = try SQLiteConnection(url)
    try database.exec("PRAGMA secure_delete = OFF; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);")
    try database.insert(
      "INSERT INTO t VALUES(?, ?)",
      (1...20).map { [.integer($0), .string("the text of row \($0)")] })
    try database.exec("DELETE FROM t WHERE id IN (5, 12)")
    database.close()
    let store = try DamagedStore(path: url.path)
    var rebuild = StoreRebuild()
    rebuild.includesDeleted = true
    let survey = try rebuild.survey(store)
    let output = folder.url.appendingPathComponent("new.sqlite")
    let result = try rebuild.run(try DamagedStore(path: url.path), to: output.path)
    #expect(survey.rowCount == 18)
    #expect(result.rowCount == 18)
    #expect(result.deletedCount == 2)
    #expect(survey.deletedCount == 2)
    let new = try SQLiteConnection(output)
    defer { new.close() }
    #expect(
      try new.rows("SELECT v, _note FROM _lifeboat_deleted_t ORDER BY v") == [
        [.string("the text of row 12"), .string("deleted")],
        [.string("the text of row 5"), .string("deleted")],
      ])
    #expect(try new.integer("SELECT count(*) FROM t") == 18)
  }

  /// Text of UTF-16 that is no valid Unicode, in rows that get a table of their own.
  @Test func deletedRowsKeepLoneSurrogates() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("deleted.sqlite")
    let database = try SQLiteConnection(url)
    try database.exec(
      """
      PRAGMA encoding = 'UTF-16le'; PRAGMA secure_delete = OFF;
      CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
      WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 20)
      INSERT INTO t SELECT i, CAST(x'740065007800740020006F0066002000610000D86200' AS TEXT) || i FROM c;
      DELETE FROM t WHERE id IN (5, 12);
      """)
    database.close()
    var rebuild = StoreRebuild()
    rebuild.includesDeleted = true
    let output = folder.url.appendingPathComponent("new.sqlite")
    let result = try rebuild.run(try DamagedStore(path: url.path), to: output.path)
    #expect(result.deletedCount == 2)
    let new = try SQLiteConnection(output)
    defer { new.close() }
    let rows: [[FixtureValue]] = ["31003200", "3500"].map {
      [.string("740065007800740020006F0066002000610000D86200" + $0)]
    }
    #expect(
      try new.rows("SELECT hex(CAST(v AS BLOB)) FROM _lifeboat_deleted_t ORDER BY 1") == rows)
  }

  // MARK: - Lost row ids

  /// Makes a table `t` in its page 2, and writes `head` over the length and the row id of its sixth row.
  private static func withoutRowID(
    _ columns: String, pageSize: Int, _ rows: [[FixtureValue]], head: [UInt8], in folder: URL
  ) throws -> URL {
    let url = folder.appendingPathComponent("lost.sqlite")
    let database = try SQLiteConnection(url)
    try database.exec("PRAGMA page_size = \(pageSize); CREATE TABLE t(\(columns))")
    let marks = Array(repeating: "?", count: rows[0].count).joined(separator: ", ")
    try database.insert("INSERT INTO t VALUES (\(marks))", rows)
    database.close()
    let content = try bytes(of: url)
    let pointer = pageSize + 8 + 2 * 5
    let cell = pageSize + Int(content[pointer]) << 8 + Int(content[pointer + 1])
    try overwrite(url, at: cell, bytes: head)
    return url
  }

  /// What an expression cannot compute of a row is no reason to lose the others.
  @Test func anExpressionThatFailsWithoutTheRowIDKeepsTheRowBack() throws {
    let folder = try TemporaryFolder()
    let rows = (100..<130).map { row -> [FixtureValue] in
      [
        .string("name number \(row)"), .string("{\"x\":\(row),\"y\":\"the row\"}"), .integer(1),
      ]
    }
    let url = try Self.withoutRowID(
      "a TEXT, b TEXT, c INT CHECK(json_extract(b, '$.x') >= 0)", pageSize: 4096, rows,
      head: [1, 1], in: folder.url)
    var content = try bytes(of: url)
    for text in ["{\"x\":104,", "{\"x\":105,"] {
      let place = try #require(Data(content).range(of: Data(text.utf8))?.lowerBound)
      content[place] = UInt8(ascii: "[")
    }
    try Data(content).write(to: url)
    let output = folder.url.appendingPathComponent("new.sqlite")
    let result = try StoreRebuild().run(try DamagedStore(path: url.path), to: output.path)
    #expect(result.rowCount > 25)
    #expect(result.conflictCount > 0)
    let new = try SQLiteConnection(output)
    defer { new.close() }
    let kept = try new.integer(
      "SELECT count(*) FROM _lifeboat_conflicts_t WHERE b LIKE '[%' AND _rowid IS NULL")
    #expect(kept ?? 0 > 0)
    #expect(kept == result.tables.first.map { Int64($0.rowIDLostCount) })
    #expect(result.findings.contains { $0.id.rawValue == "recover.rowIDLost" })
  }

  /// A table of rows that are kept back has fewer columns than their own.
  @Test func aWideRowWithoutRowIDIsKeptBack() throws {
    let folder = try TemporaryFolder()
    let columns = (0..<1995).map { "c\($0)" }.joined(separator: ", ")
    let rows = (0..<20).map { row -> [FixtureValue] in
      var values = [FixtureValue](repeating: .null, count: 1995)
      for place in 0..<3 { values[place] = .string("text \(row)") }
      values[1994] = .integer(Int64(row))
      return values
    }
    let url = try Self.withoutRowID(
      columns, pageSize: 65_536, rows, head: [1, 1, 1], in: folder.url)
    let output = folder.url.appendingPathComponent("new.sqlite")
    let result = try StoreRebuild().run(try DamagedStore(path: url.path), to: output.path)
    #expect(result.rowCount > 15)
    #expect(result.conflictCount > 0)
  }

  /// SQLite's own table of used row ids is no table of the new file, nor of what a trial counts.
  @Test func aTrialCountsTheRowsOfTheRebuild() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("used.sqlite")
    let database = try SQLiteConnection(url)
    try database.exec(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, v); INSERT INTO t(v) VALUES (1), (2);
      ANALYZE;
      """)
    database.close()
    let survey = try StoreRebuild().survey(try DamagedStore(path: url.path))
    let output = folder.url.appendingPathComponent("new.sqlite")
    let result = try StoreRebuild().run(try DamagedStore(path: url.path), to: output.path)
    #expect(survey.rowCount == result.rowCount)
    #expect(survey.tables.map(\.name) == result.tables.map(\.name))
  }

  @Test func provenanceOfAllRows() throws {
    let whole = try Case("page-512")
    let result = try whole.rebuild { $0.provenance = .all }
    let new = try SQLiteConnection(whole.output)
    defer { new.close() }
    #expect(
      try new.integer("SELECT count(*) FROM _lifeboat_provenance WHERE page > 0")
        == Int64(result.rowCount))
  }

  // MARK: - The file itself

  @Test(arguments: ["", "-wal", "-journal"]) func nothingIsOverwritten(_ suffix: String) throws {
    let whole = try Case("page-512")
    let taken = URL(fileURLWithPath: whole.output.path + suffix)
    try Data("mine".utf8).write(to: taken)
    let before = treeState(of: whole.folder.url)
    do {
      _ = try whole.rebuild()
      Issue.record("it was overwritten")
    } catch let error as SQLiteWriterError {
      #expect(error.code == .exists)
    }
    #expect(treeState(of: whole.folder.url) == before)
  }

  /// Names in CREATE INDEX statements of our own making.
  @Test(.enabled(if: Shared.isThere)) func aStoreWithAModelBesideItHasItsIndexes() throws {
    guard Shared.require("a store without its first page") != nil else { return }
    let folder = try TemporaryFolder()
    let healthy = try RealStores.named("SampleModel2_V2.sqlite")
    let url = try healthy.copy(into: folder.url)
    let database = try SQLiteConnection(url)
    try database.exec("PRAGMA journal_mode = DELETE")
    database.close()
    var content = try bytes(of: url)
    content.replaceSubrange(0..<4096, with: [UInt8](repeating: 0, count: 4096))
    try Data(content).write(to: url)
    let store = try DamagedStore(path: url.path, like: [healthy.url.path])
    #expect(store.database.tables.count > 3)
    #expect(store.companions.contains { $0.type == "index" })
    #expect(store.model != nil)
    #expect(store.kind == .coreData)
  }

  /// SQLite's own check of some versions sees NULL where another value is, and other types than stored, in tables whose
  /// rows do not stand in the order of their columns.
  @Test(arguments: [
    "v NOT NULL, k TEXT PRIMARY KEY) WITHOUT ROWID",
    "v INT, w TEXT, k INTEGER PRIMARY KEY) WITHOUT ROWID, STRICT",
    "v INT, k TEXT PRIMARY KEY) WITHOUT ROWID", "v NUMERIC, w, k TEXT PRIMARY KEY) WITHOUT ROWID",
  ])
  func valuesThatSQLiteMistakesDoNotFailTheRebuild(_ columns: String) throws {
    let folder = try TemporaryFolder()
    let source = folder.url.appendingPathComponent("old.sqlite")
    let connection = try SQLiteConnection(source)
    try connection.exec("CREATE TABLE \"a.b\"(\(columns)")
    // More than a check tells.
    try connection.exec(
      "WITH c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 300) INSERT INTO \"a.b\"(v, k) SELECT 7, i FROM c"
    )
    connection.close()
    let output = folder.url.appendingPathComponent("new.sqlite")
    let result = try StoreRebuild().run(DamagedStore(path: source.path), to: output.path)
    #expect(result.isLossless)
    let query = "SELECT count(*) FROM \"a.b\" WHERE typeof(v) = 'integer'"
    #expect(try SQLiteConnection(output).integer(query) == 300)
  }
}
