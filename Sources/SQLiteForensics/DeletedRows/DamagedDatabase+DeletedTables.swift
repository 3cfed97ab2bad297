import SQLiteFile

/// Determines to which table a deleted row belonged, and whether a live row that equals it may be in another table.
extension DamagedDatabase {
  /// Returns the index of the dropped table whose root page was `page`; nil if there is no such table.
  func formerOwner(_ page: UInt32) -> Int? {
    tables.firstIndex { $0.isDropped && $0.rootPage == page }
  }

  /// Whether rows that look like rows of `table` may belong to a dropped table whose schema entry is lost.
  func mayBeUnknown(_ table: Int) -> Bool {
    hasUnknownTables && !shapes[table].hasEntityNumber
  }

  // MARK: - Space of a page in use

  /// Whether the finds in the gap below the live cells may be rows of another table, which used the page earlier.
  ///
  /// SQLite does not clear a page that another table reuses. The new rows fill the page from its end, so the lowest new
  /// row usually begins in the middle of an old row of the other table. In contrast, deleted rows of the page's own
  /// table end exactly where the live rows begin, or leave freeblocks between live rows. If SQLite has rearranged the
  /// cells of a page, copies of live cells remain in the gap.
  func mayBeFormer(
    _ gap: Range<Int>, _ finds: [Carver.Find], _ page: RawSpan, _ reading: borrowing LeafReading
  ) -> Bool {
    guard gap.lowerBound < reading.cells.first?.start ?? .max, let last = finds.last else {
      return false
    }
    var above = layout.usableSize
    var live: [Int64: LeafCell] = [:]
    for cell in reading.cells {
      if cell.start > above { return false }
      above = cell.start
      live[cell.rowID] = cell
    }
    guard above == layout.usableSize || last.cell.end != above else { return false }
    return !finds.contains { find in
      guard find.cell.hasRowID, let cell = live[find.cell.rowID] else { return false }
      return Self.areSame(cell, page, find.cell, page)
    }
  }

  /// Whether two cells have the same bytes.
  private static func areSame(
    _ one: LeafCell, _ page: RawSpan, _ other: LeafCell, _ otherPage: RawSpan
  ) -> Bool {
    guard one.length == other.length else { return false }
    for place in 0..<one.length
    where page.byte(at: one.start + place) != otherPage.byte(at: other.start + place) {
      return false
    }
    return true
  }

  /// Returns the index of the first find from which on all finds below the live cells of a page certainly belonged to
  /// the page's own table; the number of finds if not even the last find certainly did.
  ///
  /// Rows of the page's own table adjoin each other and the live cells without gaps, and their row ids are close to
  /// each other. The rows of another table end exactly where the live cells begin only by chance, unless all rows have
  /// the same length.
  func firstOwnFind(
    _ finds: [Carver.Find], of own: Int, _ reading: borrowing LeafReading
  ) -> Int {
    var lengths: Set<Int> = []
    var nearest: LeafCell?
    for cell in reading.cells {
      lengths.insert(cell.length)
      if nearest.map({ cell.start < $0.start }) ?? true { nearest = cell }
    }
    guard let lowest = nearest, lowest.hasRowID else { return finds.count }
    var first = finds.count
    var end = lowest.start
    // `rowID`: the row id of the nearest cell at a higher offset whose row id is known. `distance`: the number of finds
    // since that cell.
    var (rowID, distance) = (lowest.rowID, UInt64(0))
    while first > 0 {
      let find = finds[first - 1]
      guard find.shape == own, find.newer == nil, find.cell.end == end else { break }
      distance += 1
      if find.cell.hasRowID {
        let (difference, overflow) = find.cell.rowID.subtractingReportingOverflow(rowID)
        guard !overflow, difference != 0, difference.magnitude <= distance else { break }
        (rowID, distance) = (find.cell.rowID, 0)
      }
      first -= 1
      end = find.cell.start
      lengths.insert(find.cell.length)
    }
    return lengths.count > 1 ? first : finds.count
  }

  // MARK: - Whole leaves

  /// The table of a leaf, as its rows indicate.
  struct LeafVote {
    var table: Int?
    /// Whether every other table, except dropped tables, fits fewer than half of the rows.
    var isOnlyOne = false
  }

  /// Determines the table of a leaf that is in no b-tree from the rows on the leaf. At least 90% of the rows must fit
  /// the table. If several tables fit, the one with the highest ``RowShape/weight`` is chosen; if several of them have
  /// this weight, none is chosen. Afterwards `reading` contains the cells of the leaf.
  ///
  /// `former`: the table of the current version of the page; nil if this table is not known. If the rows fit `former`,
  /// it is chosen.
  func vote(
    _ page: RawSpan, _ number: UInt32, _ available: Int, former: Int? = nil,
    _ reading: inout LeafReading, _ types: inout RecordTypes
  ) -> LeafVote {
    reading.read(page, number: number, available: available, shape: nil)
    var fits = [Int](repeating: 0, count: shapes.count)
    let rows = tally(reading.cells, page, shapes.indices.filter(hasRowIDs), &types, &fits)
    guard rows > 0 else { return LeafVote() }
    let good = fits.indices.filter { fits[$0] * 10 >= rows * 9 }
    var chosen: Int?
    if let former, good.contains(former) {
      chosen = former
    } else if let best = good.max(by: { shapes[$0].weight < shapes[$1].weight }),
      good.count(where: { shapes[$0].weight == shapes[best].weight }) == 1
    {
      chosen = best
    }
    let isOnlyOne = fits.indices.allSatisfy {
      $0 == chosen || tables[$0].isDropped || fits[$0] * 2 < rows
    }
    return LeafVote(table: chosen, isOnlyOne: chosen != nil && isOnlyOne)
  }

  /// Whether a live leaf and an older version of the same page have most rows in common, byte for byte. If so, both
  /// belong to the same table, because a page that is reused by another table gets other rows.
  ///
  /// `version`: the bytes of the older version.
  /// `cells`: the cells of the older version.
  func sharesRows(
    _ number: UInt32, with version: RawSpan, _ cells: ContiguousArray<LeafCell>
  ) throws(SQLiteFileError) -> Bool {
    var page = ContiguousArray<UInt8>()
    guard census.isLiveLeaf(number), try reader.copy(number, into: &page) == layout.pageSize else {
      return false
    }
    var reading = newReading()
    reading.read(page.rawSpan, number: number, available: layout.pageSize, shape: nil)
    guard reading.method == .pointers else { return false }
    var live: [Int64: LeafCell] = [:]
    for cell in reading.cells { live[cell.rowID] = cell }
    var common = 0
    for cell in cells {
      guard let same = live[cell.rowID], Self.areSame(same, page.rawSpan, cell, version) else {
        continue
      }
      common += 1
    }
    return common * 2 > min(live.count, cells.count)
  }

  // MARK: - Single rows

  /// Whether the serial types and values of a cell fit the shape of `table`. `types`: the serial types of the cell.
  func fits(
    _ cell: LeafCell, _ page: RawSpan, _ table: Int, _ types: borrowing RecordTypes
  ) -> Bool {
    hasRowIDs(table) && shapes[table].fits(types)
      && shapes[table].fitsValues(
        types, page, body: cell.record + cell.payload - types.bodyLength,
        end: cell.record + cell.local, encoding: layout.textEncoding)
  }

  /// Whether the cell also fits another table whose ``RowShape/weight`` is at least that of `table`. Always false if
  /// the rows of `table` have an entity number. `types`: the serial types of the cell.
  func fitsOtherTable(
    _ cell: LeafCell, _ page: RawSpan, _ table: Int, _ types: borrowing RecordTypes
  ) -> Bool {
    if shapes[table].hasEntityNumber { return false }
    let weight = shapes[table].weight
    for other in shapes.indices.prefix(Self.maxComparedTables)
    where other != table && shapes[other].weight >= weight {
      if fits(cell, page, other, types) { return true }
    }
    return false
  }

  /// The maximum number of tables with which ``fitsOtherTable(_:_:_:_:)`` compares a row.
  private static let maxComparedTables = 64

  /// Whether the serial types of a carved cell also fit another table, so that a live row that equals the cell may be
  /// in that other table. Always false if the rows of `table` have an entity number. `types`: the serial types of the
  /// cell.
  func hasRival(_ table: Int, _ cell: LeafCell, _ types: borrowing RecordTypes) -> Bool {
    if shapes[table].hasEntityNumber { return false }
    guard tables.count <= Self.maxRivals else { return true }
    for other in shapes.indices where other != table {
      // Most tables do not fit, so this condition comes first. If the first type was lost, the type in `types` is only
      // deduced, so it is not compared.
      if shapes[other].fits(types, from: cell.lostTypes), !tables[other].isDropped,
        hasRowIDs(other)
      {
        return true
      }
    }
    return false
  }

  /// The maximum number of tables for which ``hasRival(_:_:_:)`` compares a row. With more tables, every row has a
  /// rival.
  private static let maxRivals = 512
}
