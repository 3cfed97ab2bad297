/// Sectors of a page that a disk lost. They are zero exactly up to their boundaries; SQLite does not write such zeros.
package enum ZeroSectors {
  /// The smallest unit that disks write, in bytes.
  private static let size = 512

  /// Whether any sector that overlaps a range looks all zero, judged by three of its words.
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

  /// Calls `receive` with the parts of a range that are in lost sectors, in order.
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
      // Zeros that begin before the sector, or end after a sector boundary, may be content.
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

  /// Whether a page is all zero. A value that ends just before such a page may continue in its zeros.
  package static func fill(_ page: RawSpan) -> Bool {
    for offset in 0..<page.byteCount where page.byte(at: offset) != 0 { return false }
    return true
  }

  /// Offset of the first byte in a range that is in a lost sector; nil when there is none.
  package static func firstLost(in range: Range<Int>, of page: RawSpan) -> Int? {
    var first: Int?
    forEach(in: range, of: page) { first = first ?? $0.lowerBound }
    return first
  }

  /// Whether a record has lost part of itself with a sector.
  package enum Loss {
    /// Nothing is lost.
    case none
    /// A part is lost, or the record ends in a BLOB that ends in zeros: the table's other BLOBs tell which.
    case possible
    /// A part is lost.
    case certain
  }

  /// What a record without overflow pages has lost.
  package static func loss(of record: Range<Int>, on page: RawSpan, usableSize: Int) -> Loss {
    guard let first = firstLost(in: record, of: page) else { return .none }
    return areContent(
      from: first - record.lowerBound, of: page.part(record.lowerBound, record.count))
      && !goOn(behind: record.upperBound, of: page, usableSize: usableSize) ? .possible : .certain
  }

  /// Whether zeros continue after a record, where a cell or a freeblock begins; neither begins with eight zeros.
  package static func goOn(behind end: Int, of page: RawSpan, usableSize: Int) -> Bool {
    guard end + 8 <= usableSize else { return false }
    for offset in end..<end + 8 where page.byte(at: offset) != 0 { return false }
    return true
  }

  /// Whether zeros that look like a lost sector may be the content at the end of a record: they reach its end and are
  /// all in BLOBs, which may hold anything. Text does not contain U+0000.
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
