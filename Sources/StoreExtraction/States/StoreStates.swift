package import CoreDataStore
package import SQLiteFile
import SQLiteForensics
import SafeText

/// The states of a store that can be read from its main file, log and rollback journal.
package final class StoreStates {
  /// The store as SQLite reads it, with one exception: if SQLite would use the rollback journal to restore an empty
  /// file, this is the main file without the journal.
  package let store: CoreDataStore
  /// The findings made while the store was read. Findings on single states are not included.
  package private(set) var findings: FindingList

  let states: LogStates
  private let journal: LogStates.JournalState?
  private let checkpointed: LogStates.CheckpointedPages

  /// Opens the store whose main file is at `path`. Throws `SQLiteFileError` when the file cannot be opened or is not a
  /// database.
  package init(path: String) throws {
    (store, states) = try Self.open(path)
    journal = try states.journalState()
    checkpointed = try states.checkpointedPages()
    findings = store.findings
    findings.add(states.findings)
  }

  private static func open(_ path: String) throws(SQLiteFileError) -> (CoreDataStore, LogStates) {
    do throws(SQLiteFileError) {
      let store = try CoreDataStore(path: path)
      return (store, try LogStates(of: store.database))
    } catch {
      // If the interrupted transaction was the first one, SQLite would roll the file back to an empty file.
      guard error.code == .empty, let size = pageSize(of: path) else { throw error }
      let states = try LogStates(path: path, pageSize: size)
      return (try CoreDataStore(states.databaseInterrupted()), states)
    }
  }

  private static func pageSize(of path: String) -> Int? {
    guard let main = try? ByteFile(path) else { return nil }
    return try? main.databaseHeader(at: 0)?.pageSize
  }

  // MARK: - Names

  private var hasBefore: Bool { journal?.isUnfinished == false }
  private var hasInterrupted: Bool { journal?.isUnfinished == true }

  package var count: Int {
    states.commits.count + 1 + (hasBefore ? 1 : 0) + (hasInterrupted ? 1 : 0)
  }

  /// Returns the name of the state with the index `place`. The oldest state has the index 0.
  private func name(at place: Int) -> StoreState.Name {
    if hasBefore { return place == 0 ? .before : .commit(place - 1) }
    return place > states.commits.count ? .interrupted : .commit(place)
  }

  private func place(of name: StoreState.Name) -> Int? {
    switch name {
    case .before: hasBefore ? 0 : nil
    case .commit(let number):
      number >= 0 && number <= states.commits.count ? number + (hasBefore ? 1 : 0) : nil
    case .interrupted: hasInterrupted ? count - 1 : nil
    }
  }

  /// The name of the state of the database that SQLite would read now.
  private var current: StoreState.Name {
    hasInterrupted && journal?.isPlayedBack == false ? .interrupted : .commit(states.currentCommit)
  }

  // MARK: - States

  /// Opens the database as it was in the state `name`.
  ///
  /// - Throws: ``ExtractionError`` for a state that the store does not have, or that cannot be restored;
  ///   `SQLiteFileError` when the device fails.
  func database(_ name: StoreState.Name) throws -> SQLiteDatabase {
    guard place(of: name) != nil else {
      throw ExtractionError(
        .unknownState, "the store has no state \(name.text); it has \(rangeText)",
        path: store.database.path)
    }
    do throws(SQLiteFileError) {
      switch name {
      case .before:
        guard let journal, journal.databasePageCount != 0 else { break }
        return try states.databaseBefore(journal)
      case .commit(let number):
        if number == 0, hasInterrupted, journal?.databasePageCount == 0 { break }
        return try states.database(after: number)
      case .interrupted: return try states.databaseInterrupted()
      }
    } catch {
      guard error.code == .badHeader else { throw error }
    }
    throw ExtractionError(
      .stateNotHeld, "the store has no state \(name.text): \(absence(of: name))",
      path: store.database.path)
  }

  private func absence(of name: StoreState.Name) -> String {
    let begins =
      name == .commit(0) && states.commits.count > 0 || journal?.databasePageCount == 0
    return begins ? "a later transaction created the database" : "page 1 cannot be read"
  }

  private var rangeText: String {
    let last = states.commits.count
    var text = last == 0 ? "0" : "0 to \(last)"
    if hasBefore { text += ", and before" }
    if hasInterrupted { text += ", and interrupted" }
    return text
  }

  /// Returns the findings on one state: what is doubtful or noteworthy about it.
  func findings(on name: StoreState.Name, _ database: SQLiteDatabase) -> [Finding] {
    var found: [Finding] = []
    let missing = database.missingPageCount
    if missing > 0 {
      found.append(
        Finding(
          .statePagesMissing,
          "\(counted(missing, "page")) of the state \(missing == 1 ? "is" : "are") neither in the main file nor in the files beside it"
        ))
    }
    switch name {
    case .before: found += journal?.doubts.map(\.finding) ?? []
    case .interrupted:
      found.append(
        Finding(
          .stateInterrupted,
          "the state is in the middle of a transaction; SQLite would roll the transaction back before it reads anything"
        ))
    case .commit(let number):
      found += doubts(of: number, database.pageCount)
      if number > 0 { found += states.findings.kept.filter { Self.logDoubts.contains($0.id) } }
      if hasInterrupted {
        found += states.findings.kept.filter { $0.member == .journal && $0.severity == .damage }
      }
    }
    return found
  }

  /// The ids of findings on the write-ahead log that make each state from the log doubtful.
  private static let logDoubts: Set<Finding.ID> = [
    .walOlderThanMain, .walOtherGeneration, .walFramesLost, .walBadPageCount, .walPageOutOfRange,
  ]

  private func doubts(of commit: Int, _ pageCount: UInt32) -> [Finding] {
    let later = checkpointed.laterPageCount(after: commit, pageCount: pageCount)
    guard later > 0 else {
      let same = checkpointed.doubtfulPageCount(after: commit, pageCount: pageCount)
      guard same > 0 else { return [] }
      return [
        Finding(
          .stateMixed,
          """
          \(counted(same, "page is", "pages are")) the same in the main file and in a later commit: either that commit \
          did not change them, or a checkpoint was interrupted
          """,
          severity: .note)
      ]
    }
    if commit == 0, checkpointed.isComplete {
      return [
        Finding(
          .stateMixed,
          """
          a checkpoint has copied the whole log into the main file, so the main file alone is the same as state \
          \(states.commits.count)
          """,
          severity: .note)
      ]
    }
    return [
      Finding(
        .stateMixed,
        "\(counted(later, "page")) of the main file \(later == 1 ? "holds" : "hold") the content of a later commit: a checkpoint seems to have replaced what was there before"
      )
    ]
  }

  // MARK: - The list

  /// Lists the states of the store that its files contain, and the older pages that belong to no state. Throws
  /// `SQLiteFileError` when the device fails.
  ///
  /// `limit`: the maximum number of states to list; nil for all. If there are more, the newest states are listed.
  package func list(limit: Int? = nil) throws -> StateList {
    var list = StateList(
      path: store.database.path, pageSizeBytes: states.pageSize, stateCount: count)
    let history = try PersistentHistory(store.database)
    let first = max(0, count - max(0, limit ?? count))
    var walk: CommitWalk?
    for place in first..<count {
      let name = name(at: place)
      if case .commit(let number) = name, number > 0 {
        var steps = walk ?? CommitWalk(states, history, after: number - 1)
        list.states.append(try state(after: states.commits[number - 1], &steps))
        walk = steps
      } else {
        list.states.append(try state(name, history))
      }
    }
    list.remainders = states.remainders.map {
      StateList.Remainder(
        kind: $0.kind.rawValue, frameCount: $0.frameCount, pageCount: $0.pageCount,
        commitCount: $0.commitCount, verifiedCount: $0.verifiedCount)
    }
    if let count = journal?.olderPageCount, count > 0 {
      list.remainders.append(StateList.Remainder(kind: "journal", frameCount: count))
    }
    list.findings = findings.kept
    list.damageCount = findings.damageCount
    return list
  }

  /// Describes a state of the store that does not result from a commit in the write-ahead log.
  private func state(_ name: StoreState.Name, _ history: PersistentHistory) throws -> StoreState {
    var state = blank(name, try readable(name))
    let steps: (from: StoreState.Name, to: StoreState.Name)? =
      switch name {
      case .commit where hasBefore: (.before, name)
      case .interrupted: (.commit(0), name)
      default: nil
      }
    guard let steps, let journal, let to = try readable(steps.to) else { return state }
    let from = try readable(steps.from)
    let known = UInt32(clamping: journal.databasePageCount ?? 0)
    let last = min(to.pageCount, known.addingReportingOverflow(1 << 20).partialValue)
    let pages = journal.pages + (last > known ? Array(known + 1...last) : [])
    state.writtenPageCount = pages.count
    // If there was no database before, the transaction may have created it. But a database that cannot be read must not
    // be taken for one that did not exist.
    guard from != nil || journal.databasePageCount == 0 else { return state }
    var trees = CommitDifference.Trees()
    let difference = try CommitDifference(from: from, to: to, pages: pages, trees: &trees)
    state.tables = difference.changes.map(change)
    state.tablesNotCompared = difference.tablesNotCompared
    // The changes of an unfinished transaction were never saved, so this state has no time.
    if name != .interrupted { state.time = history.date(of: difference)?.iso8601 }
    return state
  }

  private func state(after commit: LogStates.Commit, _ walk: inout CommitWalk) throws -> StoreState
  {
    let step = try walk.next(commit)
    findings.add(step.findings)
    var state = blank(.commit(commit.number), step.state)
    state.frameCount = commit.frameCount
    state.writtenPageCount = commit.pages.count
    state.time = step.commit.date?.iso8601
    if !checkpointed.hidesChange(of: commit.number) {
      state.tables = step.commit.tables?.map(change)
    }
    state.tablesNotCompared = step.commit.tablesNotCompared
    return state
  }

  private func blank(_ name: StoreState.Name, _ database: SQLiteDatabase?) -> StoreState {
    let found =
      database.map { findings(on: name, $0) } ?? [
        Finding(
          .stateNone, "there is no database in the state: \(absence(of: name))", severity: .note)
      ]
    return StoreState(
      state: name.text, source: source(of: name), isCurrent: name == current,
      isWhole: database != nil && !found.contains { $0.severity == .damage },
      databasePageCount: database?.pageCount, findings: found)
  }

  func source(of name: StoreState.Name) -> StoreState.Source {
    switch name {
    case .before: .journal
    case .commit(let number): number > 0 ? .log : hasInterrupted ? .journal : .main
    case .interrupted: .main
    }
  }

  private func readable(_ name: StoreState.Name) throws -> SQLiteDatabase? {
    do { return try database(name) } catch let error as ExtractionError
      where error.code == .stateNotHeld
    {
      return nil
    }
  }

  private func change(_ change: CommittedChange) -> StoreState.Change {
    StoreState.Change(
      table: change.table, entity: entities[SQLName(change.table)],
      tableChange: change.tableChange == .none ? nil : change.tableChange.rawValue,
      added: change.added, changed: change.changed, removed: change.removed,
      addedKeys: change.addedKeys, changedKeys: change.changedKeys,
      removedKeys: change.removedKeys,
      isOwn: CoreDataStore.isOwn(
        table: change.table,
        columns: store.database.schema.table(named: change.table)?.columnNames ?? []))
  }

  /// The name of the root entity of each table with entities, by table name.
  private lazy var entities: [SQLName: String] = Dictionary(
    firstOf: store.entityTables.compactMap { table in
      store.records(in: table).first { $0.superNumber == 0 }.map {
        (SQLName(table.name), store.entityName(ofNumber: $0.number) ?? $0.name)
      }
    })
}

extension SQLiteDatabase {
  /// The number of pages of the database that are in no file. The page at 1 GiB (lock-byte page) does not count,
  /// because it is never written (file format, section 1.4).
  var missingPageCount: Int {
    guard pageCount > mainPageCount else { return 0 }
    let reader = anotherReader()
    let lockPage = UInt32((1 << 30) / header.pageSize + 1)
    // A damaged page count may be any number. No file has a page beyond the reader's limit.
    let last = min(pageCount, reader.pageLimit)
    var count = Int(pageCount - last)
    guard last > mainPageCount else { return count }
    for page in mainPageCount + 1...last where page != lockPage {
      if reader.location(of: page).member == .main { count += 1 }
    }
    return count
  }
}

extension LogStates.JournalDoubt {
  /// The finding that states this doubt. It concerns the state of the database before the last transaction.
  fileprivate var finding: Finding {
    let reason =
      switch self {
      case .noPageOne: "the journal does not hold page 1, which a transaction usually changes"
      case .badPageOne: "page 1 has no readable header in the journal or in the main file"
      case .otherTransactions(let count) where count > 1:
        "\(count) transactions were finished after that state, and the journal holds the pages of only one of them"
      case .otherTransactions: "the change counter of the main file did not increase by exactly one"
      case .writeAheadLog:
        "the database is in WAL mode, so it may have been changed after that state"
      case .incomplete:
        "pages are missing from the journal, or the old size of the database is not known"
      case .undecided: "nothing shows whether the transaction of the journal was finished"
      }
    return Finding(
      .stateUncertain,
      "the main file and the pages of the journal may belong to different states: \(reason)",
      member: .journal)
  }
}
