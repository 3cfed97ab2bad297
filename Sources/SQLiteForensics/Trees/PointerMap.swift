import SQLiteFile

/// The pointer map of a file with auto-vacuum (file format, section 1.8 "Pointer Map or Ptrmap Pages"): what each
/// page is and which page leads to it, kept apart from the b-trees and so a witness of its own.
struct PointerMap {
  /// What the map says of a page.
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

  /// The pointer-map page that has the entry of a page.
  func mapPage(of page: UInt32) -> UInt32 {
    PointerMapCheck.mapPage(of: page, usableSize: usableSize, pageSize: pageSize)
  }

  /// Whether a page is a pointer-map page by its place.
  func isMap(_ page: UInt32) -> Bool { isPresent && page >= 2 && mapPage(of: page) == page }

  /// What the map says of a page; nil when it says nothing that can be true.
  func entry(of page: UInt32, _ reader: inout PageReader) throws(SQLiteFileError) -> Entry? {
    guard isPresent, page > 2, !isMap(page) else { return nil }
    let map = mapPage(of: page)
    // The page of the lock bytes has no entry, and may stand before its map page.
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

  /// Hands out every entry that can be true, one page of the map after the other.
  ///
  /// `endPage` is called behind the last entry of each page of the map, with its number and that of the last page that it
  /// describes.
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

  /// All pages that the map calls overflow pages, by the page that leads to each. For a chain that is broken:
  /// built once when the first one is met, eight bytes for each overflow page.
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
