import CoreDataStore
import Fixtures
import Foundation
import ModelTools
import ObjectModel
import StoreExtraction
import StoreMigration
import Testing

/// Tables that are filled page by page hold what SQLite would have stored.
@Suite struct FilledTablesTests {
  /// Values of each storage class at their limits, as SQL.
  private static let values = [
    "NULL", "0", "1", "-1", "127", "128", "32768", "8388608", "2147483648", "140737488355327",
    "140737488355328", "-140737488355329", "9007199254740993", "9223372036854775807",
    "(-9223372036854775807 - 1)", "0.0", "-0.0", "1.5", "2.0", "1e15", "1e300", "-9e999", "''",
    "'abc'", "'12'", "'1.50'", "' 7'", "'Ærlig 日本'", "CAST(x'ff6100' AS TEXT)", "x''", "x'00'",
    "x'0102030405060708090a0b0c0d0e0f10'", "zeroblob(5000)",
  ]

  private static let types: [(String, AttributeType)] = [
    ("bits", .binary), ("date", .date), ("decimal", .decimal), ("double", .double),
    ("float", .float), ("flag", .boolean), ("i16", .integer16), ("i32", .integer32),
    ("i64", .integer64), ("text", .string), ("thing", .transformable), ("uri", .uri),
    ("uuid", .uuid),
  ]

  private static func model(_ version: String, demands: Bool) -> ManagedObjectModel {
    ManagedObjectModel(
      entities: [
        Entity(
          name: "Thing",
          attributes: types.map { name, type in
            Attribute(name: name, type: type, isOptional: true)
          } + [
            Attribute(
              name: "rank", type: .integer16, isOptional: !demands, defaultValue: .integer(7))
          ],
          relationships: [
            Relationship(
              name: "next", destinationEntityName: "Thing", inverseName: "previous",
              inverseEntityName: "Thing", isOptional: true),
            Relationship(
              name: "previous", destinationEntityName: "Thing", inverseName: "next",
              inverseEntityName: "Thing", maxCount: 0, isOptional: true),
          ])
      ], versionIdentifiers: [version])
  }

  /// Every value in every column, carried to a model that demands more: what is in the new store is as SQLite stores it
  /// when it inserts it again, and what the model can have is all there.
  @Test(arguments: [false, true]) func valuesAsSQLiteStoresThem(_ salvages: Bool) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Old.sqlite")
    let old = Self.model("1", demands: false)
    try FreshStore.create(at: url.path, for: old)
    let database = try SQLiteConnection(url)
    var key = 0
    for (name, _) in Self.types {
      for value in Self.values {
        key += 1
        try database.exec(
          "INSERT INTO ZTHING (Z_PK, Z_ENT, Z_OPT, Z\(name.uppercased()), ZRANK, ZNEXT) VALUES (\(key), 1, \(key % 3 == 0 ? "NULL" : key % 7 == 0 ? "'abc'" : "1"), \(value), \(key % 2 == 0 ? "NULL" : "3"), \(key - 1))"
        )
      }
    }
    try database.exec("UPDATE Z_PRIMARYKEY SET Z_MAX = \(key)")
    let output = folder.url.appendingPathComponent("New.sqlite")
    let report = try Migration().run(
      storeAt: url.path, to: Self.model("2", demands: true), output: output.path,
      salvages: salvages)
    let new = try SQLiteConnection(output)
    defer {
      database.close()
      new.close()
    }
    #expect(try new.integrityCheck() == ["ok"])
    #expect(report.writtenCount == key)
    // The default stands for NULL, the first row's reference leads nowhere, and the others stay.
    #expect(try new.integer("SELECT count(*) FROM ZTHING WHERE ZRANK = 7") == Int64(key / 2))
    #expect(try new.integer("SELECT count(*) FROM ZTHING WHERE ZNEXT = Z_PK - 1") == Int64(key - 1))
    #expect(try new.integer("SELECT count(*) FROM ZTHING WHERE Z_OPT IS NULL") == 0)
    let columns = Self.types.map { "Z\($0.0.uppercased())" } + ["Z_ENT", "Z_OPT", "ZRANK", "ZNEXT"]
    let sql = try new.string("SELECT sql FROM sqlite_schema WHERE name = 'ZTHING'") ?? ""
    try new.exec(
      sql.replacing("TABLE ZTHING", with: "TABLE again")
        + "; INSERT INTO again SELECT * FROM ZTHING")
    try new.exec("ATTACH '\(url.path)' AS old")
    for column in columns {
      let differs =
        "typeof(a.\(column)) <> typeof(b.\(column)) OR quote(a.\(column)) <> quote(b.\(column))"
      #expect(
        try new.integer(
          "SELECT count(*) FROM ZTHING AS a JOIN again AS b USING (Z_PK) WHERE \(differs)") == 0,
        "\(column)")
    }
    // Each value is that of the old store, or is NULL and in the file of rejects.
    var lost: Int64 = 0
    for column in Self.types.map({ "Z\($0.0.uppercased())" }) {
      #expect(
        try new.integer(
          "SELECT count(*) FROM ZTHING AS a JOIN old.ZTHING AS b USING (Z_PK) WHERE a.\(column) IS NOT NULL AND quote(a.\(column)) <> quote(b.\(column))"
        ) == 0, "\(column)")
      let gone = try new.integer(
        "SELECT count(*) FROM ZTHING AS a JOIN old.ZTHING AS b USING (Z_PK) WHERE a.\(column) IS NULL AND b.\(column) IS NOT NULL"
      )
      lost += gone ?? 0
    }
    #expect(lost > 50)
    // The count of saves is not a value of the model, and is told, too.
    let counts =
      try new.integer(
        "SELECT count(*) FROM old.ZTHING WHERE typeof(Z_OPT) = 'text'") ?? 0
    #expect(counts > 10)
    let rejects = try String(
      decoding: Data(contentsOf: URL(fileURLWithPath: #require(report.rejects))), as: UTF8.self)
    let lines = rejects.split(separator: "\n")
    let doubles = lines.filter {
      $0.contains("value there: Z_OPT, Z") || $0.contains("value there: Z_OPT; left out")
    }.count
    #expect(lines.count + doubles == Int(lost + counts))
    #expect(doubles > 0)
  }

  /// A row that the page filler may not take, because its key is not above the one before, is inserted by SQLite, which
  /// lets only one of two in.
  @Test func keysOutOfOrder() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Old.sqlite")
    let old = Self.model("1", demands: false)
    try FreshStore.create(at: url.path, for: old)
    let database = try SQLiteConnection(url)
    try database.exec(
      """
      PRAGMA journal_mode = DELETE;
      INSERT INTO ZTHING (Z_PK, Z_ENT, Z_OPT, ZTEXT) VALUES (11, 1, 1, 'first'), (12, 1, 1, 'second'), (13, 1, 1, 'third');
      """)
    let root = Int(
      try #require(
        try database.integer("SELECT rootpage FROM sqlite_schema WHERE name = 'ZTHING'")))
    let size = Int(try #require(try database.integer("PRAGMA page_size")))
    database.close()
    // The second row gets the key of the first.
    var bytes = try [UInt8](Data(contentsOf: url))
    let page = (root - 1) * size
    let header = page
    let pointer = header + 8 + 2
    let high = Int(bytes[pointer]) * 256
    let cell = page + high + Int(bytes[pointer + 1])
    #expect(bytes[cell + 1] == 12)
    bytes[cell + 1] = 11
    try Data(bytes).write(to: url)
    let output = folder.url.appendingPathComponent("New.sqlite")
    let report = try Migration().run(
      .sound(try CoreDataStore(path: url.path)), [.same(old, named: "own")], to: output.path)
    let new = try SQLiteConnection(output)
    defer { new.close() }
    #expect(try new.integrityCheck() == ["ok"])
    #expect(
      try new.rows("SELECT Z_PK FROM ZTHING ORDER BY 1") == [[.integer(11)], [.integer(13)]])
    #expect(report.rejectedCount == 1 || report.damageCount > 0)
  }

  /// Defaults that SQLite converts, over more rows than may wait for it.
  @Test(arguments: [false, true]) func defaultsThatSQLiteConverts(_ salvages: Bool) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Old.sqlite")
    func model(_ version: String, _ more: [Attribute]) -> ManagedObjectModel {
      ManagedObjectModel(
        entities: [
          Entity(
            name: "Thing",
            attributes: [Attribute(name: "size", type: .double, isOptional: true)] + more)
        ], versionIdentifiers: [version])
    }
    try FreshStore.create(at: url.path, for: model("1", []))
    let database = try SQLiteConnection(url)
    try database.exec(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
      INSERT INTO ZTHING (Z_PK, Z_ENT, Z_OPT, ZSIZE) SELECT i, 1, 1, CASE i % 3 WHEN 0 THEN 9007199254740993 ELSE i END FROM n;
      """)
    database.close()
    var grown = model(
      "2",
      [
        Attribute(name: "day", type: .date, isOptional: false, defaultValue: .date(631_152_000)),
        Attribute(name: "price", type: .decimal, isOptional: true, defaultValue: .decimal("0")),
        Attribute(name: "part", type: .decimal, isOptional: true, defaultValue: .decimal("1.5")),
      ])
    grown.entities["Thing"]?.renamingIdentifier = "Thing"
    let output = folder.url.appendingPathComponent("New.sqlite")
    let report = try Migration().run(
      storeAt: url.path, to: grown, output: output.path, salvages: salvages)
    #expect(report.isLossless)
    let new = try SQLiteConnection(output)
    defer { new.close() }
    #expect(try new.integrityCheck() == ["ok"])
    #expect(
      try new.text(
        "SELECT typeof(ZDAY), typeof(ZPRICE), typeof(ZPART), typeof(ZSIZE), count(*) FROM ZTHING GROUP BY 1, 2, 3, 4"
      ) == "integer integer real real 20000")
  }

  /// A row whose key is not the row id may come in any order.
  @Test func keysThatAreNoRowIDs() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Old.sqlite")
    let model = Self.model("1", demands: false)
    try FreshStore.create(at: url.path, for: model)
    let database = try SQLiteConnection(url)
    let sql = try database.string("SELECT sql FROM sqlite_schema WHERE name = 'ZTHING'") ?? ""
    try database.exec(
      """
      DROP TABLE ZTHING; \(sql.replacing("Z_PK INTEGER PRIMARY KEY", with: "Z_PK INT PRIMARY KEY"));
      WITH RECURSIVE n(i) AS (SELECT 20000 UNION ALL SELECT i - 1 FROM n WHERE i > 1)
      INSERT INTO ZTHING (Z_PK, Z_ENT, Z_OPT) SELECT i, 1, 1 FROM n;
      """)
    database.close()
    let output = folder.url.appendingPathComponent("New.sqlite")
    let report = try Migration().run(
      .sound(try CoreDataStore(path: url.path)), [.same(model, named: "own")], to: output.path)
    #expect(report.writtenCount == 20_000)
    #expect(report.rejectedCount == 0)
  }

  /// Enough rows for two threads, among them rows that have to be looked at, rows older than a column and rows with long
  /// values: all are in the new store as SQL puts them there, and so are their indexes.
  @Test(arguments: [0, 1]) func manyRows(_ longBytes: Int) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Old.sqlite")
    let old = Self.model("1", demands: false)
    try FreshStore.create(at: url.path, for: old)
    let database = try SQLiteConnection(url)
    let rows = """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 24000)
      INSERT INTO ZTHING (Z_PK, Z_ENT, Z_OPT, ZI64, ZTEXT, ZDOUBLE, ZUUID, ZBITS, ZRANK, ZNEXT)
      SELECT i, 1, i % 5 + 1, CASE i % 997 WHEN 0 THEN 'text' ELSE i * i * i END, 'text ' || i || hex(zeroblob(20)),
        CASE i % 4 WHEN 0 THEN i ELSE i / 7.0 END, CASE i % 1009 WHEN 0 THEN x'00' ELSE x'0102030405060708090a0b0c0d0e0f10' END,
        CASE WHEN i % 5000 = 0 THEN zeroblob(\(longBytes) * 7000000 + 9000) END, CASE i % 3 WHEN 0 THEN i % 100 END,
        CASE i % 2003 WHEN 0 THEN 999999 ELSE nullif(i - 1, 0) END
      FROM n
      """
    try database.exec(rows)
    database.close()
    let output = folder.url.appendingPathComponent("New.sqlite")
    let report = try Migration().run(
      .sound(try CoreDataStore(path: url.path)),
      [
        MigrationStep(
          from: old, named: "old", to: Self.model("2", demands: true), named: "new",
          mapping: try .inferred(from: old, to: Self.model("2", demands: true)), isInferred: true)
      ], to: output.path)
    #expect(report.writtenCount == 24_000)
    let new = try SQLiteConnection(output)
    defer { new.close() }
    #expect(try new.integrityCheck() == ["ok"])
    try new.exec("ATTACH '\(url.path)' AS old")
    let wanted = """
      SELECT Z_PK, Z_ENT, Z_OPT, CASE typeof(ZI64) WHEN 'text' THEN NULL ELSE ZI64 END, ZTEXT, ZDOUBLE,
        CASE length(ZUUID) WHEN 16 THEN ZUUID END, ZBITS, IFNULL(ZRANK, 7), CASE ZNEXT WHEN 999999 THEN NULL ELSE ZNEXT END
      FROM old.ZTHING
      """
    let given =
      "SELECT Z_PK, Z_ENT, Z_OPT, ZI64, ZTEXT, ZDOUBLE, ZUUID, ZBITS, ZRANK, ZNEXT FROM main.ZTHING"
    for (one, other) in [(wanted, given), (given, wanted)] {
      #expect(try new.integer("SELECT count(*) FROM (\(one) EXCEPT \(other))") == 0)
    }
    let lines = try String(
      decoding: Data(contentsOf: URL(fileURLWithPath: #require(report.rejects))), as: UTF8.self
    ).split(separator: "\n")
    #expect(lines.count == 24_000 / 997 + 24_000 / 1009)
  }

  /// Leaves whose rows are not above those of the leaf before: SQLite inserts them.
  @Test func leavesOutOfOrder() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Old.sqlite")
    let model = Self.model("1", demands: false)
    try FreshStore.create(at: url.path, for: model)
    let database = try SQLiteConnection(url)
    try database.exec(
      """
      PRAGMA journal_mode = DELETE;
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
      INSERT INTO ZTHING (Z_PK, Z_ENT, Z_OPT, ZTEXT) SELECT i, 1, 1, 'text ' || hex(zeroblob(60)) FROM n;
      """)
    let root = Int(
      try #require(
        try database.integer("SELECT rootpage FROM sqlite_schema WHERE name = 'ZTHING'")))
    let size = Int(try #require(try database.integer("PRAGMA page_size")))
    database.close()
    // Two neighbours change their places in the page above them.
    var bytes = try [UInt8](Data(contentsOf: url))
    func number(_ place: Int, _ count: Int) -> Int {
      bytes[place..<place + count].reduce(0) { $0 << 8 | Int($1) }
    }
    var page = (root - 1) * size
    while bytes[(number(page + 8, 4) - 1) * size] == 5 { page = (number(page + 8, 4) - 1) * size }
    #expect(bytes[page] == 5)
    let (one, two) = (page + number(page + 12, 2), page + number(page + 14, 2))
    for place in 0..<4 { bytes.swapAt(one + place, two + place) }
    try Data(bytes).write(to: url)
    let output = folder.url.appendingPathComponent("New.sqlite")
    let report = try Migration().run(
      .sound(try CoreDataStore(path: url.path)), [.same(model, named: "own")], to: output.path)
    let new = try SQLiteConnection(output)
    defer { new.close() }
    #expect(try new.integrityCheck() == ["ok"])
    #expect(report.writtenCount == 30_000)
    #expect(try new.integer("SELECT count(*) FROM ZTHING") == 30_000)
  }
}
