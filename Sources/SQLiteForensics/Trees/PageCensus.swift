import SQLiteFile

/// What is known about each page of a file: the kind of the page, its parent page in a b-tree, the table that owns it,
/// and whether it is free or misplaced.
///
/// The census takes seventeen bytes for each page. For a file of 10 GB with pages of 4 KB, this is 44 MB. Long ranges
/// of zero pages, for example the holes of a sparse file, take no memory.
struct PageCensus {
  enum Kind: UInt8 {
    /// The page is past the end of the file.
    case missing
    /// The page has only zero bytes.
    case zero
    case tableLeaf
    case tableInterior
    case indexLeaf
    case indexInterior
    /// A trunk page of the freelist (file format, section 1.5).
    case trunk
    case pointerMap
    /// An overflow page, or a page of unknown kind.
    case other
    /// A page that is a leaf according to the pages that lead to it, although its page header is not that of a leaf.
    case ruinedLeaf
  }

  let pageCount: UInt32
  private var kinds: PageValues<UInt8>
  /// For each page, its parent: the interior page that has a pointer to it. 0 if no interior page has such a pointer.
  private var parents: PageValues<UInt32>
  /// For each page, the index of the table that owns it, plus 1; 0 if this table is not known.
  private var owners: PageValues<UInt16>
  private var evidence: PageValues<UInt8>
  private var outlines: PageValues<LeafOutline>
  /// `free`: the pages that are not in use. The freelist or the pointer map says that they are free, or they come after
  /// the page count of the last commit.
  /// `trunks`: the trunk pages of the freelist.
  private(set) var free: PageSet
  private(set) var trunks: PageSet
  /// `followed`: the pages that at least one overflow chain leads to.
  /// `contested`: the pages that more than one overflow chain leads to.
  private(set) var followed: PageSet
  private(set) var contested: PageSet
  /// The pages that more than one interior page leads to.
  private(set) var disputed: PageSet
  /// The b-tree pages that a walk down from a root page in the schema (``WalkedTree``) has reached and accepted.
  private(set) var reached: PageSet
  /// The misplaced pages. A b-tree leads to each of them, but its content shows that another page belongs at this page
  /// number.
  private(set) var rejected: PageSet
  /// The table leaves whose rows are outdated. In one case, no walk reached the leaf, and it fits into no hole of a
  /// b-tree (``WalkedTree``). In the other case, the indexes of the table contradict the rows of the leaf.
  private(set) var stale: PageSet

  init(pageCount: UInt32) {
    self.pageCount = pageCount
    let count = Int(pageCount) + 1
    // The kind is `zero` until it is set, because the holes of a sparse file are never visited.
    kinds = PageValues(repeating: Kind.zero.rawValue, count: count)
    parents = PageValues(repeating: 0, count: count)
    owners = PageValues(repeating: 0, count: count)
    evidence = PageValues(repeating: 0, count: count)
    outlines = PageValues(repeating: .unknown, count: count)
    free = PageSet(pageCount: pageCount)
    trunks = PageSet(pageCount: pageCount)
    followed = PageSet(pageCount: pageCount)
    contested = PageSet(pageCount: pageCount)
    disputed = PageSet(pageCount: pageCount)
    reached = PageSet(pageCount: pageCount)
    rejected = PageSet(pageCount: pageCount)
    stale = PageSet(pageCount: pageCount)
  }

  func kind(_ page: UInt32) -> Kind {
    page <= pageCount ? Kind(rawValue: kinds[Int(page)]) ?? .other : .missing
  }

  mutating func set(_ page: UInt32, _ kind: Kind) {
    if page <= pageCount { kinds[Int(page)] = kind.rawValue }
  }

  func outline(_ page: UInt32) -> LeafOutline {
    page <= pageCount ? outlines[Int(page)] : .unknown
  }

  mutating func setLeaf(_ page: UInt32, _ outline: LeafOutline) {
    set(page, .tableLeaf)
    if page <= pageCount { outlines[Int(page)] = outline }
  }

  /// Returns the next page, from `page` on, that a loop over all pages must visit. Most zero pages are skipped. A zero
  /// page is not skipped if an interior page leads to it, if it is in `others`, or if it is the last page of the file.
  func next(from page: UInt32, or others: PageSet? = nil) -> UInt32 {
    let index = Int(page)
    let next = kinds.nextMade(from: index)
    guard next > index else { return page }
    return min(
      UInt32(clamping: min(next, parents.nextMade(from: index))), others?.next(from: page) ?? .max,
      max(page, pageCount))
  }

  func parent(_ page: UInt32) -> UInt32 { page <= pageCount ? parents[Int(page)] : 0 }

  mutating func setParent(of page: UInt32, _ parent: UInt32) {
    guard page >= 1, page <= pageCount else { return }
    let old = parents[Int(page)]
    if old != 0, old != parent { _ = disputed.insert(page) }
    parents[Int(page)] = parent
  }

  /// Returns the index of the table that owns a page, and the evidence for this table; nil if the table is not known.
  func owner(_ page: UInt32) -> (table: Int, evidence: Attribution)? {
    guard page <= pageCount, owners[Int(page)] > 0 else { return nil }
    return (
      Int(owners[Int(page)]) - 1, Attribution(rawValue: evidence[Int(page)]) ?? .unknown
    )
  }

  mutating func setOwner(of page: UInt32, _ table: Int, _ attribution: Attribution) {
    guard page <= pageCount, table >= 0, table < Int(UInt16.max) else { return }
    owners[Int(page)] = UInt16(table + 1)
    evidence[Int(page)] = attribution.rawValue
  }

  /// Records that a walk has reached `page` from its parent page `parent`, which is 0 for a root page. Removes `page`
  /// from the free pages and the rejected pages.
  ///
  /// - Returns: whether `page` was free until this call. Always false if a walk had reached `page` before.
  mutating func reach(_ page: UInt32, from parent: UInt32) -> Bool {
    guard page >= 1, page <= pageCount, reached.insert(page) else { return false }
    parents[Int(page)] = parent
    rejected.remove(page)
    guard free.contains(page) else { return false }
    free.remove(page)
    return true
  }

  /// Records that the interior page `parent` has a pointer to `page`, although the walk of the b-tree did not take
  /// `page` as its child. Does nothing if a walk has reached `page` in another way.
  mutating func miss(_ page: UInt32, from parent: UInt32) {
    guard page >= 1, page <= pageCount, !reached.contains(page) else { return }
    parents[Int(page)] = parent
  }

  /// Marks a page as misplaced in its b-tree, and sets its parent to 0. Does nothing if the walk of a b-tree has
  /// reached the page.
  mutating func reject(_ page: UInt32) {
    guard page >= 1, page <= pageCount, !reached.contains(page) else { return }
    parents[Int(page)] = 0
    _ = rejected.insert(page)
  }

  /// Marks a page as misplaced and sets its parent to 0, even if a walk of a b-tree has reached the page.
  mutating func expel(_ page: UInt32) {
    reached.remove(page)
    reject(page)
  }

  /// Sets a page's parent to 0 if no walk of a b-tree has reached the parent. Precondition: The b-trees of all tables
  /// are complete, so that an unreached parent is certainly stale.
  mutating func forgetUnreachedParents() {
    for index in parents.indices where parents[index] != 0 && !reached.contains(parents[index]) {
      parents[index] = 0
    }
  }

  mutating func setStale(_ page: UInt32) {
    if page <= pageCount { _ = stale.insert(page) }
  }

  mutating func forgetOwners() {
    owners = PageValues(repeating: 0, count: owners.count)
    evidence = PageValues(repeating: 0, count: evidence.count)
    stale = PageSet(pageCount: pageCount)
  }

  /// Whether the rows of a page are read as live rows. True for a table leaf that is not stale. If the leaf is free, an
  /// interior page must lead to it.
  func isLiveLeaf(_ page: UInt32) -> Bool {
    switch kind(page) {
    case .tableLeaf, .ruinedLeaf:
      !stale.contains(page) && (!free.contains(page) || parent(page) != 0)
    default: false
    }
  }

  func isSoundLeaf(_ page: UInt32, of table: Int) -> Bool {
    page > 1 && page <= pageCount && kind(page) == .tableLeaf && isLiveLeaf(page)
      && owner(page)?.table == table
  }

  /// Records that a page is in an overflow chain. If the page is also in another overflow chain, it becomes
  /// ``contested``.
  mutating func follow(_ page: UInt32) {
    guard page >= 2, page <= pageCount else { return }
    if !followed.insert(page) { _ = contested.insert(page) }
  }

  /// Adds `later`, a census of the pages from `first` on, to this census of the pages before `first`. The result equals
  /// a census of all pages in page order. Precondition: Both censuses began as copies of the same census.
  mutating func append(_ later: borrowing PageCensus, from first: UInt32) {
    guard later.pageCount == pageCount else { return }
    later.kinds.forEachMade(from: Int(first)) { kinds[$0] = $1 }
    later.outlines.forEachMade(from: Int(first)) { outlines[$0] = $1 }
    later.parents.forEachMade { index, parent in
      guard parent != 0 else { return }
      if parents[index] != 0, parents[index] != parent { _ = disputed.insert(UInt32(index)) }
      parents[index] = parent
    }
    disputed.formUnion(later.disputed)
    contested.formUnion(later.contested)
    contested.formUnion(followed.intersection(later.followed))
    followed.formUnion(later.followed)
  }

  mutating func setFree(_ page: UInt32) {
    if page >= 1, page <= pageCount { _ = free.insert(page) }
  }

  mutating func setTrunk(_ page: UInt32) {
    setFree(page)
    if page >= 1, page <= pageCount { _ = trunks.insert(page) }
  }
}

/// The evidence that determined the table of a row, from the strongest to the weakest evidence.
public enum Attribution: UInt8, Sendable, CaseIterable {
  /// The row is in the b-tree whose root page the schema states for the table.
  case root = 1
  /// The row's page belongs to the b-tree of the table according to the pointer map (file format, section 1.8).
  case pointerMap
  /// The row fits several tables, and row ids show which of them is right. Either each of the other tables has a leaf
  /// with row ids in the range of the row's page, or only this table has a leaf whose row ids directly adjoin those of
  /// the row's page.
  case sibling
  /// The row fits the columns and storage classes of this table better than those of any other table.
  case shape
  /// The evidence does not determine the table of the row.
  case unknown

  /// The name of this kind of evidence in the output.
  public var name: String {
    switch self {
    case .root: "root"
    case .pointerMap: "pointerMap"
    case .sibling: "sibling"
    case .shape: "shape"
    case .unknown: "unknown"
    }
  }
}
