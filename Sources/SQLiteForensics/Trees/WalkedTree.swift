import SQLiteFile

/// The result of a walk down a b-tree from the root page that the schema names: the depth of the leaves, and the holes.
///
/// The walk enters only pages that agree with the keys of their parent page. A missing, ruined or misplaced page leaves
/// a hole: a range of row ids that the walk did not reach. The pages that the walk did reach are live, whatever other
/// evidence says.
///
/// A leaf that the walk did not reach can belong to the b-tree only if the row ids of the leaf are in a hole. Then the
/// pointer map, the freelist and the rows of the leaf decide, in this order. If the b-tree has no holes, the walk has
/// reached all its leaves, so any other leaf that looks like one of them is stale.
struct WalkedTree {
  /// A position in the b-tree whose page is missing, ruined or misplaced, and the row ids that the keys allow there.
  private struct Hole {
    let rowIDs: ClosedRange<Int64>
    /// The depth of this position in the b-tree. The root page has depth 0.
    let depth: Int
    /// Whether the page at this position belongs to another position. If so, the page that belongs here may be
    /// elsewhere in the file.
    let isMisplaced: Bool
  }

  private var holes: [Hole] = []
  private var isFull = false
  /// The depth of the leaves, where the root page has depth 0; nil if the walk reached no leaf.
  var leafDepth: Int?
  /// The ranges of row ids that the walk did not reach, in ascending order and without overlaps.
  private(set) var lost: [ClosedRange<Int64>] = []
  /// The ranges of row ids whose rows may be on pages elsewhere in the file, in ascending order and without overlaps.
  /// The row ids of a ruined leaf are not included, because their rows were only on this leaf.
  private(set) var open: [ClosedRange<Int64>] = []

  /// The maximum number of holes that are stored. A hole is a range of row ids that the walk did not reach. If there
  /// are more holes, a single hole with all row ids replaces them.
  private static let maxHoles = 1 << 16

  var isWhole: Bool { lost.isEmpty }

  mutating func addHole(_ rowIDs: ClosedRange<Int64>, depth: Int, isMisplaced: Bool) {
    isFull = isFull || holes.count == Self.maxHoles
    if !isFull { holes.append(Hole(rowIDs: rowIDs, depth: depth, isMisplaced: isMisplaced)) }
  }

  /// Adds the row ids of a leaf to ``lost`` and ``open``, because the walk has reached the leaf, but the leaf does not
  /// belong to the b-tree. `rowIDs`: the row ids that the keys of the parent pages allow on the leaf.
  mutating func lose(_ rowIDs: ClosedRange<Int64>) {
    lost = Self.joined(lost + [rowIDs])
    open = Self.joined(open + [rowIDs])
  }

  /// Ends the walk, and sets ``lost`` and ``open`` to the row ids of the holes found.
  mutating func close() {
    if isFull { holes = [Hole(rowIDs: .min ... .max, depth: 0, isMisplaced: true)] }
    lost = Self.joined(holes.map(\.rowIDs))
    open = Self.joined(holes.filter { $0.isMisplaced || $0.depth != leafDepth }.map(\.rowIDs))
    holes = []
  }

  /// Returns the ranges in ascending order. Ranges that overlap are joined.
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

  /// Whether the row ids of a leaf are all in one hole of the b-tree, so that the leaf may belong there.
  ///
  /// `isInUse`: whether the leaf is known not to be a free page. If true, all holes in ``lost`` count. If false, only
  /// the holes in ``open`` count.
  func hasRoom(for rowIDs: ClosedRange<Int64>, isInUse: Bool) -> Bool {
    let holes = isInUse ? lost : open
    let place = holes.firstPlace { $0.upperBound >= rowIDs.upperBound }
    return place < holes.count && holes[place].lowerBound <= rowIDs.lowerBound
  }

  /// Whether the row ids of a leaf fill a hole in the b-tree: the first row id is at the start of the hole, and the
  /// last row id at the end.
  ///
  /// `step`: the maximum difference between consecutive row ids of the leaf.
  /// `isEmptied`: whether rows may have been deleted from the leaf. If true, it is enough that one of the two row ids
  /// fits.
  func isFilled(by rowIDs: ClosedRange<Int64>, step: UInt64, isEmptied: Bool) -> Bool {
    let place = lost.firstPlace { $0.upperBound >= rowIDs.upperBound }
    guard place < lost.count, lost[place].lowerBound <= rowIDs.lowerBound else { return false }
    let (least, most) = (lost[place].lowerBound, lost[place].upperBound)
    // A hole begins directly after a key, and a key is usually the last row id of the previous leaf. So the first row
    // id in the hole is at most `step` higher than the key.
    let begins = least == .min || UInt64(bitPattern: rowIDs.lowerBound &- least) < step
    let ends = most == rowIDs.upperBound || most == .max
    return isEmptied ? begins || ends : begins && ends
  }
}

extension DamagedDatabase {
  private struct Step {
    let page: UInt32
    let parent: UInt32
    let depth: Int
    /// The row ids that may be on ``page`` or below it, according to the keys on all pages above it in the b-tree.
    let rowIDs: ClosedRange<Int64>
    /// Whether the page may also contain rows that belong on other pages, and whose row ids are outside ``rowIDs``; see
    /// ``ChildPlace/partly``.
    var isNarrowed = false
  }

  /// The maximum number of levels of a b-tree that a walk visits. (SQLite's BTCURSOR_MAX_DEPTH is 20.)
  private static let maxWalkDepth = 24
  /// The maximum number of leaves that ``isTornInterior(_:)`` reads to confirm the keys of a page.
  private static let maxLeavesRead = 16

  func walkSchemaTree() throws(SQLiteFileError) -> WalkedTree {
    var contradictions: [UInt32] = []
    let tree = try walk(from: 1, false, [], &contradictions)
    report(contradictions)
    return tree
  }

  /// Walks the b-trees that the schema names, and sets ``walks`` and ``isWhole``. Leaves are read only if evidence
  /// about them disagrees, for example if the freelist names a leaf that a b-tree leads to.
  func walkTrees() throws(SQLiteFileError) {
    var named: Set<UInt32> = []
    for entry in schemaEntries where entry.rootPage > 1 { named.insert(entry.rootPage) }
    var contradictions: [UInt32] = []
    // A page that the schema names as a root page, but that is a child of another page, is probably not a root page. So
    // a walk starts from this page only if the walks of the other b-trees have not reached the page.
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

  /// Walks the b-tree of `table`, which was not in the schema, from its root page `root`.
  func walkTree(of table: ExpectedTable, _ root: UInt32) throws(SQLiteFileError) {
    var contradictions: [UInt32] = []
    walks[root] = try walk(from: root, table.definition.isWithoutRowID, [], &contradictions)
    report(contradictions)
  }

  /// Checks the pages below each table interior page that no walk has reached. Marks the child pages whose content does
  /// not fit the keys of the interior page as misplaced.
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

  /// Returns the kind of a page in a b-tree. If the census gives the kind `other` or `pointerMap`, the page is examined
  /// again.
  ///
  /// In the b-tree of an index, the type byte in the page header decides, even if few cells are valid. In the b-tree of
  /// a table, the type byte of a page with invalid cells is not trusted, because one flipped bit turns a leaf into an
  /// interior page.
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

  /// Whether a page that has lost its header was an interior page of a table. If so, most child pages in its cells are
  /// table leaves, and the row ids of these leaves agree with the keys in the cells.
  private func isTornInterior(_ page: RawSpan) throws(SQLiteFileError) -> Bool {
    guard
      let torn = InteriorPage(
        torn: page, usableSize: layout.usableSize, pageCount: pageCount)
    else { return false }
    let leaves = torn.cells.filter { census.kind($0.page) == .tableLeaf }
    var agreeing = 0
    for cell in leaves.prefix(Self.maxLeavesRead) {
      // A leaf whose row ids are in doubt neither confirms nor contradicts the key.
      guard let last = try rowIDs(of: cell.page)?.upperBound else { continue }
      guard last <= cell.key else { return false }
      agreeing += 1
    }
    return agreeing > 0 && leaves.count * 2 > torn.cells.count
  }

  /// Walks the b-tree with the root page `root`.
  ///
  /// `isIndex`: whether the b-tree consists of index pages, because it is an index or a WITHOUT ROWID table.
  /// `named`: the root pages of all b-trees in the schema. If the walk finds one of them below `root`, the page is in
  /// doubt.
  /// `contradictions`: the walk appends the pages of the b-tree that the freelist or the pointer map calls free.
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
        // If more than a third of the children are in the wrong place, the interior page may be the wrong one instead.
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

  /// Whether all row ids of a leaf, except the first and the last, are in `rowIDs`, the range that the keys of the
  /// leaf's ancestors allow. If the leaf's cell pointers are damaged, it is enough that more than three quarters of its
  /// row ids are in the range.
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
