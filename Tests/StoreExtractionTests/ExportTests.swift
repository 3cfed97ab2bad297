import CoreDataStore
import Fixtures
import Foundation
import ObjectModel
import SQLiteFile
import SQLiteWriter
import StoreExtraction
import Testing
@testable import CoreDataForensics

/// Exports, read back by SQLite and Foundation.
@Suite struct ExportTests {
  private static let names = [
    "Moody.moody", "Bookmarks_V3.sqlite", "SampleModel2_V2.sqlite", "default.store",
    "store2-24-1.wiredatabase", "ios/Accounts3.sqlite", "kik.sqlite", "NotesV7.storedata",
    "SampleModel_V2.sqlite", "ios17-mastodon/shared.sqlite",
  ]

  /// Rows by entity as the reader gives them.
  private static func counts(_ store: CoreDataStore) throws -> [String: Int] {
    var counts: [String: Int] = [:]
    try store.forEachRow { row in
      counts[row.entityName ?? "-", default: 0] += 1
      return true
    }
    return counts
  }

  private static func parts(_ result: StoreExport.Result) -> [String: Int] {
    Dictionary(result.parts.map { ($0.name, $0.rowCount) }, uniquingKeysWith: +).filter {
      $0.value > 0
    }
  }

  @Test(.enabled(if: Shared.isThere), arguments: names)
  func realStoresAreExportedWhole(_ name: String) throws {
    guard Shared.require("export of \(name)") != nil else { return }
    let real = try RealStores.named(name)
    let before = treeState(of: real.url.deletingLastPathComponent())
    let store = try CoreDataStore(path: real.url.path)
    let wanted = try Self.counts(store)
    let folder = try TemporaryFolder()

    let lines = folder.url.appendingPathComponent("ndjson")
    let json = try StoreExport().run(store, as: .ndjson, to: lines.path)
    #expect(Self.parts(json) == wanted)
    for part in json.parts {
      let text = try bytes(of: lines.appendingPathComponent(part.target))
      let rows = try text.split(separator: 0x0a).map {
        try JSONSerialization.jsonObject(with: Data($0)) as? [String: Any]
      }
      #expect(rows.count == part.rowCount, "\(part.name)")
      #expect(rows.allSatisfy { $0?["entity"] as? String == part.name && $0?["pk"] is Int })
    }

    let tables = folder.url.appendingPathComponent("csv")
    let csv = try StoreExport().run(store, as: .csv, to: tables.path)
    #expect(Self.parts(csv) == wanted)

    let file = folder.url.appendingPathComponent("out.sqlite")
    let sqlite = try StoreExport().run(store, as: .sqlite, to: file.path)
    #expect(Self.parts(sqlite) == wanted)
    let connection = try SQLiteConnection(file)
    defer { connection.close() }
    #expect(try connection.integrityCheck() == ["ok"])
    for part in sqlite.parts {
      let table = SQLiteConnection.quoted(part.target)
      #expect(try connection.integer("SELECT count(*) FROM \(table)") == Int64(part.rowCount))
    }
    // Text and numbers of each row are what the reader gives.
    var links: Int64 = 0
    try store.forEachRow { row in
      for property in row.properties {
        if case .toMany(let references) = property.value { links += Int64(references.count) }
      }
      return true
    }
    #expect(try connection.integer("SELECT count(*) FROM _links") == links)
    for part in sqlite.parts {
      var texts: [Int64: [String: PropertyValue]] = [:]
      try store.forEachRow(of: [part.name]) { row in
        texts[row.primaryKey] = Dictionary(
          row.properties.map { ($0.name, $0.value) }, uniquingKeysWith: { one, _ in one })
        return true
      }
      let columns = try connection.rows(
        "SELECT name FROM pragma_table_info(?)", [.string(part.target)])
      for row in try connection.rows("SELECT * FROM \(SQLiteConnection.quoted(part.target))") {
        guard case .integer(let key) = row[0] else { continue }
        for (column, value) in zip(columns, row).dropFirst() {
          guard case .text(let name) = column[0] else { continue }
          switch texts[key]?[String(decoding: name, as: UTF8.self)] {
          case .string(let text)?: #expect(value == .text(text.utf8))
          case .integer(let number)?: #expect(value == .integer(number))
          case .boolean(let flag)?: #expect(value == .integer(flag ? 1 : 0))
          case .real(let number)?: #expect(value == .real(number))
          case .date(let date)?:
            #expect(value == date.iso8601.map { .string($0) } ?? .real(date.seconds))
          case .toOne(let reference)?: #expect(value == .integer(reference.primaryKey))
          case .binary(let bytes)?: #expect(value == .blob(bytes))
          default: continue
          }
        }
      }
    }
    for result in [json, csv, sqlite] {
      #expect(result.rowCount == wanted.values.reduce(0, +))
      // Files that the collection lacks beside a store are told.
      #expect(
        result.findings.allSatisfy {
          $0.severity != .damage || $0.id.rawValue == "recover.externalMissing"
        }, "\(result.findings)")
      #expect(
        result.sourceSHA256[real.url.lastPathComponent] == hex(of: try Data(contentsOf: real.url)))
      _ = try JSONEncoder().encode(result)
    }
    #expect(treeState(of: real.url.deletingLastPathComponent()) == before)
  }

  @Test(arguments: [
    "odd-names", "serial-types", "without-rowid", "wal-several-commits", "journal-hot",
    "added-columns",
  ])
  func plainFilesAreExportedTableByTable(_ name: String) throws {
    let folder = try TemporaryFolder()
    let source = folder.url.appendingPathComponent("source")
    try FileManager.default.createDirectory(at: source, withIntermediateDirectories: false)
    let url = try StoreFixtures.named(name).make(source)
    let before = treeState(of: source)
    let truth = try SQLiteConnection.rowsOfEveryTable(inCopyOf: url)
    let store = try CoreDataStore(path: url.path)
    #expect(store.kind == .sqlite)
    for format in StoreExport.Format.allCases {
      let output = folder.url.appendingPathComponent(format.rawValue)
      let result = try StoreExport().run(store, as: format, to: output.path)
      for part in result.parts { #expect(part.rowCount == truth[part.name]?.count, "\(part.name)") }
      #expect(
        Set(result.parts.map(\.name))
          == Set(
            truth.filter { name, rows in
              format == .sqlite ? !name.hasPrefix("sqlite_") : !rows.isEmpty
            }.keys))
      guard format == .sqlite else { continue }
      let connection = try SQLiteConnection(output)
      for part in result.parts {
        let rows = try connection.rows(
          "SELECT * FROM \(SQLiteConnection.quoted(part.target)) ORDER BY rowid")
        #expect(rows == truth[part.name]?.map(\.values), "\(part.name)")
      }
      connection.close()
    }
    #expect(treeState(of: source) == before)
  }

  // MARK: - Failing

  @Test func whatIsThereIsNeverTouched() throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named("core-data-shape").make(folder.url)
    let store = try CoreDataStore(path: url.path)
    let file = folder.url.appendingPathComponent("taken")
    try Data("mine".utf8).write(to: file)
    let full = folder.url.appendingPathComponent("full")
    try FileManager.default.createDirectory(at: full, withIntermediateDirectories: false)
    try Data().write(to: full.appendingPathComponent(".hidden"))
    let dangling = folder.url.appendingPathComponent("dangling").path
    try FileManager.default.createSymbolicLink(atPath: dangling, withDestinationPath: "/nowhere/x")
    let before = treeState(of: folder.url)
    for format in StoreExport.Format.allCases {
      for path in [file.path, full.path, dangling, folder.url.path + "/none/deep", url.path] {
        #expect(throws: (any Error).self) { try StoreExport().run(store, as: format, to: path) }
      }
    }
    #expect(treeState(of: folder.url) == before)
    // An empty folder is taken.
    try FileManager.default.removeItem(at: full.appendingPathComponent(".hidden"))
    #expect(try StoreExport().run(store, as: .csv, to: full.path).rowCount == 500)
  }

  /// A store that changes while it is read leaves no output behind.
  @Test(arguments: StoreExport.Format.allCases)
  func failingHalfWayLeavesNothing(_ format: StoreExport.Format) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("store.sqlite")
    try smallRows(megabytes: 2, at: url)
    let store = try CoreDataStore(path: url.path)
    let output = folder.url.appendingPathComponent("out").path
    let thread = Thread {
      // As soon as there is output, long before all rows are in it. It has another name until it is whole, perhaps.
      let names = { (try? FileManager.default.contentsOfDirectory(atPath: folder.url.path)) ?? [] }
      while names().count < 2 { usleep(200) }
      try? FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: url.path)
    }
    thread.start()
    let error = #expect(throws: ExtractionError.self) {
      try StoreExport().run(store, as: format, to: output)
    }
    #expect(error?.code == .changedDuringRead)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["store.sqlite"])
  }

  // MARK: - Names

  /// Entities whose names are no good names for files or tables.
  @Test func hostileNamesGetSafeFiles() throws {
    let folder = try TemporaryFolder()
    let names = [
      "../../escape", "/etc/passwd", ".", "..", ".hidden", "", "a\0b", "note", "Note", "NOTE",
      "ñandú",
      "n\u{303}andú", "con", "a b", "sqlite_x", "SQLITE_X", "_sqlite_x", "_links", "_provenance",
      "quote\"'`]", "-rf", "new\nline", String(repeating: "long", count: 75), "%s%n", "日本語",
    ]
    let url = folder.url.appendingPathComponent("evil.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE ZROOT(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, "Z""A" VARCHAR, ZB TIMESTAMP);
      INSERT INTO Z_PRIMARYKEY VALUES(1, 'Root', 0, 0);
      INSERT INTO ZROOT VALUES(900, 777, 1, '=cmd()', 5), (901, NULL, 1, 'x', 6);
      """)
    try connection.insert(
      "INSERT INTO Z_PRIMARYKEY VALUES(?, ?, 1, 0)",
      names.enumerated().map { [.integer(Int64($0.offset + 2)), .string($0.element)] })
    try connection.insert(
      "INSERT INTO ZROOT VALUES(?, ?, 1, 'v', 0)",
      names.indices.map { [.integer(Int64($0 + 1)), .integer(Int64($0 + 2))] })
    connection.close()
    let store = try CoreDataStore(path: url.path)
    for format in StoreExport.Format.allCases {
      let output = folder.url.appendingPathComponent("out-" + format.rawValue)
      let result = try StoreExport().run(store, as: format, to: output.path)
      #expect(result.rowCount == names.count + 2, "\(format)")
      if format == .sqlite {
        let connection = try SQLiteConnection(output)
        #expect(try connection.integrityCheck() == ["ok"])
        #expect(try connection.integer("SELECT count(*) FROM ZROOT_unknown WHERE _ent = 777") == 1)
        for part in result.parts {
          let table = SQLiteConnection.quoted(part.target)
          #expect(try connection.integer("SELECT count(*) FROM \(table)") == Int64(part.rowCount))
        }
        connection.close()
        continue
      }
      let files = try FileManager.default.contentsOfDirectory(atPath: output.path)
      #expect(Set(files) == Set(result.parts.map(\.target)))
      #expect(Set(files.map { $0.lowercased() }).count == result.parts.count)
      for file in files {
        #expect(
          file.wholeMatch(of: #/[A-Za-z0-9_\-][A-Za-z0-9_.\-]*\.(csv|ndjson)/#) != nil, "\(file)")
        #expect(file.utf8.count < 130)
      }
      let escaped = folder.url.deletingLastPathComponent().appendingPathComponent("escape.csv")
      #expect(!FileManager.default.fileExists(atPath: escaped.path))
    }
  }

  /// A name chooses an entity with its descendants, in every form.
  /// Damage leaves two rows under one key; each of them is in the file.
  @Test(.enabled(if: Shared.isThere)) func aKeyThatComesTwiceLosesNoRow() throws {
    guard Shared.require("a key that comes twice") != nil else { return }
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Moody.moody")
    var content = try bytes(of: RealStores.named("Moody.moody").url)
    let sound = try CoreDataStore(path: RealStores.named("Moody.moody").url.path)
    let wanted = try Self.counts(sound)["Mood"] ?? 0
    let table = try #require(sound.database.schema.table(named: "ZMOOD"))
    let pageSize = Int(content[16]) << 8 | Int(content[17])
    let page = (Int(table.rootPage) - 1) * pageSize
    try #require(content[page] == 13)
    // Of the first two cells: the length of the payload is one byte or two, then comes the row id.
    let places = [0, 1].map { cell in
      let pointer = page + 8 + 2 * cell
      let start = page + (Int(content[pointer]) << 8 | Int(content[pointer + 1]))
      return content[start] < 0x80 ? start + 1 : start + 2
    }
    #expect(places.allSatisfy { content[$0] < 0x80 })
    content[places[1]] = content[places[0]]
    try Data(content).write(to: url)
    let file = folder.url.appendingPathComponent("out.sqlite")
    let result = try StoreExport().run(CoreDataStore(path: url.path), as: .sqlite, to: file.path)
    let parts = result.parts.filter { $0.name == "Mood" }
    #expect(parts.map(\.target) == ["Mood", "Mood_repeated"])
    #expect(parts.map(\.rowCount) == [wanted - 1, 1])
  }

  /// Row ids that no column has are what they were, so that tables which name them still fit.
  @Test(arguments: [true, false]) func rowIDsStay(_ isSound: Bool) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let made = try SQLiteConnection(url)
    try made.exec(
      """
      CREATE TABLE note (body TEXT);
      INSERT INTO note (rowid, body) VALUES (-4, 'minus'), (5, 'five'), (17, 'later'), (90000, 'last');
      CREATE TABLE named (rowid TEXT, "_ROWID_" INT);
      INSERT INTO named (oid, rowid) VALUES (9, 'own'), (11, 'other');
      CREATE TABLE every (rowid TEXT, _rowid_ TEXT, oid TEXT);
      INSERT INTO every VALUES ('a', 'b', 'c'), ('d', 'e', 'f');
      CREATE TABLE keyed (id INTEGER PRIMARY KEY, x);
      INSERT INTO keyed VALUES (3, 'x'), (8, 'y');
      CREATE TABLE bare (a TEXT PRIMARY KEY) WITHOUT ROWID;
      INSERT INTO bare VALUES ('z'), ('b');
      """)
    let root = Int(
      try #require(try made.integer("SELECT rootpage FROM sqlite_master WHERE name = 'note'")))
    made.close()
    if !isSound {
      // The third row gets the key of the second.
      var content = try bytes(of: url)
      let pageSize = Int(content[16]) << 8 | Int(content[17])
      let page = (root - 1) * pageSize
      let pointer = page + 8 + 4
      let place = page + (Int(content[pointer]) << 8 | Int(content[pointer + 1])) + 1
      try #require(content[place] == 17)
      content[place] = 5
      try Data(content).write(to: url)
    }
    let file = folder.url.appendingPathComponent("out.sqlite")
    let result = try StoreExport().run(CoreDataStore(path: url.path), as: .sqlite, to: file.path)
    let connection = try SQLiteConnection(file)
    defer { connection.close() }
    func rows(_ sql: String) throws -> [[FixtureValue]] { try connection.rows(sql) }
    let notes: [[FixtureValue]] = [
      [.integer(-4), .string("minus")], [.integer(5), .string("five")],
      [.integer(17), .string("later")], [.integer(90000), .string("last")],
    ]
    if isSound {
      #expect(try rows("SELECT rowid, * FROM note") == notes)
    } else {
      #expect(try rows("SELECT rowid, * FROM note") == [notes[0], notes[1], notes[3]])
      #expect(
        try rows("SELECT rowid, body FROM note_repeated") == [[.integer(5), .string("later")]])
      #expect(
        result.parts.filter { $0.name == "note" }.map(\.target) == ["note", "note_repeated"])
    }
    #expect(
      try rows("SELECT oid, rowid FROM named")
        == [[.integer(9), .string("own")], [.integer(11), .string("other")]])
    #expect(try rows("SELECT count(*) FROM every") == [[.integer(2)]])
    #expect(
      try rows("SELECT rowid, id FROM keyed")
        == [[.integer(3), .integer(3)], [.integer(8), .integer(8)]])
    #expect(try rows("SELECT a FROM bare ORDER BY a") == [[.string("b")], [.string("z")]])
    #expect(result.rowCount == 12)
  }

  /// A table whose b-tree cannot be read is not said to have no rows.
  @Test func aDamagedTableIsNotCalledEmpty() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let made = try SQLiteConnection(url)
    try made.exec(
      "CREATE TABLE a (x); CREATE TABLE b (x); CREATE TABLE e (x); INSERT INTO a VALUES (1); INSERT INTO b VALUES (2);"
    )
    let root = Int(
      try #require(try made.integer("SELECT rootpage FROM sqlite_master WHERE name = 'b'")))
    made.close()
    var content = try bytes(of: url)
    let pageSize = Int(content[16]) << 8 | Int(content[17])
    content[(root - 1) * pageSize] = 87
    try Data(content).write(to: url)
    for format in StoreExport.Format.allCases {
      let output = folder.url.appendingPathComponent("out.\(format.rawValue)")
      let result = try StoreExport().run(
        CoreDataStore(path: url.path), as: format, to: output.path)
      #expect(Set(result.emptyNames) == ["b", "e"])
      #expect(result.doubtfulNames == ["b"])
    }
  }

  /// A table that is read in blocks by two threads, whose pages are filled until a row of an unknown entity comes.
  @Test(arguments: [nil, 41_000, 1])
  func manyRowsAreWhatTheyWere(_ unknownKey: Int?) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("many.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE ZROOT(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTEXT VARCHAR, ZREAL FLOAT, ZBLOB BLOB);
      INSERT INTO Z_PRIMARYKEY VALUES(1, 'Root', 0, 0), (2, 'Leaf', 1, 0);
      WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 60000)
        INSERT INTO ZROOT SELECT k, 1 + k % 2, 1, 'row ' || k || substr(hex(zeroblob(20000)), 1, iif(k % 20000, 40, 30000)),
          k * 0.25, iif(k % 3, NULL, randomblob(k % 40)) FROM n;
      """)
    if let unknownKey {
      try connection.exec("UPDATE ZROOT SET Z_ENT = 777 WHERE Z_PK = \(unknownKey)")
    }
    connection.close()
    let output = folder.url.appendingPathComponent("out.sqlite")
    let result = try StoreExport().run(
      try CoreDataStore(path: url.path), as: .sqlite, to: output.path)
    #expect(result.rowCount == 60_000)
    let new = try SQLiteConnection(output)
    defer { new.close() }
    #expect(try new.integrityCheck() == ["ok"])
    try new.exec("ATTACH '\(url.path)' AS old")
    for (name, number) in [("Root", 1), ("Leaf", 2)] {
      let columns = "ZTEXT, ZREAL, ZBLOB"
      let old = "SELECT Z_PK, \(columns) FROM old.ZROOT WHERE Z_ENT = \(number)"
      let rows = "SELECT _pk, \(columns) FROM main.\(name)"
      #expect(try new.integer("SELECT count(*) FROM (\(old) EXCEPT \(rows))") == 0)
      #expect(try new.integer("SELECT count(*) FROM (\(rows) EXCEPT \(old))") == 0)
    }
    #expect(
      try new.integer("SELECT count(*) FROM main.sqlite_schema WHERE name = 'ZROOT_unknown'")
        == (unknownKey == nil ? 0 : 1))
    guard let unknownKey else { return }
    #expect(
      try new.rows("SELECT _ent, _pk FROM ZROOT_unknown") == [
        [.integer(777), .integer(Int64(unknownKey))]
      ])
  }

  @Test(.enabled(if: Shared.isThere)) func chosenEntitiesComeWithTheirDescendants() throws {
    guard Shared.require("entities with descendants") != nil else { return }
    let store = try CoreDataStore(path: RealStores.named("Moody.moody").url.path)
    let root = try #require(
      store.entities.first { record in store.entities.contains { $0.superNumber == record.number } }
    )
    let descendants = Set(
      store.numbers(ofEntities: [root.name]).compactMap { store.entityName(ofNumber: $0) })
    #expect(descendants.count > 1)
    let all = try Self.counts(store).filter { descendants.contains($0.key) }
    let folder = try TemporaryFolder()
    for format in StoreExport.Format.allCases {
      let output = folder.url.appendingPathComponent(format.rawValue)
      let result = try StoreExport(.init(entityNames: [root.name])).run(
        store, as: format, to: output.path)
      #expect(Self.parts(result) == all)
      #expect(Set(result.parts.map(\.name)).isSubset(of: descendants))
      let limited = try StoreExport(.init(limit: 1)).run(
        store, as: format, to: output.path + "-limited")
      #expect(limited.parts.allSatisfy { $0.rowCount <= 1 } && limited.rowCount > 1)
    }
  }

  @Test(arguments: [0, 1, 3, 499, 500, 501])
  func aLimitIsKept(_ limit: Int) throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named("core-data-shape").make(folder.url)
    let store = try CoreDataStore(path: url.path)
    let entity = try #require(try store.describedEntities(of: store.entityTables[0]).first)
    let output = RowOutput(.init(limit: limit))
    let target = folder.url.appendingPathComponent("rows")
    for isCSV in [true, false] {
      try Data().write(to: target)
      let file = try FileHandle(forWritingTo: target)
      let count =
        try isCSV
        ? output.writeCSV(of: entity, in: store, to: file.fileDescriptor)
        : output.writeJSON(of: store, to: file.fileDescriptor)
      try file.close()
      #expect(count == min(limit, 500))
      let lines = try bytes(of: target).count { $0 == 0x0a }
      #expect(lines == min(limit, 500) + (isCSV ? 1 : 0))
    }
  }

  /// A table with more columns than SQLite makes tables with.
  @Test func moreColumnsThanSQLiteTakes() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("wide.sqlite")
    let database = try SQLiteConnection(url)
    let columns = (0..<1999).map { "c\($0)" }.joined(separator: ", ")
    let values = (0..<1999).map(String.init).joined(separator: ", ")
    let more = (1999..<32_000).map { ", c\($0)" }.joined()
    try database.exec(
      """
      CREATE TABLE t(\(columns)); INSERT INTO t VALUES(\(values)); CREATE TABLE u(k);
      INSERT INTO u VALUES('precious'); PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = replace(sql, ', c1998', ', c1998\(more)') WHERE name = 't';
      """)
    database.close()
    let output = folder.url.appendingPathComponent("new.sqlite")
    let result = try StoreExport().run(
      try CoreDataStore(path: url.path), as: .sqlite, to: output.path)
    #expect(result.rowCount == 2)
    let new = try SQLiteConnection(output)
    defer { new.close() }
    #expect(try new.rows("SELECT k FROM u") == [[.string("precious")]])
    #expect(
      try new.rows(
        "SELECT c0, c1989, _more ->> 'c1990', _more ->> 'c1998', _more ->> 'c1999' FROM t")
        == [[.integer(0), .integer(1989), .integer(1990), .integer(1998), .null]])
    #expect(
      try new.integer(
        "SELECT count(*) FROM _provenance WHERE value LIKE '%_more holds those %, as JSON'") == 1)
  }

  @Test func cellsThatLookLikeFormulasAreDisarmedOnRequest() throws {
    let folder = try TemporaryFolder()
    var model = ManagedObjectModel(entities: [])
    model.entities["N"] = Entity(name: "N", attributes: [Attribute(name: "t", type: .string)])
    let url = folder.url.appendingPathComponent("n.sqlite")
    let schema = try FreshStoreSchema(model)
    let writer = try SQLiteWriter(creating: url.path)
    for statement in schema.statements { try writer.define(statement) }
    try writer.execute("INSERT INTO Z_PRIMARYKEY VALUES(1, 'N', 0, 4)")
    try writer.prepare("INSERT INTO Z_MODELCACHE VALUES(?)").run([.blob(schema.modelCache)])
    try writer.execute(
      "INSERT INTO ZN VALUES(1,1,1,'=1+1'),(2,1,1,'@x'),(3,1,1,'plain'),(4,1,1,'-')")
    try writer.close()
    let store = try CoreDataStore(path: url.path)
    for isSafe in [true, false] {
      let output = folder.url.appendingPathComponent("csv-\(isSafe)")
      _ = try StoreExport(.init(isSafeForSpreadsheets: isSafe)).run(
        store, as: .csv, to: output.path)
      let text = String(
        decoding: try bytes(of: output.appendingPathComponent("N.csv")), as: UTF8.self)
      let mark = isSafe ? "'" : ""
      #expect(text == "_pk,t\r\n1,\(mark)=1+1\r\n2,\(mark)@x\r\n3,plain\r\n4,\(mark)-\r\n")
    }
  }
}
