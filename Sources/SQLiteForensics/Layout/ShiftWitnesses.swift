import SQLiteFile

/// What pages testify about where pages are: each leaf has a last row id, and interior pages say which page has which.
struct ShiftWitnesses {
  /// A page that an interior page leads to, and the row ids that it can have.
  struct Link {
    let page: UInt32
    let rowIDs: ClosedRange<Int64>
    /// Whether the page was the last one when it was written about, so that its last row id is not known.
    let isLast: Bool
  }

  /// A whole leaf of a table.
  struct Leaf {
    let offset: Int64
    let rowIDs: ClosedRange<Int64>
  }

  private(set) var links: [UInt32: Link] = [:]
  /// The leaves in the order in which they stand in the file.
  private(set) var leaves: [Leaf] = []
  /// Pages by the row id that is to be their last.
  private var pages: [Int64: [UInt32]] = [:]
  private let size: Int64

  private static let mostLinks = 1 << 20
  /// Tables whose row ids end alike.
  private static let mostAlike = 16

  /// `starts`: the places of pages within pages that come into question, each less than a page.
  init(_ file: ByteFile, _ layout: FileLayout, starts: [Int64]) throws(SQLiteFileError) {
    size = Int64(layout.pageSize)
    var buffer = ContiguousArray<UInt8>(repeating: 0, count: layout.pageSize)
    for start in starts {
      var offset = start
      while offset + size <= file.size {
        defer { offset += size }
        // Most of what is no page of a table shows it in its first byte.
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
      guard leaves.count < Self.mostLinks,
        let rowIDs = TornPages.rowIDs(ofWhole: page, layout)
      else { return }
      leaves.append(Leaf(offset: offset, rowIDs: rowIDs))
      return
    }
    guard links.count < Self.mostLinks,
      let interior = InteriorPage(page, number: 2, usableSize: layout.usableSize), interior.isSound
    else { return }
    var least = Int64.min
    for cell in interior.cells where cell.key >= least {
      links[cell.page] = Link(page: cell.page, rowIDs: least...cell.key, isLast: false)
      if pages[cell.key, default: []].count < Self.mostAlike {
        pages[cell.key, default: []].append(cell.page)
      }
      guard cell.key < .max else { return }
      least = cell.key + 1
    }
    links[interior.right] = Link(page: interior.right, rowIDs: least ... .max, isLast: true)
  }

  /// How far from their old places leaves stand that have the last row id of a page, and how often that is so.
  func distances() -> [Int64: Int] {
    var votes: [Int64: Int] = [:]
    for leaf in leaves {
      for page in pages[leaf.rowIDs.upperBound] ?? [] where page >= 2 {
        votes[leaf.offset - Int64(page - 1) * size, default: 0] += 1
      }
    }
    return votes
  }

  /// Whether a leaf is the page that some page leads to, if it stands so far from its old place.
  func confirms(_ leaf: Leaf, at distance: Int64) -> Bool {
    guard let link = link(to: leaf.offset, distance) else { return false }
    return link.rowIDs.upperBound == leaf.rowIDs.upperBound
  }

  /// Whether a leaf can be that page.
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
