import SQLiteFile

/// The cells of a table leaf that does not contradict itself, found by their lengths alone.
///
/// Most leaves do not contradict themselves. For such a leaf, only the position of each cell is stored, which is fast.
/// ``LeafReading`` would find the same cells. ``LeafReading`` reads all other leaves.
struct SoundLeaf {
  struct Cell: BitwiseCopyable {
    var rowID: Int64
    /// `record`: the page offset of the record.
    /// `end`: the page offset directly after the cell. The number of the first overflow page is part of the cell.
    var record: Int32
    var end: Int32
    var payload: Int32
  }

  let usableSize: Int
  let maxPayload: Int
  private(set) var cells: ContiguousArray<Cell> = []
  /// `contentFloor`: the page offset of the end of the cell pointer array.
  /// `contentStart`: the page offset of the start of the lowest cell.
  private(set) var contentFloor = 8
  private(set) var contentStart = 0
  private(set) var hasFreeBlocks = false
  /// Whether the payload of any cell continues on overflow pages.
  private(set) var spills = false
  /// The first overflow page of each cell that continues on overflow pages. Set only by ``measure(_:)``.
  private(set) var overflow: ContiguousArray<UInt32> = []
  private var types = RecordTypes()

  /// The number of bytes from the start of the lowest cell to the end of the usable part of the page.
  var contentSize: Int { usableSize - contentStart }

  init(usableSize: Int, maxPayload: Int) {
    self.usableSize = usableSize
    self.maxPayload = min(maxPayload, Int(Int32.max))
  }

  /// Reads a table leaf other than page 1. Returns true if cells and free space exactly fill the page, and if the row
  /// ids ascend. Serial types are not checked.
  @inline(__always)
  mutating func read(_ page: RawSpan) -> Bool {
    walk(page, measures: false)
  }

  /// Checks a leaf as ``read(_:)`` does, and also compares the serial types of each record with the length of the
  /// record. Does not change ``cells``. Returns true only if ``LeafReading`` would read the page by its cell pointers,
  /// with nothing in doubt.
  mutating func measure(_ page: RawSpan) -> Bool {
    overflow.removeAll(keepingCapacity: true)
    types.renewBudget(usableSize: usableSize)
    return walk(page, measures: true)
  }

  /// Reads a leaf other than page 1, so that the b-tree header is at offset 0. If `measures` is false, the cells are
  /// stored. If `measures` is true, serial types are checked instead. Returns false if the leaf contradicts itself.
  @inline(__always)
  private mutating func walk(_ page: RawSpan, measures: Bool) -> Bool {
    let usable = usableSize
    guard page.byteCount >= usable, page.byte(at: 0) == BTreePage.Kind.leafTable.rawValue else {
      return false
    }
    let count = Int(page.uint16(at: 3))
    let floor = 8 &+ 2 &* count
    guard count > 0, floor &+ 4 &* count <= usable else { return false }
    let least = BTreePage.contentStart(page, 0)
    guard least >= floor, least <= usable else { return false }
    if !measures { cells.removeAll(keepingCapacity: true) }
    contentFloor = floor
    spills = false
    // The cells, the freeblocks, the fragments and the part before the cells add up to the size of the page.
    var sum = least &+ Int(page.byte(at: 7))
    var first = usable
    var last: Int64 = 0
    var pointer = 8
    while pointer < floor {
      let start = Int(page.uint16(at: pointer))
      guard start >= least, start &+ 4 <= usable,
        let payload = Varint.read(page, at: start, end: usable), payload.value >= 2,
        payload.value <= UInt64(maxPayload)
      else { return false }
      var record = start &+ payload.length
      guard let key = Varint.read(page, at: record, end: usable) else { return false }
      record &+= key.length
      let rowID = Int64(bitPattern: key.value)
      let total = Int(payload.value)
      var length = total
      if total > usable &- 35 {
        let local = BTreePage.localLength(payload: total, usableSize: usable, isTableLeaf: true)
        length = local &+ 4
        guard record &+ length <= usable else { return false }
        spills = true
        if measures { overflow.append(page.uint32(at: record &+ local)) }
      }
      let end = record &+ length
      guard end <= usable, rowID > last || pointer == 8 else { return false }
      if measures {
        let limit = total > usable &- 35 ? end &- 4 : end
        guard let header = Varint.read(page, at: record, end: limit), header.value >= 2,
          header.value > UInt64(header.length), header.value <= UInt64(limit &- record),
          types.measure(page, record &+ header.length..<record &+ Int(header.value)),
          types.bodyLength &+ Int(header.value) == total
        else { return false }
      } else {
        cells.append(
          Cell(
            rowID: rowID, record: Int32(truncatingIfNeeded: record),
            end: Int32(truncatingIfNeeded: end), payload: Int32(truncatingIfNeeded: total)))
      }
      // SQLite pads a cell to at least four bytes.
      let taken = max(4, end &- start)
      guard start &+ taken <= usable else { return false }
      sum &+= taken
      first = min(first, start)
      last = rowID
      pointer &+= 2
    }
    contentStart = first
    let firstFree = Int(page.uint16(at: 1))
    hasFreeBlocks = firstFree != 0
    return FreeblockChain.walk(
      page, first: firstFree, floor: floor, usableSize: usable, { sum &+= $0.size })
      && sum == usable
  }

  /// Whether the page that was read last has no remains of deleted rows, because its only free space is the gap between
  /// cell pointers and cells, and all bytes of this gap are zeros.
  func hasNoDeletedRows(_ page: RawSpan) -> Bool {
    if hasFreeBlocks { return false }
    return LeafReading.usedGap(page, from: contentFloor, to: contentStart) == nil
  }
}
