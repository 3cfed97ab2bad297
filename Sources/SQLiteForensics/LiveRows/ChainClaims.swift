import SQLiteFile

/// Which of several links that lead to one overflow page is right, in a file without pointer map.
///
/// In a sound file one link leads to each page. Where several do, the row whose chain ends exactly where it must has the
/// page, and of two such rows the one that comes to it in the order in which SQLite takes pages. Nobody has a page for
/// which that decides nothing.
struct ChainClaims {
  /// What leads to an overflow page: the page before it in its chain, or a cell.
  struct Link: Hashable {
    private let page: UInt32
    /// Where the cell begins; 0 for a page of the chain.
    private let cell: Int32

    init(_ previous: UInt32) {
      page = previous
      cell = 0
    }

    init(_ page: UInt32, _ cell: LeafCell) {
      self.page = page
      self.cell = Int32(cell.start)
    }

    /// The page that a chain goes on in where SQLite can take that; nil for what a cell leads to.
    var behind: UInt32? { cell == 0 ? page &+ 1 : nil }

    func isInOrder(_ next: UInt32) -> Bool { next == behind }

    /// How much speaks for the number that leads to a page: most where it is the one in order, as no slip makes that; least
    /// where a chain leaves its order.
    func order(_ next: UInt32) -> Int { isInOrder(next) ? 2 : behind == nil ? 1 : 0 }
  }

  /// How well a chain ends.
  private enum Ending: Int {
    /// A link on the way passes over a page to which nothing else leads, and so is not the one that SQLite wrote.
    case astray
    /// Too early, or on a page that goes on to one that nothing else leads to.
    case wrong
    /// Where it must, though the last page's number is none.
    case full
    /// Where it must, by the last page's number too.
    case exact
  }

  private struct Claim {
    /// Nil where two are as good as each other.
    var link: Link?
    var ending: Ending
    var order: Int
  }

  private var claims: [UInt32: Claim] = [:]
  /// Overflow pages that entries of indexes lead to.
  private var indexed: PageSet
  private let knowsFree: Bool

  /// Walks the chains of all live rows and of all entries of indexes; only asked where a page is led to twice, or a
  /// chain leaves the order in which SQLite takes pages where nothing leads to the next one.
  ///
  /// `shapes`: what rows of each table look like, so that the same cells are met as when rows are read.
  /// `knowsFree`: whether a page that is not free is in use.
  init(
    _ census: borrowing PageCensus, _ shapes: [RowShape], encoding: DatabaseHeader.TextEncoding,
    mostPayload: Int, knowsFree: Bool, _ reader: inout PageReader
  ) throws(SQLiteFileError) {
    self.knowsFree = knowsFree
    indexed = PageSet(pageCount: census.pageCount)
    // As each page is some row's in a sound file, and those of a hostile one may all lead to the same long chain.
    var allowance = 4 * Int(census.pageCount)
    let reading = LeafReading(
      usableSize: reader.usableSize, mostPayload: mostPayload, encoding: encoding)
    // What entries of indexes lead to must be known before it is told which chains go astray.
    for ofIndexes in [true, false] {
      try walkCells(ofIndexes, shapes, reading, &allowance, census, &reader)
    }
  }

  /// Walks the chains of all cells of indexes, or of tables.
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

  /// The link that a page to which several lead belongs to.
  func holder(of page: UInt32) -> Link? { claims[page]?.link }

  /// Whether nothing leads to a page, no entry of an index either.
  func isLost(_ page: UInt32, _ census: borrowing PageCensus) -> Bool {
    census.isOrphan(page) && !indexed.contains(page)
  }

  private mutating func walk(
    _ cell: Link, _ head: UInt32, _ bytes: Int, _ allowance: inout Int,
    _ census: borrowing PageCensus, _ reader: inout PageReader
  ) throws(SQLiteFileError) {
    let piece = reader.usableSize - 4
    var met: [(page: UInt32, link: Link)] = []
    // Those of them before the chain went astray.
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
        // A chain that comes back to a page of its own took a wrong turn.
        guard own.insert(next).inserted else { break }
      }
      guard let content = try reader.page(next) else { break }
      link = Link(next)
      next = content.uint32(at: 0)
      left -= piece
    }
    let goesOn = census.canBeOverflow(next) && !census.contested.contains(next)
    // A full chain whose last page goes on to one that nothing else leads to is a longer row's, perhaps.
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
      // What speaks for the one does not for the other.
      claims[page]?.link = nil
      claims[page]?.ending = ending > 0 ? claim.ending : other.ending
      claims[page]?.order = max(claim.order, other.order)
    }
  }
}

extension PageCensus {
  /// Whether nothing leads to a page that has no header of a b-tree page. In a sound file those are the first overflow
  /// pages of entries of indexes.
  func isOrphan(_ page: UInt32) -> Bool {
    kind(page) == .other && !followed.contains(page) && !free.contains(page)
  }

  /// Whether a page can be one of the chain of a live row.
  func canBeOverflow(_ page: UInt32) -> Bool {
    guard page >= 2 else { return false }
    switch kind(page) {
    case .missing, .trunk, .pointerMap: return false
    case .tableLeaf, .tableInterior, .indexLeaf, .indexInterior: return false
    case .zero, .other, .ruinedLeaf: return true
    }
  }
}
