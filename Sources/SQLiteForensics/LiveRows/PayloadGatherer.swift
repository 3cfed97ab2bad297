import SQLiteFile

/// Collects the payload of a cell, and records which bytes are missing or in doubt (file format, section 1.7 "Cell
/// Payload Overflow Pages").
struct PayloadGatherer: ~Copyable {
  private(set) var payload = ContiguousArray<UInt8>()
  /// The highest page number among the payload's overflow pages; 0 for a payload without overflow pages.
  private(set) var highestPage: UInt32 = 0
  /// The payload offsets of the bytes that may be wrong, as ranges in ascending order. Such bytes may come from a lost
  /// sector or from a page of another row.
  private(set) var doubts: [Range<Int>] = []
  /// Whether bytes are in doubt that cannot be zeros at the end of a value.
  private var hasOtherDoubts = false
  /// Whether a whole overflow page is zeros, although the bytes before it are not.
  private var hasZeroPage = false
  /// The number of payload bytes that were found, from the start of the payload on.
  private(set) var have = 0
  /// The number of wrong links of the overflow chain that were replaced by links from the pointer map.
  private(set) var mendedCount = 0
  /// Whether the overflow chain ends on the page on which the payload ends. If so, the number of the first overflow
  /// page, in the last four bytes of the cell, is almost certainly right.
  private(set) var endsExactly = false
  /// Whether the page on which the payload ends links to another page. SQLite never writes such a link.
  private(set) var isTooLong = false
  /// The overflow pages of all live rows read so far.
  private(set) var claimed: PageSet
  private var successors: ContiguousArray<(parent: UInt32, page: UInt32)>?
  /// The pages that are in the overflow chains of more than one deleted row; nil until ``noteDeletedChains(_:_:_:)``
  /// has run.
  private var shared: PageSet?
  /// Decides which of several links to the same overflow page is right, in a file without a pointer map. Nil until it
  /// is first needed.
  private var claims: ChainClaims?
  private let map: PointerMap
  private let shapes: [RowShape]
  private let encoding: DatabaseHeader.TextEncoding
  private let maxPayload: Int
  /// Whether all free pages are known: as many were found as the database header states.
  private let knowsFree: Bool
  /// The number of bytes that may still be read from overflow pages.
  private var allowance: Int

  init(_ database: DamagedDatabase) {
    map = database.map
    shapes = database.shapes
    encoding = database.layout.textEncoding
    maxPayload = database.maxPayload
    claimed = database.claimed
    var freeCount: UInt32 = 0
    database.census.free.forEach { _ in freeCount += 1 }
    knowsFree = database.layout.header?.freelistPageCount == freeCount
    // In a hostile file, all rows may link to the same long chain. The rows of a sound file share no overflow page.
    allowance = 4 * database.reader.storedPageCount * database.layout.pageSize + 1 << 20
  }

  /// Collects the payload of a cell. The payload of the previous cell is discarded.
  ///
  /// `isLive`: whether the cell is a live row. The overflow pages of a live row are added to ``claimed``. The overflow
  /// chain of a deleted row ends before the first page that is in ``claimed``.
  mutating func gather(
    _ cell: LeafCell, of page: UInt32, bytes: RawSpan, isLive: Bool, census: borrowing PageCensus,
    reader: inout PageReader
  ) throws(SQLiteFileError) {
    payload.removeAll(keepingCapacity: true)
    doubts.removeAll(keepingCapacity: true)
    hasOtherDoubts = false
    hasZeroPage = false
    mendedCount = 0
    endsExactly = false
    isTooLong = false
    let lost = cell.lostHeader
    payload.append(contentsOf: lost)
    let local = max(0, cell.local - lost.count)
    append(bytes.part(cell.record, local))
    let goesOn = ZeroSectors.goOn(
      behind: cell.record + local, of: bytes, usableSize: reader.usableSize)
    addZeroSectors(bytes, cell.record..<cell.record + local, goesOn: goesOn, at: lost.count)
    if !doubts.isEmpty { hasOtherDoubts = goesOn }
    have = payload.count
    highestPage = 0
    defer { trustUsualZeros(of: cell) }
    guard cell.spills else { return }
    let first = payload.count
    // The payload offset at which the chain leaves SQLite's allocation order. From this offset on, the pages may belong
    // to the chain of another row.
    var jump: Int?
    let (last, next) = try follow(
      cell, of: page, leadingTo: bytes.uint32(at: cell.record + local), isLive, &jump, census,
      &reader)
    endsExactly =
      have >= cell.payload && next == 0 && doubts.isEmpty && census.kind(last) != .zero
    isTooLong = have >= cell.payload && next != 0
    guard isLive, !map.isPresent else { return }
    if have < cell.payload {
      if let jump { doubt(from: jump) }
    } else if let jump {
      // The payload ends, but the chain does not. From the page at which the chain leaves SQLite's allocation order,
      // the pages may belong to the chain of another row.
      if next != 0 { doubt(from: jump) }
    } else if next == last + 1, census.canBeOverflow(next), !census.contested.contains(next) {
      // The chain continues past the end of the payload, to a page that no other link leads to. So the chain belongs to
      // a longer row.
      doubt(from: first)
    }
  }

  /// Follows an overflow chain and appends its content to the payload, until the payload is complete or the next page
  /// is not known.
  ///
  /// - Returns: `last`: the last page that was read; the page of the cell if no overflow page was read. `next`: the
  ///   page to which `last` links; 0 when the linked page belongs to another row.
  private mutating func follow(
    _ cell: LeafCell, of page: UInt32, leadingTo head: UInt32, _ isLive: Bool, _ jump: inout Int?,
    _ census: borrowing PageCensus, _ reader: inout PageReader
  ) throws(SQLiteFileError) -> (last: UInt32, next: UInt32) {
    let piece = reader.usableSize - 4
    let first = payload.count
    var previous = page
    var next = head
    var isFirst = true
    var steps = 0
    var landmark: UInt32 = 0
    // The payload offset from which the pages may belong to another row.
    var astray: Int?
    defer { if let astray { doubt(from: astray) } }
    while payload.count < cell.payload {
      let wanted = min(piece, cell.payload - payload.count)
      if map.isPresent, isLive {
        let right = try confirmed(next, after: previous, isFirst: isFirst, census, &reader)
        if right != next, right != 0,
          try isExchanged(previous, leadingTo: next, not: right, census, &reader)
        {
          doubts.append(max(first, payload.count - piece)..<payload.count)
          hasOtherDoubts = true
        }
        next = right
      }
      allowance -= wanted
      guard allowance > 0, next != landmark, isOverflow(next, isLive, census) else {
        return (previous, next)
      }
      if !map.isPresent, isLive {
        let link = isFirst ? ChainClaims.Link(page, cell) : ChainClaims.Link(previous)
        guard try isRightful(link, to: next, census, &reader) else {
          _ = claimed.insert(next)
          return (previous, 0)
        }
        if !isFirst, !link.isInOrder(next), jump == nil { jump = payload.count }
      }
      guard let content = try reader.page(next) else { return (previous, next) }
      let following = content.uint32(at: 0)
      let start = payload.count
      // If the previous page ends in zeros, zeros at the start of this page are content, because the zeros of a value
      // may continue on the next page.
      let goesOn = endsInZeros(start) && doubts.last?.upperBound != start
      append(content.part(4, wanted))
      // The first bytes of a trunk page were overwritten with page numbers of the freelist (file format, section 1.5).
      if shared?.contains(next) == true
        || (!isLive
          && (census.trunks.contains(next)
            || FreelistTrunk.leaves(
              content, usableSize: piece + 4, pageCount: census.pageCount) != nil))
      {
        astray = astray ?? start
      }
      let isLast = payload.count >= cell.payload
      if !isLast, following == 0, census.kind(next) == .zero {
        // Only the last page of a chain may contain 0 as the number of the next page.
        doubts.append(start..<payload.count)
        hasOtherDoubts = true
      } else if !goesOn || content.byte(at: 4) != 0 {
        if start > 0, payload[start - 1] != 0, census.kind(next) == .zero { hasZeroPage = true }
        addZeroSectors(content, 4..<4 + wanted, at: start)
      }
      // An overflow page begins with the number of the next page, or with 0 on the last page. If the number is that of
      // another page of the file, damage may have changed this number alone. A number past the end of the file shows
      // that the page is no longer an overflow page.
      if following > census.pageCount { astray = astray ?? start }
      // The overflow pages of a deleted row may belong to another row now. In that case the chain does not end where
      // the payload ends.
      if !isLive, isLast != (following == 0) { doubt(from: first) }
      if isLive { _ = claimed.insert(next) }
      highestPage = max(highestPage, next)
      have = payload.count
      if steps & (steps - 1) == 0 { landmark = next }
      steps += 1
      previous = next
      next = following
      isFirst = false
    }
    return (previous, next)
  }

  /// Whether a link in the overflow chain of a live row can be trusted, in a file without a pointer map. A link is not
  /// trusted in two cases:
  /// - A link of another chain leads to the same page, and is equally or more credible (``ChainClaims``).
  /// - The link skips the page that SQLite would use next, and no other link leads to the skipped page.
  private mutating func isRightful(
    _ link: ChainClaims.Link, to next: UInt32, _ census: borrowing PageCensus,
    _ reader: inout PageReader
  ) throws(SQLiteFileError) -> Bool {
    let isContested = census.contested.contains(next)
    // A link that skips the next page in allocation order is wrong if no other link leads to that page.
    let passedOver = link.isInOrder(next) ? nil : link.behind
    let mayBeAstray = knowsFree && passedOver.map { census.isOrphan($0) } ?? false
    guard isContested || mayBeAstray else { return true }
    if claims == nil {
      claims = try ChainClaims(
        census, shapes, encoding: encoding, maxPayload: maxPayload, knowsFree: knowsFree, &reader)
    }
    if mayBeAstray, let passedOver, claims?.isLost(passedOver, census) == true { return false }
    return !isContested || claims?.holder(of: next) == link
  }

  /// Marks the payload of `cell` as doubtful from a page offset to the end of the payload, including the bytes on
  /// overflow pages. `offset`: the page offset from which another cell may have overwritten `cell`.
  mutating func doubt(_ cell: LeafCell, from offset: Int) {
    doubt(from: cell.lostHeader.count + max(0, offset - cell.record))
  }

  private mutating func doubt(from start: Int) {
    guard start < payload.count else { return }
    doubts.removeAll { $0.lowerBound >= start }
    doubts.append(start..<payload.count)
    hasOtherDoubts = true
  }

  /// Finds the overflow pages that belong to more than one deleted row and to no live row.
  ///
  /// `chains`: the overflow chains of the deleted rows, each with its first page and the number of payload bytes that
  /// it holds.
  mutating func noteDeletedChains(
    _ chains: some Sequence<(first: UInt32, bytes: Int)>, _ census: borrowing PageCensus,
    _ reader: inout PageReader
  ) throws(SQLiteFileError) {
    var met = PageSet(pageCount: census.pageCount)
    var shared = PageSet(pageCount: census.pageCount)
    // In a sound file each page belongs to one row; in a hostile file all rows may lead to the same long chain.
    var allowance = 4 * Int(census.pageCount)
    let piece = reader.usableSize - 4
    var pages: ContiguousArray<UInt32> = []
    for chain in chains {
      pages.removeAll(keepingCapacity: true)
      var next = chain.first
      var left = chain.bytes
      while left > 0, allowance > 0, next >= 2, isOverflow(next, false, census) {
        allowance -= 1
        pages.append(next)
        guard let content = try reader.page(next) else { break }
        next = content.uint32(at: 0)
        left -= piece
      }
      // A chain that does not end where its payload ends is in doubt anyway, so it puts no other chain in doubt.
      guard left <= 0, next == 0 else { continue }
      for page in pages where !met.insert(page) { _ = shared.insert(page) }
    }
    self.shared = shared
  }

  /// Whether a page can be in the overflow chain of a row. A page that a live row has claimed cannot be in the chain of
  /// a deleted row.
  private func isOverflow(_ page: UInt32, _ isLive: Bool, _ census: borrowing PageCensus) -> Bool {
    census.canBeOverflow(page) && (isLive || !claimed.contains(page))
  }

  /// Returns the page that follows `previous` in an overflow chain. `next`: the page to which `previous` links.
  /// `isFirst`: whether `previous` is the page of the cell.
  ///
  /// The result is the first of these that applies:
  /// 1. `next`, if the pointer map confirms the link
  /// 2. the page whose pointer-map entry names `previous` as its parent. Not used if `isFirst` is true, because many
  ///    chains may start on the page of the cell
  /// 3. 0, if the pointer map shows that `next` is not in this chain
  /// 4. `next`
  private mutating func confirmed(
    _ next: UInt32, after previous: UInt32, isFirst: Bool, _ census: borrowing PageCensus,
    _ reader: inout PageReader
  ) throws(SQLiteFileError) -> UInt32 {
    let expected: PointerMap.Entry.Kind = isFirst ? .firstOverflow : .laterOverflow
    if next >= 2, next <= census.pageCount,
      let entry = try map.entry(of: next, &reader), entry.kind == expected,
      entry.parent == previous
    {
      return next
    }
    // The overflow chains of many cells may start on one leaf. The pointer map does not show which chain belongs to
    // which cell.
    if isFirst { return try isTaken(next, census, &reader) ? 0 : next }
    if successors == nil { successors = try map.successors(&reader) }
    guard let all = successors else { return next }
    let first = all.firstPlace { $0.parent >= previous }
    guard first < all.count, all[first].parent == previous,
      census.kind(all[first].page) != .tableLeaf
    else { return try isTaken(next, census, &reader) ? 0 : next }
    mendedCount += 1
    return all[first].page
  }

  /// Whether `page` and another overflow page were exchanged, so that `page` has the content of another row. `link` is
  /// the page number in the first bytes of `page`. According to the pointer map, `link` comes after another page than
  /// `page`. If the first bytes of that other page contain `next`, the two pages were exchanged.
  ///
  /// `next`: the page that should follow `page` in its chain.
  private mutating func isExchanged(
    _ page: UInt32, leadingTo link: UInt32, not next: UInt32, _ census: borrowing PageCensus,
    _ reader: inout PageReader
  ) throws(SQLiteFileError) -> Bool {
    guard link >= 2, link <= census.pageCount, let entry = try map.entry(of: link, &reader),
      entry.kind == .laterOverflow, entry.parent != page, let other = try reader.page(entry.parent)
    else { return false }
    return other.uint32(at: 0) == next
  }

  /// Whether the pointer map shows that `page` is not in the current overflow chain. It lists `page` as free, as a
  /// b-tree page, or as an overflow page of another parent. In the last case, the parent page must confirm the entry:
  /// for example, one of its cells leads to `page`.
  private func isTaken(_ page: UInt32, _ census: borrowing PageCensus, _ reader: inout PageReader)
    throws(SQLiteFileError) -> Bool
  {
    guard page >= 2, page <= census.pageCount, let entry = try map.entry(of: page, &reader) else {
      return false
    }
    switch entry.kind {
    case .root, .free, .bTree: return true
    case .firstOverflow:
      guard census.isLiveLeaf(entry.parent) || census.kind(entry.parent) == .indexLeaf else {
        return false
      }
      return try holds(page, on: entry.parent, &reader)
    case .laterOverflow: return census.kind(entry.parent) == .other
    }
  }

  /// Whether a cell of the page `leaf` has `number` as its first overflow page. If some cells of the page cannot be
  /// read, also true if the four bytes of `number` are anywhere on the page.
  private func holds(_ number: UInt32, on leaf: UInt32, _ reader: inout PageReader)
    throws(SQLiteFileError) -> Bool
  {
    let usableSize = reader.usableSize
    guard let page = try reader.page(leaf) else { return false }
    var reading = LeafReading(usableSize: usableSize, maxPayload: maxPayload, encoding: encoding)
    if BTreePage.Kind(rawValue: page.byte(at: 0)) == .leafIndex {
      reading.readIndex(page, isInterior: false)
    } else {
      reading.read(page, number: leaf, available: page.byteCount, shape: nil)
    }
    let isLed = reading.cells.contains {
      $0.spills && page.uint32(at: $0.record + $0.local) == number
    }
    if isLed || (reading.method == .pointers && reading.lostCount == 0) { return isLed }
    for offset in 0...page.byteCount - 4 where page.uint32(at: offset) == number { return true }
    return false
  }

  /// Whether the eight payload bytes before the payload offset `place` are zeros.
  private func endsInZeros(_ place: Int) -> Bool {
    place >= 8 && payload[place - 8..<place].allSatisfy { $0 == 0 }
  }

  /// Marks payload bytes as doubtful if a lost disk sector, which is read as zeros, contained them. `range`: the page
  /// offsets of payload bytes. `offset`: the position of the first of these bytes in the payload.
  private mutating func addZeroSectors(
    _ page: RawSpan, _ range: Range<Int>, goesOn: Bool = false, at offset: Int
  ) {
    ZeroSectors.forEach(in: range, of: page, goesOn: goesOn) { lost in
      let start = offset + lost.lowerBound - range.lowerBound
      doubts.append(start..<start + lost.count)
    }
  }

  /// Drops the doubts if only the last few zeros of a value are in doubt.
  private mutating func trustUsualZeros(of cell: LeafCell) {
    guard !hasOtherDoubts, have >= cell.payload, let first = doubts.first else { return }
    if ZeroSectors.areUsual(
      from: first.lowerBound, of: payload.rawSpan, isUTF16: encoding != .utf8)
    {
      doubts.removeAll(keepingCapacity: true)
    } else if hasZeroPage {
      hasOtherDoubts = true
    }
  }

  /// Whether the only bytes in doubt are zeros at the end of the record. If the table pads its BLOBs with zeros, these
  /// zeros are content.
  func doubtsPaddingAlone(of cell: LeafCell) -> Bool {
    guard let first = doubts.first, !hasOtherDoubts, have >= cell.payload else { return false }
    return ZeroSectors.areContent(from: first.lowerBound, of: payload.rawSpan)
  }

  /// Drops all doubts. Called when only zeros that pad a BLOB are in doubt.
  mutating func trustPadding() { doubts.removeAll(keepingCapacity: true) }

  private mutating func append(_ bytes: RawSpan) {
    unsafe bytes.withUnsafeBytes { unsafe payload.append(contentsOf: $0) }
  }
}
