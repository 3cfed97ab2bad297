import SQLiteFile
import Dispatch

extension DamagedDatabase {
  /// Fills ``census``: determines the kind of every page from its content, and records the parents, the free pages and
  /// the first pages of the overflow chains.
  func takeCensus() throws(SQLiteFileError) {
    try readFreelist()
    // Without a database header, the trunk pages of the freelist are recognised only while the pages are read. The
    // pages in the list of a trunk page are free, which affects how later pages are judged. So a single thread must
    // read all pages.
    let isAlone = pageCount < ParallelRecovery.minPageCount || layout.header == nil
    let count: UInt32 = isAlone ? 1 : 2
    let parts = (0..<count).map { part in
      PageJudgement(
        judge: PageJudge(
          census: census, layout: layout, map: map, maxPayload: maxPayload,
          reading: newReading(),
          leaf: SoundLeaf(usableSize: layout.usableSize, maxPayload: maxPayload)),
        reader: reader.another(), pages: partBound(part, count)..<partBound(part + 1, count))
    }
    // This releases the reference to the census, so that the first judge can change the census without copying it.
    census = PageCensus(pageCount: 0)
    if isAlone {
      parts[0].run()
    } else {
      DispatchQueue.concurrentPerform(iterations: parts.count) { parts[$0].run() }
    }
    for part in parts {
      if let failure = part.failure { throw failure }
    }
    swap(&census, &parts[0].judge.census)
    for part in parts.dropFirst() {
      census.append(part.judge.census, from: part.pages.lowerBound)
    }
    try readMap()
  }

  /// Returns the first page of the part with the index `part`, if the pages are divided into `count` parts of about
  /// the same size. If `part` equals `count`, returns the number after the last page.
  private func partBound(_ part: UInt32, _ count: UInt32) -> UInt32 {
    part == count ? pageCount + 1 : pageCount / count * part + 1
  }

  /// Follows the freelist from the trunk page that the database header names (file format, section 1.5). Marks the
  /// trunk pages and the pages in their lists as free.
  private func readFreelist() throws(SQLiteFileError) {
    guard let header = layout.header else { return }
    var trunk = header.firstFreelistTrunk
    var total = 0
    var buffer = ContiguousArray<UInt8>()
    let most = layout.usableSize / 4 - 2
    // If the file is truncated, the freelist may also name pages past the end of the file.
    let last = max(pageCount, layout.statedPageCount)
    while trunk >= 2, trunk <= pageCount, !census.free.contains(trunk) {
      guard try reader.copy(trunk, into: &buffer) == layout.pageSize else { return }
      let page = buffer.rawSpan
      let next = page.uint32(at: 0)
      let count = Int(page.uint32(at: 4))
      census.setTrunk(trunk)
      let leaves = (0..<min(count, most)).map { page.uint32(at: 8 + 4 * $0) }
      let fault: (id: Finding.ID, message: String)?
      if count > most {
        fault = (
          .freelistBadTrunk,
          "a freelist trunk lists \(count) pages, which is more than fit on it"
        )
      } else if next > last || leaves.contains(where: { $0 < 1 || $0 > last }) {
        fault = (.freelistOutOfRange, "a freelist trunk names a page outside the file")
      } else if leaves.contains(1) {
        fault = (.freelistDuplicate, "a freelist trunk lists page 1, which is in use")
      } else {
        fault = nil
      }
      // A page with such a fault is not a trunk. The kind of the page is then decided by its content.
      if let fault {
        findings.add(
          Finding(
            fault.id, fault.message, severity: .note, page: trunk,
            offset: reader.location(of: trunk).offset))
        return
      }
      // A trunk page with an empty list does not get the kind `trunk`, because the last overflow page of a row may
      // begin with the same bytes.
      if !leaves.isEmpty { census.set(trunk, .trunk) }
      for leaf in leaves { census.setFree(leaf) }
      total += count + 1
      trunk = next
    }
    isFreelistSound = trunk == 0 && total == Int(header.freelistPageCount)
  }

  /// Reads the pointer map. Marks the free pages in ``census``, and sets ``mappedTreePages`` and ``mappedParents``.
  private func readMap() throws(SQLiteFileError) {
    // The number of valid entries on the current pointer-map page.
    var good = 0
    var lost: [UInt32] = []
    try map.forEachEntry(&reader) { page, entry in
      good += 1
      switch entry.kind {
      case .free: census.setFree(page)
      case .root: _ = mappedTreePages.insert(page)
      case .bTree:
        _ = mappedTreePages.insert(page)
        _ = mappedParents.insert(entry.parent)
      case .firstOverflow, .laterOverflow: break
      }
    } endPage: { map, last in
      if good == 0, last - map > 2 { lost.append(map) }
      good = 0
    }
    for page in lost {
      findings.add(
        Finding(
          .ptrmapUnreadable, "no entry of this pointer-map page is valid", severity: .note,
          page: page, offset: reader.location(of: page).offset))
    }
  }
}

/// Determines the kinds of the pages in ``pages``, on one thread. No other thread uses this object at the same time.
private final class PageJudgement: @unchecked Sendable {
  var judge: PageJudge
  private var reader: PageReader
  let pages: Range<UInt32>
  private(set) var failure: SQLiteFileError?

  init(judge: PageJudge, reader: consuming PageReader, pages: Range<UInt32>) {
    self.judge = judge
    self.reader = reader
    self.pages = pages
  }

  func run() {
    do throws(SQLiteFileError) {
      try judge.judge(pages, &reader)
    } catch {
      failure = error
    }
  }
}

private struct PageJudge {
  var census: PageCensus
  let layout: FileLayout
  let map: PointerMap
  let maxPayload: Int
  var reading: LeafReading
  var leaf: SoundLeaf

  mutating func judge(_ pages: Range<UInt32>, _ reader: inout PageReader) throws(SQLiteFileError) {
    let whole = layout.pageSize
    var buffer = ContiguousArray<UInt8>()
    var number = pages.lowerBound
    while number < pages.upperBound {
      number = reader.nextStored(from: number)
      guard number < pages.upperBound else { break }
      if let page = try reader.page(number) {
        judge(page, number, whole)
      } else {
        // The file may end in the middle of its last page.
        let available = try reader.copy(number, into: &buffer)
        if available > 0 {
          judge(buffer.rawSpan, number, available)
        } else {
          census.set(number, .missing)
        }
      }
      number += 1
    }
  }

  private mutating func judge(_ page: RawSpan, _ number: UInt32, _ available: Int) {
    if census.kind(number) == .trunk { return }
    if map.isMap(number) { return census.set(number, .pointerMap) }
    let base = number == 1 ? DatabaseHeader.length : 0
    let usable = layout.usableSize
    guard base + 12 <= usable, let kind = BTreePage.Kind(rawValue: page.byte(at: base)) else {
      census.set(number, ZeroSectors.fill(page) ? .zero : isTrunk(page, number) ? .trunk : .other)
      if census.kind(number) == .other, page.uint32(at: 0) != number {
        census.follow(page.uint32(at: 0))
      }
      return
    }
    let count = Int(page.uint16(at: base + 3))
    switch kind {
    case .leafTable:
      // Without a pointer map, the cells must be read if any of them may have an overflow page, because the overflow
      // page must be recorded.
      let outline = outline(page, base, count)
      if let outline, map.isPresent || !mayGoOn(page, base, count) {
        return census.setLeaf(number, outline)
      }
      if !map.isPresent, number > 1, available == page.byteCount, leaf.measure(page) {
        for page in leaf.overflow { census.follow(page) }
        return census.setLeaf(number, outline ?? .unknown)
      }
      reading.read(page, number: number, available: available, shape: nil)
      if !map.isPresent {
        for cell in reading.cells where cell.spills {
          census.follow(page.uint32(at: cell.record + cell.local))
        }
      }
      let isEmpty =
        count == 0
        && (Int(page.uint16(at: base + 5)) == usable % 65_536 || page.uint16(at: base + 1) != 0)
      let good = reading.cells.count
      // Cells in a lost sector are not counted against the page, because they do not show its kind.
      let isLeaf =
        good * 2 > count || isEmpty
        || ((good > 2 || adjoins(reading.cells, page, base, count))
          && good * 2 > count - zeroCells(page, base, count))
      census.set(number, isLeaf ? .tableLeaf : .other)
    case .interiorTable:
      census.set(number, judgeInterior(page, number, base, count) ? .tableInterior : .other)
    case .leafIndex, .interiorIndex:
      let pointers = base + (kind == .leafIndex ? 8 : 12)
      var good = 0
      guard pointers + 2 * count <= usable else { return census.set(number, .other) }
      for index in 0..<count {
        let start = Int(page.uint16(at: pointers + 2 * index))
        if start >= pointers + 2 * count, start + 4 <= usable { good += 1 }
      }
      guard good * 2 > count || count == 0 else { return census.set(number, .other) }
      census.set(number, kind == .leafIndex ? .indexLeaf : .indexInterior)
      if kind == .interiorIndex {
        for index in 0...count { setChild(page, base, pointers, index, count, number) }
      }
    }
  }

  /// Returns the outline of a page that has the type byte of a table leaf. Nil if the first, the middle or the last
  /// cell is not valid.
  private func outline(_ page: RawSpan, _ base: Int, _ count: Int) -> LeafOutline? {
    let usable = layout.usableSize
    let floor = base + 8 + 2 * count
    guard count > 0, floor + 4 * count <= usable else { return nil }
    func cell(_ index: Int, keepsTypes: Bool, _ types: inout RecordTypes) -> LeafCell? {
      let start = Int(page.uint16(at: base + 8 + 2 * index))
      guard start >= floor, start + 4 <= usable else { return nil }
      return LeafCell.parse(
        page, at: start, limit: usable, usableSize: usable, maxPayload: maxPayload,
        longestHeader: .max, keepsTypes: keepsTypes, &types)
    }
    var first = RecordTypes()
    var types = RecordTypes()
    guard let least = cell(0, keepsTypes: true, &first),
      cell(count / 2, keepsTypes: false, &types) != nil,
      let last = cell(count - 1, keepsTypes: false, &types)
    else { return nil }
    return LeafOutline(rowIDs: least.rowID, last.rowID, first)
  }

  /// Whether the payload of any cell on the page may continue on overflow pages. Also true if the payload length of any
  /// cell cannot be read.
  private func mayGoOn(_ page: RawSpan, _ base: Int, _ count: Int) -> Bool {
    let usable = layout.usableSize
    var pointer = base + 8
    for _ in 0..<count {
      let start = Int(page.uint16(at: pointer))
      pointer &+= 2
      guard start < usable, let payload = Varint.read(page, at: start, end: usable),
        payload.value <= UInt64(usable - 35)
      else { return true }
    }
    return false
  }

  /// Returns the number of cells that seem to have lost their first bytes. These are the cells that begin with four
  /// zero bytes, and the cells whose first sixteen bytes overlap a sector of zeros. A sound cell never begins with a
  /// zero byte, because its payload length is not 0.
  private func zeroCells(_ page: RawSpan, _ base: Int, _ count: Int) -> Int {
    guard base + 8 + 2 * count <= layout.usableSize else { return 0 }
    return (0..<count).count { index in
      let start = Int(page.uint16(at: base + 8 + 2 * index))
      guard start >= base + 8 + 2 * count, start + 4 <= layout.usableSize else { return false }
      return page.uint32(at: start) == 0
        || ZeroSectors.touch(start..<min(start + 16, layout.usableSize), of: page)
    }
  }

  /// Whether each of `cells` ends where another cell of the page begins, or at the end of the usable part of the page.
  /// The lowest cell pointer must also equal the start of the cell content area in the page header.
  private func adjoins(
    _ cells: ContiguousArray<LeafCell>, _ page: RawSpan, _ base: Int, _ count: Int
  ) -> Bool {
    guard !cells.isEmpty, base + 8 + 2 * count <= layout.usableSize else { return false }
    var starts = Set((0..<count).map { Int(page.uint16(at: base + 8 + 2 * $0)) })
    guard starts.count == count, starts.min() == Int(page.uint16(at: base + 5)) else {
      return false
    }
    starts.insert(layout.usableSize)
    return cells.allSatisfy { starts.contains($0.end) }
  }

  private mutating func judgeInterior(
    _ page: RawSpan, _ number: UInt32, _ base: Int, _ count: Int
  ) -> Bool {
    let usable = layout.usableSize
    let pointers = base + 12
    guard pointers + 2 * count <= usable else { return false }
    // If most child pages are in the file, this is an interior page. Child pages past the end of the file prove
    // nothing, because the file may have been truncated. In this case, the page is an interior page if its keys are in
    // ascending order.
    var good = 0
    var ordered = 0
    // The number of cells with child page 0 and key 0. These cells are in a lost sector.
    var lost = 0
    var last = Int64.min
    for index in 0..<count {
      let start = Int(page.uint16(at: pointers + 2 * index))
      guard start >= pointers + 2 * count, start + 5 <= usable,
        let key = Varint.read(page, at: start + 4, end: usable)
      else { continue }
      let child = page.uint32(at: start)
      if child == 0, key.value == 0 {
        lost += 1
        continue
      }
      if child >= 2, child <= census.pageCount, child != number { good += 1 }
      if Int64(bitPattern: key.value) > last, child >= 2 { ordered += 1 }
      last = Int64(bitPattern: key.value)
    }
    let right = page.uint32(at: base + 8)
    if right >= 2, right <= census.pageCount, right != number { good += 1 }
    guard
      good * 2 > count + 1 || good == count + 1 || (count > 1 && ordered == count)
        || (good > 2 && good == count + 1 - lost)
        || InteriorPage(page, number: number, usableSize: usable)?.isSound == true
    else { return false }
    for index in 0...count { setChild(page, base, pointers, index, count, number) }
    return true
  }

  /// Records the interior page `number` as the parent of a child page: the child page of the cell with the index
  /// `index` or, if `index` equals `count`, the right-most child page.
  private mutating func setChild(
    _ page: RawSpan, _ base: Int, _ pointers: Int, _ index: Int, _ count: Int, _ number: UInt32
  ) {
    // The child pointers of a free page are stale.
    if census.free.contains(number) { return }
    if index == count { return census.setParent(of: page.uint32(at: base + 8), number) }
    let start = Int(page.uint16(at: pointers + 2 * index))
    guard start >= pointers + 2 * count, start + 4 <= layout.usableSize else { return }
    census.setParent(of: page.uint32(at: start), number)
  }

  /// Whether a page looks like a trunk page of the freelist. If true, this method also marks the page and the pages in
  /// its list as free. Always false if the database header is known, or if the file has a pointer map.
  private mutating func isTrunk(_ page: RawSpan, _ number: UInt32) -> Bool {
    guard layout.header == nil, !map.isPresent else { return false }
    guard page.uint32(at: 0) != number,
      let leaves = FreelistTrunk.leaves(
        page, usableSize: layout.usableSize, pageCount: census.pageCount)
    else { return false }
    let met = Set(leaves)
    guard met.count == leaves.count, !met.contains(number) else { return false }
    for leaf in met { census.setFree(leaf) }
    census.setFree(number)
    return true
  }
}
