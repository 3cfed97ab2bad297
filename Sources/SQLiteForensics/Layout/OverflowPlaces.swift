import SQLiteFile

/// Finds out how many pages are missing at the start of the file, from overflow chains that consist of a single page.
/// The cell of such a chain states the number of the page. The page itself begins with zeros, because no other page
/// follows. The number of missing pages is the difference between the stated page numbers and the positions of the
/// pages that begin with zeros. This works even if the file has lost all interior pages.
struct OverflowPlaces {
  /// The page numbers that cells state for overflow chains of a single page.
  private var numbers: [Int64] = []
  /// For each page of the file, whether an overflow chain can end on the page: whether its first four bytes are 0. On
  /// any other page of a chain, these bytes are the number of the next page (file format, section 1.7).
  private var areEnds: [Bool] = []

  private static let maxPages = 1 << 16
  private static let maxNumbers = 1 << 10
  private static let minNumbers = 8

  /// Examines the next page of the file. The pages must be added in file order.
  mutating func add(_ page: RawSpan, _ usableSize: Int) {
    guard areEnds.count <= Self.maxPages else { return }
    areEnds.append(page.uint32(at: 0) == 0)
    let count = Int(page.uint16(at: 3))
    guard page.byte(at: 0) == BTreePage.Kind.leafTable.rawValue, 8 + 2 * count <= usableSize else {
      return
    }
    var types = RecordTypes()
    for index in 0..<count where numbers.count < Self.maxNumbers {
      let place = Int(page.uint16(at: 8 + 2 * index))
      guard place >= 8 + 2 * count, place + 4 <= usableSize,
        let cell = LeafCell.parse(
          page, at: place, limit: usableSize, usableSize: usableSize, maxPayload: 1 << 31, &types),
        cell.spills, cell.payload - cell.local <= usableSize - 4
      else { continue }
      numbers.append(Int64(page.uint32(at: cell.record + cell.local)))
    }
  }

  /// Returns the number of pages that are missing at the start of the file (`distance`), and the number of overflow
  /// chains that agree with `distance` (`count`). `distance` is negative if foreign pages come before the database.
  /// Returns nil if no distance, or more than one, agrees with most overflow chains.
  func distance() -> (distance: Int64, count: Int)? {
    guard areEnds.count <= Self.maxPages else { return nil }
    let pageCount = Int64(areEnds.count)
    var best: (distance: Int64, count: Int)?
    for distance in -pageCount...pageCount {
      var agreeing = 0
      var contrary = 0
      for number in numbers {
        let index = number - 1 - distance
        guard index >= 0, index < pageCount else { continue }
        if areEnds[Int(index)] { agreeing += 1 } else { contrary += 1 }
        if contrary > 4 { break }
      }
      guard contrary * 20 <= agreeing, agreeing >= max(Self.minNumbers, numbers.count / 2) else {
        continue
      }
      guard best == nil else { return nil }
      best = (distance, agreeing)
    }
    return best
  }
}
