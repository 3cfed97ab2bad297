package import SQLiteFile

/// The states that a rollback journal adds to those of the log.
///
/// Under a journal that must be played back, the state without the log is the one before the unfinished transaction.
/// The main file alone then is the interrupted state. A journal whose transaction was finished may still hold the pages
/// before it (journal mode PERSIST): together with the main file they are the state before the last transaction.
extension LogStates {
  /// Why it is not certain that the journal and the main file together are a state that the database once had.
  package enum JournalDoubt: Sendable, Hashable {
    /// The journal does not hold page 1, so nothing says whether its transaction was the last one.
    case noPageOne
    /// The journal's page 1 has no readable header.
    case badPageOne
    /// The main file was changed by so many transactions since, where one is expected.
    case otherTransactions(Int)
    /// The database is in WAL mode, so the main file may have been changed without the journal.
    case writeAheadLog
    /// Pages are missing from the journal: its end was cut off, or records are damaged.
    case incomplete
    /// Nothing shows whether the transaction was finished.
    case undecided
  }

  /// What a rollback journal holds of the past.
  package struct JournalState: Sendable {
    /// Whether its transaction was not finished.
    package let isUnfinished: Bool
    /// Whether SQLite plays the journal back before it reads anything: it does so only with an intact header.
    package var isPlayedBack = false
    /// The pages that the journal holds as they were before its transaction, in order of their numbers.
    package let pages: [UInt32]
    /// Pages from earlier transactions, behind those of the last one.
    package let olderPageCount: Int
    /// Size of the database in pages before the transaction; nil when it is not known.
    package let databasePageCount: UInt32?
    /// Why the state before the transaction may not be whole; empty when nothing speaks against it.
    package let doubts: [JournalDoubt]
  }

  /// What the rollback journal holds; nil when there is none, or when it holds no page.
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
        // The counter wraps, and it may stand still (exclusive locking).
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

  /// The database as it was before the finished transaction of the journal.
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
    // What the transaction appended counts, although page 1 may not say so yet.
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

  /// Whether the records of the last transaction follow each other, from the first sector to an end that is not cut
  /// off. (`journal_size_limit` cuts a journal after its transaction.)
  private func isUnbroken(
    _ images: ContiguousArray<JournalSalvage.Image>, in file: ByteFile
  ) -> Bool {
    let length = Int64(pageSize + 8)
    // A record has its page's number before the page.
    guard var end = images.first.map({ $0.offset - 4 }), Self.isSector(end) else { return false }
    let sector = end
    for image in images {
      let start = image.offset - 4
      // The header of a segment takes a sector.
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
