/// Builds the interior pages of a table's b-tree, or all pages of an index, from cells that are added in key order
/// (file format, section 1.6).
///
/// Each level keeps its last full page in memory. If the page after this full page gets no cell, a cell of the full
/// page is moved to that page.
struct TreeLevels {
  private struct Level {
    var current: TreePage
    /// The last full page, which is not written yet. `divider`: the content of the cell that will point to this page on
    /// the level above.
    private(set) var held: TreePage
    var isHolding = false
    var divider = ContiguousArray<UInt8>()

    init(pageSize: Int, _ kind: TreePage.Kind) {
      current = TreePage(pageSize: pageSize, kind)
      held = TreePage(pageSize: pageSize, kind)
    }

    /// Moves the current page, which is full, to ``held``, and starts an empty page. `content`: the range of `bytes`
    /// with the cell that will point to the full page on the level above.
    mutating func turn(_ bytes: borrowing ContiguousArray<UInt8>, _ content: Range<Int>) {
      swap(&current, &held)
      current.removeAll()
      isHolding = true
      divider.removeAll(keepingCapacity: true)
      divider.append(contentsOf: bytes[content])
    }

    /// Adds a cell to the current page, which is empty, by moving one child from the held page. The cell has the
    /// content of ``divider`` and the last child of the held page. The content of the last cell of the held page
    /// becomes the new ``divider``.
    mutating func fill() {
      let (before, content) = held.pop()
      current.put(divider, 0..<divider.count, child: held.last)
      held.last = before
      divider = content
    }
  }

  private var levels: [Level]
  private let pageSize: Int
  private let interior: TreePage.Kind

  /// A closure that writes a page and returns the page's number.
  typealias Write = (borrowing TreePage) throws(SQLiteWriterError) -> UInt32

  /// Creates a b-tree without cells. `lowest`: the kind of the pages to which cells are added.
  init(pageSize: Int, lowest: TreePage.Kind) {
    self.pageSize = pageSize
    interior = lowest == .indexLeaf ? .indexInterior : lowest
    levels = [Level(pageSize: pageSize, lowest)]
  }

  /// Returns the maximum length of an index record that needs no overflow page, in bytes. A page has room for four
  /// records of this length.
  static func maxRecordBytes(pageSize: Int) -> Int { (pageSize - 12) * 64 / 255 - 23 }

  /// Adds a cell after all cells that were added before.
  ///
  /// `content`: the range of `bytes` that contains the cell without its child pointer.
  /// `child`: the child page of the cell; 0 on a leaf.
  @inline(__always)
  mutating func add(
    _ bytes: borrowing ContiguousArray<UInt8>, _ content: Range<Int>, child: UInt32 = 0,
    _ write: Write
  ) throws(SQLiteWriterError) {
    if levels[0].current.fits(content.count) {
      levels[0].current.put(bytes, content, child: child)
    } else {
      try end(0, before: bytes, content, child: child, write)
    }
  }

  /// Writes all pages except the root page, and returns the root page. `child`: the right-most child, which comes after
  /// the last cell; 0 on a leaf.
  mutating func finish(child: UInt32 = 0, _ write: Write) throws(SQLiteWriterError) -> TreePage {
    var level = 0
    var child = child
    while true {
      levels[level].current.last = child
      if levels[level].current.count == 0, levels[level].isHolding { levels[level].fill() }
      guard levels[level].isHolding else { return levels[level].current }
      try release(level, write)
      child = try write(levels[level].current)
      level += 1
    }
  }

  /// Ends the current page of a level, because the next cell does not fit on it. That cell becomes the divider on the
  /// level above.
  private mutating func end(
    _ level: Int, before bytes: borrowing ContiguousArray<UInt8>, _ content: Range<Int>,
    child: UInt32, _ write: Write
  ) throws(SQLiteWriterError) {
    levels[level].current.last = child
    try release(level, write)
    levels[level].turn(bytes, content)
  }

  /// Writes the full page that a level holds back, and adds a cell that points to this page to the level above. Does
  /// nothing if the level holds no page back.
  private mutating func release(_ level: Int, _ write: Write) throws(SQLiteWriterError) {
    guard levels[level].isHolding else { return }
    levels[level].isHolding = false
    let page = try write(levels[level].held)
    if levels.count == level + 1 {
      levels.append(Level(pageSize: pageSize, interior))
    }
    let divider = levels[level].divider
    if levels[level + 1].current.fits(divider.count) {
      levels[level + 1].current.put(divider, 0..<divider.count, child: page)
    } else {
      try end(level + 1, before: divider, 0..<divider.count, child: page, write)
    }
  }
}

/// A b-tree page in memory, other than a table leaf, to which cells are added (file format, section 1.6).
struct TreePage {
  /// The page type. The raw value is the first byte of the page.
  enum Kind: UInt8 {
    case indexInterior = 0x02
    case tableInterior = 0x05
    case indexLeaf = 0x0a
  }

  private var page: ContiguousArray<UInt8>
  private let kind: Kind
  private(set) var count = 0
  private var start: Int
  /// The child pages of the cells, in order. The right-most child is not included.
  private var children: [UInt32] = []
  /// The page number of the right-most child, which comes after the last cell; 0 on a leaf.
  var last: UInt32 = 0
  private var lastContent = 0

  private var isLeaf: Bool { kind == .indexLeaf }
  private var header: Int { isLeaf ? 8 : 12 }
  private var childBytes: Int { isLeaf ? 0 : 4 }

  init(pageSize: Int, _ kind: Kind) {
    page = ContiguousArray(repeating: 0, count: pageSize)
    self.kind = kind
    start = pageSize
  }

  /// Whether a cell fits on the page. `content`: the length of the cell in bytes, without its child pointer.
  @inline(__always)
  func fits(_ content: Int) -> Bool { header + 2 * (count + 1) + childBytes + content <= start }

  /// Adds a cell. On an interior page, the cell begins with the child pointer. The rest of the cell is the range
  /// `content` of `bytes`.
  @inline(__always)
  mutating func put(
    _ bytes: borrowing ContiguousArray<UInt8>, _ content: Range<Int>, child: UInt32
  ) {
    start -= childBytes + content.count
    if !isLeaf {
      page.set(child, at: start)
      children.append(child)
    }
    page.copy(bytes, content, to: start + childBytes)
    page.set(UInt16(start), at: header + 2 * count)
    count += 1
    lastContent = content.count
  }

  /// Removes the last cell. Returns its child pointer (0 on a leaf) and its content. May be called only once after each
  /// call of `put`.
  mutating func pop() -> (child: UInt32, content: ContiguousArray<UInt8>) {
    let place = start + childBytes
    let content = ContiguousArray(page[place..<place + lastContent])
    start = place + lastContent
    count -= 1
    return (isLeaf ? 0 : children.removeLast(), content)
  }

  mutating func removeAll() {
    count = 0
    start = page.count
    children.removeAll(keepingCapacity: true)
    last = 0
  }

  func write(to out: inout ContiguousArray<UInt8>) {
    let base = out.count
    out.append(contentsOf: page)
    out.setHeader(kind.rawValue, of: header, cellCount: count, cellStart: start, at: base)
    if !isLeaf { out.set(last, at: base + 8) }
  }

  var allChildren: [UInt32] { isLeaf ? [] : children + [last] }
}
