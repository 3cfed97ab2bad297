package import SQLiteFile

/// Identifies a schema entry by its root page and the UTF-8 bytes of its strings. The strings themselves are not
/// compared, because Swift's `==` treats canonically equivalent strings as equal and SQLite does not.
private struct EntryKey: Hashable {
  let rootPage: UInt32
  let texts: [[UInt8]]

  init(_ entry: SchemaEntry) {
    rootPage = entry.rootPage
    texts = [entry.type, entry.name, entry.tableName, entry.sql ?? ""].map { Array($0.utf8) }
  }
}

extension DamagedDatabase {
  /// Reads the entries of the schema table. If the b-tree of the schema table is damaged, reads every leaf of the file
  /// that looks like a leaf of the schema table. Sets ``isSchemaWhole``, and adds a finding if entries are missing.
  func readSchema() throws(SQLiteFileError) -> [SchemaEntry] {
    var entries: [SchemaEntry] = []
    var rowReader = RowReader(self)
    var seen: Set<EntryKey> = []
    var buffer = ContiguousArray<UInt8>()
    var reading = newReading()
    var types = RecordTypes()
    var repair = SchemaRepair()
    var repairedCells = 0
    guard let expected = Self.schemaTable else { return [] }
    let shape = RowShape(expected, table: 0)
    let schemaLayout = RowLayout(expected.definition)
    // A user table may hold a copy of a schema. So leaves outside the schema's b-tree are examined only if leaves of
    // the schema's b-tree are missing.
    let sound = try soundSchemaLeaves()
    var isWhole = sound != nil
    var isComplete = true
    let last = sound?.count ?? Int(pageCount)
    for place in 0..<last {
      let page = sound?[place] ?? UInt32(place + 1)
      let kind = census.kind(page)
      // A leaf of the schema with a ruined header is not counted as a leaf by the census.
      guard kind == .tableLeaf || page == 1 || (kind == .other && census.parent(page) == 1),
        sound != nil || !census.free.contains(page)
      else { continue }
      let available = try reader.copy(page, into: &buffer)
      guard available > 0, kind != .tableInterior else { continue }
      // A cheap check comes first: a row of the schema table begins with `table`, `index`, `view` or `trigger`.
      guard
        page == 1 || sound != nil
          || Self.mayBeSchema(buffer.rawSpan, usableSize: layout.usableSize)
      else { continue }
      repairCells(ofSchemaPage: page, &buffer, &repairedCells)
      reading.read(buffer.rawSpan, number: page, available: available, shape: shape)
      let isOwn = page == 1 || sound != nil || census.parent(page) == 1
      var rows: [StoredRow] = []
      for cell in reading.cells {
        var sink = BufferedRowSink { buffered in
          let row = RecoveredRow(buffered)
          var values = row.values
          for value in row.partial {
            // The bytes of a statement that is not valid text may still be complete.
            if value.of > 0, value.have == value.of, value.column < values.count {
              values[value.column] = .blob(value.bytes)
            } else if isOwn, value.column == 4, self.isUnknownTable(values) {
              // The name and the root page are used even if the statement is lost.
              isWhole = false
              isComplete = false
            } else {
              isWhole = false
              return true
            }
          }
          rows.append(StoredRow(rowID: row.rowID, values: values))
          return true
        }
        try rowReader.emit(
          cell, of: page, buffer.rawSpan, RowOrigin(), schemaLayout, isLive: false, &sink)
      }
      let found = rows.compactMap { SchemaEntry(row: $0, encoding: layout.textEncoding) }.filter {
        entry in
        // The root page is used even if the statement is lost.
        entry.isReadable || repair.repaired([entry])[0].isReadable
          || (isOwn && entry.type == "table" && entry.rootPage > 1)
      }
      if page > 1, sound != nil, found.isEmpty, !reading.cells.isEmpty,
        !reading.cells.contains(where: { types.read($0, buffer.rawSpan) && shape.fits(types) })
      {
        // The keys may agree by chance with the row ids of a page of another table.
        walks[1]?.lose(try self.place(of: page))
        census.expel(page)
        reportMisplaced(page)
      }
      let count = Int(buffer.rawSpan.uint16(at: page == 1 ? DatabaseHeader.length + 3 : 3))
      if isOwn, found.count < max(count, reading.cells.count) { isComplete = false }
      if page > 1, !found.isEmpty { schemaLeaves.append(page) }
      for entry in found where seen.insert(EntryKey(entry)).inserted { entries.append(entry) }
    }
    isSchemaWhole = isWhole && isComplete
    if !isComplete, !entries.isEmpty {
      findings.add(
        Finding(
          .schemaIncomplete,
          "part of the schema table cannot be read; tables without a readable entry are recognised by their rows",
          page: 1))
    }
    return entries
  }

  /// Takes account of tables that the database must have, although the schema table has no entries of them. Pages to
  /// which no b-tree leads may then hold live rows. If `tables` has a dropped table with one of these names, that table
  /// is the missing one. Call this before ``expect(_:)``.
  package func addMissingEntries(
    of names: [String], to tables: inout [ExpectedTable]
  ) throws(SQLiteFileError) {
    isSchemaWhole = false
    isWhole = false
    for name in names {
      findings.add(
        Finding(
          .schemaIncomplete,
          "the schema table has no entry of this table; its rows are recognised by their content",
          page: 1, table: name))
      guard
        let place = tables.firstIndex(where: { $0.isDropped && SQLName.isSame($0.name, name) })
      else { continue }
      tables[place].isDropped = false
      guard let root = tables[place].rootPage else { continue }
      if try firstRows(below: root, fit: tables[place]) {
        try walkTree(of: tables[place], root)
      } else {
        tables[place].rootPage = nil
      }
    }
  }

  /// Whether SQLite has dropped a table of which only a deleted entry is left. It then has freed the pages of the table,
  /// and may have used them again. If a root page is neither free nor in use, the entry alone is lost.
  package func wasDropped(_ table: ExpectedTable) -> Bool {
    guard table.isDropped, let root = table.rootPage else { return false }
    return root > pageCount || census.reached.contains(root) || census.free.contains(root)
  }

  /// Whether a row of the schema table names a table that `SQLiteDatabase` does not find.
  private func isUnknownTable(_ values: [StoredValue]) -> Bool {
    guard values.count == 5, values[0] == .text(StoredText("table")),
      case .text(let name) = values[1]
    else { return false }
    return plain?.schema.table(named: name.string) == nil
  }

  /// The leaves of the schema's b-tree in ascending order; nil if page 1 or any page below it is damaged.
  private func soundSchemaLeaves() throws(SQLiteFileError) -> [UInt32]? {
    var buffer = ContiguousArray<UInt8>()
    var reading = newReading()
    var leaves: [UInt32] = []
    var pending: [UInt32] = [1]
    var met: Set<UInt32> = [1]
    while let page = pending.popLast() {
      guard try reader.copy(page, into: &buffer) == layout.pageSize else { return nil }
      switch census.kind(page) {
      case .tableLeaf:
        reading.read(buffer.rawSpan, number: page, available: layout.pageSize, shape: nil)
        guard reading.method == .pointers else { return nil }
        leaves.append(page)
      case .tableInterior:
        guard let children = children(buffer.rawSpan, page), met.count < Self.maxSchemaPages
        else { return nil }
        for child in children {
          guard met.insert(child).inserted else { return nil }
          pending.append(child)
        }
      default: return nil
      }
    }
    return leaves.sorted()
  }

  /// The maximum number of pages of the schema's b-tree. A schema with more pages is treated as damaged.
  private static let maxSchemaPages = 1 << 16

  /// The page numbers of an interior page's children, the rightmost child first. Nil if a cell lies outside the page,
  /// or a child outside the file.
  private func children(_ page: RawSpan, _ number: UInt32) -> [UInt32]? {
    let base = number == 1 ? DatabaseHeader.length : 0
    let count = Int(page.uint16(at: base + 3))
    guard base + 12 + 2 * count <= layout.usableSize else { return nil }
    var children = [page.uint32(at: base + 8)]
    for index in 0..<count {
      let start = Int(page.uint16(at: base + 12 + 2 * index))
      guard start + 4 <= layout.usableSize else { return nil }
      children.append(page.uint32(at: start))
    }
    return children.allSatisfy { $0 >= 2 && $0 <= pageCount && $0 != number } ? children : nil
  }

  /// Recovers deleted entries of the schema table from free space. Also returns all entries from older versions of page
  /// 1, which may have been deleted since.
  func readDroppedSchema() throws(SQLiteFileError) -> [SchemaEntry] {
    guard let expected = Self.schemaTable else { return [] }
    var shape = RowShape(expected, table: 0)
    // The type and the names are never NULL.
    for field in 0..<3 { shape.fields[field].classes = .text }
    let schemaLayout = RowLayout(expected.definition)
    let encoding = layout.textEncoding
    var carver = Carver(
      usableSize: layout.usableSize, maxPayload: maxPayload, encoding: encoding)
    // The serial types of the strings "table" and "index", "view" and "trigger".
    carver.firstTypes = encoding == .utf8 ? [[23, 21, 27]] : [[33, 29, 41]]
    var reading = newReading()
    var entries: [SchemaEntry] = []
    var rowReader = RowReader(self)
    var pages: [ContiguousArray<UInt8>] = []
    var buffer = ContiguousArray<UInt8>()
    for page in [1] + schemaLeaves where try reader.copy(page, into: &buffer) == layout.pageSize {
      pages.append(buffer)
    }
    for list in [sides?.shadowed, sides?.versions] {
      for version in (list ?? PageVersions()).filter({ $0.page == 1 }).suffix(64) {
        if try load(version, &buffer) { pages.append(buffer) }
      }
    }
    for (index, page) in pages.enumerated() {
      let bytes = page.rawSpan
      let number: UInt32 = index == 0 || index > schemaLeaves.count ? 1 : 2
      reading.read(bytes, number: number, available: layout.pageSize, shape: shape)
      carver.removeAll()
      for gap in reading.gaps(from: reading.contentFloor, to: layout.usableSize, without: []) {
        carver.carve(
          bytes, gap, freeBlocks: reading.freeBlocks.filter { gap.contains($0.lowerBound) },
          shapes: [shape], own: 0)
      }
      var cells = carver.finds.map(\.cell)
      if index > schemaLeaves.count { cells += reading.cells }
      for cell in cells {
        var sink = BufferedRowSink { row in
          if let entry = SchemaEntry(
            row: StoredRow(rowID: nil, values: RecoveredRow(row).values), encoding: encoding),
            ["table", "index"].contains(entry.type), entry.rootPage > 0
          {
            entries.append(entry)
          }
          return true
        }
        try rowReader.emit(
          cell, of: number, bytes, RowOrigin(), schemaLayout, isLive: false, &sink)
      }
    }
    return entries
  }

  /// Whether there were tables that no schema entry names. Each change of the schema increments the schema cookie (file
  /// format, section 1.3.9). So this is true if the cookie is higher than the present entries and the deleted entries
  /// in `dropped` explain.
  func impliesUnknownTables(beside dropped: [SchemaEntry]) -> Bool {
    guard let header = layout.header, header.schemaCookie < 1 << 20 else { return false }
    let live = Set(schemaEntries.map { SQLName($0.name) })
    let gone = Dictionary(
      dropped.filter { !live.contains(SQLName($0.name)) }.map { (SQLName($0.name), $0.type) },
      uniquingKeysWith: { first, _ in first })
    // An index is dropped with its table, by the same statement.
    let told =
      schemaEntries.count { $0.sql != nil } + gone.count + gone.values.count { $0 == "table" }
    return Int(header.schemaCookie) > told
  }

  /// The schema table (file format, section 2.6).
  static var schemaTable: ExpectedTable? {
    ExpectedTable(
      name: "sqlite_schema",
      sql:
        "CREATE TABLE sqlite_schema(type text, name text, tbl_name text, rootpage int, sql text)",
      rootPage: 1)
  }

  private static func mayBeSchema(_ page: RawSpan, usableSize: Int) -> Bool {
    let count = Int(page.uint16(at: 3))
    guard count > 0, 10 + 2 * count <= usableSize else { return false }
    let start = Int(page.uint16(at: 8))
    var types = RecordTypes()
    guard start + 4 <= usableSize,
      let cell = LeafCell.parse(
        page, at: start, limit: usableSize, usableSize: usableSize, maxPayload: 1 << 31, &types),
      types.types.count == 5
    else { return false }
    // table, index, view or trigger, with one or two bytes per character.
    let length = types.types[0]
    return cell.hasRowID
      && [23, 21, 27, 33, 35, 29, 41].contains(length)
  }
}
