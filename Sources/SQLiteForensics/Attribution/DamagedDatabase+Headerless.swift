import SQLiteFile

extension DamagedDatabase {
  /// `maxTornTables`: the maximum number of tables with an incomplete b-tree. If there are more, orphan leaves without
  /// a header are not assigned to tables.
  /// `maxHeaderless`: the maximum number of leaves without a header that are examined.
  private static let maxTornTables = 64
  private static let maxHeaderless = 1 << 10

  /// Assigns each orphan leaf that has lost its first sector to the only table that the leaf fits. A leaf fits a table
  /// if its cells, up to the end of the page, can be read as rows of the table, and if the table's b-tree lacks the row
  /// ids of these rows. A leaf that fits several tables is not assigned.
  ///
  /// Does nothing if the file has a pointer map, because the map gives the kind of such pages.
  func claimHeaderless() throws(SQLiteFileError) {
    guard !map.isPresent else { return }
    let torn = tables.indices.filter { table in
      guard let root = tables[table].rootPage, roots[root] == table else { return false }
      return hasRowIDs(table) && walks[root]?.isWhole == false
    }
    guard !torn.isEmpty, torn.count <= Self.maxTornTables else { return }
    var taken: [Int: RowIDRanges] = [:]
    var claims: [(page: UInt32, table: Int)] = []
    var buffer = ContiguousArray<UInt8>()
    var left = Self.maxHeaderless
    var page: UInt32 = 1
    while page < pageCount, left > 0 {
      page += 1
      guard census.kind(page) == .other, census.parent(page) == 0, !census.free.contains(page),
        !census.followed.contains(page),
        try reader.copy(page, into: &buffer) == layout.pageSize,
        ZeroSectors.touch(0..<1, of: buffer.rawSpan)
      else { continue }
      left -= 1
      if taken.isEmpty { taken = try liveRowIDs(of: torn) }
      let fitting = torn.filter { table in
        guard let rowIDs = rowIDs(toTheEndOf: buffer.rawSpan, page, as: table),
          let root = tables[table].rootPage, let walk = walks[root]
        else { return false }
        return walk.hasRoom(for: rowIDs, isInUse: true)
          && taken[table]?.haveRoom(for: rowIDs) == true
      }
      if fitting.count == 1 { claims.append((page, fitting[0])) }
    }
    for (page, table) in claims {
      census.set(page, .ruinedLeaf)
      census.setOwner(of: page, table, .shape)
    }
  }

  /// Reads a page without a page header as rows of `table`, and returns the range of their row ids. Returns nil if the
  /// evidence for such rows is too weak:
  ///
  /// - The last cell does not end at the end of the page.
  /// - A cell has lost its row id.
  /// - All payloads together have fewer than 16 bytes.
  /// - The table has at most two fields.
  private func rowIDs(toTheEndOf page: RawSpan, _ number: UInt32, as table: Int)
    -> ClosedRange<Int64>?
  {
    guard shapes[table].fields.count > 2 else { return nil }
    var reading = newReading()
    reading.read(page, number: number, available: layout.pageSize, shape: shapes[table])
    guard let last = reading.cells.last, last.end == layout.usableSize,
      reading.cells.allSatisfy(\.hasRowID),
      reading.cells.reduce(0, { $0 + $1.payload }) >= 16,
      let least = reading.cells.map(\.rowID).min(), let most = reading.cells.map(\.rowID).max()
    else { return nil }
    return least...most
  }

  private func liveRowIDs(of wanted: [Int]) throws(SQLiteFileError) -> [Int: RowIDRanges] {
    var ranges: [Int: [ClosedRange<Int64>]] = [:]
    for table in wanted { ranges[table] = [] }
    for page in 2...max(2, pageCount) where census.isLiveLeaf(page) {
      guard let owner = census.owner(page), ranges[owner.table] != nil,
        let rowIDs = try rowIDs(of: page)
      else { continue }
      ranges[owner.table]?.append(rowIDs)
    }
    return ranges.mapValues { RowIDRanges($0) }
  }
}
