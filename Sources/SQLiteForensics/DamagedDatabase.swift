package import RowText
public import SQLiteFile

/// A database file read page by page, to find what is left when its header, its schema or its b-trees are damaged, and
/// what was deleted from it.
///
/// No single source is trusted: all pages vote on page size, encoding and the position of page 1. A page belongs to the
/// table whose b-tree or pointer map still leads to it. Where nothing leads to a page, its rows decide.
///
/// The files are never written to. Do not open a file that this process also has open through SQLite: closing the file
/// here drops SQLite's locks.
public final class DamagedDatabase {
  /// The path of the main file.
  public let path: String
  /// Page size, encoding and the other facts needed to read pages, and where each comes from.
  package let layout: FileLayout
  /// Number of pages of the database, missing ones included.
  public let pageCount: UInt32
  /// The tables that rows are assigned to; ``RowOrigin/table`` is an index into this list.
  public private(set) var tables: [ExpectedTable] = []
  /// The entries of the schema table that can be read.
  package private(set) var schemaEntries: [SchemaEntry] = []
  /// Leaves of the schema table other than page 1.
  var schemaLeaves: [UInt32] = []
  /// Whether no page is rejected: the keys of the b-trees contradict no page that they lead to.
  var isInPlace: Bool { census.rejected.isEmpty }
  /// The findings so far.
  public internal(set) var findings = FindingList()

  var reader: PageReader
  var census: PageCensus
  let map: PointerMap
  let sides: SideFiles?
  /// The ordinary reader of the same file; nil when the ordinary reader cannot read the file.
  let plain: SQLiteDatabase?
  /// The ordinary reader (``plain``), but nil when bytes of the file were lost or inserted: then pages are not at the
  /// offsets that their numbers give.
  var plainInPlace: SQLiteDatabase? { layout.shift == nil ? plain : nil }
  /// Overflow pages of the live rows read so far.
  var claimed: PageSet
  /// Pages that were read and have no free space that could hold a deleted row.
  var withoutDeletedRows: PageSet
  /// Leaves whose rows were read without any doubt.
  var sound: PageSet
  /// Leaves that are not live, but whose rows the ordinary reader returned; these rows are marked as contradicted.
  var contradicted: PageSet
  var shapes: [RowShape] = []
  /// According to the pointer map: the parents of b-tree pages, and the b-tree pages themselves.
  var mappedParents: PageSet
  var mappedTreePages: PageSet
  /// Rejected pages whose rejection is uncertain: the interior page that contradicts them is an orphan, or more than a
  /// third of the pages that it leads to are wrong.
  var doubtfullyRejected: PageSet
  /// How often each page was read to judge whether it belongs where a b-tree leads to it; see ``mayJudge(_:)``.
  var judgements: PageValues<UInt8>
  /// Leaves that have changed places with a leaf of another table: each holds the rows of that other table.
  var exchanged: Set<UInt32> = []
  /// By page number: how many table pages that no b-tree leads to have this page as parent in the pointer map. Nil
  /// until first needed.
  var mappedChildren: PageValues<UInt32>?
  /// The walked b-trees, by the root page that the schema names.
  var walks: [UInt32: WalkedTree] = [:]
  /// For leaves that may also hold rows of other pages or of an earlier state, by page number: the range of row ids
  /// that belong to the leaf. `narrowedByKeys` follows from the keys that lead to the leaf, `narrowed` from all
  /// evidence.
  var narrowedByKeys: [UInt32: ClosedRange<Int64>] = [:]
  var narrowed: [UInt32: ClosedRange<Int64>] = [:]
  /// Pages that are in the right place although keys of their parent contradict them: those keys are wrong.
  var falselyKeyed: Set<UInt32> = []
  /// `isSchemaWhole`: whether all of the schema can be read. `isWhole`: whether the b-trees of all tables are whole,
  /// too.
  var isSchemaWhole = false
  var isWhole = false
  /// Whether the freelist can be followed to its end and has as many pages as the header counts.
  var isFreelistSound = false
  /// Indexes into ``tables`` by root page: `roots` as the schema says, `owners` as the rows decided.
  var roots: [UInt32: Int] = [:]
  var owners: [UInt32: Int] = [:]
  /// For each table, the most frequent serial types of the first field of its rows. Nil until they are counted.
  var firstTypes: [[UInt64]]?
  var layouts: [RowLayout] = []
  /// Whether the schema cookie counts more changes than the known schema entries explain, so that there may have been
  /// tables that no entry names any more.
  private(set) var hasUnknownTables = false
  let maxPayload: Int

  /// Opens the file, takes the census of all its pages, and assigns each page to a table.
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
    // No payload is longer than the file, nor than SQLite's own limit.
    maxPayload = min(1 << 31, reader.storedPageCount * survey.layout.pageSize)
    // Pages past the size that the last commit gave the database are not part of it.
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
    // Dropped tables may have rows in free pages.
    let dropped = try readDroppedSchema()
    var tables: [ExpectedTable] = []
    for entry in schemaEntries where entry.type == "table" && entry.rootPage > 0 {
      if let table = try table(of: entry, dropped) { tables.append(table) }
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

  /// The table that a schema entry names, with its CREATE statement; nil when the entry contradicts itself.
  ///
  /// `dropped`: deleted schema entries. One of them for the same root page and name may describe the table instead.
  private func table(of entry: SchemaEntry, _ dropped: [SchemaEntry]) throws(SQLiteFileError)
    -> ExpectedTable?
  {
    let root = entry.rootPage
    var finding = Finding(
      .schemaUnreadable, "the CREATE statement of \(entry.name) is not readable", table: entry.name)
    if let sql = entry.sql, let table = ExpectedTable(name: entry.name, sql: sql, rootPage: root) {
      switch try table.definition.evidence(on: sql, root: root, &reader) {
      case .agrees: return table
      case .repaired(let statement):
        findings.add(.repairedEntry(entry.name))
        return ExpectedTable(name: entry.name, sql: statement, rootPage: root)
      case .contradicts: finding = .tooFewColumns(entry.name)
      }
    }
    // The schema entry of a table has the table's name twice. When the two names differ, neither can be believed.
    guard SQLName.isSame(entry.name, entry.tableName) else { return nil }
    findings.add(finding)
    // A deleted entry with the same name and root page may have a readable statement for this table.
    for older in dropped
    where older.type == "table" && older.rootPage == root
      && SQLName.isSame(older.name, entry.name) && older.sql != entry.sql
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

  /// The schema entries as SQLite wrote them, with bit flips undone.
  private func repaired(_ entries: [SchemaEntry]) throws(SQLiteFileError) -> [SchemaEntry] {
    var repair = SchemaRepair()
    let repaired = try repairRoots(of: repair.repaired(entries))
    for (entry, new) in zip(entries, repaired) where !entry.isSame(as: new) {
      findings.add(.repairedEntry(new.name))
    }
    return repaired
  }

  /// Adds the schema entries and the schema findings of the ordinary reader.
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

  /// The surveyed layout. If page 2, which would be the first pointer-map page, is a table leaf with rows, the layout
  /// is returned without a pointer map.
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

  /// The most tables that pages are assigned to. SQLite has no such limit, but no app has this many.
  static let maxTables = 16_384

  /// Sets the expected tables and assigns pages to them. Only the first ``maxTables`` tables count.
  package func expect(_ tables: [ExpectedTable]) throws(SQLiteFileError) {
    var tables = Array(tables.prefix(Self.maxTables))
    // If the schema gives only a table's name and root page, a description of that table from another source applies to
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

  /// Whether the first rows of the b-tree at `root` can be rows of `table`; true when no row can be read.
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

  /// Replaces the findings by `earlier`, an older copy of them, so that a second reading of the rows does not repeat
  /// findings.
  package func takeBack(to earlier: FindingList) { findings = earlier }

  /// Which rows are wanted.
  public enum Selection: Sendable {
    /// The rows that the undamaged database would return.
    case live
    /// Live rows, then rows that SQLite reads although the rest of their page contradicts them.
    case readable
    /// Deleted rows.
    case deleted
    /// Readable and deleted rows.
    case all
  }

  /// Hands rows to `receive` until it returns false.
  ///
  /// `names`: the names of the wanted tables; nil for all rows, including those of no known table.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  public func forEachRow(
    _ selection: Selection, of names: [String]? = nil, _ receive: (RecoveredRow) -> Bool
  ) throws(SQLiteFileError) {
    try withoutActuallyEscaping(receive) { receive throws(SQLiteFileError) in
      var sink = RecoveredValueSink(receive: receive)
      try emit(selection, places(names), &sink)
    }
  }

  /// Writes rows as JSON to a descriptor; `names` nil writes all rows, including those of no known table.
  /// - Throws: ``SQLiteFileError`` when the device fails or the output cannot be written.
  package func writeJSON(
    _ selection: Selection, of names: [String]? = nil, as form: JSONForm = .lines,
    limit: Int? = nil, to descriptor: Int32
  ) throws(SQLiteFileError) {
    var sink = RecoveredJSONSink(
      output: OutputBuffer(descriptor: descriptor), tables: tables, form: form, limit: limit)
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

  /// The indices of the tables with these names, compared by their bytes.
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

  /// Hands out the rows of the selection that are not live; for `.live`, it only reports what the ordinary reader
  /// finds.
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

  /// Hands to the sink the rows that SQLite reads but that reading page by page did not return.
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
