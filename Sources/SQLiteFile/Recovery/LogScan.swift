/// Goes through the frames of a log once and says of each what it is.
struct LogScan {
  private(set) var frames = ContiguousArray<PackedFrame>()
  private(set) var pageOffsets: [UInt32: Int64] = [:]
  private(set) var commits = 0
  private(set) var databasePageCount: UInt32 = 0

  private let file: ByteFile
  private let basis: LogBasis
  private var isLive: Bool
  /// The first frame behind the last commit.
  private var pendingStart = 0
  /// The first frame that ends the valid ones although it has their salts.
  private var brokenFrame: Int?
  private var lostVerifiedCount = 0
  private var liveCount = 0
  private var emptyCount = 0

  /// Zeros past which nothing more is looked for, in bytes.
  private static let longestHole = 16 << 20

  init(_ file: ByteFile, _ basis: LogBasis) {
    self.file = file
    self.basis = basis
    isLive = basis.salts != nil
    pendingStart = basis.firstLiveFrame
  }

  mutating func run() throws(SQLiteFileError) {
    let stride = basis.stride
    var window = ForwardWindow(file)
    var before = basis.headerSum
    var offset = basis.firstFrame
    while let start = try window.hold(offset, stride) {
      let bytes = window.bytes.rawSpan
      take(bytes.part(start, stride), &before)
      offset += Int64(stride)
      // A hole that is as large as you like costs nothing on disk.
      let isEmpty = frames.last.map { $0.page == 0 && $0.salts == 0 } ?? false
      emptyCount = isEmpty ? emptyCount + 1 : 0
      if emptyCount * stride > Self.longestHole { break }
    }
    frames.removeLast(emptyCount)
  }

  /// Takes one frame; `before` is the checksum that the frame before it has stored.
  private mutating func take(_ bytes: RawSpan, _ before: inout LogChecksum?) {
    let index = frames.count
    let page = bytes.uint32(at: 0)
    let commitPageCount = bytes.uint32(at: 4)
    let salts = bytes.uint64(at: 8)
    let stored = LogChecksum(
      isBigEndian: basis.isBigEndian, first: bytes.uint32(at: 16), second: bytes.uint32(at: 20))
    var isVerified = false
    if var sum = before, page > 0 {
      sum.add(bytes.part(0, 8))
      sum.add(bytes.part(WriteAheadLog.frameHeaderLength, basis.pageSize))
      isVerified = sum == stored
    }
    before = stored
    let isOfGeneration = salts == basis.salts
    if isLive, index >= basis.firstLiveFrame, !(isVerified && isOfGeneration) {
      isLive = false
      if isOfGeneration { brokenFrame = index }
    }
    let isCounted = isLive && index >= basis.firstLiveFrame
    if brokenFrame != nil, isOfGeneration, isVerified { lostVerifiedCount += 1 }
    let kind =
      isCounted
      ? PackedFrame.uncommitted : isOfGeneration ? PackedFrame.unverified : PackedFrame.stale
    frames.append(
      PackedFrame(
        page: page, commitPageCount: commitPageCount, salts: salts, kind: kind,
        isVerified: isVerified))
    guard isCounted else { return }
    liveCount += 1
    guard commitPageCount > 0 else { return }
    commits += 1
    databasePageCount = commitPageCount
    for number in pendingStart...index {
      frames[number].commit(commits)
      pageOffsets[frames[number].page] =
        basis.firstFrame + Int64(number) * Int64(basis.stride)
        + Int64(WriteAheadLog.frameHeaderLength)
    }
    pendingStart = index + 1
  }

  // MARK: - What is wrong

  func findings(headerLost: Bool, defect: String) -> [Finding] {
    var findings: [Finding] = []
    if headerLost {
      if basis.headLost {
        findings.append(
          Finding(
            "wal.headLost",
            "the log's beginning is missing; its \(frames.count) frames are older versions of pages, not the newest",
            member: .wal, offset: 0))
      } else {
        findings.append(
          Finding(
            "wal.headerLost",
            "the log's header is lost (\(defect)); its frames have been read by their own checksums, with pages of \(basis.pageSize) bytes",
            member: .wal, offset: 0))
      }
      if basis.firstLiveFrame > 0 {
        findings.append(
          Finding(
            "wal.framesLost",
            "the first \(basis.firstLiveFrame) frames are ruined too; pages that only they had are older than the rest",
            member: .wal, offset: Int64(WriteAheadLog.headerLength)))
      }
    }
    if let brokenFrame {
      findings.append(
        Finding(
          "wal.brokenChain",
          "frame \(brokenFrame) does not agree with its checksum; it and what follows does not count (\(lostVerifiedCount) sound frames among it)",
          member: .wal, offset: basis.firstFrame + Int64(brokenFrame) * Int64(basis.stride)))
    }
    let uncommitted =
      basis.headLost ? 0 : max(0, liveCount - max(0, pendingStart - basis.firstLiveFrame))
    if let finding = WriteAheadLog.uncommittedFinding(uncommitted) { findings.append(finding) }
    return findings
  }
}
