package import RowText
public import SQLiteFile

/// A database file that is read page by page, so that rows are found although the header, the schema or the b-trees are
/// damaged. Deleted rows are found too.
///
/// All pages vote on page size, encoding and the position of page 1. The b-tree or the pointer map that leads to a page
/// decides which table the page belongs to. Otherwise the rows on the page decide.
///
/// The files are never written to. Do not open a file that this process also has open through SQLite: when this class
/// closes the file, SQLite loses its locks on the file.
public final class DamagedDatabase {
  /// The path of the main file.
  public let path: String
  /// Page size, encoding and other facts that are needed to read pages, and the source of each.
  package let layout: FileLayout
  /// The number of pages of the database, including missing pages.
  public let pageCount: UInt32
  /// The tables that rows can be assigned to. ``RowOrigin/table`` is an index into this list.
  public private(set) var tables: [ExpectedTable] = []
  /// The entries of the schema table that can be read.
  package private(set) var schemaEntries: [SchemaEntry] = []
  /// The leaves of the schema table, without page 1.
  var schemaLeaves: [UInt32] = []
  /// Whether no page contradicts the keys of the b-tree that leads to it.
  var isInPlace: Bool { census.rejected.isEmpty }
  /// The findings that have been made until now.
  public internal(set) var findings = FindingList()

  var reader: PageReader
  var census: PageCensus
  let map: PointerMap
  let sides: SideFiles?
  /// The ordinary reader: the same file, opened in the way SQLite reads it; nil if the file cannot be opened in this
  /// way.
  package let plain: SQLiteDatabase?
  /// The ordinary reader (``plain``), but nil if bytes were lost from the file or inserted: then pages are not at the
  /// offsets that follow from their numbers.
  var plainInPlace: SQLiteDatabase? { layout.shift == nil ? plain : nil }
  /// The overflow pages of the live rows that have been read.
  var claimed: PageSet
  /// Pages without free space in which a deleted row could be.
  var withoutDeletedRows: PageSet
  /// Leaves that were read without any doubt.
  var sound: PageSet
  /// Leaves that are not live, but whose rows ``plain`` returns. These rows are marked as contradicted.
  var contradicted: PageSet
  var shapes: [RowShape] = []
  /// `mappedParents`: the pages that the pointer map names as parents of b-tree pages.
  /// `mappedTreePages`: all b-tree pages in the pointer map, including root pages.
  var mappedParents: PageSet
  var mappedTreePages: PageSet
  /// Pages that may have been rejected wrongly: the interior page that contradicts them is an orphan, or more than a
  /// third of the pages that it leads to are wrong.
  var doubtfullyRejected: PageSet
  /// How often each page was read to judge whether it belongs where a b-tree leads to it; see ``mayJudge(_:)``.
  var judgements: PageValues<UInt8>
  /// Leaves that have changed places with a leaf of another table.
  var exchanged: Set<UInt32> = []
  /// For each page number, how many table pages name it as their parent in the pointer map without a b-tree that leads
  /// to them. Nil until it is first needed.
  var mappedChildren: PageValues<UInt32>?
  /// The b-trees that were walked, by the root page that the schema names.
  var walks: [UInt32: WalkedTree] = [:]
  /// The row ids that belong to a leaf, by page number, for leaves that may also have rows of other pages or of an
  /// earlier state. `narrowedByKeys` follows from the keys that lead to the leaf, `narrowed` from all evidence.
  var narrowedByKeys: [UInt32: ClosedRange<Int64>] = [:]
  var narrowed: [UInt32: ClosedRange<Int64>] = [:]
  /// Pages that are in the right place although wrong keys of their parent contradict them.
  var falselyKeyed: Set<UInt32> = []
  /// `isSchemaWhole`: whether the entire schema can be read. `isWhole`: whether the b-trees of all tables are complete,
  /// too.
  var isSchemaWhole = false
  var isWhole = false
  /// Whether the freelist has an end, and as many pages as the header states.
  var isFreelistSound = false
  /// Indexes into ``tables``, by root page: as the schema names them (`roots`), and as the b-trees were finally
  /// assigned (`owners`).
  var roots: [UInt32: Int] = [:]
  var owners: [UInt32: Int] = [:]
  /// For each table, the most frequent serial types of the first field of its rows. Nil until they have been counted.
  var firstTypes: [[UInt64]]?
  var layouts: [RowLayout] = []
  /// Whether the schema cookie counts more changes than the known schema entries explain. Then there may have been
  /// tables that no entry names.
  private(set) var hasUnknownTables = false
  let maxPayload: Int

  /// Opens the file, determines the kind of each of its pages, and assigns pages to tables.
  ///
  /// - Throws: ``SQLiteFileError`` when the file cannot be opened or read, or when nothing in it looks like a database.
  public init(path: String, logView: SQLiteDatabase.LogView = .committed) throws(SQLiteFileError) {
    self.path = path
    let main = try ByteFile(path)
    // Pages of an empty file may all be in the log.
    guard let survey = try FileSurvey(main, logView), survey.pageCount > 0 else {
      throw try Self.refusal(main)
    }
    sides = survey.sides
    layout = try Self.withoutFalseMap(survey)
    if let sides { findings.add(sides.findings) }
    plain =
      layout.origin == 0 && layout.header != nil
      ? try? SQLiteDatabase(path: path, logView: logView) : nil
    let newest = survey.pageCount
    pageCount = newest
    reader = survey.reader()
    census = PageCensus(pageCount: newest)
    map = PointerMap(layout: layout, pageCount: newest)
    claimed = PageSet(pageCount: newest)
    mappedParents = PageSet(pageCount: newest)
    mappedTreePages = PageSet(pageCount: newest)
    withoutDeletedRows = PageSet(pageCount: newest)
    sound = PageSet(pageCount: newest)
    contradicted = PageSet(pageCount: newest)
    doubtfullyRejected = PageSet(pageCount: newest)
    judgements = PageValues(repeating: 0, count: Int(newest) + 1)
    // No payload is longer than the file, and none is longer than SQLite's own limit.
    maxPayload = min(1 << 31, reader.storedPageCount * survey.layout.pageSize)
    // Pages with numbers above the page count that the last commit states are not part of the database.
    if let count = sides?.databasePageCount, count < newest {
      for page in count..<newest { census.setFree(page + 1) }
    }
    for finding in survey.findings { findings.add(finding) }
    try takeCensus()
    walks[1] = try walkSchemaTree()
    schemaEntries = try repaired(readSchema())
    takePlainSchema()
    try walkTrees()
    if schemaEntries.isEmpty, census.kind(1) != .tableLeaf {
      findings.add(FileSurvey.schemaLost)
    }
    // Free pages may have rows of dropped tables.
    let dropped = try readDroppedSchema()
    var tables: [ExpectedTable] = []
    var repair = SchemaRepair()
    for entry in schemaEntries where entry.type == "table" && entry.rootPage > 0 {
      if let table = try table(of: entry, dropped, &repair) { tables.append(table) }
    }
    try settleSharedRoots(of: &tables)
    hasUnknownTables = impliesUnknownTables(beside: dropped)
    for entry in dropped
    where !tables.contains(where: {
      $0.name == entry.name && $0.name.utf8.elementsEqual(entry.name.utf8)
    }) {
      guard entry.type == "table", let sql = entry.sql,
        var table = ExpectedTable(name: entry.name, sql: sql, rootPage: entry.rootPage)
      else { continue }
      table.isDropped = true
      tables.append(table)
    }
    try expect(tables)
  }

  /// The table that a schema entry describes; nil if the entry contradicts itself.
  ///
  /// `dropped`: deleted schema entries. If the CREATE statement of `entry` cannot be used, that of a deleted entry with
  /// the same root page and name is used.
  private func table(
    of entry: SchemaEntry, _ dropped: [SchemaEntry], _ repair: inout SchemaRepair
  ) throws(SQLiteFileError) -> ExpectedTable? {
    let root = entry.rootPage
    var finding = Finding(
      .schemaUnreadable, "the CREATE statement of \(entry.name) is not readable", table: entry.name)
    if let sql = entry.sql, let table = ExpectedTable(name: entry.name, sql: sql, rootPage: root) {
      switch try table.definition.evidence(on: sql, root: root, &repair, &reader) {
      case .agrees: return table
      case .repaired(let statement):
        findings.add(.repairedEntry(entry.name))
        return ExpectedTable(name: entry.name, sql: statement, rootPage: root)
      case .contradicts: finding = .tooFewColumns(entry.name)
      }
    }
    // A table's schema entry has its name twice. If the two names differ, neither can be trusted.
    guard SQLName.isSame(entry.name, entry.tableName) else { return nil }
    findings.add(finding)
    // A deleted entry with the same name and root page may have a readable statement for this table.
    for older in dropped
    where older.type == "table" && older.rootPage == root
      && SQLName.isSame(older.name, entry.name) && !older.hasSameStatement(as: entry)
    {
      if let sql = older.sql,
        let table = ExpectedTable(name: entry.name, sql: sql, rootPage: root)
      {
        return table
      }
    }
    return ExpectedTable(
      undescribed: entry.name, rootPage: root,
      isWithoutRowID: [.indexLeaf, .indexInterior].contains(census.kind(root)))
  }

  /// Returns the schema entries, with the bits flipped back that damage has flipped.
  private func repaired(_ entries: [SchemaEntry]) throws(SQLiteFileError) -> [SchemaEntry] {
    var repair = SchemaRepair()
    let repaired = try repairRoots(of: repair.repaired(entries))
    for (entry, new) in zip(entries, repaired) where !entry.isSame(as: new) {
      findings.add(.repairedEntry(new.name))
    }
    return repaired
  }

  private func takePlainSchema() {
    guard let plain else { return }
    for finding in plainInPlace?.findings.kept ?? []
    where finding.table == Self.schemaTable?.name {
      findings.add(finding)
    }
    var names = Set(schemaEntries.filter { $0.type == "table" }.map { SQLName($0.name) })
    for entry in plain.schema.repairedEntries where entry.type == "table" {
      if names.insert(SQLName(entry.name)).inserted { schemaEntries.append(entry) }
    }
  }

  /// The surveyed layout. Page 2 would be the first pointer-map page. If it is a table leaf with rows, the layout is
  /// returned without a pointer map.
  private static func withoutFalseMap(_ survey: FileSurvey) throws(SQLiteFileError) -> FileLayout {
    var layout = survey.layout
    guard layout.hasPointerMap else { return layout }
    var reader = survey.reader()
    var buffer = ContiguousArray<UInt8>()
    guard try reader.copy(2, into: &buffer) == layout.pageSize else { return layout }
    var reading = LeafReading(
      usableSize: layout.usableSize, maxPayload: 1 << 31, encoding: layout.textEncoding)
    let isTable = buffer.rawSpan.byte(at: 0) == BTreePage.Kind.leafTable.rawValue
    reading.read(buffer.rawSpan, number: 2, available: layout.pageSize, shape: nil)
    let count = Int(buffer.rawSpan.uint16(at: 3))
    if isTable, reading.cells.count * 2 > count { layout.hasPointerMap = false }
    return layout
  }

  private static func refusal(_ main: ByteFile) throws(SQLiteFileError) -> SQLiteFileError {
    guard main.size > 0 else { return SQLiteFileError(.empty, "empty file", path: main.path) }
    if try Entropy.looksEncrypted(main) { return SQLiteDatabase.encrypted(main) }
    return SQLiteFileError(
      .notADatabase, "no page of the file looks like a database page", path: main.path)
  }

  /// The maximum number of tables that pages are assigned to. SQLite has no such limit, but no app has so many tables.
  static let maxTables = 16_384

  /// Sets the tables that the file is expected to have, and assigns pages to them. Only the first ``maxTables`` count.
  package func expect(_ tables: [ExpectedTable]) throws(SQLiteFileError) {
    var tables = Array(tables.prefix(Self.maxTables))
    // A table of which the schema gives only name and root page gets its description from another source.
    for place in tables.indices where !tables[place].isDescribed {
      guard
        let other = tables.firstIndex(where: {
          $0.isDescribed && !$0.isDropped && SQLName.isSame($0.name, tables[place].name)
        }), tables[other].rootPage == nil,
        try tables[place].rootPage.map({ root throws(SQLiteFileError) in
          try firstRows(below: root, fit: tables[other])
        }) ?? true
      else { continue }
      tables[other].rootPage = tables[place].rootPage
      tables[place].rootPage = nil
    }
    self.tables = tables
    firstTypes = nil
    shapes = tables.enumerated().map { RowShape($1, table: $0) }
    layouts = tables.map { $0.isDescribed ? RowLayout($0.definition) : RowLayout() }
    try attribute()
  }

  /// Whether the first rows of the b-tree at `root` can be rows of `table`. Also true if no row can be read.
  func firstRows(below root: UInt32, fit table: ExpectedTable) throws(SQLiteFileError)
    -> Bool
  {
    let shape = RowShape(table, table: 0)
    var types = RecordTypes()
    return try FirstRecords.read(below: root, &reader).allSatisfy { record in
      let bytes = record.payload.rawSpan
      guard let header = Varint.read(bytes, at: 0, end: bytes.byteCount),
        header.value > UInt64(header.length), header.value <= UInt64(bytes.byteCount),
        types.read(bytes, header.length..<Int(header.value))
      else { return false }
      return shape.fits(types)
    }
  }

  // MARK: - Rows

  /// Replaces the findings by `earlier`, so that a second reading of the rows does not add the same findings twice.
  package func takeBack(to earlier: FindingList) { findings = earlier }

  /// The kinds of rows that a caller can ask for.
  public enum Selection: Sendable {
    /// The rows that the undamaged database would return.
    case live
    /// The live rows, followed by rows that SQLite also reads although the rest of the file contradicts them.
    case readable
    /// Deleted rows.
    case deleted
    /// Readable and deleted rows.
    case all
  }

  /// Passes rows to `receive` until it returns false.
  ///
  /// `names`: the names of the wanted tables; nil for all rows, including rows of no known table.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  public func forEachRow(
    _ selection: Selection, of names: [String]? = nil, _ receive: (RecoveredRow) -> Bool
  ) throws(SQLiteFileError) {
    try withoutActuallyEscaping(receive) { receive throws(SQLiteFileError) in
      var sink = RecoveredValueSink(receive: receive)
      try emit(selection, places(names), &sink)
    }
  }

  /// Writes rows as JSON to a file descriptor.
  ///
  /// `names`: the names of the wanted tables; nil for all rows, including rows of no known table.
  /// - Throws: ``SQLiteFileError`` when the device fails or the output cannot be written.
  package func writeJSON(
    _ selection: Selection, of names: [String]? = nil, as form: JSONForm = .lines,
    limit: Int? = nil, to descriptor: Int32
  ) throws(SQLiteFileError) {
    var sink = RecoveredJSONSink(
      output: OutputBuffer(descriptor: descriptor), tables: tables, form: form, limit: limit)
    // If the device fails, the rows that were read before are written.
    defer { sink.flush() }
    let wanted = places(names)
    if selection != .deleted {
      if sink.isUnlimited, pageCount >= ParallelRecovery.minPageCount {
        try ParallelRecovery.write(self, wanted, to: &sink)
      } else {
        try emitLive(wanted, &sink)
      }
    }
    try emitRest(selection, wanted, &sink)
    try sink.finish()
  }

  /// The tables with these names, as indexes into ``tables``; nil, for all tables, if `names` is nil. Names are
  /// compared byte by byte.
  func places(_ names: [String]?) -> Set<Int>? {
    names.map { names in
      let wanted = Set(names.map { Array($0.utf8) })
      return Set(tables.indices.filter { wanted.contains(Array(tables[$0].name.utf8)) })
    }
  }

  func emit<Sink: RecoverySink & ~Copyable>(
    _ selection: Selection, _ wanted: Set<Int>?, _ sink: inout Sink
  ) throws(SQLiteFileError) {
    if selection != .deleted { try emitLive(wanted, &sink) }
    try emitRest(selection, wanted, &sink)
  }

  /// Sends those of the selected rows that are not live. If the selection is `.live`, sends no rows, and only adds the
  /// findings of the ordinary reader.
  func emitRest<Sink: RecoverySink & ~Copyable>(
    _ selection: Selection, _ wanted: Set<Int>?, _ sink: inout Sink
  ) throws(SQLiteFileError) {
    switch selection {
    case .live:
      if sink.wantsMore { try readPlainly(wanted, comparesRows: false) { _, _, _ in true } }
    case .readable: try emitContradicted(wanted, isForFreshFile: true, &sink)
    case .all:
      try emitContradicted(wanted, &sink)
      if sink.wantsMore { try emitDeleted(wanted, withContradicted: true, &sink) }
    case .deleted:
      if sink.wantsMore { try emitDeleted(wanted, withContradicted: false, &sink) }
    }
  }

  /// Sends the rows that SQLite reads, but that were not found page by page.
  func emitContradicted<Sink: RecoverySink & ~Copyable>(
    _ wanted: Set<Int>?, isForFreshFile: Bool = false, _ sink: inout Sink
  ) throws(SQLiteFileError) {
    guard sink.wantsMore else { return }
    try readPlainly(wanted, isForFreshFile: isForFreshFile) { row, origin, lost in
      row.send(as: origin, without: lost, to: &sink)
      return sink.wantsMore
    }
  }
}
