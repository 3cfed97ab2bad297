import SQLiteFile

/// Carves freed cells from space that no live cell uses: freeblocks, gaps between cells, trunk pages of the freelist,
/// free pages and orphaned pages.
///
/// When SQLite frees a cell, it overwrites only the first four bytes of the cell, with the header of a freeblock (file
/// format, section 1.6). When SQLite joins adjacent freeblocks, the headers of the later freeblocks remain inside the
/// joined freeblock. So a freeblock contains complete cells and cells without their start, one directly after the
/// other.
struct Carver {
  /// A cell found in free space.
  struct Find {
    var cell: LeafCell
    /// The index of the ``RowShape`` that the cell fits best, which is also the index of the table.
    var shape: Int
    /// Whether the cell fits another table as well.
    var isAmbiguous = false
    /// How certain it is that the cell was a row, from 0 to 100.
    var confidence: Int
    /// The page offset of a newer cell that has overwritten the end of this cell; nil if no such cell was found.
    var newer: Int?
  }

  let usableSize: Int
  let maxPayload: Int
  let encoding: DatabaseHeader.TextEncoding
  /// For each table, the serial types of the first field in its live rows, the most frequent type first.
  var firstTypes: [[UInt64]] = []
  var types = RecordTypes()
  /// The serial types that are read in the search for newer cells (``newer(in:_:_:_:)``). A newer cell has overwritten
  /// the end of a freed cell. The search has its own budget, so that it does not use up the budget of ``types``.
  private var newerTypes = RecordTypes()
  /// For each place in ``headerPlaces``: the maximum number of fields of the current cell if its record header began
  /// there.
  private var maxFieldCounts = ContiguousArray<Int>(repeating: 0, count: headerPlaces.count)
  private var hasShortRowIDs = false
  private(set) var finds: [Find] = []

  init(usableSize: Int, maxPayload: Int, encoding: DatabaseHeader.TextEncoding) {
    self.usableSize = usableSize
    self.maxPayload = maxPayload
    self.encoding = encoding
  }

  /// Searches a region of a page for freed cells, and appends them to ``finds`` in the order of their offsets.
  ///
  /// `freeBlocks`: the freeblocks inside the region, in the order of their offsets.
  /// `shapes`: what the rows of each table look like.
  /// `own`: the index of the page's table; nil if this table is not known. Rows of this table are searched for first.
  /// Only rows of this table may have few bytes or few fields.
  /// `wholeOnly`: whether to skip cells that have lost their start. Used for a page that may never have been a leaf.
  /// `hasShortRowIDs`: whether each row id on the page takes one byte.
  mutating func carve(
    _ page: RawSpan, _ region: Range<Int>, freeBlocks: [Range<Int>], shapes: [RowShape], own: Int?,
    wholeOnly: Bool = false, hasShortRowIDs: Bool = false
  ) {
    guard region.count >= 4, region.upperBound <= page.byteCount else { return }
    types.renewBudget(usableSize: usableSize)
    newerTypes.renewBudget(usableSize: usableSize)
    self.hasShortRowIDs = hasShortRowIDs
    var offset = region.lowerBound
    var block = 0
    // Whether a cell is expected at `offset`, because the previous cell ends there or a freeblock begins there.
    var isBoundary = false
    let firstFind = finds.count
    while offset + 4 <= region.upperBound {
      while block < freeBlocks.count, freeBlocks[block].lowerBound < offset { block += 1 }
      var exact: Int?
      if block < freeBlocks.count, freeBlocks[block].lowerBound == offset {
        exact = freeBlocks[block].count
        isBoundary = true
      }
      if exact == nil, page.byte(at: offset) != 0,
        let find = whole(page, offset, region.upperBound, shapes, own, atBoundary: isBoundary)
      {
        offset = keep(find, page, region.upperBound, nil, shapes)
        isBoundary = true
        continue
      }
      let stale = exact == nil && !wholeOnly ? staleBlock(page, offset) : nil
      if let stale,
        let find = findWithoutStart(
          page, offset, region.upperBound, stale, isStale: true, shapes, own),
        own != nil || find.cell.end == offset + stale
      {
        offset = keep(find, page, region.upperBound, stale, shapes)
        isBoundary = true
        continue
      }
      if isBoundary, !wholeOnly,
        let find = findWithoutStart(page, offset, region.upperBound, exact, shapes, own)
      {
        offset = keep(find, page, region.upperBound, exact, shapes)
        continue
      }
      isBoundary = false
      offset += 1
    }
    confirm(page, region, freeBlocks, from: firstFind)
  }

  /// Sets `isEndDoubtful` and `isFirstDoubtful` of the finds from index `first` on.
  ///
  /// The end of a find is confirmed if the region ends there, or if another find or a freeblock begins there. A former
  /// freeblock that begins there also confirms it, but only if the former freeblock itself ends at such a border. This
  /// is required because any bytes may look like a former freeblock.
  private mutating func confirm(
    _ page: RawSpan, _ region: Range<Int>, _ freeBlocks: [Range<Int>], from first: Int
  ) {
    var borders: Set<Int> = [region.upperBound]
    for block in freeBlocks { borders.formUnion([block.lowerBound, block.upperBound]) }
    for find in finds[first...] { borders.insert(find.cell.start) }
    // Up to three bytes after a cell belong to no freeblock (file format, section 1.6).
    func isBorder(_ end: Int) -> Bool { (end...end + 3).contains { borders.contains($0) } }
    func leadsToBorder(_ start: Int) -> Bool {
      start + 4 <= region.upperBound
        && staleBlock(page, start, least: 4).map { isBorder(start + $0) } ?? false
    }
    for index in finds.indices.dropFirst(first) where finds[index].newer == nil {
      let end = finds[index].cell.end
      if index + 1 < finds.count, finds[index + 1].cell.start == end {
        finds[index].cell.isFirstDoubtful = false
      }
      if hasWideInteger(page, finds[index].cell) {
        finds[index].cell.isEndDoubtful = true
        continue
      }
      guard finds[index].cell.isEndDoubtful else { continue }
      let isConfirmed =
        isBorder(end) || (end...end + 3).contains(where: leadsToBorder)
      finds[index].cell.isEndDoubtful =
        !isConfirmed
        || (!borders.contains(end) && !leadsToBorder(end)
          && mayEndInBlock(page, finds[index].cell, region.upperBound))
    }
  }

  /// Whether the header of a former freeblock may start in the last three bytes of a cell. Only the last freeblock of a
  /// page is considered: the offset of its next freeblock is 0.
  private func mayEndInBlock(_ page: RawSpan, _ cell: LeafCell, _ limit: Int) -> Bool {
    (max(cell.record, cell.end - 3)..<max(cell.record, cell.end)).contains { start in
      start + 4 <= limit && page.uint16(at: start) == 0
        && staleBlock(page, start, least: 4) != nil
    }
  }

  /// Whether any integer of the cell is stored with more bytes than its value needs. SQLite always uses the shortest
  /// integer type (`sqlite3VdbeSerialType`), so a part of such an integer has been overwritten.
  private mutating func hasWideInteger(_ page: RawSpan, _ cell: LeafCell) -> Bool {
    guard !cell.spills, cell.end <= page.byteCount else { return false }
    var offset: Int
    if cell.isStartLost, cell.lostTypes < 2 {
      offset = cell.record + cell.headerLength - cell.lostHeader.count
      guard offset > cell.record, types.read(page, cell.record..<offset) else { return false }
      if cell.lostTypes == 1 { offset += RecordDecoder.length(ofType: cell.firstType) }
      guard offset + types.bodyLength <= page.byteCount else { return false }
    } else {
      guard cell.lostTypes == 0, types.read(cell, page) else { return false }
      offset = cell.record + cell.payload - types.bodyLength
    }
    for type in types.types {
      let length = RecordDecoder.length(ofType: type)
      if (2...6).contains(type) {
        let value = RecordDecoder.integer(page, offset, length)
        // Integers have 1, 2, 3, 4, 6 or 8 bytes.
        let shorter = length == 6 ? 4 : length == 8 ? 6 : length - 1
        if value >> (8 * shorter - 1) == 0 || value >> (8 * shorter - 1) == -1 { return true }
      }
      offset += length
    }
    return false
  }

  /// Appends `find` to ``finds``. Before that, searches for a newer cell that has overwritten the end of the found
  /// cell.
  /// - Returns: the page offset at which the search for deleted cells continues: the start of the newer cell or, if
  ///   there is no newer cell, the end of the found cell.
  private mutating func keep(
    _ find: Find, _ page: RawSpan, _ limit: Int, _ exact: Int?, _ shapes: [RowShape]
  ) -> Int {
    var find = find
    let shape = shapes[find.shape]
    swap(&types, &newerTypes)
    find.newer = newer(in: find.cell, page, limit, shape)
    swap(&types, &newerTypes)
    // If the freeblock has the length of the cell, the end of the cell is confirmed.
    let size = exact ?? 0
    find.cell.isEndDoubtful =
      find.newer == nil && !(find.cell.length...find.cell.length + 3).contains(size)
    finds.append(find)
    return find.newer ?? find.cell.end
  }

  /// Returns the size, in bytes, of a former freeblock whose header remains in free space, at the page offset `offset`.
  /// Nil if the bytes there cannot be the header of a freeblock, or if the size is below `least`.
  func staleBlock(_ page: RawSpan, _ offset: Int, least: Int = 8) -> Int? {
    let next = Int(page.uint16(at: offset))
    let size = Int(page.uint16(at: offset + 2))
    guard size >= least, offset + size <= usableSize, next == 0 || next >= offset + size,
      next + 4 <= usableSize
    else { return nil }
    return size
  }

  mutating func removeAll() { finds.removeAll(keepingCapacity: true) }

  // MARK: - Whole cells

  private mutating func whole(
    _ page: RawSpan, _ offset: Int, _ limit: Int, _ shapes: [RowShape], _ own: Int?,
    atBoundary: Bool
  ) -> Find? {
    guard
      let cell = LeafCell.parse(
        page, at: offset, limit: limit, usableSize: usableSize, maxPayload: maxPayload, &types)
    else { return nil }
    let bodyLength = types.bodyLength
    let body = cell.record + cell.payload - bodyLength
    let end = min(cell.record + cell.local, limit)
    guard let (shape, count) = best(page, body, end, shapes, own) else { return nil }
    // A record of a few small integers or NULLs proves nothing if no cell is expected at this offset, or if the record
    // does not fit the page's own table.
    guard
      shape == own
        ? atBoundary || types.types.contains(where: { $0 != 0 })
        : shapes[shape].fields.count > 2 && bodyLength >= (atBoundary ? 8 : 12)
    else { return nil }
    return Find(
      cell: cell, shape: shape, isAmbiguous: count > 1,
      confidence: (atBoundary ? 95 : 85) - (shape == own ? 0 : 10))
  }

  /// Whether enough of the current ``types`` are not NULL to be evidence of a record: at least `count` of them. For a
  /// table with fewer than `count` columns, all columns must be not NULL; the INTEGER PRIMARY KEY is not counted. NULLs
  /// are no evidence, because zero bytes look like NULLs.
  func areTelling(_ count: Int, _ shape: RowShape) -> Bool {
    let columns = shape.fields.count - (shape.rowIDField == nil ? 0 : 1)
    return types.types.count(where: { $0 != 0 }) >= min(count, columns)
  }

  // MARK: - Tables

  /// Returns the table shape that the values of the current record (``types``) fit best, and the number of shapes that
  /// they fit equally well. Nil if they fit no shape.
  ///
  /// If the values fit the shape of the page's own table (`own`), this is the best shape, and the number is 1.
  /// Otherwise the best shape is the fitting one with the highest ``RowShape/weight``.
  private mutating func best(
    _ page: RawSpan, _ body: Int, _ end: Int, _ shapes: [RowShape], _ own: Int?
  ) -> (shape: Int, count: Int)? {
    func fits(_ shape: RowShape) -> Bool {
      guard shape.fits(types) else { return false }
      types.spend(bytes: end - body)
      return shape.fitsValues(types, page, body: body, end: end, encoding: encoding)
    }
    if let own, fits(shapes[own]) { return (own, 1) }
    var found: Int?
    var count = 0
    for (index, shape) in shapes.enumerated() where index != own && fits(shape) {
      if let other = found {
        if shape.weight > shapes[other].weight {
          found = index
          count = 1
        } else if shape.weight == shapes[other].weight {
          count += 1
        }
      } else {
        found = index
        count = 1
      }
    }
    return found.map { ($0, count) }
  }

  // MARK: - Cells without their start

  /// A possible place of the record header in a deleted cell whose first bytes were overwritten.
  struct HeaderPlace {
    /// The offset of the record header from the start of the cell: 2 to 7 bytes, which the payload length and the row
    /// id take.
    let offset: Int
    /// Whether the first serial type has two bytes, and only the first of them is lost with the start of the cell.
    /// Possible only if ``offset`` is 2.
    var hasLongFirst = false
  }

  static let headerPlaces: [HeaderPlace] =
    (2...7).map { HeaderPlace(offset: $0) } + [HeaderPlace(offset: 2, hasLongFirst: true)]

  /// The two orders in which ``headerPlaces`` are tried, as indexes into ``headerPlaces``.
  ///
  /// At place 0, the first serial type of the record is lost and must usually be deduced from the end of the cell, so
  /// place 0 is normally tried last. Place 0 is tried early if the first field is the row id, whose serial type is
  /// NULL. It is also tried early if the live cells of the page have row ids of one byte, which makes place 0 likely.
  private static let firstPlaceEarly = [6, 0, 1, 2, 3, 4, 5]
  private static let firstPlaceLast = [1, 2, 3, 4, 5, 6, 0]

  /// Returns the freed cell at the page offset `start`. The first four bytes of the cell were overwritten. Returns nil
  /// if the bytes do not look like a row of any table.
  ///
  /// `exact`: the size, in bytes, of the freeblock or former freeblock at `start`; nil if no freeblock starts there.
  /// The cell has this size, unless SQLite has joined the freeblock with others.
  /// `isStale`: whether the freeblock at `start` is a former freeblock.
  private mutating func findWithoutStart(
    _ page: RawSpan, _ start: Int, _ limit: Int, _ exact: Int?, isStale: Bool = false,
    _ shapes: [RowShape], _ own: Int?
  ) -> Find? {
    var fallback: Find?
    // If the page's own table is not known, only tables with more than two columns are considered.
    let order = own.map { [$0] } ?? shapes.indices.filter { shapes[$0].fields.count > 2 }
    for index in order {
      let shape = shapes[index]
      let space = Space(start: start, limit: limit, exact: exact, shape: shape)
      for (place, header) in Self.headerPlaces.enumerated() {
        maxFieldCounts[place] = fieldCount(
          page, start, start + header.offset, limit, shape, hasLongFirst: header.hasLongFirst)
      }
      guard let most = maxFieldCounts.max(), most >= shape.minFieldCount else { continue }
      let counts = (shape.minFieldCount...most).reversed()
      let isFirstKnown = shape.rowIDField == 0
      let isFirstEarly = isFirstKnown || hasShortRowIDs
      let places = isFirstEarly ? Self.firstPlaceEarly : Self.firstPlaceLast
      // A cell that ends exactly where the freeblock ends has the strongest evidence, so such cells are tried first.
      if exact != nil {
        for count in counts {
          for place in places where count <= maxFieldCounts[place] && (place > 0 || isFirstEarly) {
            if let cell = plausibleCell(
              page, Self.headerPlaces[place], space, fieldCount: count, isStale: isStale, own),
              cell.end == space.exactEnd
            {
              return Find(
                cell: cell, shape: index, isAmbiguous: own == nil && order.count > 1,
                confidence: place > 0 || isFirstKnown ? 70 : 50)
            }
          }
        }
      }
      for count in counts {
        for place in places where count <= maxFieldCounts[place] {
          guard
            let cell = plausibleCell(
              page, Self.headerPlaces[place], space, fieldCount: count, isStale: isStale, own)
          else { continue }
          // If the first type is lost, some first type leads to nearly every possible end of the cell. So in this case
          // a plausible end proves little, and an end at the end of the free space proves nothing.
          let isGuessed = place == 0 && !isFirstKnown
          let isExact = cell.end == space.exactEnd
          let find = Find(
            cell: cell, shape: index, isAmbiguous: own == nil && order.count > 1,
            confidence: !isGuessed ? 70 : isExact ? 50 : 30)
          if lands(page, cell.end, space), !isGuessed || isExact || cell.end < limit {
            return find
          }
          // A table with two columns is left out here, because any bytes, for example old cell pointers, look like a
          // row of two small numbers.
          let body = cell.record + cell.headerLength - cell.lostHeader.count
          if fallback == nil, shape.fields.count > 2, body < cell.end,
            !Self.isBlank(page, body..<cell.end)
          {
            fallback = find
            fallback?.cell.isFirstDoubtful = cell.lostTypes > 0 && !isFirstKnown
            fallback?.confidence = 5
          }
        }
      }
    }
    return fallback
  }

  /// Returns a cell that has lost its start, on the assumption that its record header began at `header` and that it has
  /// `fieldCount` fields. Returns nil if the bytes contradict this assumption, or are too weak evidence for it.
  private mutating func plausibleCell(
    _ page: RawSpan, _ header: HeaderPlace, _ space: borrowing Space, fieldCount: Int,
    isStale: Bool, _ own: Int?
  ) -> LeafCell? {
    guard
      let cell = cellWithoutStart(
        page, space.start + header.offset, space, fieldCount: fieldCount,
        hasLongFirst: header.hasLongFirst)
    else { return nil }
    // A few bytes often look like a row of small integers. So a short row counts only at the start of a freeblock that
    // is on a page of its table.
    let leastLength = own == nil ? 16 : space.exact == nil || isStale ? 6 : 0
    guard cell.payload - cell.headerLength >= leastLength else { return nil }
    // Zero bytes look like NULLs, so a cell of zero bytes proves nothing. If the columns of a table accept any values,
    // any bytes look like a row, so only a freeblock with exactly the length of the cell proves that there was a cell.
    let isExact = cell.end == space.exactEnd
    if Self.isBlank(page, space.start + 4..<cell.end) || (space.shape.isUnconstrained && !isExact) {
      return nil
    }
    return cell
  }

  private static func isBlank(_ page: RawSpan, _ range: Range<Int>) -> Bool {
    range.allSatisfy { page.byte(at: $0) == 0 }
  }

  /// Returns the maximum number of fields of a cell that has lost its start. Serial types are counted, from the first
  /// one on, as long as they fit the fields of `shape`. A lost serial type counts as fitting.
  ///
  /// `start`: the page offset of the cell.
  /// `header`: the page offset at which the record header began.
  /// `hasLongFirst`: whether the first serial type has two bytes, of which only the first is lost.
  func fieldCount(
    _ page: RawSpan, _ start: Int, _ header: Int, _ limit: Int, _ shape: RowShape,
    hasLongFirst: Bool = false
  ) -> Int {
    if hasLongFirst {
      // The lowest bit of a serial type distinguishes text from a blob.
      guard start + 4 < limit, case let left = UInt64(page.byte(at: start + 4)), left < 128,
        let field = shape.fields.first,
        field.classes.contains(StorageClasses(serialType: 128 | left))
      else { return 0 }
      return shape.fittingCount(page, at: start + 5, end: limit, from: 1)
    }
    // If the payload length and the row id take three bytes, the fourth lost byte is the header length. If they take
    // only two bytes, the first serial type is lost too.
    return shape.fittingCount(
      page, at: max(start + 4, header + 1), end: limit, from: header == start + 2 ? 1 : 0)
  }

  struct Space {
    let start: Int
    /// The highest page offset at which the cell can end.
    let limit: Int
    /// The size, in bytes, of the freeblock or former freeblock at ``start``. Nil if no freeblock starts there, or if
    /// the freeblock may be longer than the cell.
    let exact: Int?
    let shape: RowShape

    /// The page offset at which the freeblock at ``start`` ends; nil if ``exact`` is nil.
    var exactEnd: Int? { exact.map { start + $0 } }
  }

  /// Whether a cell can end at the page offset `end`. It can if the freeblock of the cell or the free space ends there,
  /// or if another cell or a former freeblock begins there.
  ///
  /// `mayBeCut`: whether weaker evidence suffices: a cell that begins at `end` and extends past the free space, or a
  /// former freeblock of only four to seven bytes.
  mutating func lands(
    _ page: RawSpan, _ end: Int, _ space: borrowing Space, mayBeCut: Bool = false
  ) -> Bool {
    if end == space.limit { return true }
    if end == space.exactEnd { return true }
    guard end + 4 <= space.limit else { return false }
    if staleBlock(page, end, least: mayBeCut ? 4 : 8) != nil { return true }
    return LeafCell.parse(
      page, at: end, limit: mayBeCut ? usableSize : space.limit, usableSize: usableSize,
      maxPayload: maxPayload, &types) != nil && space.shape.fits(types)
  }

  /// Whether a cell can end at the page offset `end` or up to three bytes after it; see ``lands(_:_:_:mayBeCut:)``. Up
  /// to three bytes between two cells belong to no freeblock (file format, section 1.6).
  mutating func isFollowed(_ page: RawSpan, _ end: Int, _ space: borrowing Space) -> Bool {
    for left in 0...3 where lands(page, end + left, space, mayBeCut: true) { return true }
    return false
  }
}
