/// A table leaf that is being filled with rows (file format, section 1.6).
struct FilledLeaf {
  /// The space that a row takes on a leaf.
  struct Cell {
    let rowID: Int64
    /// Bytes of the whole record.
    let payload: Int
    /// Bytes of the record in the cell itself.
    let local: Int
    let length: Int

    var isWhole: Bool { local == payload }

    @inline(__always)
    init(_ rowID: Int64, _ payload: Int, pageSize: Int) {
      self.rowID = rowID
      self.payload = payload
      local = Self.local(payload, pageSize)
      length =
        PageBytes.varintLength(UInt64(payload))
        + PageBytes.varintLength(UInt64(bitPattern: rowID)) + local + (local == payload ? 0 : 4)
    }

    @inline(__always)
    private static func local(_ payload: Int, _ pageSize: Int) -> Int {
      if payload <= pageSize - 35 { return payload }
      let least = (pageSize - 12) * 32 / 255 - 23
      let most = least + (payload - least) % (pageSize - 4)
      return most <= pageSize - 35 ? most : least
    }
  }

  /// The page. Its header and the zeros of its gap are only set by ``write(to:)``.
  private var page: ContiguousArray<UInt8>
  private var count = 0
  /// The start of the cell content area.
  private var start: Int
  private var first: Int64 = 0
  private var last: Int64 = 0
  /// Whether the row ids have come in ascending order.
  private var isOrdered = true
  /// First overflow pages of its cells.
  private(set) var heads: [UInt32] = []

  private static let header = 8

  init(pageSize: Int) {
    page = ContiguousArray(repeating: 0, count: pageSize)
    start = pageSize
  }

  var isEmpty: Bool { count == 0 }

  /// The lowest and the highest row id.
  var ids: ClosedRange<Int64> { first...max(first, last) }

  /// Whether a cell fits, and no row on another leaf can have a row id between it and the others; `isNext`: whether it
  /// is from the same page as the last one.
  @inline(__always)
  func takes(_ cell: Cell, isNext: Bool) -> Bool {
    count == 0
      || (isNext || cell.rowID > last && cell.rowID == last &+ 1)
        && Self.header + 2 * (count + 1) + cell.length <= start
  }

  /// Adds a row that fits; `from`: where its record begins in `bytes`; `head`: the first page of its overflow chain.
  @inline(__always)
  mutating func put(
    _ cell: Cell, _ bytes: borrowing ContiguousArray<UInt8>, from offset: Int, _ head: UInt32
  ) {
    start -= cell.length
    if count == 0 {
      first = cell.rowID
      last = cell.rowID
    } else if cell.rowID > last {
      last = cell.rowID
    } else {
      first = min(first, cell.rowID)
      isOrdered = false
    }
    var place = start
    page.set(varint: UInt64(cell.payload), at: &place)
    page.set(varint: UInt64(bitPattern: cell.rowID), at: &place)
    page.copy(bytes, offset..<offset + cell.local, to: place)
    if !cell.isWhole {
      heads.append(head)
      page.set(head, at: place + cell.local)
    }
    page.set(UInt16(start), at: Self.header + 2 * count)
    count += 1
  }

  /// Sorts the rows by row id; false when a row id occurs twice.
  mutating func sort() -> Bool {
    guard !isOrdered else { return true }
    isOrdered = true
    var cells: [(id: Int64, start: UInt16)] = []
    for index in 0..<count {
      let place = Self.header + 2 * index
      let start = UInt16(page[place]) << 8 | UInt16(page[place + 1])
      cells.append((rowID(at: Int(start)), start))
    }
    cells.sort { $0.id < $1.id }
    for (index, cell) in cells.enumerated() {
      page.set(cell.start, at: Self.header + 2 * index)
    }
    return zip(cells, cells.dropFirst()).allSatisfy { $0.id < $1.id }
  }

  /// The row id of the cell at an offset, after the length of its record.
  private func rowID(at start: Int) -> Int64 {
    var place = start
    _ = page.varint(at: &place)
    return Int64(bitPattern: page.varint(at: &place))
  }

  /// Appends the page to `out`.
  func write(to out: inout ContiguousArray<UInt8>) {
    let base = out.count
    out.append(contentsOf: page)
    out.setHeader(0x0d, of: Self.header, cellCount: count, cellStart: start, at: base)
  }

  mutating func removeAll() {
    count = 0
    isOrdered = true
    start = page.count
    heads.removeAll(keepingCapacity: true)
  }
}
