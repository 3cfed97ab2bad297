/// Where bytes were lost or put in in the middle of a file: pages behind that place stand elsewhere than their numbers say.
struct PageShift: Sendable, Equatable {
  /// The first page that stands whole at its new place.
  let firstPage: UInt32
  /// How many bytes behind its old place it stands; less than 0 where bytes were lost.
  let distance: Int64
  /// What is left of the pages between those at their old places and those at their new ones; the rest is zero.
  let torn: [UInt32: ContiguousArray<UInt8>]

  /// Where in the file the first byte is that is not at its old place, as near as the pages tell.
  let place: Int64
}

/// Finds out whether bytes were lost or put in in the middle of a file.
///
/// Only where the file's length is not what the header or whole pages make it: then all pages are asked at both places.
struct ShiftSearch {
  private let file: ByteFile
  private let layout: FileLayout
  private let size: Int64

  init(_ file: ByteFile, _ layout: FileLayout) {
    self.file = file
    self.layout = layout
    size = Int64(layout.pageSize)
  }

  /// Fewer pages at new places may be chance.
  private static let leastProofs = 2
  private static let mostLinks = 1 << 20

  func find() throws(SQLiteFileError) -> PageShift? {
    guard layout.origin == 0 else { return nil }
    var distances: [Int64] = []
    if let header = layout.header, header.isPageCountValid {
      distances.append(file.size - Int64(header.pageCount) * size)
    }
    let rest = file.size % size
    if rest != 0 { distances += [rest - size, rest] }
    for (index, distance) in distances.enumerated() {
      guard distance != 0, abs(distance) < file.size, !distances[..<index].contains(distance) else {
        continue
      }
      if let found = try shift(by: distance) { return found }
    }
    return nil
  }

  // MARK: - Which pages stand where

  private func shift(by distance: Int64) throws(SQLiteFileError) -> PageShift? {
    let count = Int((file.size - distance) / size)
    guard count > 2, Int64(count) < Int64(UInt32.max) else { return nil }
    let links = distance % size == 0 ? try links() : nil
    var here = ContiguousArray<Bool>(repeating: false, count: count + 1)
    var there = here
    var buffer = ContiguousArray<UInt8>(repeating: 0, count: layout.pageSize)
    for page in 2...count {
      here[page] = try isPage(page, 0, links, &buffer)
      there[page] = try isPage(page, distance, links, &buffer)
    }
    // The place that most pages agree with: those before it at their old places, those behind it at the new ones.
    var agreeing = there.count { $0 }
    var best = (agreeing: agreeing, first: 2)
    for page in 2...count {
      agreeing += (here[page] ? 1 : 0) - (there[page] ? 1 : 0)
      if agreeing >= best.agreeing { best = (agreeing, page + 1) }
    }
    guard let first = there.indices.first(where: { $0 >= best.first && there[$0] }) else {
      return nil
    }
    let proofs = there[first...].count { $0 }
    guard proofs >= Self.leastProofs, proofs > 2 * here[first...].count(where: { $0 }) else {
      return nil
    }
    let last = here[..<first].lastIndex(of: true) ?? 1
    return try tear(behind: last, before: first, distance)
  }

  /// Whether the bytes at one of the two places of a page are that page.
  private func isPage(
    _ page: Int, _ distance: Int64, _ links: [Int64: [UInt32]]?,
    _ buffer: inout ContiguousArray<UInt8>
  ) throws(SQLiteFileError) -> Bool {
    let offset = Int64(page - 1) * size + distance
    guard offset >= 0,
      try file.read(at: offset, into: &buffer, 0..<layout.pageSize) == layout.pageSize
    else { return false }
    let bytes = buffer.rawSpan
    guard BTreePage.Kind(rawValue: bytes.byte(at: 0)) != nil else {
      // An overflow chain mostly goes on in the next page.
      return bytes.uint32(at: 0) == UInt32(page + 1)
    }
    guard LayoutVote.contentEnd(bytes, 0, reserved: layout.reservedBytes) != nil else {
      return false
    }
    guard holds(bytes) else { return false }
    guard let links else { return true }
    return lastRowID(bytes).flatMap { links[$0] }?.contains(UInt32(page)) ?? false
  }

  /// Whether each cell of a leaf is a record with text that is text. Pages of other kinds are taken as they are.
  private func holds(_ page: RawSpan) -> Bool {
    guard page.byte(at: 0) == BTreePage.Kind.leafTable.rawValue else { return true }
    var types = RecordTypes()
    types.renewBudget(usableSize: layout.usableSize)
    for index in 0..<Int(page.uint16(at: 3)) {
      guard
        let cell = LeafCell.parse(
          page, at: Int(page.uint16(at: 8 + 2 * index)), limit: layout.usableSize,
          usableSize: layout.usableSize, mostPayload: 1 << 31, longestHeader: .max, &types)
      else { return false }
      guard cell.isMeasured else { continue }
      let body = cell.record + cell.payload - types.bodyLength
      guard
        RowShape.anyText(
          types, page, body: body, end: cell.record + cell.local, encoding: layout.textEncoding)
      else { return false }
    }
    return true
  }

  /// The pages that interior pages lead to, by the highest row id that each of them is to have.
  private func links() throws(SQLiteFileError) -> [Int64: [UInt32]] {
    var links: [Int64: [UInt32]] = [:]
    var found = 0
    var buffer = ContiguousArray<UInt8>(repeating: 0, count: layout.pageSize)
    var offset = size
    while offset + size <= file.size, found < Self.mostLinks,
      try file.read(at: offset, into: &buffer, 0..<layout.pageSize) == layout.pageSize
    {
      offset += size
      let bytes = buffer.rawSpan
      guard bytes.byte(at: 0) == BTreePage.Kind.interiorTable.rawValue else { continue }
      let count = Int(bytes.uint16(at: 3))
      guard 12 + 2 * count <= layout.usableSize else { continue }
      for index in 0..<count {
        let start = Int(bytes.uint16(at: 12 + 2 * index))
        guard start + 5 <= layout.usableSize,
          let key = Varint.read(bytes, at: start + 4, end: layout.usableSize)
        else { continue }
        links[Int64(bitPattern: key.value), default: []].append(bytes.uint32(at: start))
        found += 1
      }
    }
    return links
  }

  private func lastRowID(_ page: RawSpan) -> Int64? {
    guard page.byte(at: 0) == BTreePage.Kind.leafTable.rawValue else { return nil }
    let count = Int(page.uint16(at: 3))
    let start = Int(page.uint16(at: 6 + 2 * count))
    guard let payload = Varint.read(page, at: start, end: layout.usableSize) else { return nil }
    return Varint.read(page, at: start + payload.length, end: layout.usableSize).map {
      Int64(bitPattern: $0.value)
    }
  }

  // MARK: - What is left in between

  /// Puts together what the file has of the pages between the last one at its old place and the first one at its new place.
  private func tear(behind last: Int, before first: Int, _ distance: Int64) throws(SQLiteFileError)
    -> PageShift
  {
    let end = Int64(first - 1) * size + distance
    // With less than nothing between them the last page at its old place has lost its own end. An overflow page has nothing
    // but its beginning that says where it stands.
    let head = try file.bytes(at: Int64(last - 1) * size, count: 1)
    let isOverflow = last > 1 && head.first.flatMap(BTreePage.Kind.init(rawValue:)) == nil
    let start = isOverflow || end < Int64(last) * size ? last : last + 1
    let begin = Int64(start - 1) * size
    var torn: [UInt32: ContiguousArray<UInt8>] = [:]
    var place: Int64?
    for page in start..<max(start, first) where page > 1 {
      let offset = Int64(page - 1) * size
      let old = try bytes(of: page, 0, in: begin..<max(begin, end))
      // Nothing at a new place stands before the bytes that were put in.
      let new = try bytes(
        of: page, distance, in: min((place ?? begin) + max(0, distance), file.size)..<file.size)
      var found = ContiguousArray<UInt8>(repeating: 0, count: layout.pageSize)
      if place != nil {
        found = new
      } else if page != last,
        LayoutVote.contentEnd(old.rawSpan, 0, reserved: layout.reservedBytes) != nil
      {
        found = old
      } else if let seam = seam(old, new) {
        found.replaceSubrange(..<seam.lowerBound, with: old[..<seam.lowerBound])
        found.replaceSubrange(seam.upperBound..., with: new[seam.upperBound...])
        place = offset + Int64(seam.lowerBound)
      } else if hasCells(new) {
        found = new
        place = offset
      }
      torn[UInt32(page)] = found
    }
    return PageShift(
      firstPage: UInt32(first), distance: distance, torn: torn, place: place ?? begin)
  }

  /// The bytes at one of the two places of a page, as far as they are in a part of the file; zeros for the others.
  private func bytes(of page: Int, _ distance: Int64, in part: Range<Int64>)
    throws(SQLiteFileError) -> ContiguousArray<UInt8>
  {
    var bytes = ContiguousArray<UInt8>(repeating: 0, count: layout.pageSize)
    let offset = Int64(page - 1) * size + distance
    let wanted = part.clamped(to: offset..<offset + size)
    guard wanted.lowerBound >= 0, !wanted.isEmpty else { return bytes }
    let there = try file.bytes(at: wanted.lowerBound, count: wanted.count)
    let first = Int(wanted.lowerBound - offset)
    bytes.replaceSubrange(first..<first + there.count, with: there)
    return bytes
  }

  /// Whether a page without its head still has cells that fill it to its end.
  private func hasCells(_ page: ContiguousArray<UInt8>) -> Bool {
    var reading = LeafReading(
      usableSize: layout.usableSize, mostPayload: 1 << 31, encoding: layout.textEncoding)
    reading.read(page.rawSpan, number: 2, available: layout.pageSize, shape: nil)
    return !reading.cells.isEmpty
  }

  /// Where in a leaf the bytes at its old place end and those at its new one begin: between them is the cell that was cut.
  /// Nil where the cells do not tell.
  private func seam(_ old: ContiguousArray<UInt8>, _ new: ContiguousArray<UInt8>) -> Range<Int>? {
    let page = old.rawSpan
    guard page.byte(at: 0) == BTreePage.Kind.leafTable.rawValue else { return nil }
    let usable = layout.usableSize
    let count = Int(page.uint16(at: 3))
    let floor = 8 + 2 * count
    guard count > 0, floor + 4 * count <= usable else { return nil }
    var types = RecordTypes()
    types.renewBudget(usableSize: usable)
    func isCell(_ page: RawSpan, _ start: Int) -> Bool {
      LeafCell.parse(
        page, at: start, limit: usable, usableSize: usable, mostPayload: 1 << 31, &types) != nil
    }
    let starts = (0..<count).map { Int(page.uint16(at: 8 + 2 * $0)) }.filter {
      $0 >= floor && $0 + 4 <= usable
    }.sorted()
    guard starts.count * 2 > count else { return nil }
    let whole = starts.prefix { isCell(page, $0) }.count
    var moved = starts.count
    while moved > whole, isCell(new.rawSpan, starts[moved - 1]) { moved -= 1 }
    guard whole > 0 || moved < starts.count else { return nil }
    // The last cell that begins before the place may end behind it.
    let lower = whole > 0 ? starts[whole - 1] : floor
    let upper = moved < starts.count ? starts[moved] : usable
    return lower < upper ? lower..<upper : nil
  }
}
