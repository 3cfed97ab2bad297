import SQLiteFile

extension DamagedDatabase {
  /// An orphan leaf that may be one of the missing leaves of a b-tree.
  private struct Candidate {
    let page: UInt32
    /// The range of the leaf's row ids. The lower bound may be too low and the upper bound too high, because the first
    /// or the last row id may be wrong.
    let rowIDs: ClosedRange<Int64>
    /// The range of the leaf's row ids without the first and the last row id. Equals ``rowIDs`` if the leaf has at most
    /// two rows.
    let inner: ClosedRange<Int64>
    /// How strong the evidence is that the leaf belongs to the b-tree. Each piece of evidence adds to this number.
    let rank: Int
    /// The number of leaves, including this leaf, whose row id range overlaps the range of this leaf. The leaves of the
    /// b-tree and all orphan leaves that may belong to it are counted.
    var rivalCount = 0
    /// The number of bounds of this leaf's row id range, 0 to 2, that directly adjoin the range of another leaf. The
    /// other leaf may be a leaf of the b-tree or another candidate.
    var joinCount = 0

    /// Whether this leaf is more credible than `other`, a leaf with some of the same row ids. The leaf with the higher
    /// ``rank`` is more credible. If the ranks are equal, the leaf that overlaps fewer leaves and adjoins more leaves
    /// is more credible, because a leaf from another store rarely adjoins the others. The last criterion is a smaller
    /// range of row ids: such a version of a leaf is probably newer, because rows have been deleted from it.
    func isBetter(than other: Candidate) -> Bool {
      if rank != other.rank { return rank > other.rank }
      if rivalCount != other.rivalCount { return rivalCount < other.rivalCount }
      if joinCount != other.joinCount { return joinCount > other.joinCount }
      return span < other.span
    }

    private var span: UInt64 { UInt64(bitPattern: inner.upperBound &- inner.lowerBound) }
  }

  /// Judges the leaves that no walk of a b-tree has reached. A leaf is marked as stale if the b-tree of its table is
  /// complete, or if other pages have the row ids of the leaf. ``WalkedTree`` describes how the evidence is weighed.
  ///
  /// `unmatched`: the topmost pages of the b-trees whose rows match no table. `maxCompared`: the maximum number of
  /// leaves of one table that are compared with each other. If a table has more, a finding says so.
  func judgeOrphans(
    unmatched: Set<UInt32>, maxCompared: Int = 1 << 19
  ) throws(SQLiteFileError) {
    let schema = Set(schemaLeaves)
    // The root page of each table's b-tree: either the root page that the schema names, or a root page of a b-tree with
    // rows of the table.
    var trees: [Int: UInt32] = [:]
    for (index, table) in tables.enumerated() {
      if let root = table.rootPage, roots[root] == index { trees[index] = root }
    }
    for root in owners.keys.sorted() where roots[root] != nil {
      if let table = owners[root], owners[trees[table] ?? 0] != table { trees[table] = root }
    }
    // When the schema lacks tables, a leaf that does not fit into a complete b-tree may belong to a missing table,
    // unless the file has pages of another store.
    if !isSchemaWhole, isInPlace {
      for (root, table) in owners
      where roots[root] == nil && trees[table].flatMap({ walks[$0] })?.isWhole == true {
        owners[root] = nil
      }
    }
    let knowsTables =
      isSchemaWhole && tables.allSatisfy { $0.isDescribed || $0.isDropped }
    // Every page of a sound file is a b-tree page, an overflow page, or free.
    let mustBeInUse =
      isFreelistSound && !map.isPresent && layout.header?.isPageCountValid == true
      && layout.header?.pageCount == pageCount && sides == nil
    var stale: [UInt32] = []
    var doubtful: [Int: [UInt32]] = [:]
    // Leaves of no known table, by the form of their first row. `alone`: leaves that no page leads to. `led`: leaves
    // that another page leads to. `misplacedCounts`: the number of leaves that have been found to be stale.
    var alone: [UInt16: [UInt32]] = [:]
    var led: [UInt16: [UInt32]] = [:]
    var misplacedCounts: [UInt16: Int] = [:]
    try forEachLeaf(roots) { page, root, _ in
      guard !census.reached.contains(page) else { return }
      guard let table = owners[root] else {
        // Rows of no known table are stale if no table lacks rows, or if an overflow chain or a b-tree needs the number
        // of their page for another page.
        if isWhole || (root == 1 && isSchemaWhole) || (knowsTables && unmatched.contains(root))
          || isClaimed(page)
        {
          stale.append(page)
          misplacedCounts[census.outline(page).form, default: 0] += 1
        } else if root == page {
          alone[census.outline(page).form, default: []].append(page)
        } else {
          led[census.outline(page).form, default: []].append(page)
        }
        return
      }
      guard let tree = trees[table].flatMap({ walks[$0] }) else {
        // A whole schema names all tables.
        if isSchemaWhole, tables[table].isDropped || tables[table].rootPage == nil {
          stale.append(page)
        }
        return
      }
      // When the root page that the schema names is a leaf, it may be the wrong page. Then nothing leads to the leaves
      // of the true b-tree.
      let mayBeLost =
        mustBeInUse && tree.leafDepth == 0 && !census.free.contains(page) && !isClaimed(page)
      if tree.isWhole && !mayBeLost {
        stale.append(page)
      } else if !schema.contains(page) {
        doubtful[table, default: []].append(page)
      }
    }
    // Leaves that `misplacedCounts` counts come from another store. If there are at most as many other leaves of this
    // form, then these leaves come from that store too. If there are more, they may be a table that the schema lacks,
    // and a stray pointer to one of its leaves says nothing about the others.
    for (form, count) in misplacedCounts where form != 0 {
      let others = (led[form] ?? []) + (alone[form] ?? [])
      if count >= others.count { stale += others }
    }
    for (table, pages) in doubtful.sorted(by: { $0.key < $1.key }) {
      guard pages.count <= maxCompared else {
        findings.add(
          Finding(
            .treeNotCompared,
            "\(pages.count) leaf pages belong to no b-tree, too many to compare; the live rows may include rows of earlier states",
            severity: .note, table: tables[table].name))
        continue
      }
      guard let root = trees[table], let tree = walks[root] else { continue }
      var candidates: [UInt32] = []
      // Whether misplaced leaves may belong to this b-tree. A misplaced leaf that does not fill a hole shows that pages
      // of another store are among the misplaced leaves.
      var mayBeElsewhere = true
      for page in pages {
        if census.rejected.contains(page), try !mayHoldRows(of: table, page) {
          stale.append(page)
          continue
        }
        candidates.append(page)
        if mayBeElsewhere, census.rejected.contains(page), !doubtfullyRejected.contains(page),
          !exchanged.contains(page)
        {
          mayBeElsewhere = try fills(tree, page)
        }
      }
      stale += try staleLeaves(among: candidates, tree, root, mayBeElsewhere)
    }
    for page in stale { census.setStale(page) }
  }

  /// Whether something else in the file needs the page number `page`, where a leaf is found now. Either an overflow
  /// chain leads to `page`, or a b-tree leads to `page` but expects other content there.
  private func isClaimed(_ page: UInt32) -> Bool {
    let parent = census.parent(page)
    return census.followed.contains(page) || census.rejected.contains(page)
      || (census.reached.contains(parent) && parent != 0)
  }

  /// Whether a page that is not a table leaf belongs at the leaf's page number, according to an index, an overflow
  /// chain or the pointer map.
  private func isOthers(_ page: UInt32) throws(SQLiteFileError) -> Bool {
    if census.followed.contains(page) { return true }
    let kind = try map.entry(of: page, &reader)?.kind
    if kind == .firstOverflow || kind == .laterOverflow { return true }
    let parent = census.parent(page)
    guard census.reached.contains(parent), census.kind(parent).isIndex else { return false }
    // The interior page of an index may itself come from another store.
    let children = try self.children(of: parent, true, .min ... .max).children
    return children.count { census.kind($0.page).isIndex } * 2 > children.count
  }

  /// Returns the leaves among `pages` whose rows are not live. For example, the b-tree has no room for the row ids of
  /// such a leaf, or a leaf with better evidence has the same row ids.
  ///
  /// `mayBeElsewhere`: whether leaves that were found at the wrong page number (``PageCensus/rejected``) may belong to
  /// this b-tree.
  private func staleLeaves(
    among pages: [UInt32], _ tree: WalkedTree, _ root: UInt32, _ mayBeElsewhere: Bool
  ) throws(SQLiteFileError) -> [UInt32] {
    var stale: [UInt32] = []
    var own: [ClosedRange<Int64>] = []
    var ownInner: [ClosedRange<Int64>] = []
    for page in 2...max(2, pageCount)
    where census.reached.contains(page) && census.kind(page) == .tableLeaf {
      guard try self.root(of: page, roots).page == root, let rowIDs = try rowIDRanges(of: page)
      else { continue }
      own.append(rowIDs.all)
      ownInner.append(rowIDs.inner)
    }
    let taken = RowIDRanges(ownInner)
    var candidates: [Candidate] = []
    for page in pages {
      let isElsewhere = census.rejected.contains(page)
      guard let (rowIDs, inner) = try rowIDRanges(of: page) else {
        // A leaf without known row ids stays live unless it is misplaced.
        if isElsewhere { stale.append(page) }
        continue
      }
      let mayBeOwn =
        doubtfullyRejected.contains(page)
        ? try fills(tree, page)
        : !isElsewhere || mayBeElsewhere || exchanged.contains(page)
      let isOthers = try isOthers(page)
      if isOthers || !mayBeOwn {
        stale.append(page)
        continue
      }
      // The page number of a misplaced page says nothing about the page.
      let entry = isElsewhere ? nil : try map.entry(of: page, &reader)
      let isFree = census.free.contains(page) || entry?.kind == .free
      let isNamed =
        entry.map { $0.kind == .bTree && !census.kind($0.parent).isIndex } == true && !isFree
      guard
        tree.isWhole || tree.hasRoom(for: inner, isInUse: isNamed || (isFreelistSound && !isFree)),
        taken.haveRoom(for: inner), !isFree || !isFreelistSound
      else {
        stale.append(page)
        continue
      }
      let parent = census.parent(page)
      let isLedTo = parent != 0 && !census.rejected.contains(parent)
      let rank =
        (isNamed ? 8 : 0) + (isFree ? 0 : 4) + (isLedTo ? 2 : 0) + (isElsewhere ? 0 : 1)
      candidates.append(Candidate(page: page, rowIDs: rowIDs, inner: inner, rank: rank))
    }
    return stale + worseCandidates(&candidates, beside: own)
  }

  /// Whether the row ids of a leaf exactly fill a hole of a b-tree (see ``WalkedTree``).
  private func fills(_ tree: WalkedTree, _ page: UInt32) throws(SQLiteFileError) -> Bool {
    var buffer = ContiguousArray<UInt8>()
    guard let rowIDs = try rowIDs(of: page), let reading = try reading(of: page, &buffer) else {
      return false
    }
    var step: UInt64 = 1
    for (one, next) in zip(reading.cells, reading.cells.dropFirst()) {
      step = max(step, UInt64(bitPattern: next.rowID &- one.rowID))
    }
    let taken = reading.cells.reduce(0) { $0 + $1.length }
    let free = layout.usableSize - reading.contentFloor - taken
    // A leaf without room for another row has probably not lost rows by deletion.
    return tree.isFilled(
      by: rowIDs, step: step, isEmptied: free * reading.cells.count > taken)
  }

  /// Decides which candidates belong to the b-tree, and returns the page numbers of the others, whose rows are not
  /// live.
  ///
  /// Of several candidates with overlapping row ids, only the candidate with the best evidence belongs to the b-tree.
  /// If only the first or the last row id of a candidate is also on another leaf, the candidate belongs to the b-tree
  /// without this row id (``narrowed``).
  ///
  /// `own`: for each leaf that the b-tree leads to, the range of its row ids.
  private func worseCandidates(_ candidates: inout [Candidate], beside own: [ClosedRange<Int64>])
    -> [UInt32]
  {
    let all = own + candidates.map(\.rowIDs)
    let firsts = all.map(\.lowerBound).sorted()
    let lasts = all.map(\.upperBound).sorted()
    for index in candidates.indices {
      let (least, most) = (candidates[index].rowIDs.lowerBound, candidates[index].rowIDs.upperBound)
      let begun = firsts.firstPlace { $0 > most }
      let ended = lasts.firstPlace { $0 >= least }
      candidates[index].rivalCount = begun - ended
      let joinsBefore = least > .min && ended > 0 && lasts[ended - 1] == least - 1
      let joinsBehind = most < .max && begun < firsts.count && firsts[begun] == most + 1
      candidates[index].joinCount = (joinsBefore ? 1 : 0) + (joinsBehind ? 1 : 0)
    }
    var stale: [UInt32] = []
    var kept: [Candidate] = []
    candidates.sort { $0.inner.lowerBound < $1.inner.lowerBound }
    for candidate in candidates {
      guard let other = kept.last, other.inner.overlaps(candidate.inner) else {
        kept.append(candidate)
        continue
      }
      let isBetter = candidate.isBetter(than: other)
      stale.append(isBetter ? other.page : candidate.page)
      if isBetter { kept[kept.count - 1] = candidate }
    }
    let taken = RowIDRanges(own)
    for index in kept.indices {
      let candidate = kept[index]
      var (least, most) = (candidate.rowIDs.lowerBound, candidate.rowIDs.upperBound)
      func isTaken(_ rowID: Int64) -> Bool {
        if !taken.haveRoom(for: rowID...rowID) { return true }
        return [index - 1, index + 1].contains { next in
          kept.indices.contains(next) && kept[next].rowIDs.contains(rowID)
            && !candidate.isBetter(than: kept[next])
            && (kept[next].isBetter(than: candidate) || next < index)
        }
      }
      let isFirstTaken = isTaken(least)
      let isLastTaken = isTaken(most)
      guard isFirstTaken || isLastTaken else { continue }
      if isFirstTaken { least = least == most ? least : max(least + 1, candidate.inner.lowerBound) }
      if isLastTaken { most = least == most ? most : min(most - 1, candidate.inner.upperBound) }
      if candidate.rowIDs.lowerBound == candidate.rowIDs.upperBound || least > most {
        stale.append(candidate.page)
      } else {
        let keyed = narrowedByKeys[candidate.page] ?? .min ... .max
        narrowed[candidate.page] = (least...most).clamped(to: keyed)
      }
    }
    return stale
  }
}
