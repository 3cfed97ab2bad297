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
  /// Pages that were read and have no room in which a dead row could stand.
  var barren: PageSet
  var shapes: [RowShape] = []
  /// Pages that the pointer map has children of, and those that it calls pages of b-trees.
  var interiors: PageSet
  var trees: PageSet
  /// Tables by the root pages that the schema gives, and by those that rows gave them to.
  var roots: [UInt32: Int] = [:]
  var owners: [UInt32: Int] = [:]
  /// The types that rows of each table begin with; nil before they have been counted.
  var firstTypes: [[UInt64]]?
  var layouts: [RowLayout] = []
  let mostPayload: Int

  /// Reads every page once to see what each of them is.
  ///
  /// - Throws: ``SQLiteFileError`` when the file cannot be opened or read, or nothing in it looks like a database.
  public init(path: String, logView: SQLiteDatabase.LogView = .committed) throws(SQLiteFileError) {
    self.path = path
    let main = try ByteFile(path)
    // Pages of an empty file may all be in the log.
    guard let survey = try FileSurvey(main, logView), survey.pageCount > 0 else {
      throw try Self.refusal(main)
    }
    sides = survey.sides
    layout = survey.layout
    if let sides { findings.add(sides.findings) }
    let newest = survey.pageCount
    pageCount = newest
    reader = survey.reader()
    census = PageCensus(pageCount: newest)
    map = PointerMap(layout: survey.layout, pageCount: newest)
    claimed = PageSet(pageCount: newest)
    interiors = PageSet(pageCount: newest)
    trees = PageSet(pageCount: newest)
    barren = PageSet(pageCount: newest)
    // No payload is longer than the file, nor than SQLite's own limit.
    mostPayload = min(1 << 31, reader.storedPageCount * survey.layout.pageSize)
    // Pages behind the end that the last commit gave the database are no part of it.
    if let count = sides?.databasePageCount, count < newest {
      for page in count..<newest { census.setFree(page + 1) }
    }
    for finding in survey.findings { findings.add(finding) }
    try takeCensus()
    schemaEntries = try readSchema()
    if schemaEntries.isEmpty, census.kind(1) != .tableLeaf {
      findings.add(FileSurvey.schemaLost)
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

  private static func refusal(_ main: ByteFile) throws(SQLiteFileError) -> SQLiteFileError {
    guard main.size > 0 else { return SQLiteFileError(.empty, "empty file", path: main.path) }
    if try Entropy.looksEncrypted(main) { return SQLiteDatabase.encrypted(main) }
    return SQLiteFileError(
      .notADatabase, "no page of it looks like a page of a database", path: main.path)
  }

  /// Tables of which each page can be given to one. SQLite knows no limit; nobody's app has as many.
  static let mostTables = 16_384

  /// Tells which tables to expect, and gives every page to one of them.
  public func expect(_ tables: [ExpectedTable]) throws(SQLiteFileError) {
    let tables = Array(tables.prefix(Self.mostTables))
    self.tables = tables
    firstTypes = nil
    shapes = tables.enumerated().map { RowShape($1, table: $0) }
    layouts = tables.map { RowLayout($0.definition) }
    try attribute()
  }

  // MARK: - Rows

  /// Forgets what was found since then, for a caller that reads the rows once more.
  public func takeBack(to earlier: FindingList) { findings = earlier }

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
  /// `names`: the tables wanted; nil for all, and for the rows of no known table.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  public func forEachRow(
    _ selection: Selection, of names: Set<String>? = nil, _ receive: (RecoveredRow) -> Bool
  ) throws(SQLiteFileError) {
    try withoutActuallyEscaping(receive) { receive throws(SQLiteFileError) in
      var sink = RecoveredValueSink(receive: receive)
      try emit(selection, places(names), &sink)
    }
  }

  /// Writes rows as JSON.
  /// - Throws: ``SQLiteFileError`` when the device fails or the output cannot be written.
  public func writeJSON(
    _ selection: Selection, of names: Set<String>? = nil, as form: JSONForm = .lines,
    limit: Int? = nil, to descriptor: Int32
  ) throws(SQLiteFileError) {
    var sink = RecoveredJSONSink(
      output: OutputBuffer(descriptor: descriptor), tables: tables, form: form, limit: limit)
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

  func places(_ names: Set<String>?) -> Set<Int>? {
    names.map { names in Set(tables.indices.filter { names.contains(tables[$0].name) }) }
  }

  func emit<Sink: RecoverySink & ~Copyable>(
    _ selection: Selection, _ wanted: Set<Int>?, _ sink: inout Sink
  ) throws(SQLiteFileError) {
    if selection != .deleted { try emitLive(wanted, &sink) }
    if selection != .live, sink.wantsMore { try emitDeleted(wanted, &sink) }
  }
}
