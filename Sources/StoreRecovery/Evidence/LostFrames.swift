import SQLiteFile

/// Counts the pages in a write-ahead log whose content SQLite would silently drop. SQLite reads the log only up to the
/// first invalid frame, and not at all when the header is invalid (SQLite file format, section 4).
///
/// Each frame's checksum continues the checksum of the previous frame. Therefore the frames after the damage can be
/// recognised as consecutive, and a commit frame among them proves that they were committed. A frame whose content is
/// also in the main file was checkpointed and is not lost.
struct LostFrames {
  static let headerLength = WriteAheadLog.headerLength

  private let log: ByteFile
  private let basis: LogBasis

  /// Counts the pages whose newest committed content is in the log but would be ignored by SQLite.
  /// - Parameters:
  ///   - path: The main file.
  ///   - pageSize: The page size in bytes, 512 to 65536. If the log's header is invalid, pass the page size of the
  ///     database.
  ///   - validFrames: The number of valid frames at the start of the log; 0 when the log's header is invalid.
  /// - Returns: The number of pages; 0 when nothing is lost.
  /// - Throws: `SQLiteFileError` when a file cannot be read.
  static func count(
    inLogOf path: String, pageSize: Int, validFrames: Int
  ) throws(SQLiteFileError) -> Int {
    let log = try ByteFile(path + "-wal")
    let header = ContiguousArray(try log.bytes(at: 0, count: headerLength))
    let basis =
      if let header = try? LogHeader(parsing: header.rawSpan) { LogBasis(header) } else {
        try LogBasis(guessing: log, pageSize: pageSize)
      }
    guard let basis, basis.pageSize == pageSize, validFrames >= 0 else { return 0 }
    let main = try ByteFile(path)
    var count = 0
    for (page, offset) in try LostFrames(log: log, basis: basis).lost(after: validFrames) {
      let stored = try main.bytes(at: Int64(page - 1) * Int64(pageSize), count: pageSize)
      if try stored != log.bytes(at: offset, count: pageSize) { count += 1 }
    }
    return count
  }

  static func isSound(header: [UInt8]) -> Bool {
    (try? LogHeader(parsing: ContiguousArray(header).rawSpan)) != nil
  }

  /// Returns the pages that have committed content in frames that SQLite would not read. The value for a page is the
  /// offset in the log of its newest such content.
  private func lost(after validFrames: Int) throws(SQLiteFileError) -> [UInt32: Int64] {
    var lost: [UInt32: (offset: Int64, commit: Int)] = [:]
    var pending: [UInt32: Int64] = [:]
    // The size of the database in pages after each commit.
    var sizes: [UInt32] = []
    // Frames with other salts are left over from before the log was last restarted.
    var salts = basis.salts
    var before = validFrames == 0 ? basis.headerSum : nil
    var offset = basis.firstFrame + Int64(validFrames) * Int64(basis.stride)
    while true {
      let bytes = ContiguousArray(try log.bytes(at: offset, count: basis.stride))
      guard bytes.count == basis.stride else { break }
      let frame = bytes.rawSpan
      let page = frame.uint32(at: 0)
      let stored = LogChecksum(
        isBigEndian: basis.isBigEndian, first: frame.uint32(at: 16), second: frame.uint32(at: 20))
      before?.add(frame.part(0, 8))
      before?.add(frame.part(WriteAheadLog.frameHeaderLength, basis.pageSize))
      if before == stored, page > 0, salts == nil || salts == frame.uint64(at: 8) {
        salts = frame.uint64(at: 8)
        pending[page] = offset + Int64(WriteAheadLog.frameHeaderLength)
        let size = frame.uint32(at: 4)
        if size > 0 {
          for (page, offset) in pending { lost[page] = (offset, sizes.count) }
          sizes.append(size)
          pending.removeAll()
        }
      }
      before = stored
      offset += Int64(basis.stride)
    }
    // The content of a page is not lost if its own commit or a later one leaves the database too small for the page.
    for index in sizes.indices.dropLast().reversed() {
      sizes[index] = min(sizes[index], sizes[index + 1])
    }
    return lost.filter { $0.key <= sizes[$0.value.commit] }.mapValues { $0.offset }
  }
}
