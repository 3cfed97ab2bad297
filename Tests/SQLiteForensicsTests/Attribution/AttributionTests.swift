import Fixtures
import Foundation
import SQLiteFile
import Testing
@testable import SQLiteForensics

/// To which table rows are given when the schema says something else, or nothing.
@Suite struct AttributionTests {
  /// The same store with two root pages exchanged in its schema table.
  private static func swapRoots(_ store: DamageCase, _ one: String, _ two: String) throws -> [UInt8]
  {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("swapped.sqlite")
    try Data(store.bytes).write(to: url)
    let connection = try SQLiteConnection(url)
    func root(_ name: String) throws -> Int64 {
      try connection.integer("SELECT rootpage FROM sqlite_schema WHERE name = '\(name)'") ?? 0
    }
    let roots = (try root(one), try root(two))
    try connection.exec(
      """
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET rootpage = \(roots.1) WHERE name = '\(one)';
      UPDATE sqlite_schema SET rootpage = \(roots.0) WHERE name = '\(two)';
      """)
    connection.close()
    return try bytes(of: url)
  }

  private static func twins(_ connection: SQLiteConnection, hasIndexes: Bool) throws {
    var generator = SplitMix64(seed: 5)
    for name in ["apple", "pear"] {
      try connection.exec("CREATE TABLE \(name)(id INTEGER PRIMARY KEY, label TEXT, size INTEGER)")
      if hasIndexes { try connection.exec("CREATE INDEX \(name)_size ON \(name)(size)") }
      try connection.insert(
        "INSERT INTO \(name) VALUES(?, ?, ?)",
        (1...300).map {
          [
            .integer(Int64($0)), Notebook.text(&generator, 5),
            .integer(Int64.random(in: 0...1_000_000, using: &generator)),
          ]
        })
    }
  }

  /// Tables with rows of different shapes are told apart by them.
  @Test(arguments: [["note", "folder"], ["folder", "event"], ["note", "event"]])
  func exchangedRootsOfDifferentTablesShow(_ names: [String]) throws {
    let store = try DamageCase { try Notebook.fill($0, rows: 200) }
    let swapped = try Self.swapRoots(store, names[0], names[1])
    Judgement(try store.recover { $0 = swapped }, store).expectAll()
  }

  /// Where an interior page of one of two tables with rows that look alike is gone, the row ids that the other has tell
  /// of which its leaves are.
  @Test(arguments: [1, 1_000_000]) func orphansOfTwinsAreToldByTheirRowIDs(_ first: Int) throws {
    let store = try DamageCase { connection in
      try connection.exec("PRAGMA page_size = 512; VACUUM;")
      var generator = SplitMix64(seed: 9)
      for (name, start) in [("apple", 1), ("pear", first)] {
        try connection.exec(
          "CREATE TABLE \(name)(id INTEGER PRIMARY KEY, label TEXT, size INTEGER)")
        try connection.insert(
          "INSERT INTO \(name) VALUES(?, ?, ?)",
          (start..<start + 4000).map {
            [
              .integer(Int64($0)), Notebook.text(&generator, 5),
              .integer(Int64.random(in: 0...1_000_000, using: &generator)),
            ]
          })
      }
    }
    let pageSize = 512
    // Interior pages that are nobody's root and lead to leaves: the second level of three.
    let interiors = stride(from: pageSize, to: store.bytes.count, by: pageSize).filter { start in
      guard store.bytes[start] == 5 else { return false }
      let right = store.bytes[start + 8..<start + 12].reduce(0) { $0 << 8 | Int($1) }
      return store.bytes[(right - 1) * pageSize] == 13
    }
    #expect(interiors.count > 4)
    // One of the first table, one of the second, neither at an end.
    let recovered = try store.recover { content in
      for start in [interiors[1], interiors[interiors.count - 2]] {
        for offset in start..<start + pageSize { content[offset] = 0 }
      }
    }
    Judgement(recovered, store).expectAll()
    #expect(recovered.rows.contains { $0.origin.attribution == .sibling })
  }

  /// Tables with rows that look alike are told apart by their indexes.
  @Test func exchangedRootsOfTwinsAreToldByTheirIndexes() throws {
    let store = try DamageCase { try Self.twins($0, hasIndexes: true) }
    let swapped = try Self.swapRoots(store, "apple", "pear")
    let recovered = try store.recover { $0 = swapped }
    Judgement(recovered, store).expectAll()
    #expect(recovered.findings.filter { $0 == "schema.otherRoot" }.count == 2)
    // A sound schema is believed.
    let sound = try store.recover { _ in }
    Judgement(sound, store).expectAll()
    #expect(sound.findings.isEmpty)
  }

  /// A root that is a leaf of another table's b-tree is no root.
  @Test func aRootInsideAnotherTreeIsNoRoot() throws {
    let store = try DamageCase { try Notebook.fill($0, rows: 400) }
    let leaf = try #require(store.pages("leaf", of: "note").dropFirst(3).first)
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("t.sqlite")
    try Data(store.bytes).write(to: url)
    let connection = try SQLiteConnection(url)
    try connection.exec(
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = \(leaf.number) WHERE name = 'event'"
    )
    connection.close()
    let content = try bytes(of: url)
    let recovered = try store.recover { $0 = content }
    #expect(recovered.findings.contains("schema.badRoot"))
    Judgement(recovered, store).expectAll()
  }

  /// The rows of a sound store agree with an index whatever it holds: names of rows that go on in overflow pages, whole
  /// numbers of a REAL column, which are integers there, and values of a virtual column, which no row has.
  @Test(
    arguments: [
      ("name TEXT, body TEXT", "SELECT i, 'name ' || i, printf('%.9000c', 'b')"),
      ("name REAL", "SELECT i, i"),
      ("word TEXT, name TEXT AS (upper(word)) VIRTUAL", "SELECT i, 'word ' || i"),
    ])
  func anIndexBesideATableWithoutRowIDsIsBelieved(_ columns: String, _ rows: String) throws {
    let store = try DamageCase { connection in
      try connection.exec(
        """
        CREATE TABLE w(k TEXT PRIMARY KEY, v) WITHOUT ROWID;
        INSERT INTO w VALUES('one', 1);
        CREATE TABLE a(id INTEGER PRIMARY KEY, \(columns));
        CREATE INDEX a_name ON a(name);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
        INSERT INTO a \(rows) FROM n;
        """)
    }
    let recovered = try store.recover { _ in }
    #expect(recovered.findings.isEmpty, "\(recovered.findings)")
    #expect(recovered.live.count == 31)
  }

  /// Where another table is damaged, rows are compared with their indexes, but not with those of virtual columns.
  @Test func indexesOfVirtualColumnsContradictNoRow() throws {
    let store = try DamageCase { connection in
      try connection.exec(
        """
        CREATE TABLE other(word TEXT);
        CREATE TABLE a(id INTEGER PRIMARY KEY, word TEXT, up TEXT AS (upper(word)) VIRTUAL,
          low TEXT AS (lower(word)) VIRTUAL);
        CREATE INDEX a_up ON a(up);
        CREATE INDEX a_low ON a(low);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
        INSERT INTO a(word) SELECT 'Word ' || i FROM n;
        INSERT INTO other SELECT word FROM a;
        """)
    }
    let lost = try #require(store.pages("leaf", of: "other").dropFirst().first)
    let recovered = try store.recover {
      $0.replaceSubrange(
        store.range(lost.number), with: repeatElement(0xaa, count: store.pageSize))
    }
    #expect(recovered.live.count { recovered.table(of: $0) == "a" } == 200)
    #expect(!recovered.findings.contains("page.misplaced"), "\(recovered.findings)")
  }

  /// The overflow pages of a table's statement are lost, but not its name and its root page.
  @Test func aLostStatementLeavesNameAndRoot() throws {
    let columns = (0..<80).map { "column\($0)_\(String(repeating: "x", count: 60)) TEXT" }
    let store = try DamageCase(pageSize: 4096) { connection in
      try connection.exec(
        """
        CREATE TABLE big(id INTEGER PRIMARY KEY, \(columns.joined(separator: ", ")));
        CREATE TABLE other(a, b);
        INSERT INTO big(id) VALUES(1);
        INSERT INTO other VALUES(1, 2);
        """)
    }
    let lost = store.pages("overflow", of: "sqlite_schema").map(\.number)
    try #require(!lost.isEmpty)
    let recovered = try store.recover { bytes in
      for place in 0..<16 { bytes[place] = 0 }
      for page in lost {
        bytes.replaceSubrange(store.range(page), with: repeatElement(0, count: store.pageSize))
      }
    }
    #expect(recovered.tables == ["big", "other"])
    #expect(recovered.live.map { recovered.table(of: $0) } == ["big", "other"])
    #expect(Set(recovered.findings).isSuperset(of: ["schema.incomplete", "schema.unreadable"]))
  }

  /// Two tables of one shape and nothing that leads to their rows: values and row ids are right, and no table is
  /// named.
  @Test func whatNothingDecidesIsLeftOpen() throws {
    let store = try DamageCase { try Self.twins($0, hasIndexes: true) }
    let statements = ["apple", "pear"].map {
      "CREATE TABLE \($0)(id INTEGER PRIMARY KEY, label TEXT, size INTEGER)"
    }
    for told in [[], statements] {
      let recovered = try store.recover(expect: told) {
        $0.replaceSubrange(store.range(1), with: repeatElement(0, count: store.pageSize))
      }
      #expect(recovered.live.count == 600)
      #expect(
        recovered.live.allSatisfy { $0.origin.table == nil && $0.origin.attribution == .unknown })
      // Both tables have the row ids, so each row is one of the two.
      for row in recovered.live {
        let isThere = store.truth.values.contains { rows in
          rows.contains {
            $0.rowid == row.rowID && Judgement.agrees(row, $0, isNamed: false, true)
          }
        }
        #expect(isThere)
      }
    }
  }

  /// What is known of a table's integers tells it from its twin.
  @Test func rangesOfIntegersTellTwinsApart() throws {
    let statements = ["one", "two"].map {
      "CREATE TABLE \($0)(id INTEGER PRIMARY KEY, kind INTEGER, label TEXT)"
    }
    let store = try DamageCase { connection in
      for (index, sql) in statements.enumerated() {
        try connection.exec(sql)
        try connection.insert(
          "INSERT INTO \(Recovered.name(in: sql)) VALUES(?, ?, ?)",
          (1...200).map { [.integer(Int64($0)), .integer(Int64(index + 1)), .string("row \($0)")] })
      }
    }
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("t.sqlite")
    var content = store.bytes
    content.replaceSubrange(store.range(1), with: repeatElement(0, count: store.pageSize))
    try Data(content).write(to: url)
    let database = try DamagedDatabase(path: url.path)
    var tables = statements.compactMap { ExpectedTable(name: Recovered.name(in: $0), sql: $0) }
    for index in tables.indices { tables[index].integers[1] = Int64(index + 1)...Int64(index + 1) }
    try database.expect(tables)
    var counts: [Int?: Int] = [:]
    try database.forEachRow(.live) { row in
      counts[row.origin.table, default: 0] += 1
      if let table = row.origin.table { #expect(row.values[1] == .integer(Int64(table + 1))) }
      return true
    }
    #expect(counts == [0: 200, 1: 200])
  }

  /// Leaves that are too many to be compared with each other are told of.
  @Test func leavesThatAreNotComparedAreTold() throws {
    let store = try DamageCase { connection in
      try connection.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, label TEXT)")
      try connection.insert(
        "INSERT INTO t VALUES(?, ?)",
        (1...2000).map { [.integer(Int64($0)), .string("row \($0) of the table")] })
    }
    // Six leaves to which the root does not lead.
    var content = store.bytes
    let root = store.range(2).lowerBound
    try #require(content[root] == 5)
    for index in 0..<6 {
      let pointer = root + 12 + 2 * index
      let cell = root + (Int(content[pointer]) << 8 | Int(content[pointer + 1]))
      content.replaceSubrange(cell..<cell + 4, with: [0, 0, 0xff, 0xff])
    }
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("t.sqlite")
    try Data(content).write(to: url)
    let database = try DamagedDatabase(path: url.path)
    func told() -> [String?] {
      database.findings.kept.filter { $0.id.rawValue == "tree.notCompared" }.map(\.table)
    }
    #expect(told() == [])
    try database.judgeOrphans(unmatched: [], maxCompared: 6)
    #expect(told() == [])
    try database.judgeOrphans(unmatched: [], maxCompared: 5)
    #expect(told() == ["t"])
    #expect(try database.siblings(of: [2: [0]], [2: 0], [:], maxRanges: 5).isEmpty)
    #expect(told() == ["t", nil])
  }

  /// A free page leads to a leaf of a table that the schema has lost. The other leaves of that table stay live.
  @Test func aStrayPointerDoesNotMakeALostTableStale() throws {
    var root = 0
    let store = try DamageCase { connection in
      try connection.exec(
        """
        CREATE TABLE known(id INTEGER PRIMARY KEY, label TEXT);
        CREATE TABLE big(b BLOB);
        CREATE TABLE lost(x INTEGER PRIMARY KEY, a REAL, b BLOB, c INTEGER);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
          INSERT INTO known SELECT i, 'known row ' || i FROM n;
        INSERT INTO big VALUES (zeroblob(80000));
        DELETE FROM big;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 800)
          INSERT INTO lost SELECT i, i / 7.0, x'5a5b5c5d', i * 1000 FROM n;
        """)
      root = Int(
        try connection.integer("SELECT rootpage FROM sqlite_schema WHERE name = 'lost'") ?? 0)
    }
    var content = store.bytes
    for text in ["CREATE TABLE lost", "tablelostlost"] {
      let place = try #require(content.firstRange(of: Array(text.utf8)))
      content.replaceSubrange(place, with: repeatElement(0xfe, count: place.count))
    }
    content.replaceSubrange(store.range(root), with: repeatElement(0xee, count: store.pageSize))
    let leaves = (2...store.pageCount).filter {
      let page = content[store.range($0)]
      return page.first == 13 && page.firstRange(of: [0x5a, 0x5b, 0x5c, 0x5d]) != nil
    }
    try #require(leaves.count > 10)
    func number(_ offset: Int) -> Int {
      store.bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
    }
    let trunk = number(32)
    let free = number(store.range(trunk).lowerBound + 8)
    content.replaceSubrange(
      store.range(free),
      with: UInt32(leaves[5]).bigEndianBytes + [UInt8](repeating: 0x99, count: store.pageSize - 4))
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("t.sqlite")
    try Data(content).write(to: url)
    var found = 0
    try DamagedDatabase(path: url.path).forEachRow(.live) { row in
      if row.origin.table == nil { found += 1 }
      return true
    }
    #expect(found * leaves.count >= 800 * (leaves.count - 2), "\(found)")
  }
}
