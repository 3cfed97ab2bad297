extension SQLiteWriter {
  /// The options of a new database. They are set before the first table is created, and cannot change afterwards.
  package struct Options: Sendable, Hashable {
    /// The journal that protects a transaction (<https://sqlite.org/pragma.html#pragma_journal_mode>).
    package enum JournalMode: String, Sendable, Hashable {
      /// A rollback journal, which SQLite deletes at each commit.
      case delete
      /// A write-ahead log. `close()` checkpoints and removes the log, but the database header remains in WAL mode, as
      /// in Core Data's own stores.
      case wal
      /// No journal. A crash in a transaction leaves a broken file, and a transaction cannot be rolled back. Use this
      /// mode only for a file that is deleted if it is not finished.
      case off
      /// A rollback journal in memory. A failed statement is undone, but a crash in a transaction leaves a broken file.
      case memory
    }

    /// Whether free pages are removed from the file and, if so, when
    /// (<https://sqlite.org/pragma.html#pragma_auto_vacuum>).
    package enum AutoVacuum: Int64, Sendable, Hashable {
      /// Free pages are never removed, except by VACUUM.
      case none = 0
      /// Free pages are removed at each commit.
      case full = 1
      /// Free pages are only removed by PRAGMA incremental_vacuum.
      case incremental = 2
    }

    /// The encoding in which text is stored (<https://sqlite.org/pragma.html#pragma_encoding>).
    package enum Encoding: String, Sendable, Hashable {
      /// UTF-8, which is what Core Data uses.
      case utf8 = "UTF-8"
      case utf16LittleEndian = "UTF-16le"
      case utf16BigEndian = "UTF-16be"
    }

    /// The page size in bytes: a power of two from 512 to 65,536.
    package var pageSize: Int
    package var journalMode: JournalMode
    package var autoVacuum: AutoVacuum
    package var encoding: Encoding
    /// The permissions of the file before the umask of the process is applied. Only the lowest nine bits are used.
    package var permissions: UInt16
    /// Whether each commit is synced to the storage medium. If this is false, only ``SQLiteWriter/publish(as:)`` syncs
    /// the file. The value false is suitable for a file that will be deleted unless it is finished.
    package var isSynchronous = true
    /// The size of the page cache in KiB; nil for SQLite's default.
    package var cacheKiB: Int?
    /// The maximum length of a value and of a row in bytes; nil for SQLite's own limit. A longer value fails with
    /// `tooBig`. The limit is needed for definitions from a file, which may compute values of any length.
    package var maxValueBytes: Int?
    /// The maximum number of pages of the file; nil for SQLite's own limit. Writing past the limit fails with `full`.
    package var maxPages: Int?

    /// Creates options. The defaults are those of Core Data's own stores, except that `journalMode` is `delete`,
    /// because a finished file needs no log.
    package init(
      pageSize: Int = 4096, journalMode: JournalMode = .delete, autoVacuum: AutoVacuum = .none,
      encoding: Encoding = .utf8, permissions: UInt16 = 0o600
    ) {
      self.pageSize = pageSize
      self.journalMode = journalMode
      self.autoVacuum = autoVacuum
      self.encoding = encoding
      self.permissions = permissions
    }
  }
}
