import SQLiteFile

/// Reads the cells of one table leaf, whether or not its header and cell pointers are damaged.
///
/// A sound page is read by its cell pointers. Otherwise the cells are found by their content: they fill the page from
/// its end without gaps, and the lengths within each cell must agree.
struct LeafReading {
  enum Method {
    /// The cells were found by their cell pointers. The page header and the cell pointers agree with each other.
    case pointers
    /// The valid cell pointers were used. Where pointers are wrong, cells were found by their content.
    case mended
    /// The cells were found by the cell pointers alone, because the header is damaged.
    case pointersAlone
    /// The cells were found by their content alone.
    case cells
    case nothing
  }

  let usableSize: Int
  let maxPayload: Int
  let encoding: DatabaseHeader.TextEncoding
  var method = Method.nothing
  /// The cells, in the order of the cell pointer array. If the cell pointer array was not used, they are in the order
  /// of their offsets.
  var cells: ContiguousArray<LeafCell> = []
  /// The freeblocks as ranges of page offsets.
  private(set) var freeBlocks: [Range<Int>] = []
  /// The cell count in the page's header minus the number of cells found.
  var lostCount = 0
  /// Whether any of ``cells`` has a record header that contradicts the payload length of the cell.
  var hasMisfits = false
  /// Whether the lengths of cells and free space add up to the size of the page. Only
  /// ``readIndex(_:isInterior:shape:)`` sets this.
  private(set) var addsUp = true
  /// The page offset at which the cell pointer array ends.
  var contentFloor = 8
  /// The number of cell pointers; 0 if the page's header is not trusted.
  private(set) var pointerCount = 0
  var types = RecordTypes()

  init(usableSize: Int, maxPayload: Int, encoding: DatabaseHeader.TextEncoding) {
    self.usableSize = usableSize
    self.maxPayload = maxPayload
    self.encoding = encoding
  }

  /// Reads a table leaf. The results for the previous page are discarded.
  ///
  /// `number`: the page number, which matters only for page 1.
  /// `available`: how many bytes of the page the file contains.
  /// `shape`: what rows of the page's table look like; nil when the table is not known.
  mutating func read(
    _ page: RawSpan, number: UInt32, available: Int, shape: RowShape?
  ) {
    cells.removeAll(keepingCapacity: true)
    freeBlocks.removeAll(keepingCapacity: true)
    lostCount = 0
    hasMisfits = false
    types.renewBudget(usableSize: usableSize)
    let base = number == 1 ? DatabaseHeader.length : 0
    let limit = min(usableSize, available)
    contentFloor = base + 8
    pointerCount = 0
    guard page.byte(at: base) == BTreePage.Kind.leafTable.rawValue else {
      return readWithoutHeader(page, base, limit, shape)
    }
    let count = Int(page.uint16(at: base + 3))
    let pointersEnd = base + 8 + 2 * count
    // A cell has at least four bytes, and its pointer two.
    guard pointersEnd + 4 * count <= usableSize else {
      return readWithoutHeader(page, base, limit, shape)
    }
    contentFloor = pointersEnd
    pointerCount = count
    readPointers(page, base + 8, count, limit, shape)
    let contentStart = BTreePage.contentStart(page, base)
    let chainHolds = readFreeBlocks(page, Int(page.uint16(at: base + 1)), pointersEnd)
    if cells.count == count, isAscending, chainHolds,
      adds(up: page, base, pointersEnd, contentStart)
    {
      method = .pointers
      return
    }
    if chainHolds, contentStart <= usableSize,
      let wholeCount = trueCount(page, base, contentStart, limit), wholeCount != count
    {
      cells.removeAll(keepingCapacity: true)
      contentFloor = base + 8 + 2 * wholeCount
      pointerCount = wholeCount
      readPointers(page, base + 8, wholeCount, limit, shape)
      method = .mended
      return
    }
    if chainHolds, limit == usableSize,
      let row = cellsInARow(
        page, from: contentStart, fragments: Int(page.byte(at: base + 7)), shape),
      row.count == count || (row.count > 1 && 2 * cells.count < count), !isSame(as: row)
    {
      cells = row
      method = .mended
      return markUnordered()
    }
    if cells.count == count,
      !(chainHolds && isTwoExchanged && adds(up: page, base, pointersEnd, contentStart))
    {
      doubtOutOfOrder()
    }
    mend(page, base + 8, count, limit, chainHolds ? contentStart : pointersEnd, shape)
  }

  /// Whether the page is sound and its only free space is the gap between cell pointers and cells.
  var isTight: Bool { method == .pointers && freeBlocks.isEmpty }

  /// Returns the part of the free space that was written to earlier, as page offsets; nil when there is no such part.
  /// The free space lies between the cell pointers and the cells.
  ///
  /// Precondition: ``isTight`` is true.
  ///
  /// `limit`: the page offset at which the free space ends if the page has no cells.
  func usedGap(_ page: RawSpan, _ limit: Int) -> Range<Int>? {
    var content = limit
    for cell in cells where cell.start < content { content = cell.start }
    return Self.usedGap(page, from: contentFloor, to: content)
  }

  /// Returns the used part of the gap between the cell pointers and the cells, as page offsets. The gap is from `floor`
  /// to `content`. The used part begins four bytes before the first byte that is not zero, but not before `floor`. Nil
  /// when the gap contains only zeros, or when the part would have at most four bytes.
  static func usedGap(_ page: RawSpan, from floor: Int, to content: Int) -> Range<Int>? {
    var offset = floor
    while offset &+ 8 <= content, page.word(at: offset) == 0 { offset &+= 8 }
    if offset &+ 8 > content {
      while offset < content, page.byte(at: offset) == 0 { offset &+= 1 }
      if offset >= content { return nil }
    }
    // The header of a freeblock may begin with zeros.
    let from = max(floor, offset - 4)
    return from + 4 < content ? from..<content : nil
  }

  /// Reads a page of an index or of a WITHOUT ROWID table by its cell pointers.
  ///
  /// `shape`: what rows of the WITHOUT ROWID table look like; nil for an index, and when the table is not known.
  mutating func readIndex(_ page: RawSpan, isInterior: Bool, shape: RowShape? = nil) {
    let longestHeader = Self.longestHeader(shape)
    cells.removeAll(keepingCapacity: true)
    freeBlocks.removeAll(keepingCapacity: true)
    let pointers = isInterior ? 12 : 8
    let count = min(Int(page.uint16(at: 3)), (usableSize - pointers) / 2)
    contentFloor = pointers + 2 * count
    lostCount = 0
    hasMisfits = false
    types.renewBudget(usableSize: usableSize)
    for index in 0..<count {
      let start = Int(page.uint16(at: pointers + 2 * index))
      if start >= contentFloor, start + 4 <= usableSize,
        let cell = LeafCell.parseIndex(
          page, at: start, isInterior: isInterior, usableSize: usableSize,
          maxPayload: maxPayload, longestHeader: longestHeader, &types)
      {
        cells.append(cell)
      } else {
        lostCount += 1
      }
    }
    method = .pointers
    let contentStart = BTreePage.contentStart(page, 0)
    addsUp =
      readFreeBlocks(page, Int(page.uint16(at: 1)), contentFloor)
      && adds(up: page, 0, contentFloor, contentStart)
  }

  /// Whether the row ids would all ascend if two cell pointers were exchanged. For two neighbouring cell pointers, the
  /// cause may also be one wrong row id. So neighbours count only if the row ids around them leave no room for another
  /// row id.
  private var isTwoExchanged: Bool {
    let keys = cells.map(\.rowID)
    let order = keys.sorted()
    guard zip(order, order.dropFirst()).allSatisfy({ $0 < $1 }) else { return false }
    let places = keys.indices.filter { keys[$0] != order[$0] }
    guard places.count == 2 else { return false }
    let (first, second) = (places[0], places[1])
    if second > first + 1 { return true }
    return first > 0 && second < keys.count - 1 && order[first] &- order[first - 1] == 1
      && order[second + 1] &- order[second] == 1
  }

  /// Marks row ids that break the ascending order on the page as not known. A row id is kept only if every longest
  /// ascending subsequence contains it.
  private mutating func doubtOutOfOrder() {
    let keys = cells.map(\.rowID)
    let before = Self.runLengths(keys)
    // If the keys are reversed and inverted, an ascending subsequence that begins at a cell becomes one that ends at
    // the cell.
    let after = Array(Self.runLengths(keys.reversed().map { ~$0 }).reversed())
    guard let most = before.max(), most < cells.count else { return }
    var level = [Int](repeating: 0, count: most + 1)
    for index in cells.indices where before[index] + after[index] == most + 1 {
      level[before[index]] += 1
    }
    for index in cells.indices
    where before[index] + after[index] != most + 1 || level[before[index]] > 1 {
      cells[index].hasRowID = false
    }
  }

  /// Returns, for each key, the length of the longest ascending subsequence that ends at this key, by patience sorting.
  private static func runLengths(_ keys: [Int64]) -> [Int] {
    var tails: [Int64] = []
    return keys.map { key in
      var low = 0
      var high = tails.count
      while low < high {
        let middle = (low + high) / 2
        if tails[middle] < key { low = middle + 1 } else { high = middle }
      }
      if low == tails.count { tails.append(key) } else { tails[low] = key }
      return low + 1
    }
  }

  // MARK: - By pointers

  /// Returns the maximum length, in bytes, of a record header that continues on overflow pages: five bytes for each
  /// field, plus nine. Most serial types take only one or two bytes, but the serial types in such a header are not
  /// checked. Returns 0 if `shape` is nil.
  static func longestHeader(_ shape: RowShape?) -> Int {
    shape.map { $0.fields.count * 5 + 9 } ?? 0
  }

  private mutating func readPointers(
    _ page: RawSpan, _ pointers: Int, _ count: Int, _ limit: Int, _ shape: RowShape?
  ) {
    let longestHeader = Self.longestHeader(shape)
    var index = 0
    while index < count {
      let start = Int(page.uint16(at: pointers &+ 2 &* index))
      index &+= 1
      guard start >= contentFloor, start &+ 4 <= limit else { continue }
      if let cell = LeafCell.parse(
        page, at: start, limit: limit, usableSize: usableSize, maxPayload: maxPayload,
        longestHeader: longestHeader, keepsTypes: false, &types)
      {
        cells.append(cell)
      }
    }
  }

  /// Returns the number of cells according to the cell pointers, without using the cell count in the page header. It is
  /// the smallest number of leading cell pointers whose cells, together with the freeblocks, exactly fill the page. Nil
  /// when no such number exists, or when the row ids do not ascend.
  private mutating func trueCount(
    _ page: RawSpan, _ base: Int, _ contentStart: Int, _ limit: Int
  ) -> Int? {
    var sum = contentStart + Int(page.byte(at: base + 7))
    for block in freeBlocks { sum += block.count }
    var offset = base + 8
    var last: Int64?
    while offset + 2 <= contentStart, sum < usableSize {
      let start = Int(page.uint16(at: offset))
      guard start >= contentStart, start + 4 <= limit,
        let cell = LeafCell.parse(
          page, at: start, limit: limit, usableSize: usableSize, maxPayload: maxPayload, &types),
        last.map({ $0 < cell.rowID }) ?? true
      else { return nil }
      last = cell.rowID
      sum += cell.length
      offset += 2
    }
    return sum == usableSize && last != nil ? (offset - base - 8) / 2 : nil
  }

  private var isAscending: Bool {
    var index = 1
    while index < cells.count {
      if cells[index].rowID <= cells[index &- 1].rowID { return false }
      index &+= 1
    }
    return true
  }

  /// Follows the chain of freeblocks, and appends them to ``freeBlocks``. Returns false when the chain is broken.
  private mutating func readFreeBlocks(_ page: RawSpan, _ first: Int, _ floor: Int) -> Bool {
    FreeblockChain.walk(
      page, first: first, floor: floor, usableSize: usableSize,
      { freeBlocks.append($0.offset..<$0.end) })
  }

  /// Whether cells, freeblocks, fragments and the bytes before the cell content area together have the size of the
  /// page.
  private func adds(up page: RawSpan, _ base: Int, _ floor: Int, _ contentStart: Int) -> Bool {
    guard contentStart >= floor, contentStart <= usableSize else { return cells.isEmpty }
    var sum = contentStart + Int(page.byte(at: base + 7))
    for cell in cells {
      guard cell.start >= contentStart else { return false }
      sum += cell.length
    }
    for block in freeBlocks { sum += block.count }
    return sum == usableSize
  }

  // MARK: - Common

  /// Whether a row with ``types`` is convincing: bytes hardly ever look like such a row by chance. The row must have
  /// more than two columns, and its values must take at least eight bytes.
  func isTelling(_ shape: RowShape) -> Bool {
    shape.fields.count > 2 && types.bodyLength >= 8
  }

  /// Whether the types and values of a cell fit the rows of a table. If `shape` is nil, any table is possible.
  /// Precondition: ``types`` contains the serial types of the cell.
  func isPlausible(_ cell: LeafCell, _ page: RawSpan, _ limit: Int, _ shape: RowShape?)
    -> Bool
  {
    let body = cell.record + cell.payload - types.bodyLength
    let end = min(cell.record + cell.local, limit)
    guard let shape else {
      return RowShape.unknown.fitsValues(types, page, body: body, end: end, encoding: encoding)
    }
    return shape.fits(types)
      && shape.fitsValues(types, page, body: body, end: end, encoding: encoding)
  }

  /// Returns the index of the first of ``cells`` that starts after a page offset. ``cells`` must be sorted by offset.
  private func place(behind offset: Int) -> Int {
    cells.firstPlace { $0.start > offset }
  }

  mutating func insert(_ cell: LeafCell) {
    cells.insert(cell, at: place(behind: cell.start))
  }

  func covers(_ range: Range<Int>) -> Bool {
    let next = place(behind: range.lowerBound)
    if next > 0, cells[next - 1].end > range.lowerBound { return true }
    return next < cells.count && cells[next].start < range.upperBound
  }

  /// Returns the maximum page offset at which a cell at `start` may end: the start of the next cell, or `limit` after
  /// the last cell. Nil when no room is left for the cell.
  func room(at start: Int, limit: Int) -> Int? {
    let next = place(behind: start)
    let end = next < cells.count ? cells[next].start : limit
    return end > start ? end : nil
  }

  /// If several cells have the same row id, marks the row ids of all these cells as not known, because only one of the
  /// cells can have this row id. The order is not checked: cells that were found by offset need not be in row id order.
  mutating func markUnordered() {
    var met: [Int64: Int] = [:]
    for index in cells.indices {
      if let other = met.updateValue(index, forKey: cells[index].rowID) {
        cells[index].hasRowID = false
        cells[other].hasRowID = false
      }
    }
  }

  /// Whether the space after a cell is as SQLite would leave it. Either a freeblock begins at the end of the cell, or
  /// at most three bytes lie between the cell and the next cell. After the last cell, `limit` takes the place of the
  /// next cell. `place`: the index of the cell in ``cells``, which must be sorted by offset.
  func isBordered(_ place: Int, limit: Int) -> Bool {
    let end = cells[place].end
    let next = place + 1 < cells.count ? cells[place + 1].start : limit
    // Fewer than four bytes are a fragment (file format, section 1.6).
    return next >= end && next - end < 4 || freeBlocks.contains { $0.lowerBound == end }
  }

  /// Returns the parts of the page between `floor` and `limit` that belong neither to ``cells`` nor to `others`. All
  /// ranges are page offsets. The parts are in ascending order.
  func gaps(from floor: Int, to limit: Int, without others: [Range<Int>]) -> [Range<Int>] {
    var taken = cells.map { $0.start..<$0.end } + others
    taken.sort { $0.lowerBound < $1.lowerBound }
    var gaps: [Range<Int>] = []
    var offset = floor
    for range in taken {
      if range.lowerBound > offset { gaps.append(offset..<min(range.lowerBound, limit)) }
      offset = max(offset, range.upperBound)
      if offset >= limit { break }
    }
    if offset < limit { gaps.append(offset..<limit) }
    return gaps
  }
}
