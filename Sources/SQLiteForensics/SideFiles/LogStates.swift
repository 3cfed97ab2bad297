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
    /// The number of frames from the start of the log to the end of the commit.
    let endFrame: UInt32
  }

  /// Frames that belong to no state.
  package struct Remainder: Sendable {
    /// Why frames belong to no state.
    package enum Kind: String, Sendable {
      /// The frames are from a transaction that was never committed.
      case uncommitted
      /// The frames are from an earlier generation of the log.
      case stale
      /// The frames are from the current generation, but one of them, a frame of their transaction or an earlier frame
      /// does not match its checksum.
      case unverified
    }

    /// Why the frames belong to no state.
    package let kind: Kind
    /// Both salts of the frames' generation, the first salt in the high 32 bits.
    package let salts: UInt64
    /// The number of frames.
    package let frameCount: Int
    /// The number of frames that commit a transaction.
    package let commitCount: Int
    /// The number of frames that match their checksums.
    package let verifiedCount: Int
    /// The number of distinct pages in these frames.
    package let pageCount: Int
  }

  /// The commits, oldest first.
  package let commits: [Commit]
  /// Frames that belong to no state, in the order of the file. Neighbouring frames of one kind and generation are one
  /// entry. After the 1,000th entry, frames of the last entry's kind are added to that entry, and all other frames are
  /// dropped.
  package let remainders: [Remainder]
  /// What is wrong with log and journal.
  package let findings: FindingList

  let path: String
  let main: ByteFile
  /// Page size in bytes.
  package let pageSize: Int
  let logFile: ByteFile?
  /// The log; nil when there is no log, or when its page size is not that of the database.
  let log: LogSalvage?
  let journalFile: ByteFile?
  /// The rollback journal; nil when there is no journal, or when its page size is not that of the database.
  let journal: JournalSalvage?
  /// The number of the last commit that SQLite reads; 0 when SQLite ignores the log.
  package var currentCommit: Int { log?.headerLost == false ? commits.count : 0 }
  private let index: LogIndex?
  private let under: [PageReader.Overlay]
  private let journalPageCount: UInt32?

  /// Reads the log and the journal of a database that can be opened.
  package convenience init(of database: SQLiteDatabase) throws(SQLiteFileError) {
    try self.init(path: database.path, pageSize: database.header.pageSize)
  }

  /// Reads the log and the journal beside the database at `path`, whose pages have `pageSize` bytes.
  ///
  /// - Throws: ``SQLiteFileError`` when a file cannot be read, or when the page size is impossible.
  package init(path: String, pageSize: Int) throws(SQLiteFileError) {
    self.path = path
    self.pageSize = pageSize
    main = try ByteFile(path)
    let sides = try SideFiles(beside: path, main: main, pageSize: pageSize)
    under = sides.overlays.filter { $0.member == .journal }
    journalPageCount = under.isEmpty ? nil : sides.journal?.databasePageCount
    journalFile = sides.files[.journal]
    journal = sides.journal.flatMap { $0.pageSize == pageSize ? $0 : nil }
    findings = sides.findings
    logFile = sides.files[.wal]
    let usable = sides.log.flatMap { $0.pageSize == pageSize ? $0 : nil }
    log = usable
    index = usable.map(LogIndex.init)
    var commits: [Commit] = []
    var remainders = RemainderList()
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
      case .uncommitted: remainders.add(frame, .uncommitted)
      case .stale: remainders.add(frame, .stale)
      case .unverified: remainders.add(frame, .unverified)
      }
    }
    self.commits = commits
    self.remainders = remainders.all
  }

  /// Adds up neighbouring frames of one kind and generation to one ``Remainder``.
  private struct RemainderList {
    private(set) var all: [Remainder] = []
    private var pages: Set<UInt32> = []

    private static let limit = 1000

    mutating func add(_ frame: LogSalvage.Frame, _ kind: Remainder.Kind) {
      var before: Remainder?
      if let last = all.last, last.kind == kind,
        last.salts == frame.salts || all.count >= Self.limit
      {
        before = last
        all.removeLast()
      }
      guard before != nil || all.count < Self.limit else { return }
      if before == nil { pages.removeAll() }
      pages.insert(frame.page)
      all.append(
        Remainder(
          kind: kind, salts: before?.salts ?? frame.salts,
          frameCount: (before?.frameCount ?? 0) + 1,
          commitCount: (before?.commitCount ?? 0) + (frame.commitPageCount > 0 ? 1 : 0),
          verifiedCount: (before?.verifiedCount ?? 0) + (frame.isVerified ? 1 : 0),
          pageCount: pages.count))
    }
  }

  /// The database as it was after a commit. `commit`: the number of the commit; 0 for the state without the log.
  ///
  /// - Throws: ``SQLiteFileError`` when the device fails, or when the database has no readable page 1 after this
  ///   commit.
  package func database(after commit: Int) throws(SQLiteFileError) -> SQLiteDatabase {
    var pageCount = journalPageCount
    var overlays = under
    if commit > 0, commit <= commits.count, let logFile, var index {
      pageCount = commits[commit - 1].databasePageCount
      index.frameLimit = commits[commit - 1].endFrame
      overlays.insert(
        PageReader.Overlay(file: logFile, member: .wal, offsets: [:], history: index), at: 0)
    }
    return try database(overlays, pageCount: pageCount) { "after commit \(commit) of the log" }
  }

  /// The database that the main file and overlays give together.
  ///
  /// - Parameters:
  ///   - overlays: pages that replace those of the main file; the first one that has a page wins.
  ///   - pageCount: size of the database in pages; nil for the page count in the header, or the file's size if the
  ///     header is stale.
  ///   - name: names the state in a message, after "there is no readable page 1".
  /// - Returns: the database.
  /// - Throws: ``SQLiteFileError`` when the device fails, or when page 1 cannot be read.
  func database(
    _ overlays: [PageReader.Overlay], pageCount: UInt32?, name: () -> String
  ) throws(SQLiteFileError) -> SQLiteDatabase {
    let place = overlays.lazy.compactMap { overlay in
      overlay.offset(of: 1).map { (overlay.file, $0) }
    }.first
    let bytes = ContiguousArray(
      try (place?.0 ?? main).bytes(at: place?.1 ?? 0, count: DatabaseHeader.length))
    guard let header = try? DatabaseHeader(parsing: bytes.rawSpan), header.pageSize == pageSize
    else {
      throw SQLiteFileError(.badHeader, "there is no readable page 1 \(name())", path: path)
    }
    return try SQLiteDatabase(
      SQLiteDatabase.Parts(
        path: path, logView: .committed, main: main, header: header, overlays: overlays,
        pageCount: pageCount ?? (header.isPageCountValid ? header.pageCount : mainPageCount),
        log: nil, journal: nil, findings: FindingList()))
  }

  /// The number of pages in the main file. An incomplete last page counts.
  var mainPageCount: UInt32 {
    UInt32(clamping: (main.size + Int64(pageSize) - 1) / Int64(pageSize))
  }
}
