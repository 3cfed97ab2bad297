import SQLiteFile

/// Finds cells on a table leaf that come from another table or another page. A leaf that does not contradict itself is
/// not searched.
extension LeafReading {
  /// Returns the indexes of the cells that hold rows of another table than that of `shape`. These are the rows with
  /// more fields than the table has columns. If more rows of the page fail to fit `shape` than fit it, these are all
  /// rows that do not fit. Empty for a page whose header and cell pointers agree.
  func cellsOfOtherTables(_ page: RawSpan, _ shape: RowShape) -> Set<Int> {
    guard method != .pointers, !shape.isUnconstrained else { return [] }
    var types = RecordTypes()
    types.renewBudget(usableSize: usableSize)
    var longer: Set<Int> = []
    var others: Set<Int> = []
    var fitting = 0
    for index in cells.indices where types.read(cells[index], page) {
      if shape.fits(types) {
        fitting += 1
      } else if types.types.count > shape.fields.count {
        longer.insert(index)
      } else {
        others.insert(index)
      }
    }
    return others.count > 1 && others.count + longer.count > fitting
      ? others.union(longer) : longer
  }

  /// Returns the indexes of the cells that belong to another page, whose bytes have overwritten a part of this page.
  /// Empty for a page that does not contradict itself.
  ///
  /// An overwritten part has two signs. Cell pointers lead into the part, but not to the start of most of its cells.
  /// And at one end of the part, there are bytes that are neither a cell nor free space.
  func displaced(_ page: RawSpan) -> Set<Int> {
    guard method == .mended, pointerCount > 0 else { return [] }
    let pointers = contentFloor - 2 * pointerCount
    let targets = (0..<pointerCount).map { Int(page.uint16(at: pointers + 2 * $0)) }.sorted()
    let order = cells.indices.sorted { cells[$0].start < cells[$1].start }
    let pointed = order.map { targets.hasSorted(cells[$0].start) }
    /// Whether a cell is followed by bytes that are neither a freeblock nor a fragment. `place`: the index of the cell
    /// in `order`.
    func isBroken(behind place: Int) -> Bool {
      guard place >= 0 else { return false }
      let end = cells[order[place]].end
      let next = place + 1 < order.count ? cells[order[place + 1]].start : usableSize
      // Fewer than four bytes are a fragment (file format, section 1.6).
      if next - end < 4 { return false }
      let block = freeBlocks.firstPlace { $0.lowerBound >= end }
      return block == freeBlocks.count || freeBlocks[block].lowerBound - end >= 4
        || next - freeBlocks[block].upperBound >= 4
    }
    var found: Set<Int> = []
    var place = 0
    while place < order.count {
      let first = place
      while place < order.count - 1, !isBroken(behind: place) { place += 1 }
      let last = place
      place += 1
      guard let begin = (first...last).first(where: { !pointed[$0] }),
        let end = (first...last).last(where: { !pointed[$0] })
      else { continue }
      let missed = (begin...end).count { !pointed[$0] }
      // Near an end of the part, a few pointers may lead to cells of the part by chance.
      guard
        4 * (begin - first) <= missed && isBroken(behind: first - 1)
          || 4 * (last - end) <= missed && isBroken(behind: last)
      else { continue }
      let from = begin > 0 ? cells[order[begin - 1]].end : contentFloor
      let to = end + 1 < order.count ? cells[order[end + 1]].start : usableSize
      let led = targets.firstPlace { $0 >= to } - targets.firstPlace { $0 >= from }
      let misled = led - (end - begin + 1 - missed)
      if 2 * missed > end - begin + 1, 2 * misled >= missed { found.formUnion(order[begin...end]) }
    }
    return found
  }
}
