extension DamagedDatabase {
  /// Pages that something leads to and that are no page of a b-tree: what stood on them is lost, or is left
  /// only in part.
  ///
  /// - Returns: the page numbers in order, at most `limit` of them, and how many there are.
  public func unreadablePages(limit: Int = 1000) -> (pages: [UInt32], count: Int) {
    var pages: [UInt32] = []
    var count = 0
    let roots = Set(schemaEntries.map(\.rootPage))
    var page: UInt32 = 1
    while page <= pageCount {
      defer { page += 1 }
      switch census.kind(page) {
      case .tableLeaf, .tableInterior, .indexLeaf, .indexInterior, .trunk, .pointerMap: continue
      case .missing, .zero, .other, .ruinedLeaf: break
      }
      guard !census.free.contains(page) else { continue }
      guard page == 1 || census.parent(page) != 0 || roots.contains(page) else { continue }
      count += 1
      if pages.count < limit { pages.append(page) }
    }
    return (pages, count)
  }

  /// Offset of a page in the file that holds it, and which file that is.
  public func place(of page: UInt32) -> (member: Finding.Member, offset: Int64) {
    let place = reader.location(of: page)
    return (place.member, place.offset)
  }
}
