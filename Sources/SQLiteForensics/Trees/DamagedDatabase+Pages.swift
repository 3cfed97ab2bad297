package import SQLiteFile

extension DamagedDatabase {
  /// Returns the pages of table b-trees whose content is lost in whole or in part. An interior page or the schema leads
  /// to each of these pages. Index pages are left out, because the rows of the table contain the same values.
  ///
  /// - Returns: the numbers of the first `limit` such pages, in ascending order, and the number of all such pages.
  package func unreadablePages(limit: Int = 1000) -> (pages: [UInt32], count: Int) {
    var pages: [UInt32] = []
    var count = 0
    let roots = Set(schemaEntries.map(\.rootPage))
    let indexes = Set(schemaEntries.filter { $0.type == "index" }.map(\.rootPage))
    // If a WITHOUT ROWID table has lost its root page, any index page may belong to it.
    let mayBeTable = tables.contains { $0.definition.isWithoutRowID && $0.rootPage == nil }
    var page: UInt32 = 1
    while page <= pageCount {
      defer { page += 1 }
      switch census.kind(page) {
      case .tableLeaf, .tableInterior, .indexLeaf, .indexInterior, .trunk, .pointerMap: continue
      case .missing, .zero, .other, .ruinedLeaf: break
      }
      guard !census.free.contains(page) else { continue }
      guard page == 1 || census.parent(page) != 0 || roots.contains(page) else { continue }
      if !isOfTable(page, indexes, mayBeTable) { continue }
      count += 1
      if pages.count < limit { pages.append(page) }
    }
    return (pages, count)
  }

  /// Whether a page may belong to the b-tree of a table. The decision follows from its parent and from the topmost page
  /// above it.
  ///
  /// `indexes`: the root pages of the indexes.
  /// `mayBeTable`: the result if the parent is an index page and the topmost page is the root page of no known table or
  /// index.
  private func isOfTable(_ page: UInt32, _ indexes: Set<UInt32>, _ mayBeTable: Bool) -> Bool {
    var page = page
    var root = page
    var kind: PageCensus.Kind?
    // No b-tree has this depth: SQLite's BTCURSOR_MAX_DEPTH is 20.
    for _ in 0..<40 {
      root = page
      let parent = census.parent(page)
      guard parent != 0, parent != page else { break }
      if kind == nil { kind = census.kind(parent) }
      page = parent
    }
    if indexes.contains(root) { return false }
    guard kind == .indexInterior else { return true }
    return mayBeTable || tables.contains { $0.rootPage == root }
  }

  /// Returns the file from which the page is read, and the offset of the page in that file, in bytes.
  package func place(of page: UInt32) -> PageReader.Place { reader.location(of: page) }
}
