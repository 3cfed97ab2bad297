import SQLiteFile

/// Whether a page is the right child for the position at which an interior page leads to it.
enum ChildPlace {
  /// The page's row ids agree with the parent's keys, or neighbouring pages show that one of these keys is wrong.
  case right
  /// Some row ids on the page may belong to other pages, because the page is in an earlier version, or because a part
  /// of it was overwritten with another page.
  case partly
  /// Another page belongs at this position of the b-tree.
  case wrong
}

struct ChildPage {
  let page: UInt32
  /// The row ids that the parent's keys allow.
  var rowIDs: ClosedRange<Int64>
  var place = ChildPlace.right
}

extension DamagedDatabase {
  /// Whether a child page is a leaf, and the row ids or keys that its own cells have.
  private struct OwnContent {
    let isLeaf: Bool
    /// The range from the first to the last row id of a leaf, or key of an interior page.
    let rowIDs: ClosedRange<Int64>
  }

  /// The children of an interior page in key order, with the row ids that the keys of the interior page allow on each
  /// child.
  ///
  /// The content of each child is compared with the keys before and after it. If they disagree, the neighbouring
  /// children decide: if a child's row ids fit between theirs, the child is in the right place and the key is wrong.
  ///
  /// - Parameters:
  ///   - number: the page number of the interior page.
  ///   - isIndex: whether the interior page belongs to an index. If so, its keys are not compared.
  ///   - rowIDs: the row ids that are allowed below the interior page.
  /// - Returns: the children, and whether the interior page contradicts neither itself nor `rowIDs`. `children` is
  ///   empty when most children belong elsewhere or are not table pages, because the interior page itself is then in
  ///   the wrong place.
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
    // Keys that equal the last row ids of several children are right. Otherwise, if the children agree with each other
    // but not with the keys, the keys are from another page.
    let exactCount = fitting.count {
      $0 < children.count - 1 && own[$0]?.rowIDs.upperBound == children[$0].rowIDs.upperBound
    }
    var rowCount = 0.0
    for place in fitting {
      guard let rowIDs = own[place]?.rowIDs else { continue }
      rowCount += Double(rowIDs.upperBound) - Double(rowIDs.lowerBound) + 1
    }
    // If the row ids of a page span a range of n, a wrong key equals the last row id by chance in one of n cases.
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
      // A wrong key contradicts the pages on both sides of it, so the neighbour shows which of the two is right.
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

  /// Whether the pointer map shows that another page had the number `number` when the map was written. Three facts are
  /// required. The map names page `number` as the parent of none of `children`. The map names page `number` as the
  /// parent of at least as many other table pages, to which no interior page leads. At least one of `children` is not a
  /// table page; if all are, the interior page is trusted more than the map.
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

  /// Returns the row ids between `last`, the last row id of the previous page, and `next`, the first row id of the next
  /// page. If one of them is nil, the corresponding bound of `usual` is used. Returns `all` if no row id is between
  /// them.
  private static func between(
    _ last: Int64?, _ next: Int64?, _ usual: ClosedRange<Int64>, _ all: ClosedRange<Int64>
  ) -> ClosedRange<Int64> {
    let least = last.map { $0 == .max ? .max : $0 + 1 } ?? usual.lowerBound
    let most = next.map { $0 == .min ? .min : $0 - 1 } ?? usual.upperBound
    return least <= most ? least...most : all
  }

  /// The places of the longest subsequence of ascending ranges that do not overlap, by patience sorting.
  private static func ascending(_ ranges: [(place: Int, rowIDs: ClosedRange<Int64>)]) -> [Int] {
    // For each length, the index of a range that ends a subsequence of this length. Of all such ranges, it is the one
    // with the lowest upper bound.
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

  /// The row ids that the keys of the page's parent allow on the page; all row ids when the parent is not known or
  /// cannot be read.
  func place(of page: UInt32) throws(SQLiteFileError) -> ClosedRange<Int64> {
    var buffer = ContiguousArray<UInt8>()
    let parent = census.parent(page)
    guard parent != 0, try reader.copy(parent, into: &buffer) == layout.pageSize,
      let interior = InteriorPage(buffer.rawSpan, number: parent, usableSize: layout.usableSize)
    else { return .min ... .max }
    let children = Self.ranges(interior, .min ... .max).children
    return children.first { $0.page == page }?.rowIDs ?? .min ... .max
  }

  /// The children, with the row ids that the keys allow on each. If the keys contradict each other or `rowIDs`, all of
  /// `rowIDs` are allowed on each child, and `isSound` is false.
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

  /// The vote of a child page on whether its parent belongs to a table. The vote is 1 for a page of a table, even a
  /// damaged one. It is -1 for a page of another kind, and for a page number that is higher than the header allows. It
  /// is 0 for a page of zeros, and for a page that may have been lost because the file was truncated.
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

  /// The first and the last row id of a table leaf, or key of an interior page of a table. Nil for other pages, when
  /// the first or the last one cannot be read, and when the first is greater than the last.
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

  /// The maximum number of times that a page is read to find out whether it is in the right place.
  private static let maxJudgements: UInt8 = 32

  /// Whether a page may be read again to find out whether it is in the right place. In a malicious file, every cell of
  /// every interior page may lead to the same page.
  func mayJudge(_ page: UInt32) -> Bool {
    guard page <= pageCount, judgements[Int(page)] < Self.maxJudgements else { return false }
    judgements[Int(page)] += 1
    return true
  }

  /// Judges a child whose first or last row id, or key, is outside the range that the parent's keys allow.
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
    // On a torn page, several row ids outside the range show that a part is from another page.
    if rows.isEmpty || (isTorn && count - rows.count > 1) { return .partly }
    // If this page is an earlier version, it still has rows that were later moved to a neighbouring page. Rows of
    // another store differ from the rows of the neighbouring page. A single row may have a wrong row id.
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

  /// The records of a leaf by row id, without overflow pages and without cells whose row id is in doubt.
  ///
  /// `isTorn`: on return, whether some cells were found by other means than sound cell pointers.
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

  /// The range of a leaf's row ids; nil when the leaf has no rows, or when its row ids are in doubt.
  func rowIDs(of page: UInt32) throws(SQLiteFileError) -> ClosedRange<Int64>? {
    try rowIDRanges(of: page)?.all
  }

  /// Returns two ranges of a leaf's row ids. `all` is the range of all row ids. `inner` leaves out the first and the
  /// last row id, because one of them may be wrong; on a leaf with fewer than three rows, `inner` equals `all`. Nil
  /// when the leaf has no rows, or when its row ids are in doubt.
  func rowIDRanges(of page: UInt32) throws(SQLiteFileError) -> (
    all: ClosedRange<Int64>, inner: ClosedRange<Int64>
  )? {
    var buffer = ContiguousArray<UInt8>()
    let available = try reader.copy(page, into: &buffer)
    guard available > 0 else { return nil }
    var reading = newReading()
    reading.read(buffer.rawSpan, number: page, available: available, shape: nil)
    guard reading.method == .pointers, let first = reading.cells.first,
      let last = reading.cells.last
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
