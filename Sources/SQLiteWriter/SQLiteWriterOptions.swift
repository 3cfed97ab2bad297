extension SQLiteWriter {
  /// The options of a new database, which are fixed before its first table.
  package struct Options: Sendable, Hashable {
    /// How a transaction is made safe (<https://sqlite.org/pragma.html#pragma_journal_mode>).
    package enum JournalMode: String, Sendable, Hashable {
      /// A rollback journal that is deleted at each commit.
      case delete
      /// A write-ahead log. `close()` checkpoints and removes it, but the header still says WAL, as in Core Data's own
      /// stores.
      case wal
      /// No journal: a crash in a transaction leaves a broken file, and a transaction cannot be rolled back. Suitable
      /// for a file that is thrown away unless it is finished.
      case off
      /// A rollback journal in memory: a failed statement is undone, but a crash in a transaction leaves a broken file.
      case memory
    }

    /// Whether free pages are removed from the file (<https://sqlite.org/pragma.html#pragma_auto_vacuum>).
    package enum AutoVacuum: String, Sendable, Hashable {
      /// Never, except by VACUUM.
      case none
      /// At each commit.
      case full
      /// Only by PRAGMA incremental_vacuum.
      case incremental
    }

    /// How text is stored (<https://sqlite.org/pragma.html#pragma_encoding>).
    package enum Encoding: String, Sendable, Hashable {
      /// UTF-8, which is what Core Data uses.
      case utf8 = "UTF-8"
      /// UTF-16, little-endian.
      case utf16LittleEndian = "UTF-16le"
      /// UTF-16, big-endian.
      case utf16BigEndian = "UTF-16be"
    }

    /// The page size in bytes: a power of two from 512 to 65,536.
    package var pageSize: Int
    /// How a transaction is made safe.
    package var journalMode: JournalMode
    /// Whether free pages are removed from the file.
    package var autoVacuum: AutoVacuum
    /// How text is stored.
    package var encoding: Encoding
    /// The permissions of the file, before the umask of the process is applied; only the lowest nine bits count.
    package var permissions: UInt16
    /// Whether each commit is synced to the storage medium. When false, only ``SQLiteWriter/publish(as:)`` syncs, which
    /// is suitable for a file that is thrown away unless it is finished.
    package var isSynchronous = true
    /// The size of the page cache in KiB; nil for SQLite's default.
    package var cacheKiB: Int?
    /// The maximum size of a value and of a row in bytes; nil for SQLite's own limit. A larger value fails with
    /// `tooBig`. A limit is needed for definitions from a file, which may compute values of any size.
    package var maxValueBytes: Int?
    /// The maximum number of pages of the file; nil for SQLite's own limit. Writing past the limit fails with `full`.
    package var maxPages: Int?

    /// Creates options. The defaults are those of Core Data's own stores, except that the journal mode is `delete`: a
    /// finished file does not need a log.
    ///
    /// - Parameters:
    ///   - pageSize: bytes, a power of two from 512 to 65,536.
    ///   - journalMode: how a transaction is made safe.
    ///   - autoVacuum: whether free pages are removed from the file.
    ///   - encoding: how text is stored.
    ///   - permissions: the permissions of the new file, before the umask is applied.
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
