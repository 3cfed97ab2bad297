extension DamagedDatabase {
  /// A leaf that may be of a b-tree.
  private struct Candidate: Comparable {
    let page: UInt32
    let rowIDs: ClosedRange<Int64>
    /// How many say so, the more trusted ones counted higher.
    let rank: Int

    static func < (one: Candidate, two: Candidate) -> Bool {
      one.rank != two.rank ? one.rank < two.rank : one.span < two.span
    }

    private var span: UInt64 { UInt64(bitPattern: rowIDs.upperBound &- rowIDs.lowerBound) }
  }

  /// Leaves of one table that are compared with each other.
  private static let mostCompared = 1 << 19

  /// Decides which of the leaves that no walk came to are of the past: those of tables whose b-tree is whole, and those whose
  /// row ids are on other pages. See ``WalkedTree`` for the order of witnesses.
  ///
  /// `strangers`: roots, or what is left without one, of b-trees whose rows are of no table.
  func judgeOrphans(strangers: Set<UInt32>) throws(SQLiteFileError) {
    let schema = Set(schemaLeaves)
    // The b-tree of each table; rows may have told of another one than the schema.
    var trees: [Int: UInt32] = [:]
    for (index, table) in tables.enumerated() {
      if let root = table.rootPage, roots[root] == index { trees[index] = root }
    }
    for (root, table) in owners where roots[root] != nil { trees[table] = root }
    // Where the schema lacks tables, what a whole b-tree has no place for may be a row of one of those.
    if !isSchemaWhole {
      for (root, table) in owners
      where roots[root] == nil && trees[table].flatMap({ walks[$0] })?.isWhole == true {
        owners[root] = nil
      }
    }
    let knowsTables =
      isSchemaWhole && tables.allSatisfy { $0.isDescribed || $0.isDropped }
    // Every page of a sound file is of a b-tree, an overflow page, or free.
    let mustBeInUse =
      isFreeListSound && !map.isPresent && layout.header?.isPageCountValid == true
      && layout.header?.pageCount == pageCount && sides == nil
    var stale: [UInt32] = []
    var doubtful: [Int: [UInt32]] = [:]
    try forEachLeaf(roots) { page, root, _ in
      guard !census.reached.contains(page) else { return }
      guard let table = owners[root] else {
        // A page of no table in the place of another one is nobody's.
        if isWhole || (root == 1 && isSchemaWhole) || (knowsTables && strangers.contains(root))
          || isClaimed(page)
        {
          stale.append(page)
        }
        return
      }
      guard let tree = trees[table].flatMap({ walks[$0] }) else {
        // A whole schema names all tables that there are.
        if isSchemaWhole, tables[table].isDropped || tables[table].rootPage == nil {
          stale.append(page)
        }
        return
      }
      // A root that is a leaf may be another page than the schema means; what it led to nothing claims then.
      let mayBeLost =
        mustBeInUse && tree.leafDepth == 0 && !census.free.contains(page) && !isClaimed(page)
      if tree.isWhole && !mayBeLost {
        stale.append(page)
      } else if !schema.contains(page) {
        doubtful[table, default: []].append(page)
      }
    }
    for (table, pages) in doubtful where pages.count <= Self.mostCompared {
      guard let root = trees[table], let tree = walks[root] else { continue }
      var candidates: [UInt32] = []
      for page in pages {
        if census.rejected.contains(page), try !holdsRows(of: table, page) {
          stale.append(page)
        } else {
          candidates.append(page)
        }
      }
      stale += try staleLeaves(among: candidates, tree, root)
    }
    for page in stale { census.setStale(page) }
  }

  /// Whether something leads to a page that no walk of a table's b-tree came to: an index, a b-tree that means another page,
  /// or an overflow chain.
  private func isClaimed(_ page: UInt32) -> Bool {
    let parent = census.parent(page)
    return census.followed.contains(page) || census.rejected.contains(page)
      || (census.reached.contains(parent) && parent != 0)
  }

  /// Of leaves that may fill the holes of a table's b-tree those that do not: they have row ids that are elsewhere.
  private func staleLeaves(among pages: [UInt32], _ tree: WalkedTree, _ root: UInt32)
    throws(SQLiteFileError) -> [UInt32]
  {
    var stale: [UInt32] = []
    var own: [ClosedRange<Int64>] = []
    for page in 2...max(2, pageCount)
    where census.reached.contains(page) && census.kind(page) == .tableLeaf {
      guard try self.root(of: page, roots).page == root,
        let rowIDs = try rowIDs(of: page, inner: true)
      else { continue }
      own.append(rowIDs)
    }
    var taken = RowIDRanges()
    taken.add(own)
    var candidates: [Candidate] = []
    for page in pages {
      // What nothing is known of stays as it is.
      guard let own = try rowIDs(of: page, inner: true) else { continue }
      // Of a page that is not the one that is meant its number says nothing.
      let isElsewhere = census.rejected.contains(page)
      let entry = isElsewhere ? nil : try map.entry(of: page, &reader)
      let isFree = census.free.contains(page) || entry?.kind == .free
      let isNamed = entry?.kind == .bTree && !isFree
      guard
        tree.isWhole || tree.hasRoom(for: own, isInUse: isNamed || (isFreeListSound && !isFree)),
        taken.haveRoom(for: own), !isFree || !isFreeListSound
      else {
        stale.append(page)
        continue
      }
      let parent = census.parent(page)
      let isLedTo = parent != 0 && !census.rejected.contains(parent)
      let rank =
        (isNamed ? 8 : 0) + (isFree ? 0 : 4) + (isLedTo ? 2 : 0) + (isElsewhere ? 0 : 1)
      candidates.append(Candidate(page: page, rowIDs: own, rank: rank))
    }
    // Of two with the same row ids the better witnessed one, else the emptier one: rows were deleted from it since.
    candidates.sort { $0.rowIDs.lowerBound < $1.rowIDs.lowerBound }
    var last: Candidate?
    for candidate in candidates {
      guard let other = last, other.rowIDs.overlaps(candidate.rowIDs) else {
        last = candidate
        continue
      }
      let isBetter = candidate > other
      stale.append(isBetter ? other.page : candidate.page)
      if isBetter { last = candidate }
    }
    return stale
  }
}
