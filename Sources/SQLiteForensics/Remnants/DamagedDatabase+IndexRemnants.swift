import SQLiteFile

/// An index that is searched for values of lost and deleted rows.
private struct SearchedIndex {
  let name: String
  let rootPage: UInt32
  /// `table`: the position of the indexed table in ``DamagedDatabase/tables``.
  /// `columns`: the positions of the indexed columns in that table.
  let table: Int
  let columns: [Int]
  /// For each column of the index: the storage classes that occur in the live entries of the index, as a bit mask.
  /// `kind(_:)` returns the bit of a value.
  var kinds: [UInt8]
  /// `lowestRowID`: the lowest row id among the entries in use; 1 if all of them are higher than 1.
  /// `highestRowID`: the highest row id among the entries in use; 0 if all of them are lower than 0.
  var lowestRowID: Int64 = 1
  var highestRowID: Int64 = 0
  /// The pages of the index's b-tree, in ascending order.
  var pages: [UInt32] = []
  /// The pages that were leaves of this index earlier. No b-tree leads to them now.
  var freePages: [UInt32] = []
  /// The sum of the cell counts in the headers of ``pages`` and ``freePages``.
  var entryCount = 0

  /// Whether `values` are plausible as an entry of this index, compared with the storage classes and row ids of the
  /// entries in use. The last value must be the row id.
  func fits(_ values: [StoredValue]) -> Bool {
    // The missing rows may be those with the highest row ids, so up to twice the highest row id in use is accepted.
    guard values.count == columns.count + 1, case .integer(let rowID)? = values.last,
      rowID >= lowestRowID, rowID / 2 <= highestRowID || highestRowID == 0
    else { return false }
    return zip(values, kinds).allSatisfy { value, kinds in
      value == .null || kinds & Self.kind(value) != 0
    }
      && values.allSatisfy {
        guard case .text(let text) = $0 else { return true }
        return text.isValid && !text.utf8.contains { $0 < 0x20 && !(9...13).contains($0) }
      }
  }

  static func kind(_ value: StoredValue) -> UInt8 {
    switch value {
    case .null: 1
    case .integer: 2
    case .real: 4
    case .text: 8
    case .blob: 16
    }
  }
}

/// A hash of an index entry, to compare the entry with rows, and the location of the entry, to read it again. Takes 32
/// bytes.
private struct FoundEntry: BitwiseCopyable {
  /// The kind of space in which an index entry was found. If equal entries were found in several kinds of space, the
  /// entry of the kind that is declared first is used.
  enum Place: UInt8, BitwiseCopyable {
    case entry, freePage, gap

    var told: IndexedValues.Place {
      switch self {
      case .entry: .entry
      case .freePage: .freePage
      case .gap: .gap
      }
    }
  }

  let rowID: Int64
  /// A hash of the entry's values and of the index's number, so that entries of different indexes count as different.
  let hash: UInt64
  let page: UInt32
  let start: UInt16
  let index: Int16
  let place: Place
  var isKnown = false
}

extension DamagedDatabase {
  /// The approximate maximum number of index entries in memory at the same time. If the indexes of a table have more
  /// entries, the table is read several times.
  private static let maxEntries = 400_000
  /// The maximum number of indexes that are searched for one table.
  private static let maxIndexes = 64

  /// Searches the indexes of tables with row ids for entries whose values are in no row, and passes these entries to
  /// `receive`. Returns false if `receive` returned false.
  func searchIndexes(
    _ notes: inout IndexedSearchNotes, _ receive: (IndexedValues) -> Bool
  ) throws(SQLiteFileError) -> Bool {
    var met = PageSet(pageCount: pageCount)
    var all: [SearchedIndex] = []
    for entry in schemaEntries where entry.type == "index" && entry.rootPage > 1 {
      guard
        let table = place(ofTable: entry.tableName),
        hasRowIDs(table), tables[table].isDescribed, let columns = columns(of: entry, table)
      else {
        notes.add(
          "the index \(entry.name), because it has expressions, or its table is unknown or WITHOUT ROWID"
        )
        continue
      }
      guard all.count(where: { $0.table == table }) < Self.maxIndexes else {
        notes.add("indexes of \(entry.tableName) after the first \(Self.maxIndexes)")
        continue
      }
      var index = SearchedIndex(
        name: entry.name, rootPage: entry.rootPage, table: table, columns: columns,
        kinds: Array(repeating: 0, count: columns.count))
      try follow(&index, &met, &notes)
      all.append(index)
    }
    try findFreePages(&all, met)
    for table in tables.indices {
      let own = all.filter { $0.table == table && !($0.pages.isEmpty && $0.freePages.isEmpty) }
      guard !own.isEmpty else { continue }
      guard try search(own, of: table, receive) else { return false }
    }
    return true
  }

  /// Walks the b-tree of `index`. Records in `index` the page numbers of the b-tree, the number of its entries, the
  /// storage classes of their values and the range of their row ids.
  private func follow(
    _ index: inout SearchedIndex, _ met: inout PageSet, _ notes: inout IndexedSearchNotes
  ) throws(SQLiteFileError) {
    var reading = newReading()
    _ = try forEachIndexPage(below: index.rootPage, &met) { page, bytes, isInterior in
      index.pages.append(page)
      index.entryCount += Int(bytes.uint16(at: 3))
      reading.readIndex(bytes, isInterior: isInterior)
      for cell in reading.cells {
        if cell.spills {
          notes.add("entries of the index \(index.name) that continue on overflow pages")
          continue
        }
        let values = decode(cell, bytes, RowLayout(), rowID: nil)
        guard values.count == index.columns.count + 1, case .integer(let rowID)? = values.last
        else { continue }
        index.lowestRowID = min(index.lowestRowID, rowID)
        index.highestRowID = max(index.highestRowID, rowID)
        for place in index.columns.indices {
          index.kinds[place] |= SearchedIndex.kind(values[place])
        }
      }
      return true
    }
    index.pages.sort()
  }

  /// Searches for index leaves that no b-tree leads to. If all entries of such a leaf fit one index and no other, the
  /// leaf is added to ``SearchedIndex/freePages`` of this index.
  private func findFreePages(
    _ all: inout [SearchedIndex], _ met: PageSet
  ) throws(SQLiteFileError) {
    var buffer = ContiguousArray<UInt8>()
    var reading = newReading()
    var page: UInt32 = 2
    while page <= pageCount {
      page = census.next(from: page)
      defer { page += 1 }
      guard census.kind(page) == .indexLeaf, !met.contains(page),
        try reader.copy(page, into: &buffer) == layout.pageSize
      else { continue }
      reading.readIndex(buffer.rawSpan, isInterior: false)
      let rows = reading.cells.filter { !$0.spills }
        .map { decode($0, buffer.rawSpan, RowLayout(), rowID: nil) }
      guard !rows.isEmpty else { continue }
      let fitting = all.indices.filter { place in rows.allSatisfy(all[place].fits) }
      if let only = fitting.first, fitting.count == 1 {
        all[only].freePages.append(page)
        all[only].entryCount += Int(buffer.rawSpan.uint16(at: 3))
      }
    }
  }

  // MARK: - One table

  private func search(
    _ indexes: [SearchedIndex], of table: Int, _ receive: (IndexedValues) -> Bool
  ) throws(SQLiteFileError) -> Bool {
    let parts = indexes.reduce(0) { $0 + $1.entryCount } / Self.maxEntries + 1
    for part in 0..<parts {
      var entries: [FoundEntry] = []
      for (place, index) in indexes.enumerated() {
        try collect(index, number: place) { entry in
          if Self.part(of: entry.rowID, parts) == part { entries.append(entry) }
        }
      }
      entries.sort {
        ($0.rowID, $0.hash, $0.place.rawValue) < ($1.rowID, $1.hash, $1.place.rawValue)
      }
      try markKnown(&entries, indexes, table) { Self.part(of: $0, parts) == part }
      for (place, index) in indexes.enumerated() {
        var last: (Int64, UInt64)?
        for entry in entries where entry.index == place && !entry.isKnown {
          // An equal entry was passed on before. Equal entries occur because SQLite leaves a copy when it moves a cell
          // within a page.
          if let last, last == (entry.rowID, entry.hash) { continue }
          last = (entry.rowID, entry.hash)
          guard let values = try read(entry, index, table) else { continue }
          guard receive(values) else { return false }
        }
      }
    }
    return true
  }

  private static func part(of rowID: Int64, _ count: Int) -> Int {
    Int((UInt64(bitPattern: rowID) &* 0x9e37_79b9_7f4a_7c15) >> 32) % count
  }

  /// Passes all entries of an index to `receive`: entries in use, entries on pages that the index no longer uses, and
  /// remains of entries in free space.
  private func collect(
    _ index: SearchedIndex, number: Int, _ receive: (FoundEntry) -> Void
  ) throws(SQLiteFileError) {
    var buffer = ContiguousArray<UInt8>()
    var reading = newReading()
    for (pages, isFree) in [(index.pages, false), (index.freePages, true)] {
      for page in pages where try reader.copy(page, into: &buffer) == layout.pageSize {
        let bytes = buffer.rawSpan
        let isInterior = census.kind(page) == .indexInterior
        reading.readIndex(bytes, isInterior: isInterior)
        func pass(_ cell: LeafCell, _ place: FoundEntry.Place) {
          let values = decode(cell, bytes, RowLayout(), rowID: nil)
          guard index.fits(values), case .integer(let rowID)? = values.last,
            values.dropLast().contains(where: { $0 != .null })
          else { return }
          receive(
            FoundEntry(
              rowID: rowID, hash: Self.hash(values.dropLast(), number), page: page,
              start: UInt16(truncatingIfNeeded: cell.start), index: Int16(number), place: place))
        }
        for cell in reading.cells where !cell.spills { pass(cell, isFree ? .freePage : .entry) }
        for cell in freeCells(bytes, reading) {
          pass(innermost(cell, bytes, index), .gap)
        }
      }
    }
  }

  /// Returns the freed cells of an index leaf that are still complete; empty for an interior page.
  ///
  /// A freed cell is incomplete if another cell has overwritten its end, or if the header of a freeblock has
  /// overwritten bytes in its middle. So a cell is returned only if another cell or used space begins at its end, and
  /// if no bytes in it look like the header of a freeblock.
  private func freeCells(_ page: RawSpan, _ reading: borrowing LeafReading) -> [LeafCell] {
    guard page.byte(at: 0) == BTreePage.Kind.leafIndex.rawValue else { return [] }
    var types = RecordTypes()
    types.renewBudget(usableSize: layout.usableSize)
    let used = reading.cells.map { $0.start..<$0.end }
      .sorted { $0.lowerBound < $1.lowerBound }
    var found: [LeafCell] = []
    var start = reading.contentFloor
    for next in used + [layout.usableSize..<layout.usableSize] {
      let limit = next.lowerBound
      var last: LeafCell?
      while start + 4 <= limit {
        guard
          let cell = LeafCell.parseIndex(
            page, at: start, isInterior: false, usableSize: layout.usableSize,
            maxPayload: maxPayload, &types), !cell.spills, cell.end <= limit
        else {
          start += 1
          last = nil
          continue
        }
        if let last { found.append(last) }
        last = cell
        start = cell.end
      }
      if let last, last.end == limit { found.append(last) }
      start = max(start, next.upperBound)
    }
    return found.filter { !holdsFreeBlock($0, page) }
  }

  /// Returns the newer index cell that has overwritten the end of `cell`; `cell` itself if no newer cell is found. The
  /// newer cell ends where `cell` ends, and its values fit the index. The shortest such cell is returned.
  private func innermost(_ cell: LeafCell, _ page: RawSpan, _ index: SearchedIndex) -> LeafCell {
    var types = RecordTypes()
    types.renewBudget(usableSize: layout.usableSize)
    var start = cell.end - 4
    while start > cell.start {
      if let inner = LeafCell.parseIndex(
        page, at: start, isInterior: false, usableSize: layout.usableSize, maxPayload: maxPayload,
        &types), inner.end == cell.end, index.fits(decode(inner, page, RowLayout(), rowID: nil))
      {
        return inner
      }
      start -= 1
    }
    return cell
  }

  /// Whether four bytes in the record may be the header of a freeblock: the offset of the next freeblock, and the size
  /// of this one (file format, section 1.6).
  private func holdsFreeBlock(_ cell: LeafCell, _ page: RawSpan) -> Bool {
    guard cell.end - 4 > cell.record else { return false }
    return (cell.record + 1..<cell.end - 3).contains { place in
      let next = Int(page.uint16(at: place))
      let size = Int(page.uint16(at: place + 2))
      return size >= 4 && place + size <= layout.usableSize
        && (next == 0 || next >= place + size && next + 4 <= layout.usableSize)
    }
  }

  /// Marks the index entries whose values are known from a row: a live row, a deleted row or an older version of a row.
  ///
  /// `isOfPart`: returns whether a row id is in the part of the table that is searched now.
  private func markKnown(
    _ entries: inout [FoundEntry], _ indexes: [SearchedIndex], _ table: Int,
    _ isOfPart: (Int64) -> Bool
  ) throws(SQLiteFileError) {
    guard !entries.isEmpty else { return }
    // If the row id of a row is lost, entries are compared with the values of the row alone.
    let byHash = entries.indices.sorted { entries[$0].hash < entries[$1].hash }
    try forEachRow(.all, of: [tables[table].name]) { row in
      if let rowID = row.rowID, !isOfPart(rowID) { return true }
      for (number, index) in indexes.enumerated() {
        let values = index.columns.map { column -> StoredValue? in
          if row.partial.contains(where: { $0.column == column }) { return nil }
          return column < row.values.count ? row.values[column] : .null
        }
        let whole = values.compactMap(\.self)
        guard whole.count == values.count else { continue }
        let hash = Self.hash(whole[...], number)
        if let rowID = row.rowID {
          var place = entries.firstPlace { ($0.rowID, $0.hash) >= (rowID, hash) }
          while place < entries.count, entries[place].rowID == rowID, entries[place].hash == hash {
            entries[place].isKnown = true
            place += 1
          }
        } else {
          var place = byHash.firstPlace { entries[$0].hash >= hash }
          while place < byHash.count, entries[byHash[place]].hash == hash {
            entries[byHash[place]].isKnown = true
            place += 1
          }
        }
      }
      return true
    }
  }

  private func read(
    _ entry: FoundEntry, _ index: SearchedIndex, _ table: Int
  ) throws(SQLiteFileError) -> IndexedValues? {
    var buffer = ContiguousArray<UInt8>()
    guard try reader.copy(entry.page, into: &buffer) == layout.pageSize else { return nil }
    var types = RecordTypes()
    let isInterior = census.kind(entry.page) == .indexInterior
    guard
      let cell = LeafCell.parseIndex(
        buffer.rawSpan, at: Int(entry.start), isInterior: isInterior, usableSize: layout.usableSize,
        maxPayload: maxPayload, &types)
    else { return nil }
    let values = zip(decode(cell, buffer.rawSpan, RowLayout(), rowID: nil), index.columns)
      .map { value, column -> StoredValue in
        // A REAL column stores a real without a fraction as an integer, but a query returns it as a real.
        guard layouts[table].rules[column].isReal, case .integer(let number) = value else {
          return value
        }
        return .real(Double(number))
      }
    let names = index.columns.map { tables[table].definition.columns[$0].name }
    let place = reader.location(of: entry.page)
    return IndexedValues(
      table: tables[table].name, index: index.name, rowID: entry.rowID,
      values: zip(names, values).map { ($0, $1) },
      place: entry.place.told,
      origin: .init(
        member: place.member, page: entry.page, offset: place.offset + Int64(entry.start)))
  }

  /// A hash of the values of an index entry. An integer and a real that are equal have the same hash, because SQLite
  /// stores a real without a fraction as an integer.
  private static func hash(_ values: ArraySlice<StoredValue>, _ index: Int) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    func mix(_ value: UInt64) {
      let product = (hash ^ value).multipliedFullWidth(by: 0x9e37_79b9_7f4a_7c15)
      hash = product.high ^ product.low ^ value
    }
    mix(UInt64(index) + 1)
    for value in values {
      switch value {
      case .null: mix(1)
      case .integer(let number):
        mix(2)
        mix(UInt64(bitPattern: number))
      case .real(let number):
        let whole = Int64(exactly: number)
        mix(whole == nil ? 3 : 2)
        mix(whole.map { UInt64(bitPattern: $0) } ?? number.bitPattern)
      case .text(let text):
        mix(4)
        for byte in text.utf8 { mix(UInt64(byte) + 1) }
      case .blob(let bytes):
        mix(5)
        for byte in bytes { mix(UInt64(byte) + 1) }
      }
    }
    return hash
  }
}
