import SQLiteFile

/// Reads a rollback journal segment by segment, even if its headers are damaged.
struct JournalScan {
  struct Result {
    let pageSize: Int
    let images: ContiguousArray<JournalSalvage.Image>
    /// The size of the database in pages, as a header of the last transaction states it; nil when all headers of this
    /// transaction are lost.
    let databasePageCount: UInt32?
    /// Whether the last transaction has several segments, and its last segment contains records but was never synced.
    let endsUnsynced: Bool
  }

  private typealias Image = JournalSalvage.Image

  /// The header of a segment (28 bytes). SQLite writes the magic number and the record count when it syncs the segment;
  /// before the sync, both are zero.
  private struct Header {
    let isSynced: Bool
    let nonce: UInt32
    let databasePageCount: UInt32
    let sectorSize: Int64
    let pageSize: Int

    init?(_ bytes: RawSpan, _ start: Int) {
      guard start + 28 <= bytes.byteCount else { return nil }
      var isMagic = true
      for (index, byte) in RollbackJournal.magic.enumerated()
      where bytes.byte(at: start + index) != byte { isMagic = false }
      isSynced = isMagic
      nonce = bytes.uint32(at: start + 12)
      databasePageCount = bytes.uint32(at: start + 16)
      sectorSize = Int64(bytes.uint32(at: start + 20))
      pageSize = Int(bytes.uint32(at: start + 24))
      guard isMagic || (bytes.uint64(at: start) == 0 && bytes.uint32(at: start + 8) == 0),
        RollbackJournal.isSectorSize(sectorSize), DatabaseHeader.isPageSize(pageSize)
      else { return nil }
    }
  }

  private static let sectorSizes: [Int64] = [512, 4096, 1024, 2048, 8192, 16_384, 32_768, 65_536]
  /// The maximum number of consecutive damaged records inside a segment of the rollback journal. A longer run of
  /// damaged records ends the segment.
  private static let maxDamagedRecords = 8
  /// The maximum number of bytes that are searched for the next segment header or record. The limit is needed because a
  /// hole in a sparse file can have any size.
  private static let farthestSearch: Int64 = 64 << 20

  private let file: ByteFile
  private let pageSize: Int
  private let sectorSize: Int64
  private let pageLimit: UInt32
  private var window: ForwardWindow
  private var images = ContiguousArray<Image>()
  private var databasePageCount: UInt32?
  private var age: UInt16 = 0
  private var endsUnsynced = false
  /// The pages of the current transaction whose records have been read. A transaction writes each page to the journal
  /// only once. So the second record of a page belongs to another transaction.
  private var pages: Set<UInt32> = []

  private var recordLength: Int { pageSize + 8 }

  /// Reads the records of a journal.
  ///
  /// - Parameters:
  ///   - file: the journal.
  ///   - expected: the page size of the database, which is tried first.
  ///   - pageLimit: the highest page number that is accepted.
  /// - Returns: nil when no record can be recognised.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  static func scan(_ file: ByteFile, expected: Int, pageLimit: UInt32) throws(SQLiteFileError)
    -> Result?
  {
    guard let geometry = try geometry(of: file, expected, pageLimit) else { return nil }
    var scan = JournalScan(file, geometry.pageSize, geometry.sectorSize, pageLimit)
    try scan.run()
    guard !scan.images.isEmpty else { return nil }
    return Result(
      pageSize: scan.pageSize, images: scan.images, databasePageCount: scan.databasePageCount,
      endsUnsynced: scan.endsUnsynced)
  }

  private init(_ file: ByteFile, _ pageSize: Int, _ sectorSize: Int64, _ pageLimit: UInt32) {
    self.file = file
    self.pageSize = pageSize
    self.sectorSize = sectorSize
    self.pageLimit = pageLimit
    window = ForwardWindow(file)
  }

  // MARK: - Record positions

  /// Returns the page size and the sector size, in bytes, from the first header. If this header is lost, tries all
  /// pairs of sizes on the first eight records. Returns the pair with which most consecutive records have the same
  /// nonce. Nil if no pair gives plausible records.
  private static func geometry(of file: ByteFile, _ expected: Int, _ pageLimit: UInt32)
    throws(SQLiteFileError) -> (pageSize: Int, sectorSize: Int64)?
  {
    let head = ContiguousArray(try file.bytes(at: 0, count: 9 * 65_544))
    let bytes = head.rawSpan
    if let header = Header(bytes, 0) { return (header.pageSize, header.sectorSize) }
    var best: (score: Int, pageSize: Int, sectorSize: Int64)?
    for pageSize in DatabaseHeader.pageSizes(first: expected) {
      for sectorSize in sectorSizes {
        var score = 0
        var last: UInt32?
        for index in 0..<8 {
          let start = Int(sectorSize) + index * (pageSize + 8)
          guard start + pageSize + 8 <= bytes.byteCount else { break }
          let nonce = nonce(bytes, start, pageSize, pageLimit)
          if let nonce, nonce == last { score += 2 }
          // A single record counts only if it is the first record, and only with the page size of the database and
          // sectors of 512 bytes.
          if nonce != nil, index == 0, pageSize == expected, sectorSize == 512 { score += 1 }
          last = nonce
        }
        if score > best?.score ?? 0 { best = (score, pageSize, sectorSize) }
      }
    }
    return best.map { ($0.pageSize, $0.sectorSize) }
  }

  /// Returns the nonce with which the checksum of a rollback journal's record was computed. The record begins at
  /// `start`. The nonce is right only if the record is intact. Nil if the page number of the record is 0 or above
  /// `pageLimit`.
  private static func nonce(
    _ bytes: RawSpan, _ start: Int, _ pageSize: Int, _ pageLimit: UInt32
  ) -> UInt32? {
    let page = bytes.uint32(at: start)
    guard page > 0, page <= pageLimit else { return nil }
    return bytes.uint32(at: start + 4 + pageSize)
      &- RollbackJournal.sum(ofPage: bytes, at: start + 4, pageSize)
  }

  private mutating func nonce(at offset: Int64) throws(SQLiteFileError) -> UInt32? {
    guard let start = try window.hold(offset, recordLength) else { return nil }
    return Self.nonce(window.bytes.rawSpan, start, pageSize, pageLimit)
  }

  private mutating func header(at offset: Int64) throws(SQLiteFileError) -> Header? {
    guard let start = try window.hold(offset, 28),
      let header = Header(window.bytes.rawSpan, start), header.pageSize == pageSize,
      header.sectorSize == sectorSize
    else { return nil }
    return header
  }

  // MARK: - Segments

  private mutating func run() throws(SQLiteFileError) {
    // The first header, whether intact or not, occupies one sector.
    let first = try header(at: 0)
    if let first { databasePageCount = first.databasePageCount }
    var offset = try segment(from: sectorSize, nonce: first?.nonce)
    while offset < file.size {
      let boundary = (offset + sectorSize - 1) / sectorSize * sectorSize
      if let header = try header(at: boundary) {
        if age == 0 {
          // All segments of one transaction state the same size of the database.
          if let known = databasePageCount, known != header.databasePageCount { nextTransaction() }
          if age == 0 { databasePageCount = header.databasePageCount }
        }
        let count = images.count
        offset = try segment(from: boundary + sectorSize, nonce: header.nonce)
        if age == 0 { endsUnsynced = !header.isSynced && images.count > count }
        continue
      }
      // The bytes after the last segment remain from an older, longer journal.
      if age == 0 { nextTransaction() }
      guard let next = try nextRun(from: offset) else { return }
      offset = next.isHeader ? next.offset : try segment(from: next.offset, nonce: nil)
    }
  }

  private mutating func nextTransaction() {
    if age < .max { age += 1 }
    pages = []
  }

  /// Adds the records of one segment of the rollback journal. All records of a segment have the same nonce. `start`:
  /// the offset of the first record. `known`: the nonce in the segment's header; nil if the header is lost.
  ///
  /// - Returns: the offset of the end of the segment's last record.
  private mutating func segment(from start: Int64, nonce known: UInt32?) throws(SQLiteFileError)
    -> Int64
  {
    var offset = start
    let length = Int64(recordLength)
    var nonce = known
    var isSure = known != nil
    while offset + length <= file.size {
      guard let next = try self.nonce(at: offset), next == nonce ?? next else {
        // If only this record is damaged, one of the next records has the nonce of the segment.
        guard let nonce, let sound = try soundRecord(after: offset, nonce) else { break }
        offset = sound
        continue
      }
      if nonce != nil {
        if !isSure, let last = images.indices.last {
          // A second record with the same nonce verifies the first record.
          images[last].isVerified = true
          isSure = true
        }
      } else {
        nonce = next
      }
      guard let index = try window.hold(offset, 4) else { break }
      let page = window.bytes.rawSpan.uint32(at: index)
      if !pages.insert(page).inserted {
        nextTransaction()
        pages.insert(page)
      }
      images.append(Image(page: page, age: age, isVerified: isSure, offset: offset + 4))
      offset += length
    }
    return offset
  }

  /// Returns the offset of the next undamaged record of a journal segment, after the damaged record at `offset`. A
  /// record belongs to the segment if it has the segment's nonce. Nil when none of the next ``maxDamagedRecords``
  /// records has this nonce.
  private mutating func soundRecord(after offset: Int64, _ nonce: UInt32) throws(SQLiteFileError)
    -> Int64?
  {
    for step in 1...Self.maxDamagedRecords {
      let next = offset + Int64(step) * Int64(recordLength)
      if try self.nonce(at: next) == nonce { return next }
    }
    return nil
  }

  /// Returns the offset in the journal at which reading can go on: the offset of the next segment header, or of the
  /// next record that has the same nonce as the record after it. Nil when neither is found within ``farthestSearch``.
  /// Only multiples of eight are tried, because sectors and records begin there.
  private mutating func nextRun(from start: Int64) throws(SQLiteFileError)
    -> (offset: Int64, isHeader: Bool)?
  {
    var offset = (start + 7) / 8 * 8
    let limit = start + Self.farthestSearch
    while true {
      if offset % sectorSize == 0, try header(at: offset) != nil { return (offset, true) }
      guard let start = try window.hold(offset, 2 * recordLength) else { return nil }
      let bytes = window.bytes.rawSpan
      if let first = Self.nonce(bytes, start, pageSize, pageLimit),
        first == Self.nonce(bytes, start + recordLength, pageSize, pageLimit)
      {
        return (offset, false)
      }
      offset += 8
      if offset > limit { return nil }
    }
  }
}
