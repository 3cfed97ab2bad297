import SafeText

/// The `-wal` beside a database (file format, section 4 "The Write-Ahead Log").
package struct WriteAheadLog: Sendable, Equatable {
  package static let headerLength = 32
  package static let frameHeaderLength = 24

  package let sizeBytes: Int64
  /// The page size in the log's header, in bytes; 0 when the header is not valid.
  package let pageSize: Int
  /// The checkpoint sequence number in the log's header. SQLite increments it each time it restarts the log.
  package let checkpointSequence: UInt32
  /// The first salt. SQLite copies it and ``salt2`` into each frame of this generation.
  package let salt1: UInt32
  package let salt2: UInt32
  /// The number of frames up to and including the last commit.
  package let committedFrameCount: Int
  /// The number of committed transactions, which is the number of valid commit frames.
  package let commitCount: Int
  /// The number of valid frames after the last commit, which belong to a transaction that was never finished.
  package let uncommittedFrameCount: Int
  /// The number of complete frames after the valid frames. These frames are left from an earlier generation, or come
  /// after a broken frame.
  package let staleFrameCount: Int
  /// The size of the database in pages after the last commit. Larger if uncommitted frames are used and have higher
  /// page numbers. 0 if no frame is used.
  package let databasePageCount: UInt32
  /// The reason why no frame of the log is used; nil when the log's header is valid.
  package let defect: String?

  /// The number of committed frames of this generation after a frame that does not match its checksum; 0 for an intact
  /// log. SQLite does not read these frames.
  package let committedFramesBehindBreak: Int

  /// For each page number, the offset in the log of the page's newest content.
  package let pageOffsets: [UInt32: Int64]
  /// The findings about the log; empty when there is a ``defect``.
  package let findings: [Finding]

  /// Reads the whole log once, and checks salts and checksums.
  ///
  /// - Parameters:
  ///   - file: the log.
  ///   - mainSize: the size of the main file in bytes, which limits the page numbers that are accepted.
  ///   - includeUncommitted: whether to use frames after the last commit, including frames after a broken frame.
  /// - Throws: ``SQLiteFileError`` when the device fails. A file that is no log sets ``defect``.
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
    let whole = scan.defect == nil ? Int((file.size - Int64(Self.headerLength)) / frameLength) : 0
    staleFrameCount = max(0, whole - scan.validFrames)
    databasePageCount = scan.databasePageCount
    defect = scan.defect
    pageOffsets = scan.offsets
    committedFramesBehindBreak = scan.lostFrames
    findings = scan.findings
  }

  package static func otherPageSize(_ size: Int, _ databasePageSize: Int) -> Finding {
    Finding(
      .walOtherPageSize,
      "the page size is \(size) bytes in the log and \(databasePageSize) in the database; the log is not used",
      member: .wal, offset: 8)
  }

  /// Returns the findings about the frames of a log.
  ///
  /// `broken`: the broken frame, at which SQLite stops reading; nil for an intact log.
  /// `lostCount`: the number of committed frames of the same generation after the broken frame.
  /// `unfinishedCount`: the number of frames after the last commit.
  /// `impossibleSize`: the impossibly high page count that a commit states; nil if no commit does.
  package static func frameFindings(
    broken: (index: Int, offset: Int64)?, lostCount: Int, unfinishedCount: Int,
    _ impossible: ImpossiblePages, _ impossibleSize: UInt32?
  ) -> [Finding] {
    var findings: [Finding] = []
    if let broken {
      findings.append(
        Finding(
          .walBrokenChain,
          "frame \(broken.index) does not match its checksum, so SQLite reads the log only up to that frame; \(counted(lostCount, "committed frame")) after it with newer content \(lostCount == 1 ? "is" : "are") not read (the option --wal all reads them, lifeboat rows --deleted lists them)",
          member: .wal, offset: broken.offset))
    } else if unfinishedCount > 0 {
      findings.append(
        Finding(
          .walUncommitted,
          counted(unfinishedCount, "frame belongs", "frames belong")
            + " to a transaction that was never finished",
          severity: .note, member: .wal))
    }
    if let finding = impossible.finding(in: .wal) { findings.append(finding) }
    if let impossibleSize {
      findings.append(
        Finding(
          .walBadPageCount,
          "a commit says that the database has \(counted(impossibleSize, "page")), far more than the main file and the log can hold",
          member: .wal))
    }
    return findings
  }
}
