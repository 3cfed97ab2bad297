import SQLiteFile

/// Counts what SQLite would silently drop from a write-ahead log. SQLite reads the log up to the first invalid frame,
/// and none of it when the header is invalid (SQLite file format, section 4).
///
/// Each frame's checksum continues that of the frame before it. So the frames after the damage still prove that they
/// belong together, and a commit frame among them proves that they were committed. A frame whose content is also in the
/// main file was checkpointed and is not lost.
struct LostFrames {
  static let headerLength = 32
  private static let frameHeaderLength = 24

  private let log: ByteFile
  private let header: [UInt8]
  private let pageSize: Int

  /// The number of pages whose newest committed content SQLite would not see.
  ///
  /// - Parameters:
  ///   - path: The main file.
  ///   - pageSize: The page size in bytes, 512 to 65536; the database's when the log's header is invalid.
  ///   - validFrames: How many frames at the start of the log are valid; 0 when the header is not.
  /// - Returns: 0 when nothing is lost.
  /// - Throws: `SQLiteFileError` when a file cannot be read.
  static func count(
    inLogOf path: String, pageSize: Int, validFrames: Int
  ) throws(SQLiteFileError) -> Int {
    let log = try ByteFile(path + "-wal")
    let header = try log.bytes(at: 0, count: headerLength)
    guard header.count == headerLength, pageSize >= 512, validFrames >= 0 else { return 0 }
    let scan = LostFrames(log: log, header: header, pageSize: pageSize)
    var lost: [UInt32: Int64] = [:]
    // The magic number says which byte order the checksums use; without it both are tried.
    for order in byteOrder(header).map({ [$0] }) ?? [false, true] where lost.isEmpty {
      lost = try scan.lost(after: validFrames, isBigEndian: order)
    }
    let main = try ByteFile(path)
    var count = 0
    for (page, offset) in lost {
      let stored = try main.bytes(at: Int64(page - 1) * Int64(pageSize), count: pageSize)
      if try stored != log.bytes(at: offset, count: pageSize) { count += 1 }
    }
    return count
  }

  /// Whether the bytes are a valid log header.
  static func isSound(header: [UInt8]) -> Bool {
    guard header.count == headerLength, let order = byteOrder(header) else { return false }
    var sum = LogChecksum(isBigEndian: order)
    sum.add(header, 0..<24)
    return sum == stored(header, at: 24, isBigEndian: order)
  }

  /// The byte offset in the log of each page's newest lost content, by page number.
  private func lost(
    after validFrames: Int, isBigEndian: Bool
  ) throws(SQLiteFileError) -> [UInt32: Int64] {
    let length = pageSize + Self.frameHeaderLength
    var lost: [UInt32: Int64] = [:]
    var pending: [UInt32: Int64] = [:]
    // Frames with other salts are left over from before the log was last restarted.
    var salts = Self.isSound(header: header) ? Array(header[16..<24]) : nil
    var before = Self.stored(header, at: 24, isBigEndian: isBigEndian)
    var offset = Int64(Self.headerLength) + Int64(validFrames) * Int64(length)
    while true {
      let frame = try log.bytes(at: offset, count: length)
      guard frame.count == length else { return lost }
      let page = Self.word(frame, 0)
      let stored = Self.stored(frame, at: 16, isBigEndian: isBigEndian)
      before.add(frame, 0..<8)
      before.add(frame, Self.frameHeaderLength..<length)
      if before == stored, page > 0, salts == nil || salts == Array(frame[8..<16]) {
        salts = Array(frame[8..<16])
        pending[page] = offset + Int64(Self.frameHeaderLength)
        let size = Self.word(frame, 4)
        if size > 0 {
          lost = lost.merging(pending) { _, newer in newer }.filter { $0.key <= size }
          pending.removeAll()
        }
      }
      before = stored
      offset += Int64(length)
    }
  }

  /// Whether checksums read big-endian words; nil without the log's magic number.
  private static func byteOrder(_ header: [UInt8]) -> Bool? {
    let magic = word(header, 0)
    return magic & 0xffff_fffe == 0x377f_0682 ? magic & 1 == 1 : nil
  }

  private static func word(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
    UInt32(bytes[offset]) << 24 | UInt32(bytes[offset + 1]) << 16 | UInt32(bytes[offset + 2]) << 8
      | UInt32(bytes[offset + 3])
  }

  /// The checksum that is stored at an offset.
  private static func stored(
    _ bytes: [UInt8], at offset: Int, isBigEndian: Bool
  ) -> LogChecksum {
    LogChecksum(
      isBigEndian: isBigEndian, first: word(bytes, offset), second: word(bytes, offset + 4))
  }
}
