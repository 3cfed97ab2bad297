import SQLiteFile

/// Which table a deleted row belonged to, and whether another table may have an equal live row.
extension DamagedDatabase {
  /// The dropped table whose root page a page was.
  func formerOwner(_ page: UInt32) -> Int? {
    tables.firstIndex { $0.isDropped && $0.rootPage == page }
  }

  /// Whether rows that look like rows of `table` may belong to a dropped table that no remaining schema entry names.
  func mayBeUnknown(_ table: Int) -> Bool {
    hasUnknownTables && !shapes[table].hasEntityNumber
  }

  // MARK: - Space of a page in use

  /// Whether the rows at lower offsets than the live cells may belong to a table that used the page earlier.
  ///
  /// SQLite does not clear a page that another table reuses. New rows fill it from its end, so the last one begins in
  /// the middle of an older row of the other table. Deleted rows of the page's own table end where the live rows begin,
  /// or leave freeblocks between live rows. If SQLite has rearranged the cells of a page, copies of them remain at
  /// lower offsets.
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

  /// Of the finds directly below the live cells of a page, the index of the first one from which on all belonged to the
  /// page's own table for certain; the number of finds if none does.
  ///
  /// Rows of the page's own table adjoin each other and the live cells, and their row ids do, too. What another table
  /// left there ends where the live cells begin only by chance, unless all rows have one length.
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
    // The row id of the nearest cell above that has one, and the number of finds since then.
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

  /// The table of a leaf according to its rows.
  struct LeafVote {
    var table: Int?
    /// Whether fewer than half of the rows fit any other table that exists.
    var isOnlyOne = false
  }

  /// Finds out from its rows which table a leaf belonged to that is now in no b-tree: the table that at least 90% of
  /// the rows fit. If several tables fit, the one whose shape proves most is chosen; none if several prove equally
  /// much. Afterwards `reading` has the cells of the leaf.
  ///
  /// `former`: the table that the current version of the page belongs to, if any. If the rows fit it, it is chosen.
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

  /// Whether a page in use and an older version of it have most rows in common, byte for byte. Then both belong to one
  /// table, because a page that goes to another table gets other rows.
  ///
  /// `version`: the bytes of the older version.
  /// `cells`: its cells.
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

  /// Whether a cell looks like a row of the table. `types`: the serial types of the cell.
  func fits(
    _ cell: LeafCell, _ page: RawSpan, _ table: Int, _ types: borrowing RecordTypes
  ) -> Bool {
    hasRowIDs(table) && shapes[table].fits(types)
      && shapes[table].fitsValues(
        types, page, body: cell.record + cell.payload - types.bodyLength,
        end: cell.record + cell.local, encoding: layout.textEncoding)
  }

  /// Whether another table, whose shape proves at least as much, fits a cell too. Always false if the rows of `table`
  /// have an entity number. `types`: the serial types of the cell.
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

  /// The maximum number of tables with which a row is compared.
  private static let maxComparedTables = 64

  /// Whether a live row that equals a carved cell may be in another table than `table`, because the cell fits that
  /// table too. Always false if the rows of `table` have an entity number. `types`: the serial types of the cell.
  func hasRival(_ table: Int, _ cell: LeafCell, _ types: borrowing RecordTypes) -> Bool {
    if shapes[table].hasEntityNumber { return false }
    guard tables.count <= Self.maxRivals else { return true }
    for other in shapes.indices where other != table {
      // Most tables do not fit, so this is asked first. A first type that was lost is only deduced.
      if shapes[other].fits(types, from: cell.lostTypes), !tables[other].isDropped,
        hasRowIDs(other)
      {
        return true
      }
    }
    return false
  }

  /// The maximum number of tables with which a row is compared to learn whether it can belong to only one.
  private static let maxRivals = 512
}
