package import SQLiteFile

/// The parsed content of one page. A damaged page is parsed as far as possible.
package struct PageDetail: Sendable, Hashable {
  /// A number in the header of a b-tree page, a freelist trunk or an overflow page.
  package struct Field: Sendable, Hashable, Encodable {
    package let name: String
    /// The offset in bytes from the start of the page.
    package let offset: Int
    package let value: UInt32
  }

  /// A cell of a b-tree page; the parts that cannot be read are nil.
  package struct Cell: Sendable, Hashable, Encodable {
    /// The index in the cell pointer array, from 0.
    package let index: Int
    /// The offset that the cell pointer states, in bytes from the start of the page.
    package let offset: Int
    /// The number of bytes of the cell on this page; nil if the cell cannot be read or runs past the end of the page.
    package let length: Int?
    /// The row id of a row, or the key of a cell on an interior page of a table. Nil on index pages, and if the number
    /// cannot be read.
    package let rowID: Int64?
    /// The length of the payload in bytes, including the part on overflow pages. Nil on an interior page of a table,
    /// and if the length cannot be read.
    package let payloadLength: Int?
    /// The page number of the child page. Nil on a leaf, and if the cell starts less than four bytes before the end of
    /// the usable part of the page.
    package let child: UInt32?
    /// The page number of the first overflow page; nil if the whole payload is on this page, or if ``length`` is nil.
    package let overflowPage: UInt32?

    private enum CodingKeys: String, CodingKey {
      case index, offset, length, rowID = "rowid", payloadLength = "payloadBytes", child
      case overflowPage
    }
  }

  /// A freeblock in the page's chain of freeblocks (file format, section 1.6).
  package struct Freeblock: Sendable, Hashable, Encodable {
    /// The offset in bytes from the start of the page.
    package let offset: Int
    /// The size in bytes that the freeblock itself states; 0 if no freeblock can be at the offset that the chain leads
    /// to.
    package let size: Int
    /// Whether the freeblock lies inside the page and after the previous freeblock, and has at least four bytes.
    package let isSound: Bool

    private enum CodingKeys: String, CodingKey {
      case offset, size = "sizeBytes", isSound
    }
  }

  package let entry: PageEntry
  /// The fields at the start of the page; empty for pointer-map pages and the lock-byte page.
  package let fields: [Field]
  /// The cells in the order of their pointers; empty for pages without cells.
  package let cells: [Cell]
  /// The chain of freeblocks, as far as it can be followed.
  package let freeblocks: [Freeblock]
  /// The bytes of the page; fewer than the page size if the file ends inside the page.
  package let bytes: [UInt8]
}

extension SQLiteDatabase {
  /// Reads the fields, cells and freeblocks of a page.
  ///
  /// - Parameters:
  ///   - number: the page number, from 1 on.
  ///   - progress: called periodically with the number of pages checked so far. All b-trees are walked, to find the
  ///     page that leads to page `number`.
  /// - Returns: nil if no file of the store has a page with this number.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  package func detail(ofPage number: UInt32, progress: ((Int) -> Void)? = nil)
    throws(SQLiteFileError) -> PageDetail?
  {
    // If the file ends within a page, only the bytes in the file are shown, without zeros after them.
    var reader = anotherReader(fillsCutPage: false)
    guard number >= 1, number <= reader.pageLimit else { return nil }
    var bytes: [UInt8]?
    do {
      if let page = try reader.page(number) { bytes = page.array() }
    }
    let place = reader.location(of: number)
    let content: [UInt8]
    if let bytes {
      content = bytes
    } else if place.member == .main {
      content = try reader.main.bytes(at: place.offset, count: reader.pageSize)
    } else {
      content = []
    }
    guard !content.isEmpty else { return nil }
    let walked = try walkedMap(progress)
    let entry = try Self.entry(number, walked.map, walked.owners, &reader)
    let whole = ContiguousArray(
      content + [UInt8](repeating: 0, count: reader.pageSize - content.count))
    var parser = PageDetailParser(number: number, usableSize: reader.usableSize)
    parser.parse(whole.rawSpan, entry.kind)
    return PageDetail(
      entry: entry, fields: parser.fields, cells: parser.cells, freeblocks: parser.freeblocks,
      bytes: content)
  }
}

/// Parses a page even if the numbers on the page contradict each other.
private struct PageDetailParser {
  let number: UInt32
  let usableSize: Int
  var fields: [PageDetail.Field] = []
  var cells: [PageDetail.Cell] = []
  var freeblocks: [PageDetail.Freeblock] = []

  init(number: UInt32, usableSize: Int) {
    self.number = number
    self.usableSize = usableSize
  }

  mutating func parse(_ page: RawSpan, _ kind: PageKind) {
    let start = number == 1 ? DatabaseHeader.length : 0
    switch kind {
    case .overflow:
      add("next overflow page", 0, page.uint32(at: 0))
    case .freelistTrunk:
      add("next trunk", 0, page.uint32(at: 0))
      add("pages listed", 4, page.uint32(at: 4))
    case .pointerMap, .lockByte: break
    default: parseTree(page, start)
    }
  }

  private mutating func add(_ name: String, _ offset: Int, _ value: UInt32) {
    fields.append(.init(name: name, offset: offset, value: value))
  }

  private mutating func parseTree(_ page: RawSpan, _ start: Int) {
    let type = page.byte(at: start)
    add("type", start, UInt32(type))
    guard let kind = BTreePage.Kind(rawValue: type) else { return }
    add("first freeblock", start + 1, UInt32(page.uint16(at: start + 1)))
    add("cells", start + 3, UInt32(page.uint16(at: start + 3)))
    add("start of cells", start + 5, UInt32(page.uint16(at: start + 5)))
    add("fragmented bytes", start + 7, UInt32(page.byte(at: start + 7)))
    if !kind.isLeaf { add("rightmost child", start + 8, page.uint32(at: start + 8)) }
    parseFreeblocks(page, Int(page.uint16(at: start + 1)))
    let pointers = start + (kind.isLeaf ? 8 : 12)
    let count = min(Int(page.uint16(at: start + 3)), (usableSize - pointers) / 2)
    for index in 0..<max(0, count) {
      cells.append(cell(index, Int(page.uint16(at: pointers + 2 * index)), page, kind))
    }
  }

  private mutating func parseFreeblocks(_ page: RawSpan, _ first: Int) {
    var chain = FreeblockChain(first: first, usableSize: usableSize)
    var end = 0
    while freeblocks.count < usableSize / 4, let block = chain.next(page) {
      freeblocks.append(
        .init(
          offset: block.offset, size: block.size,
          isSound: block.offset >= end && block.size >= 4 && block.end <= usableSize))
      end = block.end
    }
    if freeblocks.count < usableSize / 4, chain.isBroken {
      freeblocks.append(.init(offset: chain.offset, size: 0, isSound: false))
    }
  }

  private func cell(_ index: Int, _ start: Int, _ page: RawSpan, _ kind: BTreePage.Kind)
    -> PageDetail.Cell
  {
    var child: UInt32?
    var rowID: Int64?
    var payloadLength: Int?
    func cell(_ length: Int?, _ overflow: UInt32? = nil) -> PageDetail.Cell {
      .init(
        index: index, offset: start, length: length, rowID: rowID, payloadLength: payloadLength,
        child: child, overflowPage: overflow)
    }
    guard start + 4 <= usableSize else { return cell(nil) }
    var offset = start
    if !kind.isLeaf {
      child = page.uint32(at: start)
      offset += 4
    }
    let hasPayload = kind != .interiorTable
    if hasPayload {
      guard let length = Varint.read(page, at: offset, end: usableSize),
        let total = Int(exactly: length.value)
      else { return cell(nil) }
      payloadLength = total
      offset += length.length
    }
    if kind.isTable {
      guard let key = Varint.read(page, at: offset, end: usableSize) else { return cell(nil) }
      rowID = Int64(bitPattern: key.value)
      offset += key.length
    }
    guard let total = payloadLength else { return cell(max(4, offset - start)) }
    guard total <= Int(Int32.max) else { return cell(nil) }
    let local = BTreePage.localLength(
      payload: total, usableSize: usableSize, isTableLeaf: kind == .leafTable)
    let end = offset + local + (local < total ? 4 : 0)
    guard end <= usableSize else { return cell(nil) }
    return cell(max(4, end - start), local < total ? page.uint32(at: offset + local) : nil)
  }
}
