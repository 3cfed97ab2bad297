import SQLiteFile

/// Recognises a freelist trunk by its content alone, where the chain of the freelist does not show what the page is.
enum FreelistTrunk {
  /// The numbers of the pages that a trunk lists. A trunk begins with the number of the next trunk or 0, a count, and
  /// as many page numbers (file format, section 1.5). Nil when the page does not begin like this, or does not list any
  /// page.
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
