extension DamagedDatabase {
  /// The entries of the schema table: from page 1 and the leaves below it, else from any leaf that looks as if
  /// it were one of them.
  func readSchema() throws(SQLiteFileError) -> [SchemaEntry] {
    var entries: [SchemaEntry] = []
    var seen: Set<SchemaEntry> = []
    var buffer = ContiguousArray<UInt8>()
    var reading = LeafReading(
      usableSize: layout.usableSize, mostPayload: mostPayload, encoding: layout.textEncoding)
    guard let expected = Self.schemaTable else { return [] }
    let shape = RowShape(expected, table: 0)
    let schemaLayout = RowLayout(expected.definition)
    var page: UInt32 = 1
    while page <= pageCount {
      defer { page += 1 }
      let kind = census.kind(page)
      guard kind == .tableLeaf || page == 1, !census.free.contains(page) else { continue }
      let available = try reader.copy(page, into: &buffer)
      guard available > 0, kind != .tableInterior else { continue }
      // A cheap look first: schema rows begin with one of four words.
      guard page == 1 || Self.mayBeSchema(buffer.rawSpan, usableSize: layout.usableSize) else {
        continue
      }
      reading.read(buffer.rawSpan, number: page, available: available, shape: shape)
      var rows: [StoredRow] = []
      var decoder = RecordDecoder(encoding: layout.textEncoding)
      for cell in reading.cells {
        var sink = RecoveredValueSink { row in
          if row.partial.isEmpty { rows.append(StoredRow(rowID: row.rowID, values: row.values)) }
          return true
        }
        try emit(
          cell, of: page, buffer.rawSpan, RowOrigin(), schemaLayout, isLive: false, &decoder, &sink)
      }
      for entry in rows.compactMap(SchemaEntry.init(row:)) {
        guard ["table", "index", "view", "trigger"].contains(entry.type),
          entry.sql?.lowercased().hasPrefix("create") ?? true
        else { continue }
        if seen.insert(entry).inserted { entries.append(entry) }
      }
    }
    return entries
  }

  /// The schema table (file format, section 2.6).
  static var schemaTable: ExpectedTable? {
    ExpectedTable(
      name: "sqlite_schema",
      sql: "CREATE TABLE sqlite_schema(type text, name text, tbl_name text, rootpage int, sql text)",
      rootPage: 1)
  }

  private static func mayBeSchema(_ page: RawSpan, usableSize: Int) -> Bool {
    let count = Int(page.uint16(at: 3))
    guard count > 0, 10 + 2 * count <= usableSize else { return false }
    let start = Int(page.uint16(at: 8))
    var types = RecordTypes()
    guard start + 4 <= usableSize,
      let cell = LeafCell.parse(
        page, at: start, limit: usableSize, usableSize: usableSize, mostPayload: 1 << 31, &types),
      types.types.count == 5
    else { return false }
    // table, index, view or trigger, in one byte a character or two.
    let length = types.types[0]
    return cell.hasRowID
      && [23, 21, 27, 33, 35, 29, 41].contains(length)
  }
}
