import SQLiteFile

/// Records the kind of each page, its b-tree and its parent page, in 9 bytes per page. A page is claimed when these
/// three are recorded. Memory is allocated for 1,024 pages at a time, when the first of these pages is claimed.
///
/// Pages past the end of the main file, which only a log or a journal can have, are stored separately. So a high page
/// number in a hostile file does not allocate memory for all lower page numbers.
struct PageMap {
  struct Entry: Equatable {
    var kind: PageKind
    /// The number of the b-tree that the page belongs to; ``noOwner`` for a page outside all b-trees, for example a
    /// free page.
    var owner: UInt32
    /// The page that leads to this page; 0 for a root page and for a page that no page leads to.
    var parent: UInt32
  }

  static let noOwner = UInt32.max
  private static let pieceLength: UInt32 = 1024

  private struct Piece {
    var kinds = ContiguousArray<UInt8>(repeating: 0, count: Int(PageMap.pieceLength))
    var owners = ContiguousArray<UInt32>(repeating: noOwner, count: Int(PageMap.pieceLength))
    var parents = ContiguousArray<UInt32>(repeating: 0, count: Int(PageMap.pieceLength))
  }

  private var pieces: ContiguousArray<Piece?>
  private var others: [UInt32: Entry] = [:]
  private let mainPageCount: UInt32

  init(mainPageCount: UInt32) {
    self.mainPageCount = mainPageCount
    pieces = ContiguousArray(repeating: nil, count: Int(mainPageCount / Self.pieceLength) + 1)
  }

  /// Returns what is known about a page. The kind is `.orphan` for a page that no b-tree, overflow chain or list has
  /// claimed.
  subscript(page: UInt32) -> Entry {
    let free = Entry(kind: .orphan, owner: Self.noOwner, parent: 0)
    guard page <= mainPageCount else { return others[page] ?? free }
    guard let piece = pieces[Int(page / Self.pieceLength)] else { return free }
    let index = Int(page % Self.pieceLength)
    return Entry(
      kind: PageKind(rawValue: piece.kinds[index]) ?? .orphan, owner: piece.owners[index],
      parent: piece.parents[index])
  }

  /// Records the entry of a page, unless the page is already claimed. Returns nil if the page was unclaimed, otherwise
  /// its existing entry.
  mutating func claim(_ page: UInt32, as kind: PageKind, owner: UInt32, parent: UInt32) -> Entry? {
    let entry = Entry(kind: kind, owner: owner, parent: parent)
    guard page <= mainPageCount else {
      if let before = others[page] { return before }
      others[page] = entry
      return nil
    }
    let number = Int(page / Self.pieceLength)
    let index = Int(page % Self.pieceLength)
    if pieces[number] == nil { pieces[number] = Piece() }
    if pieces[number]?.kinds[index] != PageKind.orphan.rawValue { return self[page] }
    pieces[number]?.kinds[index] = kind.rawValue
    pieces[number]?.owners[index] = owner
    pieces[number]?.parents[index] = parent
    return nil
  }

  mutating func change(_ page: UInt32, to kind: PageKind) {
    guard page <= mainPageCount else {
      others[page]?.kind = kind
      return
    }
    pieces[Int(page / Self.pieceLength)]?.kinds[Int(page % Self.pieceLength)] = kind.rawValue
  }

  /// Adds the claimed pages of another map of the same file. Returns false if a page is claimed in both maps. Then this
  /// map is no longer valid.
  mutating func merge(_ other: PageMap) -> Bool {
    for (number, piece) in other.pieces.enumerated() {
      guard let piece else { continue }
      guard pieces[number] != nil else {
        pieces[number] = piece
        continue
      }
      for index in 0..<Int(Self.pieceLength) where piece.kinds[index] != 0 {
        guard pieces[number]?.kinds[index] == 0 else { return false }
        pieces[number]?.kinds[index] = piece.kinds[index]
        pieces[number]?.owners[index] = piece.owners[index]
        pieces[number]?.parents[index] = piece.parents[index]
      }
    }
    for (page, entry) in other.others {
      guard others[page] == nil else { return false }
      others[page] = entry
    }
    return true
  }

  /// Returns the number of pages from `first` to `last` that are in use, and the lowest of their page numbers. A page
  /// is in use if its kind is recorded. Returns nil if there is no such page.
  func claimed(from first: UInt32, to last: UInt32) -> (count: Int, first: UInt32)? {
    var count = 0
    var lowest = UInt32.max
    func add(_ page: UInt32) {
      guard page >= first, page <= last else { return }
      count += 1
      lowest = min(lowest, page)
    }
    let start = Int(first / Self.pieceLength)
    for number in pieces.indices where number >= start {
      guard let piece = pieces[number] else { continue }
      for index in piece.kinds.indices where piece.kinds[index] != PageKind.orphan.rawValue {
        add(UInt32(number) * Self.pieceLength + UInt32(index))
      }
    }
    for page in others.keys { add(page) }
    guard count > 0 else { return nil }
    return (count, lowest)
  }

  /// Calls `body` with each range of adjoining unclaimed pages, up to page `last`.
  func orphans(upTo last: UInt32, _ body: (ClosedRange<UInt32>) -> Void) {
    var start: UInt32?
    var page: UInt32 = 1
    func end(before page: UInt32) {
      if let first = start { body(first...page - 1) }
      start = nil
    }
    while page <= last {
      if page <= mainPageCount, page % Self.pieceLength == 0,
        pieces[Int(page / Self.pieceLength)] == nil
      {
        if start == nil { start = page }
        let (next, overflow) = page.addingReportingOverflow(Self.pieceLength)
        if overflow { break }
        page = min(next, mainPageCount + 1)
        continue
      }
      if self[page].kind == .orphan {
        if start == nil { start = page }
      } else {
        end(before: page)
      }
      if page == .max { break }
      page += 1
    }
    if let first = start, first <= last { body(first...last) }
  }
}
