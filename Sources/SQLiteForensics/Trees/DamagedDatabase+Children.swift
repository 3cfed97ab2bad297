import SQLiteFile

/// Whether a child page belongs at its position in the b-tree, judged by the keys of its parent.
enum ChildPlace {
  /// The page is at its right position. Its row ids agree with the parent's keys, or the neighbouring child pages show
  /// that one of these keys is wrong.
  case right
  /// The child page may contain rows that belong on other pages: it may be an earlier version of the correct page, or
  /// contain a part of another page, or its row ids cannot be read.
  case partly
  /// Another page belongs at the position of the child page in the b-tree.
  case wrong
}

struct ChildPage {
  let page: UInt32
  /// The row ids that the keys of the parent page allow on ``page``.
  var rowIDs: ClosedRange<Int64>
  var place = ChildPlace.right
}

extension DamagedDatabase {
  /// The content of a child page: its kind, and the range of its row ids or keys.
  private struct OwnContent {
    let isLeaf: Bool
    /// The range from the first to the last row id of a leaf, or from the first to the last key of an interior page.
    let rowIDs: ClosedRange<Int64>
  }

  /// Returns the children of an interior page in key order, each with the range of row ids that the keys of the
  /// interior page allow on it.
  ///
  /// The row ids on each child are compared with this range. If they contradict a key, the neighbours of the child
  /// decide: if the row ids fit between those of the neighbours, the key is wrong and the child is in the right place.
  ///
  /// - Parameters:
  ///   - number: the page number of the interior page.
  ///   - isIndex: whether the interior page is an index page. The keys of an index page are not compared with anything.
  ///   - rowIDs: the row ids that the pages above the interior page allow below it.
  /// - Returns: the children, and whether the interior page agrees with itself, with `rowIDs` and with its children.
  ///   `children` is empty if the interior page cannot be read, or if the interior page itself is in the wrong place.
  ///   It is in the wrong place if most children are, or if most children are not table pages.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  func children(of number: UInt32, _ isIndex: Bool, _ rowIDs: ClosedRange<Int64>)
    throws(SQLiteFileError) -> (children: [ChildPage], isSound: Bool)
  {
    var buffer = ContiguousArray<UInt8>()
    guard try reader.copy(number, into: &buffer) == layout.pageSize,
      let page = InteriorPage(
        torn: buffer.rawSpan, usableSize: layout.usableSize, pageCount: pageCount)
        ?? InteriorPage(buffer.rawSpan, number: number, usableSize: layout.usableSize)
    else { return ([], false) }
    let pages = page.cells.map(\.page) + [page.right]
    // The keys of an index are its entries.
    if isIndex { return (pages.map { ChildPage(page: $0, rowIDs: rowIDs) }, true) }
    if try isDeniedByMap(number, pages) { return ([], false) }
    var (children, isSound) = Self.ranges(page, rowIDs)
    // Nearly always, all children are leaves in the right place.
    var areRight = true
    for child in children where areRight { areRight = try isRightLeaf(child) }
    if areRight { return (children, isSound) }
    let own = try children.map { child throws(SQLiteFileError) in try self.own(child.page) }
    let leafCount = own.count { $0?.isLeaf == true }
    let otherCount = own.count { $0?.isLeaf == false }
    // All leaves of a b-tree are at the same depth.
    let areLeaves: Bool? = leafCount == otherCount ? nil : leafCount > otherCount
    func fits(_ place: Int) -> Bool {
      guard let one = own[place] else { return false }
      return children[place].rowIDs.contains(one.rowIDs) && areLeaves != !one.isLeaf
    }
    var fitting = children.indices.filter(fits)
    // If several keys equal the last row id of their child, the keys are right. Otherwise, if the row ids of the
    // children agree with each other but not with the keys, the keys are from another page.
    let exactCount = fitting.count {
      $0 < children.count - 1 && own[$0]?.rowIDs.upperBound == children[$0].rowIDs.upperBound
    }
    var rowCount = 0.0
    for place in fitting {
      guard let rowIDs = own[place]?.rowIDs else { continue }
      rowCount += Double(rowIDs.upperBound) - Double(rowIDs.lowerBound) + 1
    }
    // If a range contains n row ids, a wrong key equals the last of them by chance with a probability of 1/n.
    let bits = Int(max(1, rowCount / Double(max(1, fitting.count))).exponent)
    let chain = Self.ascending(
      children.indices.compactMap { place in
        guard let one = own[place], rowIDs.contains(one.rowIDs), areLeaves != !one.isLeaf else {
          return nil
        }
        return (place, one.rowIDs)
      })
    if chain.count > fitting.count, exactCount * max(2, bits) < leafCount || exactCount < 2 {
      fitting = chain
      isSound = false
      for (index, place) in chain.enumerated() {
        let last = index > 0 ? own[chain[index - 1]]?.rowIDs.upperBound : nil
        let next = index + 1 < chain.count ? own[chain[index + 1]]?.rowIDs.lowerBound : nil
        let range = Self.between(last, next, rowIDs, rowIDs)
        if let one = own[place], !children[place].rowIDs.contains(one.rowIDs) {
          falselyKeyed.insert(children[place].page)
        }
        children[place].rowIDs = range
      }
    }
    var before = 0
    for place in children.indices {
      while before < fitting.count, fitting[before] < place { before += 1 }
      if before < fitting.count, fitting[before] == place { continue }
      guard let one = own[place] else {
        children[place].place = .partly
        continue
      }
      if areLeaves == !one.isLeaf {
        children[place].place = .wrong
        continue
      }
      // If a key and this child disagree, the child on the other side of the key shows whether the key is wrong.
      let last =
        before > 0 && fitting[before - 1] == place - 1
        ? own[fitting[before - 1]]?.rowIDs.upperBound : nil
      let next =
        before < fitting.count && fitting[before] == place + 1
        ? own[fitting[before]]?.rowIDs.lowerBound : nil
      let gap = Self.between(last, next, children[place].rowIDs, rowIDs)
      if last != nil || next != nil, gap.contains(one.rowIDs) {
        children[place].rowIDs = gap
        falselyKeyed.insert(children[place].page)
      } else {
        children[place].place = try self.place(of: place, among: children, isLeaf: one.isLeaf)
      }
    }
    let wrongCount = children.count { $0.place == .wrong }
    if wrongCount * 2 > leafCount + otherCount { return ([], false) }
    if (leafCount + otherCount) * 4 < children.count {
      var balance = 0
      for child in children { balance += try tableVote(child.page) }
      if balance < 0 { return ([], false) }
    }
    return (children, isSound)
  }

  /// Whether the pointer map shows that the interior page `number` is the wrong page at this page number. `children`
  /// are the pages to which the interior page leads. Three facts are required:
  /// - The pointer map does not name `number` as the parent of any of `children`.
  /// - The pointer map names `number` as the parent of at least two other table pages to which no interior page leads.
  ///   They are at least as many as `children`.
  /// - At least one of `children` is not a table page. If all are table pages, the interior page is trusted more than
  ///   the pointer map.
  private func isDeniedByMap(_ number: UInt32, _ children: [UInt32]) throws(SQLiteFileError) -> Bool
  {
    guard map.isPresent else { return false }
    var isContradicted = false
    for child in children {
      guard let entry = try map.entry(of: child, &reader) else { return false }
      if entry.kind == .bTree, entry.parent == number { return false }
      if try tableVote(child) < 0 { isContradicted = true }
    }
    guard isContradicted else { return false }
    if mappedChildren == nil {
      var counts = PageValues<UInt32>(repeating: 0, count: Int(pageCount) + 1)
      try map.forEachEntry(&reader) { page, entry in
        guard entry.kind == .bTree, census.parent(page) == 0 else { return }
        guard [.tableLeaf, .tableInterior].contains(census.kind(page)) else { return }
        counts[Int(entry.parent)] += 1
      }
      mappedChildren = counts
    }
    let others = mappedChildren?[Int(number)] ?? 0
    return others > 1 && others >= children.count
  }

  /// Returns the range of row ids that a child may have: those after `last` and before `next`. If no row id is between
  /// them, returns `all`.
  ///
  /// `last`: the last row id of the previous child. If nil, the range begins at the lower bound of `usual`.
  /// `next`: the first row id of the next child. If nil, the range ends at the upper bound of `usual`.
  private static func between(
    _ last: Int64?, _ next: Int64?, _ usual: ClosedRange<Int64>, _ all: ClosedRange<Int64>
  ) -> ClosedRange<Int64> {
    let least = last.map { $0 == .max ? .max : $0 + 1 } ?? usual.lowerBound
    let most = next.map { $0 == .min ? .min : $0 - 1 } ?? usual.upperBound
    return least <= most ? least...most : all
  }

  /// Returns the longest possible selection of `ranges`, in the given order, whose row ids ascend and do not overlap.
  /// The result contains the `place` of each selected range. The selection is found by patience sorting.
  private static func ascending(_ ranges: [(place: Int, rowIDs: ClosedRange<Int64>)]) -> [Int] {
    // At index n, the index of the range that ends a subsequence of n + 1 ranges. If several ranges do so, this is the
    // range with the lowest upper bound.
    var tails: [Int] = []
    var before = [Int](repeating: -1, count: ranges.count)
    for (index, range) in ranges.enumerated() {
      let length = tails.firstPlace {
        ranges[$0].rowIDs.upperBound >= range.rowIDs.lowerBound
      }
      before[index] = length > 0 ? tails[length - 1] : -1
      if length == tails.count {
        tails.append(index)
      } else if range.rowIDs.upperBound < ranges[tails[length]].rowIDs.upperBound {
        tails[length] = index
      }
    }
    var chain: [Int] = []
    var index = tails.last ?? -1
    while index >= 0 {
      chain.append(ranges[index].place)
      index = before[index]
    }
    return chain.reversed()
  }

  /// Returns the row ids that the keys of the page's parent allow on the page. If the parent is not known or cannot be
  /// read, returns the range of all row ids.
  func place(of page: UInt32) throws(SQLiteFileError) -> ClosedRange<Int64> {
    var buffer = ContiguousArray<UInt8>()
    let parent = census.parent(page)
    guard parent != 0, try reader.copy(parent, into: &buffer) == layout.pageSize,
      let interior = InteriorPage(buffer.rawSpan, number: parent, usableSize: layout.usableSize)
    else { return .min ... .max }
    let children = Self.ranges(interior, .min ... .max).children
    return children.first { $0.page == page }?.rowIDs ?? .min ... .max
  }

  /// Returns the children of an interior page. Each child has the range of row ids that the keys of the page allow in
  /// it. If the page is damaged, or if its keys contradict each other or `rowIDs`, then `isSound` is false, and each
  /// child has the whole range `rowIDs`.
  private static func ranges(_ page: InteriorPage, _ rowIDs: ClosedRange<Int64>) -> (
    children: [ChildPage], isSound: Bool
  ) {
    var least = rowIDs.lowerBound
    var children: [ChildPage] = []
    for cell in page.cells {
      guard page.isSound, cell.key >= least, cell.key < rowIDs.upperBound else {
        let all = page.cells.map(\.page) + [page.right]
        return (all.map { ChildPage(page: $0, rowIDs: rowIDs) }, false)
      }
      children.append(ChildPage(page: cell.page, rowIDs: least...cell.key))
      least = cell.key + 1
    }
    children.append(ChildPage(page: page.right, rowIDs: least...rowIDs.upperBound))
    return (children, page.isSound)
  }

  /// Returns the vote of a child page on whether its parent is a table page. The vote is 1 if the child is a table
  /// page, even a damaged one. The vote is -1 if the child is a page of another kind, or if its page number exceeds the
  /// page count in the database header. The vote is 0 if the child has only zero bytes, or may be missing because the
  /// file was truncated.
  private func tableVote(_ page: UInt32) throws(SQLiteFileError) -> Int {
    switch census.kind(page) {
    case .indexLeaf, .indexInterior, .pointerMap, .trunk: return -1
    case .tableLeaf, .tableInterior, .ruinedLeaf: return 1
    case .zero: return 0
    case .missing:
      // The file may have been truncated, but it never had more pages than its header states.
      guard let header = layout.header, header.isPageCountValid else { return 0 }
      return page > max(pageCount, header.pageCount) ? -1 : 0
    case .other:
      // A table page whose cells are ruined still begins with its page type.
      var buffer = ContiguousArray<UInt8>()
      guard try reader.copy(page, into: &buffer) > 0 else { return 0 }
      return BTreePage.Kind(rawValue: buffer[0])?.isTable == true ? 1 : -1
    }
  }

  private func isRightLeaf(_ child: ChildPage) throws(SQLiteFileError) -> Bool {
    guard census.kind(child.page) == .tableLeaf else { return false }
    if census.outline(child.page).isWithin(child.rowIDs) { return true }
    return try own(child.page).map { child.rowIDs.contains($0.rowIDs) } ?? false
  }

  /// Returns the range of row ids on a table leaf, or of keys on an interior page of a table, from the first cell to
  /// the last. Returns nil for other pages, when the first or the last cell cannot be read, and when the first row id
  /// or key is higher than the last.
  private func own(_ number: UInt32) throws(SQLiteFileError) -> OwnContent? {
    let isLeaf: Bool
    switch census.kind(number) {
    case .tableLeaf: isLeaf = true
    case .tableInterior: isLeaf = false
    default: return nil
    }
    return try Self.own(number, isLeaf, layout, &reader)
  }

  private static func own(
    _ number: UInt32, _ isLeaf: Bool, _ layout: FileLayout, _ reader: inout PageReader
  ) throws(SQLiteFileError) -> OwnContent? {
    guard let page = try reader.page(number) else { return nil }
    return own(page, isLeaf, layout.usableSize)
  }

  private static func own(_ page: RawSpan, _ isLeaf: Bool, _ usable: Int) -> OwnContent? {
    let pointers = isLeaf ? 8 : 12
    let count = Int(page.uint16(at: 3))
    guard count > 0, pointers + 2 * count <= usable else { return nil }
    func key(_ index: Int) -> Int64? {
      var offset = Int(page.uint16(at: pointers + 2 * index))
      guard offset >= pointers + 2 * count, offset + 4 <= usable else { return nil }
      if isLeaf {
        guard let payload = Varint.read(page, at: offset, end: usable) else { return nil }
        offset += payload.length
      } else {
        offset += 4
      }
      return Varint.read(page, at: offset, end: usable).map { Int64(bitPattern: $0.value) }
    }
    guard let first = key(0), let last = key(count - 1), first <= last else { return nil }
    return OwnContent(isLeaf: isLeaf, rowIDs: first...last)
  }

  /// The maximum number of calls of ``mayJudge(_:)`` that return true for one page.
  private static let maxJudgements: UInt8 = 32

  /// Whether a page may be read once more to decide whether it is in the right place in its b-tree. Each call counts as
  /// one reading, and the number of readings of each page is limited: in a malicious file, every cell of every interior
  /// page may lead to the same page.
  func mayJudge(_ page: UInt32) -> Bool {
    guard page <= pageCount, judgements[Int(page)] < Self.maxJudgements else { return false }
    judgements[Int(page)] += 1
    return true
  }

  /// Returns the ``ChildPlace`` of a child whose first or last row id or key is outside the range that the parent's
  /// keys allow. `place` is the index of the child in `children`.
  private func place(of place: Int, among children: [ChildPage], isLeaf: Bool)
    throws(SQLiteFileError) -> ChildPlace
  {
    let rowIDs = children[place].rowIDs
    guard mayJudge(children[place].page) else { return .wrong }
    guard isLeaf else {
      var buffer = ContiguousArray<UInt8>()
      _ = try reader.copy(children[place].page, into: &buffer)
      let page = InteriorPage(
        buffer.rawSpan, number: children[place].page, usableSize: layout.usableSize)
      let keys = page?.cells.map(\.key) ?? []
      // If at least half of the keys are in the allowed range, the page is in the right place, and the other keys are
      // wrong.
      return keys.count(where: rowIDs.contains) * 2 >= keys.count ? .right : .wrong
    }
    var isTorn = false
    var rows = try records(of: children[place].page, &isTorn)
    let count = rows.count
    for rowID in rows.keys where rowIDs.contains(rowID) { rows[rowID] = nil }
    // On a torn page, several row ids outside the range show that a part of the page is from another page.
    if rows.isEmpty || (isTorn && count - rows.count > 1) { return .partly }
    // If this is an earlier version of the right page, some of its rows were later moved to a neighbouring page, so
    // both pages have these rows. If this is a page of another database, it has other rows under the same row ids. A
    // single row may have a wrong row id.
    var same = 0
    var other = 0
    for next in [place - 1, place + 1] where children.indices.contains(next) {
      guard census.kind(children[next].page) == .tableLeaf else { continue }
      for (rowID, record) in try records(of: children[next].page, &isTorn) {
        guard let here = rows[rowID] else { continue }
        if here == record { same += 1 } else { other += 1 }
      }
    }
    if same > other { return .partly }
    if other > max(1, same) { return .wrong }
    return rows.count * 2 < count ? .partly : .wrong
  }

  /// Returns the records of a leaf by row id. Each record has only its bytes on the leaf itself, not those on overflow
  /// pages. Cells without a known row id are left out.
  ///
  /// `isTorn`: set to whether any cells were found without valid cell pointers.
  func records(of page: UInt32, _ isTorn: inout Bool) throws(SQLiteFileError) -> [Int64:
    ContiguousArray<UInt8>]
  {
    var buffer = ContiguousArray<UInt8>()
    let available = try reader.copy(page, into: &buffer)
    var reading = newReading()
    reading.read(buffer.rawSpan, number: page, available: available, shape: nil)
    isTorn = reading.method != .pointers
    var records: [Int64: ContiguousArray<UInt8>] = [:]
    for cell in reading.cells where cell.hasRowID {
      records[cell.rowID] = ContiguousArray(
        buffer[cell.record..<min(cell.record + cell.local, available)])
    }
    return records
  }

  /// Returns the range of a leaf's row ids. Nil if the leaf has no rows, or if its cell pointers or row ids are
  /// damaged.
  func rowIDs(of page: UInt32) throws(SQLiteFileError) -> ClosedRange<Int64>? {
    try rowIDRanges(of: page)?.all
  }

  /// Returns two ranges of a leaf's row ids; nil if the leaf has no rows, or if its cell pointers or row ids are
  /// damaged.
  ///
  /// `all` is the range from the first to the last row id. `inner` leaves out these two row ids, because one of them
  /// may be wrong. On a leaf with fewer than three rows, `inner` equals `all`.
  func rowIDRanges(of page: UInt32) throws(SQLiteFileError) -> (
    all: ClosedRange<Int64>, inner: ClosedRange<Int64>
  )? {
    var buffer = ContiguousArray<UInt8>()
    guard let reading = try reading(of: page, &buffer), reading.method == .pointers,
      let first = reading.cells.first, let last = reading.cells.last
    else { return nil }
    let count = reading.cells.count
    let margin = count > 2 ? 1 : 0
    let second = reading.cells[margin].rowID
    let secondLast = reading.cells[count - 1 - margin].rowID
    guard first.rowID <= last.rowID, second <= secondLast else { return nil }
    return (first.rowID...last.rowID, second...secondLast)
  }
}

extension ClosedRange {
  func contains(_ other: ClosedRange) -> Bool {
    lowerBound <= other.lowerBound && other.upperBound <= upperBound
  }
}
