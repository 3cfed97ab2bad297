import SQLiteFile

/// Where the overflow pages stand that rows end on, and where their cells say that they do: how far the two are from each
/// other tells how many pages are missing before a file whose interior pages are all lost.
struct OverflowPlaces {
  /// The page numbers that cells lead to, of payloads that end on that page.
  private var numbers: [Int64] = []
  /// For each page of the file whether a chain can end there: its number for the next page is 0 (file format, section 1.6).
  private var areEnds: [Bool] = []

  private static let mostPages = 1 << 16
  private static let mostNumbers = 1 << 10
  private static let leastNumbers = 8

  /// Takes the next page of the file.
  mutating func add(_ page: RawSpan, _ usableSize: Int) {
    guard areEnds.count <= Self.mostPages else { return }
    areEnds.append(page.uint32(at: 0) == 0)
    let count = Int(page.uint16(at: 3))
    guard page.byte(at: 0) == BTreePage.Kind.leafTable.rawValue, 8 + 2 * count <= usableSize else {
      return
    }
    var types = RecordTypes()
    for index in 0..<count where numbers.count < Self.mostNumbers {
      let place = Int(page.uint16(at: 8 + 2 * index))
      guard place >= 8 + 2 * count, place + 4 <= usableSize,
        let cell = LeafCell.parse(
          page, at: place, limit: usableSize, usableSize: usableSize, mostPayload: 1 << 31, &types),
        cell.spills, cell.payload - cell.local <= usableSize - 4
      else { continue }
      numbers.append(Int64(page.uint32(at: cell.record + cell.local)))
    }
  }

  /// How many pages are missing before the first one, and how many cells say so; nil where none of them or several
  /// distances are likely.
  func distance() -> (distance: Int64, count: Int)? {
    guard areEnds.count <= Self.mostPages else { return nil }
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
      guard contrary * 20 <= agreeing, agreeing >= max(Self.leastNumbers, numbers.count / 2) else {
        continue
      }
      guard best == nil else { return nil }
      best = (distance, agreeing)
    }
    return best
  }
}
