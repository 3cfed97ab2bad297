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

  /// Calls `receive` with each part of `range` that is in a lost sector, in order. `goesOn`: whether
  /// ``goOn(behind:of:usableSize:)`` is true of the end of `range`.
  package static func forEach(
    in range: Range<Int>, of page: RawSpan, goesOn: Bool = false, _ receive: (Range<Int>) -> Void
  ) {
    var sector = range.lowerBound / size * size
    while sector < range.upperBound, sector + size <= page.byteCount {
      defer { sector += size }
      guard page.word(at: sector) == 0, page.word(at: sector + 504) == 0 else { continue }
      var end = sector
      while end + 8 <= page.byteCount, page.word(at: end) == 0 { end += 8 }
      guard end >= sector + size else { continue }
      // If the zeros begin before the sector, or do not end at a sector boundary, they may be content. Zeros that go on
      // behind the record are not its content, wherever they begin.
      let beginsAtBorder =
        sector == 0 || page.byte(at: sector - 1) != 0 || page.word(at: sector - 8) != 0
        || goesOn && end > range.upperBound
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
  /// sector. `goesOn`: as for ``forEach(in:of:goesOn:_:)``.
  package static func firstLost(
    in range: Range<Int>, of page: RawSpan, goesOn: Bool = false
  ) -> Int? {
    var first: Int?
    forEach(in: range, of: page, goesOn: goesOn) { first = first ?? $0.lowerBound }
    return first
  }

  package enum Loss {
    case none
    /// Either a part of the record is lost, or the record ends in a BLOB that ends in zeros. The other BLOBs of the
    /// table show which of the two is the case.
    case possible
    case certain

    package mutating func add(_ other: Loss) {
      if other == .certain || self == .none { self = other }
    }
  }

  /// Whether the eight bytes from the page offset `end` on are zeros. If a record ends at `end`, such zeros belong to a
  /// lost sector, because neither a cell nor a freeblock begins with eight zero bytes.
  package static func goOn(behind end: Int, of page: RawSpan, usableSize: Int) -> Bool {
    end + 8 <= usableSize && page.word(at: end) == 0
  }

  /// Whether the bytes of a record from the offset `start` on, which look like a lost sector, may be content. They may
  /// be content if all of them are zeros that belong to BLOBs.
  package static func areContent(from start: Int, of record: RawSpan) -> Bool {
    forEachField(from: start, of: record) { type, _, _ in type >= 12 && type % 2 == 0 }
  }

  /// Whether the bytes of a record from the offset `start` on, which look like a lost sector, are as good as certainly
  /// content: a whole BLOB of zeros, or the last few zeros of one value. Apps reserve space with such BLOBs
  /// (`zeroblob`). Whole numbers, dates and other reals often end in zeros, and so do texts in UTF-16. Hardly any sector
  /// begins with a value, or ends such a short way behind the start of what it holds.
  package static func areUsual(from start: Int, of record: RawSpan, isUTF16: Bool) -> Bool {
    var count = 0
    return forEachField(from: start, of: record) { type, length, zeros in
      count += 1
      guard count == 1 else { return false }
      switch type {
      // Before schema format 4, SQLite stored 0 as one byte.
      case 1...6: return zeros < length || length == 1
      case 7: return zeros < 8
      case 12...:
        return type % 2 == 0 ? zeros < 8 || zeros == length : isUTF16 && zeros < 2
      default: return false
      }
    }
  }

  /// Calls `accepts` with the serial type and the length of each field that has bytes from the offset `start` on, and the
  /// number of these bytes. Returns whether all bytes from `start` on are zeros, the record is complete, and `accepts`
  /// returns true for each of these fields.
  private static func forEachField(
    from start: Int, of record: RawSpan,
    _ accepts: (_ type: UInt64, _ length: Int, _ zeros: Int) -> Bool
  ) -> Bool {
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
      if end > start, end > body, !accepts(type.value, end - body, end - max(start, body)) {
        return false
      }
      offset += type.length
      body = end
    }
    return body == record.byteCount
  }
}
