/// A database file read page by page, for what is left in it when its header, its schema or its b-trees are
/// damaged, and for what was deleted from it.
///
/// Nothing is taken from one source alone: page size, encoding and the place of page 1 are voted on by all pages;
/// which table a page belongs to is decided by whatever still leads to it, else by the look of its rows.
///
/// Nothing is ever written. Not for a file that this process has open through SQLite.
public final class DamagedDatabase {
  /// The path of the main file.
  public let path: String
  /// The facts that reading pages rests on, and who testified to them.
  public let layout: FileLayout
  /// Pages of the database, missing ones counted.
  public let pageCount: UInt32
  /// The tables that rows are given to, in the order in which ``RowOrigin/table`` counts them.
  public private(set) var tables: [ExpectedTable] = []
  /// The entries of the schema table that can be read.
  public private(set) var schemaEntries: [SchemaEntry] = []
  /// Leaves of the schema table beside page 1.
  var schemaLeaves: [UInt32] = []
  /// What was found.
  public internal(set) var findings = FindingList()

  var reader: PageReader
  var census: PageCensus
  let map: PointerMap
  let sides: SideFiles?
  /// Overflow pages that live rows hold, as far as those have been read.
  var claimed: PageSet
  var shapes: [RowShape] = []
  /// Pages that the pointer map has children of.
  var interiors: PageSet
  /// Tables by the root pages that the schema gives, and by those that rows gave them to.
  var roots: [UInt32: Int] = [:]
  var owners: [UInt32: Int] = [:]
  var layouts: [RowLayout] = []
  let mostPayload: Int
  let mainPageCount: UInt32

  /// Reads every page once to see what each of them is.
  ///
  /// - Throws: ``SQLiteFileError`` when the file cannot be opened or read, or nothing in it looks like a database.
  public init(path: String, logView: SQLiteDatabase.LogView = .committed) throws(SQLiteFileError) {
    self.path = path
    let main = try ByteFile(path)
    guard main.size > 0 else { throw SQLiteFileError(.empty, "empty file", path: path) }
    guard var voted = try LayoutVote(main).decide(sidePageSize: logView == .ignore ? nil : SideFiles.pageSizes(beside: path).first) else {
      throw try Self.refusal(main)
    }
    let sides =
      logView == .ignore
      ? nil : try SideFiles(beside: path, main: main, pageSize: voted.pageSize)
    self.sides = sides
    let overlays = sides?.overlays ?? []
    // A newer page 1 knows better.
    for overlay in overlays.reversed() {
      guard let offset = overlay.offset(of: 1) else { continue }
      let bytes = ContiguousArray(
        try overlay.file.bytes(at: offset, count: DatabaseHeader.length))
      guard let header = try? DatabaseHeader(parsing: bytes.rawSpan),
        header.pageSize == voted.pageSize
      else { continue }
      voted.header = header
      voted.hasPointerMap = header.hasPointerMap
      voted.textEncoding = header.textEncoding
    }
    layout = voted
    if let sides { findings.add(sides.findings) }
    let stored = (main.size - voted.origin + Int64(voted.pageSize) - 1) / Int64(voted.pageSize)
    mainPageCount = UInt32(clamping: max(0, stored))
    let newest = overlays.reduce(mainPageCount) { max($0, $1.highestPage) }
    pageCount = newest
    reader = PageReader(
      main: main, pageSize: voted.pageSize, usableSize: voted.usableSize, pageLimit: newest,
      origin: voted.origin, overlays: overlays)
    census = PageCensus(pageCount: newest)
    map = PointerMap(layout: voted, pageCount: newest)
    claimed = PageSet(pageCount: newest)
    interiors = PageSet(pageCount: newest)
    // No payload is longer than the file, nor than SQLite's own limit.
    mostPayload = min(1 << 31, reader.storedPageCount * voted.pageSize)
    // Pages behind the end that the last commit gave the database are no part of it.
    if let count = sides?.databasePageCount, count < newest {
      for page in count..<newest { census.setFree(page + 1) }
    }
    reportLayout(main)
    try takeCensus()
    schemaEntries = try readSchema()
    if schemaEntries.isEmpty, census.kind(1) != .tableLeaf {
      findings.add(
        Finding(
          "schema.lost", "the schema table is not readable; tables are told by their rows", page: 1))
    }
    var tables = schemaEntries.compactMap { entry -> ExpectedTable? in
      guard entry.type == "table", entry.rootPage > 0, let sql = entry.sql else { return nil }
      return ExpectedTable(name: entry.name, sql: sql, rootPage: entry.rootPage)
    }
    // Tables that were dropped have rows in free pages, perhaps.
    for entry in try readDroppedSchema() where !tables.contains(where: { $0.name == entry.name }) {
      guard let sql = entry.sql,
        var table = ExpectedTable(name: entry.name, sql: sql, rootPage: entry.rootPage)
      else { continue }
      table.isDropped = true
      tables.append(table)
    }
    try expect(tables)
  }

  /// Says where the file's own header was not believed.
  private func reportLayout(_ main: ByteFile) {
    let facts =
      "pages of \(layout.pageSize) bytes, text in \(layout.textEncoding.name), by what the pages themselves say"
    if layout.origin < 0 {
      findings.add(
        Finding(
          "file.headMissing",
          "the first \(-layout.origin) bytes of the database are missing; \(facts)", offset: 0))
    } else if layout.origin > 0 {
      findings.add(
        Finding(
          "file.headMoved", "the database begins \(layout.origin) bytes into the file; \(facts)",
          offset: 0))
    } else if layout.header == nil {
      findings.add(
        Finding("header.unreadable", "the database header is not to be believed; \(facts)", offset: 0))
    } else if layout.encodingSource == .pages {
      findings.add(
        Finding(
          "header.otherEncoding", "the header names another text encoding; \(facts)", offset: 56))
    }
    if let header = layout.header, header.isPageCountValid, sides?.overlays.isEmpty ?? true,
      header.pageCount > mainPageCount
    {
      findings.add(
        Finding(
          "file.truncated",
          "the header counts \(header.pageCount) pages, the file ends after \(main.size / Int64(layout.pageSize))",
          offset: main.size))
    }
  }

  private static func refusal(_ main: ByteFile) throws(SQLiteFileError) -> SQLiteFileError {
    if try Entropy.looksEncrypted(main) { return SQLiteDatabase.encrypted(main) }
    return SQLiteFileError(
      .notADatabase, "no page of it looks like a page of a database", path: main.path)
  }

  /// Tells which tables to expect, and gives every page to one of them.
  public func expect(_ tables: [ExpectedTable]) throws(SQLiteFileError) {
    self.tables = tables
    shapes = tables.enumerated().map { RowShape($1, table: $0) }
    layouts = tables.map { RowLayout($0.definition) }
    try attribute()
  }

  // MARK: - Rows

  /// Which rows are wanted.
  public enum Selection: Sendable {
    /// Those that the database has.
    case live
    /// Those that it had.
    case deleted
    /// Both, the live ones first.
    case all
  }

  /// Hands rows to `receive` until it returns false.
  ///
  /// - Parameter names: the tables wanted; nil for all, and for the rows of no known table.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  public func forEachRow(
    _ selection: Selection, of names: Set<String>? = nil, _ receive: (RecoveredRow) -> Bool
  ) throws(SQLiteFileError) {
    try withoutActuallyEscaping(receive) { receive throws(SQLiteFileError) in
      var sink = RecoveredValueSink(receive: receive)
      try emit(selection, places(names), &sink)
    }
  }

  /// Writes rows as NDJSON, an object in each line.
  /// - Throws: ``SQLiteFileError`` when the device fails or the output cannot be written.
  public func writeJSON(
    _ selection: Selection, of names: Set<String>? = nil, limit: Int? = nil, to descriptor: Int32
  ) throws(SQLiteFileError) {
    var sink = RecoveredJSONSink(
      output: OutputBuffer(descriptor: descriptor), tables: tables, limit: limit)
    let wanted = places(names)
    if selection != .deleted {
      if sink.isUnlimited, pageCount >= ParallelRecovery.leastPageCount {
        try ParallelRecovery.write(self, wanted, to: &sink)
      } else {
        try emitLive(wanted, &sink)
      }
    }
    if selection != .live, sink.wantsMore { try emitDeleted(wanted, &sink) }
    try sink.finish()
  }

  private func places(_ names: Set<String>?) -> Set<Int>? {
    names.map { names in Set(tables.indices.filter { names.contains(tables[$0].name) }) }
  }

  private func emit<Sink: RecoverySink & ~Copyable>(
    _ selection: Selection, _ wanted: Set<Int>?, _ sink: inout Sink
  ) throws(SQLiteFileError) {
    if selection != .deleted { try emitLive(wanted, &sink) }
    if selection != .live, sink.wantsMore { try emitDeleted(wanted, &sink) }
  }
}
