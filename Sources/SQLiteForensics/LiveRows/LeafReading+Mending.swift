import SQLiteFile

extension LeafReading {
  // MARK: - Mended

  /// Reads the cells from offset `start` to the end of the page without cell pointers: each cell begins where the
  /// previous cell ends. Returns nil unless the last cell ends exactly at the end of the page. Between the cells, only
  /// freeblocks and up to `fragments` other bytes in total are allowed.
  mutating func cellsInARow(
    _ page: RawSpan, from start: Int, fragments: Int, _ shape: RowShape?
  ) -> ContiguousArray<LeafCell>? {
    guard start >= contentFloor else { return nil }
    let longestHeader = Self.longestHeader(shape)
    var row: ContiguousArray<LeafCell> = []
    var offset = start
    var fragments = fragments
    var block = 0
    while offset < usableSize {
      while block < freeBlocks.count, freeBlocks[block].lowerBound < offset { block += 1 }
      let room = block < freeBlocks.count ? freeBlocks[block].lowerBound : usableSize
      if offset == room {
        offset = freeBlocks[block].upperBound
      } else if let cell = LeafCell.parse(
        page, at: offset, limit: room, usableSize: usableSize, maxPayload: maxPayload,
        longestHeader: longestHeader, keepsTypes: false, &types)
      {
        row.append(cell)
        offset = cell.end
      } else if fragments > 0 {
        fragments -= 1
        offset += 1
      } else {
        return nil
      }
    }
    return row
  }

  /// Whether `row` contains the same cells as ``cells``, which were found by the cell pointers. The offsets of the
  /// cells are compared. `row` must be sorted by offset.
  func isSame(as row: ContiguousArray<LeafCell>) -> Bool {
    row.count == cells.count && row.map(\.start) == cells.map(\.start).sorted()
  }

  mutating func mend(
    _ page: RawSpan, _ pointers: Int, _ count: Int, _ limit: Int, _ contentStart: Int,
    _ shape: RowShape?
  ) {
    method = .mended
    if limit == usableSize, 2 * cells.count < count {
      // When most pointers lead to no cell, the other pointers may lead to cells by chance.
      let pointed = cells
      cells.removeAll()
      readTiles(page, max(contentFloor, contentStart), limit, shape)
      if cells.count > pointed.count, 2 * cells.count >= count {
        cells.removeFirst(max(0, cells.count - count))
        lostCount = count - cells.count
        return markUnordered()
      }
      cells = pointed
    }
    cells.sort { $0.start < $1.start }
    dropOverlaps(page, shape)
    guard cells.count < count else { return markUnordered() }
    var lost = count - cells.count
    // A correct pointer may lead to a cell with a wrong payload length; the record gives the right length.
    for index in 0..<count where lost > 0 {
      let start = Int(page.uint16(at: pointers + 2 * index))
      guard start >= contentFloor, start + 4 <= limit, !covers(start..<start + 1),
        let room = room(at: start, limit: limit),
        let cell = LeafCell.parseRepairing(
          page, at: start, limit: room, usableSize: usableSize, maxPayload: maxPayload, &types),
        isPlausible(cell, page, limit, shape),
        cell.end == room || freeBlocks.contains(where: { $0.lowerBound == cell.end })
      else { continue }
      insert(cell)
      lost -= 1
    }
    if let shape {
      for index in 0..<count where lost > 0 {
        let start = Int(page.uint16(at: pointers + 2 * index))
        guard start >= contentFloor, start + 4 <= limit, !covers(start..<start + 1),
          let room = room(at: start, limit: limit),
          let cell = LeafCell.parseMisfit(
            page, at: start, room: room, usableSize: usableSize, shape: shape)
        else { continue }
        insert(cell)
        hasMisfits = true
        lost -= 1
      }
    }
    // A cell that lies beyond the end of a truncated file cannot be found by searching the rest of the page.
    let cutOff = (0..<count).count { Int(page.uint16(at: pointers + 2 * $0)) + 4 > limit }
    if limit == usableSize || cutOff < lost {
      let most = limit == usableSize ? lost : lost - cutOff
      lost -= most - takeUnpointed(page, from: max(contentFloor, contentStart), limit, most, shape)
    }
    lostCount = lost
    markUnordered()
  }

  /// Adds up to `most` complete cells that no cell pointer leads to. They are searched for in the space that neither
  /// known cells nor freeblocks cover.
  ///
  /// - Returns: `most` minus the number of added cells.
  private mutating func takeUnpointed(
    _ page: RawSpan, from floor: Int, _ limit: Int, _ most: Int, _ shape: RowShape?
  ) -> Int {
    var left = most
    var found: [LeafCell] = []
    for gap in gaps(from: floor, to: limit, without: freeBlocks) {
      var offset = gap.lowerBound
      var border = offset
      while offset + 4 <= gap.upperBound {
        if let cell = LeafCell.parse(
          page, at: offset, limit: gap.upperBound, usableSize: usableSize,
          maxPayload: maxPayload, &types), isPlausible(cell, page, limit, shape),
          shape.map(isTelling) ?? false
            || ((shape == nil || offset == border)
              && (cell.end == gap.upperBound || startsCell(page, cell.end, gap.upperBound)))
        {
          found.append(cell)
          offset = cell.end
          border = offset
        } else {
          offset += 1
        }
      }
    }
    // SQLite allocates cells from the end of the page, so the cells nearest to the end are the most certain.
    for cell in found.reversed() where left > 0 {
      insert(cell)
      left -= 1
    }
    return left
  }

  private mutating func startsCell(_ page: RawSpan, _ offset: Int, _ limit: Int) -> Bool {
    LeafCell.parse(
      page, at: offset, limit: limit, usableSize: usableSize, maxPayload: maxPayload, &types)
      != nil
  }

  // MARK: - Without header

  mutating func readWithoutHeader(
    _ page: RawSpan, _ base: Int, _ limit: Int, _ shape: RowShape?
  ) {
    // If the cell count agrees with the cell pointers, it gives the length of the pointer array. Otherwise the array
    // ends at the first pointer that does not lead to a complete cell, or whose cell overlaps another cell.
    let count = agreeingCount(page, base, limit)
    let end = count.map { base + 8 + 2 * $0 } ?? limit
    var offset = base + 8
    var met: Set<Int> = []
    while offset + 2 <= end, offset + 2 < limit {
      let start = Int(page.uint16(at: offset))
      if start > offset + 1, start + 4 <= limit, met.insert(start).inserted,
        let cell = LeafCell.parse(
          page, at: start, limit: limit, usableSize: usableSize, maxPayload: maxPayload, &types),
        isPlausible(cell, page, limit, shape), !covers(cell.start..<cell.end)
      {
        insert(cell)
      } else if count == nil {
        break
      }
      offset += 2
    }
    contentFloor = offset
    let isBelieved = count.map { 2 * cells.count > $0 } ?? true
    if isBelieved, cells.count >= 2 || (cells.count == 1 && cells[0].end == usableSize) {
      lostCount = count.map { $0 - cells.count } ?? 0
      method = .pointersAlone
      return markUnordered()
    }
    cells.removeAll()
    contentFloor = base
    readTiles(page, base, limit, shape)
    method = cells.isEmpty ? .nothing : .cells
    markUnordered()
  }

  /// Returns the cell count in the page header if the count agrees with the cell pointers; otherwise nil. The count
  /// agrees if all pointers lead to different offsets after the pointer array, and if the lowest of these offsets is
  /// the start of the cell content area. The page type is not checked.
  private func agreeingCount(_ page: RawSpan, _ base: Int, _ limit: Int) -> Int? {
    let count = Int(page.uint16(at: base + 3))
    let floor = base + 8 + 2 * count
    guard count > 1, floor + 4 * count <= limit else { return nil }
    let starts = (0..<count).map { Int(page.uint16(at: base + 8 + 2 * $0)) }
    let isInOrder =
      starts.min() == Int(page.uint16(at: base + 5)) && Set(starts).count == count
      && starts.allSatisfy { $0 >= floor && $0 + 4 <= limit }
    return isInOrder ? count : nil
  }

  /// Adds the cells that fill the page up to its end, from `floor` or a later offset on, with only freeblocks between
  /// them. With a `shape`, also adds distinctive cells (``isTelling(_:)``) before these cells, whatever is between
  /// them. Without a `shape`, a single cell at the end of the page is not added.
  private mutating func readTiles(_ page: RawSpan, _ floor: Int, _ limit: Int, _ shape: RowShape?) {
    guard limit - floor >= 4 else { return }
    // reaches[o]: whether cells from offset o on fill the page to its end, with freeblocks between them.
    var reaches = [Bool](repeating: false, count: limit + 1)
    reaches[limit] = limit == usableSize
    var offset = limit - 4
    var first = limit
    let blocks = Dictionary(
      freeBlocks.map { ($0.lowerBound, $0.upperBound) }, uniquingKeysWith: { one, _ in one })
    while offset >= floor {
      if let end = blocks[offset] {
        reaches[offset] = reaches[end]
      } else if let cell = LeafCell.parse(
        page, at: offset, limit: limit, usableSize: usableSize, maxPayload: maxPayload, &types),
        reaches[cell.end], isPlausible(cell, page, limit, shape)
      {
        reaches[offset] = true
        first = offset
      }
      offset -= 1
    }
    // If the page can be filled in several ways, the one that begins at the lowest offset counts.
    offset = first
    var tiled: [LeafCell] = []
    while offset < limit {
      if let end = blocks[offset] {
        offset = end
      } else if let cell = LeafCell.parse(
        page, at: offset, limit: limit, usableSize: usableSize, maxPayload: maxPayload, &types)
      {
        tiled.append(cell)
        offset = cell.end
      } else {
        break
      }
    }
    if shape == nil, tiled.count < 2 { return }
    for cell in tiled { insert(cell) }
    guard let shape else { return }
    offset = floor
    while offset + 4 <= first {
      if let cell = LeafCell.parse(
        page, at: offset, limit: first, usableSize: usableSize, maxPayload: maxPayload, &types),
        isPlausible(cell, page, limit, shape), isTelling(shape),
        !freeBlocks.contains(where: { $0.overlaps(cell.start..<cell.end) })
      {
        insert(cell)
        offset = cell.end
      } else {
        offset += 1
      }
    }
  }

  /// Removes overlaps from ``cells``, which must be sorted by offset. Of two cells that overlap, the cell with the
  /// lower offset is kept. If only the cell with the higher offset can be a row of the table, that cell is kept
  /// instead.
  private mutating func dropOverlaps(_ page: RawSpan, _ shape: RowShape?) {
    var kept: ContiguousArray<LeafCell> = []
    for cell in cells {
      guard let last = kept.last, cell.start < last.end else {
        kept.append(cell)
        continue
      }
      if cell.start == last.start { continue }
      if let shape, !holds(last, page, shape), holds(cell, page, shape) {
        kept[kept.count - 1] = cell
      }
    }
    cells = kept
  }

  private mutating func holds(_ cell: LeafCell, _ page: RawSpan, _ shape: RowShape) -> Bool {
    guard
      LeafCell.parse(
        page, at: cell.start, limit: usableSize, usableSize: usableSize, maxPayload: maxPayload,
        &types) != nil
    else { return false }
    return isPlausible(cell, page, usableSize, shape)
  }

}
