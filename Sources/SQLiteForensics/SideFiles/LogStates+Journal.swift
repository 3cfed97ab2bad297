package import SQLiteFile

/// The states of the database that can be read from its main file and rollback journal.
///
/// If the journal belongs to an unfinished transaction, there are two states. The main file alone is the database in
/// the middle of the transaction. The main file with the pages of the journal is the database before the transaction.
///
/// In journal mode PERSIST, the journal of a finished transaction may still contain pages. The main file with these
/// pages is the database before the last transaction.
extension LogStates {
  /// A reason to doubt that the database has ever been in the state that the main file and the pages of the journal
  /// give.
  package enum JournalDoubt: Sendable, Hashable {
    /// Page 1 is not in the journal, so nothing shows whether the journal's transaction was the last one.
    case noPageOne
    /// The database header on page 1 cannot be read, either in the journal or in the main file. So nothing shows
    /// whether the journal's transaction was the last one.
    case badPageOne
    /// The change counter in the main file should be 1 higher than that on page 1 in the journal, but is not. So the
    /// journal may not be that of the last transaction. The associated value is the difference of the two counters.
    case otherTransactions(Int)
    /// The database is in WAL mode or has commits in its log, so the main file may have been changed without use of the
    /// journal.
    case writeAheadLog
    /// The journal was truncated, has damaged records, or does not state the size of the database before the
    /// transaction.
    case incomplete
    /// Nothing shows whether the journal's transaction was finished.
    case undecided
  }

  /// The database as it was before the transaction of the rollback journal, so far as the journal shows it.
  package struct JournalState: Sendable {
    /// Whether the journal's transaction was not finished, so that it must be rolled back.
    package let isUnfinished: Bool
    /// Whether SQLite plays the journal back before it reads the database. SQLite does so only if the journal's header
    /// is intact.
    package var isPlayedBack = false
    /// The numbers of the pages whose earlier versions are in the journal, in ascending order.
    package let pages: [UInt32]
    /// The number of page images from earlier transactions. In the file, they come after the images of the last
    /// transaction.
    package let olderPageCount: Int
    /// The size of the database in pages before the transaction; nil when it is not known.
    package let databasePageCount: UInt32?
    /// The reasons why the database may never have been in this state.
    package let doubts: [JournalDoubt]
  }

  /// Returns the database as it was before the transaction of the rollback journal, so far as the journal shows it. Nil
  /// without a journal that has the page size of the database. Also nil if the transaction is finished and the journal
  /// contains no page of this transaction.
  /// - Throws: ``SQLiteFileError`` when a device fails.
  package func journalState() throws(SQLiteFileError) -> JournalState? {
    guard let journal, let file = journalFile else { return nil }
    let older = journal.images.count { $0.age > 0 }
    if journal.verdict == .hot || journal.verdict == .headerLost {
      return JournalState(
        isUnfinished: true, isPlayedBack: journal.verdict == .hot,
        pages: journal.pageOffsets.keys.sorted(), olderPageCount: older,
        databasePageCount: journal.databasePageCount,
        doubts: journal.databasePageCount == nil ? [.incomplete] : [])
    }
    let images = ContiguousArray(journal.images.lazy.filter { $0.age == 0 })
    guard !images.isEmpty else { return nil }
    var doubts: [JournalDoubt] = []
    let now = try header(of: main, at: 0)
    var before: DatabaseHeader?
    if let one = images.first(where: { $0.page == 1 }) {
      before = try header(of: file, at: one.offset)
      if let before, let now {
        // The change counter wraps around. Transactions under an exclusive lock do not change it.
        let count = Int(Int32(bitPattern: now.changeCounter &- before.changeCounter))
        if count != 1 { doubts.append(.otherTransactions(count)) }
      } else {
        doubts.append(.badPageOne)
      }
    } else {
      doubts.append(.noPageOne)
    }
    if now?.writeVersion == 2 || !commits.isEmpty { doubts.append(.writeAheadLog) }
    let known = before.flatMap { $0.isPageCountValid ? $0.pageCount : nil }
    let count = known ?? journal.databasePageCount
    if count == nil || !isUnbroken(images, in: file) { doubts.append(.incomplete) }
    if journal.verdict == .undecided { doubts.append(.undecided) }
    return JournalState(
      isUnfinished: false, pages: Set(images.map(\.page)).sorted(), olderPageCount: older,
      databasePageCount: count, doubts: doubts)
  }

  /// Opens the database as it was before the last transaction. Pages in the rollback journal of that transaction
  /// replace pages of the main file.
  ///
  /// - Throws: ``SQLiteFileError`` when the device fails, or when page 1 cannot be read.
  package func databaseBefore(_ state: JournalState) throws(SQLiteFileError) -> SQLiteDatabase {
    var offsets: [UInt32: Int64] = [:]
    for image in journal?.images ?? [] where image.age == 0 && offsets[image.page] == nil {
      if let count = state.databasePageCount, image.page > count { continue }
      offsets[image.page] = image.offset
    }
    let overlays = journalFile.map {
      [PageReader.Overlay(file: $0, member: .journal, offsets: offsets)]
    }
    return try database(overlays ?? [], pageCount: state.databasePageCount) {
      "before the transaction of the journal"
    }
  }

  /// Opens the main file alone, which is the database in the middle of the unfinished transaction of the journal.
  ///
  /// - Throws: ``SQLiteFileError`` when the device fails, or when page 1 cannot be read.
  package func databaseInterrupted() throws(SQLiteFileError) -> SQLiteDatabase {
    // The page count is that of the file, because pages that the transaction has appended belong to this state.
    try database([], pageCount: mainPageCount) { "in the main file alone" }
  }

  private func header(of file: ByteFile, at offset: Int64) throws(SQLiteFileError)
    -> DatabaseHeader?
  {
    guard let header = try file.databaseHeader(at: offset), header.pageSize == pageSize else {
      return nil
    }
    return header
  }

  /// Whether the records of the last transaction are complete. The first record must begin directly after the first
  /// sector, the records must follow each other without gaps, and the file must not end inside a record. (With the
  /// pragma `journal_size_limit`, SQLite truncates the journal after a transaction.)
  private func isUnbroken(
    _ images: ContiguousArray<JournalSalvage.Image>, in file: ByteFile
  ) -> Bool {
    let length = Int64(pageSize + 8)
    // In a record, the page number comes before the page.
    guard var end = images.first.map({ $0.offset - 4 }), RollbackJournal.isSectorSize(end) else {
      return false
    }
    let sector = end
    for image in images {
      let start = image.offset - 4
      // The header of the next segment occupies one whole sector.
      let next = (end + sector - 1) / sector * sector + sector
      guard start == end || start == next else { return false }
      end = start + length
    }
    let rest = file.size - end
    let isCut = rest > 0 && rest < length && (journal?.images.allSatisfy { $0.age == 0 } ?? true)
    return !isCut
  }
}
