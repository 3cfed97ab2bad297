import CoreDataStore
import SQLiteFile
import SQLiteForensics

/// Goes through the commits of a log in order, and compares the database after each commit with the database before the
/// commit.
struct CommitWalk {
  struct Step {
    let commit: StoreTimeline.LogCommit
    /// The database after the commit; nil when it cannot be read.
    let state: SQLiteDatabase?
    let findings: FindingList
  }

  private let states: LogStates
  private let history: PersistentHistory
  private var before: SQLiteDatabase?
  private var trees = CommitDifference.Trees()

  /// Creates a walk that begins with the database after `commit`. Commit 0 stands for the database without the log.
  init(_ states: LogStates, _ history: PersistentHistory, after commit: Int = 0) {
    self.states = states
    self.history = history
    before = try? states.database(after: commit)
  }

  /// Compares the database after `commit`, the next commit of the log, with the database after the previous commit.
  ///
  /// - Throws: `SQLiteFileError` when the device fails.
  mutating func next(_ commit: LogStates.Commit) throws(SQLiteFileError) -> Step {
    let after = try? states.database(after: commit.number)
    // If the database before the first commit cannot be read, that commit is compared with an empty database.
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
  /// Returns the date of the newest persistent history transaction among the rows that a commit added; nil when the
  /// commit added no such transaction.
  func date(of difference: CommitDifference) -> ReferenceDate? {
    let change = difference.changes.first { SQLName.isSame($0.table, "ATRANSACTION") }
    let seconds = change?.lastAddedKey.flatMap { transaction($0)?.seconds }
    return seconds.map { ReferenceDate(seconds: $0) }
  }
}
