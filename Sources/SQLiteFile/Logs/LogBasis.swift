/// The properties of a write-ahead log that must be known before its frames can be read. They are taken from the log's
/// header or, if the header is lost, inferred from the frames.
package struct LogBasis {
  package let pageSize: Int
  package let isBigEndian: Bool
  /// The offset of the first frame: 32, unless the start of the log is missing.
  package let firstFrame: Int64
  /// The salts of the newest generation of frames; nil when it is not known which generation is the newest. A
  /// generation consists of the frames that SQLite has written with the same salts. SQLite changes the salts each time
  /// it restarts the log.
  package let salts: UInt64?
  /// The index of the first frame that is used; 0 unless the first frames of the log are damaged.
  package let firstLiveFrame: Int
  /// The checksum of the log header, from which the checksum of the first frame is continued; nil when it is not known.
  package let headerSum: LogChecksum?
  package let checkpointSequence: UInt32?

  package var stride: Int { pageSize + WriteAheadLog.frameHeaderLength }
}

extension LogBasis {
  package init(_ header: LogHeader) {
    pageSize = header.pageSize
    isBigEndian = header.checksum.isBigEndian
    firstFrame = Int64(WriteAheadLog.headerLength)
    salts = UInt64(header.salt1) << 32 | UInt64(header.salt2)
    firstLiveFrame = 0
    headerSum = header.checksum
    checkpointSequence = header.checkpointSequence
  }

  // MARK: - Without a header

  /// The salts of the first intact frame of a log without a header are used only if at most this many damaged bytes
  /// precede the frame. The limit is the maximum page size. A frame behind more damaged bytes may belong to an older
  /// generation of the log.
  private static let largestHeadDamage: Int64 = 65_536
  /// The highest plausible checkpoint sequence number of a log. If a higher number is computed from the checksum of a
  /// frame, the frame counts as a chance match.
  private static let highestSequence: UInt32 = 1 << 24

  /// Infers the page size and the other properties of a log from its frames, without the log header. Nil when no frame
  /// matches its checksum.
  package init?(guessing file: ByteFile, pageSize expected: Int?) throws(SQLiteFileError) {
    let sizes = DatabaseHeader.pageSizes(first: expected)
    let head = ContiguousArray(try file.bytes(at: 0, count: 4 * 65_560 + 65_536))
    let bytes = head.rawSpan
    for size in sizes {
      if let basis = Self.fromFirstFrame(bytes, size) ?? Self.fromPair(bytes, size) {
        self = basis
        return
      }
    }
    for size in sizes {
      if let basis = Self.atAnyPlace(bytes, size) {
        self = basis
        return
      }
    }
    return nil
  }

  /// Infers the basis of a log without a readable header from the first frame. The checksum of the first frame
  /// continues the checksum of the log header. So the checksum of the log header is computed backwards from that of the
  /// frame. The result is accepted if a log header with this page size and the frame's salts has this checksum.
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
      // The header's checksum, computed forwards from zero over the magic number, the version and the page size, gives
      // the checkpoint sequence number.
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

  /// Infers the basis of a log without a header from two adjacent frames: the first such pair in which the checksum of
  /// the second frame continues that of the first. SQLite writes the newest generation from the start of the log, so
  /// these frames are of the newest generation unless a frame before them has a newer salt.
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

  /// Whether `salt` belongs to a later generation of the log than `other`. Each of the two is a frame's first salt,
  /// which SQLite increments each time it restarts the log. A difference of more than 2^20 is taken to be a
  /// coincidence.
  package static func isNewer(_ salt: UInt32, than other: UInt32) -> Bool {
    (1...1 << 20).contains(salt &- other)
  }

  /// Infers the properties of a log whose start is missing. Searches at any offset for two adjacent frames with equal
  /// salts and a matching checksum; nil if there are no such frames.
  private static func atAnyPlace(_ bytes: RawSpan, _ pageSize: Int) -> LogBasis? {
    let stride = pageSize + WriteAheadLog.frameHeaderLength
    // Content that repeats from page to page can look like salts, so checksums are computed over at most 64 MiB.
    var tries = (64 << 20) / pageSize
    // More than one stride is searched, because the first pair of frames may be torn or may belong to two generations.
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

  /// Returns the byte order in which the checksums of a write-ahead log are computed: true for big-endian, false for
  /// little-endian. For each byte order, the checksum of the frame after `start` is computed from the checksum of the
  /// frame at `start`. Nil if the result is wrong in both byte orders.
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
