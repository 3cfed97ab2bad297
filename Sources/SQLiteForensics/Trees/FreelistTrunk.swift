import SQLiteFile

/// Recognises a trunk of the freelist by its content alone, when the freelist cannot be followed.
enum FreelistTrunk {
  /// The pages that a trunk lists. Nil when the page does not begin as a trunk does, or lists none.
  ///
  /// A trunk consists of the number of the next trunk or 0, the number of listed pages, and the numbers of these pages
  /// (file format, section 1.5).
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
