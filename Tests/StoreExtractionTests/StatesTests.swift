import CSQLite
import Fixtures
import Foundation
import SQLiteFile
import SQLiteForensics
import StoreExtraction
import Testing

/// The states that log and journal hold, against what SQLite saw when each of them was the present one.
@Suite struct StatesTests {
  /// The schema, and every row of every table, as SQLite reads them.
  struct Content: Equatable {
    let schema: [[FixtureValue]]
    let rows: [String: [[FixtureValue]]]

    init(_ connection: SQLiteConnection) throws {
      schema = try connection.rows("SELECT type, name, tbl_name, sql FROM sqlite_schema")
      var rows: [String: [[FixtureValue]]] = [:]
      for table in try connection.ordinaryTables() {
        rows[table] = try connection.rowsOfTable(table).map { row in
          [row.rowid.map { .integer($0) } ?? .null] + row.values
        }
      }
      self.rows = rows
    }

    /// The content of a file that needs no log and no journal.
    init(of file: URL) throws {
      let connection = try SQLiteConnection(file.path, flags: SQLITE_OPEN_READONLY)
      defer { connection.close() }
      try self.init(connection)
    }

    /// What SQLite makes of a store, its log and its journal, on a copy.
    init(inCopyOf store: URL) throws {
      let folder = try TemporaryFolder()
      let connection = try SQLiteConnection(
        SQLiteConnection.copyStore(store, into: folder.url))
      defer { connection.close() }
      try self.init(connection)
    }
  }

  /// A state of a store, written and read again by SQLite.
  struct Exported {
    let manifest: StateManifest
    /// The content; nil when SQLite cannot read the file.
    let content: Content?

    init(_ name: String, of store: URL) throws {
      let folder = try TemporaryFolder()
      let file = folder.url.appendingPathComponent("state.sqlite")
      manifest = try StateExport().run(
        #require(StoreState.Name(name)), of: StoreStates(path: store.path), to: file.path)
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
      #expect(names.sorted() == ["state.sqlite", "state.sqlite.json"])
      let data = try Data(contentsOf: file)
      #expect(manifest.sha256 == hex(of: data) && manifest.sizeBytes == Int64(data.count))
      #expect(data.count == Int(manifest.pageCount) * manifest.pageSizeBytes)
      let pages = manifest.pages
      #expect(
        pages.main + pages.wal + pages.journal + pages.missing == Int(manifest.pageCount))
      content = try? Content(of: file)
      #expect(data[18] != 2 && data[19] != 2)
      guard manifest.isWhole else { return }
      #expect(data[18] == 1 && data[19] == 1)
      let connection = try SQLiteConnection(file.path, flags: SQLITE_OPEN_READONLY)
      defer { connection.close() }
      #expect(try connection.integrityCheck() == ["ok"])
      #expect(try connection.integer("PRAGMA page_count") == Int64(manifest.pageCount))
    }
  }

  static func list(_ store: URL, limit: Int? = nil) throws -> StateList {
    try StoreStates(path: store.path).list(limit: limit)
  }

  // MARK: - Stores with a past

  private static let numbers =
    "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 400)"

  private static func begin(
    _ url: URL, pageSize: Int, vacuum: Int = 0, _ pragmas: String
  ) throws -> SQLiteConnection {
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA page_size = \(pageSize); PRAGMA auto_vacuum = \(vacuum); PRAGMA synchronous = OFF;
      PRAGMA secure_delete = OFF; \(pragmas);
      CREATE TABLE a(id INTEGER PRIMARY KEY, t TEXT, n INT); CREATE INDEX an ON a(n, t);
      CREATE TABLE w(k TEXT PRIMARY KEY, v) WITHOUT ROWID;
      \(numbers) INSERT INTO a SELECT i, 'text ' || i, i FROM c;
      \(numbers) INSERT INTO w SELECT 'key ' || i, i FROM c;
      """)
    return connection
  }

  private static let write =
    "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0"

  /// A transaction that always writes something.
  private static func change(
    _ connection: SQLiteConnection, _ round: Int, _ generator: inout SplitMix64
  ) throws {
    try connection.exec("BEGIN; PRAGMA user_version = \(round + 1)")
    for _ in 0..<Int.random(in: 1...3, using: &generator) {
      let id = Int.random(in: 1...400, using: &generator)
      let length = [3, 40, 700, 9000].randomElement(using: &generator) ?? 3
      switch Int.random(in: 0..<7, using: &generator) {
      case 0:
        try connection.exec(
          "INSERT OR REPLACE INTO a VALUES(\(id), hex(randomblob(\(length))), \(id))")
      case 1: try connection.exec("UPDATE a SET t = hex(randomblob(40)) WHERE id % 97 = \(id % 97)")
      case 2: try connection.exec("DELETE FROM a WHERE id BETWEEN \(id) AND \(id + 90)")
      case 3: try connection.exec("UPDATE w SET v = hex(randomblob(\(length))) WHERE v % 60 = 7")
      case 4: try connection.exec("INSERT INTO a(t, n) SELECT 'more ' || v, 5 FROM w LIMIT 80")
      case 5: try connection.exec("DELETE FROM w WHERE k LIKE 'key \(id % 10)%'")
      default: try connection.exec("UPDATE a SET n = n + 1 WHERE id < \(id)")
      }
    }
    if round % 4 == 3 { try connection.exec("PRAGMA incremental_vacuum(20)") }
    if round == 5 { try connection.exec("CREATE TABLE late(x); INSERT INTO late VALUES(1), (2)") }
    if round == 8 { try connection.exec("DROP TABLE late") }
    try connection.exec("COMMIT")
  }

  /// A store with commits in its log, and what SQLite saw after each of them.
  private struct Logged {
    let folder: TemporaryFolder
    let store: URL
    var contents: [Content]

    init(
      pageSize: Int = 1024, vacuum: Int = 0, commits: Int = 10,
      first: String = "PRAGMA wal_checkpoint(TRUNCATE)"
    ) throws {
      let workshop = try TemporaryFolder()
      let work = workshop.url.appendingPathComponent("w.sqlite")
      let connection = try StatesTests.begin(
        work, pageSize: pageSize, vacuum: vacuum, StatesTests.write)
      defer { connection.close() }
      try connection.exec(first)
      var generator = SplitMix64(seed: UInt64(pageSize + vacuum))
      contents = [try Content(connection)]
      for round in 0..<commits {
        try StatesTests.change(connection, round, &generator)
        contents.append(try Content(connection))
      }
      folder = try TemporaryFolder()
      store = try SQLiteConnection.copyStore(work, into: folder.url)
    }
  }

  // MARK: - The log

  @Test(arguments: [512, 1024, 4096, 65_536], [0, 1, 2])
  func eachCommitIsAStateAsSQLiteSawIt(_ pageSize: Int, _ vacuum: Int) throws {
    let logged = try Logged(pageSize: pageSize, vacuum: vacuum)
    let before = treeState(of: logged.folder.url)
    let list = try Self.list(logged.store)
    #expect(list.states.map(\.state) == (0...10).map { "\($0)" })
    #expect(list.stateCount == 11 && list.remainders.isEmpty && list.damageCount == 0)
    #expect(list.states.filter(\.isCurrent).map(\.state) == ["10"])
    for (number, state) in list.states.enumerated() {
      // A page that was written without a change looks like one that a checkpoint has carried over.
      #expect(state.findings.allSatisfy { $0.id == .stateMixed }, "\(number)")
      let exported = try Exported(state.state, of: logged.store)
      #expect(exported.manifest.isWhole == state.isWhole, "\(number) \(exported.manifest.findings)")
      #expect(exported.content == logged.contents[number], "\(number)")
      #expect(exported.manifest.pageCount == state.databasePageCount)
      #expect(exported.manifest.pages.missing == 0)
      #expect(exported.manifest.sourceSHA256["w.sqlite-wal"] == before["w.sqlite-wal"]?.sha256)
    }
    #expect(list.states.count { !$0.isWhole } <= 4)
    #expect(list.states.suffix(4).allSatisfy { $0.isWhole })
    // The log's commits changed rows, and the size of the database.
    #expect(Set(list.states.map(\.databasePageCount)).count > 2 || pageSize == 65_536)
    #expect(list.states.dropFirst().contains { $0.tables?.isEmpty == false })
    #expect(treeState(of: logged.folder.url) == before)
  }

  @Test func aListMayBeLimitedToTheNewestStates() throws {
    let logged = try Logged(commits: 6)
    let all = try Self.list(logged.store)
    for limit in 0...7 {
      let list = try Self.list(logged.store, limit: limit)
      #expect(list.stateCount == 7)
      #expect(list.states.map(\.state) == all.states.suffix(limit).map(\.state))
      for (state, same) in zip(list.states, all.states.suffix(limit)) {
        #expect(state.tables?.map(\.added) == same.tables?.map(\.added))
        #expect(state.tables?.map(\.changedKeys) == same.tables?.map(\.changedKeys))
      }
    }
  }

  /// A log that was cut off has the states of its whole commits.
  @Test func aLogThatWasCutHasFewerStates() throws {
    let logged = try Logged(pageSize: 512, commits: 5)
    let log = URL(fileURLWithPath: logged.store.path + "-wal")
    let frames = try WALFile(log).frames
    let whole = try bytes(of: log)
    var size = whole.count
    while size > 32 {
      size -= Int.random(in: 1...5000)
      try Data(whole.prefix(max(0, size))).write(to: log)
      let held = frames.prefix(max(0, size - 32) / 536)
      let commits = held.count { $0.commit > 0 }
      let list = try Self.list(logged.store)
      try #require(list.states.map(\.state) == (0...commits).map { "\($0)" })
      let exported = try Exported(String(commits), of: logged.store)
      #expect(exported.manifest.isWhole && exported.content == logged.contents[commits])
      let rest = held.count - (held.lastIndex { $0.commit > 0 }.map { $0 + 1 } ?? 0)
      #expect(list.remainders.map(\.frameCount) == (rest > 0 ? [rest] : []))
      #expect(list.remainders.allSatisfy { $0.kind == "uncommitted" })
    }
  }

  /// Frames behind one that does not match its checksum are no states.
  @Test func aBadChecksumEndsTheStates() throws {
    let logged = try Logged(pageSize: 512, commits: 5)
    let log = URL(fileURLWithPath: logged.store.path + "-wal")
    let frames = try WALFile(log).frames
    let third = try #require(frames.indices.filter { frames[$0].commit > 0 }.dropFirst(2).first)
    try overwrite(log, at: 32 + third * 536 + 300, bytes: [0xff, 0x00, 0xff, 0x00])
    let list = try Self.list(logged.store)
    #expect(list.states.map(\.state) == ["0", "1", "2"])
    #expect(list.damageCount == 1)
    #expect(list.remainders.map(\.kind) == ["unverified"])
    #expect(list.remainders.first?.commitCount == 3)
    for number in 0...2 {
      let exported = try Exported(String(number), of: logged.store)
      #expect(exported.manifest.isWhole && exported.content == logged.contents[number])
    }
    #expect(throws: ExtractionError.self) { try Exported("3", of: logged.store) }
  }

  /// Frames of an earlier generation hold pages, and no state.
  @Test func anEarlierGenerationIsNoState() throws {
    let logged = try Logged(
      commits: 3,
      first: """
        UPDATE a SET t = 'first generation ' || id; UPDATE a SET n = 7;
        PRAGMA wal_checkpoint(RESTART)
        """)
    let list = try Self.list(logged.store)
    #expect(list.states.map(\.state) == ["0", "1", "2", "3"])
    let frames = try WALFile(URL(fileURLWithPath: logged.store.path + "-wal")).frames
    let old = frames.count { !$0.isCurrent }
    #expect(old > 0 && list.remainders.map(\.kind) == ["stale"])
    #expect(list.remainders.first?.frameCount == old)
    #expect(
      list.remainders.first?.pageCount == Set(frames.filter { !$0.isCurrent }.map(\.page)).count)
    for number in 0...3 {
      let exported = try Exported(String(number), of: logged.store)
      #expect(exported.manifest.isWhole && exported.content == logged.contents[number])
    }
  }

  /// After a checkpoint the log still has its commits, and the main file no longer has what was before them.
  @Test(arguments: 0..<8)
  func whatACheckpointReplacedIsDoubted(_ round: Int) throws {
    let workshop = try TemporaryFolder()
    let work = workshop.url.appendingPathComponent("w.sqlite")
    let connection = try Self.begin(work, pageSize: 1024, Self.write)
    defer { connection.close() }
    try connection.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    var generator = SplitMix64(seed: UInt64(100 + round))
    var contents = [try Content(connection)]
    var hasCopied = false
    let reader = try SQLiteConnection(work)
    defer { reader.close() }
    for number in 0..<6 {
      try Self.change(connection, number, &generator)
      contents.append(try Content(connection))
      // A reader keeps the log from being restarted, and a checkpoint from going further.
      if number == round % 4 { try reader.exec("BEGIN; SELECT count(*) FROM a") }
      if number == 4 {
        let before = try bytes(of: work)
        try connection.exec("PRAGMA wal_checkpoint(PASSIVE)")
        // It copies only pages that no later commit wrote.
        hasCopied = try bytes(of: work) != before
      }
    }
    let folder = try TemporaryFolder()
    let store = try SQLiteConnection.copyStore(work, into: folder.url)
    let states = try Self.list(store).states
    try #require(states.count == 7)
    #expect(states[0].isWhole != hasCopied && states[0].findings.count == (hasCopied ? 1 : 0))
    // From the commit on up to which the log was carried over, nothing is mixed.
    #expect(states.dropFirst(round % 4 + 1).allSatisfy { $0.isWhole })
    for (number, state) in states.enumerated() {
      let exported = try Exported(state.state, of: store)
      #expect(!exported.manifest.isWhole || exported.content == contents[number], "\(number)")
      #expect(state.isWhole || !exported.manifest.isWhole)
    }
  }

  @Test func aLogThatWasCarriedOverWholeIsSaid() throws {
    let workshop = try TemporaryFolder()
    let work = workshop.url.appendingPathComponent("w.sqlite")
    let connection = try Self.begin(work, pageSize: 1024, Self.write)
    defer { connection.close() }
    try connection.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    var generator = SplitMix64(seed: 3)
    for number in 0..<4 { try Self.change(connection, number, &generator) }
    let last = try Content(connection)
    try connection.exec("PRAGMA wal_checkpoint(PASSIVE)")
    let folder = try TemporaryFolder()
    let store = try SQLiteConnection.copyStore(work, into: folder.url)
    let states = try Self.list(store).states
    try #require(states.count == 5)
    #expect(states[0].isWhole && states[0].findings.map(\.severity) == [.note])
    #expect(states[1].tables == nil)
    for name in ["0", "4"] {
      let exported = try Exported(name, of: store)
      #expect(exported.manifest.isWhole && exported.content == last)
    }
  }

  /// The log began the database: there is nothing before its first commit.
  @Test func aDatabaseThatIsOnlyInTheLogHasNoStateZero() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-holds-everything").make(folder.url)
    try Data().write(to: store)
    let states = try Self.list(store).states
    #expect(states[0].databasePageCount == nil && !states[0].isWhole)
    #expect(throws: ExtractionError.self) { try Exported("0", of: store) }
    let last = try #require(states.last)
    #expect(last.tables != nil && last.isWhole)
    #expect(try Exported(last.state, of: store).content?.rows["numbered"]?.count == 800)
  }

  @Test(arguments: StoreFixtures.all.map(\.name).filter { $0.hasPrefix("wal-") })
  func theLastStateIsWhatSQLiteReads(_ name: String) throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named(name).make(folder.url)
    let last = try #require(try Self.list(store).states.last { $0.isCurrent })
    let exported = try Exported(last.state, of: store)
    #expect(exported.manifest.isWhole)
    #expect(exported.content == (try Content(inCopyOf: store)))
  }

  // MARK: - The journal

  @Test(
    arguments: [
      "journal-hot", "journal-hot-grown", "journal-hot-unsynced", "journal-hot-page-512",
      "journal-hot-page-65536", "journal-hot-auto-vacuum", "journal-hot-over-old",
    ])
  func aHotJournalGivesTheStateBeforeItsTransaction(_ name: String) throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named(name).make(folder.url)
    let states = try Self.list(store).states
    #expect(states.map(\.state) == ["0", "interrupted"])
    #expect(states[0].isWhole && states[0].isCurrent && states[0].source == .journal)
    #expect(!states[1].isWhole && states[1].findings.map(\.id) == [.stateInterrupted])
    let exported = try Exported("0", of: store)
    #expect(exported.manifest.isWhole && exported.manifest.pages.journal > 0)
    #expect(exported.content == (try Content(inCopyOf: store)))
    let interrupted = try Exported("interrupted", of: store)
    #expect(!interrupted.manifest.isWhole && interrupted.manifest.pages.journal == 0)
  }

  @Test func aTransactionThatBeganTheDatabaseHasNothingBeforeIt() throws {
    let folder = try TemporaryFolder()
    let made = try StoreFixtures.named("journal-hot-from-nothing").make(folder.url)
    // Page 1 is written last, so there is no database at all.
    #expect(throws: SQLiteFileError.self) { try Self.list(made) }
    // With page 1, the main file alone can be read. SQLite would cut it to nothing.
    let store = try StoreFixtures.named("page-512").make(folder.url)
    var journal: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
    journal += [0, 77, 0, 512, 512].flatMap { (word: UInt32) in word.bigEndianBytes }
    journal += [UInt8](repeating: 0, count: 512 - journal.count)
    try Data(journal).write(to: URL(fileURLWithPath: store.path + "-journal"))
    let states = try Self.list(store).states
    #expect(states.map(\.state) == ["0", "interrupted"])
    #expect(states[0].databasePageCount == nil && states[0].isCurrent)
    let code = #expect(throws: ExtractionError.self) { try Exported("0", of: store) }?.code
    #expect(code?.rawValue == "input.stateNotHeld")
    let exported = try Exported("interrupted", of: store)
    #expect(!exported.manifest.isWhole && exported.content != nil)
    #expect(exported.manifest.sizeBytes == Int64(try bytes(of: store).count))
  }

  /// Ways to keep a journal, each with each way to vacuum; outside the long rounds, every second of these.
  static let keptJournals: [(String, Int)] = {
    let ways = [
      "PRAGMA journal_mode = PERSIST",
      "PRAGMA journal_mode = PERSIST; PRAGMA cache_size = 5; PRAGMA cache_spill = 5",
      "PRAGMA journal_mode = PERSIST; PRAGMA locking_mode = EXCLUSIVE",
      "PRAGMA journal_mode = PERSIST; PRAGMA journal_size_limit = 7000",
    ]
    return Rounds.part(of: ways.flatMap { [($0, 0), ($0, 1), ($0, 2)] }, every: 2)
  }()

  /// A journal that is kept has the state before the last transaction. What is called whole is what SQLite saw.
  @Test(arguments: keptJournals)
  func aKeptJournalGivesTheStateBeforeTheLastTransaction(_ pragmas: String, _ vacuum: Int) throws {
    let workshop = try TemporaryFolder()
    let work = workshop.url.appendingPathComponent("w.sqlite")
    let connection = try Self.begin(work, pageSize: 1024, vacuum: vacuum, pragmas)
    defer { connection.close() }
    var generator = SplitMix64(seed: UInt64(vacuum) + 40)
    var whole = 0
    for round in 0..<14 {
      let before = try Content(connection)
      try Self.change(connection, round, &generator)
      let after = try Content(connection)
      let folder = try TemporaryFolder()
      let store = try SQLiteConnection.copyStore(work, into: folder.url)
      let states = try Self.list(store).states
      guard states.map(\.state) == ["before", "0"] else {
        #expect(pragmas.contains("limit"), "\(states.map(\.state))")
        continue
      }
      #expect(states[1].isCurrent && states[1].isWhole)
      let exported = try Exported("before", of: store)
      if exported.manifest.isWhole {
        whole += 1
        #expect(states[0].isWhole)
        #expect(exported.content == before, "\(round)")
      }
      #expect(try Exported("0", of: store).content == after)
    }
    // Without a limit or a file that shrinks, hardly anything is in doubt.
    if vacuum == 0, !pragmas.contains("limit") {
      #expect(whole >= 11)
    }
  }

  /// Another connection changed the file without this journal.
  @Test func aJournalThatIsNotOfTheLastTransactionIsDoubted() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("w.sqlite")
    let one = try Self.begin(store, pageSize: 1024, "PRAGMA journal_mode = PERSIST")
    try one.exec("UPDATE a SET n = 1")
    one.close()
    let other = try SQLiteConnection(store)
    try other.exec("PRAGMA journal_mode = MEMORY; UPDATE a SET n = 2 WHERE id < 50")
    other.close()
    let state = try #require(try Self.list(store).states.first)
    guard state.state == "before" else { return }
    #expect(!state.isWhole && state.findings.map(\.id) == [.stateUncertain])
    #expect(try Exported("before", of: store).manifest.isWhole == false)
  }

  @Test func aJournalThatWasEmptiedHoldsNothing() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("journal-truncated").make(folder.url)
    #expect(FileManager.default.fileExists(atPath: store.path + "-journal"))
    #expect(try Self.list(store).states.map(\.state) == ["0"])
    #expect(try Exported("0", of: store).content == (try Content(of: store)))
  }

  // MARK: - Output

  @Test func nothingIsReplacedAndNothingIsLeft() throws {
    let logged = try Logged(commits: 2)
    let folder = try TemporaryFolder()
    let file = folder.url.appendingPathComponent("state.sqlite")
    for taken in ["state.sqlite", "state.sqlite.json", "state.sqlite-wal"] {
      let other = folder.url.appendingPathComponent(taken)
      try Data("mine".utf8).write(to: other)
      let before = treeState(of: folder.url)
      #expect(throws: (any Error).self) {
        try StateExport().run(
          .commit(1), of: StoreStates(path: logged.store.path), to: file.path)
      }
      #expect(treeState(of: folder.url) == before)
      try FileManager.default.removeItem(at: other)
    }
  }

  @Test(arguments: ["-1", "", "x", "1e3", "99999999999999999999", "0x1", " 1", "Before", "１"])
  func otherTextsAreNoStates(_ text: String) {
    #expect(StoreState.Name(text) == nil)
  }

  // MARK: - Hostile files

  /// A log with right checksums may say anything of pages and sizes.
  @Test(arguments: [UInt32(1), 2, 65_536, 65_537, 1 << 24, .max - 1, .max])
  func hostileNumbersInALogAreBounded(_ number: UInt32) throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("page-512").make(folder.url)
    let page = Array(try bytes(of: store).prefix(512))
    for (wanted, commit) in [(number, 5), (1, number), (number, number)] as [(UInt32, UInt32)] {
      try WALFile.write(
        [.init(page: wanted, commit: commit, content: page)], pageSize: 512,
        to: store.path + "-wal")
      for state in try Self.list(store).states {
        guard let exported = try? Exported(state.state, of: store) else { continue }
        #expect(exported.manifest.sizeBytes <= 65_536 * 512 + (1 << 20))
        #expect(state.isWhole || !exported.manifest.isWhole)
      }
    }
  }

  /// Whatever stands in the files, each state is written or refused, and what is called whole passes SQLite's check.
  @Test(arguments: ["log", "journal", "hot"])
  func damageEndsNoExport(_ kind: String) throws {
    let folder = try TemporaryFolder()
    let store: URL
    let side: String
    switch kind {
    case "log":
      store = try StoreFixtures.named("wal-several-commits").make(folder.url)
      side = "-wal"
    case "hot":
      store = try StoreFixtures.named("journal-hot-page-512").make(folder.url)
      side = "-journal"
    default:
      store = try StoreFixtures.named("journal-persist-zeroed").make(folder.url)
      side = "-journal"
    }
    let sideFile = URL(fileURLWithPath: store.path + side)
    let (main, whole) = (try bytes(of: store), try bytes(of: sideFile))
    var generator = SplitMix64(seed: 9)
    for round in 0..<(Rounds.areLong ? 40 : 20) {
      var content = round % 2 == 0 ? main : whole
      for _ in 0..<[1, 5, 60][round % 3] {
        let low = round % 4 < 2 ? 0 : 100
        let high = round % 5 == 0 ? 200 : content.count
        content[Int.random(in: low..<high, using: &generator)] = UInt8.random(
          in: 0...255, using: &generator)
      }
      try Data(round % 2 == 0 ? content : main).write(to: store)
      try Data(round % 2 == 0 ? whole : content).write(to: sideFile)
      if kind == "log", round % 4 == 1 { try? WALFile.useBigEndianChecksums(in: sideFile.path) }
      guard let list = try? Self.list(store) else { continue }
      for state in list.states { _ = try? Exported(state.state, of: store) }
    }
  }

  // MARK: - Real stores

  @Test(.enabled(if: Shared.isThere)) func realStoresHaveTheirStates() throws {
    guard Shared.require("states of real stores") != nil else { return }
    var logs = 0
    for store in RealStores.all {
      let log = (try? bytes(of: URL(fileURLWithPath: store.url.path + "-wal"))) ?? []
      guard log.count > 32 else { continue }
      let folder = try TemporaryFolder()
      let copy = try store.copy(into: folder.url)
      let list = try Self.list(copy)
      let current = try #require(list.states.first { $0.isCurrent }, "\(store)")
      let exported = try Exported(current.state, of: copy)
      #expect(exported.manifest.isWhole, "\(store)")
      #expect(exported.content == (try Content(inCopyOf: copy)), "\(store)")
      logs += list.states.count > 1 ? 1 : 0
      try FileManager.default.removeItem(atPath: copy.path + "-wal")
      let alone = try Content(inCopyOf: copy)
      try Data(log).write(to: URL(fileURLWithPath: copy.path + "-wal"))
      let first = try Exported("0", of: copy)
      #expect(!first.manifest.isWhole || first.content == alone, "\(store)")
    }
    #expect(logs > 3)
  }
}
