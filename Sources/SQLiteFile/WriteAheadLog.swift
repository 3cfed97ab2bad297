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

  /// What to say of frames behind the last commit; nil when there are none.
  static func uncommittedFinding(_ count: Int) -> Finding? {
    guard count > 0 else { return nil }
    return Finding(
      "wal.uncommitted", "\(count) frames belong to a transaction that was never finished",
      severity: .note, member: .wal)
  }

  /// What to say of a log whose pages have another size than the database's.
  static func otherPageSize(_ size: Int, _ databasePageSize: Int) -> Finding {
    Finding(
      "wal.otherPageSize",
      "the log has pages of \(size) bytes, the database of \(databasePageSize); the log is not used",
      member: .wal, offset: 8)
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
      let headerBytes = ContiguousArray(
        try file.bytes(at: 0, count: WriteAheadLog.headerLength))
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
      var sum = header.checksum

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

    /// The frame's page number and commit size, or nil where the valid frames end.
    private func frame(_ bytes: RawSpan, _ sum: inout LogChecksum)
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
}
