import CoreDataStore
import SQLiteFile
import SQLiteForensics

/// Compares the states of a log one after the other, each with the one before it.
struct CommitWalk {
  /// A commit and the state that it made.
  struct Step {
    /// What the commit did.
    let commit: StoreTimeline.LogCommit
    /// The state after it; nil when it cannot be read.
    let state: SQLiteDatabase?
    /// What was found while comparing.
    let findings: FindingList
  }

  private let states: LogStates
  private let history: PersistentHistory
  private var before: SQLiteDatabase?
  private var trees = CommitDifference.Trees()

  /// Starts at the state after a commit; 0 is the state without the log.
  init(_ states: LogStates, _ history: PersistentHistory, after commit: Int = 0) {
    self.states = states
    self.history = history
    before = try? states.database(after: commit)
  }

  /// Goes on to the state after the next commit.
  ///
  /// - Throws: `SQLiteFileError` when the device fails.
  mutating func next(_ commit: LogStates.Commit) throws(SQLiteFileError) -> Step {
    let after = try? states.database(after: commit.number)
    // The first commit of a store is compared with an empty state.
    var difference: CommitDifference?
    if after == nil { trees = CommitDifference.Trees() }
    if let after, before != nil || commit.number == 1 {
      difference = try CommitDifference(
        from: before, to: after, pages: commit.pages, trees: &trees)
    }
    before = after
    return Step(
      commit: StoreTimeline.LogCommit(
        number: commit.number, frameCount: commit.frameCount, pageCount: commit.pages.count,
        databasePageCount: commit.databasePageCount,
        otherPageCount: try after?.otherPageCount(commit.pages), tables: difference?.changes,
        tablesNotCompared: difference?.tablesNotCompared ?? [],
        date: difference.flatMap { history.date(of: $0) }),
      state: after, findings: difference?.findings ?? FindingList())
  }
}

extension PersistentHistory {
  /// The date of the newest transaction that a change of the store recorded; nil when it recorded none.
  func date(of difference: CommitDifference) -> ReferenceDate? {
    let added = difference.changes.first { SQLName.isSame($0.table, "ATRANSACTION") }?.addedKeys
    let seconds = added?.last.flatMap { transaction($0)?.seconds }
    return seconds.map { ReferenceDate(seconds: $0) }
  }
}
