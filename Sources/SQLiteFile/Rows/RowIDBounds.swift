/// The row ids that may be on a page, according to the keys of the page's ancestors. If `least` is above `most`, the
/// page must be empty.
package struct RowIDBounds {
  package var least = Int64.min
  package var most = Int64.max
}

/// The keys of an interior page of a table. Each is the highest row id that is allowed on the child page to its left.
struct KeyWalk {
  /// The range of row ids that is allowed on the child page to the right of the key that was passed to ``next(_:)``
  /// last.
  private(set) var rest: RowIDBounds
  /// Whether the keys read so far are in ascending order and within the bounds of the interior page. If false, the
  /// remaining child pages may have any row id.
  private(set) var isInOrder = true

  init(_ rowIDs: RowIDBounds = RowIDBounds()) { rest = rowIDs }

  /// Advances to `key`, the next key of the interior page. Returns the range of row ids that is allowed on the child
  /// page to the left of `key`.
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

/// The leaves of a table in key order, each with the row ids that are allowed on it. A leaf takes twelve bytes.
package struct LeafList {
  package private(set) var pages: [UInt32] = []
  private var most: [Int64] = []

  package init() {}

  /// Creates a list of leaves for which the keys are not known.
  package init(unbounded pages: [UInt32]) {
    self.pages = pages
    most = Array(repeating: .max, count: pages.count)
  }

  package var count: Int { pages.count }

  /// The leaf at an index, and the row ids that are allowed on the leaf. The lowest of these row ids comes after the
  /// highest row id that is allowed on the previous leaf.
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
