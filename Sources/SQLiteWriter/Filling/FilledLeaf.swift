/// A table leaf in memory to which rows are added (file format, section 1.6).
struct FilledLeaf {
  /// The size of the cell that stores a row on a leaf.
  struct Cell {
    let rowID: Int64
    /// The length of the whole record in bytes.
    let payload: Int
    /// The number of the record's bytes that are in the cell itself.
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

  /// The bytes of the page. The page header, and the zeros between the cell pointers and the cells, are only set in the
  /// copy that ``write(to:)`` makes.
  private var page: ContiguousArray<UInt8>
  private var count = 0
  /// The page offset at which the cell content area starts.
  private var start: Int
  private var first: Int64 = 0
  private var last: Int64 = 0
  private var isOrdered = true
  /// The numbers of the first overflow pages of the leaf's cells.
  private(set) var heads: [UInt32] = []

  private static let header = 8

  init(pageSize: Int) {
    page = ContiguousArray(repeating: 0, count: pageSize)
    start = pageSize
  }

  var isEmpty: Bool { count == 0 }

  var ids: ClosedRange<Int64> { first...max(first, last) }

  /// Whether a cell can be added to the leaf. An empty leaf takes any cell. Any other leaf takes a cell that fits into
  /// its free space and that continues its rows: the row id is the next one, or `isNext` is true.
  ///
  /// `isNext`: whether the cell's row belongs to the same stretch of rows as the row that was added last (see
  /// ``TableFiller``).
  @inline(__always)
  func takes(_ cell: Cell, isNext: Bool) -> Bool {
    count == 0
      || (isNext || cell.rowID > last && cell.rowID == last &+ 1)
        && Self.header + 2 * (count + 1) + cell.length <= start
  }

  /// Adds a row, for which there must be room.
  ///
  /// `offset`: the index in `bytes` at which the row's record begins.
  /// `head`: the number of the first page of the row's overflow chain; ignored when the whole record is in the cell.
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

  /// Sorts the cell pointers by row id. Returns false when a row id occurs twice.
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

  private func rowID(at start: Int) -> Int64 {
    var place = start
    _ = page.varint(at: &place)
    return Int64(bitPattern: page.varint(at: &place))
  }

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
