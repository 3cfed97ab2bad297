import SQLiteFile

/// Decides which of several links to the same overflow page is right, in a file without a pointer map.
///
/// A link is right if it is more credible than every other link to the page. Two properties count: how the overflow
/// chain of the link ends, and whether the link follows SQLite's allocation order. If each of two links is better in
/// one property, or if the links are equal, neither of the two is right.
struct ChainClaims {
  /// A link to an overflow page, in a cell or in the previous page of the chain.
  struct Link: Hashable {
    private let page: UInt32
    /// The page offset of the cell that contains the link; 0 for a link from an overflow page.
    private let cell: Int32

    init(_ previous: UInt32) {
      page = previous
      cell = 0
    }

    init(_ page: UInt32, _ cell: LeafCell) {
      self.page = page
      self.cell = Int32(cell.start)
    }

    /// The page directly after the overflow page with the link. SQLite continues an overflow chain there if it can. Nil
    /// if the link is in a cell.
    var behind: UInt32? { cell == 0 ? page &+ 1 : nil }

    func isInOrder(_ next: UInt32) -> Bool { next == behind }

    /// Returns a number that says how credible a link to the page `next` is:
    ///
    /// - 2 if `next` directly follows the overflow page with the link. Damage hardly ever produces such a link.
    /// - 1 if the link is in a cell.
    /// - 0 for any other link.
    func order(_ next: UInt32) -> Int { isInOrder(next) ? 2 : behind == nil ? 1 : 0 }
  }

  /// How the overflow chain of a link ends. A link with a higher raw value is more credible.
  private enum Ending: Int {
    /// This link, or an earlier link of its chain, is one that SQLite would not write: it does not lead to the page
    /// directly after its own page, although no other link leads to that page.
    case astray
    /// The chain has one of these faults:
    /// - it ends before the payload ends;
    /// - a later link of the chain is ``astray``;
    /// - it continues after the end of the payload, to a possible overflow page that no other link leads to.
    case wrong
    /// The payload ends on a page of the chain, but that page's link to a next page is not 0.
    case full
    /// The payload ends on the last page of the chain, whose link is 0.
    case exact
  }

  /// The best link found so far to one overflow page, with the evidence for this link.
  private struct Claim {
    /// The most credible link so far; nil when no link is more credible than all others.
    var link: Link?
    var ending: Ending
    var order: Int
  }

  private var claims: [UInt32: Claim] = [:]
  /// The overflow pages that index cells link to.
  private var indexed: PageSet
  private let knowsFree: Bool

  /// Walks the overflow chains of all live rows and index entries.
  ///
  /// `shapes`: the row shapes with which the cells are read. `knowsFree`: whether all free pages are known, so that
  /// every other page is in use.
  init(
    _ census: borrowing PageCensus, _ shapes: [RowShape], encoding: DatabaseHeader.TextEncoding,
    maxPayload: Int, knowsFree: Bool, _ reader: inout PageReader
  ) throws(SQLiteFileError) {
    self.knowsFree = knowsFree
    indexed = PageSet(pageCount: census.pageCount)
    // In a sound file each page belongs to one row; in a hostile file all rows may lead to the same long chain.
    var allowance = 4 * Int(census.pageCount)
    let reading = LeafReading(
      usableSize: reader.usableSize, maxPayload: maxPayload, encoding: encoding)
    // The pages of index entries must be known before wrong links can be recognised.
    for ofIndexes in [true, false] {
      try walkCells(ofIndexes, shapes, reading, &allowance, census, &reader)
    }
  }

  private mutating func walkCells(
    _ ofIndexes: Bool, _ shapes: [RowShape], _ reading: LeafReading, _ allowance: inout Int,
    _ census: borrowing PageCensus, _ reader: inout PageReader
  ) throws(SQLiteFileError) {
    var reading = reading
    var buffer = ContiguousArray<UInt8>()
    for page in 1...census.pageCount {
      let kind = census.kind(page)
      let isWanted =
        ofIndexes ? kind.isIndex && !census.free.contains(page) : census.isLiveLeaf(page)
      guard isWanted else { continue }
      let available = try reader.copy(page, into: &buffer)
      guard available > 0 else { continue }
      let bytes = buffer.rawSpan
      let shape = census.owner(page).map { shapes[$0.table] }
      if ofIndexes {
        reading.readIndex(bytes, isInterior: kind == .indexInterior, shape: shape)
      } else {
        reading.read(bytes, number: page, available: available, shape: shape)
      }
      for cell in reading.cells where cell.spills {
        let head = bytes.uint32(at: cell.record + cell.local)
        if ofIndexes { _ = indexed.insert(head) }
        try walk(Link(page, cell), head, cell.payload - cell.local, &allowance, census, &reader)
      }
    }
  }

  /// Returns the right link to the overflow page `page`, if several links lead to this page. Nil when the overflow
  /// chains do not show which link is right, or when only one link leads to `page`.
  func holder(of page: UInt32) -> Link? { claims[page]?.link }

  /// Whether a page is an orphan (``PageCensus/isOrphan(_:)``) and no index entry links to it.
  func isLost(_ page: UInt32, _ census: borrowing PageCensus) -> Bool {
    census.isOrphan(page) && !indexed.contains(page)
  }

  private mutating func walk(
    _ cell: Link, _ head: UInt32, _ bytes: Int, _ allowance: inout Int,
    _ census: borrowing PageCensus, _ reader: inout PageReader
  ) throws(SQLiteFileError) {
    let piece = reader.usableSize - 4
    var met: [(page: UInt32, link: Link)] = []
    // The number of entries of `met` before the first wrong link; nil when no link is wrong.
    var sureCount: Int?
    var own: Set<UInt32> = []
    var link = cell
    var next = head
    var left = bytes
    while left > 0, allowance > 0, census.canBeOverflow(next) {
      allowance -= 1
      if knowsFree, !link.isInOrder(next), let passedOver = link.behind, isLost(passedOver, census)
      {
        sureCount = sureCount ?? met.count
      }
      if census.contested.contains(next) {
        met.append((next, link))
        // A chain that returns to one of its own pages has a wrong link.
        guard own.insert(next).inserted else { break }
      }
      guard let content = try reader.page(next) else { break }
      link = Link(next)
      next = content.uint32(at: 0)
      left -= piece
    }
    let goesOn = census.canBeOverflow(next) && !census.contested.contains(next)
    // If the payload ends here, but the last page links to a page that no other link leads to, the chain may belong to
    // a longer row.
    let ending: Ending =
      left > 0 || goesOn || sureCount != nil ? .wrong : next == 0 ? .exact : .full
    for (index, (page, link)) in met.enumerated() {
      let isAstray = index >= sureCount ?? met.count
      add(
        Claim(link: link, ending: isAstray ? .astray : ending, order: link.order(page)),
        to: page)
    }
  }

  private mutating func add(_ claim: Claim, to page: UInt32) {
    guard let other = claims[page] else {
      claims[page] = claim
      return
    }
    let ending = claim.ending.rawValue - other.ending.rawValue
    let order = claim.order - other.order
    if ending >= 0, order >= 0, ending + order > 0 {
      claims[page] = claim
    } else if ending > 0 || order > 0 || ending == 0 && order == 0 {
      // Each of the two links is better in one respect, or the links are equal.
      claims[page]?.link = nil
      claims[page]?.ending = ending > 0 ? claim.ending : other.ending
      claims[page]?.order = max(claim.order, other.order)
    }
  }
}

extension PageCensus {
  /// Whether the purpose of a page is unknown: it is not a b-tree page, is not free, and is in no overflow chain of
  /// ``followed``. In a sound file, this is true only of the first overflow page of each index entry, because these
  /// pages are not recorded.
  func isOrphan(_ page: UInt32) -> Bool {
    kind(page) == .other && !followed.contains(page) && !free.contains(page)
  }

  /// Whether a page can be an overflow page, judged by its number and its kind in the census.
  func canBeOverflow(_ page: UInt32) -> Bool {
    guard page >= 2 else { return false }
    switch kind(page) {
    case .missing, .trunk, .pointerMap: return false
    case .tableLeaf, .tableInterior, .indexLeaf, .indexInterior: return false
    case .zero, .other, .ruinedLeaf: return true
    }
  }
}
