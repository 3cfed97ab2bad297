import SQLiteFile

/// The table leaves of a file, with their offsets and row ids, and the keys of interior pages. A cell of an interior
/// page states a page number and the last row id of that page. So a leaf with this last row id shows at which offset
/// the page is.
struct ShiftWitnesses {
  /// A child page of an interior page, and the row ids that the child page may have.
  struct Link {
    let page: UInt32
    let rowIDs: ClosedRange<Int64>
    /// Whether the page is the rightmost child of its parent. No key states the last row id of such a page.
    let isLast: Bool
  }

  /// A complete table leaf at an offset in the file.
  struct Leaf {
    let offset: Int64
    let rowIDs: ClosedRange<Int64>
  }

  private(set) var links: [UInt32: Link] = [:]
  /// The leaves in file order.
  private(set) var leaves: [Leaf] = []
  /// The child pages to which the cells of interior pages lead, keyed by the row id in the cell. In a sound file, the
  /// highest row id on the child page is usually this row id.
  private var pages: [Int64: [UInt32]] = [:]
  /// The number of blocks whose first byte was read, as a measure of the work done.
  private(set) var blockCount = 0
  private let size: Int64

  /// The interval, in bytes, at which a sparse file is searched for its next hole. Blocks within shorter holes may be
  /// read.
  private static let minHole: Int64 = 1 << 20
  private static let maxLinks = 1 << 20
  /// The maximum number of child pages that are stored for one row id in the cells of interior pages. Several cells may
  /// have the same row id.
  private static let maxAlike = 16

  /// Searches the file for table leaves and interior pages. `starts`: the offsets at which the search starts. From each
  /// of these offsets on, the file is read in blocks of the page size.
  init(_ file: ByteFile, _ layout: FileLayout, starts: [Int64]) throws(SQLiteFileError) {
    size = Int64(layout.pageSize)
    var buffer = ContiguousArray<UInt8>(repeating: 0, count: layout.pageSize)
    for start in starts {
      var offset = start
      var nextLook = start
      while offset + size <= file.size {
        if offset >= nextLook {
          // A block in a hole of a sparse file is no table page.
          offset += (file.nextData(from: offset) - offset) / size * size
          nextLook = offset + Self.minHole
          continue
        }
        defer { offset += size }
        blockCount += 1
        // Most blocks that are not table pages can be ruled out by their first byte.
        guard try file.read(at: offset, into: &buffer, 0..<1) == 1,
          buffer[0] == BTreePage.Kind.leafTable.rawValue
            || buffer[0] == BTreePage.Kind.interiorTable.rawValue,
          try file.read(at: offset, into: &buffer, 0..<layout.pageSize) == layout.pageSize
        else { continue }
        take(buffer.rawSpan, at: offset, layout)
      }
    }
    leaves.sort { $0.offset < $1.offset }
  }

  private mutating func take(_ page: RawSpan, at offset: Int64, _ layout: FileLayout) {
    if page.byte(at: 0) == BTreePage.Kind.leafTable.rawValue {
      guard leaves.count < Self.maxLinks,
        let rowIDs = TornPages.rowIDs(ofWhole: page, layout)
      else { return }
      leaves.append(Leaf(offset: offset, rowIDs: rowIDs))
      return
    }
    guard links.count < Self.maxLinks,
      let interior = InteriorPage(page, number: 2, usableSize: layout.usableSize), interior.isSound
    else { return }
    var least = Int64.min
    for cell in interior.cells where cell.key >= least {
      links[cell.page] = Link(page: cell.page, rowIDs: least...cell.key, isLast: false)
      if pages[cell.key, default: []].count < Self.maxAlike {
        pages[cell.key, default: []].append(cell.page)
      }
      guard cell.key < .max else { return }
      least = cell.key + 1
    }
    links[interior.right] = Link(page: interior.right, rowIDs: least ... .max, isLast: true)
  }

  /// Returns the number of votes for each distance, in bytes, by which pages may have moved. An interior page states
  /// the last row id of a page. Each leaf with this last row id gives one vote to the distance between the page's usual
  /// offset and the leaf.
  func distances() -> [Int64: Int] {
    var votes: [Int64: Int] = [:]
    for leaf in leaves {
      for page in pages[leaf.rowIDs.upperBound] ?? [] where page >= 2 {
        votes[leaf.offset - Int64(page - 1) * size, default: 0] += 1
      }
    }
    return votes
  }

  /// Whether a key on an interior page confirms that a leaf has moved by `distance` bytes. The key that leads to the
  /// page at the leaf's old offset must equal the last row id of the leaf.
  func confirms(_ leaf: Leaf, at distance: Int64) -> Bool {
    guard let link = link(to: leaf.offset, distance) else { return false }
    return link.rowIDs.upperBound == leaf.rowIDs.upperBound
  }

  func allows(_ rowIDs: ClosedRange<Int64>, on page: UInt32) -> Bool {
    guard let link = links[page] else { return false }
    return link.rowIDs.contains(rowIDs.lowerBound) && link.rowIDs.contains(rowIDs.upperBound)
  }

  private func link(to offset: Int64, _ distance: Int64) -> Link? {
    let place = offset - distance
    guard place > 0, place % size == 0 else { return nil }
    return UInt32(exactly: place / size + 1).flatMap { links[$0] }
  }
}
