import SQLiteFile

/// All frames of a write-ahead log, including those that SQLite ignores. They are found even if the log's header is
/// damaged.
///
/// The checksum of a frame continues the checksum of the previous frame (file format, section 4.2), so only the first
/// frame needs the header. For the first frame, the header's checksum is computed backwards from the frame's own
/// checksum. The checkpoint sequence number is the only unknown part of the header. It follows from 32 bits of the
/// checksum, and the other 32 bits must confirm it.
///
/// Frames with the same salts form a generation. When SQLite restarts a log, it chooses new salts and overwrites the
/// old frames one by one, so frames of older generations may remain at the end of the log.
struct LogSalvage {
  enum Status: Equatable {
    /// The frame is in a committed transaction. The value is the number of its commit in this log, from 1.
    case committed(Int)
    /// The frame comes after the last commit, and its transaction was never committed.
    case uncommitted
    /// The frame belongs to an earlier generation of the log, which was checkpointed before SQLite restarted the log.
    case stale
    /// The frame belongs to the newest generation of the log, but SQLite ignores it because of a wrong checksum. The
    /// wrong checksum is that of the frame itself, of an earlier frame, or of another frame of the same transaction.
    case unverified
  }

  struct Frame {
    /// The frame number, from 0.
    let index: Int
    /// The offset of the page's content, in bytes from the start of the log.
    let offset: Int64
    /// The page number, from 1.
    let page: UInt32
    /// The size of the database in pages after the commit, if this frame is the last of its transaction; otherwise 0.
    let commitPageCount: UInt32
    /// The two salts of the frame's generation; salt-1 is in the high 32 bits.
    let salts: UInt64
    let status: Status
    /// Whether the frame matches its checksum, which depends on the previous frame.
    let isVerified: Bool
  }

  /// The page size in bytes; 0 when no frame could be recognised.
  private(set) var pageSize = 0
  /// Whether the header is invalid, so that SQLite ignores the log.
  let headerLost: Bool
  /// Whether the salts of the newest generation of frames are unknown (see ``LogSalvage``), because neither the log's
  /// header nor any frame shows them.
  private(set) var headLost = false
  /// The checkpoint sequence number, which SQLite increments each time that it restarts the log; nil when the number is
  /// not known.
  private(set) var checkpointSequence: UInt32?
  /// The number of valid commits.
  private(set) var commitCount = 0
  /// The size of the database in pages, as the last commit in the log states it. If uncommitted frames are included,
  /// the pages of these frames are included too. Nil when the log has neither a commit nor an included uncommitted
  /// frame, or when a commit frame states a size above ``pageLimit``.
  private(set) var databasePageCount: UInt32?
  /// For each page, by page number: the offset of the page's content in the last committed frame of the page. If
  /// uncommitted frames are included, the last uncommitted frame of the page takes precedence.
  private(set) var pageOffsets: [UInt32: Int64] = [:]
  /// The highest page number that is accepted in a frame.
  private(set) var pageLimit: UInt32 = 0
  private(set) var findings: [Finding] = []

  private var firstFrame: Int64 = 0
  private var packed: ContiguousArray<PackedFrame> = []

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
      if file.size > 0 {
        findings.append(
          Finding(
            .walNoFrames, "the log is not used: \(defect), and no frame is recognisable",
            member: .wal, offset: 0))
      }
      return
    }
    pageLimit = PageNumberLimit.highest(
      mainSize: mainSize, sideSize: file.size, pageSize: basis.pageSize)
    var scan = LogScan(file, basis, pageLimit: pageLimit)
    try scan.run(includeUncommitted: includeUncommitted)
    pageSize = basis.pageSize
    headLost = basis.headLost
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

/// A frame of the write-ahead log, packed into 20 bytes because a log may have millions of frames.
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
  /// Three values in one word: ``isVerified`` in the lowest bit, the kind of the frame in the next two bits, and the
  /// number of its commit in the upper 29 bits.
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

  /// Replaces the kind of the frame by `kind`, and removes the commit number.
  mutating func mark(_ kind: UInt32) { state = kind << 1 | state & 1 }

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
  /// Creates the index of the committed frames of a log, ordered by page number, then by frame number.
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
