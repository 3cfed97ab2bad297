import SQLiteFile

/// The pages in the `-wal` and the `-journal` of a database. Some replace pages of the main file when the database is
/// read; the others are older or uncommitted versions.
struct SideFiles {
  /// The overlays that, together with the main file, give the live database: first the overlay of the log, then the
  /// overlay of the journal. If both contain a page, the log's version counts.
  package private(set) var overlays: [PageReader.Overlay] = []
  /// The versions of pages that are not live: first before-images from the journal, then frames of the log that are
  /// stale, superseded, and uncommitted, in this order. Each group is in the order of its file.
  package private(set) var versions = PageVersions()
  /// The pages of the main file that the log or the journal replaces, in page order. Their origin is
  /// ``PageVersion/Origin/uncommitted`` if the journal replaces the page; otherwise
  /// ``PageVersion/Origin/superseded(commit:)`` with commit 0.
  package private(set) var shadowed = PageVersions()
  /// The size of the database in pages, from the last commit of the log or from the journal; nil when neither of them
  /// is applied.
  package private(set) var databasePageCount: UInt32?
  package private(set) var findings = FindingList()
  /// The log; nil when it does not exist or is empty.
  private(set) var log: LogSalvage?
  /// The journal; nil when it does not exist or is empty.
  package private(set) var journal: JournalSalvage?
  /// The log and the journal, as far as they were read.
  private(set) var files: [Finding.Member: ByteFile] = [:]

  private let main: ByteFile
  private let pageSize: Int
  private let origin: Int64

  /// Reads the `-wal` and the `-journal` beside a database.
  ///
  /// - Parameters:
  ///   - path: the path of the main file.
  ///   - main: the main file.
  ///   - pageSize: the page size of the database, a power of two from 512 to 65,536.
  ///   - includeUncommitted: whether the log's overlay also contains the frames after the last valid commit of the log,
  ///     including frames behind a frame that does not match its checksum.
  ///   - origin: the offset of page 1 in the main file, in bytes.
  ///   - shift: the position in the main file at which bytes were lost or inserted; nil if no page is displaced.
  /// - Throws: ``SQLiteFileError`` when a side file exists and cannot be read. To ignore such a file would give wrong
  ///   rows without a warning.
  init(
    beside path: String, main: ByteFile, pageSize: Int, includeUncommitted: Bool = false,
    origin: Int64 = 0, shift: PageShift? = nil
  ) throws(SQLiteFileError) {
    guard DatabaseHeader.isPageSize(pageSize) else {
      throw SQLiteFileError(
        .badHeader, "the page size of \(pageSize) bytes is impossible", path: path)
    }
    self.main = main
    self.pageSize = pageSize
    self.origin = origin
    if let file = try SQLiteDatabase.companion(path + "-journal") { try addJournal(file) }
    if let file = try SQLiteDatabase.companion(path + "-wal") {
      try addLog(file, includeUncommitted)
    }
    addShadowed(shift)
  }

  /// Returns the page size of the log, then that of the journal, in bytes. A page size that cannot be determined is
  /// omitted. The sizes are votes for the page size of a database whose header is lost.
  ///
  /// - Throws: ``SQLiteFileError`` when a side file exists and cannot be read.
  static func pageSizes(beside path: String) throws(SQLiteFileError) -> [Int] {
    var sizes: [Int] = []
    if let file = try SQLiteDatabase.companion(path + "-wal") {
      let head = ContiguousArray(try file.bytes(at: 0, count: WriteAheadLog.headerLength))
      if let header = try? LogHeader(parsing: head.rawSpan) {
        sizes.append(header.pageSize)
      } else if let basis = try LogBasis(guessing: file, pageSize: nil) {
        sizes.append(basis.pageSize)
      }
    }
    if let file = try SQLiteDatabase.companion(path + "-journal") {
      let journal = try RollbackJournal(parsing: file, mainSize: 0)
      if journal.pageSize > 0 { sizes.append(journal.pageSize) }
    }
    return sizes
  }

  private mutating func addJournal(_ file: ByteFile) throws(SQLiteFileError) {
    let journal = try JournalSalvage(file, main: main, pageSize: pageSize, origin: origin)
    self.journal = journal
    files[.journal] = file
    for finding in journal.findings { findings.add(finding) }
    guard journal.pageSize == pageSize else {
      if journal.pageSize > 0 {
        findings.add(RollbackJournal.otherPageSize(journal.pageSize, pageSize))
      }
      return
    }
    let isApplied = journal.verdict == .hot || journal.verdict == .headerLost
    if isApplied {
      overlays.append(
        PageReader.Overlay(file: file, member: .journal, offsets: journal.pageOffsets))
      databasePageCount = journal.databasePageCount
    }
    for image in journal.images {
      if isApplied, journal.pageOffsets[image.page] == image.offset { continue }
      append(image)
    }
  }

  private mutating func append(_ image: JournalSalvage.Image) {
    versions.append(
      PageVersion(
        page: image.page, member: .journal, offset: image.offset, origin: .beforeImage,
        isVerified: image.isVerified))
  }

  private mutating func addLog(_ file: ByteFile, _ includeUncommitted: Bool) throws(SQLiteFileError)
  {
    let log = try LogSalvage(
      file, pageSize: pageSize, mainSize: main.size, includeUncommitted: includeUncommitted)
    self.log = log
    files[.wal] = file
    for finding in log.findings { findings.add(finding) }
    guard log.pageSize == pageSize else {
      if log.pageSize > 0 { findings.add(WriteAheadLog.otherPageSize(log.pageSize, pageSize)) }
      return
    }
    var isApplied = !log.pageOffsets.isEmpty
    if isApplied, log.headerLost, try isOlderThanMain(log, file) {
      isApplied = false
      findings.add(
        Finding(
          .walOlderThanMain,
          "the log's header is lost and the main file is newer than the log's last commit; the log holds only older versions of pages",
          severity: .note, member: .wal, offset: 0))
    } else if isApplied,
      let verdict = try LogGeneration.verdict(
        main: main, log: file, offsets: log.pageOffsets, pageCount: log.databasePageCount,
        pageSize: pageSize, origin: origin)
    {
      isApplied = false
      findings.add(verdict.finding(isUsed: false))
    }
    if isApplied {
      // If both the log and the journal contain a page, the journal's image of this page is not live.
      if let journal, !overlays.isEmpty {
        for image in journal.images
        where journal.pageOffsets[image.page] == image.offset
          && log.pageOffsets[image.page] != nil
        {
          append(image)
        }
      }
      overlays.insert(
        PageReader.Overlay(file: file, member: .wal, offsets: log.pageOffsets), at: 0)
      databasePageCount = log.databasePageCount
    }
    append(log, isApplied) { $0.isOld }
    append(log, isApplied) { $0.isCommitted }
    append(log, isApplied) { $0 == .uncommitted }
  }

  private mutating func append(
    _ log: LogSalvage, _ isApplied: Bool, _ isWanted: (LogSalvage.Status) -> Bool
  ) {
    for frame in log where frame.page > 0 && isWanted(frame.status) {
      if isApplied, log.pageOffsets[frame.page] == frame.offset { continue }
      let origin: PageVersion.Origin
      switch frame.status {
      case .committed(let number):
        // If the log is not applied, all frames count as frames of an earlier generation.
        origin = isApplied ? .superseded(commit: number) : .stale
      case .uncommitted: origin = .uncommitted
      case .stale, .unverified: origin = .stale
      }
      versions.append(
        PageVersion(
          page: frame.page, member: .wal, offset: frame.offset, origin: origin,
          isVerified: frame.isVerified))
    }
  }

  /// Whether the log is older than the main file: the change counter of the main file is higher than that of page 1
  /// in the log (file format, section 1.3.6). False when one of the two counters cannot be read.
  private func isOlderThanMain(_ log: LogSalvage, _ file: ByteFile) throws(SQLiteFileError)
    -> Bool
  {
    guard let offset = log.pageOffsets[1] else { return false }
    guard let newest = try file.databaseHeader(at: offset),
      let here = try main.databaseHeader(at: origin)
    else { return false }
    return LogGeneration.isGreater(here.changeCounter, newest.changeCounter)
  }

  private mutating func addShadowed(_ shift: PageShift?) {
    // This reader is only asked for the offsets of pages.
    let places = PageReader(
      main: main, pageSize: pageSize, usableSize: pageSize, pageLimit: .max - 1, origin: origin,
      shift: shift, overlays: [])
    var pages = Set<UInt32>()
    for overlay in overlays { pages.formUnion(overlay.offsets.keys) }
    for page in pages.sorted() {
      let offset = places.location(of: page).offset
      guard offset >= 0, offset < main.size else { continue }
      let isUnfinished = overlays.contains {
        $0.member == .journal && $0.offsets[page] != nil
      }
      shadowed.append(
        PageVersion(
          page: page, member: .main, offset: offset,
          origin: isUnfinished ? .uncommitted : .superseded(commit: 0), isVerified: false))
    }
  }
}

extension LogSalvage.Status {
  var isCommitted: Bool {
    if case .committed = self { return true }
    return false
  }

  var isOld: Bool { self == .stale || self == .unverified }
}
