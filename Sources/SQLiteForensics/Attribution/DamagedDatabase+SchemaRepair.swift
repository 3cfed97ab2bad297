import SQLiteFile

extension DamagedDatabase {
  // MARK: - Records

  /// Undoes one flipped bit at the start of each unreadable cell on a leaf of the schema table, if exactly one flip
  /// makes the cell an entry: the lengths add up, the first text is one of the four types, and an entry of a table has
  /// its name twice.
  ///
  /// `attempts`: how many unreadable cells were tried so far in the whole file.
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
      // Unless entries were deleted, a cell ends where another cell begins, or where the usable part of the page ends.
      if found.count > 1 { found.removeAll { !$0.isTight } }
      // Two wrong lengths may compensate for each other; then the statement begins at the wrong offset.
      if found.count > 1 { found.removeAll { !$0.isStated } }
      if found.count == 1 { page[found[0].byte] = found[0].value }
    }
  }

  /// The most damaged cells that are tried in a file: pages of other tables may look like the schema's.
  private static let maxRepairedCells = 1 << 12
  /// How many bytes from the start of a cell are tried: the payload length, row id and record header of an entry of the
  /// schema table take no more.
  private static let longestCellHead = 20

  /// Where the cell at `start` ends, and whether its statement is NULL or begins with CREATE; nil unless the cell is an
  /// entry of the schema table.
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
    /// How many characters at `place` differ from `word`. Characters after the cell's local part count as different.
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

  /// The entries, with a new root page for the only table that lacks a root page of its own: its entry names none, or
  /// names a page of another table or of an index. The new root page is the only page that nothing leads to and that
  /// has rows of the table. Its number differs in one bit from the number in the entry, unless the entry has none.
  /// Where several tables lack a root page, the entries stay as they are, and rows and indexes decide later.
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
      // The page stays with the table that the ordinary reader chooses.
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

  /// How many pages, from the start of the file, are searched for a root page that the schema lacks.
  private static let maxCandidates: UInt32 = 1 << 16

  /// Whether the root page of a table's entry is outside the file, or is an index page although the table has row ids.
  private func isNoTable(_ root: UInt32, _ entry: SchemaEntry) -> Bool {
    guard root <= pageCount else { return true }
    switch census.kind(root) {
    case .indexLeaf, .indexInterior:
      let definition = entry.sql.flatMap { TableDefinition(sql: $0) }
      return definition.map { !$0.isWithoutRowID } ?? false
    default: return false
    }
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
