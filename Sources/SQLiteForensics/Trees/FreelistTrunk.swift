import SQLiteFile

/// Recognises a trunk page of the freelist by the content of the page alone, without following the freelist.
enum FreelistTrunk {
  /// Returns the freelist leaf pages that the trunk page `page` lists. Nil if `page` cannot be a trunk page, or if its
  /// list is empty.
  ///
  /// A trunk page begins with the number of the next trunk page (0 on the last one), the number of leaf pages in the
  /// list, and the list of their page numbers (file format, section 1.5).
  static func leaves(_ page: RawSpan, usableSize: Int, pageCount: UInt32) -> [UInt32]? {
    let count = Int(page.uint32(at: 4))
    guard page.uint32(at: 0) <= pageCount, count > 0, count <= usableSize / 4 - 2 else {
      return nil
    }
    var leaves: [UInt32] = []
    for place in 0..<count {
      let leaf = page.uint32(at: 8 + 4 * place)
      guard leaf > 1, leaf <= pageCount else { return nil }
      leaves.append(leaf)
    }
    return leaves
  }
}
