import SafeText

/// The `-wal` beside a database (file format, section 4 "The Write-Ahead Log").
package struct WriteAheadLog: Sendable, Equatable {
  package static let headerLength = 32
  package static let frameHeaderLength = 24

  /// Size of the file in bytes.
  package let sizeBytes: Int64
  /// Page size from the log's header; 0 when the header is not valid.
  package let pageSize: Int
  /// The checkpoint sequence number in the log's header, which grows by one with each restart of the log.
  package let checkpointSequence: UInt32
  /// First salt, copied into each frame that belongs to this generation.
  package let salt1: UInt32
  /// Second salt, copied into each frame that belongs to this generation.
  package let salt2: UInt32
  /// Number of frames up to and including the last commit.
  package let committedFrameCount: Int
  /// Number of committed transactions, which is the number of valid commit frames.
  package let commitCount: Int
  /// Valid frames after the last commit: a transaction that was never finished.
  package let uncommittedFrameCount: Int
  /// Whole frames after the valid ones: left over from an earlier generation, or damaged.
  package let staleFrameCount: Int
  /// Size of the database in pages after the last commit; 0 when there is no commit.
  package let databasePageCount: UInt32
  /// Why the whole log is not used; nil when its header is valid.
  package let defect: String?

  /// Committed frames of this generation after a frame that does not match its checksum. SQLite does not read them
  /// although they were committed. 0 in an intact log.
  package let committedFramesBehindBreak: Int

  /// The offset in the log of each page's newest content, by page number.
  package let pageOffsets: [UInt32: Int64]
  /// The findings about the log; empty when it has a ``defect``.
  package let findings: [Finding]

  /// Reads the whole log once, checking salts and checksums.
  ///
  /// - Parameters:
  ///   - file: the log.
  ///   - mainSize: size of the main file in bytes, which bounds the page numbers.
  ///   - includeUncommitted: whether to use frames after the last commit, including those after a broken frame.
  /// - Throws: ``SQLiteFileError`` when the device fails; a file that is not a log has a ``defect``.
  package init(parsing file: ByteFile, mainSize: Int64, includeUncommitted: Bool)
    throws(SQLiteFileError)
  {
    var scan = ValidFrames(file: file, mainSize: mainSize)
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
    committedFramesBehindBreak = scan.lostFrames
    findings = scan.findings
  }

  /// The finding for frames after the last commit; nil when there are none.
  package static func uncommittedFinding(_ count: Int) -> Finding? {
    guard count > 0 else { return nil }
    return Finding(
      .walUncommitted,
      counted(count, "frame belongs", "frames belong")
        + " to a transaction that was never finished",
      severity: .note, member: .wal)
  }

  /// The finding for a log whose page size differs from the database's.
  package static func otherPageSize(_ size: Int, _ databasePageSize: Int) -> Finding {
    Finding(
      .walOtherPageSize,
      "the log has pages of \(size) bytes, the database of \(databasePageSize); the log is not used",
      member: .wal, offset: 8)
  }

  /// The finding for a frame that ends the valid frames although commits of the same generation follow.
  package static func brokenFinding(frame: Int, offset: Int64, committedBehind count: Int)
    -> Finding
  {
    Finding(
      .walBrokenChain,
      "frame \(frame) does not match its checksum, so SQLite reads the log only up to there; \(counted(count, "committed frame")) after it with newer content \(count == 1 ? "is" : "are") not read (--wal all reads them, rows --deleted lists them)",
      member: .wal, offset: offset)
  }

  /// The finding for a commit that gives the database an impossible size.
  package static func impossibleSize(_ count: UInt32) -> Finding {
    Finding(
      .walBadPageCount,
      "a commit says that the database has \(counted(count, "page")), far more than the main file and the log can hold",
      member: .wal)
  }
}
