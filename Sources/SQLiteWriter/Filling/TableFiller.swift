/// Fills tables and indexes by writing their pages, which takes a fraction of the time of INSERT.
///
/// Leaves are written one after the other while rows are added, and interior pages when all rows have been added. Rows
/// of a table should come in stretches whose ranges of row ids do not overlap, like the leaves of another file. The
/// stretches may come in any order. Constraints are not checked.
package struct TableFiller: ~Copyable {
  /// A table that is being filled.
  private struct Table {
    let root: UInt32
    /// The leaf to which rows are added.
    var leaf: FilledLeaf
    /// The leaves that have been written.
    var leaves = LeafRuns()
  }

  private let writer: SQLiteWriter
  private var pages: AppendedPages
  private var waiting: WaitingKeys?
  private var tables: [Table] = []
  private let pageSize: Int
  /// The memory in bytes that the order of the leaves takes: about five for each leaf, and 24 more for a leaf that
  /// comes after a leaf with higher row ids.
  package private(set) var orderBytes = 0
  /// Whether a row id was added twice to one leaf.
  private var hasTwice = false
  /// The most bytes that the current leaves of all tables may take in memory.
  private static let maxLeafBytes = 4 << 20

  fileprivate init(_ writer: SQLiteWriter) throws(SQLiteWriterError) {
    self.writer = writer
    pages = try AppendedPages(to: writer.file, writer.options)
    pageSize = writer.options.pageSize
  }

  /// Begins to fill a table, which must be empty and have row ids.
  ///
  /// - Parameter name: the name of the table.
  /// - Returns: the table's number for ``add(to:_:isNext:_:of:)``; nil when the schema has no such table with a root
  ///   page, or when too many tables are being filled.
  /// - Throws: what SQLite reports.
  package mutating func begin(_ name: String) throws(SQLiteWriterError) -> Int? {
    guard tables.count < max(16, Self.maxLeafBytes / pageSize),
      case .integer(let root)? = try writer.rows(
        "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = ?", [.string(name)]
      ).first?.first, root >= 2, root <= Int64(pages.last)
    else { return nil }
    tables.append(Table(root: UInt32(root), leaf: FilledLeaf(pageSize: pageSize)))
    return tables.count - 1
  }

  /// Adds a row.
  ///
  /// - Parameters:
  ///   - place: the table's number, from ``begin(_:)``.
  ///   - rowID: the row id. No other row of the table may have the same row id.
  ///   - isNext: whether the row is of the same stretch as the row added to this table before. Rows of one stretch may
  ///     come in any order.
  ///   - record: where the row's record is in `bytes` (file format, section 2.1). The record has NULL for the row id's
  ///     column.
  ///   - bytes: the bytes that contain the record.
  /// - Throws: `full`, `inputOutput`.
  @inline(__always)
  package mutating func add(
    to place: Int, _ rowID: Int64, isNext: Bool, _ record: Range<Int>,
    of bytes: borrowing ContiguousArray<UInt8>
  ) throws(SQLiteWriterError) {
    let cell = FilledLeaf.Cell(rowID, record.count, pageSize: pageSize)
    if !tables[place].leaf.takes(cell, isNext: isNext) { try endLeaf(place) }
    let head =
      cell.isWhole
      ? 0 : try spill(bytes, record.lowerBound + cell.local..<record.upperBound)
    tables[place].leaf.put(cell, bytes, from: record.lowerBound, head)
  }

  /// Writes the last leaves and the interior pages of all tables.
  ///
  /// - Returns: false when a row id occurs twice, or when the ranges of row ids of two leaves overlap. The file is
  ///   unusable then.
  /// - Throws: `full`, `inputOutput`.
  package mutating func finishTables() throws(SQLiteWriterError) -> Bool {
    for place in tables.indices where !tables[place].leaf.isEmpty {
      if tables[place].leaves.isEmpty {
        let root = tables[place].root
        order(place)
        var page = ContiguousArray<UInt8>()
        tables[place].leaf.write(to: &page)
        try pages.replace(root, by: page)
        for head in tables[place].leaf.heads { try pages.note(head, as: .overflowHead, of: root) }
      } else {
        try endLeaf(place)
        guard try raise(place) else { return false }
      }
    }
    return !hasTwice
  }

  /// Writes the database header and returns the file to SQLite. Before this the file is not consistent.
  /// - Throws: `full`, `inputOutput`, or what SQLite reports.
  package mutating func finish() throws(SQLiteWriterError) {
    try pages.finish()
    try writer.retakeLock()
  }

  // MARK: - Indexes

  /// The longest record of an index that ``fillIndex(_:_:_:)`` accepts, in bytes.
  package var maxIndexRecordBytes: Int { TreeLevels.maxRecordBytes(pageSize: pageSize) }

  /// How many bytes must be free before an index record, for the varint of its length.
  package static let recordStart = 9

  /// Makes a sorter for the entries of an index.
  ///
  /// - Parameter maxBytes: about how much memory the sorter may take; more entries go to a temporary file.
  /// - Throws: `cannotCreate` when the temporary file cannot be created.
  /// - Returns: an empty sorter.
  package mutating func sorter(maxBytes: Int) throws(SQLiteWriterError) -> KeySorter {
    if waiting == nil { waiting = try WaitingKeys(beside: writer.path) }
    guard let waiting else { throw writer.closedError }
    return KeySorter(waiting, maxBytes: maxBytes)
  }

  /// Fills an index, which must be empty.
  ///
  /// - Parameters:
  ///   - root: the root page of the index.
  ///   - keys: keys, one for each entry, that sort like the entries of the index.
  ///   - make: gets a key and an array. It writes the record of the key's entry into the array, at index
  ///     ``recordStart`` or later and at most ``maxIndexRecordBytes`` long, and returns the record's range. It returns
  ///     nil to stop, for a key that must not follow the previous one. The array is the same each time.
  /// - Returns: false when `make` returned nil; the file is unusable then.
  /// - Throws: `full`, `inputOutput`.
  package mutating func fillIndex(
    _ root: UInt32, _ keys: inout KeySorter,
    _ make: (RawSpan, inout ContiguousArray<UInt8>) -> Range<Int>?
  ) throws(SQLiteWriterError) -> Bool {
    var levels = TreeLevels(pageSize: pageSize, lowest: .indexLeaf)
    var bytes = ContiguousArray<UInt8>(repeating: 0, count: Self.recordStart)
    var isWhole = true
    try keys.drain { key throws(SQLiteWriterError) in
      guard let record = make(key, &bytes) else {
        isWhole = false
        return false
      }
      // A cell is the record's length and the record (file format, section 1.6).
      let start = record.lowerBound - PageBytes.varintLength(UInt64(record.count))
      var place = start
      bytes.set(varint: UInt64(record.count), at: &place)
      try levels.add(bytes, start..<record.upperBound) { page throws(SQLiteWriterError) in
        try write(page)
      }
      return true
    }
    guard isWhole else { return false }
    let top = try levels.finish { page throws(SQLiteWriterError) in try write(page) }
    try write(top, as: root)
    return true
  }

  // MARK: - Leaves

  /// Writes the bytes at `rest` of a record to an overflow chain, and returns the number of its first page.
  private mutating func spill(_ record: borrowing ContiguousArray<UInt8>, _ rest: Range<Int>)
    throws(SQLiteWriterError) -> UInt32
  {
    let head = pages.upcoming()
    var place = rest.lowerBound
    var before: UInt32 = 0
    while place < rest.upperBound {
      let count = min(pageSize - 4, rest.upperBound - place)
      let next = place + count < rest.upperBound ? pages.upcoming(after: 1) : 0
      let page = try pages.append { out in
        out.append(bigEndian: next)
        out.append(contentsOf: record[place..<place + count])
        if count < pageSize - 4 {
          out.append(contentsOf: repeatElement(0, count: pageSize - 4 - count))
        }
      }
      if before != 0 { try pages.note(page, as: .overflow, of: before) }
      before = page
      place += count
    }
    return head
  }

  private mutating func order(_ place: Int) {
    let isInOrder = tables[place].leaf.sort()
    hasTwice = hasTwice || !isInOrder
  }

  private mutating func endLeaf(_ place: Int) throws(SQLiteWriterError) {
    order(place)
    let page = try pages.append { tables[place].leaf.write(to: &$0) }
    for head in tables[place].leaf.heads { try pages.note(head, as: .overflowHead, of: page) }
    orderBytes -= tables[place].leaves.sizeBytes
    tables[place].leaves.add(page, tables[place].leaf.ids)
    orderBytes += tables[place].leaves.sizeBytes
    tables[place].leaf.removeAll()
  }

  // MARK: - Interior pages

  /// Builds the interior pages above a table's leaves, up to its root; false when the row ids of two leaves overlap.
  private mutating func raise(_ place: Int) throws(SQLiteWriterError) -> Bool {
    var leaves = tables[place].leaves
    tables[place].leaves = LeafRuns()
    var levels = TreeLevels(pageSize: pageSize, lowest: .tableInterior)
    var before: LeafRuns.Child?
    let isInOrder = try leaves.forEach { child throws(SQLiteWriterError) in
      if let before {
        var key = ContiguousArray<UInt8>()
        key.append(varint: UInt64(bitPattern: before.last))
        try levels.add(key, 0..<key.count, child: before.page) { page throws(SQLiteWriterError) in
          try write(page)
        }
      }
      before = child
    }
    guard isInOrder else { return false }
    let top = try levels.finish(child: before?.page ?? 0) { page throws(SQLiteWriterError) in
      try write(page)
    }
    try write(top, as: tables[place].root)
    return true
  }

  private mutating func write(_ page: borrowing TreePage) throws(SQLiteWriterError) -> UInt32 {
    let number = try pages.append { page.write(to: &$0) }
    for child in page.allChildren { try pages.note(child, as: .tree, of: number) }
    return number
  }

  private mutating func write(_ top: TreePage, as root: UInt32) throws(SQLiteWriterError) {
    var page = ContiguousArray<UInt8>()
    top.write(to: &page)
    try pages.replace(root, by: page)
    for child in top.allChildren { try pages.note(child, as: .tree, of: root) }
  }
}

extension SQLiteWriter {
  /// Whether ``filler()`` can append pages to the file: not with full auto-vacuum, and not in WAL mode.
  package var canBeFilled: Bool { options.autoVacuum != .full && options.journalMode != .wal }

  /// Releases SQLite's lock on the file and makes a filler, which fills tables without SQLite. Nothing else may be
  /// written until ``TableFiller/finish()`` was called.
  ///
  /// - Returns: the filler.
  /// - Throws: `refused` when ``canBeFilled`` is false; `transactionOpen`, `closed`, `inputOutput`, `replaced`, or what
  ///   SQLite reports.
  package func filler() throws(SQLiteWriterError) -> TableFiller {
    guard canBeFilled else {
      throw SQLiteWriterError(
        .refused, "a file with full auto-vacuum or in WAL mode cannot be filled", path: path)
    }
    try releaseLock()
    return try TableFiller(self)
  }

  /// Runs `body`, which may open and close the file. Closing it would drop SQLite's locks, so SQLite releases them
  /// before and takes them again afterwards.
  ///
  /// - Returns: what `body` returns.
  /// - Throws: `transactionOpen`, what `body` throws, or what SQLite reports.
  package func withoutLock<R>(_ body: () throws -> R) throws -> R {
    try releaseLock()
    let result = try body()
    try retakeLock()
    return result
  }

  private func releaseLock() throws(SQLiteWriterError) {
    guard !isInTransaction else {
      throw SQLiteWriterError(.transactionOpen, "a transaction is open", path: path)
    }
    try execute("PRAGMA locking_mode = NORMAL")
    // SQLite releases the lock at the end of the next read.
    _ = try rows("SELECT count(*) FROM sqlite_schema")
  }

  fileprivate func retakeLock() throws(SQLiteWriterError) {
    if !options.isSynchronous { try execute("PRAGMA locking_mode = EXCLUSIVE") }
  }
}
