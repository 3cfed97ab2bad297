import SQLiteFile

/// An interior page of a table's b-tree (file format, section 1.6).
struct InteriorPage {
  /// The cells in the order of the cell pointers. `page` is the number of the cell's child page. `key` is the highest
  /// row id that may occur on this child page or below it.
  private(set) var cells: [(page: UInt32, key: Int64)] = []
  /// The right-most pointer in the page header: the page number of the right-most child. 0 if the page header is lost.
  let right: UInt32
  /// Whether the cell pointers, the cells and the free space exactly fill the page, and the keys are in ascending
  /// order.
  private(set) var isSound = false

  /// Reads an interior page by its page header and its cell pointers. Nil if the cell pointer array does not fit on the
  /// page.
  init?(_ page: RawSpan, number: UInt32, usableSize: Int) {
    let base = number == 1 ? DatabaseHeader.length : 0
    guard base + 12 <= usableSize else { return nil }
    let count = Int(page.uint16(at: base + 3))
    guard base + 12 + 2 * count <= usableSize else { return nil }
    right = page.uint32(at: base + 8)
    read(page, base, count, usableSize)
    guard !isSound else { return }
    let asStored = cells
    // If some number of cells exactly fills the page, that is the right cell count, even if the page header states
    // another count.
    if let wholeCount = Self.wholeCount(page, base, usableSize), wholeCount != count {
      read(page, base, wholeCount, usableSize)
    }
    if !isSound { cells = asStored }
  }

  /// Reads the cells of the first `count` cell pointers into ``cells``, except cells that are not valid. Sets
  /// ``isSound``.
  private mutating func read(_ page: RawSpan, _ base: Int, _ count: Int, _ usableSize: Int) {
    cells.removeAll()
    let floor = base + 12 + 2 * count
    let content = BTreePage.contentStart(page, base)
    var sum = content + Int(page.byte(at: base + 7))
    var agrees =
      content >= floor
      && FreeblockChain.walk(
        page, first: Int(page.uint16(at: base + 1)), floor: floor, usableSize: usableSize,
        { sum += $0.size })
    for index in 0..<count {
      let start = Int(page.uint16(at: base + 12 + 2 * index))
      // No page has the number 0. So in a cell with the child page number 0, both the page number and the key are lost.
      guard start >= floor, start + 5 <= usableSize, page.uint32(at: start) != 0,
        let key = Varint.read(page, at: start + 4, end: usableSize)
      else {
        agrees = false
        continue
      }
      let cell = (page: page.uint32(at: start), key: Int64(bitPattern: key.value))
      if let last = cells.last, cell.key <= last.key { agrees = false }
      cells.append(cell)
      sum += 4 + key.length
    }
    isSound = agrees && sum == usableSize
  }

  /// Returns the number of cells with which the page is exactly full: these cells and the free space together fill it.
  /// The cells are counted from the first cell pointer on. Nil if no number of cells fits.
  private static func wholeCount(_ page: RawSpan, _ base: Int, _ usableSize: Int) -> Int? {
    let content = BTreePage.contentStart(page, base)
    guard content <= usableSize else { return nil }
    var sum = content + Int(page.byte(at: base + 7))
    guard
      FreeblockChain.walk(
        page, first: Int(page.uint16(at: base + 1)), floor: base + 12, usableSize: usableSize,
        { sum += $0.size })
    else { return nil }
    var count = 0
    while sum < usableSize, base + 14 + 2 * count <= content {
      let start = Int(page.uint16(at: base + 12 + 2 * count))
      guard start >= content, start + 5 <= usableSize,
        let key = Varint.read(page, at: start + 4, end: usableSize)
      else { return nil }
      sum += 4 + key.length
      count += 1
    }
    return sum == usableSize && count > 0 ? count : nil
  }

  /// Reads the remains of an interior page whose first sectors, including the page header, are all zeros.
  ///
  /// The remains are the cells that follow each other without gaps up to the end of the page. ``cells`` contains them
  /// sorted by key. Nil if fewer than two such cells are found, or if two of them have the same child page.
  init?(torn page: RawSpan, usableSize: Int, pageCount: UInt32) {
    right = 0
    guard let first = (0..<usableSize).first(where: { page.byte(at: $0) != 0 }), first >= 512,
      first / 512 * 512 < usableSize - 4
    else { return nil }
    // For each page offset at which a cell can begin, `counts` has the number of cells from this offset to the end of
    // the page, and `starts` has the offset of the next cell.
    var counts: [Int: Int] = [usableSize: 0]
    var starts: [Int: Int] = [:]
    var best = usableSize
    for start in (first / 512 * 512..<usableSize - 4).reversed() {
      let child = page.uint32(at: start)
      guard child >= 2, child <= pageCount,
        let key = Varint.read(page, at: start + 4, end: usableSize),
        let count = counts[start + 4 + key.length]
      else { continue }
      counts[start] = count + 1
      starts[start] = start + 4 + key.length
      if count + 1 > counts[best] ?? 0 { best = start }
    }
    while let next = starts[best] {
      guard let key = Varint.read(page, at: best + 4, end: usableSize) else { return nil }
      cells.append((page.uint32(at: best), Int64(bitPattern: key.value)))
      best = next
    }
    guard cells.count > 1, Set(cells.map(\.page)).count == cells.count else { return nil }
    cells.sort { $0.key < $1.key }
  }
}
