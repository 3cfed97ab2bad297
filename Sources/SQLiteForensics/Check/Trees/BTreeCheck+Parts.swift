import SQLiteFile

extension BTreeCheck {
  /// A page that is still to be checked, and the range of row ids on it and below it.
  struct Pending {
    var page: UInt32
    var parent: UInt32
    var depth: Int32
    /// Row ids on the page and below it must be greater than `lower`; `.min` allows any.
    var lower: Int64
    /// Row ids on the page and below it must be at most `upper`.
    var upper: Int64
  }

  /// What a walk of a b-tree, or of a part of one, has counted.
  struct Counts {
    var cells = 0
    /// Cells that are rows or index entries: leaf cells in a table, all cells in an index.
    var entries = 0
    var pages = 0
    var overflowPages = 0
    /// The highest row id of a table; nil when the b-tree has no row ids, or no rows.
    var highestRowID: Int64?
    /// Whether every page below the root was read.
    var isWhole = true
    /// The depth of the first leaf that was met, in levels below the root; -1 while none was met.
    var leafDepth: Int32 = -1

    /// Adds the counts of another part of the same b-tree. Returns false when the leaves of the two parts are at
    /// different depths, which only a walk of the whole b-tree can report.
    mutating func add(_ other: Counts) -> Bool {
      cells += other.cells
      entries += other.entries
      pages += other.pages
      overflowPages += other.overflowPages
      if let highest = other.highestRowID {
        highestRowID = max(highestRowID ?? highest, highest)
      }
      if !other.isWhole { isWhole = false }
      guard leafDepth >= 0, other.leafDepth >= 0 else {
        leafDepth = max(leafDepth, other.leafDepth)
        return true
      }
      return leafDepth == other.leafDepth
    }
  }

  /// A part of a b-tree: pages next to each other on one level, and all pages below them.
  struct Part {
    let pages: ContiguousArray<Pending>
    let isTable: Bool
  }
}
