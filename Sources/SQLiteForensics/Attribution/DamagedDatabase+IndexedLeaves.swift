import SQLiteFile

/// The entries of all indexes of one table.
private struct IndexEntries {
  /// An index entry: a row id, and a hash of the values that the row with this row id should have in the indexed
  /// columns.
  struct Entry {
    let rowID: Int64
    let hash: UInt64
    /// The page that contains the entry, as a position in ``isRefuted``.
    let page: Int32
    /// The SQL index that contains the entry, as an index into ``fields``.
    let index: Int32
  }

  /// The maximum number of index entries that are stored for one table. They take 24 MiB of memory.
  static let maxEntries = 1 << 20
  /// The maximum number of indexes that are read for one table.
  static let maxIndexes = 16

  /// The entries, which are sorted by row id once all indexes have been read.
  var entries: [Entry] = []
  /// For each index, the fields of a row that the index stores, in the index's column order; -1 stands for the row id.
  var fields: [[Int]] = []
  /// For each index page, whether its entries contradict live rows more often than they agree with live rows. If so,
  /// the index page itself is regarded as misplaced.
  var isRefuted: [Bool] = []

  func entries(of rowID: Int64) -> ArraySlice<Entry> {
    let first = entries.firstPlace { $0.rowID >= rowID }
    var end = first
    // In a sound file each index has one entry per row.
    while end < entries.count, entries[end].rowID == rowID, end - first < fields.count { end += 1 }
    return entries[first..<end]
  }
}

extension DamagedDatabase {
  /// Marks a leaf as stale if the indexes of its table contradict most of its rows.
  ///
  /// A stale leaf comes from another store of the same app, or from an earlier state of this store. It has replaced the
  /// table's own leaf with the same row ids. Does nothing in a file without damaged or misplaced pages. A table is
  /// skipped if its indexes together have more than a million entries.
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
    // A page belongs to one index only.
    var met = PageSet(pageCount: pageCount)
    for table in leaves.keys.sorted() where hasRowIDs(table) && tables[table].isDescribed {
      guard let pages = leaves[table] else { continue }
      var known = try indexEntries(table, &met)
      guard !known.entries.isEmpty else { continue }
      // Leaves that b-trees lead to are compared first: they show which index pages can be trusted.
      var balance = [Int](repeating: 0, count: known.isRefuted.count)
      for page in pages where census.reached.contains(page) {
        _ = try compare(page, table, known) { entry, agrees in
          balance[Int(entry.page)] += agrees ? 1 : -1
        }
      }
      known.isRefuted = balance.map { $0 < 0 }
      for page in pages {
        // If only one index contradicts a leaf, that index may itself have a page of another store. If two indexes
        // contradict the leaf, the indexes are trusted.
        var votes = [Int](repeating: 0, count: known.fields.count)
        let found = try compare(page, table, known) { entry, agrees in
          votes[Int(entry.index)] += agrees ? -1 : 1
        }
        // A single row may be damaged, but is unlikely to be damaged in the columns of two indexes.
        let least = found.confirmed == 0 && found.contradicted == 1 ? 0 : 1
        guard
          found.contradicted > 1 && found.contradicted > found.confirmed
            || votes.count(where: { $0 > least }) > 1
        else { continue }
        census.setStale(page)
        let place = reader.location(of: page)
        findings.add(
          Finding(
            .pageMisplaced,
            "the indexes contradict most rows of this page; it comes from another store, or from an earlier state of this store",
            member: place.member, page: page, offset: place.offset, table: tables[table].name))
      }
    }
  }

  /// Reads the entries of the first 16 indexes of a table, not counting indexes on expressions. Returns no entries if
  /// there are more than ``IndexEntries/maxEntries``.
  ///
  /// `met`: the index pages that have been read already and are not read again.
  private func indexEntries(_ table: Int, _ met: inout PageSet) throws(SQLiteFileError)
    -> IndexEntries
  {
    var known = IndexEntries()
    for index in schemaEntries
    where index.type == "index" && SQLName.isSame(index.tableName, tables[table].name)
      && index.rootPage > 1
    {
      guard known.fields.count < IndexEntries.maxIndexes,
        let fields = fields(of: index, table)
      else { continue }
      known.fields.append(fields)
      guard try readEntries(index.rootPage, &known, &met) else { return IndexEntries() }
    }
    known.entries.sort { $0.rowID < $1.rowID }
    return known
  }

  /// The fields of a row that an index stores, in the index's column order; -1 stands for the row id. Nil if an indexed
  /// column is an expression or a virtual column, or if the CREATE statement of the index cannot be read.
  private func fields(of index: SchemaEntry, _ table: Int) -> [Int]? {
    guard let columns = columns(of: index, table) else { return nil }
    return columns.map { column in
      let rule = layouts[table].rules[column]
      return rule.isRowID ? -1 : Int(rule.field)
    }
  }

  /// Appends all entries of an index to `known`. Returns false if `known` would get more than
  /// ``IndexEntries/maxEntries`` entries.
  private func readEntries(
    _ root: UInt32, _ known: inout IndexEntries, _ met: inout PageSet
  ) throws(SQLiteFileError) -> Bool {
    let index = Int32(known.fields.count - 1)
    let columnCount = known.fields[Int(index)].count
    var reading = newReading()
    var types = RecordTypes()
    return try forEachIndexPage(below: root, &met) { _, bytes, isInterior in
      reading.readIndex(bytes, isInterior: isInterior)
      let place = Int32(known.isRefuted.count)
      known.isRefuted.append(false)
      for cell in reading.cells where !cell.spills && types.read(cell, bytes) {
        guard types.types.count == columnCount + 1,
          let rowID = Self.integer(columnCount, types, bytes, cell),
          let hash = Self.hash(Array(0..<columnCount), types, bytes, cell)
        else { continue }
        guard known.entries.count < IndexEntries.maxEntries else { return false }
        known.entries.append(
          IndexEntries.Entry(rowID: rowID, hash: hash, page: place, index: index))
      }
      return true
    }
  }

  /// Compares the rows of a leaf with the index entries that have the same row ids, and calls `hear` with the result
  /// for each entry.
  ///
  /// `confirmed`: the number of rows that agree with all their entries. `contradicted`: the number of rows that differ
  /// from at least one entry. Neither number takes account of entries on refuted index pages
  /// (``IndexEntries/isRefuted``).
  private func compare(
    _ page: UInt32, _ table: Int, _ known: IndexEntries,
    _ hear: (IndexEntries.Entry, _ agrees: Bool) -> Void
  ) throws(SQLiteFileError) -> (confirmed: Int, contradicted: Int) {
    var buffer = ContiguousArray<UInt8>()
    guard let reading = try reading(of: page, &buffer) else { return (0, 0) }
    let bytes = buffer.rawSpan
    var types = RecordTypes()
    var confirmed = 0
    var contradicted = 0
    for cell in reading.cells where cell.hasRowID {
      guard let header = Varint.read(bytes, at: cell.record, end: cell.record + cell.local),
        header.value > UInt64(header.length), header.value <= UInt64(cell.local),
        types.read(bytes, cell.record + header.length..<cell.record + Int(header.value))
      else { continue }
      var agrees: Bool?
      for entry in known.entries(of: cell.rowID) {
        guard
          let hash = Self.hash(known.fields[Int(entry.index)], types, bytes, cell)
        else { continue }
        hear(entry, hash == entry.hash)
        if known.isRefuted[Int(entry.page)] { continue }
        agrees = (agrees ?? true) && hash == entry.hash
      }
      if agrees == true { confirmed += 1 }
      if agrees == false { contradicted += 1 }
    }
    return (confirmed, contradicted)
  }

  /// A hash of the given fields of a record, in the given order. An integer and a real of the same value have the same
  /// hash. Nil if a field is missing, or if it is not completely on the page.
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
        // SQLite stores a real without fraction as an integer.
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

  /// The integer in a field; nil if the value of the field is not an integer, or is not completely on the page.
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

  /// The byte range of a field on its page; nil when the field is not completely on the page.
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
