import SQLiteFile

extension DamagedDatabase {
  // MARK: - Records

  /// Repairs each unreadable cell on a leaf of the schema table by flipping one bit near the start of the cell, if
  /// exactly one such flip makes the cell a valid entry. In a valid entry, the lengths add up, and the first string is
  /// `table`, `index`, `view` or `trigger`. In a valid entry of a table, `name` and `tbl_name` also have the same
  /// length.
  ///
  /// `attempts`: the number of unreadable cells of the whole file for which a repair has been tried so far.
  func repairCells(
    ofSchemaPage number: UInt32, _ page: inout ContiguousArray<UInt8>, _ attempts: inout Int
  ) {
    let base = number == 1 ? DatabaseHeader.length : 0
    let limit = layout.usableSize
    let count = Int(page.rawSpan.uint16(at: base + 3))
    guard page.count >= limit, base + 8 + 2 * count <= limit else { return }
    var types = RecordTypes()
    let starts = (0..<count).map { Int(page.rawSpan.uint16(at: base + 8 + 2 * $0)) }
    let ends = Set(starts + [limit])
    for start in starts {
      guard start > base + 8, start + 4 <= limit,
        schemaCell(page.rawSpan, at: start, &types) == nil
      else { continue }
      attempts += 1
      guard attempts <= Self.maxRepairedCells else { return }
      var found: [(byte: Int, value: UInt8, isTight: Bool, isStated: Bool)] = []
      for byte in start..<min(start + Self.longestCellHead, limit) {
        for bit in 0..<8 {
          page[byte] ^= 1 << bit
          if let cell = schemaCell(page.rawSpan, at: start, &types) {
            found.append((byte, page[byte], ends.contains(cell.end), cell.isStated))
          }
          page[byte] ^= 1 << bit
        }
      }
      // A cell ends where another cell begins, or at the end of the page's usable part, unless entries were deleted.
      if found.count > 1 { found.removeAll { !$0.isTight } }
      // Two wrong lengths may compensate for each other. Then the statement begins at the wrong offset.
      if found.count > 1 { found.removeAll { !$0.isStated } }
      if found.count == 1 { page[found[0].byte] = found[0].value }
    }
  }

  /// The maximum number of unreadable cells of one file for which a repair is tried. Many cells may be tried in vain,
  /// because pages of other tables may look like pages of the schema table.
  private static let maxRepairedCells = 1 << 12
  /// The number of bytes, from the start of a cell, in which flipped bits are looked for. Payload length, row id and
  /// record header together take at most this many bytes.
  private static let longestCellHead = 20

  /// Returns the end of the cell at `start`, and whether the cell's statement is NULL or begins with CREATE
  /// (`isStated`). Returns nil if the cell is no valid entry of the schema table.
  private func schemaCell(
    _ page: RawSpan, at start: Int, _ types: inout RecordTypes
  ) -> (end: Int, isStated: Bool)? {
    guard
      let cell = LeafCell.parse(
        page, at: start, limit: layout.usableSize, usableSize: layout.usableSize,
        maxPayload: maxPayload, &types),
      types.types.count == 5, (1...9).contains(types.types[3]), types.types[3] != 7
    else { return nil }
    let body = cell.record + cell.payload - types.bodyLength
    let isWide = layout.textEncoding != .utf8
    /// Compares `word`, character by character, with the page from the offset `place` on. Returns the number of
    /// characters that differ.
    func differences(_ place: Int, _ word: StaticString) -> Int {
      word.description.utf8.enumerated().count { index, character in
        let offset =
          place
          + (isWide ? 2 * index + (layout.textEncoding == .utf16BigEndian ? 1 : 0) : index)
        return offset >= cell.record + cell.local || page.byte(at: offset) != character
      }
    }
    for word: StaticString in ["table", "index", "view", "trigger"] {
      let length = word.utf8CodeUnitCount
      guard types.types[0] == UInt64(13 + 2 * length * (isWide ? 2 : 1)),
        // The word itself may have another flipped bit.
        differences(body, word) <= 1,
        word.description != "table" || types.types[1] == types.types[2]
      else { continue }
      let statement = body + types.types[..<4].reduce(0) { $0 + RecordDecoder.length(ofType: $1) }
      return (cell.end, types.types[4] == 0 || differences(statement, "CREATE ") <= 1)
    }
    return nil
  }

  // MARK: - Root pages

  /// Repairs a wrong root page in the entry of a table, and returns all entries. A root page is wrong if its number is
  /// missing, is also the root page of another table, is outside the file, or is the number of an index page. The new
  /// root page must have rows of the table, and no page may lead to it. Only one page may meet these conditions. If the
  /// old number is wrong rather than missing, the new number must differ from the old number in exactly one bit.
  ///
  /// At most one entry is changed. If several root pages are wrong, no entry is changed; the b-trees of these tables
  /// are found later by rows and indexes.
  func repairRoots(of entries: [SchemaEntry]) throws(SQLiteFileError) -> [SchemaEntry] {
    var places: [UInt32: [Int]] = [:]
    for (place, entry) in entries.enumerated()
    where entry.type == "table" && (entry.rootPage > 1 || entry.lacksRoot) {
      places[entry.rootPage, default: []].append(place)
    }
    let bad = places.filter { root, sharing in
      root < 2 || sharing.count > 1 || isNoTable(root, entries[sharing[0]])
    }
    guard let (root, claimants) = bad.first, bad.count == 1, claimants.count <= (root < 2 ? 1 : 2)
    else { return entries }
    var sharing = claimants
    if sharing.count > 1 {
      let tables = sharing.map { place in
        let entry = entries[place]
        return Table(
          name: entry.name, rootPage: root,
          definition: entry.sql.flatMap { TableDefinition(sql: $0) }, sql: entry.sql, place: place)
      }
      // The page remains the root page of the table that `SQLiteDatabase` chooses.
      let owner = try RootChoice.choose(tables, encoding: layout.textEncoding, &reader)
      sharing.removeAll { $0 == owner.place }
    }
    let pages =
      root < 2
      ? Array(2...max(2, min(pageCount, Self.maxCandidates)))
      : (0..<32).map { root ^ (1 << UInt32($0)) }
    let taken = Set(entries.map(\.rootPage))
    var found: [(place: Int, root: UInt32)] = []
    for place in sharing {
      guard let sql = entries[place].sql,
        let table = ExpectedTable(name: entries[place].name, sql: sql)
      else { continue }
      for page in pages where found.count < 2 && !taken.contains(page) {
        if try canBeRoot(page, of: table) { found.append((place, page)) }
      }
    }
    guard found.count == 1 else { return entries }
    var repaired = entries
    let entry = entries[found[0].place]
    repaired[found[0].place] = SchemaEntry(
      type: entry.type, name: entry.name, tableName: entry.tableName, rootPage: found[0].root,
      sql: entry.sql)
    return repaired
  }

  /// The number of pages, from the start of the file, in which a missing root page is searched for.
  private static let maxCandidates: UInt32 = 1 << 16

  /// Whether the root page is outside the file, or is an index page although the table has row ids.
  private func isNoTable(_ root: UInt32, _ entry: SchemaEntry) -> Bool {
    guard root <= pageCount else { return true }
    guard census.kind(root).isIndex else { return false }
    return entry.sql.flatMap { TableDefinition(sql: $0) }?.isWithoutRowID == false
  }

  private func canBeRoot(_ page: UInt32, of table: ExpectedTable) throws(SQLiteFileError) -> Bool {
    guard page >= 2, page <= pageCount, census.parent(page) == 0, !census.free.contains(page) else {
      return false
    }
    if let entry = try map.entry(of: page, &reader), entry.kind != .root { return false }
    switch census.kind(page) {
    case .tableLeaf, .tableInterior:
      guard !table.definition.isWithoutRowID, try !FirstRecords.read(below: page, &reader).isEmpty
      else { return false }
      return try firstRows(below: page, fit: table)
    default: return false
    }
  }
}
