import SQLiteFile

/// A b-tree as far as a walk down from its root came, by pages that agree with those that lead to them.
///
/// The order in which witnesses are heard: the schema names a root; what whole pages lead to from there is live,
/// whatever else is said of it. Where pages on the way are missing or ruined, the tree has holes: row ids that it says
/// nothing about. Only leaves with row ids in a hole may be of the tree still, by the word of the pointer map, of the
/// free list, and of their rows, in this order. A tree without holes has all its leaves: what else looks like
/// one of them is of the past.
struct WalkedTree {
  /// A page that is missing or ruined.
  private struct Hole {
    let rowIDs: ClosedRange<Int64>
    /// The steps that the page is away from the root.
    let depth: Int
    /// Whether the page is another one than that which the tree means, which may be anywhere.
    let isMisled: Bool
  }

  private var holes: [Hole] = []
  private var isFull = false
  /// The steps that leaves are away from the root; nil where none was met.
  var leafDepth: Int?
  /// Row ids of all that is missing, in order.
  private(set) var lost: [ClosedRange<Int64>] = []
  /// Those of which leaves may be left that only lost pages led to. A single leaf stood on the very page that is ruined.
  private(set) var open: [ClosedRange<Int64>] = []

  /// Holes that are told apart.
  private static let mostHoles = 1 << 16

  var isWhole: Bool { lost.isEmpty }

  mutating func addHole(_ rowIDs: ClosedRange<Int64>, depth: Int, isMisled: Bool) {
    isFull = isFull || holes.count == Self.mostHoles
    if !isFull { holes.append(Hole(rowIDs: rowIDs, depth: depth, isMisled: isMisled)) }
  }

  /// Notes, when the walk has ended, that a leaf is another one than the tree means.
  mutating func lose(_ rowIDs: ClosedRange<Int64>) {
    lost = Self.joined(lost + [rowIDs])
    open = Self.joined(open + [rowIDs])
  }

  /// Ends the walk.
  mutating func close() {
    if isFull { holes = [Hole(rowIDs: .min ... .max, depth: 0, isMisled: true)] }
    lost = Self.joined(holes.map(\.rowIDs))
    open = Self.joined(holes.filter { $0.isMisled || $0.depth != leafDepth }.map(\.rowIDs))
    holes = []
  }

  /// Ranges in order, those that overlap as one.
  private static func joined(_ ranges: [ClosedRange<Int64>]) -> [ClosedRange<Int64>] {
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

  /// Whether a leaf with such row ids may be one that pages of the tree led to before they were lost.
  ///
  /// `isInUse`: whether the page is known not to be free.
  func hasRoom(for rowIDs: ClosedRange<Int64>, isInUse: Bool) -> Bool {
    let holes = isInUse ? lost : open
    let place = holes.firstPlace { $0.upperBound >= rowIDs.upperBound }
    return place < holes.count && holes[place].lowerBound <= rowIDs.lowerBound
  }

  /// Whether a leaf's row ids begin and end where something missing from the tree does.
  ///
  /// `step`: how far a row id of the leaf is from the next one at most.
  /// `isEmptied`: whether rows may have been deleted from the leaf; then one of both is enough.
  func isFilled(by rowIDs: ClosedRange<Int64>, step: UInt64, isEmptied: Bool) -> Bool {
    let place = lost.firstPlace { $0.upperBound >= rowIDs.upperBound }
    guard place < lost.count, lost[place].lowerBound <= rowIDs.lowerBound else { return false }
    let (least, most) = (lost[place].lowerBound, lost[place].upperBound)
    // A key is the last row id before it; the next one is a step away.
    let begins = least == .min || UInt64(bitPattern: rowIDs.lowerBound &- least) < step
    let ends = most == rowIDs.upperBound || most == .max
    return isEmptied ? begins || ends : begins && ends
  }
}

extension DamagedDatabase {
  /// A page that the walk comes to.
  private struct Step {
    let page: UInt32
    let parent: UInt32
    let depth: Int
    /// The row ids that the page has for its own.
    let rowIDs: ClosedRange<Int64>
    /// Whether it may hold others, too.
    var isNarrowed = false
  }

  /// How deep b-trees can be (BTCURSOR_MAX_DEPTH of SQLite's is 20).
  private static let deepestWalk = 24
  /// Leaves below a page without header that are read to confirm its keys.
  private static let mostAsked = 16

  /// Walks the schema's own b-tree.
  func walkSchemaTree() throws(SQLiteFileError) -> WalkedTree {
    var contradictions: [UInt32] = []
    let tree = try walk(from: 1, false, [], &contradictions)
    report(contradictions)
    return tree
  }

  /// Walks the b-trees that the schema names. Only pages above leaves are read, and leaves of which something
  /// else is said.
  func walkTrees() throws(SQLiteFileError) {
    var named: Set<UInt32> = []
    for entry in schemaEntries where entry.rootPage > 1 { named.insert(entry.rootPage) }
    var contradictions: [UInt32] = []
    // A root inside another b-tree is none; whether that b-tree leads to it shows when it is walked.
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
      entry.type != "table" || entry.rootPage < 2 || walks[entry.rootPage]?.isWhole == true
    }
    isWhole = isSchemaWhole && walks[1]?.isWhole == true && areTablesWhole
    if isWhole {
      census.forgetUnreachedParents()
      trees = PageSet(pageCount: pageCount)
      interiors = PageSet(pageCount: pageCount)
    } else {
      try walkRemains()
    }
    report(contradictions)
    census.rejected.forEach(reportMisplaced)
  }

  /// Compares the pages below the interior pages that nothing leads to any more with the keys there.
  private func walkRemains() throws(SQLiteFileError) {
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
            _ = denied.insert(child.page)
          case .partly: narrowedByKeys[child.page] = child.rowIDs
          case .right: if isLostInterior(child.page) { pending.append((child.page, child.rowIDs)) }
          }
        }
      }
    }
  }

  /// Whether a page is one above leaves of a table to which no walk came.
  private func isLostInterior(_ page: UInt32) -> Bool {
    page > 1 && census.kind(page) == .tableInterior && !census.reached.contains(page)
      && !census.free.contains(page) && !census.rejected.contains(page)
  }

  func reportMisplaced(_ page: UInt32) {
    findings.add(
      Finding(
        "page.misplaced",
        "the page is not the one that the b-tree means: its rows or keys are none that belong there",
        page: page, offset: reader.location(of: page).offset))
  }

  private func report(_ contradictions: [UInt32]) {
    guard let first = contradictions.min() else { return }
    let count = contradictions.count
    findings.add(
      Finding(
        "page.notFree",
        count == 1
          ? "the page is free by the free list or the pointer map, but a b-tree leads to it; it is read as the b-tree's"
          : "\(count) pages are free by the free list or the pointer map, but b-trees lead to them; they are read as the b-trees'",
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

  /// What a page is that a b-tree leads to: one of an index b-tree is what its header says even where few of its cells hold.
  /// A page of a table that is none by its cells is asked about again where rows are read: a bit makes a leaf an interior one.
  private func kind(of page: UInt32, _ isIndex: Bool) throws(SQLiteFileError) -> PageCensus.Kind {
    let kind = census.kind(page)
    guard kind == .pointerMap || kind == .other else { return kind }
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

  /// Whether a page has lost its header and still leads to leaves of a table, by keys that agree with their row ids.
  private func isTornInterior(_ page: RawSpan) throws(SQLiteFileError) -> Bool {
    guard
      let torn = InteriorPage(
        torn: page, usableSize: layout.usableSize, pageCount: pageCount)
    else { return false }
    let leaves = torn.cells.filter { census.kind($0.page) == .tableLeaf }
    for cell in leaves.prefix(Self.mostAsked) {
      guard let last = try rowIDs(of: cell.page)?.upperBound, last <= cell.key else { return false }
    }
    return leaves.count * 2 > torn.cells.count
  }

  /// Walks one b-tree.
  ///
  /// `isIndex`: whether it has the form of an index, as that of a table WITHOUT ROWID has.
  /// `named`: the roots of all b-trees.
  /// `contradictions`: pages that something calls free.
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
      guard isLeaf || isInterior, !isOthers, step.depth < Self.deepestWalk else {
        tree.addHole(step.rowIDs, depth: step.depth, isMisled: isOthers)
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
          tree.addHole(step.rowIDs, depth: step.depth, isMisled: true)
          continue
        }
        tree.leafDepth = step.depth
      } else {
        let found = try children(of: step.page, isIndex, step.rowIDs)
        if !found.isSound {
          tree.addHole(step.rowIDs, depth: step.depth, isMisled: true)
          if found.children.isEmpty { census.reject(step.page) }
          if isDoubtful || found.children.isEmpty { continue }
        }
        // A page that mostly leads astray may itself be the one that is not in its place.
        let isDoubted = found.children.count { $0.place == .wrong } * 3 > found.children.count
        for child in found.children {
          if child.place == .wrong {
            tree.addHole(child.rowIDs, depth: step.depth + 1, isMisled: true)
            census.reject(child.page)
            if isDoubted { _ = denied.insert(child.page) }
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

  /// Whether all row ids of a leaf, except perhaps the first and the last, are in the range that the keys above allow; where
  /// its pointers are damaged, whether those of three quarters of its cells are.
  private func hasRows(_ page: UInt32, in rowIDs: ClosedRange<Int64>) throws(SQLiteFileError)
    -> Bool
  {
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
