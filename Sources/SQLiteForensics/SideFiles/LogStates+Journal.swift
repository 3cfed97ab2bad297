package import SQLiteFile

/// The states that a rollback journal adds to those of the log.
///
/// When the journal must be played back, the state without the log is the one before the unfinished transaction. The
/// main file alone is then the interrupted state. When the transaction was finished, the journal may still hold the
/// pages as they were before (journal mode PERSIST). Together with the main file, these pages are the state before the
/// last transaction.
extension LogStates {
  /// Why it is not certain that the journal and the main file together are a state that the database once had.
  package enum JournalDoubt: Sendable, Hashable {
    /// The journal does not hold page 1, so nothing shows whether its transaction was the last one.
    case noPageOne
    /// The header on page 1 of the journal or of the main file cannot be read, so nothing shows whether the journal's
    /// transaction was the last one.
    case badPageOne
    /// The change counters show that the main file was changed by this many transactions since the journaled state, not
    /// by one.
    case otherTransactions(Int)
    /// The database is in WAL mode, so the main file may have been changed without the journal.
    case writeAheadLog
    /// The journal lacks pages (its end was cut off, or records are damaged), or it does not tell the size of the
    /// database before the transaction.
    case incomplete
    /// Nothing shows whether the transaction was finished.
    case undecided
  }

  /// What a rollback journal tells about the state before its transaction.
  package struct JournalState: Sendable {
    /// Whether the journal's transaction was not finished, so that it must be rolled back.
    package let isUnfinished: Bool
    /// Whether SQLite plays the journal back before it reads the database. SQLite does so only when the header is
    /// intact.
    package var isPlayedBack = false
    /// The numbers of the pages that the journal holds as they were before its transaction, in ascending order.
    package let pages: [UInt32]
    /// The number of page images from earlier transactions, which come behind those of the last transaction.
    package let olderPageCount: Int
    /// Size of the database in pages before the transaction; nil when it is not known.
    package let databasePageCount: UInt32?
    /// Why the state before the transaction may not be one that the database had; empty when nothing speaks against it.
    package let doubts: [JournalDoubt]
  }

  /// What the rollback journal tells about the state before its transaction. Nil when there is no journal with pages of
  /// the database's size, or when the journal of a finished transaction holds no page.
  ///
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
        // The change counter wraps, and stands still under an exclusive lock.
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

  /// The database as it was before the finished transaction of the journal: the main file with the journaled pages in
  /// place.
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

  /// The main file as it is on disk, in the middle of a transaction.
  ///
  /// - Throws: ``SQLiteFileError`` when the device fails, or when page 1 cannot be read.
  package func databaseInterrupted() throws(SQLiteFileError) -> SQLiteDatabase {
    // The size of the file counts, not page 1: pages that the transaction appended belong to the interrupted state.
    try database([], pageCount: mainPageCount) { "in the main file alone" }
  }

  private func header(of file: ByteFile, at offset: Int64) throws(SQLiteFileError)
    -> DatabaseHeader?
  {
    let bytes = ContiguousArray(try file.bytes(at: offset, count: DatabaseHeader.length))
    guard let header = try? DatabaseHeader(parsing: bytes.rawSpan), header.pageSize == pageSize
    else { return nil }
    return header
  }

  /// Whether the records of the last transaction follow each other without gaps, from the end of the journal's first
  /// sector to an end that is not cut off. (`journal_size_limit` cuts a journal after its transaction.)
  private func isUnbroken(
    _ images: ContiguousArray<JournalSalvage.Image>, in file: ByteFile
  ) -> Bool {
    let length = Int64(pageSize + 8)
    // A record has its page's number before the page.
    guard var end = images.first.map({ $0.offset - 4 }), Self.isSector(end) else { return false }
    let sector = end
    for image in images {
      let start = image.offset - 4
      // The header of the next segment takes one whole sector.
      let next = (end + sector - 1) / sector * sector + sector
      guard start == end || start == next else { return false }
      end = start + length
    }
    let rest = file.size - end
    let isCut = rest > 0 && rest < length && (journal?.images.allSatisfy { $0.age == 0 } ?? true)
    return !isCut
  }

  private static func isSector(_ size: Int64) -> Bool {
    size >= 32 && size <= 65_536 && size & (size - 1) == 0
  }
}
