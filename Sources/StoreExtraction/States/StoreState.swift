package import SQLiteFile

/// A state of a store that its files still hold, and what led to it.
package struct StoreState: Sendable, Codable {
  /// Which state is meant.
  package enum Name: Sendable, Hashable {
    /// Before the last transaction: the main file with the pages of a finished rollback journal.
    case before
    /// After a commit of the log; 0 is the state without the log.
    case commit(Int)
    /// The main file alone, in the middle of a transaction that a rollback journal would undo.
    case interrupted

    /// A state by its name in the output: a number, `before` or `interrupted`; nil for any other text.
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

    /// The name in the output.
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
    /// The main file alone.
    case main
    /// The main file and frames of the log.
    case log
    /// The main file and pages of the rollback journal.
    case journal
  }

  /// What the last step to a state did to the rows of a table.
  package struct Change: Sendable, Codable {
    /// The table.
    package var table: String
    /// The entity whose rows, and those of whose descendants, are in the table; nil for other tables.
    package var entity: String?
    /// `created` or `dropped`; nil when the table is in both states.
    package var tableChange: String?
    /// Rows that were added.
    package var added: Int
    /// Rows whose values changed.
    package var changed: Int
    /// Rows that were removed.
    package var removed: Int
    /// Row ids of the first rows that were added.
    package var addedKeys: [Int64]
    /// Row ids of the first rows that changed.
    package var changedKeys: [Int64]
    /// Row ids of the first rows that were removed.
    package var removedKeys: [Int64]
  }

  /// Its name: the number of a commit, `before` or `interrupted`.
  package var state: String
  /// What it is made of.
  package var source: Source
  /// Whether it is the one that SQLite reads now.
  package var isCurrent: Bool
  /// Whether nothing speaks against its being a state that the database once had, with all its pages.
  package var isWhole: Bool
  /// Frames of the commit; nil for a state that no commit of the log made.
  package var frameCount: Int?
  /// Pages that the last step to the state wrote; nil when it is not known.
  package var writtenPageCount: Int?
  /// Size of the database in pages; nil when there is no database.
  package var databasePageCount: UInt32?
  /// When it was saved, in UTC; nil when no record says so.
  package var time: String?
  /// What the last step did to rows; nil when it is not known, because the state before it is not held.
  package var tables: [Change]?
  /// Tables without row ids that the last step may have changed; their rows are not compared.
  package var tablesNotCompared: [String] = []
  /// What speaks against the state, and notes on it.
  package var findings: [Finding]
}

/// The states that the files of a store hold, oldest first.
package struct StateList: Sendable, Codable {
  /// The name of the schema of the JSON form.
  package var schema = "lifeboat.states"
  /// The version of that schema; it only increases.
  package var version = 1
  /// The store.
  package var path: String
  /// Bytes in a page.
  package var pageSizeBytes: Int
  /// How many states there are, those not listed included.
  package var stateCount: Int
  /// The states, oldest first; the newest ones when there is a limit.
  package var states: [StoreState] = []
  /// What else of the past is in the log and in the journal: pages that belong to no state in the list.
  package var remainders: [Remainder] = []
  /// Findings on the store, those on single states left out.
  package var findings: [Finding] = []
  /// How many of these findings are damage.
  package var damageCount = 0

  /// Pages of older or unfinished states, too few for a whole database.
  package struct Remainder: Sendable, Codable {
    /// `uncommitted`, `stale` or `unverified` for frames of the log; `journal` for pages of earlier transactions in
    /// the rollback journal.
    package var kind: String
    /// Frames, or pages of the journal.
    package var frameCount: Int
    /// Distinct pages among them; nil for a journal.
    package var pageCount: Int?
    /// Commits among them; nil for a journal.
    package var commitCount: Int?
    /// Frames that match their checksums; nil for a journal.
    package var verifiedCount: Int?
  }
}
