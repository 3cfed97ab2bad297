package import SQLiteFile

/// The states of a database that can be read from its main file and write-ahead log: the state without the log, and the
/// state after each commit in the log.
package final class LogStates {
  package struct Commit: Sendable {
    /// The number of the commit, from 1.
    package let number: Int
    package let frameCount: Int
    /// The pages that the transaction wrote, in ascending order.
    package let pages: [UInt32]
    /// The size of the database in pages after the commit.
    package let databasePageCount: UInt32
    /// The number of frames in the write-ahead log up to the end of this commit.
    let endFrame: UInt32
  }

  /// Consecutive frames of the log that belong to no valid commit.
  package struct Remainder: Sendable {
    package enum Kind: String, Sendable {
      /// The frames are from a transaction that was never committed.
      case uncommitted
      /// The frames belong to an earlier generation of the log (see ``LogSalvage``): their salts are not the newest
      /// ones.
      case stale
      /// The frames belong to the newest generation of the log. A frame of their transaction, or an earlier frame, does
      /// not match its checksum.
      case unverified
    }

    package let kind: Kind
    /// The two salts of the frames; salt-1 is in the high 32 bits.
    package let salts: UInt64
    package fileprivate(set) var frameCount = 0
    /// The number of frames that are marked as the last of a transaction.
    package fileprivate(set) var commitCount = 0
    /// The number of frames that match their checksums.
    package fileprivate(set) var verifiedCount = 0
    /// The number of different pages that the frames contain.
    package fileprivate(set) var pageCount = 0
  }

  /// The commits of the write-ahead log, the oldest first.
  package let commits: [Commit]
  /// The frames that are in no valid commit, in the order of the file. Consecutive frames of the same kind with the
  /// same salts form one entry. When there are 1,000 entries, each further frame is added to the last entry of its
  /// kind, even if the salts differ.
  package let remainders: [Remainder]
  package let findings: FindingList

  let path: String
  let main: ByteFile
  /// The page size in bytes.
  package let pageSize: Int
  let logFile: ByteFile?
  /// The log; nil when the store has no log, or when the log's page size is not that of the database.
  let log: LogSalvage?
  let journalFile: ByteFile?
  /// The journal; nil when the store has no journal, or when the journal's page size is not that of the database.
  let journal: JournalSalvage?
  /// The number of the last commit that SQLite reads; 0 when SQLite ignores the log.
  package var currentCommit: Int { log?.headerLost == false ? commits.count : 0 }
  private let index: LogIndex?
  private let under: [PageReader.Overlay]
  private let journalPageCount: UInt32?

  package convenience init(of database: SQLiteDatabase) throws(SQLiteFileError) {
    try self.init(path: database.path, pageSize: database.header.pageSize)
  }

  /// Reads the log and the journal beside the database at `path`, which has pages of `pageSize` bytes.
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
    if let usable {
      for frame in usable {
        switch frame.status {
        case .committed(let number):
          if frame.page <= usable.pageLimit { pages.insert(frame.page) }
          frameCount += 1
          guard frame.commitPageCount > 0 else { continue }
          commits.append(
            Commit(
              number: number, frameCount: frameCount, pages: pages.sorted(),
              databasePageCount: min(frame.commitPageCount, usable.pageLimit),
              endFrame: UInt32(clamping: frame.index + 1)))
          pages = []
          frameCount = 0
        case .uncommitted: remainders.add(frame, .uncommitted)
        case .stale: remainders.add(frame, .stale)
        case .unverified: remainders.add(frame, .unverified)
        }
      }
    }
    self.commits = commits
    self.remainders = remainders.all
  }

  /// Joins consecutive frames of the same kind with the same salts into one ``Remainder``.
  private struct RemainderList {
    private(set) var all: [Remainder] = []
    /// For each kind of remainder, the remainder that was added last. `place` is its index in ``all``, and `pages` are
    /// the pages of its frames.
    private var last: [Remainder.Kind: (place: Int, pages: Set<UInt32>)] = [:]

    private static let limit = 1000

    mutating func add(_ frame: LogSalvage.Frame, _ kind: Remainder.Kind) {
      let place: Int
      if let known = last[kind]?.place,
        all.count >= Self.limit || known + 1 == all.count && all[known].salts == frame.salts
      {
        place = known
      } else {
        place = all.count
        last[kind] = (place, [])
        all.append(Remainder(kind: kind, salts: frame.salts))
      }
      all[place].frameCount += 1
      if frame.commitPageCount > 0 { all[place].commitCount += 1 }
      if frame.isVerified { all[place].verifiedCount += 1 }
      if last[kind]?.pages.insert(frame.page).inserted == true { all[place].pageCount += 1 }
    }
  }

  /// Opens the database as it was after a commit. `commit`: the number of the commit; 0 for the database without the
  /// log.
  ///
  /// - Throws: ``SQLiteFileError`` when the device fails, or when page 1 cannot be read in this state.
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

  /// Opens the main file with the given overlays.
  ///
  /// - Parameters:
  ///   - overlays: pages that replace those of the main file. If several overlays contain a page, the first overlay
  ///     that contains the page is used.
  ///   - pageCount: the size of the database in pages. If nil, the page count in the header applies or, if this count
  ///     is not valid, the size of the main file.
  ///   - name: returns the words that follow "page 1 cannot be read in this state:" in the error message.
  /// - Returns: the database in this state.
  /// - Throws: ``SQLiteFileError`` when the device fails, or when page 1 cannot be read.
  func database(
    _ overlays: [PageReader.Overlay], pageCount: UInt32?, name: () -> String
  ) throws(SQLiteFileError) -> SQLiteDatabase {
    let place = overlays.lazy.compactMap { overlay in
      overlay.offset(of: 1).map { (overlay.file, $0) }
    }.first
    guard let header = try (place?.0 ?? main).databaseHeader(at: place?.1 ?? 0),
      header.pageSize == pageSize
    else {
      throw SQLiteFileError(
        .badHeader, "page 1 cannot be read in this state: \(name())", path: path)
    }
    return try SQLiteDatabase(
      path: path, logView: .committed, main: main, header: header, overlays: overlays,
      pageCount: pageCount ?? (header.isPageCountValid ? header.pageCount : mainPageCount))
  }

  /// The number of pages of the main file, including an incomplete last page.
  var mainPageCount: UInt32 {
    UInt32(clamping: (main.size + Int64(pageSize) - 1) / Int64(pageSize))
  }
}
