import Fixtures
import Foundation
import RowText
import SQLiteFile
import Testing
@testable import SQLiteForensics

/// Database images of SQLite's own fuzz corpora, and files on which something went wrong.
@Suite struct FoundImagesTests {
  /// The images in order; nil without the shared folder.
  private static func images(_ folder: TemporaryFolder) throws -> [URL]? {
    guard let root = try unpacked("recovery/sqlite-images.tar.xz", folder) else { return nil }
    let names =
      (FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? [])
      .filter { $0.hasSuffix(".db") }.sorted()
    try #require(names.count > 7000)
    return names.map { root.appendingPathComponent($0) }
  }

  /// Unpacks an archive of the shared folder; nil where the folder is absent.
  private static func unpacked(_ name: String, _ folder: TemporaryFolder) throws -> URL? {
    guard let shared = Shared.require(name), let tar = findTool("tar") else { return nil }
    let archive = shared.appendingPathComponent("stores/found/" + name)
    guard FileManager.default.fileExists(atPath: archive.path) else {
      print("skipped: \(name)")
      return nil
    }
    let result = try run(tar, ["-xJf", archive.path, "-C", folder.url.path])
    try #require(result.status == 0)
    return folder.url
  }

  /// Nothing that SQLite's check finds wrong is called sound when all has been looked at, and nothing that it finds
  /// right is called damaged.
  @Test(.enabled(if: Shared.isThere)) func imagesAreJudgedAsSQLiteJudgesThem() throws {
    let folder = try TemporaryFolder()
    guard let images = try Self.images(folder) else { return }
    var looked = 0
    for url in stride(from: 5, to: images.count, by: Rounds.areLong ? 13 : 39).map({ images[$0] }) {
      let name = url.lastPathComponent
      guard let database = try? SQLiteDatabase.surveyed(path: url.path) else { continue }
      let verdict = try CheckTests.verdict(url)
      let report = try database.check(depth: .full)
      let isSound = report.findings.damageCount == 0
      if verdict == ["ok"] {
        #expect(isSound, "\(name): \(report.findings.kept)")
      } else {
        #expect(
          !isSound || !report.unchecked.isEmpty, "\(name): SQLite says \(verdict ?? ["nothing"])")
      }
      looked += 1
    }
    #expect(looked > (Rounds.areLong ? 400 : 120), "\(looked)")
  }

  private struct RowKey: Hashable {
    var table: String
    var rowID: Int64?
  }

  /// Whether a row that was read page by page can be one with these values: some of its own may be NULL for what it does
  /// not tell, it may have columns that only a statement of its table knows, and those of a key may come in another order.
  private static func can(
    _ row: (values: [StoredValue], unknown: Int), be values: [StoredValue]
  ) -> Bool {
    if row.values == values || row.values.starts(with: values) { return true }
    if row.values.count == values.count {
      let differing = zip(row.values, values).filter { $0 != $1 }.map(\.0)
      if differing.count <= row.unknown, differing.allSatisfy({ $0 == .null }) { return true }
    }
    return row.values.count == values.count && Set(row.values) == Set(values)
  }

  /// What the ordinary reader gives, the page by page one gives too, under the same name and with the same values; and
  /// both have met damage or neither has.
  @Test(.enabled(if: Shared.isThere)) func pageByPageHoldsAllThatTheOrdinaryReaderGives() throws {
    let folder = try TemporaryFolder()
    guard let images = try Self.images(folder) else { return }
    var looked = 0
    for url in stride(from: 3, to: images.count, by: Rounds.areLong ? 2 : 41).map({ images[$0] }) {
      let path = url.path
      let name = url.lastPathComponent
      guard let plain = try? SQLiteDatabase(path: path),
        let damaged = try? DamagedDatabase(path: path)
      else { continue }
      var given: [RowKey: [(values: [StoredValue], unknown: Int)]] = [:]
      try damaged.forEachRow(.all) { row in
        guard let table = row.origin.table else { return true }
        given[RowKey(table: damaged.tables[table].name, rowID: row.rowID), default: []].append(
          (row.values, row.partial.count))
        return true
      }
      var missing: [RowKey] = []
      for table in plain.schema.tables {
        // A cell to which two pointers lead is one row, and two entries with the same key are.
        var met: Set<StoredRow> = []
        try plain.forEachRow(of: table) { row in
          if !met.insert(row).inserted { return true }
          let key = RowKey(table: table.name, rowID: row.rowID)
          // Rows whose row ids are in doubt are given without them.
          for key in [key, RowKey(table: table.name, rowID: nil)] {
            if let index = given[key]?.firstIndex(where: { Self.can($0, be: row.values) }) {
              given[key]?.remove(at: index)
              return true
            }
          }
          missing.append(key)
          return true
        }
      }
      #expect(missing.isEmpty, "\(name): \(missing.prefix(3))")
      #expect(
        (plain.findings.damageCount > 0) == (damaged.findings.damageCount > 0),
        "\(name): \(plain.findings.kept.prefix(3)) \(damaged.findings.kept.prefix(3))")
      looked += 1
    }
    #expect(looked > 150, "\(looked)")
  }

  /// A table whose statement cannot be read keeps its name, and its rows have their fields as they are.
  @Test func aTableThatNobodyDescribesKeepsItsName() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Undescribed.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec("CREATE TABLE first(id INTEGER PRIMARY KEY, a, b)")
    try connection.exec("CREATE TABLE other(x TEXT)")
    try connection.exec("INSERT INTO first VALUES (7, 'seven', 7.5), (9, NULL, x'0909')")
    try connection.exec("INSERT INTO other VALUES ('as it was')")
    connection.close()
    var bytes = try Data(contentsOf: url)
    let word = try #require(bytes.range(of: Data("TABLE first".utf8)))
    bytes.replaceSubrange(word.lowerBound..<word.lowerBound + 5, with: Data("TABLX".utf8))
    try bytes.write(to: url)
    let plain = try SQLiteDatabase(path: url.path)
    let table = try #require(plain.schema.table(named: "first"))
    #expect(table.definition == nil)
    let truth = try plain.rows(of: table).map(\.values)
    let damaged = try DamagedDatabase(path: url.path)
    var rows: [[StoredValue]] = []
    try damaged.forEachRow(.all, of: ["first"]) { row in
      rows.append(row.values)
      return true
    }
    #expect(rows == truth && truth.count == 2)
    #expect(
      damaged.findings.kept.contains {
        $0.id.rawValue == "schema.unreadable" && $0.table == "first"
      })
  }

  /// A parameter in a statement of the schema stands for NULL, and a type without statement means nothing to SQLite.
  @Test func whatSQLiteReadsOfTheSchemaIsNoDamage() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Schema.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec("CREATE TABLE t(a UNIQUE, b DEFAULT (1 % 12345))")
    try connection.exec("CREATE INDEX folded ON t(b COLLATE NOCASE)")
    try connection.exec("INSERT INTO t VALUES ('x', 'Key')")
    connection.close()
    var bytes = try Data(contentsOf: url)
    let number = try #require(bytes.range(of: Data("12345".utf8)))
    bytes.replaceSubrange(number, with: Data("$1234".utf8))
    // The row of the automatic index is the last one but one of page 1, so the first from its end that says so.
    let type = try #require(bytes.range(of: Data("indexsqlite_autoindex_t_1".utf8)))
    bytes.replaceSubrange(type.lowerBound..<type.lowerBound + 1, with: Data("h".utf8))
    // The entry of the other index is found by the collation all the same.
    let key = try #require(bytes.range(of: Data("Key".utf8), options: .backwards))
    bytes.replaceSubrange(key.lowerBound..<key.lowerBound + 1, with: Data("k".utf8))
    try bytes.write(to: url)
    #expect(try CheckTests.verdict(url) == ["ok"])
    let report = try SQLiteDatabase.surveyed(path: url.path).check(depth: .full)
    #expect(report.findings.damageCount == 0, "\(report.findings.kept)")
    #expect(report.unchecked.contains { $0.id.rawValue == "index.entries" })
  }

  /// SQLite reads nothing behind the last page that the header counts; the rows are given, and the damage is told.
  @Test func pagesBehindTheHeadersCountAreDamage() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Count.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec("CREATE TABLE t(a)")
    try connection.exec(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO t SELECT hex(zeroblob(200)) FROM n"
    )
    connection.close()
    var bytes = try Data(contentsOf: url)
    let count = bytes[28..<32].reduce(0) { $0 << 8 | Int($1) }
    let low = count - 5
    bytes.replaceSubrange(30..<32, with: [UInt8(low >> 8), UInt8(low & 0xff)])
    try bytes.write(to: url)
    #expect(try CheckTests.verdict(url) != ["ok"])
    let plain = try SQLiteDatabase(path: url.path)
    let table = try #require(plain.schema.table(named: "t"))
    #expect(try plain.rowCount(of: table).count == 500)
    #expect(plain.findings.kept.map(\.id.rawValue).contains("header.badCount"))
    let damaged = try DamagedDatabase(path: url.path)
    try damaged.forEachRow(.live) { _ in true }
    #expect(damaged.findings.kept.map(\.id.rawValue).contains("header.badCount"))
  }

  @Test func onePageOfThousandsOfTablesIsReadOnce() throws {
    let folder = try TemporaryFolder()
    guard let root = try Self.unpacked("hostile.tar.xz", folder) else { return }
    let url = root.appendingPathComponent("hostile/sharedroot-1.9MB.sqlite")
    let database = try SQLiteDatabase(path: url.path)
    #expect(database.schema.tables.count > 2000)
    let written = try bytesWritten {
      _ = try database.writeJSON(of: database.schema.tables, to: $0)
    }
    #expect(written.count < 20 * Int(database.sizeBytes), "\(written.count)")
    #expect(database.findings.kept.contains { $0.id.rawValue == "page.otherTable" })
    let reserved = root.appendingPathComponent("hostile/reserved255.sqlite")
    let report = try SQLiteDatabase.surveyed(path: reserved.path).check()
    #expect(report.findings.kept.first?.id.rawValue == "header.otherReservedBytes")
    #expect(report.findings.damageCount > 0)
  }

  /// SQLite opens both.
  @Test(
    .enabled(if: Shared.isThere),
    arguments: ["fuzzdata3-00150-badSQL-but-opens.db", "fuzzdata8-00233-encoding.db"])
  func whatSQLiteOpensIsNotRefused(_ name: String) throws {
    guard let shared = Shared.require(name), let tool = findTool("xz") else { return }
    let packed = shared.appendingPathComponent("stores/found/recovery/\(name).xz")
    guard FileManager.default.fileExists(atPath: packed.path) else {
      return print("skipped: \(name)")
    }
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent(name)
    try run(tool, ["-dc", packed.path]).stdout.write(to: url)
    let connection = try SQLiteConnection(url)
    #expect(try connection.integer("SELECT count(*) FROM sqlite_schema") ?? 0 > 0)
    connection.close()
    let report = try SQLiteDatabase.surveyed(path: url.path).check(depth: .full)
    #expect(
      !report.findings.kept.contains { $0.message.contains("SQLite refuses") },
      "\(report.findings.kept)")
    if try CheckTests.verdict(url) == ["ok"] { #expect(report.findings.damageCount == 0) }
  }
}
