import SQLiteFile

extension Carver {
  /// Searches the bytes of the deleted cell `cell` for a newer cell of the same table that overwrote the end of `cell`
  /// and was then deleted too. Returns the page offset of the newer cell; nil if there is no such cell.
  ///
  /// SQLite takes the space for a new cell from the end of a freeblock (`pageFindSlot`), so a new cell overwrites the
  /// end of a deleted cell. In the same way, a third cell may have overwritten the end of the newer cell. The header of
  /// a freeblock may have overwritten the first four bytes of the newer cell.
  ///
  /// Any bytes may look like a record. So a newer cell is accepted only if it and the cells after it fill the space up
  /// to the end of `cell`. ``strayRecord(_:at:_:_:_:)`` is the exception: it does not check this.
  ///
  /// `limit`: the page offset at which the free space ends.
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

  /// Returns the approximate page offset of a newer cell whose record begins at the page offset `record`. Returns nil
  /// if no plausible record begins there.
  ///
  /// Only the record is examined. The payload length and the row id before the record are not read, because SQLite may
  /// have overwritten them when it moved cells within the page.
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

  /// Returns the page offset of a complete newer cell that has overwritten a part of the cell `older`. `record` is the
  /// page offset of the newer cell's record header. Nil if no complete cell has its record header there.
  private mutating func newerWhole(
    _ page: RawSpan, record: Int, _ older: LeafCell, _ limit: Int, _ shape: RowShape
  ) -> Int? {
    // The payload length and the row id before `record` are read only if the bytes at `record` can be a header length
    // and a first serial type.
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
      // SQLite never writes a varint that begins with 0x80, so the newer cell does not begin with such a byte.
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

  /// Returns a cell that SQLite wrote over the end of a deleted cell, and later freed. A freeblock has overwritten the
  /// first four bytes of the returned cell. `start`: the page offset of the returned cell. `goal`: the page offset at
  /// which the deleted cell ends. Nil if no such cell is found.
  private mutating func newerCellWithoutStart(
    _ page: RawSpan, _ start: Int, _ goal: Int, _ limit: Int, _ shape: RowShape
  ) -> LeafCell? {
    guard start + 8 <= limit, let size = staleBlock(page, start) else { return nil }
    let space = Space(start: start, limit: limit, exact: nil, shape: shape)
    for header in start + 2...start + 7 {
      let most = fieldCount(page, start, header, limit, shape)
      guard most >= shape.minFieldCount else { continue }
      for count in shape.minFieldCount...most {
        // A freeblock can be longer than the cell at its start, because SQLite joins adjacent freeblocks and fragments.
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

  /// Whether a complete cell with the record header at `header` begins at `end`, or up to three bytes after `end`.
  private mutating func isRecord(_ page: RawSpan, at header: Int, ofCellBehind end: Int) -> Bool {
    (end...end + 3).contains { start in
      LeafCell.parse(
        page, at: start, limit: usableSize, usableSize: usableSize, maxPayload: maxPayload,
        &types)?.record == header
    }
  }

  /// Whether the values of `cell` before the page offset `limit` can be values of a row of the table.
  ///
  /// `body`: the page offset of the first value.
  private mutating func holds(
    _ page: RawSpan, _ body: Int, _ cell: LeafCell, _ limit: Int, _ shape: RowShape
  ) -> Bool {
    let end = min(cell.end - (cell.spills ? 4 : 0), limit)
    types.spend(bytes: end - body)
    return shape.fitsValues(types, page, body: body, end: end, encoding: encoding)
  }

  /// Whether cells follow one another from the page offset `end` to the page offset `goal`. Up to three unused bytes
  /// may be before each cell, and before `goal`.
  ///
  /// `end`: the offset at which a cell ends that has overwritten a part of an older cell.
  /// `goal`: the offset at which the older cell ends.
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

  /// The maximum number of cells that ``leads(_:from:to:_:_:)`` reads.
  private static let maxSteps = 64
}
