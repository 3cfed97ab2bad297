import SQLiteFile

extension DamagedDatabase {
  private static let witnessCount = 32
  /// The maximum number of indexes that ``tellOfForeignIndexes()`` looks at.
  private static let maxIndexes = 1_000

  private struct Agreement {
    /// The number of index entries that were compared with rows of the b-tree. An entry is compared if the b-tree has a
    /// readable row with the entry's row id.
    var trials = 0
    /// The number of compared index entries whose value equals the value in the row.
    var agreeing = 0

    var isFull: Bool { trials > 0 && agreeing == trials }
    var isRefuted: Bool { trials > 0 && agreeing * 2 < trials }
  }

  /// Uses indexes to find the table of each b-tree whose rows fit several tables. An index pairs values of the indexed
  /// table with row ids, so it shows which b-tree has the rows of the table. The schema may name the wrong root page.
  ///
  /// Small numbers in a b-tree and an index agree by chance. So a b-tree moves from the table A that the schema names
  /// to a table B only on two conditions. An index of B must agree with the b-tree. The same index must contradict the
  /// b-tree that the schema assigns to B.
  ///
  /// `alike`: the possible tables of each undecided b-tree, by root page.
  /// - Returns: the new tables, by root page, of the b-trees for which the indexes contradict the schema.
  func judgedByIndexes(_ alike: [UInt32: [Int]], _ roots: [UInt32: Int]) throws(SQLiteFileError)
    -> [UInt32: Int]
  {
    guard alike.count > 1 else { return [:] }
    let places = alike.keys.sorted()
    var agreements: [UInt32: [Int: Agreement]] = [:]
    for table in Set(alike.values.joined()).sorted() {
      for index in schemaEntries
      where index.type == "index" && SQLName.isSame(index.tableName, tables[table].name)
        && index.rootPage > 1
      {
        guard let column = firstColumn(of: index, table) else { continue }
        for (value, rowID) in try entries(ofIndex: index.rootPage) where value != .null {
          for root in places {
            guard case .value(let found) = try self.value(column, rowID, in: root, table) else {
              continue
            }
            agreements[root, default: [:]][table, default: Agreement()].trials += 1
            if Self.isSame(found, value) {
              agreements[root, default: [:]][table, default: Agreement()].agreeing += 1
            }
          }
        }
      }
    }
    var found: [UInt32: Int] = [:]
    for root in places {
      let tables = (alike[root] ?? []).filter { agreements[root]?[$0]?.isFull ?? false }
      guard let table = tables.first, tables.count == 1, table != roots[root] else { continue }
      if roots[root] != nil {
        guard let own = self.tables[table].rootPage, agreements[own]?[table]?.isRefuted ?? false
        else { continue }
      } else {
        guard let agreement = agreements[root]?[table], agreement.trials > 2 else { continue }
      }
      found[root] = table
    }
    return found
  }

  /// Adds a finding for each index whose entries match no row of the indexed table, as far as they were checked. Pages
  /// of such an index may have changed places with pages of a WITHOUT ROWID table, whose rows look like index entries.
  /// Does nothing in a file without such tables.
  func tellOfForeignIndexes() throws(SQLiteFileError) {
    guard tables.contains(where: { $0.definition.isWithoutRowID }) else { return }
    let indexes = schemaEntries.lazy.filter { $0.type == "index" && $0.rootPage > 1 }
    for index in indexes.prefix(Self.maxIndexes) {
      guard let table = place(ofTable: index.tableName), hasRowIDs(table),
        let root = tables[table].rootPage, let column = firstColumn(of: index, table)
      else { continue }
      var trials = 0
      var agrees = false
      for (value, rowID) in try entries(ofIndex: index.rootPage) where !agrees {
        switch try self.value(column, rowID, in: root, table) {
        case .value(let found): agrees = Self.isSame(found, value)
        case .unread: continue
        case .noRow: break
        }
        trials += 1
      }
      guard !agrees, trials > 2 else { continue }
      findings.add(
        Finding(
          .indexBadEntries,
          "no checked entry of the index \(index.name) matches a row of its table; "
            + "pages of the index may have changed places with pages of a WITHOUT ROWID table",
          page: index.rootPage, offset: reader.location(of: index.rootPage).offset,
          table: tables[table].name))
    }
  }

  private func firstColumn(of index: SchemaEntry, _ table: Int) -> Int? {
    columns(of: index, table)?.first
  }

  /// The columns of an index, as indexes into the columns of the table. Nil if the CREATE statement of the index cannot
  /// be read. Also nil if an indexed column is an expression or a virtual column, because rows do not store such
  /// values.
  func columns(of index: SchemaEntry, _ table: Int) -> [Int]? {
    let definition = tables[table].definition
    let columns: [Int?]?
    if let sql = index.sql {
      columns = IndexDefinition(sql: sql)?.columns?.map { definition.place(of: $0) }
    } else {
      columns = definition.automaticIndexes?.first { key in
        SQLName.isSame(index.name, "sqlite_autoindex_\(index.tableName)_\(key.number)")
      }?.parts.map(\.column)
    }
    guard let columns, !columns.isEmpty else { return nil }
    let known = columns.compactMap(\.self)
      .filter { definition.columns[$0].generation != .virtual }
    return known.count == columns.count ? known : nil
  }

  /// The first 32 entries on the leftmost leaf of an index, each with its first value and its row id. Entries that
  /// continue on overflow pages are left out. Empty if the leaf cannot be read.
  private func entries(ofIndex root: UInt32) throws(SQLiteFileError) -> [(
    value: StoredValue, rowID: Int64
  )] {
    var page = root
    var buffer = ContiguousArray<UInt8>()
    for _ in 0..<24 {
      guard try reader.copy(page, into: &buffer) == layout.pageSize else { return [] }
      guard census.kind(page) == .indexInterior else { break }
      let start = Int(buffer.rawSpan.uint16(at: 12))
      guard start + 4 <= layout.usableSize else { return [] }
      page = buffer.rawSpan.uint32(at: start)
    }
    guard census.kind(page) == .indexLeaf else { return [] }
    var reading = newReading()
    reading.readIndex(buffer.rawSpan, isInterior: false)
    var found: [(value: StoredValue, rowID: Int64)] = []
    for cell in reading.cells.prefix(Self.witnessCount) where !cell.spills {
      let values = decode(cell, buffer.rawSpan, RowLayout(), rowID: nil)
      if let first = values.first, values.count > 1, case .integer(let rowID)? = values.last {
        found.append((first, rowID))
      }
    }
    return found
  }

  /// Whether a value of a row equals a value of an index entry. A whole number in a REAL column is read as a real from
  /// the row, but as an integer from the index. These two values count as equal.
  private static func isSame(_ row: StoredValue, _ index: StoredValue) -> Bool {
    if case .real(let real) = row, case .integer(let whole) = index { return real == Double(whole) }
    return row == index
  }

  private enum Found {
    case value(StoredValue)
    /// The row continues on overflow pages, so its value is not read.
    case unread
    case noRow
  }

  private func value(_ column: Int, _ rowID: Int64, in root: UInt32, _ table: Int)
    throws(SQLiteFileError) -> Found
  {
    var page = root
    var buffer = ContiguousArray<UInt8>()
    var steps = 0
    while steps < 24, try reader.copy(page, into: &buffer) == layout.pageSize {
      steps += 1
      let bytes = buffer.rawSpan
      guard census.kind(page) == .tableInterior else { break }
      let base = page == 1 ? DatabaseHeader.length : 0
      let count = min(Int(bytes.uint16(at: base + 3)), (layout.usableSize - base - 12) / 2)
      var next = bytes.uint32(at: base + 8)
      for index in 0..<count {
        let start = Int(bytes.uint16(at: base + 12 + 2 * index))
        guard start + 5 <= layout.usableSize,
          let key = Varint.read(bytes, at: start + 4, end: layout.usableSize)
        else { continue }
        if rowID <= Int64(bitPattern: key.value) {
          next = bytes.uint32(at: start)
          break
        }
      }
      page = next
    }
    guard census.kind(page) == .tableLeaf else { return .noRow }
    var reading = newReading()
    reading.read(buffer.rawSpan, number: page, available: layout.pageSize, shape: shapes[table])
    guard let cell = reading.cells.first(where: { $0.rowID == rowID }) else { return .noRow }
    guard !cell.spills else { return .unread }
    let values = decode(cell, buffer.rawSpan, layouts[table], rowID: rowID)
    return column < values.count ? .value(values[column]) : .noRow
  }

  func decode(_ cell: LeafCell, _ page: RawSpan, _ layout: RowLayout, rowID: Int64?)
    -> [StoredValue]
  {
    var values: [StoredValue] = []
    var decoder = RecordDecoder(encoding: self.layout.textEncoding)
    var sink = ValueSink { row in
      values = row.values
      return true
    }
    _ = decoder.decode(
      page.part(cell.record, cell.payload), rowID: rowID, layout: layout, into: &sink)
    return values
  }
}
