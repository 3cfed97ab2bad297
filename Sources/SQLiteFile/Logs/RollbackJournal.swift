import SafeText

/// The `-journal` beside a database (file format, section 3 "The Rollback Journal").
///
/// A hot journal contains pages as they were before a transaction that was not finished. If these pages replace those
/// of the main file, the result is the database as of the last commit, as SQLite itself would restore it.
package struct RollbackJournal: Sendable, Equatable {
  package enum State: String, Sendable {
    /// The journal must be played back, because the main file is in the middle of a transaction.
    case hot
    /// The last transaction is finished: the header of the journal is zeroed, or the journal is empty.
    case finished
    /// The journal names a super-journal that does not exist, because the transaction is finished.
    case superseded
    /// The file does not start like a journal, or its header has impossible sizes.
    case unreadable
  }

  package static let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]

  package let sizeBytes: Int64
  package private(set) var state = State.finished
  /// The number of pages that are read from the journal.
  package var pageCount: Int { pageOffsets.count }
  /// The size of the database in pages before the interrupted transaction.
  package private(set) var databasePageCount: UInt32 = 0
  /// The page size in the header of the journal; 0 unless the journal is hot.
  package private(set) var pageSize = 0
  /// The damage in the journal; nil for an undamaged journal. A damaged journal is not used, or is used only up to the
  /// damage.
  package private(set) var defect: Finding?

  package private(set) var pageOffsets: [UInt32: Int64] = [:]
  private var impossible = ImpossiblePages()

  /// The findings about the journal; empty in the state ``State/finished``.
  package var findings: [Finding] {
    var findings: [Finding] = []
    switch state {
    case .hot:
      findings.append(
        Finding(
          .journalHot,
          "a transaction was interrupted; \(counted(pageCount, "page is read as it was", "pages are read as they were")) before the transaction",
          severity: .note, member: .journal))
    case .unreadable where defect == nil:
      findings.append(
        Finding(
          .journalUnreadable,
          "the rollback journal does not start like a journal and is not used",
          member: .journal, offset: 0))
    case .superseded:
      findings.append(
        Finding(
          .journalSuperseded,
          "the rollback journal names a super-journal that does not exist here, so SQLite treats the transaction as committed; the journal is not used",
          severity: .note, member: .journal))
    case .unreadable, .finished: break
    }
    if let defect { findings.append(defect) }
    if let finding = impossible.finding(in: .journal) { findings.append(finding) }
    return findings
  }

  /// Reads the journal of a database. `mainSize`: the size of the main file in bytes, which limits the page numbers
  /// that are accepted.
  package init(parsing file: ByteFile, mainSize: Int64) throws(SQLiteFileError) {
    sizeBytes = file.size
    state = try play(file, mainSize)
    if state != .hot { pageSize = 0 }
  }

  package static func otherPageSize(_ size: Int, _ databasePageSize: Int) -> Finding {
    Finding(
      .journalOtherPageSize,
      "the page size is \(size) bytes in the journal and \(databasePageSize) in the database; the journal is not used",
      member: .journal, offset: 24)
  }

  package static func isSectorSize(_ size: Int64) -> Bool {
    size >= 32 && size <= 65_536 && size & (size - 1) == 0
  }

  /// Returns the sum of every 200th byte of a page (section 3), which a record's checksum adds to the nonce. `start`:
  /// the index of the page in `bytes`.
  package static func sum(ofPage bytes: RawSpan, at start: Int, _ pageSize: Int) -> UInt32 {
    var sum: UInt32 = 0
    var position = pageSize - 200
    while position > 0 {
      sum &+= UInt32(bytes.byte(at: start + position))
      position -= 200
    }
    return sum
  }

  // MARK: - Playback

  private mutating func play(_ file: ByteFile, _ mainSize: Int64) throws(SQLiteFileError) -> State {
    let first = try file.bytes(at: 0, count: 28)
    guard let lead = first.first, lead != 0 else { return .finished }
    guard first.count == 28, Array(first.prefix(8)) == Self.magic else {
      return .unreadable
    }
    if let name = try Self.superJournalName(file), !ByteFile.exists(name) { return .superseded }

    var offset: Int64 = 0
    var isFirstSegment = true
    var sectorSize: Int64 = 512
    while true {
      let header = ContiguousArray(try file.bytes(at: offset, count: 28))
      guard header.count == 28, Array(header.prefix(8)) == Self.magic else { break }
      let bytes = header.rawSpan
      let storedCount = bytes.uint32(at: 8)
      let nonce = bytes.uint32(at: 12)
      if isFirstSegment {
        databasePageCount = bytes.uint32(at: 16)
        sectorSize = Int64(bytes.uint32(at: 20))
        pageSize = Int(bytes.uint32(at: 24))
        guard Self.isSectorSize(sectorSize), DatabaseHeader.isPageSize(pageSize) else {
          defect = Finding(
            .journalBadHeader,
            "the journal's sector size \(sectorSize) or page size \(pageSize) is not valid; the journal is not used",
            member: .journal, offset: 20)
          return .unreadable
        }
        isFirstSegment = false
      }
      let recordLength = Int64(pageSize) + 8
      let start = offset + sectorSize
      let room = max(0, (file.size - start) / recordLength)
      // The value 0xFFFFFFFF means that the journal was written without a sync. The number of records then follows
      // from the size of the file (section 3).
      let count = storedCount == .max ? room : min(Int64(storedCount), room)
      if storedCount != .max, Int64(storedCount) > room {
        defect = Finding(
          .journalTruncated,
          "the journal counts \(counted(storedCount, "page")) but holds only \(room)",
          member: .journal, offset: start + room * recordLength)
      }
      let limit = PageNumberLimit.highest(
        mainSize: mainSize, sideSize: file.size, pageSize: pageSize)
      guard try play(file, count, from: start, nonce: nonce, limit) else { break }
      let next = start + count * recordLength
      // The header of the next segment starts at the next sector.
      offset = (next + sectorSize - 1) / sectorSize * sectorSize
      if offset >= file.size || count == 0 { break }
    }
    return .hot
  }

  /// Reads the records of one segment, as SQLite does when it plays the journal back. Returns false if SQLite would
  /// end the playback at one of these records.
  private mutating func play(
    _ file: ByteFile, _ count: Int64, from start: Int64, nonce: UInt32, _ limit: UInt32
  ) throws(SQLiteFileError) -> Bool {
    let recordLength = Int64(pageSize) + 8
    for index in 0..<count {
      let offset = start + index * recordLength
      let record = ContiguousArray(try file.bytes(at: offset, count: Int(recordLength)))
      let bytes = record.rawSpan
      guard record.count == Int(recordLength) else { return false }
      let page = bytes.uint32(at: 0)
      let sum = Self.sum(ofPage: bytes, at: 4, pageSize)
      guard page > 0, nonce &+ sum == bytes.uint32(at: 4 + pageSize) else {
        defect = Finding(
          .journalBadRecord,
          "a page in the journal does not match its checksum; this page and all pages after it in the journal are not used",
          member: .journal, page: page, offset: offset)
        return false
      }
      // The rollback drops pages past the old end of the database, so their old content is not needed.
      guard page <= databasePageCount else { continue }
      if page <= limit {
        pageOffsets[page] = offset + 4
      } else {
        impossible.add(page, at: offset)
      }
    }
    return true
  }

  /// Returns the name of the super-journal, which is stored at the end of the journal (section 3); nil if it is not
  /// there.
  private static func superJournalName(_ file: ByteFile) throws(SQLiteFileError) -> String? {
    guard file.size >= 16 + 28 else { return nil }
    let tail = ContiguousArray(try file.bytes(at: file.size - 16, count: 16))
    guard tail.count == 16, Array(tail.suffix(8)) == Self.magic else { return nil }
    let length = Int64(tail.rawSpan.uint32(at: 0))
    guard length > 0, length <= 4096, length <= file.size - 16 - 4 else { return nil }
    let name = try file.bytes(at: file.size - 16 - length, count: Int(length))
    let sum = name.reduce(into: UInt32(0)) {
      $0 = $0 &+ UInt32(bitPattern: Int32(Int8(bitPattern: $1)))
    }
    guard sum == tail.rawSpan.uint32(at: 4), !name.contains(0) else { return nil }
    return String(decoding: name, as: UTF8.self)
  }
}
