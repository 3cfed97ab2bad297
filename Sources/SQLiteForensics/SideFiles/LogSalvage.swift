import SQLiteFile

/// All frames of a write-ahead log, including frames that SQLite ignores, whether or not the log's header is intact.
///
/// A frame's checksum continues the checksum stored in the previous frame (file format, section 4.2). So every frame
/// except the first can be checked without the header. The header's checksum can be computed by undoing the checksum of
/// the first frame step by step. It covers 24 bytes of the header, and only the checkpoint sequence number among them
/// is unknown. That number follows from 32 of the checksum's 64 bits; the other 32 bits must agree with the number.
struct LogSalvage {
  /// The status of a frame.
  enum Status: Equatable {
    /// Part of a committed transaction. The associated value is the number of its commit in this log, from 1.
    case committed(Int)
    /// Part of a transaction that comes after the last commit and was never committed.
    case uncommitted
    /// Left from an earlier generation of the log, whose content was checkpointed.
    case stale
    /// Part of the present generation and followed by a commit, but not verified: the frame, an earlier frame, or
    /// another frame of the same transaction does not match its checksum.
    case unverified
  }

  /// A frame of the log, which contains one page.
  struct Frame {
    /// The number of the frame, from 0.
    let index: Int
    /// The offset at which the page's content starts, in bytes from the start of the log.
    let offset: Int64
    /// The page's number, from 1.
    let page: UInt32
    /// If the frame ends a transaction, the size of the database in pages after this transaction; otherwise 0.
    let commitPageCount: UInt32
    /// Both salts, which distinguish generations of the log; the first salt is in the high 32 bits.
    let salts: UInt64
    /// The status of the frame.
    let status: Status
    /// Whether the frame matches its checksum. The checksum depends on the previous frame.
    let isVerified: Bool
  }

  /// The page size in bytes; 0 when no frame could be recognised.
  let pageSize: Int
  /// Whether the header is invalid, so that SQLite ignores the log.
  let headerLost: Bool
  /// Whether more than the header is missing from the start of the log, so that it is not known which generation is the
  /// newest.
  let headLost: Bool
  /// Whether the checksums are computed from big-endian words.
  let isBigEndian: Bool
  /// The checkpoint sequence number in the header. SQLite increases it each time it restarts the log. Nil when the
  /// number is not known.
  let checkpointSequence: UInt32?
  /// The number of valid commits in the log.
  let commitCount: Int
  /// The size of the database in pages after the last commit or, if uncommitted frames are included, after the last of
  /// these. Nil when there is no commit, or when the size is not possible.
  let databasePageCount: UInt32?
  /// For each page number, the offset of the page's content in the newest committed frame of this page, in bytes from
  /// the start of the log. If uncommitted frames are included, they count as newer than the committed ones.
  let pageOffsets: [UInt32: Int64]
  /// The highest page number that is accepted.
  let pageLimit: UInt32
  /// The faults found in the log.
  let findings: [Finding]

  private let firstFrame: Int64
  private let packed: ContiguousArray<PackedFrame>

  /// A log without frames.
  static let empty = LogSalvage()

  private init() {
    pageSize = 0
    headerLost = false
    headLost = false
    isBigEndian = false
    checkpointSequence = nil
    commitCount = 0
    databasePageCount = nil
    pageOffsets = [:]
    pageLimit = 0
    findings = []
    firstFrame = 0
    packed = []
  }

  /// Reads a log once, from start to end.
  ///
  /// - Parameters:
  ///   - file: the log.
  ///   - expected: the page size of the database, which is tried first if the header is lost; nil when it is not known.
  ///   - mainSize: the size of the main file in bytes, which limits the page numbers that are accepted.
  ///   - includeUncommitted: whether ``pageOffsets`` also includes frames after the last commit that match their
  ///     checksums.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  init(
    _ file: ByteFile, pageSize expected: Int?, mainSize: Int64 = 0, includeUncommitted: Bool = false
  ) throws(SQLiteFileError) {
    let head = ContiguousArray(try file.bytes(at: 0, count: WriteAheadLog.headerLength))
    var basis: LogBasis?
    var defect = ""
    do throws(LogHeader.Defect) {
      basis = LogBasis(try LogHeader(parsing: head.rawSpan))
    } catch {
      defect = error.message
    }
    headerLost = basis == nil
    if basis == nil { basis = try LogBasis(guessing: file, pageSize: expected) }
    guard let basis else {
      pageSize = 0
      headLost = false
      isBigEndian = false
      checkpointSequence = nil
      commitCount = 0
      databasePageCount = nil
      pageOffsets = [:]
      pageLimit = 0
      firstFrame = 0
      packed = []
      findings =
        file.size == 0
        ? []
        : [
          Finding(
            .walNoFrames, "the log is not used: \(defect), and no frame is recognisable",
            member: .wal, offset: 0)
        ]
      return
    }
    pageLimit = PageNumberLimit.highest(
      mainSize: mainSize, sideSize: file.size, pageSize: basis.pageSize)
    var scan = LogScan(file, basis, pageLimit: pageLimit)
    try scan.run(includeUncommitted: includeUncommitted)
    pageSize = basis.pageSize
    headLost = basis.headLost
    isBigEndian = basis.isBigEndian
    checkpointSequence = basis.checkpointSequence
    firstFrame = basis.firstFrame
    packed = scan.frames
    commitCount = scan.commits
    databasePageCount = scan.databasePageCount > 0 ? scan.databasePageCount : nil
    pageOffsets = scan.pageOffsets
    findings = scan.findings(headerLost: headerLost, defect: defect)
  }
}

extension LogSalvage: RandomAccessCollection {
  var startIndex: Int { 0 }
  var endIndex: Int { packed.count }

  subscript(index: Int) -> Frame {
    let frame = packed[index]
    let stride = Int64(pageSize + WriteAheadLog.frameHeaderLength)
    return Frame(
      index: index,
      offset: firstFrame + Int64(index) * stride + Int64(WriteAheadLog.frameHeaderLength),
      page: frame.page, commitPageCount: frame.commitPageCount, salts: frame.salts,
      status: frame.status, isVerified: frame.isVerified)
  }
}

/// A frame in 20 bytes. It is packed because a log may have millions of frames.
struct PackedFrame: BitwiseCopyable {
  static let committed: UInt32 = 0
  static let uncommitted: UInt32 = 1
  static let stale: UInt32 = 2
  static let unverified: UInt32 = 3
  static let highestCommit = UInt32(1) << 29 - 1

  let page: UInt32
  let commitPageCount: UInt32
  private let salt1: UInt32
  private let salt2: UInt32
  /// From the lowest bit: one bit that is set if the frame matches its checksum, two bits for the kind, and the
  /// remaining bits for the number of the commit.
  private var state: UInt32

  init(page: UInt32, commitPageCount: UInt32, salts: UInt64, kind: UInt32, isVerified: Bool) {
    self.page = page
    self.commitPageCount = commitPageCount
    salt1 = UInt32(truncatingIfNeeded: salts >> 32)
    salt2 = UInt32(truncatingIfNeeded: salts)
    state = kind << 1 | (isVerified ? 1 : 0)
  }

  var salts: UInt64 { UInt64(salt1) << 32 | UInt64(salt2) }
  var isVerified: Bool { state & 1 == 1 }

  /// Returns a copy of the frame with another kind, and without the number of its commit.
  func marked(_ kind: UInt32) -> PackedFrame {
    PackedFrame(
      page: page, commitPageCount: commitPageCount, salts: salts, kind: kind,
      isVerified: isVerified)
  }

  mutating func commit(_ number: Int) {
    let number = UInt32(clamping: number)
    state = min(number, Self.highestCommit) << 3 | Self.committed << 1 | state & 1
  }

  var status: LogSalvage.Status {
    switch state >> 1 & 3 {
    case Self.committed: .committed(Int(state >> 3))
    case Self.uncommitted: .uncommitted
    case Self.stale: .stale
    default: .unverified
    }
  }
}

extension LogIndex {
  /// Creates an index of a log's committed frames, ordered by page number, then by frame number.
  init(_ log: LogSalvage) {
    var keys = ContiguousArray<UInt64>()
    for frame in log where frame.status.isCommitted && frame.page <= log.pageLimit {
      guard let index = UInt32(exactly: frame.index) else { break }
      keys.append(UInt64(frame.page) << 32 | UInt64(index))
    }
    keys.sort()
    self.init(
      firstOffset: log.first?.offset ?? 0,
      stride: Int64(log.pageSize + WriteAheadLog.frameHeaderLength), keys: keys)
  }
}
