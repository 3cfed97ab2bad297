import CoreDataStore
import Fixtures
import Foundation
import SQLiteFile
import SQLiteForensics
import StoreExtraction
import Testing

/// The timeline of a store, against what SQLite saw while the store was made.
@Suite struct TimelineTests {
  private static func events(_ url: URL, dates: Bool = false) throws -> [StoreTimeline.Event] {
    var events: [StoreTimeline.Event] = []
    try StoreTimeline(path: url.path, includesDates: dates).forEachEvent {
      events.append($0)
      return true
    }
    return events
  }

  private static func commits(_ events: [StoreTimeline.Event]) -> [StoreTimeline.LogCommit] {
    events.compactMap { if case .commit(let commit) = $0 { commit } else { nil } }
  }

  /// Attributes and authors whose names differ only in how their letters are composed.
  @Test func namesAreToldApartByTheirBytes() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("names.sqlite")
    let (one, other) = ("\u{c9}", "E\u{301}")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE Z_PRIMARYKEY (
        Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      INSERT INTO Z_PRIMARYKEY VALUES (1, 'Note', 0, 1);
      CREATE TABLE ZNOTE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER,
        "Z\(one)" TIMESTAMP, "Z\(other)" TIMESTAMP);
      INSERT INTO ZNOTE VALUES (1, 1, 1, 10.5, 20.5);
      CREATE TABLE ATRANSACTION (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER,
        ZTIMESTAMP FLOAT, ZAUTHOR VARCHAR);
      INSERT INTO ATRANSACTION VALUES (1, 16002, 1, 30.5, '\(one)'), (2, 16002, 1, 40.5, '\(other)');
      """)
    connection.close()
    let names = try Self.events(url, dates: true).map { event -> [UInt8] in
      switch event {
      case .date(let date): Array(date.property.utf8)
      case .transaction(let transaction): Array((transaction.author ?? "").utf8)
      default: []
      }
    }
    #expect(names == ["Z" + one, "Z" + other, one, other].map { Array($0.utf8) })
  }

  // MARK: - Commits

  private typealias Snapshot = [String: [FixtureValue: [FixtureValue]]]

  /// Every row of every table by row id, as the writing connection sees it.
  private static func snapshot(_ connection: SQLiteConnection) throws -> Snapshot {
    var snapshot: Snapshot = [:]
    for table in try connection.ordinaryTables() where !table.hasPrefix("sqlite_") {
      snapshot[table] = [:]
      for row in try connection.rows("SELECT rowid, * FROM \(table)") {
        snapshot[table]?[row[0]] = Array(row.dropFirst())
      }
    }
    return snapshot
  }

  private static func random(_ generator: inout SplitMix64) -> String {
    let id = Int.random(in: 1...900, using: &generator)
    let length = [3, 40, 700, 9000].randomElement(using: &generator) ?? 3
    let table = Bool.random(using: &generator) ? "a" : "b"
    switch Int.random(in: 0..<6, using: &generator) {
    case 0:
      return
        "INSERT OR REPLACE INTO \(table)(id, t, n) VALUES(\(id), hex(randomblob(\(length))), \(id))"
    case 1: return "UPDATE \(table) SET t = hex(randomblob(\(length))) WHERE id % 97 = \(id % 97)"
    case 2: return "UPDATE \(table) SET n = n + 1 WHERE id BETWEEN \(id) AND \(id + 30)"
    case 3: return "DELETE FROM \(table) WHERE id BETWEEN \(id) AND \(id + 12)"
    case 4:
      return
        "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 60) INSERT INTO \(table)(t, n) SELECT 'row ' || i, i FROM c"
    default: return "UPDATE \(table) SET n = n WHERE id < \(id)"
    }
  }

  @Test(arguments: [512, 1024, 4096])
  func everyCommitTellsWhatItDidToRows(_ pageSize: Int) throws {
    let folder = try TemporaryFolder()
    let work = folder.url.appendingPathComponent("w.sqlite")
    let connection = try SQLiteConnection(work)
    defer { connection.close() }
    try connection.exec(
      """
      PRAGMA page_size = \(pageSize); PRAGMA auto_vacuum = \(pageSize == 1024 ? 1 : 0);
      PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
      CREATE TABLE a(id INTEGER PRIMARY KEY, t TEXT, n INT);
      CREATE TABLE b(id INTEGER PRIMARY KEY, t TEXT, n INT); CREATE INDEX bn ON b(n, t);
      WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 900)
      INSERT INTO a SELECT i, 'text ' || i, i FROM c;
      PRAGMA wal_checkpoint(TRUNCATE);
      """)
    var generator = SplitMix64(seed: UInt64(pageSize))
    var snapshots = [try Self.snapshot(connection)]
    for round in 0..<30 {
      try connection.exec("BEGIN")
      // A transaction that writes nothing makes no commit.
      try connection.exec("PRAGMA user_version = \(round + 1)")
      for _ in 0..<Int.random(in: 0...3, using: &generator) {
        try connection.exec(Self.random(&generator))
      }
      if round == 10 { try connection.exec("ALTER TABLE a ADD COLUMN later TEXT DEFAULT 'x'") }
      if round == 15 { try connection.exec("CREATE TABLE c(x); INSERT INTO c VALUES(1), (2)") }
      if round == 20 { try connection.exec("DROP TABLE c") }
      try connection.exec("COMMIT")
      snapshots.append(try Self.snapshot(connection))
    }
    let copy = try TemporaryFolder()
    let store = try SQLiteConnection.copyStore(work, into: copy.url)
    let commits = Self.commits(try Self.events(store))
    try #require(commits.count == 30)
    for (index, commit) in commits.enumerated() {
      #expect(commit.number == index + 1)
      let (before, after) = (snapshots[index], snapshots[index + 1])
      let changes = try #require(commit.tables)
      var seen: Set<String> = []
      for change in changes {
        seen.insert(change.table)
        let old = before[change.table] ?? [:]
        let new = after[change.table] ?? [:]
        #expect(change.added == new.keys.count { old[$0] == nil }, "\(index) \(change.table)")
        #expect(change.removed == old.keys.count { new[$0] == nil }, "\(index) \(change.table)")
        let changed = new.count { key, values in
          // The column that a commit adds does not count.
          old[key].map { $0 != Array(values.prefix($0.count)) } ?? false
        }
        #expect(change.changed == changed, "\(index) \(change.table)")
        #expect(
          (change.tableChange == .created) == (before[change.table] == nil)
            && (change.tableChange == .dropped) == (after[change.table] == nil))
      }
      for name in Set(before.keys).union(after.keys).subtracting(seen) {
        let same = before[name]?.allSatisfy { key, values in
          after[name]?[key].map { Array($0.prefix(values.count)) == values } ?? false
        }
        #expect(same == true && before[name]?.count == after[name]?.count, "\(index) \(name)")
      }
    }
  }

  /// Rows of a WITHOUT ROWID table are on all its pages, and a commit need not write the root.
  @Test func everyChangeOfATableWithoutRowIDsIsTold() throws {
    let folder = try TemporaryFolder()
    let work = folder.url.appendingPathComponent("w.sqlite")
    let connection = try SQLiteConnection(work)
    defer { connection.close() }
    try connection.exec(
      """
      PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
      CREATE TABLE k(a INTEGER PRIMARY KEY, b TEXT) WITHOUT ROWID; CREATE TABLE n(x);
      WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 900)
      INSERT INTO k SELECT i, hex(zeroblob(40)) FROM c;
      PRAGMA wal_checkpoint(TRUNCATE);
      """)
    for place in 1...8 { try connection.exec("UPDATE k SET b = 'y' WHERE a = \(place * 100)") }
    try connection.exec("INSERT INTO n VALUES(1); UPDATE k SET b = 'z' WHERE a = 5; DROP TABLE k")
    let copy = try TemporaryFolder()
    let store = try SQLiteConnection.copyStore(work, into: copy.url)
    let commits = Self.commits(try Self.events(store))
    let changed = Array(repeating: ["k"], count: 8) + [[], ["k"], ["k"]]
    #expect(commits.map(\.tablesNotCompared) == changed)
  }

  @Test func leftoversAreEventsWithoutADate() throws {
    let folder = try TemporaryFolder()
    let restarted = try Self.events(StoreFixtures.named("wal-restarted").make(folder.url))
    let log = try WALFile(folder.url.appendingPathComponent("wal-restarted.sqlite-wal"))
    guard case .frames(let stale)? = restarted.first else {
      Issue.record("no frames first")
      return
    }
    #expect(stale.kind == .stale && stale.frameCount == log.frames.count { !$0.isCurrent })
    #expect(Self.commits(restarted).count == log.frames.count { $0.isValid && $0.commit > 0 })
    let tail = try Self.events(StoreFixtures.named("wal-uncommitted-tail").make(folder.url))
    guard case .frames(let uncommitted)? = tail.last else {
      Issue.record("no frames last")
      return
    }
    #expect(uncommitted.kind == .uncommitted || uncommitted.kind == .unverified)
    #expect(tail.allSatisfy { $0.date == nil })
  }

  /// SQLite writes only the pages of a long value that differ. A row of which no shorter column changes does not show,
  /// and the timeline does not say that no row changed.
  @Test func aChangeFarBehindTheBeginningIsNotDenied() throws {
    let folder = try TemporaryFolder()
    let work = folder.url.appendingPathComponent("w.sqlite")
    let connection = try SQLiteConnection(work)
    defer { connection.close() }
    try connection.exec(
      """
      PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
      CREATE TABLE t(id INTEGER PRIMARY KEY, b BLOB); INSERT INTO t VALUES(1, zeroblob(20000));
      PRAGMA wal_checkpoint(TRUNCATE);
      UPDATE t SET b = CAST(zeroblob(19990) || x'01020304050607080900' AS BLOB);
      PRAGMA user_version = 5;
      """)
    let copy = try TemporaryFolder()
    let store = try SQLiteConnection.copyStore(work, into: copy.url)
    let commits = Self.commits(try Self.events(store))
    try #require(commits.count == 2)
    if commits[0].tables?.isEmpty == true {
      #expect(commits[0].otherPageCount == 1 && commits[0].pageCount == 1)
    } else {
      #expect(commits[0].tables?.first?.changedKeys == [1])
    }
    #expect(commits[1].tables == [] && commits[1].otherPageCount == 0)
  }

  /// The whole store came with the log: there is no state before the first commit.
  @Test func aStoreThatTheLogBeganIsComparedWithNothing() throws {
    let folder = try TemporaryFolder()
    let events = try Self.events(StoreFixtures.named("wal-holds-everything").make(folder.url))
    let added = Self.commits(events).flatMap { $0.tables ?? [] }.filter { $0.table == "numbered" }
    #expect(added.reduce(0) { $0 + $1.added } == 800)
    #expect(added.first?.tableChange == .created)
  }

  @Test func aLogWithoutHeaderHasItsCommitsToo() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-several-commits").make(folder.url)
    let before = Self.commits(try Self.events(store))
    try overwrite(
      URL(fileURLWithPath: store.path + "-wal"), at: 0, bytes: [UInt8](repeating: 0, count: 32))
    let after = Self.commits(try Self.events(store))
    #expect(before.map(\.tables) == after.map(\.tables))
    #expect(before.count > 4)
  }

  /// Whatever stands in log and store, the timeline comes to its end.
  @Test func damageEndsNoTimeline() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-several-commits").make(folder.url)
    let log = URL(fileURLWithPath: store.path + "-wal")
    let (main, whole) = (try bytes(of: store), try bytes(of: log))
    var generator = SplitMix64(seed: 77)
    for round in 0..<60 {
      var content = round % 3 == 0 ? main : whole
      for _ in 0..<20 {
        let place = Int.random(in: 100..<content.count, using: &generator)
        content[place] = UInt8.random(in: 0...255, using: &generator)
      }
      try Data(round % 3 == 0 ? content : main).write(to: store)
      try Data(round % 3 == 0 ? whole : content).write(to: log)
      // Sums that hold let the damage through to the pages.
      if round % 3 == 1 { try WALFile.useBigEndianChecksums(in: log.path) }
      _ = try? Self.events(store, dates: true)
    }
  }

  /// A commit counts as of its newest transaction, however many it adds.
  @Test(arguments: [3, 50]) func aCommitHasTheTimeOfItsLastTransaction(_ count: Int) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("h.sqlite")
    let connection = try SQLiteConnection(url)
    defer { connection.close() }
    try connection.exec(
      """
      PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; \(Self.tables)
      CREATE TABLE ATRANSACTION(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTIMESTAMP FLOAT);
      WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < \(count))
      INSERT INTO ATRANSACTION SELECT i, 16002, NULL, 1000 + i FROM c;
      """)
    let copy = try TemporaryFolder()
    let store = try SQLiteConnection.copyStore(url, into: copy.url)
    let dates = Self.commits(try Self.events(store)).map { $0.date?.seconds }
    #expect(dates.last == Double(1000 + count))
  }

  /// SQLite tells apart names that differ in the case of letters other than ASCII's.
  @Test func aTableIsNamedAsInSQL() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("n.sqlite")
    let connection = try SQLiteConnection(url)
    defer { connection.close() }
    try connection.exec(
      """
      PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
      CREATE TABLE "é"(a); CREATE TABLE "É"(a); CREATE TABLE plain(a);
      INSERT INTO "é" VALUES(1); INSERT INTO "É" VALUES(1); INSERT INTO plain VALUES(1);
      """)
    let copy = try TemporaryFolder()
    let store = try SQLiteConnection.copyStore(url, into: copy.url)
    func count(_ name: String) throws -> Int {
      var selection = StoreTimeline.Selection()
      selection.names = [name]
      return try StoreTimeline(path: store.path).lastEvents(100, selection).total
    }
    // Each has a commit that creates it and one that fills it.
    #expect(try ["é", "É", "PLAIN"].map { try count($0) } == [2, 2, 2])
    #expect(throws: ExtractionError.self) { try count("nobody") }
  }

  // MARK: - History

  private static let tables = """
    CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
    CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
    INSERT INTO Z_PRIMARYKEY VALUES(1, 'Note', 0, 9), (16001, 'CHANGE', 0, 9), (16002, 'TRANSACTION', 0, 9);
    CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCREATED TIMESTAMP, ZTITLE VARCHAR);
    INSERT INTO ZNOTE VALUES(1, 1, 1, 50.5, 'a'), (2, 1, 1, 250, 'b'), (3, 1, 1, NULL, 'c');
    CREATE TABLE ACHANGE(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER,
      ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB, ZTOMBSTONE0 BLOB);
    INSERT INTO ACHANGE VALUES(1, 16001, NULL, 0, 1, 1, 1, NULL, NULL), (2, 16001, NULL, 1, 1, 1, 2, x'80', NULL),
      (3, 16001, NULL, 2, 1, 7, 2, NULL, 'kept'), (4, 16001, NULL, 9, 5, 7, 99, NULL, NULL);
    """

  @Test(arguments: [false, true])
  func historyAndDatesComeInTheOrderOfTime(_ isOld: Bool) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("h.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(Self.tables)
    if isOld {
      try connection.exec(
        """
        CREATE TABLE ATRANSACTION(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTIMESTAMP FLOAT,
          ZAUTHOR VARCHAR, ZBUNDLEID VARCHAR, ZCONTEXTNAME VARCHAR, ZPROCESSID VARCHAR);
        INSERT INTO ATRANSACTION VALUES(1, 16002, NULL, 100.25, 'app', 'com.x', NULL, 'Notes'),
          (2, 16002, NULL, 200, NULL, NULL, NULL, NULL), (3, 16002, NULL, 150, NULL, NULL, 'view', NULL);
        """)
    } else {
      try connection.exec(
        """
        CREATE TABLE ATRANSACTIONSTRING(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR);
        INSERT INTO ATRANSACTIONSTRING VALUES(1, 16003, 1, 'app'), (2, 16003, 1, 'com.x'), (3, 16003, 1, 'Notes'), (4, 16003, 1, 'view');
        CREATE TABLE ATRANSACTION(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZAUTHORTS INTEGER,
          ZBUNDLEIDTS INTEGER, ZCONTEXTNAMETS INTEGER, ZPROCESSIDTS INTEGER, ZTIMESTAMP FLOAT, ZAUTHOR VARCHAR);
        INSERT INTO ATRANSACTION VALUES(1, 16002, NULL, 1, 2, NULL, 3, 100.25, NULL),
          (2, 16002, NULL, NULL, NULL, NULL, NULL, 200, NULL), (3, 16002, NULL, NULL, NULL, 4, NULL, 150, NULL);
        """)
    }
    connection.close()
    let events = try Self.events(url, dates: true)
    #expect(
      events.map(\.sentence) == [
        "ZCREATED of Note 1", "inserted Note 1, author app, process Notes, bundle com.x",
        "transaction 3 without recorded changes, context view", "updated Note 1", "deleted Note 7",
        "changed (type 9) entity 5 7", "ZCREATED of Note 2",
      ])
    #expect(
      events.map { $0.date?.seconds } == [50.5, 100.25, 150, 200, 200, nil, 250])
    guard case .change(let deletion) = events[4] else { return }
    #expect(deletion.tombstones == [.text(StoredText("kept"))])
    #expect(try Self.events(url).count == 5)
  }

  /// Every change of a real store, in SQLite's own words.
  @Test(.enabled(if: Shared.isThere)) func realHistoriesAreWhole() throws {
    guard let shared = Shared.require("stores with a history") else { return }
    let names = [
      "log2timeline-plaso/test_data/ios/RMAdminStore-Local.sqlite",
      "log2timeline-plaso/test_data/ios/NoteStore.sqlite",
      "abrignoni-iLEAPP/ios17-truthsocial-chat/ChatModel.sqlite",
      "sergd2005-ResourcesManager/default.store",
    ]
    for name in names {
      let store = shared.appendingPathComponent("stores/real").appendingPathComponent(name)
      guard FileManager.default.fileExists(atPath: store.path) else { continue }
      let folder = try TemporaryFolder()
      let connection = try SQLiteConnection(SQLiteConnection.copyStore(store, into: folder.url))
      defer { connection.close() }
      let truth = try connection.rows(
        """
        SELECT c.ZENTITYPK, c.ZENTITY, t.ZTIMESTAMP FROM ACHANGE c
        LEFT JOIN ATRANSACTION t ON t.Z_PK = c.ZTRANSACTIONID ORDER BY c.Z_PK
        """)
      var changes: [[FixtureValue]] = []
      for event in try Self.events(store) {
        guard case .change(let change) = event else { continue }
        changes.append([
          change.primaryKey.map { .integer($0) } ?? .null,
          change.entityNumber.map { .integer($0) } ?? .null,
          change.transaction.date.map { .real($0.seconds) } ?? .null,
        ])
      }
      #expect(changes == truth, "\(name)")
      #expect(!truth.isEmpty)
    }
  }

  // MARK: - Forms

  @Test func timesketchGetsOnlyWhatHasADate() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-several-commits").make(folder.url)
    let file = folder.url.appendingPathComponent("out")
    try Data().write(to: file)
    let handle = try FileHandle(forWritingTo: file)
    defer { try? handle.close() }
    let timeline = try StoreTimeline(path: store.path)
    let written = try timeline.write(as: .timesketch, to: handle.fileDescriptor)
    #expect(written.eventCount == 0 && written.undatedCount > 4)
    #expect(try Data(contentsOf: file).isEmpty)
    let all = try StoreTimeline(path: store.path).write(as: .ndjson, to: handle.fileDescriptor)
    let lines = try Data(contentsOf: file).split(separator: 10)
    #expect(lines.count == all.eventCount && all.undatedCount == 0)
    for line in lines {
      let object = try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any]
      #expect(object?["event"] is String)
    }
  }
}
