import SQLiteFile

/// Decides which pages near lost or inserted bytes are complete, and which cells remain of the torn pages.
///
/// A torn page is a page within which bytes were lost or inserted. Its first part is at the old offset of the page, its
/// last part at the new offset. Nothing marks the end of the first part, so cells are read from both ends of the page
/// towards the middle, as long as they are valid. Bytes that belong to cells from both ends are not trusted. The last
/// cell of the first part may have lost its end; the lengths in the cell do not show this.
struct TornPages {
  private let file: ByteFile
  private let layout: FileLayout
  private let witnesses: ShiftWitnesses
  private let distance: Int64
  private let size: Int64

  init(
    _ file: ByteFile, _ layout: FileLayout, _ witnesses: ShiftWitnesses, _ distance: Int64
  ) {
    self.file = file
    self.layout = layout
    self.witnesses = witnesses
    self.distance = distance
    size = Int64(layout.pageSize)
  }

  // MARK: - Which pages are whole

  /// How much of the expected page is at an offset of the file: nothing, the start, or the whole page.
  private enum Standing {
    case none
    /// The first bytes of the page are there. Whether the rest of the page follows is unknown.
    case head
    case whole
  }

  /// Searches between two pages for the place at which bytes were lost or inserted, so that all later pages have moved.
  /// The returned shift also contains the cells that remain of the pages that were torn at this place.
  ///
  /// `lastKnown`: the last page known to be at its old offset.
  /// `firstKnown`: the first page known to be at its new offset.
  func shift(between lastKnown: UInt32, and firstKnown: UInt32) throws(SQLiteFileError)
    -> PageShift
  {
    var last = (page: lastKnown, standing: Standing.whole)
    var first = firstKnown
    for page in lastKnown + 1..<max(lastKnown + 1, firstKnown) {
      let found = try standing(of: page, 0)
      if found != .none { last = (page, found) }
    }
    var page = firstKnown - 1
    while page > last.page {
      if try standing(of: page, distance) != .none { first = page }
      page -= 1
    }
    if start(of: first, distance) <= start(of: last.page, 0) {
      // The two pages overlap in the file, so one of them was recognised by mistake. The known pages are used instead.
      last = (lastKnown, .whole)
      first = firstKnown
    }
    return try tear(behind: last.page, last.standing, before: first)
  }

  private func start(of page: UInt32, _ distance: Int64) -> Int64 {
    Int64(page - 1) * size + distance
  }

  private func standing(of page: UInt32, _ distance: Int64) throws(SQLiteFileError) -> Standing {
    let bytes = try self.bytes(of: page, distance)
    guard bytes.count == layout.pageSize else { return .none }
    guard let kind = BTreePage.Kind(rawValue: bytes[0]) else {
      // An overflow chain usually continues on the next page.
      return bytes.rawSpan.uint32(at: 0) == page + 1 ? .head : .none
    }
    guard LayoutVote.contentEnd(bytes.rawSpan, 0, reserved: layout.reservedBytes) != nil else {
      return .none
    }
    let rowIDs = Self.rowIDs(ofWhole: bytes.rawSpan, layout)
    if kind == .leafTable, rowIDs == nil { return .none }
    // If the distance is no multiple of the page size, no offset is both the old offset of one page and the new offset
    // of another, so a complete page suffices. Otherwise the row ids must be those that an interior page allows on this
    // page.
    if self.distance % size != 0 { return .whole }
    guard let rowIDs else { return .none }
    return witnesses.allows(rowIDs, on: page) ? .whole : .none
  }

  private func bytes(of page: UInt32, _ distance: Int64) throws(SQLiteFileError)
    -> ContiguousArray<UInt8>
  {
    let offset = start(of: page, distance)
    guard page >= 1, offset >= 0 else { return [] }
    return ContiguousArray(try file.bytes(at: offset, count: layout.pageSize))
  }

  /// Returns the range of row ids of a complete table leaf: all its cells are complete records with ascending row ids.
  /// Returns nil for any other page.
  static func rowIDs(ofWhole page: RawSpan, _ layout: FileLayout) -> ClosedRange<Int64>? {
    guard page.byte(at: 0) == BTreePage.Kind.leafTable.rawValue,
      LayoutVote.contentEnd(page, 0, reserved: layout.reservedBytes) != nil
    else { return nil }
    var types = RecordTypes()
    types.renewBudget(usableSize: layout.usableSize)
    var first: Int64?
    var last = Int64.min
    for index in 0..<Int(page.uint16(at: 3)) {
      guard
        let cell = LeafCell.parse(
          page, at: Int(page.uint16(at: 8 + 2 * index)), limit: layout.usableSize,
          usableSize: layout.usableSize, maxPayload: 1 << 31, longestHeader: .max,
          keepsTypes: false, &types), first == nil || cell.rowID > last
      else { return nil }
      first = first ?? cell.rowID
      last = cell.rowID
    }
    return first.map { $0...last }
  }

  // MARK: - What is left of the torn pages

  private func tear(behind last: UInt32, _ standing: Standing, before first: UInt32)
    throws(SQLiteFileError) -> PageShift
  {
    let lastEnd = start(of: last, 0) + size
    // If `end` is before `lastEnd`, the last page at its old offset has lost its end.
    let end = start(of: first, distance)
    var torn: [UInt32: TornLeaf] = [:]
    var doubtful = last + 1..<max(last + 1, first)
    var head = last + 1
    var old = TornRun()
    if end > lastEnd, head < first { old = try run(of: head, before: end) }
    if !old.knowsPointers {
      // The first part of the next page cannot be read, so the last page at its old offset may itself have lost its
      // end.
      head = last
      old = try run(of: last, before: min(end, lastEnd))
      doubtful = last..<doubtful.upperBound
    }
    // The remains of the page before the first complete page at its new offset.
    let tail = max(first - 1, head)
    let begin = old.cells.first?.offset ?? min(lastEnd, end)
    var new = try run(upTo: tail, behind: begin, pointers: tail == head ? old.pointers : [])
    // Bytes that belong to cells from both ends are not trusted.
    let (oldEnd, newStart) = (old.cells.last?.end ?? 0, new.cells.first?.offset ?? .max)
    let isContested = newStart < oldEnd
    if isContested {
      old.cells.removeAll { $0.end > newStart }
      new.cells.removeAll { $0.offset < oldEnd }
    }
    if !old.isEndKnown || isContested, !old.cells.isEmpty { old.cells.removeLast() }
    // A cell directly after the last old cell may consist of the beginning of one cell and the end of another cell.
    if isContested || newStart == oldEnd, !new.cells.isEmpty { new.cells.removeFirst() }
    if tail == head {
      // A row id occurs only once on a page.
      let ids = Set(old.cells.map(\.rowID))
      if new.cells.contains(where: { ids.contains($0.rowID) }) { new.cells = [] }
      torn[head] = try leaf(old.cells + new.cells)
    } else {
      torn[head] = try leaf(old.cells)
      torn[tail] = try leaf(new.cells)
    }
    if head == last, last < 2 || standing == .whole && !old.knowsPointers {
      // Page 1 and interior pages are checked by comparing them with the pages that they lead to.
      doubtful = last + 1..<doubtful.upperBound
      torn[head] = nil
    }
    let place = max(old.cells.last?.end ?? 0, start(of: head, 0))
    return PageShift(distance: distance, place: place, doubtful: doubtful, torn: torn)
  }

  private func leaf(_ cells: [TornLeaf.Cell]) throws(SQLiteFileError) -> TornLeaf? {
    try TornLeaf(cells, pageSize: layout.pageSize, usableSize: layout.usableSize) {
      cell throws(SQLiteFileError) in
      ContiguousArray(try file.bytes(at: cell.offset, count: cell.place.count))
    }
  }

  /// The valid cells of one part of a torn page, in file order. The first part of the page is at the page's old offset,
  /// and the last part at its new offset.
  private struct TornRun {
    var cells: [TornLeaf.Cell] = []
    /// The cell pointers in the order of row ids.
    var pointers: [Int] = []
    /// Whether another cell follows the last of ``cells``. If so, the last cell is complete.
    var isEndKnown = false

    var knowsPointers: Bool { !pointers.isEmpty }
  }

  /// Reads the cells at the start of a torn page, where bytes were lost or inserted within the page. The first part of
  /// the page is still at the page's usual offset. Reading ends at the first invalid cell, or at the file offset `end`.
  private func run(of page: UInt32, before end: Int64) throws(SQLiteFileError) -> TornRun {
    var run = TornRun()
    let bytes = try self.bytes(of: page, 0)
    guard page > 1, bytes.count == layout.pageSize else { return run }
    let limit = Int(min(Int64(layout.usableSize), end - start(of: page, 0)))
    let span = bytes.rawSpan
    guard let pointers = pointers(span, limit), distance % size != 0 || witnesses.links[page] != nil
    else { return run }
    run.pointers = pointers
    var types = RecordTypes()
    types.renewBudget(usableSize: layout.usableSize)
    for (index, start) in pointers.enumerated().sorted(by: { $0.element < $1.element }) {
      guard let cell = cell(span, at: start, limit, &types),
        isInOrder(cell.rowID, at: index, run.cells, pointers, page),
        run.cells.last.map({ $0.place.upperBound <= start }) ?? true
      else {
        run.isEndKnown = isHead(span, at: start, limit, index, run.cells, pointers, page)
        return run
      }
      run.cells.append(
        TornLeaf.Cell(
          place: start..<cell.end, offset: self.start(of: page, 0) + Int64(start),
          rowID: cell.rowID, columnCount: types.types.count))
    }
    return run
  }

  /// Reads the cells in the last part of a torn page, which the loss or insertion of bytes has moved to another offset
  /// in the file. Starts at the last cell of the page, and goes backwards to the first invalid cell.
  ///
  /// `begin`: the lowest offset in the file at which these cells may begin.
  /// `pointers`: the offsets of the cells on the page; empty if they are lost.
  private func run(upTo page: UInt32, behind begin: Int64, pointers: [Int])
    throws(SQLiteFileError) -> TornRun
  {
    var run = TornRun()
    guard page > 1 else { return run }
    let bytes = try self.bytes(of: page, distance)
    guard bytes.count == layout.pageSize,
      distance % size != 0 || witnesses.links[page] != nil
    else { return run }
    let span = bytes.rawSpan
    let floor = Int(max(8, min(size, begin - start(of: page, distance))))
    run.pointers = pointers
    var types = RecordTypes()
    types.renewBudget(usableSize: layout.usableSize)
    if pointers.isEmpty {
      run.cells = cellsInARow(span, floor, page, &types)
      return run
    }
    var end = layout.usableSize
    for (index, start) in pointers.enumerated().sorted(by: { $0.element > $1.element }) {
      guard start >= floor, let cell = cell(span, at: start, end, &types),
        isInOrder(cell.rowID, at: index, run.cells, pointers, page)
      else { return run }
      end = start
      run.cells.insert(
        TornLeaf.Cell(
          place: start..<cell.end, offset: self.start(of: page, distance) + Int64(start),
          rowID: cell.rowID, columnCount: types.types.count), at: 0)
    }
    return run
  }

  /// Reads a page whose header is lost. Returns the longest sequence of adjoining cells that ends at the end of the
  /// page.
  private func cellsInARow(
    _ page: RawSpan, _ floor: Int, _ number: UInt32, _ types: inout RecordTypes
  ) -> [TornLeaf.Cell] {
    // For each offset, the number of adjoining cells from there to the end of the page.
    var counts: [Int: Int] = [layout.usableSize: 0]
    var best = layout.usableSize
    for start in stride(from: layout.usableSize - 4, through: floor, by: -1) {
      guard let cell = cell(page, at: start, layout.usableSize, &types), cell.isMeasured,
        let behind = counts[cell.end], isAllowed(cell.rowID, on: number)
      else { continue }
      counts[start] = behind + 1
      if behind + 1 > counts[best, default: 0] { best = start }
    }
    var cells: [TornLeaf.Cell] = []
    while best < layout.usableSize, let cell = cell(page, at: best, layout.usableSize, &types) {
      cells.append(
        TornLeaf.Cell(
          place: best..<cell.end, offset: start(of: number, distance) + Int64(best),
          rowID: cell.rowID, columnCount: types.types.count))
      best = cell.end
    }
    // The end of a cell that was cut may itself look like a cell.
    if let last = cells.last, cells[0].columnCount != last.columnCount { cells.removeFirst() }
    guard cells.count > 1, Set(cells.map(\.rowID)).count == cells.count else { return [] }
    return cells
  }

  /// Returns the cell pointers of the page; nil if they are not valid. The cell pointer array must end at or before the
  /// offset `limit`.
  private func pointers(_ page: RawSpan, _ limit: Int) -> [Int]? {
    guard limit > 12, page.byte(at: 0) == BTreePage.Kind.leafTable.rawValue else { return nil }
    let count = Int(page.uint16(at: 3))
    let floor = 8 + 2 * count
    let content = Int(page.uint16(at: 5))
    guard count > 0, floor + 4 * count <= layout.usableSize, floor <= limit,
      content >= floor || content == 0, content < layout.usableSize
    else { return nil }
    let starts = (0..<count).map { Int(page.uint16(at: 8 + 2 * $0)) }
    guard starts.allSatisfy({ $0 >= max(floor, content) && $0 + 4 <= layout.usableSize }),
      Set(starts).count == count
    else { return nil }
    return starts
  }

  /// Returns the cell at `start`; nil if no complete cell with valid text begins there.
  private func cell(_ page: RawSpan, at start: Int, _ limit: Int, _ types: inout RecordTypes)
    -> LeafCell?
  {
    guard start + 4 <= limit,
      let cell = LeafCell.parse(
        page, at: start, limit: limit, usableSize: layout.usableSize, maxPayload: 1 << 31, &types)
    else { return nil }
    let body = cell.record + cell.payload - types.bodyLength
    return RowShape.unknown.fitsValues(
      types, page, body: body, end: cell.record + cell.local, encoding: layout.textEncoding)
      ? cell : nil
  }

  private func isAllowed(_ rowID: Int64, on page: UInt32) -> Bool {
    witnesses.links[page]?.rowIDs.contains(rowID) ?? true
  }

  /// Whether `rowID` is possible for a cell of the page, given the intact cells in `cells`. Row ids must ascend in the
  /// order of the cell pointers, and the interior page above must allow the row id on the page. `index` is the number
  /// of the cell's pointer.
  private func isInOrder(
    _ rowID: Int64, at index: Int, _ cells: [TornLeaf.Cell], _ pointers: [Int], _ page: UInt32
  ) -> Bool {
    guard isAllowed(rowID, on: page) else { return false }
    let places = Dictionary(
      pointers.enumerated().map { ($0.element, $0.offset) }, uniquingKeysWith: { one, _ in one })
    return cells.allSatisfy { cell in
      guard let other = places[cell.place.lowerBound] else { return false }
      return index < other ? rowID < cell.rowID : rowID > cell.rowID
    }
  }

  /// Whether a cell seems to begin at `start`: a plausible payload length and row id are there, although the whole cell
  /// is not valid. If so, the cell before `start` is complete.
  private func isHead(
    _ page: RawSpan, at start: Int, _ limit: Int, _ index: Int, _ cells: [TornLeaf.Cell],
    _ pointers: [Int], _ number: UInt32
  ) -> Bool {
    guard start + 4 <= limit, let payload = Varint.read(page, at: start, end: limit),
      payload.value >= 2, payload.value < 1 << 31,
      let key = Varint.read(page, at: start + payload.length, end: limit),
      isInOrder(Int64(bitPattern: key.value), at: index, cells, pointers, number)
    else { return false }
    // Row ids of neighbouring cells are close to each other.
    let nearest = cells.map { Int64(bitPattern: key.value).subtractingReportingOverflow($0.rowID) }
      .filter { !$0.overflow }.map { $0.partialValue.magnitude }.min()
    return nearest.map { $0 <= UInt64(4 * pointers.count) } ?? false
  }
}
