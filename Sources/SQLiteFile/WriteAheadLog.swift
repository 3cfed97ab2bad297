/// The `-wal` beside a database (file format, section 4 "The Write-Ahead Log").
public struct WriteAheadLog: Sendable, Equatable {
  static let headerLength = 32
  static let frameHeaderLength = 24

  /// Size of the file in bytes.
  public let sizeBytes: Int64
  /// Page size from the log's header; 0 when the header is not valid.
  public let pageSize: Int
  /// Counts the restarts of the log.
  public let checkpointSequence: UInt32
  /// First salt, copied into each frame that belongs to this generation.
  public let salt1: UInt32
  /// Second salt.
  public let salt2: UInt32
  /// Frames up to and with the last commit.
  public let committedFrameCount: Int
  /// Number of commits among them.
  public let commitCount: Int
  /// Valid frames after the last commit: a transaction that was never finished.
  public let uncommittedFrameCount: Int
  /// Whole frames behind the valid ones: left over from an earlier generation, or damaged.
  public let staleFrameCount: Int
  /// Size of the database in pages after the last commit; 0 without one.
  public let databasePageCount: UInt32
  /// Why the log as a whole could not be used; nil when its header is valid.
  public let defect: String?

  /// Where each page's newest frame keeps its content, in bytes from the start of the log.
  let pageOffsets: [UInt32: Int64]

  /// Reads the whole log once, checking salts and checksums.
  ///
  /// - Parameters:
  ///   - file: the log.
  ///   - includeUncommitted: also take the pages of frames after the last commit.
  /// - Throws: ``SQLiteFileError`` when the device fails; a log that is no log has a ``defect``.
  init(parsing file: ByteFile, includeUncommitted: Bool) throws(SQLiteFileError) {
    var scan = Scan(file: file)
    try scan.run(includeUncommitted: includeUncommitted)
    sizeBytes = file.size
    pageSize = scan.pageSize
    checkpointSequence = scan.checkpointSequence
    salt1 = scan.salt1
    salt2 = scan.salt2
    committedFrameCount = scan.committedFrames
    commitCount = scan.commits
    uncommittedFrameCount = scan.validFrames - scan.committedFrames
    let frameLength = Int64(scan.pageSize + Self.frameHeaderLength)
    let whole =
      scan.defect == nil ? Int((file.size - Int64(Self.headerLength)) / frameLength) : 0
    staleFrameCount = max(0, whole - scan.validFrames)
    databasePageCount = scan.databasePageCount
    defect = scan.defect
    pageOffsets = scan.offsets
  }

  private struct Scan {
    let file: ByteFile
    var pageSize = 0
    var checkpointSequence: UInt32 = 0
    var salt1: UInt32 = 0
    var salt2: UInt32 = 0
    var validFrames = 0
    var committedFrames = 0
    var commits = 0
    var databasePageCount: UInt32 = 0
    var offsets: [UInt32: Int64] = [:]
    var defect: String?

    init(file: ByteFile) { self.file = file }

    mutating func run(includeUncommitted: Bool) throws(SQLiteFileError) {
      let header = try file.bytes(at: 0, count: WriteAheadLog.headerLength)
      guard header.count == WriteAheadLog.headerLength else {
        defect = "shorter than its header"
        return
      }
      var sum = Checksum(isBigEndian: false)
      let headerBytes = ContiguousArray(header)
      readHeader(headerBytes.rawSpan, &sum)
      guard defect == nil else { return }

      let frameLength = pageSize + WriteAheadLog.frameHeaderLength
      let framesPerRead = max(1, 262_144 / frameLength)
      var pending: [(page: UInt32, offset: Int64)] = []
      var offset = Int64(WriteAheadLog.headerLength)
      reading: while true {
        let block = try file.bytes(at: offset, count: framesPerRead * frameLength)
        let frames = block.count / frameLength
        if frames == 0 { break }
        let contiguous = ContiguousArray(block)
        let bytes = contiguous.rawSpan
        for index in 0..<frames {
          let start = index * frameLength
          guard let frame = frame(bytes.part(start, frameLength), &sum) else { break reading }
          validFrames += 1
          pending.append(
            (frame.page, offset + Int64(start + WriteAheadLog.frameHeaderLength)))
          guard frame.commitPageCount > 0 else { continue }
          commits += 1
          committedFrames = validFrames
          databasePageCount = frame.commitPageCount
          for entry in pending { offsets[entry.page] = entry.offset }
          pending.removeAll(keepingCapacity: true)
        }
        offset += Int64(frames * frameLength)
      }
      if includeUncommitted {
        for entry in pending {
          offsets[entry.page] = entry.offset
          databasePageCount = max(databasePageCount, entry.page)
        }
      }
    }

    private mutating func readHeader(_ header: RawSpan, _ sum: inout Checksum) {
      let magic = header.uint32(at: 0)
      guard magic & 0xffff_fffe == 0x377f_0682 else {
        defect = "no write-ahead log: its first four bytes are not the log's"
        return
      }
      guard header.uint32(at: 4) == 3_007_000 else {
        defect = "format version \(header.uint32(at: 4)) is not known"
        return
      }
      let size = Int(header.uint32(at: 8))
      guard size >= 512, size <= 65_536, size & (size - 1) == 0 else {
        defect = "page size \(size) is impossible"
        return
      }
      sum = Checksum(isBigEndian: magic & 1 == 1)
      sum.add(header.part(0, 24))
      guard sum.first == header.uint32(at: 24), sum.second == header.uint32(at: 28) else {
        defect = "the header's checksum does not hold"
        return
      }
      pageSize = size
      checkpointSequence = header.uint32(at: 12)
      salt1 = header.uint32(at: 16)
      salt2 = header.uint32(at: 20)
    }

    /// The frame's page number and commit size, or nil where the valid frames end.
    private func frame(_ bytes: RawSpan, _ sum: inout Checksum)
      -> (page: UInt32, commitPageCount: UInt32)?
    {
      guard bytes.uint32(at: 8) == salt1, bytes.uint32(at: 12) == salt2 else { return nil }
      let page = bytes.uint32(at: 0)
      guard page > 0 else { return nil }
      sum.add(bytes.part(0, 8))
      sum.add(bytes.part(WriteAheadLog.frameHeaderLength, pageSize))
      guard sum.first == bytes.uint32(at: 16), sum.second == bytes.uint32(at: 20) else {
        return nil
      }
      return (page, bytes.uint32(at: 4))
    }
  }

  /// The running checksum of section 4.2 "Checksum Algorithm".
  private struct Checksum {
    let isBigEndian: Bool
    var first: UInt32 = 0
    var second: UInt32 = 0

    init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    /// Adds bytes, a multiple of eight.
    mutating func add(_ bytes: RawSpan) {
      var offset = 0
      let end = bytes.byteCount & ~7
      while offset < end {
        let one = bytes.uint32(at: offset)
        let two = bytes.uint32(at: offset &+ 4)
        first = first &+ (isBigEndian ? one : one.byteSwapped) &+ second
        second = second &+ (isBigEndian ? two : two.byteSwapped) &+ first
        offset &+= 8
      }
    }
  }
}
