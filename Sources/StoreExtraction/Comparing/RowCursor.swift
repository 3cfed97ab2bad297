import SQLiteFile

/// Reads the rows of a table one by one, so that two tables can be read side by side. Only the rows of one leaf are in
/// memory at a time.
final class RowCursor {
  private let list: LeafList
  var findings: FindingList { scan.findings }

  private let layout: RowLayout
  private var reader: PageReader
  private var scan: BTreeScan
  private let gathered = ComparedRows()
  private var nextLeaf = 0
  private var position = 0

  /// Creates a cursor before the first row of a table with row ids. The cursor uses a page reader of its own. Throws
  /// when the device fails.
  ///
  /// `chosen`: the leaves to read, in this order; nil for all leaves of the table.
  init(
    of table: Table, in database: SQLiteDatabase, onlyLeaves chosen: [UInt32]? = nil
  ) throws(SQLiteFileError) {
    var reader = database.anotherReader()
    var scan = database.newScan(of: table, true)
    scan.begin()
    layout = try database.layout(of: table).0
    if let chosen {
      list = LeafList(unbounded: chosen)
    } else {
      list = try scan.leaves(below: table.rootPage, reader: &reader)
      scan.settle()
    }
    self.reader = reader
    self.scan = scan
  }

  /// Returns the next row in key order; nil after the last one. In a damaged table, rows may be out of order.
  func next() throws(SQLiteFileError) -> ComparedRow? {
    while position >= gathered.rows.count {
      guard nextLeaf < list.count else {
        scan.settle()
        return nil
      }
      gathered.rows.removeAll(keepingCapacity: true)
      position = 0
      let leaf = list[nextLeaf]
      nextLeaf += 1
      try scan.read(leaf: leaf, layout: layout, reader: &reader, into: gathered)
    }
    position += 1
    return gathered.rows[position - 1]
  }
}

extension SQLiteDatabase {
  /// Returns how many of `pages` are not b-tree pages but overflow, free or pointer-map pages.
  func otherPageCount(_ pages: [UInt32]) throws(SQLiteFileError) -> Int {
    var reader = anotherReader()
    var count = 0
    for page in pages {
      if try reader.kind(of: page) == nil { count += 1 }
    }
    return count
  }

  func hasRowIDs(_ table: Table) throws(SQLiteFileError) -> Bool {
    try layout(of: table).isRowIDTable
  }

  /// Returns the page numbers of a table's b-tree: its leaves in key order, and its interior pages.
  func pages(of table: Table) throws(SQLiteFileError) -> (
    leaves: [UInt32], interior: [UInt32]
  ) {
    var reader = anotherReader()
    var scan = newScan(of: table, try hasRowIDs(table))
    scan.begin()
    let leaves = try scan.leaves(below: table.rootPage, reader: &reader)
    scan.settle()
    return (leaves.pages, scan.interiorPages)
  }

  /// Calls `receive` with each row of a WITHOUT ROWID table in key order, until `receive` returns false.
  func forEachComparedRow(
    of table: Table, _ receive: (ComparedRow) -> Bool
  ) throws(SQLiteFileError) {
    try forEachRow(of: table) { row in
      receive(ComparedRow(rowID: row.rowID, values: row.values.map(ComparedValue.init)))
    }
  }
}

extension ComparedValue {
  init(_ value: StoredValue) {
    switch value {
    case .text(let text):
      let bytes = ContiguousArray(text.utf8)
      self.init(bytes.rawSpan, isText: true)
    case .blob(let blob):
      let bytes = ContiguousArray(blob)
      self.init(bytes.rawSpan, isText: false)
    default: self = .stored(value)
    }
  }
}
