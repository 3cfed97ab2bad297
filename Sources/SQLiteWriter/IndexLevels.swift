/// The b-tree of an index, built from entries that come in order (file format, section 1.6).
///
/// Of each level the page before the last is held back: a page that would be left without an entry takes one from it.
struct IndexLevels {
  private struct Level {
    var current: IndexPage
    /// A page that is full, and the entry that stands above it, behind it.
    var held: IndexPage?
    var divider = ContiguousArray<UInt8>()
  }

  private var levels: [Level]
  private let pageSize: Int

  /// Writes a page; returns its number.
  typealias Write = (borrowing IndexPage) throws(SQLiteWriterError) -> UInt32

  init(pageSize: Int) {
    self.pageSize = pageSize
    levels = [Level(current: IndexPage(pageSize: pageSize, isLeaf: true))]
  }

  /// The longest record that stands whole in its cell, of which a page has room for four.
  static func mostRecordBytes(pageSize: Int) -> Int { (pageSize - 12) * 64 / 255 - 23 }

  /// Adds an entry behind all others.
  mutating func add(_ record: ContiguousArray<UInt8>, _ write: Write) throws(SQLiteWriterError) {
    if levels[0].current.fits(record.count) {
      levels[0].current.put(record, child: 0)
    } else {
      try close(0, record, write)
    }
  }

  /// Ends the index; returns the page that is its root.
  mutating func finish(_ write: Write) throws(SQLiteWriterError) -> IndexPage {
    var level = 0
    // The page that the level below ends with.
    var child: UInt32 = 0
    while true {
      levels[level].current.last = child
      if levels[level].current.count == 0, var held = levels[level].held {
        let (before, record) = held.pop()
        levels[level].current.put(levels[level].divider, child: held.last)
        held.last = before
        levels[level].held = held
        levels[level].divider = record
      }
      guard levels[level].held != nil else { return levels[level].current }
      try release(level, write)
      child = try write(levels[level].current)
      level += 1
    }
  }

  /// Ends a level's page; `divider` goes up.
  private mutating func close(
    _ level: Int, _ divider: ContiguousArray<UInt8>, _ write: Write
  ) throws(SQLiteWriterError) {
    if levels[level].held != nil { try release(level, write) }
    levels[level].held = levels[level].current
    levels[level].divider = divider
    levels[level].current.removeAll()
  }

  /// Writes the page that is held and puts it into the level above.
  private mutating func release(_ level: Int, _ write: Write) throws(SQLiteWriterError) {
    guard let held = levels[level].held else { return }
    let page = try write(held)
    levels[level].held = nil
    if levels.count == level + 1 {
      levels.append(Level(current: IndexPage(pageSize: pageSize, isLeaf: false)))
    }
    let divider = levels[level].divider
    if levels[level + 1].current.fits(divider.count) {
      levels[level + 1].current.put(divider, child: page)
    } else {
      levels[level + 1].current.last = page
      try close(level + 1, divider, write)
    }
  }
}

/// A page of an index (file format, section 1.6).
struct IndexPage {
  private var page: ContiguousArray<UInt8>
  private let isLeaf: Bool
  private(set) var count = 0
  private var start: Int
  /// The pages that its cells lead to.
  private(set) var children: [UInt32] = []
  /// The page behind its last cell.
  var last: UInt32 = 0
  private var lastRecord = 0

  private var header: Int { isLeaf ? 8 : 12 }

  init(pageSize: Int, isLeaf: Bool) {
    page = ContiguousArray(repeating: 0, count: pageSize)
    self.isLeaf = isLeaf
    start = pageSize
  }

  private func length(_ record: Int) -> Int {
    (isLeaf ? 0 : 4) + PageBytes.varintLength(UInt64(record)) + record
  }

  func fits(_ record: Int) -> Bool { header + 2 * (count + 1) + length(record) <= start }

  mutating func put(_ record: ContiguousArray<UInt8>, child: UInt32) {
    start -= length(record.count)
    var place = start
    if !isLeaf {
      page.set(UInt16(child >> 16), at: place)
      page.set(UInt16(truncatingIfNeeded: child), at: place + 2)
      place += 4
      children.append(child)
    }
    page.set(varint: UInt64(record.count), at: &place)
    page.replaceSubrange(place..<place + record.count, with: record)
    page.set(UInt16(start), at: header + 2 * count)
    count += 1
    lastRecord = record.count
  }

  /// Takes the last cell away again; only once between two that are put.
  mutating func pop() -> (child: UInt32, record: ContiguousArray<UInt8>) {
    let end = start + length(lastRecord)
    let record = ContiguousArray(page[end - lastRecord..<end])
    start = end
    count -= 1
    return (isLeaf ? 0 : children.removeLast(), record)
  }

  mutating func removeAll() {
    count = 0
    start = page.count
    children.removeAll(keepingCapacity: true)
    last = 0
  }

  /// The page as it stands in the file.
  var bytes: ContiguousArray<UInt8> {
    var bytes = page
    bytes[0] = isLeaf ? 0x0a : 0x02
    for index in 1..<header { bytes[index] = 0 }
    bytes.set(UInt16(count), at: 3)
    // 65,536 is written as 0.
    bytes.set(UInt16(truncatingIfNeeded: start), at: 5)
    if !isLeaf {
      bytes.set(UInt16(last >> 16), at: 8)
      bytes.set(UInt16(truncatingIfNeeded: last), at: 10)
    }
    for index in header + 2 * count..<start { bytes[index] = 0 }
    return bytes
  }

  /// All pages that it leads to.
  var allChildren: [UInt32] { isLeaf ? [] : children + [last] }
}
