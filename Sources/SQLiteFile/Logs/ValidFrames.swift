/// The frames of a write-ahead log that SQLite reads: those up to the last commit before the first invalid frame (file
/// format, section 4.4). Later frames of the same generation are only counted. If the caller includes uncommitted
/// frames, the later frames that match their checksums are used as well.
struct ValidFrames {
  private let file: ByteFile
  private let mainSize: Int64
  private(set) var pageSize = 0
  private(set) var checkpointSequence: UInt32 = 0
  private(set) var salt1: UInt32 = 0
  private(set) var salt2: UInt32 = 0
  private(set) var validFrames = 0
  private(set) var committedFrames = 0
  private(set) var commits = 0
  /// The size of the database in pages after the last commit; 0 when no commit states a plausible size.
  private(set) var databasePageCount: UInt32 = 0
  private(set) var offsets: [UInt32: Int64] = [:]
  private(set) var defect: String?
  /// The number of committed frames after the first invalid frame of the log. SQLite does not read these frames.
  private(set) var lostFrames = 0

  private var limit: UInt32 = 0
  private var pending: [(page: UInt32, offset: Int64)] = []
  private var isValid = true
  private var lastPageCount: UInt32 = 0
  /// The number of frames of this generation after the last commit, including those that do not match their checksums.
  private var unfinishedFrames = 0
  private var impossible = ImpossiblePages()
  private var impossibleSize: UInt32?
  // Frames after the valid ones.
  private var brokenFrame: (index: Int, offset: Int64)?
  private var index = 0
  private var behind: [(page: UInt32, offset: Int64)] = []
  private var behindPageCount: UInt32 = 0
  private var soundBehind = 0
  /// The number of bytes read since the last frame whose salts equal those of the log's header.
  private var strangeBytes = 0

  /// The maximum number of bytes to read in search of a further frame with the salts of the log's header. The count
  /// starts again after each such frame.
  private static let longestGap = 64 << 20

  init(file: ByteFile, mainSize: Int64) {
    self.file = file
    self.mainSize = mainSize
  }

  mutating func run(includeUncommitted: Bool) throws(SQLiteFileError) {
    let headerBytes = ContiguousArray(try file.bytes(at: 0, count: WriteAheadLog.headerLength))
    let header: LogHeader
    do throws(LogHeader.Defect) {
      header = try LogHeader(parsing: headerBytes.rawSpan)
    } catch {
      defect = error.message
      return
    }
    pageSize = header.pageSize
    checkpointSequence = header.checkpointSequence
    salt1 = header.salt1
    salt2 = header.salt2
    limit = PageNumberLimit.highest(mainSize: mainSize, sideSize: file.size, pageSize: pageSize)
    var sum = header.checksum
    let stride = pageSize + WriteAheadLog.frameHeaderLength
    var window = ForwardWindow(file)
    var offset = Int64(WriteAheadLog.headerLength)
    while let start = try window.hold(offset, stride) {
      take(window.bytes.rawSpan.part(start, stride), at: offset, &sum)
      if strangeBytes > Self.longestGap { break }
      offset += Int64(stride)
      index += 1
    }
    databasePageCount = plausible(lastPageCount)
    // If no commit follows, a frame that does not match its checksum is the end of an unfinished transaction: SQLite
    // itself overwrites frames of a transaction, and computes their checksums only at the commit.
    if lostFrames == 0 { brokenFrame = nil }
    guard includeUncommitted else { return }
    for entry in pending + behind {
      offsets[entry.page] = entry.offset
      databasePageCount = max(databasePageCount, entry.page)
    }
    if behindPageCount > 0 {
      databasePageCount = max(databasePageCount, plausible(behindPageCount))
    }
  }

  var findings: [Finding] {
    WriteAheadLog.frameFindings(
      broken: brokenFrame, lostCount: lostFrames, unfinishedCount: unfinishedFrames, impossible,
      impossibleSize)
  }

  private mutating func plausible(_ count: UInt32) -> UInt32 {
    guard count > limit else { return count }
    impossibleSize = count
    let inMain = UInt32(clamping: (mainSize + Int64(pageSize) - 1) / Int64(pageSize))
    return max(inMain, offsets.keys.max() ?? 0)
  }

  /// Adds one frame. `sum`: the checksum up to the previous frame; on return, the checksum up to this frame.
  private mutating func take(_ bytes: RawSpan, at offset: Int64, _ sum: inout LogChecksum) {
    let isOurs = bytes.uint32(at: 8) == salt1 && bytes.uint32(at: 12) == salt2
    let stored = LogChecksum(
      isBigEndian: sum.isBigEndian, first: bytes.uint32(at: 16), second: bytes.uint32(at: 20))
    let page = bytes.uint32(at: 0)
    var isSound = false
    if isOurs, page > 0 {
      sum.add(bytes.part(0, 8))
      sum.add(bytes.part(WriteAheadLog.frameHeaderLength, pageSize))
      isSound = sum == stored
    }
    strangeBytes = isOurs ? 0 : strangeBytes + bytes.byteCount
    if isValid, !isSound {
      isValid = false
      brokenFrame = (index, offset)
    }
    // After a broken frame, each frame is checked against the checksum that is stored in the previous frame.
    if !isValid { sum = stored }
    if isOurs { unfinishedFrames += 1 }
    guard isSound else { return }
    let content = offset + Int64(WriteAheadLog.frameHeaderLength)
    if page > limit { impossible.add(page, at: offset) }
    let commit = bytes.uint32(at: 4)
    guard isValid else {
      if page <= limit { behind.append((page, content)) }
      soundBehind += 1
      guard commit > 0 else { return }
      lostFrames = soundBehind
      behindPageCount = commit
      return
    }
    validFrames += 1
    if page <= limit { pending.append((page, content)) }
    guard commit > 0 else { return }
    commits += 1
    committedFrames = validFrames
    unfinishedFrames = 0
    lastPageCount = commit
    for entry in pending { offsets[entry.page] = entry.offset }
    pending.removeAll(keepingCapacity: true)
  }
}
