import Fixtures
import Foundation
import SQLiteFile
@testable import SQLiteForensics
import Testing

/// Rows that were deleted, replaced or dropped, against what SQLite read before they were.
@Suite struct DeletedRowsTests {
  /// A store before and after a change.
  struct Change {
    /// Every row that was ever true, by table, and whether it still is.
    var versions: [String: [(row: SQLiteConnection.FixtureRow, isLive: Bool)]] = [:]
    var after: DamageCase

    /// Does the steps one after the other to the filled store and takes the truth after each.
    init(
      pageSize: Int = 1024, pragmas: String = "", fill: (SQLiteConnection) throws -> Void,
      steps: [(SQLiteConnection) throws -> Void]
    ) throws {
      let folder = try TemporaryFolder()
      let url = folder.url.appendingPathComponent("made.sqlite")
      let connection = try SQLiteConnection(url)
      defer { connection.close() }
      try connection.exec("PRAGMA page_size = \(pageSize); PRAGMA synchronous = OFF")
      try connection.exec("PRAGMA secure_delete = OFF; \(pragmas)")
      try fill(connection)
      var states = [try DamageCase(connection, url)]
      for step in steps {
        try step(connection)
        states.append(try DamageCase(connection, url))
      }
      after = states[states.count - 1]
      for (table, rows) in states.flatMap(\.truth) {
        for row in rows where !(versions[table] ?? []).contains(where: { Self.same($0.row, row) }) {
          let isLive = after.truth[table]?.contains { Self.same($0, row) } ?? false
          versions[table, default: []].append((row, isLive))
        }
      }
    }

    private static func same(
      _ one: SQLiteConnection.FixtureRow, _ two: SQLiteConnection.FixtureRow
    ) -> Bool { one.rowid == two.rowid && one.values == two.values }

    /// Places of the dead notes whose title and body still stand in the file, one behind the other as in their cell.
    func presentNotes() -> Set<Int> {
      let content = Data(after.bytes)
      return Set(
        (versions["note"] ?? []).indices.filter { place in
          let version = (versions["note"] ?? [])[place]
          guard !version.isLive, case .text(let title) = version.row.values[2],
            case .text(let body) = version.row.values[3], body.count > 20
          else { return false }
          return content.range(of: Data(title + body)) != nil
        })
    }

    func dead(_ table: String) -> Int { versions[table]?.count { !$0.isLive } ?? 0 }
    var dead: Int { versions.keys.reduce(0) { $0 + dead($1) } }
  }

  /// Dead rows that were recovered, held against all that was ever true.
  struct Finds {
    /// Places among the versions of each table.
    var found: [String: Set<Int>] = [:]
    var wrong: [String] = []
    var living: [String] = []
    var repeated: [String] = []

    init(_ recovered: Recovered, _ change: Change) {
      for row in recovered.dead {
        let guess = recovered.table(of: row) ?? row.origin.guess.map { recovered.tables[$0] }
        let tables = guess.map { [$0] } ?? change.versions.keys.sorted()
        var match: (table: String, place: Int)?
        var alive: String?
        var known: String?
        for table in tables {
          for (place, version) in (change.versions[table] ?? []).enumerated() {
            if let rowID = row.rowID, rowID != version.row.rowid { continue }
            guard Judgement.agrees(row, version.row, isNamed: guess != nil, true) else { continue }
            if version.isLive {
              alive = "\(table) \(row.rowID ?? -1)"
            } else if found[table]?.contains(place) ?? false {
              known = "\(table) \(row.rowID ?? -1)"
            } else {
              match = (table, place)
              break
            }
          }
          if match != nil { break }
        }
        if let match {
          found[match.table, default: []].insert(match.place)
        } else if let known {
          repeated.append("\(known) page \(row.origin.page) \(row.origin.place)")
        } else if let alive {
          living.append("\(alive) page \(row.origin.page) \(row.origin.place)")
        } else {
          wrong.append(
            "\(guess ?? "?") \(row.rowID ?? -1) \(row.values.map { FixtureValue($0) }) \(row.origin.place) page \(row.origin.page) \(row.origin.confidence)"
          )
        }
      }
    }

    var count: Int { found.values.reduce(0) { $0 + $1.count } }

    func expectHonest(
      _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) {
      #expect(wrong.isEmpty, comment, sourceLocation: sourceLocation)
      #expect(living.isEmpty, comment, sourceLocation: sourceLocation)
      #expect(repeated.isEmpty, comment, sourceLocation: sourceLocation)
    }
  }

  private static let fill: @Sendable (SQLiteConnection) throws -> Void = {
    try Notebook.fill($0, rows: 200)
  }

  /// Live rows stay as SQLite reads them whatever is carved beside them.
  static func recover(_ change: Change) throws -> (all: Recovered, finds: Finds) {
    let all = try change.after.recover(.all) { _ in }
    Judgement(all, change.after).expectAll()
    let only = try change.after.recover(.deleted) { _ in }
    #expect(only.rows == all.dead)
    return (all, Finds(all, change))
  }

  struct Delete: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let condition: String
    var pageSize = 1024
    var vacuum = "NONE"
  }

  /// Deleted rows whose pages stay in use: whole cells in the gap, free blocks that lost four bytes, blocks that
  /// were joined.
  @Test(arguments: [
    Delete(testDescription: "one here and there", condition: "id % 23 = 5"),
    Delete(testDescription: "every third", condition: "id % 3 = 1"),
    Delete(testDescription: "three in a row", condition: "id % 17 < 3"),
    Delete(testDescription: "every third, large pages", condition: "id % 3 = 1", pageSize: 4096),
    Delete(testDescription: "every other, small pages", condition: "id % 2 = 1", pageSize: 512),
    Delete(testDescription: "pointer map", condition: "id % 5 = 1", vacuum: "INCREMENTAL"),
  ])
  func deletedRowsOfLivePagesAreFound(_ delete: Delete) throws {
    let change = try Change(
      pageSize: delete.pageSize, pragmas: "PRAGMA auto_vacuum = \(delete.vacuum)", fill: Self.fill,
      steps: [{ try $0.exec("DELETE FROM note WHERE \(delete.condition)") }])
    let (all, finds) = try Self.recover(change)
    finds.expectHonest()
    // What a merge of two pages overwrites is gone.
    let part = Double(finds.found["note"]?.count ?? 0) / Double(change.dead("note"))
    #expect(part >= (delete.condition.contains("% 2") ? 0.5 : 0.85), "\(part)")
    #expect(all.dead.allSatisfy { $0.origin.state == .deleted && $0.origin.confidence <= 100 })
  }

  /// All rows of a page in the order in which they can be deleted: from its end, from its start, from within.
  @Test(arguments: ["id DESC", "id", "id % 5, id", "id % 2 DESC, id DESC"])
  func theOrderOfDeletionDoesNotMatter(_ order: String) throws {
    let change = try Change(
      pageSize: 4096, fill: { try Notebook.fill($0, rows: 16) },
      steps: [
        { connection in
          let rows = try connection.rows("SELECT id FROM note WHERE id <> 8 ORDER BY \(order)")
          for row in rows { try connection.rows("DELETE FROM note WHERE id = ?", row) }
        }
      ])
    let (_, finds) = try Self.recover(change)
    finds.expectHonest(Comment(rawValue: order))
    #expect(finds.count >= change.dead - 1, "\(order): \(finds.count) of \(change.dead)")
  }

  /// A table and its copy: an equal row of the one says nothing about the other.
  private static func fillTwins(_ connection: SQLiteConnection) throws {
    try connection.exec(
      """
      CREATE TABLE a(x INTEGER, y INTEGER, n TEXT);
      CREATE TABLE b(x INTEGER, y INTEGER, n TEXT);
      WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 60)
        INSERT INTO a SELECT i, i * 1000, 'name of item ' || i FROM c;
      INSERT INTO b SELECT * FROM a;
      """)
  }

  /// Between live cells, and below the lowest one.
  @Test(arguments: [
    ("x IN (10, 20, 30)", "x IN (20, 40)", 3, 2), ("x > 57", "x = 60 OR x = 40", 3, 2),
    ("x > 57", "x > 58", 3, 2), ("x IN (10, 59, 60)", "x = 7", 3, 1),
  ])
  func deletedRowsThatAnotherTableHasAreFound(
    _ ofFirst: String, _ ofSecond: String, _ first: Int, _ second: Int
  ) throws {
    let change = try Change(
      pageSize: 4096, fill: Self.fillTwins,
      steps: [
        { try $0.exec("DELETE FROM a WHERE \(ofFirst); DELETE FROM b WHERE \(ofSecond)") }
      ])
    let (_, finds) = try Self.recover(change)
    finds.expectHonest()
    #expect(finds.found.mapValues(\.count) == ["a": first, "b": second])
  }

  /// Only an older version of the page has the rows. It shares most of its rows with the page as it is.
  @Test func replacedRowsThatAnotherTableHasAreFound() throws {
    let change = try Change(
      pageSize: 4096, pragmas: "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0",
      fill: {
        try Self.fillTwins($0)
        try $0.exec("PRAGMA wal_checkpoint(TRUNCATE)")
      },
      steps: [
        { connection in
          // Nothing is left of the rows on the new versions of the pages.
          try connection.exec("PRAGMA secure_delete = ON")
          try connection.exec("DELETE FROM a WHERE x IN (10, 20, 30)")
          try connection.exec("DELETE FROM b WHERE x IN (20, 40)")
        }
      ])
    let (all, finds) = try Self.recover(change)
    finds.expectHonest()
    #expect(finds.found.mapValues(\.count) == ["a": 3, "b": 2])
    #expect(all.dead.allSatisfy { $0.origin.state == .superseded })
  }

  /// A third of the rows fit another table, which has them too. The pages that went free with them had rows of one
  /// table only.
  @Test func rowsOfFreePagesThatAnotherTableHasAreFound() throws {
    let change = try Change(
      fill: { connection in
        try connection.exec(
          """
          CREATE TABLE a(x INTEGER, y INTEGER, n TEXT);
          CREATE TABLE b(x INTEGER, y INTEGER, n INTEGER);
          WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 2000)
            INSERT INTO a SELECT i, i * 1000, CASE WHEN i % 3 THEN 'name of item ' || i END FROM c;
          INSERT INTO b(rowid, x, y) SELECT rowid, x, y FROM a WHERE n IS NULL;
          """)
      },
      steps: [
        { connection in
          try connection.exec("DELETE FROM a WHERE rowid BETWEEN 500 AND 1500")
          try connection.exec("DELETE FROM b WHERE rowid = 3")
        }
      ])
    let (_, finds) = try Self.recover(change)
    #expect(finds.living.isEmpty, "\(finds.living)")
    let rows = change.versions["a"] ?? []
    func count(_ isNull: Bool) -> Int {
      (finds.found["a"] ?? []).count { (rows[$0].row.values[2] == .null) == isNull }
    }
    #expect(count(false) > 300, "\(count(false))")
    #expect(count(true) * 5 > count(false) * 2, "\(count(true)) of \(count(false))")
  }

  /// The rows of a free page that fit two tables are live in one of them. In both, the first column stands for the row
  /// id.
  @Test func rowsOfNoKnownTableThatAreLiveWereNotDeleted() throws {
    let change = try Change(
      fill: { connection in
        try connection.exec(
          """
          CREATE TABLE a(id INTEGER PRIMARY KEY, x INTEGER, n TEXT);
          CREATE TABLE b(id INTEGER PRIMARY KEY, x INTEGER, n TEXT);
          WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 400)
            INSERT INTO a SELECT i, i * 1000, 'name of item ' || i FROM c;
          INSERT INTO b SELECT * FROM a;
          """)
      }, steps: [{ try $0.exec("DELETE FROM a WHERE id BETWEEN 100 AND 300") }])
    let (all, finds) = try Self.recover(change)
    finds.expectHonest()
    let unknown = all.dead.filter { $0.origin.table == nil }
    #expect(unknown.isEmpty, "\(unknown.count)")
  }

  /// The place of a page that SQLite moved, to make room for a new root page, keeps rows that are live elsewhere.
  @Test(arguments: ["NONE", "INCREMENTAL"])
  func rowsOfAnAlikeTableThatMovedWereNotDeleted(_ vacuum: String) throws {
    let change = try Change(
      pageSize: 1024, pragmas: "PRAGMA auto_vacuum = \(vacuum)",
      fill: { connection in
        try connection.exec(
          """
          CREATE TABLE a(x INTEGER, n TEXT);
          WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 400)
            INSERT INTO a SELECT i, printf('entry number %04d', i) FROM c;
          CREATE TABLE b(x INTEGER, n TEXT);
          CREATE TABLE d(x INTEGER, n TEXT);
          INSERT INTO b SELECT x, n FROM a WHERE x <= 9;
          INSERT INTO d SELECT x + 7000, n || ' of d' FROM a WHERE x <= 9;
          """)
      }, steps: [])
    let (all, finds) = try Self.recover(change)
    finds.expectHonest()
    #expect(all.dead.isEmpty, "\(all.dead.map(\.values))")
  }

  /// A table of 40 rows on one page, each with a value and a title, from which the rows with these row ids are deleted.
  /// `value` is an SQL expression of the row id `i`.
  private static func titles(
    _ type: String, _ value: String, without rowids: String
  ) throws -> Change {
    try Change(
      pageSize: 4096,
      fill: { connection in
        try connection.exec(
          """
          CREATE TABLE t(v \(type), title TEXT);
          WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 40)
            INSERT INTO t SELECT \(value), 'the title of item ' || i FROM c;
          """)
      }, steps: [{ try $0.exec("DELETE FROM t WHERE rowid IN (\(rowids))") }])
  }

  /// The serial type of a first value that is no row id is among the four bytes that a free block overwrites.
  @Test(arguments: [
    ("REAL", "i * 1.37", true), ("INTEGER", "i + 1", true), ("INTEGER", "i % 3 = 0", false),
    ("INTEGER", "CASE i % 4 WHEN 0 THEN NULL ELSE i % 2 END", false),
    ("NUMERIC", "i * 1.37", false),
    ("", "substr('abcdefgh', 1, 1 + i % 8)", false), ("TEXT", "substr('abcdefgh', i % 8, 1)", true),
  ])
  func aFirstValueOfLostTypeIsRightOrMarked(_ type: String, _ value: String, _ isSure: Bool) throws
  {
    let change = try Self.titles(type, value, without: "6, 10, 15, 21, 25, 31")
    let (all, finds) = try Self.recover(change)
    finds.expectHonest()
    #expect(finds.count == 6)
    #expect(all.dead.allSatisfy { $0.partial.map(\.column) == (isSure ? [] : [0]) })
    // The length of the first value follows from the size of the free block, which a newer row may have made smaller.
    #expect(all.dead.allSatisfy { $0.origin.confidence <= 50 })
  }

  /// The only row with a value of this length is the deleted one. A value without bytes may be 0, 1 or NULL.
  @Test(arguments: [
    ("INTEGER", "i", false), ("TEXT", "substr('12345678 is a long text', 1, 7 + i)", true),
  ])
  func aFirstValueUnlikeAllOthersIsFound(_ type: String, _ value: String, _ isSure: Bool) throws {
    let change = try Self.titles(type, value, without: "1")
    let (all, finds) = try Self.recover(change)
    finds.expectHonest()
    #expect(finds.count == 1)
    #expect(all.dead.map { $0.partial.map(\.column) } == [isSure ? [] : [0]])
  }

  @Test(arguments: ["NONE", "INCREMENTAL"])
  func rowsOnFreePagesAreFound(_ vacuum: String) throws {
    let change = try Change(
      pragmas: "PRAGMA auto_vacuum = \(vacuum)",
      fill: { try Notebook.fill($0, rows: 400) },
      steps: [{ try $0.exec("DELETE FROM note") }])
    let (all, finds) = try Self.recover(change)
    finds.expectHonest()
    #expect(finds.count * 100 >= change.dead * 95, "\(finds.count) of \(change.dead)")
    #expect(Set(all.dead.map(\.origin.place)).contains(.freePage))
    let named = all.dead.count { $0.origin.table != nil }
    #expect(named * 10 >= all.dead.count * 9, "\(named) of \(all.dead.count)")
  }

  @Test(arguments: ["NONE", "INCREMENTAL"])
  func aDroppedTableIsFoundWithItsName(_ vacuum: String) throws {
    let change = try Change(
      pragmas: "PRAGMA auto_vacuum = \(vacuum)",
      fill: { try Notebook.fill($0, rows: 400) }, steps: [{ try $0.exec("DROP TABLE event") }])
    let (all, finds) = try Self.recover(change)
    finds.expectHonest()
    #expect(all.tables.contains("event"))
    let found = finds.found["event"]?.count ?? 0
    #expect(found * 100 >= change.dead("event") * 90, "\(found) of \(change.dead("event"))")
    #expect(!all.live.contains { all.table(of: $0) == "event" })
  }

  @Test func longValuesOfDeletedRowsAreWholeOrMarked() throws {
    let change = try Change(
      fill: { try Notebook.fill($0, rows: 600, longest: 5000) },
      steps: [{ try $0.exec("DELETE FROM note WHERE id % 40 = 0") }])
    let (_, finds) = try Self.recover(change)
    #expect(finds.wrong.isEmpty)
    #expect(finds.repeated.isEmpty)
    // A row left over on a root page that became an interior page has lost its last byte to a cell: its content is not that
    // of the live row any more, and it comes as a version of it.
    #expect(finds.living.count <= 1)
    let present = change.presentNotes()
    try #require(present.count > 3)
    let absent = present.subtracting(finds.found["note"] ?? [])
    // Two of nine are not found: rows 480 and 520, which go on in pages that are free now.
    #expect(absent.count <= 2, "\(absent.count) of \(present.count)")
  }

  /// A free page that became a trunk of the free list has lost its first bytes (file format, section 1.5).
  @Test func aValueThatGoesOnInATrunkIsMarked() throws {
    let change = try Change(
      fill: { connection in
        try connection.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, body TEXT, last TEXT)")
        try connection.insert(
          "INSERT INTO t VALUES(?, ?, ?)",
          (1...6).map { id in
            [
              .integer(Int64(id)), .string(String(repeating: "body \(id) ", count: 700)),
              .string("last \(id)"),
            ]
          })
      }, steps: [{ try $0.exec("DELETE FROM t WHERE id = 6") }])
    let (all, finds) = try Self.recover(change)
    finds.expectHonest()
    #expect(all.dead.contains { !$0.partial.isEmpty }, "\(all.dead.map { ($0.rowID, $0.origin) })")
  }

  @Test func updatedRowsGiveTheirOldVersions() throws {
    let change = try Change(
      fill: Self.fill,
      steps: [
        { try $0.exec("UPDATE note SET title = title || ' and more of it' WHERE id % 10 = 3") }
      ])
    let (_, finds) = try Self.recover(change)
    finds.expectHonest()
    let present = change.presentNotes()
    try #require(present.count > 1)
    let absent = present.subtracting(finds.found["note"] ?? [])
    #expect(absent.isEmpty, "\(absent.count) of \(present.count)")
  }

  // MARK: - What was never deleted

  /// Rows that moved when their pages were split or merged, or when auto-vacuum moved their pages, live.
  @Test(arguments: [512, 1024, 4096], ["NONE", "FULL"])
  func rowsThatMovedWereNotDeleted(_ pageSize: Int, _ vacuum: String) throws {
    let change = try Change(
      pageSize: pageSize, pragmas: "PRAGMA auto_vacuum = \(vacuum)",
      fill: {
        try Notebook.fill($0, rows: 100)
        try $0.exec("CREATE TABLE filler(a, b)")
        try $0.insert(
          "INSERT INTO filler VALUES(?, ?)",
          (0..<200).map { [.integer(Int64($0)), .string("filler \($0)")] })
      },
      steps: [
        { connection in
          // Keys between those that are there, in no order.
          var generator = SplitMix64(seed: 3)
          let keys = (1000..<1600).shuffled(using: &generator)
          try connection.insert(
            "INSERT INTO note VALUES(?, ?, ?, ?, ?, ?)",
            keys.map { key in
              [
                .integer(Int64(key)), .integer(1), .string("title \(key)"),
                .string(String(repeating: "b\(key) ", count: key % 9)), .real(Double(key)), .null,
              ]
            })
        }
      ])
    let (all, finds) = try Self.recover(change)
    #expect(all.dead.isEmpty, "\(all.dead.count)")
    finds.expectHonest()
  }

  /// Without an alias of the row id, the remains of moved rows have lost the type of their first value.
  @Test func remainsOfMovedRowsAreNotDeletedRows() throws {
    var generator = SplitMix64(seed: 3)
    let keys = (1..<1500).shuffled(using: &generator)
    let made = try DamageCase(pageSize: 512) { connection in
      try connection.exec("CREATE TABLE t(flag INTEGER, title TEXT)")
      try connection.insert(
        "INSERT INTO t(rowid, flag, title) VALUES(?, ?, ?)",
        keys.map { key in
          [
            .integer(Int64(key)), .integer(Int64(key % 2)),
            .string("title \(key) " + String(repeating: "b", count: key * 7 % 31)),
          ]
        })
    }
    let rows = made.truth["t"] ?? []
    let living = try made.recover(.deleted) { _ in }.dead.filter { row in
      row.values.count == 2 && row.values[1] != .null
        && rows.contains { $0.values[1] == FixtureValue(row.values[1]) }
    }
    #expect(living.isEmpty, "\(living.map(\.values))")
  }

  @Test func aVacuumLeavesNothing() throws {
    let change = try Change(
      fill: Self.fill,
      steps: [{ try $0.exec("DELETE FROM note WHERE id % 3 = 0; DROP TABLE event; VACUUM") }])
    let (all, _) = try Self.recover(change)
    #expect(all.dead.isEmpty)
    #expect(!all.tables.contains("event"))
  }

  /// Fixtures from which nothing was ever deleted, or whose deletions were vacuumed away.
  @Test(arguments: ["deep-table", "deep-index", "page-512", "free-blocks", "auto-vacuum-full"])
  func storesWithoutDeletionsHaveNone(_ name: String) throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named(name).make(folder.url)
    let connection = try SQLiteConnection(store)
    try connection.exec("VACUUM")
    connection.close()
    #expect(try Recovered(path: store.path, .deleted).rows.isEmpty)
  }

  /// The file ends within the last page, which lists free pages, and the header is lost.
  @Test func aTrunkThatIsCutOffEnds() throws {
    let made = try DamageCase { connection in
      try connection.exec(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
        INSERT INTO t SELECT i, printf('row %d %060d', i, i) FROM n
        """)
    }
    try #require(made.pageCount > 260)
    let recovered = try made.recover(.all) { bytes in
      bytes.replaceSubrange(0..<100, with: repeatElement(0, count: 100))
      // Without its last byte, the last number is 256.
      bytes += ([0, 3, 258, 260, 259] as [UInt32]).flatMap(\.bigEndianBytes).dropLast()
    }
    #expect(recovered.rows.count >= 6000)
  }

  // MARK: - Logs and journals

  @Test(arguments: [1024, 4096])
  func replacedVersionsInTheLogAreFound(_ pageSize: Int) throws {
    let change = try Change(
      pageSize: pageSize,
      pragmas: "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0",
      fill: {
        try Notebook.fill($0, rows: 100)
        try $0.exec("PRAGMA wal_checkpoint(TRUNCATE)")
      },
      steps: (1...4).map { round in
        { connection in
          try connection.exec(
            "UPDATE note SET title = 'round \(round) ' || id WHERE id % 20 < 4")
          try connection.exec("DELETE FROM folder WHERE id = \(round * 9)")
        }
      })
    try #require(change.after.sides["-wal"] != nil)
    let (all, finds) = try Self.recover(change)
    finds.expectHonest()
    #expect(finds.count == change.dead, "\(finds.count) of \(change.dead)")
    #expect(all.dead.contains { $0.origin.state == .superseded && $0.origin.member == .wal })
  }

  @Test func theJournalHasWhatTheLastTransactionChanged() throws {
    let change = try Change(
      pragmas: "PRAGMA journal_mode = PERSIST", fill: Self.fill,
      steps: [
        { connection in
          try connection.exec(
            "UPDATE note SET title = 'new title ' || id, body = NULL WHERE id % 10 = 4")
        }
      ])
    try #require(change.after.sides["-journal"] != nil)
    let (all, finds) = try Self.recover(change)
    finds.expectHonest()
    #expect(finds.count == change.dead, "\(finds.count) of \(change.dead)")
    #expect(all.dead.contains { $0.origin.state == .beforeImage && $0.origin.member == .journal })
  }
}
