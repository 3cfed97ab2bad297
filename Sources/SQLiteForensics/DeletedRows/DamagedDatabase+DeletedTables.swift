import SQLiteFile

/// Determines to which table a deleted row belonged, and whether it may have belonged to another table.
extension DamagedDatabase {
  /// Returns the index of the dropped table whose root page was `page`; nil if there is no such table.
  func formerOwner(_ page: UInt32) -> Int? {
    tables.firstIndex { $0.isDropped && $0.rootPage == page }
  }

  /// Whether a row that looks like a row of `table` may be from a dropped table whose schema entry is lost. Always
  /// false if the rows of `table` have an entity number.
  func mayBeUnknown(_ table: Int) -> Bool {
    hasUnknownTables && !shapes[table].hasEntityNumber
  }

  // MARK: - Space of a page in use

  /// Whether deleted rows in the gap between the cell pointers and the live cells of a page may come from another table
  /// that used the page earlier. SQLite does not clear a page that it reuses.
  ///
  /// The rows come from the page's own table if one of three facts holds. First, the last of them ends exactly where
  /// the live cells begin. Second, the live cells are not stored in row id order, so SQLite has reused space between
  /// them. Third, one of them is a copy of a live cell, because SQLite has rearranged the cells of the page.
  ///
  /// `finds`: the cells that were carved from the gap.
  /// `reading`: the live cells of the page.
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

  /// Returns the index of the first find that certainly belonged to the page's own table `own`. All later finds
  /// belonged to it, too. Returns the number of finds if no find is certain.
  ///
  /// The finds are deleted cells in the gap before the lowest live cell of the page, in page order. Cells of `own`
  /// adjoin each other and the lowest live cell, and their row ids are close to each other. If all rows have the same
  /// length, adjoining cells prove nothing, so no find is certain.
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
    // `rowID`: the row id of the nearest cell at a higher page offset whose row id is known. `distance`: how
    // many finds the current find is away from that cell.
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

  /// The result of ``vote(_:_:_:former:_:_:)``: the table whose rows a leaf has.
  struct LeafVote {
    var table: Int?
    /// Whether ``table`` is clearly the only table that the leaf can belong to: every other table fits fewer than half
    /// of the leaf's rows. Dropped tables are not considered. Always false if ``table`` is nil.
    var isOnlyOne = false
  }

  /// Determines the table of a leaf that is in no b-tree. At least 90% of the leaf's rows must fit the table. Of
  /// several such tables, the one with the highest ``RowShape/weight`` is chosen. If two tables share the highest
  /// weight, no table is chosen. Afterwards, `reading` contains the cells of the leaf.
  ///
  /// `former`: for a leaf that is an older version of a page, the table of the page's current version. This table is
  /// chosen if the rows fit it. Nil for any other leaf, and if that table is not known.
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
  /// versions belong to the same table, because a page that another table reuses gets other rows.
  ///
  /// `number`: the page number of the live leaf.
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

  /// Whether the serial types and values of a cell fit the shape of `table`. Always false if `table` is a WITHOUT ROWID
  /// table.
  ///
  /// `types`: the serial types of the cell.
  func fits(
    _ cell: LeafCell, _ page: RawSpan, _ table: Int, _ types: borrowing RecordTypes
  ) -> Bool {
    hasRowIDs(table) && shapes[table].fits(types)
      && shapes[table].fitsValues(
        types, page, body: cell.record + cell.payload - types.bodyLength,
        end: cell.record + cell.local, encoding: layout.textEncoding)
  }

  /// Whether a deleted cell may belong to a table other than `table`: the cell fits the shape of the other table, and
  /// the ``RowShape/weight`` of this shape is at least that of `table`'s shape. Always false if the rows of `table`
  /// have an entity number.
  ///
  /// `types`: the serial types of the cell.
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

  /// Whether the serial types of a carved cell also fit a table other than `table`. If so, the carved row may equal a
  /// live row of the other table. Always false if the rows of `table` have an entity number.
  ///
  /// `types`: the serial types of the cell.
  func hasRival(_ table: Int, _ cell: LeafCell, _ types: borrowing RecordTypes) -> Bool {
    if shapes[table].hasEntityNumber { return false }
    guard tables.count <= Self.maxRivals else { return true }
    for other in shapes.indices where other != table {
      // Most tables do not fit, so this condition comes first. A lost first type is not compared, because the first
      // type in `types` is then only deduced.
      if shapes[other].fits(types, from: cell.lostTypes), !tables[other].isDropped,
        hasRowIDs(other)
      {
        return true
      }
    }
    return false
  }

  /// The maximum number of tables in a database for which ``hasRival(_:_:_:)`` compares a row with all tables. In a
  /// database with more tables, it returns true for every row.
  private static let maxRivals = 512
}
