/// Sums and other facts about the cells of a table leaf, collected while the cells are read.
struct LeafTally {
  var firstRowID: Int64 = 0
  var lastRowID: Int64 = 0
  /// Whether the row ids on the leaf are not in ascending order. SQLite may not find a row that is out of order.
  var isOutOfOrder = false
  /// Whether the first row on the leaf has values that SQLite never stores in the table. The leaf then probably belongs
  /// to another table.
  var isOthers = false
  /// Whether a disk sector of the page seems to have been overwritten with zeros. ``loss`` says whether values were
  /// lost.
  private(set) var mayHaveLostSector = false
  var loss = ZeroSectors.Loss.none
  private(set) var count = 0
  private var bytes = 0
  private var lowest = Int.max

  /// Sets ``mayHaveLostSector``: whether the cell content area of the page touches a sector of zeros.
  mutating func expectLostSectors(_ page: RawSpan, _ header: BTreePage) {
    let content = Int(page.uint16(at: header.pointers - (header.kind.isLeaf ? 3 : 7)))
    let floor = content < header.pointers ? header.pointers : min(content, header.usableSize)
    mayHaveLostSector = ZeroSectors.touch(floor..<header.usableSize, of: page)
  }

  @inline(__always)
  mutating func add(_ start: Int, _ end: Int) {
    count &+= 1
    // SQLite pads a cell to at least four bytes.
    bytes &+= max(4, end &- start)
    if start < lowest { lowest = start }
  }

  /// Whether cells, freeblocks, fragments and the part of the page before the cell content area add up to the size of
  /// the page (file format, section 1.6).
  func addsUp(_ page: RawSpan, _ header: BTreePage) -> Bool {
    let base = header.pointers - 8
    let floor = header.pointers + 2 * header.cellCount
    let content = BTreePage.contentStart(page, base)
    var sum = content + Int(page.byte(at: base + 7)) + bytes
    guard
      FreeblockChain.walk(
        page, first: Int(page.uint16(at: base + 1)), floor: floor, usableSize: header.usableSize,
        { sum += $0.size })
    else { return false }
    guard content >= floor, content <= header.usableSize else { return count == 0 }
    return sum == header.usableSize && lowest >= content
  }
}
