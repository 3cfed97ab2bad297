/// The row ids that the keys of the interior pages above a page allow on it; no row id when `least` is above `most`.
package struct RowIDBounds {
  package var least = Int64.min
  package var most = Int64.max
}

/// The keys of an interior page of a table, one after the other. Each key is the highest row id of the page to its
/// left.
struct KeyWalk {
  /// The bounds of the page after the last key.
  private(set) var rest: RowIDBounds
  /// Whether the keys ascend within the bounds of the page. Keys out of order bound nothing.
  private(set) var isInOrder = true

  init(_ rowIDs: RowIDBounds = RowIDBounds()) { rest = rowIDs }

  /// The bounds of the page left of the next key.
  mutating func next(_ key: Int64) -> RowIDBounds {
    guard isInOrder, key >= rest.least, key <= rest.most else {
      isInOrder = false
      rest = RowIDBounds()
      return rest
    }
    let rowIDs = RowIDBounds(least: rest.least, most: key)
    rest.least = key == .max ? .max : key + 1
    return rowIDs
  }
}

/// The leaves of a table in key order, with the bounds of their row ids; twelve bytes each.
package struct LeafList {
  package private(set) var pages: [UInt32] = []
  private var most: [Int64] = []

  package init() {}

  /// A list of leaves whose keys are not known.
  package init(unbounded pages: [UInt32]) {
    self.pages = pages
    most = Array(repeating: .max, count: pages.count)
  }

  package var count: Int { pages.count }

  /// A leaf and its bounds, which begin after those of the previous leaf.
  package subscript(index: Int) -> (page: UInt32, rowIDs: RowIDBounds) {
    let before = index > 0 ? most[index - 1] : .min
    return (
      pages[index],
      RowIDBounds(least: before < .max && index > 0 ? before + 1 : .min, most: most[index])
    )
  }

  package mutating func append(_ page: UInt32, _ rowIDs: RowIDBounds) {
    pages.append(page)
    most.append(rowIDs.most)
  }
}
