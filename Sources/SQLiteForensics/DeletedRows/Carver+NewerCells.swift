import SQLiteFile

extension Carver {
  /// Searches for a newer cell of the same table that overwrote a part of `cell` and was itself freed later. Returns
  /// the page offset of the newer cell; nil if no such cell is found. `limit`: the end of the free space.
  ///
  /// SQLite takes the space for a new cell from the end of a freeblock (`pageFindSlot`), so the new cell overwrites the
  /// end of an older one. In the same way, a third cell may have overwritten the end of the newer cell. The first four
  /// bytes of the newer cell may be lost to the header of a freeblock. Any bytes may look like the serial types of a
  /// record, so a newer cell is accepted only if its lengths lead to the end of the older cell.
  mutating func newer(
    in cell: LeafCell, _ page: RawSpan, _ limit: Int, _ shape: RowShape
  ) -> Int? {
    guard !shape.isUnconstrained else { return nil }
    // If a newer cell begins in the last bytes of the older cell, the record of the newer cell begins after the end of
    // the older cell.
    for offset in cell.start + 5..<max(cell.start + 5, min(cell.end + Self.longestPrefix, limit)) {
      if let whole = newerWhole(page, record: offset, cell, limit, shape) { return whole }
      guard offset < cell.end else { continue }
      if let newer = newerCellWithoutStart(page, offset, cell.end, limit, shape),
        leads(page, from: newer.end, to: cell.end, limit, shape)
      {
        return offset
      }
      if let start = strayRecord(page, at: offset, cell, limit, shape) { return start }
    }
    return nil
  }

  /// Returns the approximate page offset of a newer cell inside the older cell, whose record header is at `record`; nil
  /// if no plausible record begins there. Only the record of the newer cell is read: after SQLite has moved cells
  /// within the page, the bytes before the record may belong to a third cell.
  private mutating func strayRecord(
    _ page: RawSpan, at record: Int, _ older: LeafCell, _ limit: Int, _ shape: RowShape
  ) -> Int? {
    let body =
      older.record
      + (older.isStartLost
        ? older.headerLength - older.lostHeader.count : Int(page.byte(at: older.record)))
    let header = Int(page.byte(at: record))
    guard record >= body, header > shape.minFieldCount, header < 128, record + header <= limit,
      shape.fittingCount(page, at: record + 1, end: record + header, from: 0)
        >= shape.minFieldCount,
      types.read(page, record + 1..<record + header), shape.fits(types), areTelling(3, shape),
      types.bodyLength >= 6
    else { return nil }
    let end = min(record + header + types.bodyLength, limit)
    types.spend(bytes: end - record)
    guard
      shape.fitsValues(types, page, body: record + header, end: end, encoding: encoding)
    else { return nil }
    // The payload length and the row id of the newer cell take about the same number of bytes as those of the older
    // cell.
    let lead = older.isStartLost ? 4 : max(4, older.record - older.start)
    return max(older.start + 5, record - lead)
  }

  /// Returns the page offset of a complete newer cell whose record begins at `record`; nil if no such cell is found.
  private mutating func newerWhole(
    _ page: RawSpan, record: Int, _ older: LeafCell, _ limit: Int, _ shape: RowShape
  ) -> Int? {
    // The lengths of header and payload are read only if the first two bytes of a header are plausible.
    let header = Int(page.byte(at: record))
    guard header > shape.minFieldCount, header < 128, record + header < limit,
      let field = shape.fields.first
    else { return nil }
    let first = UInt64(page.byte(at: record + 1))
    guard first >= 128 || field.classes.contains(StorageClasses(serialType: first)) else {
      return nil
    }
    let least = max(older.start + 5, record - Self.longestPrefix)
    for start in least..<max(least, min(older.end, record - 1)) {
      // SQLite never writes a varint that begins with 0x80, so such a byte is the last byte of the older cell.
      guard page.byte(at: start) != 0x80, let payload = Varint.read(page, at: start, end: record),
        let key = Varint.read(page, at: start + payload.length, end: record),
        start + payload.length + key.length == record,
        let cell = LeafCell.parse(
          page, at: start, limit: usableSize, usableSize: usableSize, maxPayload: maxPayload,
          &types), shape.fits(types), types.bodyLength >= 4, areTelling(2, shape),
        holds(page, cell.record + cell.payload - types.bodyLength, cell, limit, shape),
        leads(page, from: cell.end, to: older.end, limit, shape)
      else { continue }
      return start
    }
    return nil
  }

  /// The maximum number of bytes of a cell before its record: four for the payload length and nine for the row id.
  private static let longestPrefix = 13

  /// Returns the newer cell at `start`, whose first four bytes are lost to the header of a freeblock; nil if no such
  /// cell is found. `goal`: the end of the older cell.
  private mutating func newerCellWithoutStart(
    _ page: RawSpan, _ start: Int, _ goal: Int, _ limit: Int, _ shape: RowShape
  ) -> LeafCell? {
    guard start + 8 <= limit, let size = staleBlock(page, start) else { return nil }
    let space = Space(start: start, limit: limit, exact: nil, shape: shape)
    for header in start + 2...start + 7 {
      let most = fieldCount(page, start, header, limit, shape)
      guard most >= shape.minFieldCount else { continue }
      for count in shape.minFieldCount...most {
        // A freeblock is longer than its cell if it was joined with later freeblocks or with fragments.
        guard
          let cell = cellWithoutStart(page, header, space, fieldCount: count, mayBeCut: true),
          cell.length <= size, types.bodyLength >= 6, areTelling(3, shape),
          holds(page, header + cell.payload - types.bodyLength, cell, limit, shape),
          cell.end <= goal + 3 || cell.end >= limit
            || isFollowed(page, cell.end, space),
          !isRecord(page, at: header, ofCellBehind: goal)
        else { continue }
        return cell
      }
    }
    return nil
  }

  /// Whether the record at `header` belongs to a complete cell that begins at `end` or up to three bytes later. If so,
  /// the bytes before the record are not the header of a freeblock.
  private mutating func isRecord(_ page: RawSpan, at header: Int, ofCellBehind end: Int) -> Bool {
    (end...end + 3).contains { start in
      LeafCell.parse(
        page, at: start, limit: usableSize, usableSize: usableSize, maxPayload: maxPayload,
        &types)?.record == header
    }
  }

  /// Whether the values of `cell` before `limit` can be values of a row of the table. `body`: the offset of the first
  /// value.
  private mutating func holds(
    _ page: RawSpan, _ body: Int, _ cell: LeafCell, _ limit: Int, _ shape: RowShape
  ) -> Bool {
    let end = min(cell.end - (cell.spills ? 4 : 0), limit)
    types.spend(bytes: end - body)
    return shape.fitsValues(types, page, body: body, end: end, encoding: encoding)
  }

  /// Whether cells fill the space from `end` to `goal`, the end of the older cell, with gaps of at most three bytes.
  private mutating func leads(
    _ page: RawSpan, from end: Int, to goal: Int, _ limit: Int, _ shape: RowShape
  ) -> Bool {
    var end = end
    for _ in 0..<Self.maxSteps {
      // Up to three bytes after a cell may belong to no freeblock.
      if end >= goal - 3 { return true }
      var next: Int?
      for start in end...end + 3 where next == nil && start + 8 <= limit {
        if let cell = LeafCell.parse(
          page, at: start, limit: usableSize, usableSize: usableSize, maxPayload: maxPayload,
          &types), shape.fits(types), areTelling(2, shape)
        {
          next = cell.end
        } else if let cell = newerCellWithoutStart(page, start, goal, limit, shape) {
          next = cell.end
        }
      }
      guard let next else { return false }
      end = next
    }
    return false
  }

  /// The maximum number of consecutive newer cells in the space of one older cell.
  private static let maxSteps = 64
}
