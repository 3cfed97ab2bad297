import SQLiteFile

/// The outcome of a walk down a b-tree from its root: the depth of the leaves, and the holes, which the walk did not
/// reach. The walk only enters pages that agree with their parent page.
///
/// Evidence counts in this order. The schema names a root. A page that sound pages lead to from the root is live, no
/// matter what contradicts it. If pages on the way are missing or ruined, the tree has holes: ranges of row ids that it
/// does not cover. Only leaves with row ids in a hole can still belong to the tree. The pointer map, then the freelist,
/// then the rows of such a leaf decide. A tree without holes has all its leaves, so any other page that looks like one
/// of them is stale.
struct WalkedTree {
  /// The range of row ids of a page that is missing, ruined or misplaced.
  private struct Hole {
    let rowIDs: ClosedRange<Int64>
    /// The depth of the page; the root has depth 0.
    let depth: Int
    /// Whether a wrong page is in the position of the right one, which may be anywhere in the file.
    let isMisplaced: Bool
  }

  private var holes: [Hole] = []
  private var isFull = false
  /// The depth of the leaves, where the root has depth 0; nil when the walk met no leaf.
  var leafDepth: Int?
  /// The row ids of all holes, as ascending ranges that do not overlap.
  private(set) var lost: [ClosedRange<Int64>] = []
  /// The holes whose leaves may still be in another place in the file: a lost interior page led to them, or a wrong
  /// page is in their position. The hole of a ruined leaf is not among them, because its rows were on that page only.
  private(set) var open: [ClosedRange<Int64>] = []

  /// The most holes that are kept; with more, all row ids count as one hole.
  private static let maxHoles = 1 << 16

  var isWhole: Bool { lost.isEmpty }

  mutating func addHole(_ rowIDs: ClosedRange<Int64>, depth: Int, isMisplaced: Bool) {
    isFull = isFull || holes.count == Self.maxHoles
    if !isFull { holes.append(Hole(rowIDs: rowIDs, depth: depth, isMisplaced: isMisplaced)) }
  }

  /// Records, after the walk, that the leaf found for these row ids is not the one that the b-tree means. The row ids
  /// become a hole.
  mutating func lose(_ rowIDs: ClosedRange<Int64>) {
    lost = Self.joined(lost + [rowIDs])
    open = Self.joined(open + [rowIDs])
  }

  /// Ends the walk and joins the holes.
  mutating func close() {
    if isFull { holes = [Hole(rowIDs: .min ... .max, depth: 0, isMisplaced: true)] }
    lost = Self.joined(holes.map(\.rowIDs))
    open = Self.joined(holes.filter { $0.isMisplaced || $0.depth != leafDepth }.map(\.rowIDs))
    holes = []
  }

  /// The ranges in ascending order, overlapping ones joined.
  static func joined(_ ranges: [ClosedRange<Int64>]) -> [ClosedRange<Int64>] {
    var joined: [ClosedRange<Int64>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = joined.last, range.lowerBound <= last.upperBound {
        joined[joined.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        joined.append(range)
      }
    }
    return joined
  }

  /// Whether a leaf with these row ids lies in a hole of the tree, so that it may have been in the tree before pages
  /// were lost.
  ///
  /// `isInUse`: whether the page is known not to be free.
  func hasRoom(for rowIDs: ClosedRange<Int64>, isInUse: Bool) -> Bool {
    let holes = isInUse ? lost : open
    let place = holes.firstPlace { $0.upperBound >= rowIDs.upperBound }
    return place < holes.count && holes[place].lowerBound <= rowIDs.lowerBound
  }

  /// Whether the row ids of a leaf begin and end where a hole of the tree begins and ends.
  ///
  /// `step`: the largest distance between neighbouring row ids of the leaf.
  /// `isEmptied`: whether rows may have been deleted from the leaf; then one matching end is enough.
  func isFilled(by rowIDs: ClosedRange<Int64>, step: UInt64, isEmptied: Bool) -> Bool {
    let place = lost.firstPlace { $0.upperBound >= rowIDs.upperBound }
    guard place < lost.count, lost[place].lowerBound <= rowIDs.lowerBound else { return false }
    let (least, most) = (lost[place].lowerBound, lost[place].upperBound)
    // The hole begins after a key, which is a row id; the next row id is at most a step away.
    let begins = least == .min || UInt64(bitPattern: rowIDs.lowerBound &- least) < step
    let ends = most == rowIDs.upperBound || most == .max
    return isEmptied ? begins || ends : begins && ends
  }
}

extension DamagedDatabase {
  /// A page that the walk reaches.
  private struct Step {
    let page: UInt32
    let parent: UInt32
    let depth: Int
    /// The row ids that the keys of the interior pages above allow the page.
    let rowIDs: ClosedRange<Int64>
    /// Whether the page may also hold row ids outside `rowIDs`.
    var isNarrowed = false
  }

  /// How deep a b-tree can be (SQLite's BTCURSOR_MAX_DEPTH is 20).
  private static let maxWalkDepth = 24
  /// The most leaves that are read to confirm the keys of an interior page without a header.
  private static let maxLeavesRead = 16

  /// Walks the schema's own b-tree.
  func walkSchemaTree() throws(SQLiteFileError) -> WalkedTree {
    var contradictions: [UInt32] = []
    let tree = try walk(from: 1, false, [], &contradictions)
    report(contradictions)
    return tree
  }

  /// Walks the b-trees that the schema names. Of the leaves, only those about which sources disagree are read.
  func walkTrees() throws(SQLiteFileError) {
    var named: Set<UInt32> = []
    for entry in schemaEntries where entry.rootPage > 1 { named.insert(entry.rootPage) }
    var contradictions: [UInt32] = []
    // A page inside another b-tree is not a root; the walk of that b-tree shows whether it leads there.
    var later: [SchemaEntry] = []
    for entry in schemaEntries where entry.rootPage > 1 && walks[entry.rootPage] == nil {
      if entry.type == "table", try isChild(entry.rootPage) {
        later.append(entry)
      } else {
        walks[entry.rootPage] = try walk(from: entry, named, &contradictions)
      }
    }
    for entry in later where !census.reached.contains(entry.rootPage) {
      walks[entry.rootPage] = try walk(from: entry, named, &contradictions)
    }
    let areTablesWhole = schemaEntries.allSatisfy { entry in
      entry.type != "table" || (entry.rootPage < 2 && !entry.lacksRoot)
        || walks[entry.rootPage]?.isWhole == true
    }
    isWhole = isSchemaWhole && walks[1]?.isWhole == true && areTablesWhole
    if isWhole {
      census.forgetUnreachedParents()
      mappedTreePages = PageSet(pageCount: pageCount)
      mappedParents = PageSet(pageCount: pageCount)
    } else {
      try walkOrphanedTrees()
    }
    report(contradictions)
    census.rejected.forEach(reportMisplaced)
  }

  /// Compares the pages below orphan interior pages of tables with the keys of those interior pages, and rejects the
  /// wrong ones.
  private func walkOrphanedTrees() throws(SQLiteFileError) {
    var met = PageSet(pageCount: pageCount)
    var page: UInt32 = 2
    while page <= pageCount {
      page = census.next(from: page)
      defer { page += 1 }
      guard isLostInterior(page), !isLostInterior(census.parent(page)) else { continue }
      var pending: [(page: UInt32, rowIDs: ClosedRange<Int64>)] = [(page, .min ... .max)]
      while let step = pending.popLast() {
        guard met.insert(step.page) else { continue }
        for child in try children(of: step.page, false, step.rowIDs).children
        where !census.reached.contains(child.page) && census.parent(child.page) == step.page {
          switch child.place {
          case .wrong:
            census.reject(child.page)
            _ = doubtfullyRejected.insert(child.page)
          case .partly: narrowedByKeys[child.page] = child.rowIDs
          case .right: if isLostInterior(child.page) { pending.append((child.page, child.rowIDs)) }
          }
        }
      }
    }
  }

  /// Whether a page is a table interior page that no walk reached.
  private func isLostInterior(_ page: UInt32) -> Bool {
    page > 1 && census.kind(page) == .tableInterior && !census.reached.contains(page)
      && !census.free.contains(page) && !census.rejected.contains(page)
  }

  func reportMisplaced(_ page: UInt32) {
    findings.add(
      Finding(
        .pageMisplaced,
        "a b-tree leads to this page, but the page's rows or keys do not fit its place in the b-tree",
        page: page, offset: reader.location(of: page).offset))
  }

  private func report(_ contradictions: [UInt32]) {
    guard let first = contradictions.min() else { return }
    let count = contradictions.count
    findings.add(
      Finding(
        .pageNotFree,
        count == 1
          ? "the freelist or the pointer map calls this page free, but a b-tree leads to it; it is read as a page of the b-tree"
          : "the freelist or the pointer map calls \(count) pages free, but b-trees lead to them; they are read as pages of the b-trees",
        severity: .note, page: first, offset: reader.location(of: first).offset))
  }

  private func walk(
    from entry: SchemaEntry, _ named: Set<UInt32>, _ contradictions: inout [UInt32]
  ) throws(SQLiteFileError) -> WalkedTree {
    let isIndex =
      entry.type == "table"
      ? entry.sql.flatMap { TableDefinition(sql: $0) }?.isWithoutRowID
        ?? census.kind(entry.rootPage).isIndex
      : true
    return try walk(from: entry.rootPage, isIndex, named, &contradictions)
  }

  /// The kind of a page that a b-tree leads to. An index page is what its header says, even when few of its cells are
  /// valid. A table page whose cells are not valid is judged again when rows are read, because one flipped bit makes a
  /// leaf an interior page.
  private func kind(of page: UInt32, _ isIndex: Bool) throws(SQLiteFileError) -> PageCensus.Kind {
    let kind = census.kind(page)
    guard kind == .pointerMap || kind == .other, mayJudge(page) else { return kind }
    var buffer = ContiguousArray<UInt8>()
    guard try reader.copy(page, into: &buffer) == layout.pageSize else { return kind }
    if !isIndex, try isTornInterior(buffer.rawSpan) {
      census.set(page, .tableInterior)
      return .tableInterior
    }
    guard
      let header = try? BTreePage(
        parsing: buffer.rawSpan, number: page, usableSize: layout.usableSize),
      header.kind.isTable != isIndex, kind == .pointerMap || isIndex
    else { return kind }
    census.set(page, PageCensus.Kind(header.kind))
    return census.kind(page)
  }

  /// Whether a page that has lost its header is still an interior page of a table: its cells lead to table leaves, and
  /// its keys agree with their row ids.
  private func isTornInterior(_ page: RawSpan) throws(SQLiteFileError) -> Bool {
    guard
      let torn = InteriorPage(
        torn: page, usableSize: layout.usableSize, pageCount: pageCount)
    else { return false }
    let leaves = torn.cells.filter { census.kind($0.page) == .tableLeaf }
    var agreeing = 0
    for cell in leaves.prefix(Self.maxLeavesRead) {
      // A leaf whose row ids are in doubt says nothing.
      guard let last = try rowIDs(of: cell.page)?.upperBound else { continue }
      guard last <= cell.key else { return false }
      agreeing += 1
    }
    return agreeing > 0 && leaves.count * 2 > torn.cells.count
  }

  /// Walks one b-tree.
  ///
  /// `isIndex`: whether the b-tree has index pages, like the b-tree of an index or of a WITHOUT ROWID table.
  /// `named`: the roots of all b-trees.
  /// `contradictions`: receives the pages of the b-tree that the freelist or the pointer map calls free.
  private func walk(
    from root: UInt32, _ isIndex: Bool, _ named: Set<UInt32>, _ contradictions: inout [UInt32]
  ) throws(SQLiteFileError) -> WalkedTree {
    var tree = WalkedTree()
    var pending = [Step(page: root, parent: 0, depth: 0, rowIDs: .min ... .max)]
    while let step = pending.popLast() {
      let kind = try kind(of: step.page, isIndex)
      let isLeaf = kind == (isIndex ? .indexLeaf : .tableLeaf)
      let isInterior = kind == (isIndex ? .indexInterior : .tableInterior)
      let isOthers = census.reached.contains(step.page)
      guard isLeaf || isInterior, !isOthers, step.depth < Self.maxWalkDepth else {
        tree.addHole(step.rowIDs, depth: step.depth, isMisplaced: isOthers)
        if step.depth > 0 {
          census.miss(step.page, from: step.parent)
          if step.isNarrowed, !isOthers { narrowedByKeys[step.page] = step.rowIDs }
        }
        continue
      }
      let isDoubtful =
        step.depth > 0
        && (census.disputed.contains(step.page) || census.free.contains(step.page)
          || named.contains(step.page))
      if isLeaf {
        if isDoubtful, !isIndex, try !hasRows(step.page, in: step.rowIDs) {
          tree.addHole(step.rowIDs, depth: step.depth, isMisplaced: true)
          continue
        }
        tree.leafDepth = step.depth
      } else {
        let found = try children(of: step.page, isIndex, step.rowIDs)
        if !found.isSound {
          tree.addHole(step.rowIDs, depth: step.depth, isMisplaced: true)
          if found.children.isEmpty { census.reject(step.page) }
          if isDoubtful || found.children.isEmpty { continue }
        }
        // When more than a third of the children are wrong, the interior page itself may be the wrong one.
        let isDoubted = found.children.count { $0.place == .wrong } * 3 > found.children.count
        for child in found.children {
          if child.place == .wrong {
            tree.addHole(child.rowIDs, depth: step.depth + 1, isMisplaced: true)
            census.reject(child.page)
            if isDoubted { _ = doubtfullyRejected.insert(child.page) }
          } else {
            pending.append(
              Step(
                page: child.page, parent: step.page, depth: step.depth + 1, rowIDs: child.rowIDs,
                isNarrowed: child.place == .partly))
          }
        }
      }
      if step.isNarrowed, !census.reached.contains(step.page) {
        narrowedByKeys[step.page] = step.rowIDs
      }
      if census.reach(step.page, from: step.parent) { contradictions.append(step.page) }
    }
    tree.close()
    return tree
  }

  /// Whether all row ids of a leaf, except perhaps the first and the last, are in `rowIDs`, the range that the keys
  /// above allow. On a leaf with damaged pointers, more than three quarters in the range are enough.
  private func hasRows(_ page: UInt32, in rowIDs: ClosedRange<Int64>) throws(SQLiteFileError)
    -> Bool
  {
    guard mayJudge(page) else { return false }
    if let own = try rowIDRanges(of: page)?.inner { return rowIDs.contains(own) }
    var isTorn = false
    let own = try records(of: page, &isTorn).keys
    return isTorn && own.count { rowIDs.contains($0) } * 4 > own.count * 3
  }
}

extension PageCensus.Kind {
  var isIndex: Bool { self == .indexLeaf || self == .indexInterior }

  init(_ kind: BTreePage.Kind) {
    self =
      switch kind {
      case .leafTable: .tableLeaf
      case .interiorTable: .tableInterior
      case .leafIndex: .indexLeaf
      case .interiorIndex: .indexInterior
      }
  }
}
