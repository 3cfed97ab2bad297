import SQLiteFile

/// What each page of a file is, as far as the page itself and those that point to it tell.
///
/// Seventeen bytes for each page, so that a file of 10 GB with pages of 4 KB needs 44 MB; none for long runs of zeros, which
/// is what the holes of a sparse file are.
struct PageCensus {
  /// What a page is.
  enum Kind: UInt8 {
    /// Not in the file.
    case missing
    /// All zero.
    case zero
    case tableLeaf
    case tableInterior
    case indexLeaf
    case indexInterior
    /// A trunk page of the free list (file format, section 1.5).
    case trunk
    case pointerMap
    /// Overflow content, or what cannot be told.
    case other
    /// No b-tree page by its header, but by all that leads to it.
    case ruinedLeaf
  }

  let pageCount: UInt32
  private var kinds: PageValues<UInt8>
  /// The interior page that leads to a page; 0 for none.
  private var parents: PageValues<UInt32>
  /// Which table a page belongs to, counted from 1; 0 for none.
  private var owners: PageValues<UInt16>
  private var evidence: PageValues<UInt8>
  private var outlines: PageValues<LeafOutline>
  /// Pages on the free list, and those that are its trunk pages.
  private(set) var free: PageSet
  private(set) var trunks: PageSet
  /// Pages to which a cell or an overflow page leads, and those to which several do.
  private(set) var followed: PageSet
  private(set) var contested: PageSet
  /// Pages to which two interior pages lead.
  private(set) var disputed: PageSet
  /// Pages of b-trees to which sound pages lead from a root that the schema names.
  private(set) var reached: PageSet
  /// Pages that stand where b-trees mean others.
  private(set) var rejected: PageSet
  /// Leaves of the past: no b-tree leads to them, and the one of their table has no place for them.
  private(set) var stale: PageSet

  init(pageCount: UInt32) {
    self.pageCount = pageCount
    let count = Int(pageCount) + 1
    // What nobody looks at is a hole.
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

  /// A page from `page` on before which all are zeros that nothing leads to, nor are any of `others`; for loops over all
  /// pages.
  func next(from page: UInt32, or others: PageSet? = nil) -> UInt32 {
    let index = Int(page)
    let next = kinds.nextMade(from: index)
    guard next > index else { return page }
    return min(
      UInt32(clamping: min(next, parents.nextMade(from: index))), others?.next(from: page) ?? .max)
  }

  func parent(_ page: UInt32) -> UInt32 { page <= pageCount ? parents[Int(page)] : 0 }

  mutating func setParent(of page: UInt32, _ parent: UInt32) {
    guard page >= 1, page <= pageCount else { return }
    let old = parents[Int(page)]
    if old != 0, old != parent { _ = disputed.insert(page) }
    parents[Int(page)] = parent
  }

  /// The place in the list of tables of the one that owns a page, and how that was decided.
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

  /// Notes that a sound page, or the schema where `parent` is 0, leads to a page: then it is free by no list's word.
  ///
  /// - Returns: whether a list or the pointer map says so.
  mutating func reach(_ page: UInt32, from parent: UInt32) -> Bool {
    guard page >= 1, page <= pageCount, reached.insert(page) else { return false }
    parents[Int(page)] = parent
    rejected.remove(page)
    guard free.contains(page) else { return false }
    free.remove(page)
    return true
  }

  /// Notes which page leads to one that is not to be read.
  mutating func miss(_ page: UInt32, from parent: UInt32) {
    guard page >= 1, page <= pageCount, !reached.contains(page) else { return }
    parents[Int(page)] = parent
  }

  /// Notes that what leads to a page means another one, so that nothing leads to it.
  mutating func reject(_ page: UInt32) {
    guard page >= 1, page <= pageCount, !reached.contains(page) else { return }
    parents[Int(page)] = 0
    _ = rejected.insert(page)
  }

  /// Takes back that b-trees lead to a page: they mean another one.
  mutating func expel(_ page: UInt32) {
    reached.remove(page)
    reject(page)
  }

  /// Forgets what pages of the past lead to: for a file whose b-trees all are whole.
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

  /// Whether a page is read as a leaf of a live table: one that is free by the free list may still be reached.
  func isLiveLeaf(_ page: UInt32) -> Bool {
    switch kind(page) {
    case .tableLeaf, .ruinedLeaf:
      !stale.contains(page) && (!free.contains(page) || parent(page) != 0)
    default: false
    }
  }

  /// Whether a page is a leaf of a table with a header that can be read.
  func isSoundLeaf(_ page: UInt32, of table: Int) -> Bool {
    page > 1 && page <= pageCount && kind(page) == .tableLeaf && isLiveLeaf(page)
      && owner(page)?.table == table
  }

  /// Notes that an overflow chain goes on at a page.
  mutating func follow(_ page: UInt32) {
    guard page >= 2, page <= pageCount else { return }
    if !followed.insert(page) { _ = contested.insert(page) }
  }

  /// Takes over what another census, which began as this one did, says of pages from `first` on, and what these lead to:
  /// as if they had been looked at after those before them.
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

/// How it was decided which table a row belongs to, the strongest evidence first.
public enum Attribution: UInt8, Sendable, CaseIterable {
  /// The b-tree that the schema names leads to the row's page.
  case root = 1
  /// The pointer map leads from the page to the table's b-tree (file format, section 1.8).
  case pointerMap
  /// Of the tables that the row can be of, this one's row ids leave room for it, or go on where it ends.
  case sibling
  /// The row has the columns and storage classes of this table and of no other.
  case shape
  /// Nothing decides.
  case unknown

  /// The name in output.
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
