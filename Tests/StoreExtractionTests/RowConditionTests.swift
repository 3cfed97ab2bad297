import CoreDataStore
import Fixtures
import Foundation
import SQLiteFile
import SQLiteForensics
import Testing

@testable import StoreExtraction

/// Conditions on rows, against SQLite's own answer to the same question.
@Suite struct RowConditionTests {
  /// A Core Data store by hand: notes in folders, and tags that many notes have.
  private static func store(in place: TemporaryFolder) throws -> URL {
    let url = place.url.appendingPathComponent("s.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER, r REAL, s TEXT, b BLOB);
      WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 400)
        INSERT INTO t SELECT i,
          CASE WHEN i % 7 = 0 THEN NULL ELSE i * 37 % 101 - 50 END,
          CASE WHEN i % 11 = 0 THEN NULL ELSE (i * 53 % 97) / 8.0 - 6 END,
          CASE WHEN i % 5 = 0 THEN NULL ELSE substr('Milk bread Butter eggs', 1 + i % 17, 1 + i % 6) END,
          CASE WHEN i % 3 = 0 THEN NULL ELSE randomblob(i % 4) END FROM i;
      """)
    connection.close()
    return url
  }

  private static func keys(
    _ store: URL, _ condition: String?, _ names: [String]? = nil, order: [String] = [],
    limit: Int? = nil
  ) throws -> [Int64] {
    let opened = try CoreDataStore(path: store.path)
    var rows = SelectedRows()
    rows.condition = try condition.map { try RowCondition($0) }
    rows.order = order.map { SelectedRows.Order($0) }
    rows.limit = limit
    var keys: [Int64] = []
    for source in try rows.sources(in: opened, names) {
      _ = try rows.forEachRow(of: source, in: opened) {
        keys.append($0.key ?? -1)
        return true
      }
    }
    return keys
  }

  @Test(arguments: [
    ("n == 5", "n = 5"), ("n != 5", "n IS NOT 5"), ("n < 5", "n < 5"), ("n <= -3", "n <= -3"),
    ("5 > n", "5 > n"), ("n >= 20.5", "n >= 20.5"), ("r > n", "r > n"),
    ("n == nil", "n IS NULL"), ("n != nil", "n IS NOT NULL"),
    ("s == nil OR n == nil", "s IS NULL OR n IS NULL"),
    ("n BETWEEN {-5, 5}", "n BETWEEN -5 AND 5"),
    ("s BETWEEN[c] {'A', 'M'}", "lower(s) BETWEEN 'a' AND 'm'"),
    ("s MATCHES 'B.*' OR s MATCHES[c] 'B.*' AND n > 0", "s GLOB 'B*' OR s LIKE 'b%' AND n > 0"),
    ("s MATCHES[c] 'B.*' AND n > 0 OR s MATCHES 'B.*'", "s GLOB 'B*' OR s LIKE 'b%' AND n > 0"),
    ("n IN {1, 2, 3.0}", "n IN (1, 2, 3)"),
    ("NOT n < 5", "n IS NULL OR NOT n < 5"), ("n > 0 AND r < 0", "n > 0 AND r < 0"),
    ("n + r > 10", "n + r > 10"), ("n * 2 - 1 == 9", "n * 2 - 1 = 9"),
    ("abs(n) == 7", "abs(n) = 7"),
    // What SQL says of a missing value, neither true nor false, counts as false within NOT.
    ("NOT n == 5", "n IS NOT 5"), ("NOT n != 5", "n IS 5"),
    ("NOT n BETWEEN {-5, 5}", "NOT coalesce(n BETWEEN -5 AND 5, 0)"),
    ("NOT n IN {1, 2, 3}", "NOT coalesce(n IN (1, 2, 3), 0)"),
    ("NOT s LIKE '*e*'", "NOT coalesce(s GLOB '*e*', 0)"),
    ("NOT s CONTAINS 'e'", "NOT coalesce(instr(s, 'e') > 0, 0)"),
    ("NOT (n > 0 AND r < 0)", "NOT (coalesce(n > 0, 0) AND coalesce(r < 0, 0))"),
    ("NOT (n > 0 OR r < 0)", "NOT (coalesce(n > 0, 0) OR coalesce(r < 0, 0))"),
    ("NOT n + r > 10", "NOT coalesce(n + r > 10, 0)"), ("NOT NOT n > 0", "n > 0"),
    ("s == 'Milk'", "s = 'Milk'"), ("s ==[c] 'MILK'", "lower(s) = 'milk'"),
    ("s CONTAINS 'e'", "instr(s, 'e') > 0"), ("s CONTAINS[c] 'B'", "instr(lower(s), 'b') > 0"),
    ("s BEGINSWITH 'b'", "substr(s, 1, 1) = 'b'"),
    ("s ENDSWITH[c] 'R'", "lower(substr(s, -1)) = 'r'"),
    ("s LIKE '*e*'", "s GLOB '*e*'"), ("s LIKE '?r??d'", "s GLOB '?r??d'"),
    ("s LIKE[c] 'm*'", "s LIKE 'm%'"), ("s MATCHES '[a-m]+'", "s NOT GLOB '*[^a-m]*' AND s <> ''"),
    ("s < 'b'", "s < 'b'"), ("s >= 'b'", "s >= 'b'"),
    ("'Milk bread' CONTAINS s", "instr('Milk bread', s) > 0"),
    ("length(s) > 3", "length(s) > 3"), ("b == nil", "b IS NULL"),
    ("uppercase(s) == 'MILK'", "upper(s) = 'MILK'"),
    ("TRUEPREDICATE", "1"), ("FALSEPREDICATE", "0"), ("n == '5'", "0"), ("s == 5", "0"),
  ])
  func rowsAreThoseOfSQLite(_ condition: String, _ sql: String) throws {
    let place = try TemporaryFolder()
    let store = try Self.store(in: place)
    let connection = try SQLiteConnection(store)
    let expected = try connection.rows("SELECT id FROM t WHERE \(sql) ORDER BY id").map { row in
      if case .integer(let key) = row[0] { key } else { Int64(-1) }
    }
    #expect(try Self.keys(store, condition) == expected, "\(condition)")
  }

  @Test(arguments: [
    (["n"], "n"), (["-n"], "n DESC"), (["s", "-r"], "s, r DESC"), (["-s", "n"], "s DESC, n"),
  ])
  func theOrderIsThatOfSQLite(_ order: [String], _ sql: String) throws {
    let place = try TemporaryFolder()
    let store = try Self.store(in: place)
    let connection = try SQLiteConnection(store)
    let expected = try connection.rows("SELECT id FROM t ORDER BY \(sql), id").map { row in
      if case .integer(let key) = row[0] { key } else { Int64(-1) }
    }
    #expect(try Self.keys(store, nil, order: order) == expected)
    #expect(try Self.keys(store, nil, order: order, limit: 7) == Array(expected.prefix(7)))
  }

  /// On real stores, all of them in the long rounds: rows with a text, through each attribute, as SQLite counts them.
  @Test(.enabled(if: Shared.isThere), arguments: Rounds.part(of: RealStores.all, every: 6, from: 2))
  func attributesOfRealStores(_ store: RealStore) throws {
    let place = try TemporaryFolder()
    let copy = try store.copy(into: place.url)
    let opened = try CoreDataStore(path: copy.path)
    let connection = try SQLiteConnection(copy)
    for table in opened.entityTables {
      for (number, entity) in try opened.plan(for: table, wanted: nil)?.entities ?? [:] {
        for field in entity.fields.prefix(6) {
          let column = "\"" + table.columnNames[field.column] + "\""
          let expected = try connection.integer(
            "SELECT count(*) FROM \(table.name) WHERE Z_ENT = \(number) AND \(column) IS NOT NULL")
          var rows = SelectedRows()
          rows.condition = try RowCondition("#\(field.name) != nil")
          rows.columns = [field.name]
          let source = try #require(
            try rows.sources(in: opened, [entity.name]).first { $0.name == entity.name })
          let count = try rows.forEachRow(of: source, in: opened) { $0.properties.count == 1 }
          #expect(Int64(count) == expected, "\(entity.name).\(field.name)")
        }
      }
    }
  }

  /// Relationships in the row, and those with a table of their own, in the real stores that have them. Outside the long
  /// rounds, in each fourth real store.
  @Test(.enabled(if: Shared.isThere)) func keyPathsFollowRelationships() throws {
    var followed = 0
    for store in Rounds.part(of: RealStores.all, every: 4) {
      let place = try TemporaryFolder()
      let copy = try store.copy(into: place.url)
      let opened = try CoreDataStore(path: copy.path)
      let all = try opened.entityTables.map { try opened.describedEntities(of: $0) }
      for entities in all {
        for entity in entities {
          for property in entity.properties
          where property.kind == .toOne || property.kind == .toMany {
            guard
              let destination = all.joined().first(where: { $0.name == property.typeName }),
              let text = destination.properties.first(where: { $0.typeName == "String" })
            else { continue }
            // What the condition says of the destination's value, from the rows themselves.
            var values: [Int64: Bool] = [:]
            try opened.forEachRow(of: [destination.name]) { row in
              values[row.primaryKey] =
                row.properties.first { $0.name == text.name }.map { $0.value != .null } ?? false
              return true
            }
            var expected: [Int64] = []
            try opened.forEachRow(of: [entity.name]) { row in
              guard row.entityName == entity.name else { return true }
              let value = row.properties.first { $0.name == property.name }?.value
              switch value {
              case .toOne(let one)?:
                if values[one.primaryKey] ?? false { expected.append(row.primaryKey) }
              case .toMany(let many)?:
                if many.contains(where: { values[$0.primaryKey] ?? false }) {
                  expected.append(row.primaryKey)
                }
              default: break
              }
              return true
            }
            let any = property.kind == .toMany ? "ANY " : ""
            var rows = SelectedRows()
            rows.condition = try RowCondition("\(any)#\(property.name).#\(text.name) != nil")
            let source = try #require(
              try rows.sources(in: opened, [entity.name]).first { $0.name == entity.name })
            var found: [Int64] = []
            _ = try rows.forEachRow(of: source, in: opened) {
              found.append($0.key ?? -1)
              return true
            }
            #expect(found == expected, "\(store) \(entity.name).\(property.name).\(text.name)")
            followed += expected.count
          }
        }
      }
    }
    #expect(followed > (Rounds.areLong ? 100 : 20))
  }

  @Test(arguments: [
    "", "n >", "n == FUNCTION(self, 'x')", "SUBQUERY(a, $x, $x.b == 1).@count > 0", "n MATCHES '['",
    "n BETWEEN 5", "s isNear: 4", "$v == 1", String(repeating: "(", count: 100_000),
  ])
  func whatIsNoCondition(_ text: String) {
    let error = #expect(throws: ExtractionError.self) { _ = try RowCondition(text) }
    #expect(error?.code.rawValue == "usage.badCondition")
  }

  @Test func anUnknownNameIsTold() throws {
    let place = try TemporaryFolder()
    let store = try Self.store(in: place)
    let error = #expect(throws: ExtractionError.self) { _ = try Self.keys(store, "m == 5") }
    #expect(error?.code == .unknownName && error?.message.contains("has m") == true)
    #expect(throws: ExtractionError.self) { _ = try Self.keys(store, "n.x == 5") }
  }

  @Test func aWholeTextMatches() throws {
    let place = try TemporaryFolder()
    let store = try Self.store(in: place)
    let connection = try SQLiteConnection(store)
    try connection.exec("INSERT INTO t(id, s) VALUES (1001, 'ab'), (1002, 'abc'), (1003, 'AB')")
    connection.close()
    #expect(try Self.keys(store, "id > 1000 AND s MATCHES 'a|ab'") == [1001])
    #expect(try Self.keys(store, "id > 1000 AND s MATCHES[c] 'a|ab'") == [1001, 1003])
  }

  /// `[d]` ignores the diacritics of the value and those of the expression.
  @Test(
    arguments: [
      ("MATCHES 'caf\u{e9}'", [1001]), ("MATCHES[d] 'caf\u{e9}'", [1001, 1002, 1003]),
      ("MATCHES[d] 'cafe\u{301}'", [1001, 1002, 1003]), ("MATCHES[d] 'cafe'", [1001, 1002, 1003]),
      ("MATCHES[d] 'caf[\u{e9}\u{e8}]'", [1001, 1002, 1003]),
      ("MATCHES[cd] 'CAF\u{c9}'", [1001, 1002, 1003, 1004]),
      // One condition has an expression with and without the option.
      ("MATCHES 'caf\u{e9}' AND s MATCHES[d] 'caf\u{e9}'", [1001]),
      // Each syllable is one letter of a range.
      ("MATCHES[d] '[\u{ac00}-\u{d7a3}]{2}'", [1005]),
      // In lower case, this letter has two scalars.
      ("MATCHES[c] '\u{130}'", [1006]), ("MATCHES[cd] '\u{130}'", [1006]),
    ] as [(String, [Int64])])
  func diacriticsAreIgnoredOnBothSides(_ condition: String, _ keys: [Int64]) throws {
    let place = try TemporaryFolder()
    let store = try Self.store(in: place)
    let connection = try SQLiteConnection(store)
    try connection.exec(
      """
      INSERT INTO t(id, s) VALUES (1001, 'caf\u{e9}'), (1002, 'cafe\u{301}'), (1003, 'cafe'),
        (1004, 'Cafe'), (1005, '\u{d55c}\u{ae00}'), (1006, '\u{130}');
      """)
    connection.close()
    #expect(try Self.keys(store, "id > 1000 AND s \(condition)") == keys)
  }

  /// What `[c]` says of a text, it says of a UUID and of each element of a list.
  @Test(arguments: [
    "id CONTAINS[c] '7f3a'", "id BEGINSWITH[c] '7F3a'", "id LIKE[c] '*abcd'",
    "id MATCHES[c] '7f3a.*'",
    "id ==[c] '7f3a1111-0000-0000-0000-00000000abcd'",
    "id == '7f3a1111-0000-0000-0000-00000000abcd'",
    "names CONTAINS[c] 'WORK'", "names CONTAINS 'Work'", "NOT names CONTAINS 'WORK'",
  ])
  func casesOfUUIDsAndOfListsAreFolded(_ text: String) throws {
    let values: [String: ConditionValue] = [
      "id": .uuid("7F3A1111-0000-0000-0000-00000000ABCD"),
      "names": .list([.text("Home"), .text("Work")]),
    ]
    let condition = try RowCondition(text)
    #expect(condition.holds { values[$0] ?? .null })
  }

  /// A name stands for the column with its bytes, not for one that only reads the same.
  @Test func columnsWithEqualNamesAreToldApart() throws {
    let place = try TemporaryFolder()
    let url = place.url.appendingPathComponent("s.sqlite")
    let connection = try SQLiteConnection(url)
    let names = [("caf\u{e9}", "one"), ("cafe\u{301}", "two")]
    for (name, table) in names { try connection.exec("CREATE TABLE \(table)(\"\(name)\" TEXT)") }
    connection.close()
    let store = try CoreDataStore(path: url.path)
    for (name, table) in names {
      var rows = SelectedRows()
      rows.columns = [name]
      #expect(try rows.sources(in: store, nil).map(\.name) == [table])
    }
  }

  @Test func datesAreComparedWithTexts() throws {
    let place = try TemporaryFolder()
    let url = place.url.appendingPathComponent("s.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZWHEN TIMESTAMP);
      INSERT INTO Z_PRIMARYKEY VALUES (1, 'Note', 0, 3);
      INSERT INTO ZNOTE VALUES (1, 1, 7, 0), (2, 1, 1, 86399.5), (3, 1, 1, 86400), (4, 1, 1, NULL);
      """)
    connection.close()
    #expect(try Self.keys(url, "ZWHEN == '2001-01-01'") == [1, 2])
    #expect(try Self.keys(url, "ZWHEN > '2001-01-01'") == [3])
    #expect(try Self.keys(url, "ZWHEN >= '2001-01-01T23:59'") == [2, 3])
    #expect(try Self.keys(url, "ZWHEN < '2001-01-02'") == [1, 2])
    #expect(try Self.keys(url, "ZWHEN BETWEEN {'2001-01-01', '2001-01-01'}") == [1, 2])
    #expect(
      try Self.keys(url, "ZWHEN BETWEEN[c] {'2001-01-01T23:59', '2001-01-01T23:59'}") == [2])
    #expect(try Self.keys(url, "ZWHEN IN {'2001-01-02', '2001-01-03'}") == [3])
    #expect(try Self.keys(url, "ZWHEN == CAST(86400, 'NSDate')") == [3])
    #expect(try Self.keys(url, "ZWHEN + 1 > '2001-01-02'") == [])
    #expect(try Self.keys(url, "ZWHEN < now()") == [1, 2, 3])
    // What is no date would match nothing, without a word.
    for value in ["'foo'", "'1990-13-45'", "'2001-02-30'", "5", "0.5", "-5"] {
      let error = #expect(throws: ExtractionError.self) {
        _ = try Self.keys(url, "ZWHEN > \(value)")
      }
      #expect(error?.code.rawValue == "usage.badCondition")
    }
  }
}
