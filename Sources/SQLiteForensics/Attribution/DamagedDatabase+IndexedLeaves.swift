import SQLiteFile

/// What the indexes of one table say of its rows.
private struct IndexTestimony {
  /// An entry, which says what a row holds.
  struct Entry {
    let rowID: Int64
    /// Of the values in the index.
    let hash: UInt64
    /// Which of the pages that entries were read from.
    let page: Int32
    /// Which of the indexes.
    let index: Int32
  }

  /// More are not kept: 24 MiB.
  static let mostEntries = 1 << 20
  /// Indexes of one table that are heard.
  static let mostIndexes = 16

  /// In the order of row ids once all have been read.
  var entries: [Entry] = []
  /// The fields that each index holds; -1 for the row id.
  var fields: [[Int]] = []
  /// For each page of the indexes whether it says of most rows what they do not hold, and so is itself another one's.
  var isRefuted: [Bool] = []

  /// The entries of a row.
  func entries(of rowID: Int64) -> ArraySlice<Entry> {
    let first = entries.firstPlace { $0.rowID >= rowID }
    var end = first
    // Each index of a sound file has one.
    while end < entries.count, entries[end].rowID == rowID, end - first < fields.count { end += 1 }
    return entries[first..<end]
  }
}

extension DamagedDatabase {
  /// Finds leaves that stand where their b-tree means another page with the same row ids: one of another store of the same
  /// app, or of an earlier state. Most of their rows are not what the table's indexes say of them.
  ///
  /// Only asked for files in which pages are not where they should be. Values that go on in overflow pages, and indexes of more
  /// than a million entries, are not compared.
  func judgeByIndexes() throws(SQLiteFileError) {
    guard !isWhole || !narrowed.isEmpty else { return }
    var leaves: [Int: [UInt32]] = [:]
    var page: UInt32 = 2
    while page <= pageCount {
      page = census.next(from: page)
      defer { page += 1 }
      guard census.kind(page) == .tableLeaf, census.isLiveLeaf(page),
        let owner = census.owner(page)
      else { continue }
      leaves[owner.table, default: []].append(page)
    }
    // A page is of one index.
    var met = PageSet(pageCount: pageCount)
    for table in leaves.keys.sorted() where hasRowIDs(table) && tables[table].isDescribed {
      guard let pages = leaves[table] else { continue }
      var testimony = try indexTestimony(table, &met)
      guard !testimony.entries.isEmpty else { continue }
      // Which pages of the indexes are to be believed shows when all leaves that b-trees lead to have been heard.
      var balance = [Int](repeating: 0, count: testimony.isRefuted.count)
      for page in pages where census.reached.contains(page) {
        _ = try compare(page, table, testimony) { entry, agrees in
          balance[Int(entry.page)] += agrees ? 1 : -1
        }
      }
      testimony.isRefuted = balance.map { $0 < 0 }
      for page in pages {
        // Two indexes that both contradict a leaf are right, though each alone may be the one with another store's page.
        var votes = [Int](repeating: 0, count: testimony.fields.count)
        let found = try compare(page, table, testimony) { entry, agrees in
          votes[Int(entry.index)] += agrees ? -1 : 1
        }
        // One row may be what is damaged, but not in the columns of two indexes.
        let least = found.confirmed == 0 && found.contradicted == 1 ? 0 : 1
        guard
          found.contradicted > 1 && found.contradicted > found.confirmed
            || votes.count(where: { $0 > least }) > 1
        else { continue }
        census.setStale(page)
        let place = reader.location(of: page)
        findings.add(
          Finding(
            "page.misplaced",
            "most rows of the page are not what the indexes say of them: it is another store's page, or an older one",
            member: place.member, page: page, offset: place.offset, table: tables[table].name))
      }
    }
  }

  /// Reads the entries of all indexes of a table whose columns are named plainly.
  private func indexTestimony(_ table: Int, _ met: inout PageSet) throws(SQLiteFileError)
    -> IndexTestimony
  {
    var testimony = IndexTestimony()
    for index in schemaEntries
    where index.type == "index" && SQLName.isSame(index.tableName, tables[table].name)
      && index.rootPage > 1
    {
      guard testimony.fields.count < IndexTestimony.mostIndexes,
        let fields = fields(of: index, table)
      else { continue }
      testimony.fields.append(fields)
      guard try readEntries(index.rootPage, &testimony, &met) else { return IndexTestimony() }
    }
    testimony.entries.sort { $0.rowID < $1.rowID }
    return testimony
  }

  /// The fields of a row that an index holds, -1 for the row id; nil where one is an expression.
  private func fields(of index: SchemaEntry, _ table: Int) -> [Int]? {
    guard let columns = columns(of: index, table) else { return nil }
    return columns.map { column in
      let rule = layouts[table].rules[column]
      return rule.isRowID ? -1 : Int(rule.field)
    }
  }

  /// Reads all entries of an index; false where there are too many.
  private func readEntries(
    _ root: UInt32, _ testimony: inout IndexTestimony, _ met: inout PageSet
  ) throws(SQLiteFileError) -> Bool {
    let index = Int32(testimony.fields.count - 1)
    let columnCount = testimony.fields[Int(index)].count
    guard met.insert(root) else { return true }
    var pending = [root]
    var buffer = ContiguousArray<UInt8>()
    var reading = newReading()
    var types = RecordTypes()
    while let page = pending.popLast() {
      let kind = census.kind(page)
      guard kind.isIndex, try reader.copy(page, into: &buffer) == layout.pageSize else { continue }
      let bytes = buffer.rawSpan
      if kind == .indexInterior {
        let pointers = min(Int(bytes.uint16(at: 3)), (layout.usableSize - 12) / 2)
        for place in 0...pointers {
          let start = place == pointers ? 8 : Int(bytes.uint16(at: 12 + 2 * place))
          guard start + 4 <= layout.usableSize else { continue }
          let child = bytes.uint32(at: start)
          if child <= pageCount, met.insert(child) { pending.append(child) }
        }
      }
      reading.readIndex(bytes, isInterior: kind == .indexInterior)
      let place = Int32(testimony.isRefuted.count)
      testimony.isRefuted.append(false)
      for cell in reading.cells where !cell.spills && parse(cell, bytes, &types) {
        guard types.types.count == columnCount + 1,
          let rowID = Self.integer(columnCount, types, bytes, cell),
          let hash = Self.hash(Array(0..<columnCount), types, bytes, cell)
        else { continue }
        guard testimony.entries.count < IndexTestimony.mostEntries else { return false }
        testimony.entries.append(
          IndexTestimony.Entry(rowID: rowID, hash: hash, page: place, index: index))
      }
    }
    return true
  }

  /// Holds the rows of a leaf against the entries of indexes that are to be believed.
  private func compare(
    _ page: UInt32, _ table: Int, _ testimony: IndexTestimony,
    _ hear: (IndexTestimony.Entry, _ agrees: Bool) -> Void
  ) throws(SQLiteFileError) -> (confirmed: Int, contradicted: Int) {
    var buffer = ContiguousArray<UInt8>()
    let available = try reader.copy(page, into: &buffer)
    guard available > 0 else { return (0, 0) }
    let bytes = buffer.rawSpan
    var reading = newReading()
    reading.read(bytes, number: page, available: available, shape: nil)
    var types = RecordTypes()
    var confirmed = 0
    var contradicted = 0
    for cell in reading.cells where cell.hasRowID {
      guard let header = Varint.read(bytes, at: cell.record, end: cell.record + cell.local),
        header.value > UInt64(header.length), header.value <= UInt64(cell.local),
        types.read(bytes, cell.record + header.length..<cell.record + Int(header.value))
      else { continue }
      var agrees: Bool?
      for entry in testimony.entries(of: cell.rowID) {
        guard
          let hash = Self.hash(testimony.fields[Int(entry.index)], types, bytes, cell)
        else { continue }
        hear(entry, hash == entry.hash)
        if testimony.isRefuted[Int(entry.page)] { continue }
        agrees = (agrees ?? true) && hash == entry.hash
      }
      if agrees == true { confirmed += 1 }
      if agrees == false { contradicted += 1 }
    }
    return (confirmed, contradicted)
  }

  /// A hash of some fields of a record, whole numbers and reals alike; nil where one of them is not on the page.
  private static func hash(
    _ fields: [Int], _ types: borrowing RecordTypes, _ page: RawSpan, _ cell: LeafCell
  ) -> UInt64? {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    func mix(_ value: UInt64) { hash = (hash ^ value) &* 0x100_0000_01b3 }
    for field in fields {
      if field == -1 {
        mix(1)
        mix(UInt64(bitPattern: cell.rowID))
        continue
      }
      guard field < types.types.count, let range = range(of: field, types, page, cell) else {
        return nil
      }
      let type = types.types[field]
      switch type {
      case 0: mix(0)
      case 1...6, 8, 9:
        mix(1)
        mix(UInt64(bitPattern: integer(type, page, range)))
      case 7:
        let real = Double(bitPattern: UInt64(bitPattern: integer(6, page, range)))
        // SQLite keeps a real without fraction as a whole number.
        let whole = Int64(exactly: real)
        mix(whole == nil ? 2 : 1)
        mix(whole.map { UInt64(bitPattern: $0) } ?? real.bitPattern)
      default:
        mix(3 + type % 2)
        for offset in range { mix(UInt64(page.byte(at: offset))) }
      }
    }
    return hash
  }

  /// A field that is a whole number; nil for any other.
  private static func integer(
    _ field: Int, _ types: borrowing RecordTypes, _ page: RawSpan, _ cell: LeafCell
  ) -> Int64? {
    let type = types.types[field]
    guard (1...6).contains(type) || type == 8 || type == 9,
      let range = range(of: field, types, page, cell)
    else { return nil }
    return integer(type, page, range)
  }

  private static func integer(_ type: UInt64, _ page: RawSpan, _ range: Range<Int>) -> Int64 {
    type >= 8 ? Int64(type - 8) : RecordDecoder.integer(page, range.lowerBound, range.count)
  }

  /// Where a field stands; nil unless all of it is on the page.
  private static func range(
    of field: Int, _ types: borrowing RecordTypes, _ page: RawSpan, _ cell: LeafCell
  ) -> Range<Int>? {
    let limit = cell.record + cell.local
    guard let header = Varint.read(page, at: cell.record, end: limit),
      header.value <= UInt64(cell.local)
    else { return nil }
    var start = cell.record + Int(header.value)
    for place in 0..<field { start += RecordDecoder.length(ofType: types.types[place]) }
    let end = start + RecordDecoder.length(ofType: types.types[field])
    return end <= limit ? start..<end : nil
  }
}
