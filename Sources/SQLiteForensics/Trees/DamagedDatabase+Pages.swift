public import SQLiteFile

extension DamagedDatabase {
  /// Pages that something leads to and that are no page of a b-tree: what stood on them is lost, or is left
  /// only in part. Pages of indexes are not among them: an index says nothing that rows do not say.
  ///
  /// - Returns: the page numbers in order, at most `limit` of them, and how many there are.
  public func unreadablePages(limit: Int = 1000) -> (pages: [UInt32], count: Int) {
    var pages: [UInt32] = []
    var count = 0
    let roots = Set(schemaEntries.map(\.rootPage))
    let indexes = Set(schemaEntries.filter { $0.type == "index" }.map(\.rootPage))
    // Where a table WITHOUT ROWID has lost its root, any page of an index may be its.
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

  /// Whether a page may be of a table, by the pages that lead to it.
  private func isOfTable(_ page: UInt32, _ indexes: Set<UInt32>, _ mayBeTable: Bool) -> Bool {
    var page = page
    var root = page
    var kind: PageCensus.Kind?
    // No tree is deeper than this: even with one child a page it would have more pages than there can be.
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

  /// Offset of a page in the file that holds it, and which file that is.
  public func place(of page: UInt32) -> (member: Finding.Member, offset: Int64) {
    let place = reader.location(of: page)
    return (place.member, place.offset)
  }
}
