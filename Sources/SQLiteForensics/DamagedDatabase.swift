package import RowText
public import SQLiteFile

/// Reads a database file page by page, so that rows are found even if the header, the schema or the b-trees are
/// damaged. Deleted rows are found too.
///
/// The content of all pages together determines the page size, the text encoding and the offset of page 1. A b-tree or
/// a pointer-map entry that leads to a page determines the page's table. For any other page, the rows on it determine
/// its table.
///
/// The files are never written to. Do not open a file that this process also has open through SQLite: when this class
/// closes the file, SQLite loses its locks on the file.
public final class DamagedDatabase {
  /// The path of the main file.
  public let path: String
  /// The page size, the text encoding, and the other properties of the file that are needed to read its pages.
  package let layout: FileLayout
  /// The highest page number in the main file, the log and the journal. Pages that were lost from the start of the main
  /// file are counted too.
  public let pageCount: UInt32
  /// The tables that rows can be assigned to. ``RowOrigin/table`` is an index into this list.
  public private(set) var tables: [ExpectedTable] = []
  /// The entries of the schema table that can be read.
  package private(set) var schemaEntries: [SchemaEntry] = []
  /// The leaf pages of the schema table, except page 1.
  var schemaLeaves: [UInt32] = []
  /// Whether the keys on every interior page fit the content of the child pages. False if ``census`` has rejected a
  /// page.
  var isInPlace: Bool { census.rejected.isEmpty }
  /// The findings so far.
  public internal(set) var findings = FindingList()

  var reader: PageReader
  var census: PageCensus
  let map: PointerMap
  let sides: SideFiles?
  /// The file as SQLite reads it, from the root pages down. Nil if `SQLiteDatabase` cannot open the file, for example
  /// because the header is lost.
  package let plain: SQLiteDatabase?
  /// The reader ``plain`` if no bytes were lost or inserted in the middle of the file, otherwise nil. Only then does
  /// the offset of each page follow from its page number.
  var plainInPlace: SQLiteDatabase? { layout.shift == nil ? plain : nil }
  /// The overflow pages of all live rows that have been read so far.
  var claimed: PageSet
  /// The pages that are not searched for deleted rows, because they have no space in which a deleted row could be.
  var withoutDeletedRows: PageSet
  /// The table leaves without any sign of damage, all of whose rows were sent as live rows.
  var sound: PageSet
  /// The leaves that ``plain`` (the file as SQLite reads it) has as live leaves, but ``census`` does not. If only
  /// ``plain`` finds a row on such a leaf, the state of the row is ``RowOrigin/State/contradicted``.
  var contradicted: PageSet
  var shapes: [RowShape] = []
  /// `mappedParents`: the pages that the pointer map names as parents of b-tree pages.
  /// `mappedTreePages`: the pages that the pointer map lists as b-tree pages, including root pages.
  var mappedParents: PageSet
  var mappedTreePages: PageSet
  /// Child pages whose content does not fit the keys on their parent page, but which may be in the right place, because
  /// the parent page is doubtful itself. A parent page is doubtful if no b-tree leads to it, or if more than a third of
  /// its child pages do not fit its keys.
  var doubtfullyRejected: PageSet
  /// For each page, by page number: how often the page was read to judge its position in its b-tree. ``mayJudge(_:)``
  /// limits this number.
  var judgements: PageValues<UInt8>
  /// The page numbers of leaves that may have changed places with a leaf of another table.
  var exchanged: Set<UInt32> = []
  /// For each page, the number of table pages that name it as their parent in the pointer map. Only pages to which no
  /// interior page leads are counted. Nil until it is first needed.
  var mappedChildren: PageValues<UInt32>?
  /// The walked b-trees. The key is the number of the root page that the schema names.
  var walks: [UInt32: WalkedTree] = [:]
  /// For leaves that may also hold rows that do not belong on them (older rows, or rows of other pages): the range of
  /// the row ids that belong on the leaf. The key is the page number.
  /// `narrowedByKeys`: the range according to the keys on the interior pages above the leaf.
  /// `narrowed`: the range according to all evidence.
  var narrowedByKeys: [UInt32: ClosedRange<Int64>] = [:]
  var narrowed: [UInt32: ClosedRange<Int64>] = [:]
  /// Pages whose row ids do not fit the keys on the parent page because these keys are wrong. The pages are in the
  /// right place in their b-tree.
  var falselyKeyed: Set<UInt32> = []
  /// `isSchemaWhole`: whether all entries of the schema table can be read.
  /// `isWhole`: whether the b-trees of all tables are complete, too.
  var isSchemaWhole = false
  var isWhole = false
  /// Whether the freelist can be followed to its end and has as many pages as the header states.
  var isFreelistSound = false
  /// The tables of b-trees, as indexes into ``tables``, keyed by root page.
  ///
  /// `roots`: the table that the schema names for the root page.
  /// `owners`: the table to which the b-tree was finally assigned.
  var roots: [UInt32: Int] = [:]
  var owners: [UInt32: Int] = [:]
  /// For each table, the serial types that are most frequent in the first field of its rows. Nil until the serial types
  /// have been counted.
  var firstTypes: [[UInt64]]?
  var layouts: [RowLayout] = []
  /// Whether the schema cookie counts more changes than the known schema entries explain. If so, there may have been
  /// tables that no known entry names.
  private(set) var hasUnknownTables = false
  let maxPayload: Int

  /// Opens the file, determines the kind of each of its pages, and assigns pages to tables.
  ///
  /// - Throws: ``SQLiteFileError`` when the file cannot be opened or read, or when no page looks like a database page.
  public init(path: String, logView: SQLiteDatabase.LogView = .committed) throws(SQLiteFileError) {
    self.path = path
    let main = try ByteFile(path)
    // The main file may be empty because all pages are still in the log.
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
    // The schema entries of dropped tables are read too, because free pages may still have rows of these tables.
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

  /// Returns the table that the schema entry `entry` describes. If the CREATE statement of `entry` cannot be used,
  /// there are two cases. If `name` and `tbl_name` of `entry` differ, the result is nil. Otherwise the statement of a
  /// deleted schema entry with the same name and root page is used; without such an entry, the result is a table whose
  /// columns are not known.
  ///
  /// `dropped`: the deleted schema entries.
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
    // The schema entry of a table contains the table name twice (`name` and `tbl_name`). If the two differ, neither can
    // be trusted.
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
      isWithoutRowID: census.kind(root).isIndex)
  }

  /// Returns `entries` with flipped bits and a wrong root page repaired. Adds a finding for each repaired entry.
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

  /// Returns the layout of `survey`. If page 2, which would be the first pointer-map page, is a table leaf with rows,
  /// then the returned layout has no pointer map.
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

  /// The maximum number of tables. SQLite has no such limit, but no app has so many tables.
  static let maxTables = 16_384

  /// Sets ``tables`` to the first ``maxTables`` elements of `tables`, and assigns pages to these tables.
  package func expect(_ tables: [ExpectedTable]) throws(SQLiteFileError) {
    var tables = Array(tables.prefix(Self.maxTables))
    // If the schema gives only the name and the root page of a table, a table with the same name and known columns gets
    // this root page.
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

  /// Whether the first rows of the b-tree below the page `root` fit `table`. Also true if no row can be read.
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

  /// Resets ``findings`` to `earlier`. Call this before the rows are read again, because each reading adds the same
  /// findings.
  package func takeBack(to earlier: FindingList) { findings = earlier }

  /// The kinds of rows that a caller can ask for.
  public enum Selection: Sendable {
    /// The rows that the undamaged database would return.
    case live
    /// The live rows, then the rows that SQLite reads although the rest of the file contradicts them
    /// (``RowOrigin/State/contradicted``).
    case readable
    /// Deleted rows.
    case deleted
    /// Readable and deleted rows.
    case all
  }

  /// Calls `receive` with each row of the selection until `receive` returns false.
  ///
  /// `names`: the names of the wanted tables; nil for all rows, including rows of no known table.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  public func forEachRow(
    _ selection: Selection, of names: [String]? = nil, _ receive: (RecoveredRow) -> Bool
  ) throws(SQLiteFileError) {
    try withoutActuallyEscaping(receive) { receive throws(SQLiteFileError) in
      var sink = BufferedRowSink { row in receive(RecoveredRow(row)) }
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
    // If the device fails, the rows that were read before the failure are still written.
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

  /// Returns the indexes, in ``tables``, of the tables that `names` lists. Returns nil, which means all tables, if
  /// `names` is nil. Names are compared byte by byte.
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

  /// Sends the rows of the selection that are not live. The live rows must have been sent before. For the selection
  /// `.live`, sends nothing, but adds the findings of ``plain`` to ``findings``.
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

  /// Sends the rows that `SQLiteDatabase` (``plain``) reads from doubtful pages, but that ``RowReader`` has not found.
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
