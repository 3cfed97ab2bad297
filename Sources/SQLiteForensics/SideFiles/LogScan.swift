import SafeText
import SQLiteFile

/// Reads the frames of a log once, and decides the status of each frame.
struct LogScan {
  private(set) var frames = ContiguousArray<PackedFrame>()
  private(set) var pageOffsets: [UInt32: Int64] = [:]
  private(set) var commits = 0
  /// The size of the database in pages, as the last commit in the log states it. If uncommitted frames are included,
  /// the pages of these frames are included too. 0 when the log has neither a commit nor an included uncommitted frame,
  /// or when a commit frame states a size above ``pageLimit``.
  private(set) var databasePageCount: UInt32 = 0

  private let file: ByteFile
  private let basis: LogBasis
  private var isLive: Bool
  /// The index of the first frame after the last commit.
  private var pendingStart = 0
  /// The index of the first invalid frame. After the scan, this is nil if no later valid frame commits a transaction.
  /// In that case the log simply ends before the invalid frame.
  private var brokenFrame: Int?
  /// The number of valid frames that SQLite ignores because they come after ``brokenFrame``. Frames after the last
  /// commit frame are not counted.
  private var lostFrames = 0
  private var unfinishedFrames = 0
  private var emptyCount = 0
  private let pageLimit: UInt32
  private var impossible = ImpossiblePages()
  private var impossibleSize: UInt32?

  /// The maximum length, in bytes, of a run of empty frames inside the log. A longer run ends the log. A frame is empty
  /// if its page number and its salts are 0.
  private static let longestHole = 16 << 20

  init(_ file: ByteFile, _ basis: LogBasis, pageLimit: UInt32) {
    self.file = file
    self.pageLimit = pageLimit
    self.basis = basis
    isLive = basis.salts != nil
    pendingStart = basis.firstLiveFrame
  }

  mutating func run(includeUncommitted: Bool) throws(SQLiteFileError) {
    let stride = basis.stride
    var window = ForwardWindow(file)
    var before = basis.headerSum
    var offset = basis.firstFrame
    while let start = try window.hold(offset, stride) {
      let bytes = window.bytes.rawSpan
      take(bytes.part(start, stride), &before)
      offset += Int64(stride)
      // A hole in a sparse file can have any size, so the number of consecutive empty frames is limited.
      let isEmpty = frames.last.map { $0.page == 0 && $0.salts == 0 } ?? false
      emptyCount = isEmpty ? emptyCount + 1 : 0
      if emptyCount * stride > Self.longestHole { break }
    }
    frames.removeLast(emptyCount)
    databasePageCount = plausible(databasePageCount)
    if !basis.headLost { judgeRemainder(includeUncommitted) }
    if impossibleSize != nil { databasePageCount = 0 }
  }

  private mutating func plausible(_ count: UInt32) -> UInt32 {
    guard count > pageLimit else { return count }
    impossibleSize = count
    return 0
  }

  /// Decides which frames after the last commit are damaged. A frame with a wrong checksum is damaged only if a later
  /// frame of the same generation commits a transaction. Without such a commit, the wrong checksum proves nothing,
  /// because SQLite may overwrite a frame of an unfinished transaction and update the checksums only at the commit.
  private mutating func judgeRemainder(_ includeUncommitted: Bool) {
    let start = max(pendingStart, basis.firstLiveFrame)
    var sound = 0
    for number in frames.indices
    where number >= brokenFrame ?? .max && frames[number].salts == basis.salts
      && frames[number].isVerified
    {
      sound += 1
      if frames[number].commitPageCount > 0 { lostFrames = sound }
    }
    if lostFrames == 0 {
      brokenFrame = nil
      for number in frames.indices
      where number >= start && frames[number].salts == basis.salts {
        frames[number].mark(PackedFrame.uncommitted)
        unfinishedFrames += 1
      }
    }
    if let brokenFrame, start < brokenFrame {
      // These frames belong to the same committed transaction as the invalid frame.
      for number in start..<brokenFrame { frames[number].mark(PackedFrame.unverified) }
    }
    guard includeUncommitted else { return }
    var last: UInt32 = 0
    for number in frames.indices where number >= start {
      let frame = frames[number]
      guard frame.salts == basis.salts, frame.isVerified, frame.page <= pageLimit else { continue }
      pageOffsets[frame.page] = offset(ofContent: number)
      databasePageCount = max(databasePageCount, frame.page)
      if frame.commitPageCount > 0 { last = frame.commitPageCount }
    }
    databasePageCount = max(databasePageCount, plausible(last))
  }

  private func offset(ofContent number: Int) -> Int64 {
    basis.firstFrame + Int64(number) * Int64(basis.stride)
      + Int64(WriteAheadLog.frameHeaderLength)
  }

  /// Adds one frame. `before`: on entry, the checksum that is stored in the previous frame; on return, the checksum
  /// that is stored in this frame.
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
      brokenFrame = index
    }
    let isCounted = isLive && index >= basis.firstLiveFrame
    if isVerified, page > pageLimit, isOfGeneration {
      impossible.add(page, at: basis.firstFrame + Int64(index) * Int64(basis.stride))
    }
    let kind =
      isCounted
      ? PackedFrame.uncommitted : isOfGeneration ? PackedFrame.unverified : PackedFrame.stale
    frames.append(
      PackedFrame(
        page: page, commitPageCount: commitPageCount, salts: salts, kind: kind,
        isVerified: isVerified))
    guard isCounted, commitPageCount > 0 else { return }
    commits += 1
    databasePageCount = commitPageCount
    for number in pendingStart...index {
      frames[number].commit(commits)
      if frames[number].page <= pageLimit {
        pageOffsets[frames[number].page] = offset(ofContent: number)
      }
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
            .walHeadLost,
            "the log's beginning is missing; \(counted(frames.count, "frame holds", "frames hold")) older versions of pages, not the newest",
            member: .wal, offset: 0))
      } else {
        findings.append(
          Finding(
            .walHeaderLost,
            "the log's header is lost (\(defect)); its frames are verified by their own checksums, with a page size of \(basis.pageSize) bytes",
            member: .wal, offset: 0))
      }
      if basis.firstLiveFrame > 0 {
        findings.append(
          Finding(
            .walFramesLost,
            "\(counted(basis.firstLiveFrame, "frame")) at the start of the log \(basis.firstLiveFrame == 1 ? "is" : "are") damaged; older versions are read of pages that later frames do not hold",
            member: .wal, offset: Int64(WriteAheadLog.headerLength)))
      }
    }
    let broken = brokenFrame.map {
      (index: $0, offset: basis.firstFrame + Int64($0) * Int64(basis.stride))
    }
    return findings
      + WriteAheadLog.frameFindings(
        broken: broken, lostCount: lostFrames, unfinishedCount: unfinishedFrames, impossible,
        impossibleSize)
  }
}

extension LogBasis {
  /// Whether the log has lost both its header and the frames that show the salts of its header. It is then unknown
  /// which generation of frames is the newest (see ``LogSalvage``).
  var headLost: Bool { salts == nil }
}
