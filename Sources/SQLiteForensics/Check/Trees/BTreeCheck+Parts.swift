import SQLiteFile

extension BTreeCheck {
  /// A page that is yet to be checked, with the range of row ids that are allowed on the page and on all pages below
  /// it.
  struct Pending {
    var page: UInt32
    var parent: UInt32
    var depth: Int32
    /// All row ids on the page and on the pages below it must be greater than this value; `.min` allows any row id.
    var lower: Int64
    /// All row ids on the page and on the pages below it must be at most this value.
    var upper: Int64
  }

  /// The numbers of cells, entries and pages of a b-tree, or of a part of a b-tree.
  struct Counts {
    var cells = 0
    /// The number of rows or index entries. In a table, only cells on leaves are rows; in an index, every cell is an
    /// entry.
    var entries = 0
    var pages = 0
    var overflowPages = 0
    /// The highest row id; nil if the b-tree has no row ids or no rows.
    var highestRowID: Int64?
    /// Whether every page of the b-tree was read. If the counts are for a part of the b-tree: whether every page of
    /// this part was read.
    var isWhole = true
    /// The depth of the first leaf that was reached, in levels below the root page; -1 until a leaf is reached.
    var leafDepth: Int32 = -1

    /// Adds the counts of another part of the same b-tree. Returns false if the leaves of the two parts are at
    /// different depths. The caller must then walk the b-tree as a whole, because only such a walk can report the
    /// uneven depth.
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

  /// A part of a b-tree: neighbouring pages on one level, with all pages below them.
  struct Part {
    let pages: ContiguousArray<Pending>
    let isTable: Bool
  }
}
