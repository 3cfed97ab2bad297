import SafeText

/// A database file with its write-ahead log and journal, read without SQLite.
///
/// Nothing is written: the files are opened for reading only, no lock is taken, and no file is created beside them. The
/// database is read in the state after the last commit: pages of a hot journal replace pages of the main file, and
/// committed frames of the log replace pages of the main file and the journal.
///
/// Do not open a file that this process has also opened through SQLite: when this object closes the file, SQLite loses
/// its locks on the file.
public final class SQLiteDatabase {
  /// The part of the write-ahead log that is read.
  public enum LogView: String, Sendable, CaseIterable {
    /// Frames up to the last commit, which are the frames that SQLite reads.
    case committed
    /// No frames of the log are read. Pages in a hot journal still replace pages of the main file.
    case ignore
    /// Frames up to the last commit, and frames after the last commit: frames of an unfinished transaction and frames
    /// after a broken frame.
    case all
  }

  /// The path of the main file.
  public let path: String
  /// The part of the write-ahead log that is read.
  public let logView: LogView
  /// The database header on the newest page 1, which may be in the log or the journal.
  package let header: DatabaseHeader
  /// The write-ahead log; nil if the file is missing, if ``logView`` is `ignore`, or if ``votedLayout`` is not nil.
  package let writeAheadLog: WriteAheadLog?
  /// The rollback journal; nil if the file is missing, or if ``votedLayout`` is not nil.
  package let journal: RollbackJournal?
  /// The size of the main file in bytes.
  public let sizeBytes: Int64
  /// The size of the database in pages after the last commit.
  public let pageCount: UInt32
  /// The tables of the database, read from its schema table.
  public private(set) var schema: Schema
  /// The page size and other settings, inferred from the pages because the database header is lost or contradicted;
  /// usually nil. If not nil, ``header`` contains these settings. Its other fields come from page 1, or are 0 if they
  /// cannot be trusted (``isHeaderLost``).
  package let votedLayout: FileLayout?
  /// The findings about the opening of the database and about everything that has been read so far.
  public private(set) var findings = FindingList()

  private var reader: PageReader
  private let claims: PageClaims
  package let mainPageCount: UInt32
  /// Whether ``header`` was made from ``votedLayout`` alone, because the header on page 1 cannot be read at all.
  package let isHeaderLost: Bool
  /// Whether pages of the log or the journal replace those of the main file.
  package let hasOverlays: Bool

  /// Opens the database at `path` and reads its schema.
  ///
  /// - Throws: ``SQLiteFileError`` when the file cannot be opened or is not a database. A damaged page does not throw;
  ///   it is reported in ``findings``.
  public convenience init(path: String, logView: LogView = .committed) throws(SQLiteFileError) {
    let main = try ByteFile(path)
    var findings = FindingList()
    let journal = try Self.journal(beside: path, main.size, &findings)
    let log = try Self.log(beside: path, main.size, logView, &findings)

    let header: DatabaseHeader
    do throws(SQLiteFileError) { header = try Self.header(of: main, journal, log) } catch {
      // The header may be unusable only because another program has changed the files while they were being read.
      var unused = FindingList()
      let logNow = try Self.log(beside: path, main.size, logView, &unused)?.value
      let journalNow = try Self.journal(beside: path, main.size, &unused)?.value
      guard logNow == log?.value, journalNow == journal?.value else { throw Self.changed(path) }
      guard try ByteFile(path).size == main.size else { throw Self.changed(path) }
      throw error
    }
    if main.size == 0 { findings.add(.mainEmpty) }
    let mainPages = UInt32(
      min(
        (main.size + Int64(header.pageSize) - 1) / Int64(header.pageSize), Int64(UInt32.max - 1)))
    var overlays: [PageReader.Overlay] = []
    var pageCount = header.isPageCountValid ? header.pageCount : mainPages
    if let log, log.value.defect == nil {
      if log.value.pageSize != header.pageSize {
        findings.add(WriteAheadLog.otherPageSize(log.value.pageSize, header.pageSize))
      } else if !log.value.pageOffsets.isEmpty {
        overlays.append(
          PageReader.Overlay(file: log.file, member: .wal, offsets: log.value.pageOffsets))
        pageCount = max(1, log.value.databasePageCount)
        if let verdict = try LogGeneration.verdict(
          main: main, log: log.file, offsets: log.value.pageOffsets, pageCount: pageCount,
          pageSize: header.pageSize)
        {
          findings.add(verdict.finding(isUsed: true))
        }
      }
    }
    if let journal, journal.value.state == .hot {
      if journal.value.pageSize != header.pageSize {
        findings.add(RollbackJournal.otherPageSize(journal.value.pageSize, header.pageSize))
      } else {
        overlays.append(
          PageReader.Overlay(
            file: journal.file, member: .journal, offsets: journal.value.pageOffsets))
        if overlays.count == 1 { pageCount = journal.value.databasePageCount }
      }
    }
    if overlays.isEmpty, Int64(pageCount) * Int64(header.pageSize) > main.size {
      findings.add(
        Finding(
          .fileTruncated,
          "the header counts \(counted(pageCount, "page")), but the file ends after \(main.size / Int64(header.pageSize))",
          offset: main.size))
    }
    try self.init(
      path: path, logView: logView, main: main, header: header, overlays: overlays,
      pageCount: pageCount, log: log?.value, journal: journal?.value, findings: findings)
  }

  /// Creates a database from its opened files and reads its schema.
  ///
  /// `header`: the database header on the newest page 1. `overlays`: the pages that replace pages of the main file,
  /// with the newest overlay first. `origin`: the offset of page 1 in the main file.
  package init(
    path: String, logView: LogView, main: ByteFile, header: DatabaseHeader,
    overlays: [PageReader.Overlay], pageCount: UInt32, log: WriteAheadLog? = nil,
    journal: RollbackJournal? = nil, findings: FindingList = FindingList(), origin: Int64 = 0,
    votedLayout: FileLayout? = nil, isHeaderLost: Bool = false
  ) throws(SQLiteFileError) {
    let stored = main.size - origin + Int64(header.pageSize) - 1
    let mainPages = UInt32(min(max(0, stored / Int64(header.pageSize)), Int64(UInt32.max - 1)))
    self.path = path
    self.logView = logView
    self.header = header
    writeAheadLog = log
    self.journal = journal
    sizeBytes = main.size
    self.pageCount = pageCount
    self.votedLayout = votedLayout
    self.isHeaderLost = isHeaderLost
    hasOverlays = !overlays.isEmpty
    mainPageCount = mainPages
    reader = PageReader(
      main: main, pageSize: header.pageSize, usableSize: header.usableSize,
      pageLimit: overlays.reduce(mainPages) { max($0, $1.highestPage) }, origin: origin,
      overlays: overlays)
    claims = PageClaims(
      pageCount: mainPages, spare: (reader.storedPageCount + 1) * header.pageSize * 4)
    self.findings = findings
    schema = Schema(rows: [], encoding: header.textEncoding)
    let isWhole = (main.size - origin) % Int64(header.pageSize) == 0
    let isReplaced = overlays.contains { $0.offset(of: mainPages) != nil }
    reader.cutPage = isWhole || isReplaced ? 0 : mainPages
    var rows: [StoredRow] = []
    var sink = ValueSink(receive: { row in
      rows.append(row)
      return true
    })
    try scan(
      Table(name: "sqlite_schema", rootPage: 1, definition: nil, sql: nil), true,
      RowLayout(Schema.definition), &sink)
    schema = Schema(rows: rows, encoding: header.textEncoding)
    var repair = SchemaRepair()
    for table in schema.tables {
      guard let sql = table.sql, let definition = table.definition else { continue }
      // An unreadable page shows nothing about the statement. The failure is reported when the rows are read.
      switch try? definition.evidence(on: sql, root: table.rootPage, &repair, &reader) {
      case .contradicts: schema.ignoreStatement(of: table)
      case .repaired(let statement): schema.ignoreStatement(of: table, repaired: statement)
      case .agrees, nil: break
      }
    }
    try claims.reserveRoots(of: schema.tables) { tables throws(SQLiteFileError) in
      try RootChoice.choose(tables, encoding: header.textEncoding, &reader)
    }
    // The header may be readable even if everything after it is encrypted.
    if rows.isEmpty, try reader.kind(of: 1) == nil, try Entropy.looksEncrypted(main) {
      throw Self.encrypted(main)
    }
    let unreadable = rows.count - schema.entries.count { $0.isReadable }
    if unreadable > 0 {
      self.findings.add(
        Finding(
          .schemaUnreadable,
          unreadable == 1
            ? "an entry of the schema table is not readable"
            : "\(unreadable) entries of the schema table are not readable",
          page: 1, table: "sqlite_schema"))
    }
    for (entry, repaired) in zip(schema.entries, schema.repairedEntries)
    where !entry.isSame(as: repaired) {
      self.findings.add(.repairedEntry(repaired.name))
    }
    for entry in schema.entries where entry.lacksRoot {
      self.findings.add(
        Finding(
          .schemaNoRoot, "the schema gives no root page for the table \(entry.name)", page: 1,
          table: entry.name))
    }
    for table in schema.tables where schema.isStatementIgnored(of: table) && table.definition != nil
    {
      self.findings.add(.repairedEntry(table.name))
    }
    for table in schema.tables where table.definition == nil {
      self.findings.add(
        schema.isStatementIgnored(of: table)
          ? .tooFewColumns(table.name)
          : Finding(
            .schemaUnreadable, "the CREATE statement of \(table.name) is not readable",
            table: table.name))
    }
  }

  /// Makes another reader of the same pages, with its own buffers. `fillsCutPage`: whether the reader adds zeros to a
  /// page within which the file ends. If not, the reader cannot read this page.
  package func anotherReader(fillsCutPage: Bool = true) -> PageReader {
    var other = reader.another()
    if !fillsCutPage { other.cutPage = 0 }
    return other
  }

  // MARK: - Rows

  /// Calls `receive` with each readable row of a table, in key order, until `receive` returns false.
  public func forEachRow(of table: Table, _ receive: (StoredRow) -> Bool) throws(SQLiteFileError) {
    let (layout, isRowIDTable) = try layout(of: table)
    try withoutActuallyEscaping(receive) { receive throws(SQLiteFileError) in
      var sink = ValueSink(receive: receive)
      try scan(table, isRowIDTable, layout, &sink)
    }
  }

  /// Returns all readable rows of a table, in key order. Damage that makes rows unreadable is reported in ``findings``.
  public func rows(of table: Table) throws(SQLiteFileError) -> [StoredRow] {
    var rows: [StoredRow] = []
    try forEachRow(of: table) { row in
      rows.append(row)
      return true
    }
    return rows
  }

  /// Returns the number of readable rows of a table, and the highest row id among them. The row id is nil if there are
  /// no rows, or if the table is WITHOUT ROWID.
  public func rowCount(of table: Table) throws(SQLiteFileError) -> (
    count: Int, highestRowID: Int64?
  ) {
    let (count, highestRowID, _) = try rowCounts(of: table, byInteger: nil)
    return (count, highestRowID)
  }

  /// Counts the readable rows of a table, or only the first `limit` of them, in key order. `count`: the number of these
  /// rows. `byInteger`: for each integer in the column with the index `column`, the number of rows with that integer;
  /// empty when `column` is nil. `highestRowID`: nil if there are no rows, or if the table is WITHOUT ROWID.
  package func rowCounts(
    of table: Table, byInteger column: Int?, limit: Int? = nil
  ) throws(SQLiteFileError) -> (count: Int, highestRowID: Int64?, byInteger: [Int64: Int]) {
    let counts = RowCounts(column: column, limit: limit)
    try read(table, by: counts)
    let sink = counts.sink
    return (
      sink.rowCount, sink.highestRowID == .min ? nil : sink.highestRowID, sink.byInteger
    )
  }

  /// Passes the records of a table to a receiver. If the table is large, two threads are used.
  ///
  /// - Throws: ``SQLiteFileError`` when the device fails. Damage is reported in ``findings``.
  package func read(_ table: Table, by receiver: any RecordReceiver) throws(SQLiteFileError) {
    let (layout, isRowIDTable) = try layout(of: table)
    var sink = ReceivedRecords(receiver: receiver)
    if isRowIDTable, receiver.takesBlocks {
      try scanInParallel(table, layout, &sink)
    } else {
      try scan(table, isRowIDTable, layout, &sink)
    }
  }

  private func scan<Sink: RecordSink & ~Copyable>(
    _ table: Table, _ isRowIDTable: Bool, _ layout: RowLayout, _ sink: inout Sink
  ) throws(SQLiteFileError) {
    var scan = newScan(of: table, isRowIDTable)
    // The findings are added even if the device fails during the scan.
    let result = Result { () throws(SQLiteFileError) in
      try scan.run(root: table.rootPage, layout: layout, reader: &reader, sink: &sink)
    }
    take(scan, of: table)
    try result.get()
  }

  /// Reads the pages of a table one after the other, and skips the pages for which `isKnown` returns true. See
  /// ``BTreeScan/run(root:unless:layout:reader:sink:begin:)``.
  package func scan<Sink: RecordSink & ~Copyable>(
    _ table: Table, unless isKnown: (UInt32) -> Bool, _ sink: inout Sink,
    begin: (_ page: UInt32, _ place: PageReader.Place) throws(SQLiteFileError) -> Void
  ) throws(SQLiteFileError) {
    let (layout, isRowIDTable) = try layout(of: table)
    var scan = newScan(of: table, isRowIDTable)
    let result = Result { () throws(SQLiteFileError) in
      try scan.run(
        root: table.rootPage, unless: isKnown, layout: layout, reader: &reader, sink: &sink,
        begin: begin)
    }
    take(scan, of: table)
    try result.get()
  }

  /// Reads the rows of a table. If the table is large, two threads are used.
  private func scanInParallel(
    _ table: Table, _ layout: RowLayout, _ sink: inout ReceivedRecords
  ) throws(SQLiteFileError) {
    var scan = newScan(of: table, true)
    scan.begin()
    let leaves = try scan.leaves(below: table.rootPage, reader: &reader)
    guard leaves.count >= ParallelRows.minLeafCount else {
      return try self.scan(table, true, layout, &sink)
    }
    let parallel = ParallelRows(
      leaves: leaves, layout: layout, receiver: sink.receiver, makeReader: { reader.another() },
      makeScan: { newScan(of: table, true) })
    let result = Result { () throws(SQLiteFileError) in
      try parallel.write(to: &sink, scan: &scan, reader: &reader)
    }
    scan.end()
    take(scan, of: table)
    try result.get()
  }

  /// Adds the findings of a finished scan to ``findings``. If the table pads its BLOBs with zeros, findings about
  /// sectors that may be lost are left out.
  private func take(_ scan: borrowing BTreeScan, of table: Table) {
    findings.add(scan.findings)
    if scan.possibleLosses.count > 0, !padsBlobs(of: table, reader.another(), claims) {
      findings.add(scan.possibleLosses)
    }
  }

  package func newScan(of table: Table, _ isRowIDTable: Bool) -> BTreeScan {
    var scan = BTreeScan(
      of: table, isRowIDTable: isRowIDTable, encoding: header.textEncoding,
      mainPageCount: mainPageCount, claims: claims)
    // An unfinished transaction may use pages after the last page of the last commit.
    if logView != .all, votedLayout == nil { scan.lastPage = pageCount }
    return scan
  }

  /// Adds findings that were made elsewhere, for example by another reader of the same pages.
  package func add(_ other: FindingList) { findings.add(other) }

  /// Returns the layout of a table's rows, and whether the table has row ids. If the CREATE statement is not readable,
  /// the layout contains all fields as stored, and the type of the root page shows whether the table has row ids.
  package func layout(of table: Table) throws(SQLiteFileError) -> (RowLayout, isRowIDTable: Bool) {
    if let definition = table.definition {
      return (RowLayout(definition), !definition.isWithoutRowID)
    }
    return (RowLayout(), try reader.kind(of: table.rootPage)?.isTable ?? true)
  }

  private static func log(
    beside path: String, _ mainSize: Int64, _ view: LogView, _ findings: inout FindingList
  ) throws(SQLiteFileError) -> (file: ByteFile, value: WriteAheadLog)? {
    guard view != .ignore, let file = try companion(path + "-wal") else { return nil }
    let log = try WriteAheadLog(
      parsing: file, mainSize: mainSize, includeUncommitted: view == .all)
    if let defect = log.defect {
      findings.add(
        Finding(
          .walBadHeader, "the write-ahead log is not used: \(defect)", member: .wal, offset: 0))
    }
    for finding in log.findings { findings.add(finding) }
    return (file, log)
  }

  private static func journal(
    beside path: String, _ mainSize: Int64, _ findings: inout FindingList
  ) throws(SQLiteFileError) -> (file: ByteFile, value: RollbackJournal)? {
    guard let file = try companion(path + "-journal") else { return nil }
    let journal = try RollbackJournal(parsing: file, mainSize: mainSize)
    for finding in journal.findings { findings.add(finding) }
    return (file, journal)
  }

  /// Opens a file beside the database; nil when the file does not exist or is empty. If the file exists but cannot be
  /// opened, an error is thrown, because rows that are read without the file could be wrong.
  package static func companion(_ path: String) throws(SQLiteFileError) -> ByteFile? {
    do throws(SQLiteFileError) {
      let file = try ByteFile(path)
      return file.size > 0 ? file : nil
    } catch {
      guard error.code == .missing else { throw error }
      return nil
    }
  }

  /// Returns the database header on the newest page 1. A page 1 in the log is ignored if its header states another page
  /// size than the header of the log, because such a log is not used. A page 1 in the journal is ignored for the same
  /// reason.
  private static func header(
    of main: ByteFile, _ journal: (file: ByteFile, value: RollbackJournal)?,
    _ log: (file: ByteFile, value: WriteAheadLog)?
  ) throws(SQLiteFileError) -> DatabaseHeader {
    if let log, let offset = log.value.pageOffsets[1] {
      let header = try header(in: log.file, at: offset, of: main, "write-ahead log")
      if header.pageSize == log.value.pageSize { return header }
    }
    if let journal, journal.value.state == .hot {
      if let offset = journal.value.pageOffsets[1] {
        let header = try header(in: journal.file, at: offset, of: main, "rollback journal")
        if header.pageSize == journal.value.pageSize { return header }
      } else if journal.value.databasePageCount == 0 {
        throw SQLiteFileError(
          .empty, "the database was empty before the interrupted transaction", path: main.path)
      }
    }
    guard main.size > 0 else { throw SQLiteFileError(.empty, "empty file", path: main.path) }
    return try header(in: main, at: 0, of: main)
  }

  /// Reads the database header at `offset` in `file`. `side`: the words for `file` in messages; nil if `file` is the
  /// main file.
  private static func header(
    in file: ByteFile, at offset: Int64, of main: ByteFile, _ side: String? = nil
  ) throws(SQLiteFileError) -> DatabaseHeader {
    let bytes = ContiguousArray(try file.bytes(at: offset, count: DatabaseHeader.length))
    do throws(DatabaseHeader.Defect) {
      return try DatabaseHeader(parsing: bytes.rawSpan)
    } catch {
      let failure = try failure(error, main)
      guard let side else { throw failure }
      throw SQLiteFileError(
        failure.code,
        "the newest version of page 1, which is in the \(side), is not usable: \(failure.message)",
        path: main.path)
    }
  }

  private static func changed(_ path: String) -> SQLiteFileError {
    SQLiteFileError(.changedDuringRead, "the store changed while it was read", path: path)
  }

  package static func encrypted(_ main: ByteFile) -> SQLiteFileError {
    SQLiteFileError(
      .looksEncrypted,
      "not a readable SQLite database: its bytes look random, as encrypted ones do",
      path: main.path, offset: 0)
  }

  private static func failure(_ defect: DatabaseHeader.Defect, _ main: ByteFile)
    throws(SQLiteFileError) -> SQLiteFileError
  {
    func bad(_ message: String, _ offset: Int64) -> SQLiteFileError {
      SQLiteFileError(.badHeader, message, path: main.path, offset: offset)
    }
    if let mistaken = try MistakenFile.error(for: main) { return mistaken }
    // Some kinds of encryption leave the first bytes unchanged, so the magic number alone proves nothing.
    if try Entropy.looksEncrypted(main) { return encrypted(main) }
    switch defect {
    case .tooShort:
      return SQLiteFileError(
        .notADatabase, "not an SQLite database: only \(main.size) bytes", path: main.path)
    case .magic:
      return SQLiteFileError(
        .notADatabase, "not an SQLite database: it does not start like one", path: main.path,
        offset: 0)
    case .pageSize(let size): return bad("impossible page size of \(size) bytes", 16)
    case .usableSize(let size): return bad("only \(size) usable bytes in a page", 20)
    case .readVersion(let version):
      return bad("read version \(version), newer than any known", 19)
    }
  }
}

extension Finding {
  /// The finding about an empty main file. If an app opened the store, SQLite would delete the log without reading it.
  package static var mainEmpty: Finding {
    Finding(
      .fileMainEmpty,
      "the main file is empty, and all pages come from the log or journal beside it; do not open the store with any app, because SQLite would delete the log without reading it",
      offset: 0)
  }

  /// Returns the finding about an overflow chain that continues after the end of the payload. `place`: the location of
  /// the cell.
  package static func chainTooLong(_ page: UInt32, _ place: PageReader.Place, _ table: String?)
    -> Finding
  {
    Finding(
      .overflowTooLong, "an overflow chain continues after the end of its row",
      member: place.member, page: page, offset: place.offset, table: table)
  }

  package static func otherRows(_ page: UInt32, _ place: PageReader.Place, _ table: String?)
    -> Finding
  {
    Finding(
      .pageOtherRows,
      "the first row of this page does not fit the columns of the table; the page may belong to another table",
      member: place.member, page: page, offset: place.offset, table: table)
  }

  /// Returns the finding about a main file that ends within a page. The missing part of the page is read as zeros, as
  /// SQLite reads it.
  package static func cutPage(_ page: UInt32, _ place: PageReader.Place, _ table: String?)
    -> Finding
  {
    Finding(
      .pageMissing, "the file ends within this page; its rest is read as zeros",
      member: place.member, page: page, offset: place.offset, table: table)
  }
}
