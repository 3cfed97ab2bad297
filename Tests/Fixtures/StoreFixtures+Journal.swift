import Foundation

extension StoreFixtures {
  /// A small page cache, so that SQLite writes changed pages into the main file before the commit.
  private static let spill = "PRAGMA cache_size = 5; PRAGMA cache_spill = 5"

  /// Stores that have a rollback journal.
  static let journal: [StoreFixture] = [
    StoreFixture(killed: "journal-hot", pageSize: 1024, pragmas: spill) {
      try numberedRows($0, count: 2000)
      // Without syncs, the record count in the journal would be -1, which means "up to the end of the file".
      try $0.exec("PRAGMA synchronous = FULL; BEGIN")
      try $0.exec("UPDATE numbered SET note = 'half-way ' || id || ' of an update'")
      try $0.exec("DELETE FROM numbered WHERE id % 3 = 0")
    },
    StoreFixture(killed: "journal-hot-grown", pageSize: 1024, pragmas: spill) {
      try numberedRows($0, count: 200)
      try $0.exec("PRAGMA synchronous = FULL; BEGIN")
      try $0.exec("UPDATE numbered SET half = 0")
      try numberedRows($0, count: 5000, table: "never")
    },
    StoreFixture(killed: "journal-hot-unsynced", pageSize: 1024, pragmas: spill) {
      try numberedRows($0, count: 2000)
      try $0.exec("BEGIN; UPDATE numbered SET note = 'half-way ' || id || ' without syncs'")
    },
    StoreFixture(killed: "journal-hot-page-512", pageSize: 512, pragmas: spill) {
      try numberedRows($0, count: 1500)
      try $0.exec("PRAGMA synchronous = FULL; BEGIN")
      try $0.exec("UPDATE numbered SET note = 'half-way ' || id || ' of an update'")
    },
    StoreFixture(killed: "journal-hot-page-65536", pageSize: 65536, pragmas: spill) {
      try numberedRows($0, count: 40_000)
      try $0.exec("PRAGMA synchronous = FULL; BEGIN")
      try $0.exec("UPDATE numbered SET note = 'half-way ' || id")
    },
    StoreFixture(
      killed: "journal-hot-auto-vacuum", pageSize: 512,
      pragmas: "PRAGMA auto_vacuum = INCREMENTAL; " + spill
    ) {
      try numberedRows($0, count: 4000)
      try $0.exec("PRAGMA synchronous = FULL; BEGIN; DELETE FROM numbered WHERE id < 3000")
      try $0.exec("PRAGMA incremental_vacuum(50); UPDATE numbered SET note = 'half-way'")
    },
    StoreFixture(killed: "journal-hot-from-nothing", pageSize: 1024, pragmas: spill) {
      // The file was empty before the transaction, so the rollback cuts the file to 0 bytes.
      try $0.exec("PRAGMA synchronous = FULL; BEGIN")
      try numberedRows($0, count: 4000)
    },
    StoreFixture(
      killed: "journal-hot-over-old", pageSize: 1024,
      pragmas: spill + "; PRAGMA journal_mode = PERSIST"
    ) {
      // The long journal of the first transaction stays on disk, after the end of the short journal of the next
      // transaction.
      try numberedRows($0, count: 3000)
      try $0.exec("UPDATE numbered SET note = 'committed ' || id")
      try $0.exec("PRAGMA synchronous = FULL; BEGIN")
      try $0.exec("UPDATE numbered SET note = 'half-way' WHERE id < 900")
    },
    StoreFixture("journal-persist-zeroed", pageSize: 1024, pragmas: "PRAGMA journal_mode = PERSIST")
    {
      try numberedRows($0, count: 500)
      try $0.exec("UPDATE numbered SET note = 'committed ' || id")
    },
    StoreFixture("journal-truncated", pageSize: 1024, pragmas: "PRAGMA journal_mode = TRUNCATE") {
      try numberedRows($0, count: 500)
      try $0.exec("UPDATE numbered SET note = 'committed ' || id")
    },
  ]
}
