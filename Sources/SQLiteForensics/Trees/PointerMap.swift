import SQLiteFile

/// The pointer map of an auto-vacuum database (file format, section 1.8 "Pointer Map or Ptrmap Pages").
///
/// The pointer map has an entry for each page, with the kind of the page and its parent page. The entries are stored
/// outside the b-trees, so they are evidence even if the b-trees are damaged.
struct PointerMap {
  struct Entry: BitwiseCopyable {
    enum Kind: UInt8 {
      case root = 1
      case free = 2
      case firstOverflow = 3
      case laterOverflow = 4
      case bTree = 5
    }
    var kind: Kind
    var parent: UInt32
  }

  private let pageSize: Int
  private let usableSize: Int
  private let entriesPerPage: UInt32
  private let pageCount: UInt32
  let isPresent: Bool

  init(layout: FileLayout, pageCount: UInt32) {
    pageSize = layout.pageSize
    usableSize = layout.usableSize
    entriesPerPage = PointerMapCheck.span(usableSize)
    self.pageCount = pageCount
    isPresent = layout.hasPointerMap && entriesPerPage > 0
  }

  func mapPage(of page: UInt32) -> UInt32 {
    PointerMapCheck.mapPage(of: page, usableSize: usableSize, pageSize: pageSize)
  }

  /// Whether a page is a pointer-map page. The page number alone decides this.
  func isMap(_ page: UInt32) -> Bool { isPresent && page >= 2 && mapPage(of: page) == page }

  /// Returns the pointer-map entry of a page. Nil if the file has no pointer map, or if the entry is missing or not
  /// valid.
  func entry(of page: UInt32, _ reader: inout PageReader) throws(SQLiteFileError) -> Entry? {
    guard isPresent, page > 2, !isMap(page) else { return nil }
    let map = mapPage(of: page)
    // The lock-byte page has no entry, and its number may be lower than that of the pointer-map page.
    guard map < page else { return nil }
    let offset = Int(page - map - 1) * 5
    guard offset + 5 <= reader.usableSize, let bytes = try reader.page(map) else { return nil }
    return entry(bytes, at: offset, of: page)
  }

  private func entry(_ bytes: RawSpan, at offset: Int, of page: UInt32) -> Entry? {
    guard let kind = Entry.Kind(rawValue: bytes.byte(at: offset)) else { return nil }
    let parent = bytes.uint32(at: offset + 1)
    switch kind {
    case .root, .free: guard parent == 0 else { return nil }
    default: guard parent >= 1, parent <= pageCount, parent != page else { return nil }
    }
    return Entry(kind: kind, parent: parent)
  }

  /// Calls `visit` with every valid entry, in the order of the pointer-map pages.
  ///
  /// `endPage`: called after the last entry of each pointer-map page. `map` is the number of the pointer-map page.
  /// `last` is the highest page number that this pointer-map page covers.
  func forEachEntry(
    _ reader: inout PageReader, _ visit: (_ page: UInt32, _ entry: Entry) -> Void,
    endPage: (_ map: UInt32, _ last: UInt32) -> Void = { _, _ in }
  ) throws(SQLiteFileError) {
    guard isPresent else { return }
    for map in PointerMapCheck.mapPages(
      upTo: pageCount, usableSize: usableSize, pageSize: pageSize)
    {
      var last = map + min(entriesPerPage, pageCount - map)
      if last > map, isMap(last) { last -= 1 }
      if let bytes = try reader.page(map) {
        var page = map
        while page < last {
          page += 1
          if let entry = entry(bytes, at: Int(page - map - 1) * 5, of: page) { visit(page, entry) }
        }
      }
      endPage(map, last)
    }
  }

  /// Returns all overflow pages in the pointer map, sorted by their parent page, for the repair of broken overflow
  /// chains.
  ///
  /// The result takes eight bytes for each overflow page, so call this only when the first broken chain is found.
  func successors(_ reader: inout PageReader) throws(SQLiteFileError) -> ContiguousArray<
    (parent: UInt32, page: UInt32)
  > {
    var found: ContiguousArray<(parent: UInt32, page: UInt32)> = []
    try forEachEntry(&reader) { page, entry in
      switch entry.kind {
      case .firstOverflow, .laterOverflow: found.append((entry.parent, page))
      case .root, .free, .bTree: break
      }
    }
    found.sort { ($0.parent, $0.page) < ($1.parent, $1.page) }
    return found
  }
}
