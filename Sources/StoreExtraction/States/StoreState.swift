package import SQLiteFile

/// A state of a store at one point of its history, as far as the store's files show it, and the changes since the
/// previous state.
package struct StoreState: Sendable, Codable {
  package enum Name: Sendable, Hashable {
    /// The database before the last transaction. Pages from the finished rollback journal of this transaction replace
    /// the newer pages of the main file.
    case before
    /// The database after the commit of the log with this number, from 1. Number 0 is the database without the log.
    case commit(Int)
    /// The database in the middle of a transaction: the main file without the rollback journal that would undo the
    /// transaction.
    case interrupted

    /// Parses the name of a state as it appears in output: a number, `before` or `interrupted`. Returns nil for any
    /// other text.
    package init?(_ text: String) {
      switch Array(text.utf8) {
      case Array("before".utf8): self = .before
      case Array("interrupted".utf8): self = .interrupted
      case let digits:
        guard !digits.isEmpty, digits.count <= 10,
          digits.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text)
        else { return nil }
        self = .commit(number)
      }
    }

    /// The name of the state as it appears in output.
    package var text: String {
      switch self {
      case .before: "before"
      case .commit(let number): String(number)
      case .interrupted: "interrupted"
      }
    }
  }

  /// The files from which the database of a state is read.
  package enum Source: String, Sendable, Codable {
    /// The main file alone.
    case main
    /// The main file and the frames of the log up to a commit.
    case log
    /// The main file and the pages of the rollback journal.
    case journal
  }

  /// The changes to the rows of one table since the previous state.
  package struct Change: Sendable, Codable {
    package var table: String
    /// The root entity of the table. The table holds the rows of this entity and of its descendants. Nil for a table of
    /// no entity.
    package var entity: String?
    /// `created` or `dropped` if the table itself was created or dropped since the previous state; otherwise nil.
    package var tableChange: String?
    package var added: Int
    package var changed: Int
    package var removed: Int
    /// The row ids of the first added rows. At most ``CommittedChange/keyLimit`` row ids are listed.
    package var addedKeys: [Int64]
    /// The row ids of the first changed rows. At most ``CommittedChange/keyLimit`` row ids are listed.
    package var changedKeys: [Int64]
    /// The row ids of the first removed rows. At most ``CommittedChange/keyLimit`` row ids are listed.
    package var removedKeys: [Int64]
    /// Whether the table is one that Core Data or SQLite makes for its own use, such as `Z_PRIMARYKEY`. Not part of the
    /// JSON.
    package var isOwn = false

    private enum CodingKeys: String, CodingKey {
      case table, entity, tableChange, added, changed, removed, addedKeys, changedKeys, removedKeys
    }
  }

  /// The name of the state: the number of a commit, `before` or `interrupted`.
  package var state: String
  package var source: Source
  /// Whether SQLite now reads the store in this state.
  package var isCurrent: Bool
  /// Whether all pages of the state exist, and the files give no reason to doubt that the database was in this state.
  package var isWhole: Bool
  /// The number of frames that the commit wrote; nil for a state that was not made by a commit of the log.
  package var frameCount: Int?
  /// The number of database pages written between the previous state and this state; nil if it is not known.
  package var writtenPageCount: Int?
  /// The size of the database in pages; nil if the database cannot be read in this state or did not exist yet.
  package var databasePageCount: UInt32?
  /// The time, in UTC, of the persistent history transaction that was saved with the state; nil if it is not known.
  package var time: String?
  /// The changes to each table since the previous state in the list of states; nil if the changes are not known.
  package var tables: [Change]?
  /// The names of WITHOUT ROWID tables that may have changed since the previous state in the list. Their rows are not
  /// compared.
  package var tablesNotCompared: [String] = []
  /// Damage and other noteworthy facts about the state.
  package var findings: [Finding]
}

/// The list of states in the files of a store, oldest first.
package struct StateList: Sendable, Codable {
  package var schema = "lifeboat.states"
  /// The version of the JSON form's schema; it only increases.
  package var version = 1
  package var path: String
  package var pageSizeBytes: Int
  /// The total number of states, including states that are not listed.
  package var stateCount: Int
  /// The states of the database, oldest first. If only some of them are listed, they are the newest.
  package var states: [StoreState] = []
  /// The page versions in the log and the journal that belong to no listed state.
  package var remainders: [Remainder] = []
  /// Findings on the store as a whole. Findings on single states are not included.
  package var findings: [Finding] = []
  /// The number of ``findings`` that are damage.
  package var damageCount = 0

  /// Pages that are left from earlier or unfinished transactions, but are too few to make a whole database.
  package struct Remainder: Sendable, Codable {
    /// The origin of the pages: `uncommitted`, `stale` or `unverified` for frames of the write-ahead log, `journal` for
    /// pages of earlier transactions in the rollback journal.
    package var kind: String
    /// The number of frames in the log, or of pages in the journal.
    package var frameCount: Int
    /// The number of distinct pages among the frames; nil for a journal.
    package var pageCount: Int?
    /// The number of frames that end a transaction; nil for a journal.
    package var commitCount: Int?
    /// The number of frames whose checksums match; nil for a journal.
    package var verifiedCount: Int?
  }
}
