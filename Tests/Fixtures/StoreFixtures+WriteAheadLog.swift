import Foundation

extension StoreFixtures {
  private static let begin = "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0"

  /// Stores whose newest content is in the write-ahead log, because the writer was killed.
  static let writeAheadLog: [StoreFixture] = [
    StoreFixture("wal-mode-clean", pageSize: 1024, pragmas: "PRAGMA journal_mode = WAL") {
      try numberedRows($0, count: 300)
    },
    StoreFixture(killed: "wal-committed", pragmas: begin) {
      try numberedRows($0, count: 500)
      try $0.exec("PRAGMA wal_checkpoint(TRUNCATE)")
      try $0.exec("UPDATE numbered SET note = 'in the log ' || id WHERE id % 4 = 0")
    },
    StoreFixture(killed: "wal-several-commits", pageSize: 1024, pragmas: begin) {
      try severalCommits($0)
    },
    StoreFixture(killed: "wal-uncommitted-tail", pageSize: 1024, pragmas: begin) {
      try severalCommits($0)
      // With a cache of a few pages, SQLite writes frames long before the commit.
      try $0.exec("PRAGMA cache_size = 5; PRAGMA cache_spill = 5; BEGIN")
      try $0.exec("UPDATE numbered SET note = 'never committed, and rather long ' || id")
      try numberedRows($0, count: 2000, mark: "lost")
    },
    StoreFixture(killed: "wal-uncommitted-only", pageSize: 1024, pragmas: begin) {
      try numberedRows($0, count: 800)
      try $0.exec("PRAGMA wal_checkpoint(TRUNCATE)")
      try $0.exec("PRAGMA cache_size = 5; PRAGMA cache_spill = 5; BEGIN")
      try $0.exec("UPDATE numbered SET note = 'never committed, and rather long ' || id")
    },
    StoreFixture(killed: "wal-restarted", pageSize: 1024, pragmas: begin) {
      try numberedRows($0, count: 3000)
      try $0.exec("UPDATE numbered SET note = 'first generation ' || id")
      try $0.exec("PRAGMA wal_checkpoint(RESTART)")
      // The next commit is written at the start of the log again, with new salts.
      try $0.exec("UPDATE numbered SET note = 'second generation' WHERE id < 20")
      try $0.exec("DELETE FROM numbered WHERE id = 21")
    },
    StoreFixture(killed: "wal-all-checkpointed", pageSize: 1024, pragmas: begin) {
      try numberedRows($0, count: 300)
      try $0.exec("PRAGMA wal_checkpoint(FULL)")
    },
    StoreFixture(killed: "wal-partly-checkpointed", pageSize: 1024, pragmas: begin) {
      try numberedRows($0, count: 300)
      try $0.exec("PRAGMA wal_checkpoint(FULL)")
      try $0.exec("UPDATE numbered SET half = -id WHERE id > 250")
    },
    StoreFixture(killed: "wal-grows", pragmas: begin) {
      try numberedRows($0, count: 50)
      try $0.exec("PRAGMA wal_checkpoint(TRUNCATE)")
      try numberedRows($0, count: 3000, table: "grown")
    },
    StoreFixture(killed: "wal-shrinks-vacuum", pageSize: 1024, pragmas: begin) {
      try numberedRows($0, count: 5000)
      try $0.exec("PRAGMA wal_checkpoint(TRUNCATE)")
      try $0.exec("DELETE FROM numbered WHERE id > 100; VACUUM")
    },
    StoreFixture(
      killed: "wal-shrinks-incremental", pageSize: 512,
      pragmas: "PRAGMA auto_vacuum = INCREMENTAL; " + begin
    ) {
      try numberedRows($0, count: 5000)
      try $0.exec("PRAGMA wal_checkpoint(TRUNCATE)")
      try $0.exec("DELETE FROM numbered WHERE id < 4000; PRAGMA incremental_vacuum")
    },
    StoreFixture(killed: "wal-shrinks-then-grows", pageSize: 1024, pragmas: begin) {
      try numberedRows($0, count: 4000)
      try $0.exec("PRAGMA wal_checkpoint(TRUNCATE)")
      try $0.exec("DELETE FROM numbered WHERE id > 100; VACUUM")
      try numberedRows($0, count: 1500, table: "regrown")
    },
    StoreFixture(
      killed: "wal-big-endian", pageSize: 1024, pragmas: begin,
      alter: { try WALFile.useBigEndianChecksums(in: $0.path + "-wal") },
      { try severalCommits($0) }),
    StoreFixture(killed: "wal-holds-everything", pragmas: begin) {
      try numberedRows($0, count: 800)
    },
    StoreFixture(killed: "wal-page-65536", pageSize: 65536, pragmas: begin) {
      try numberedRows($0, count: 4000)
    },
    StoreFixture(killed: "wal-page-512", pageSize: 512, pragmas: begin) {
      try numberedRows($0, count: 2000)
      try $0.exec("DELETE FROM numbered WHERE id % 2 = 0")
    },
    StoreFixture(
      killed: "wal-torn-last-frame", pageSize: 1024, pragmas: begin,
      alter: { copy in
        // The commit frame of the last transaction loses its last bytes, so SQLite ignores the whole transaction.
        let log = URL(fileURLWithPath: copy.path + "-wal")
        try truncate(log, to: try bytes(of: log).count - 100)
      },
      { try severalCommits($0) }),
    StoreFixture(
      killed: "wal-empty", pragmas: begin
    ) {
      try numberedRows($0, count: 100)
      try $0.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    },
  ]

  /// Makes a database that is checkpointed, followed by five commits in the log. The commits change, add and delete
  /// rows, and alter a table.
  private static func severalCommits(_ connection: SQLiteConnection) throws {
    try numberedRows(connection, count: 400)
    try connection.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    try connection.exec("UPDATE numbered SET note = 'commit 1' WHERE id < 10")
    try connection.exec("DELETE FROM numbered WHERE id BETWEEN 50 AND 120")
    try connection.exec("ALTER TABLE numbered ADD COLUMN added TEXT DEFAULT 'later'")
    try connection.exec("CREATE TABLE second(a, b); INSERT INTO second VALUES(1, 'two')")
    try connection.exec("UPDATE numbered SET note = 'commit 5' WHERE id < 5")
  }
}
