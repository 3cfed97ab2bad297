import SQLiteFile

extension TornLeaf {
  /// An intact cell of a torn page, with the cell's position on the page (`place`) and in the file (`offset`).
  struct Cell: Equatable {
    let place: Range<Int>
    /// The offset of the cell in the file, in bytes.
    let offset: Int64
    let rowID: Int64
    let columnCount: Int

    var end: Int64 { offset + Int64(place.count) }
  }

  /// Creates a table leaf that contains only `cells`, each at its offset on the page. The rest of the page is free
  /// space. Returns nil if `cells` is empty, or if the cells overlap or do not fit on the page. `content` returns the
  /// bytes of a cell.
  init?(
    _ cells: [Cell], pageSize: Int, usableSize: Int,
    content: (Cell) throws(SQLiteFileError) -> ContiguousArray<UInt8>
  ) throws(SQLiteFileError) {
    let placed = cells.sorted { $0.place.lowerBound < $1.place.lowerBound }
    guard let first = placed.first else { return nil }
    let floor = 8 + 2 * cells.count
    guard first.place.lowerBound >= floor, usableSize <= 65_536 else { return nil }
    var page = ContiguousArray<UInt8>(repeating: 0, count: pageSize)
    func put(_ value: Int, at place: Int) {
      page[place] = UInt8(truncatingIfNeeded: value >> 8)
      page[place + 1] = UInt8(truncatingIfNeeded: value)
    }
    var last = first.place.lowerBound
    var fragments = 0
    // The offset on the page at which the offset of the next freeblock is written: first in the page header, then in
    // the previous freeblock.
    var link = 1
    for index in 0...placed.count {
      let next = index < placed.count ? placed[index].place.lowerBound : usableSize
      guard next >= last else { return nil }
      // Space that is too short for a freeblock is a fragment (file format, section 1.6).
      if next - last >= 4 {
        put(last, at: link)
        put(next - last, at: last + 2)
        link = last
      } else {
        fragments += next - last
      }
      guard index < placed.count else { break }
      let place = placed[index].place
      let bytes = try content(placed[index])
      guard place.upperBound <= usableSize, bytes.count == place.count else { return nil }
      page.replaceSubrange(place, with: bytes)
      last = place.upperBound
    }
    page[0] = BTreePage.Kind.leafTable.rawValue
    put(cells.count, at: 3)
    put(first.place.lowerBound, at: 5)
    page[7] = UInt8(min(fragments, 255))
    for (index, cell) in cells.sorted(by: { $0.rowID < $1.rowID }).enumerated() {
      put(cell.place.lowerBound, at: 8 + 2 * index)
    }
    self.init(bytes: page, offset: placed.map(\.offset).min() ?? 0)
  }
}
