package import SQLiteFile

/// The content of one page, damaged or not.
package struct PageDetail: Sendable, Hashable {
  /// A field of a page's header.
  package struct Field: Sendable, Hashable {
    /// What it is.
    package let name: String
    /// Bytes from the start of the page.
    package let offset: Int
    /// The value, as a number.
    package let value: UInt32
  }

  /// A cell, as far as it can be read.
  package struct Cell: Sendable, Hashable {
    /// The index in the cell pointer array.
    package let index: Int
    /// Bytes from the start of the page, as the pointer has it.
    package let offset: Int
    /// Bytes on the page; nil when the cell is out of place or runs past the end.
    package let length: Int?
    /// The row id; nil in an index.
    package let rowID: Int64?
    /// Bytes of the payload, on this page and others; nil on an interior page of a table.
    package let payloadLength: Int?
    /// The child page that the cell leads to; nil on a leaf.
    package let child: UInt32?
    /// The page where the payload continues; nil when all of it is on this page.
    package let overflowPage: UInt32?
  }

  /// A freeblock among the cells.
  package struct Freeblock: Sendable, Hashable {
    /// Bytes from the start of the page.
    package let offset: Int
    /// The size in bytes, as the block itself says.
    package let size: Int
    /// Whether it lies inside the page and after the one before it.
    package let isSound: Bool
  }

  /// What the page is for.
  package let entry: PageEntry
  /// The fields at the start of a b-tree page, a freelist trunk or an overflow page.
  package let fields: [Field]
  /// The cells in the order of their pointers; empty for pages that have none.
  package let cells: [Cell]
  /// The chain of freeblocks, as far as it can be followed.
  package let freeblocks: [Freeblock]
  /// The bytes; fewer than a page at the end of the file.
  package let bytes: [UInt8]
}

extension SQLiteDatabase {
  /// Reads the fields, cells and freeblocks of a page.
  ///
  /// - Parameters:
  ///   - number: the page, 1 and up.
  ///   - progress: called periodically with the number of pages checked so far, while searching for what leads to the
  ///     page.
  /// - Returns: the detail; nil when no file of the set has a page of that number.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  package func detail(ofPage number: UInt32, progress: ((Int) -> Void)? = nil)
    throws(SQLiteFileError) -> PageDetail?
  {
    var reader = anotherReader()
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

/// Reads the fields of a page, and accepts contradictions.
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
    while freeblocks.count < usableSize / 4, let block = chain.next(page) {
      freeblocks.append(
        .init(
          offset: block.offset, size: block.size,
          isSound: block.size >= 4 && block.end <= usableSize))
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
