/// Sectors of a page that a disk has lost: all zero up to their very borders, as SQLite does not write them.
package enum ZeroSectors {
  /// What disks write at once, at least; in bytes.
  private static let size = 512

  /// Whether a sector that a range touches looks all zero, by three of its words.
  package static func touch(_ range: Range<Int>, of page: RawSpan) -> Bool {
    var sector = range.lowerBound / size * size
    while sector < range.upperBound, sector + size <= page.byteCount {
      if page.word(at: sector) == 0, page.word(at: sector + 504) == 0,
        page.word(at: sector + 248) == 0
      {
        return true
      }
      sector += size
    }
    return false
  }

  /// Hands on the parts of a range that lost sectors have, in order.
  package static func forEach(
    in range: Range<Int>, of page: RawSpan, _ receive: (Range<Int>) -> Void
  ) {
    var sector = range.lowerBound / size * size
    while sector < range.upperBound, sector + size <= page.byteCount {
      defer { sector += size }
      guard page.word(at: sector) == 0, page.word(at: sector + 504) == 0 else { continue }
      var end = sector
      while end + 8 <= page.byteCount, page.word(at: end) == 0 { end += 8 }
      guard end >= sector + size else { continue }
      // Zeros that begin before the sector, or end behind a border, may be content.
      let beginsAtBorder =
        sector == 0 || page.byte(at: sector - 1) != 0 || page.word(at: sector - 8) != 0
      while end < page.byteCount, page.byte(at: end) == 0 { end += 1 }
      let isWholePage = sector == 0 && end == page.byteCount
      guard beginsAtBorder, end % size < 8 || isWholePage || end == page.byteCount else {
        continue
      }
      let lower = max(sector, range.lowerBound)
      let upper = min(end, range.upperBound)
      if lower < upper { receive(lower..<upper) }
      sector = end / size * size
    }
  }
}
