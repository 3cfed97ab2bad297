/// What must be known about a write-ahead log before its frames can be read. The facts come from the header or, if the
/// header is lost, from the frames.
package struct LogBasis {
  package let pageSize: Int
  package let isBigEndian: Bool
  /// Where the first frame starts: 32, unless the log's beginning is missing.
  package let firstFrame: Int64
  /// The salts of the newest generation; nil when the newest generation is not known.
  package let salts: UInt64?
  /// Index of the first frame that counts, from 0; above 0 only when the beginning of the log is damaged.
  package let firstLiveFrame: Int
  /// The checksum after the header; the checksum of the first frame continues it. Nil when it is not known.
  package let headerSum: LogChecksum?
  package let checkpointSequence: UInt32?

  package var stride: Int { pageSize + WriteAheadLog.frameHeaderLength }

  /// The basis that a valid header gives.
  package init(_ header: LogHeader) {
    pageSize = header.pageSize
    isBigEndian = header.checksum.isBigEndian
    firstFrame = Int64(WriteAheadLog.headerLength)
    salts = UInt64(header.salt1) << 32 | UInt64(header.salt2)
    firstLiveFrame = 0
    headerSum = header.checksum
    checkpointSequence = header.checkpointSequence
  }

  private init(
    pageSize: Int, isBigEndian: Bool, firstFrame: Int64, salts: UInt64?, firstLiveFrame: Int,
    headerSum: LogChecksum?, checkpointSequence: UInt32?
  ) {
    self.pageSize = pageSize
    self.isBigEndian = isBigEndian
    self.firstFrame = firstFrame
    self.salts = salts
    self.firstLiveFrame = firstLiveFrame
    self.headerSum = headerSum
    self.checkpointSequence = checkpointSequence
  }

  // MARK: - Without a header

  private static let order = [4096, 1024, 2048, 8192, 16_384, 32_768, 65_536, 512]
  /// How many bytes at the start of a log may be damaged before it is uncertain which generation is the newest: the
  /// size of the largest page.
  private static let largestHeadDamage: Int64 = 65_536
  /// The highest plausible restart counter; a larger one is taken for a chance match.
  private static let highestSequence: UInt32 = 1 << 24

  /// Infers the basis from the frames; nil when no frame matches its checksum.
  package init?(guessing file: ByteFile, pageSize expected: Int?) throws(SQLiteFileError) {
    let sizes = (expected.map { [$0] } ?? []) + Self.order.filter { $0 != expected }
    let head = ContiguousArray(try file.bytes(at: 0, count: 4 * 65_560 + 65_536))
    let bytes = head.rawSpan
    for size in sizes where size >= 512 && size <= 65_536 && size & (size - 1) == 0 {
      if let basis = Self.fromFirstFrame(bytes, size) ?? Self.fromPair(bytes, size) {
        self = basis
        return
      }
    }
    for size in sizes where size >= 512 && size <= 65_536 && size & (size - 1) == 0 {
      if let basis = Self.atAnyPlace(bytes, size) {
        self = basis
        return
      }
    }
    return nil
  }

  /// Reads the basis from the first frame alone. Its checksum, computed backwards, must give the checksum of a header
  /// with the same salts.
  private static func fromFirstFrame(_ bytes: RawSpan, _ pageSize: Int) -> LogBasis? {
    let start = WriteAheadLog.headerLength
    let headerLength = WriteAheadLog.frameHeaderLength
    guard start + headerLength + pageSize <= bytes.byteCount,
      bytes.uint32(at: start) > 0, bytes.uint64(at: start + 8) != 0
    else { return nil }
    for isBigEndian in [false, true] {
      var sum = LogChecksum(
        isBigEndian: isBigEndian, first: bytes.uint32(at: start + 16),
        second: bytes.uint32(at: start + 20))
      sum.remove(bytes.part(start + headerLength, pageSize))
      sum.remove(bytes.part(start, 8))
      let headerSum = sum
      sum.remove(bytes.part(start + 8, 8))
      // Computed forwards from zero: magic and version, page size and restart counter.
      let magic = LogHeader.magic | (isBigEndian ? 1 : 0)
      let first = sum.counted(magic)
      let second = sum.counted(LogHeader.formatVersion) &+ first
      let firstThere = first &+ sum.counted(UInt32(pageSize)) &+ second
      let sequence = sum.counted(sum.second &- second &- firstThere)
      guard sum.first == firstThere, sequence <= highestSequence else { continue }
      return LogBasis(
        pageSize: pageSize, isBigEndian: isBigEndian, firstFrame: Int64(start),
        salts: bytes.uint64(at: start + 8), firstLiveFrame: 0, headerSum: headerSum,
        checkpointSequence: sequence)
    }
    return nil
  }

  /// Reads the basis from two adjacent frames, where the checksum of the second continues that of the first. The newest
  /// generation starts the log, so the first pair belongs to that generation, unless an earlier frame has a newer salt.
  private static func fromPair(_ bytes: RawSpan, _ pageSize: Int) -> LogBasis? {
    let stride = pageSize + WriteAheadLog.frameHeaderLength
    var index = 0
    while true {
      let start = WriteAheadLog.headerLength + index * stride
      guard start + 2 * stride <= bytes.byteCount else { return nil }
      if let isBigEndian = order(of: bytes, start, pageSize) {
        let salt = bytes.uint32(at: start + 8)
        let isNewest = !(0..<index).contains {
          isNewer(bytes.uint32(at: WriteAheadLog.headerLength + $0 * stride + 8), than: salt)
        }
        let isNear = Int64(start) <= largestHeadDamage && isNewest
        return LogBasis(
          pageSize: pageSize, isBigEndian: isBigEndian,
          firstFrame: Int64(WriteAheadLog.headerLength),
          salts: isNear ? bytes.uint64(at: start + stride + 8) : nil, firstLiveFrame: index + 1,
          headerSum: nil, checkpointSequence: nil)
      }
      index += 1
    }
  }

  /// Whether the first salt of a log is that of a later generation: SQLite increments this salt at each restart. More
  /// than 2^20 restarts are taken for chance.
  package static func isNewer(_ salt: UInt32, than other: UInt32) -> Bool {
    (1...1 << 20).contains(salt &- other)
  }

  /// Reads the basis from two adjacent frames at any offset, for a log whose beginning is missing.
  private static func atAnyPlace(_ bytes: RawSpan, _ pageSize: Int) -> LogBasis? {
    let stride = pageSize + WriteAheadLog.frameHeaderLength
    // Content that repeats from page to page looks like salts, so at most 64 MiB of checksums are computed.
    var tries = (64 << 20) / pageSize
    // Several strides are tried: the first pair may be torn, or be of two generations.
    for start in 0..<8 * stride {
      guard start + 2 * stride <= bytes.byteCount, tries > 0 else { return nil }
      let salts = bytes.uint64(at: start + 8)
      guard salts != 0, salts == bytes.uint64(at: start + stride + 8),
        bytes.uint32(at: start) < 1 << 28, bytes.uint32(at: start + stride) < 1 << 28
      else { continue }
      tries -= 1
      guard let isBigEndian = order(of: bytes, start, pageSize) else { continue }
      return LogBasis(
        pageSize: pageSize, isBigEndian: isBigEndian, firstFrame: Int64(start % stride), salts: nil,
        firstLiveFrame: 0, headerSum: nil, checkpointSequence: nil)
    }
    return nil
  }

  /// Whether the checksum of the second frame continues that of the first in big-endian byte order; nil when it
  /// continues in neither byte order.
  private static func order(of bytes: RawSpan, _ start: Int, _ pageSize: Int) -> Bool? {
    let next = start + pageSize + WriteAheadLog.frameHeaderLength
    guard bytes.uint32(at: start) > 0, bytes.uint32(at: next) > 0,
      bytes.uint64(at: start + 8) != 0,
      bytes.uint64(at: start + 8) == bytes.uint64(at: next + 8)
    else { return nil }
    for isBigEndian in [false, true] {
      var sum = LogChecksum(
        isBigEndian: isBigEndian, first: bytes.uint32(at: start + 16),
        second: bytes.uint32(at: start + 20))
      sum.add(bytes.part(next, 8))
      sum.add(bytes.part(next + WriteAheadLog.frameHeaderLength, pageSize))
      if sum.first == bytes.uint32(at: next + 16), sum.second == bytes.uint32(at: next + 20) {
        return isBigEndian
      }
    }
    return nil
  }
}
