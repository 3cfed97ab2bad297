package import SQLiteFile

/// The states of a database that its write-ahead log holds: before the log, and after each of its commits.
package final class LogStates {
  /// A transaction in the log.
  package struct Commit: Sendable {
    /// The number of the commit, from 1.
    package let number: Int
    /// The number of frames that the commit wrote.
    package let frameCount: Int
    /// The pages that the commit wrote, in order of their numbers.
    package let pages: [UInt32]
    /// Size of the database in pages after the commit.
    package let databasePageCount: UInt32
    /// The number of log frames up to and including the commit.
    let endFrame: UInt32
  }

  /// Frames that belong to no state.
  package struct Remainder: Sendable {
    /// What they are.
    package enum Kind: String, Sendable {
      /// From a transaction that was never committed.
      case uncommitted
      /// From an earlier generation of the log.
      case stale
      /// From this generation, after a frame that does not match its checksum.
      case unverified
    }

    /// What they are.
    package let kind: Kind
    /// Both salts of the generation.
    package let salts: UInt64
    /// The number of frames.
    package let frameCount: Int
    /// The number of frames that commit a transaction.
    package let commitCount: Int
    /// The number of frames that match their checksums.
    package let verifiedCount: Int
  }

  /// The commits, oldest first.
  package let commits: [Commit]
  /// Frames that belong to no state, in the order of the file; for a log with very many generations only the first
  /// ones.
  package let remainders: [Remainder]
  /// What is wrong with log and journal.
  package let findings: FindingList

  private let path: String
  private let main: ByteFile
  private let pageSize: Int
  private let index: LogIndex?
  private let logFile: ByteFile?
  private let under: [PageReader.Overlay]
  private let journalPageCount: UInt32?

  private static let maxRemainders = 1000

  /// Reads the log and the journal of a database that can be opened.
  package init(of database: SQLiteDatabase) throws(SQLiteFileError) {
    path = database.path
    main = try ByteFile(path)
    pageSize = database.header.pageSize
    let sides = try SideFiles(beside: path, main: main, pageSize: pageSize)
    under = sides.overlays.filter { $0.member == .journal }
    journalPageCount = under.isEmpty ? nil : sides.journal?.databasePageCount
    findings = sides.findings
    logFile = sides.files[.wal]
    let usable = sides.log.flatMap { $0.pageSize == database.header.pageSize ? $0 : nil }
    index = usable.map(LogIndex.init)
    var commits: [Commit] = []
    var remainders: [Remainder] = []
    var pages: Set<UInt32> = []
    var frameCount = 0
    for frame in usable ?? LogSalvage.empty {
      switch frame.status {
      case .committed(let number):
        if frame.page <= usable?.pageLimit ?? 0 { pages.insert(frame.page) }
        frameCount += 1
        guard frame.commitPageCount > 0 else { continue }
        commits.append(
          Commit(
            number: number, frameCount: frameCount, pages: pages.sorted(),
            databasePageCount: min(frame.commitPageCount, usable?.pageLimit ?? 0),
            endFrame: UInt32(clamping: frame.index + 1)))
        pages = []
        frameCount = 0
      case .uncommitted: Self.add(frame, .uncommitted, to: &remainders)
      case .stale: Self.add(frame, .stale, to: &remainders)
      case .unverified: Self.add(frame, .unverified, to: &remainders)
      }
    }
    self.commits = commits
    self.remainders = remainders
  }

  private static func add(
    _ frame: LogSalvage.Frame, _ kind: Remainder.Kind, to remainders: inout [Remainder]
  ) {
    var before: Remainder?
    if let last = remainders.last, last.kind == kind,
      last.salts == frame.salts || remainders.count >= maxRemainders
    {
      before = last
      remainders.removeLast()
    }
    guard before != nil || remainders.count < maxRemainders else { return }
    remainders.append(
      Remainder(
        kind: kind, salts: before?.salts ?? frame.salts, frameCount: (before?.frameCount ?? 0) + 1,
        commitCount: (before?.commitCount ?? 0) + (frame.commitPageCount > 0 ? 1 : 0),
        verifiedCount: (before?.verifiedCount ?? 0) + (frame.isVerified ? 1 : 0)))
  }

  /// The database as it was after a commit; commit 0 is the state without the log.
  ///
  /// - Throws: ``SQLiteFileError`` when the device fails, when there was no database yet, or when its page 1 cannot
  ///   be read.
  package func database(after commit: Int) throws(SQLiteFileError) -> SQLiteDatabase {
    var pageCount = journalPageCount
    var overlays = under
    if commit > 0, commit <= commits.count, let logFile, var index {
      pageCount = commits[commit - 1].databasePageCount
      index.frameLimit = commits[commit - 1].endFrame
      overlays.insert(
        PageReader.Overlay(file: logFile, member: .wal, offsets: [:], history: index), at: 0)
    }
    let place = overlays.lazy.compactMap { overlay in
      overlay.offset(of: 1).map { (overlay.file, $0) }
    }.first
    let bytes = ContiguousArray(
      try (place?.0 ?? main).bytes(at: place?.1 ?? 0, count: DatabaseHeader.length))
    guard let header = try? DatabaseHeader(parsing: bytes.rawSpan), header.pageSize == pageSize
    else {
      throw SQLiteFileError(
        .badHeader, "there is no readable page 1 after commit \(commit) of the log", path: path)
    }
    let mainPages = UInt32(clamping: (main.size + Int64(pageSize) - 1) / Int64(pageSize))
    return try SQLiteDatabase(
      SQLiteDatabase.Parts(
        path: path, logView: .committed, main: main, header: header, overlays: overlays,
        pageCount: pageCount ?? (header.isPageCountValid ? header.pageCount : mainPages), log: nil,
        journal: nil, findings: FindingList()))
  }
}
