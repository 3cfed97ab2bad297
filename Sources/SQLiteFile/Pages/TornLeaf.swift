/// A table leaf that lost a part, rebuilt from the cells that are certainly intact. The cells keep their offsets, and
/// everything else is free space, so that a fragment of a row, or a mix of two pages, is never taken for a value.
package struct TornLeaf: Sendable, Equatable {
  /// A cell as it is in the file.
  package struct Cell: Equatable {
    /// Its byte range on its page.
    package let place: Range<Int>
    /// Its offset in the file.
    package let offset: Int64
    package let rowID: Int64
    package let columnCount: Int

    package init(place: Range<Int>, offset: Int64, rowID: Int64, columnCount: Int) {
      self.place = place
      self.offset = offset
      self.rowID = rowID
      self.columnCount = columnCount
    }

    package var end: Int64 { offset + Int64(place.count) }
  }

  package let bytes: ContiguousArray<UInt8>
  /// Offset of its first cell in the file.
  package let offset: Int64

  /// Nil when there are no cells, or when they do not fit on one page.
  package init?(
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
    // Where the offset of the next freeblock is written: in the page header, then in the previous freeblock.
    var link = 1
    for index in 0...placed.count {
      let next = index < placed.count ? placed[index].place.lowerBound : usableSize
      guard next >= last else { return nil }
      // Space too short for a freeblock is a fragment (file format, section 1.6).
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
    bytes = page
    offset = placed.map(\.offset).min() ?? 0
  }
}
