/// Recognises sectors of a page that a disk has lost. Such a sector is all zeros, and the run of zeros begins and ends
/// exactly at sector boundaries. SQLite itself does not write zeros in this way.
package enum ZeroSectors {
  /// The smallest unit in which disks write, in bytes.
  private static let size = 512

  /// Whether any sector that overlaps `range` appears to be all zeros. Only three words of each sector are tested.
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

  /// Calls `receive` with each part of `range` that is in a lost sector, in order.
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
      // If the zeros begin before the sector, or do not end at a sector boundary, they may be content.
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

  /// Whether all bytes of a page are zero.
  package static func fill(_ page: RawSpan) -> Bool {
    var offset = 0
    // The length of a page is a multiple of eight bytes.
    while offset + 8 <= page.byteCount {
      if page.word(at: offset) != 0 { return false }
      offset += 8
    }
    return true
  }

  /// Returns the offset of the first byte of `range` that is in a lost sector; nil when no byte of `range` is in a lost
  /// sector.
  package static func firstLost(in range: Range<Int>, of page: RawSpan) -> Int? {
    var first: Int?
    forEach(in: range, of: page) { first = first ?? $0.lowerBound }
    return first
  }

  package enum Loss {
    case none
    /// Either a part of the record is lost, or the record ends in a BLOB that ends in zeros. The other BLOBs of the
    /// table show which of the two is the case.
    case possible
    case certain
  }

  /// Returns whether a record without overflow pages has lost bytes, because a sector of its page is lost.
  package static func loss(of record: Range<Int>, on page: RawSpan, usableSize: Int) -> Loss {
    guard let first = firstLost(in: record, of: page) else { return .none }
    return areContent(
      from: first - record.lowerBound, of: page.part(record.lowerBound, record.count))
      && !goOn(behind: record.upperBound, of: page, usableSize: usableSize) ? .possible : .certain
  }

  /// Whether the eight bytes from the page offset `end` on are zeros. If a record ends at `end`, such zeros belong to a
  /// lost sector, because neither a cell nor a freeblock begins with eight zero bytes.
  package static func goOn(behind end: Int, of page: RawSpan, usableSize: Int) -> Bool {
    end + 8 <= usableSize && page.word(at: end) == 0
  }

  /// Whether the bytes of a record from the offset `start` on, which look like a lost sector, may be content. They may
  /// be content if all of them are zeros that belong to BLOBs.
  package static func areContent(from start: Int, of record: RawSpan) -> Bool {
    for offset in start..<record.byteCount where record.byte(at: offset) != 0 { return false }
    guard let header = Varint.read(record, at: 0, end: record.byteCount),
      header.value >= UInt64(header.length), header.value <= UInt64(start)
    else { return false }
    let headerEnd = Int(header.value)
    var offset = header.length
    var body = headerEnd
    while offset < headerEnd, let type = Varint.read(record, at: offset, end: headerEnd) {
      let (end, isLonger) = body.addingReportingOverflow(RecordDecoder.length(ofType: type.value))
      guard !isLonger, end <= record.byteCount else { return false }
      if end > start, end > body, type.value < 12 || type.value % 2 == 1 { return false }
      offset += type.length
      body = end
    }
    return body == record.byteCount
  }
}
