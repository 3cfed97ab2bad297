package import SQLiteFile

/// A state of a store that its files still hold, and what the last step to it changed.
package struct StoreState: Sendable, Codable {
  /// The name of a state.
  package enum Name: Sendable, Hashable {
    /// Before the last transaction: the main file with the pages of a finished rollback journal laid over it.
    case before
    /// After the commit of the log with this number, from 1; 0 is the state without the log.
    case commit(Int)
    /// The main file alone, in the middle of a transaction that a rollback journal would undo.
    case interrupted

    /// Parses the name of a state as output shows it: a number, `before` or `interrupted`; nil for any other text.
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

    /// The name of the state as output shows it.
    package var text: String {
      switch self {
      case .before: "before"
      case .commit(let number): String(number)
      case .interrupted: "interrupted"
      }
    }
  }

  /// The files that a state is made of.
  package enum Source: String, Sendable, Codable {
    /// The state is the main file alone.
    case main
    /// The state is the main file and frames of the log.
    case log
    /// The state is the main file and pages of the rollback journal.
    case journal
  }

  /// What the last step to a state did to the rows of a table.
  package struct Change: Sendable, Codable {
    /// The name of the table.
    package var table: String
    /// The root entity whose rows, and those of its descendants, are in the table; nil for a table of no entity.
    package var entity: String?
    /// `created` or `dropped`; nil when the table exists before and after the step.
    package var tableChange: String?
    /// The number of rows that were added.
    package var added: Int
    /// The number of rows whose values changed.
    package var changed: Int
    /// The number of rows that were removed.
    package var removed: Int
    /// The row ids of the first added rows, at most ``CommittedChange/keyLimit``.
    package var addedKeys: [Int64]
    /// The row ids of the first changed rows, at most ``CommittedChange/keyLimit``.
    package var changedKeys: [Int64]
    /// The row ids of the first removed rows, at most ``CommittedChange/keyLimit``.
    package var removedKeys: [Int64]
  }

  /// The name of the state: the number of a commit, `before` or `interrupted`.
  package var state: String
  /// Which files the state is made of.
  package var source: Source
  /// Whether this is the state that SQLite reads now.
  package var isCurrent: Bool
  /// Whether all pages of the state exist, and nothing contradicts that the database once had this state.
  package var isWhole: Bool
  /// The number of frames of the commit; nil for a state that no commit of the log made.
  package var frameCount: Int?
  /// The number of pages that the last step to the state wrote; nil when it is not known.
  package var writtenPageCount: Int?
  /// The size of the database in pages; nil when the state has no database.
  package var databasePageCount: UInt32?
  /// When the state was saved, in UTC; nil when no record says so.
  package var time: String?
  /// What the last step did to rows, by table; nil when the state before it is not held.
  package var tables: [Change]?
  /// Names of WITHOUT ROWID tables that the last step may have changed. Their rows are not compared.
  package var tablesNotCompared: [String] = []
  /// What is doubtful or noteworthy about the state.
  package var findings: [Finding]
}

/// The states that the files of a store hold, oldest first.
package struct StateList: Sendable, Codable {
  /// The name of the schema of the JSON form.
  package var schema = "lifeboat.states"
  /// The version of the JSON form's schema; it only increases.
  package var version = 1
  /// The path of the store.
  package var path: String
  /// The page size in bytes.
  package var pageSizeBytes: Int
  /// How many states there are, including states that are not listed.
  package var stateCount: Int
  /// The states, oldest first. With a limit, only the newest ones.
  package var states: [StoreState] = []
  /// Older pages in the log and the journal that belong to no state in the list.
  package var remainders: [Remainder] = []
  /// Findings on the store as a whole, without those on single states.
  package var findings: [Finding] = []
  /// How many of ``findings`` are damage.
  package var damageCount = 0

  /// Pages of older or unfinished states, too few for a whole database.
  package struct Remainder: Sendable, Codable {
    /// `uncommitted`, `stale` or `unverified` for frames of the log; `journal` for pages of earlier transactions in
    /// the rollback journal.
    package var kind: String
    /// The number of frames, or of pages in the journal.
    package var frameCount: Int
    /// The number of distinct pages among the frames; nil for a journal.
    package var pageCount: Int?
    /// The number of commits among the frames; nil for a journal.
    package var commitCount: Int?
    /// The number of frames that match their checksums; nil for a journal.
    package var verifiedCount: Int?
  }
}
