import SQLiteFile

/// The kind of each page of a file, judged by its content and by the pages that lead to it.
///
/// The census takes seventeen bytes for each page, so a file of 10 GB with pages of 4 KB needs 44 MB. Long ranges of
/// zeros, for example the holes of a sparse file, take no memory.
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
    /// A leaf according to the pages that lead to it, although its own header is not that of a leaf.
    case ruinedLeaf
  }

  let pageCount: UInt32
  private var kinds: PageValues<UInt8>
  /// For each page, the interior page that leads to it; 0 when no interior page leads to it.
  private var parents: PageValues<UInt32>
  /// The table that owns each page, counted from 1; 0 when it is not known.
  private var owners: PageValues<UInt16>
  private var evidence: PageValues<UInt8>
  private var outlines: PageValues<LeafOutline>
  /// `free`: pages that are free according to the freelist or the pointer map, or are past the end of the database as
  /// of the last commit. `trunks`: the trunk pages of the freelist.
  private(set) var free: PageSet
  private(set) var trunks: PageSet
  /// `followed`: pages that an overflow chain leads to.
  /// `contested`: pages that several overflow chains lead to.
  private(set) var followed: PageSet
  private(set) var contested: PageSet
  /// Pages that more than one interior page leads to.
  private(set) var disputed: PageSet
  /// The b-tree pages that a walk down from a root page in the schema reaches through sound pages only.
  private(set) var reached: PageSet
  /// Misplaced pages: a b-tree leads to them, but their content shows that another page should be there.
  private(set) var rejected: PageSet
  /// Table leaves whose rows are not live: either no b-tree leads to the leaf and it fits into no hole of its table's
  /// b-tree (``WalkedTree``), or the indexes of the table contradict its rows.
  private(set) var stale: PageSet

  init(pageCount: UInt32) {
    self.pageCount = pageCount
    let count = Int(pageCount) + 1
    // The holes of a sparse file are never recorded, because their pages are all zeros.
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

  /// The next page, from `page` on, that a loop over all pages must visit. Pages of zeros to which no interior page
  /// leads are skipped, unless they are in `others`. The result is never higher than the last page number, so that the
  /// loop can increment it without overflow.
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

  /// The table that owns a page, and the evidence for this; nil when there is no known owner.
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

  /// Records that `page` was reached from the sound page `parent`, or from the schema if `parent` is 0. `page` then no
  /// longer counts as free or rejected.
  ///
  /// - Returns: whether the page counted as free until now; false if it was reached before.
  mutating func reach(_ page: UInt32, from parent: UInt32) -> Bool {
    guard page >= 1, page <= pageCount, reached.insert(page) else { return false }
    parents[Int(page)] = parent
    rejected.remove(page)
    guard free.contains(page) else { return false }
    free.remove(page)
    return true
  }

  /// Records the parent of a page that a walk found but did not accept. Does nothing if a walk has reached the page.
  mutating func miss(_ page: UInt32, from parent: UInt32) {
    guard page >= 1, page <= pageCount, !reached.contains(page) else { return }
    parents[Int(page)] = parent
  }

  /// Marks a page as misplaced and removes its parent. Does nothing if a walk has reached the page.
  mutating func reject(_ page: UInt32) {
    guard page >= 1, page <= pageCount, !reached.contains(page) else { return }
    parents[Int(page)] = 0
    _ = rejected.insert(page)
  }

  /// Marks a page as misplaced, even if a walk has reached it.
  mutating func expel(_ page: UInt32) {
    reached.remove(page)
    reject(page)
  }

  /// Removes the recorded parents that no walk has reached. This is right only if all b-trees are complete, because
  /// such parents are then stale.
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

  /// Whether a page is read as a leaf with live rows. A free page is read only if an interior page leads to it.
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

  /// Records that an overflow chain leads to a page. When a second chain does, the page becomes contested.
  mutating func follow(_ page: UInt32) {
    guard page >= 2, page <= pageCount else { return }
    if !followed.insert(page) { _ = contested.insert(page) }
  }

  /// Adds a census of the pages from `first` on. The result is the same as that of one census of all pages in order.
  /// Precondition: Both censuses began as copies of the same census.
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

/// The evidence that determined the table of a row. The cases are ordered from the strongest to the weakest evidence.
public enum Attribution: UInt8, Sendable, CaseIterable {
  /// The row's page belongs to the b-tree whose root page the schema gives for the table.
  case root = 1
  /// According to the pointer map, the row's page belongs to the b-tree of the table (file format, section 1.8).
  case pointerMap
  /// The row fits several tables. Of these tables, only this table has no other row with the same row id, or only this
  /// table has a leaf whose row ids adjoin the row ids on the row's page.
  case sibling
  /// The row fits the columns and storage classes of this table better than those of any other table.
  case shape
  /// No evidence decides, so the table is not known.
  case unknown

  /// The name of the attribution, as it is written to output.
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
