/// Fills tables and indexes by writing their pages directly, which takes a fraction of the time of INSERT.
///
/// Leaves are written one after the other while rows are added. Interior pages are written when all rows have been
/// added. The rows of a table should be added in stretches. A stretch is a group of rows, for example the rows of a
/// leaf of another file. The ranges of row ids of two stretches should not overlap. The stretches may come in any
/// order. Constraints are not checked.
package struct TableFiller: ~Copyable {
  private struct Table {
    let root: UInt32
    /// The leaf to which rows are currently added.
    var leaf: FilledLeaf
    var leaves = LeafRuns()
  }

  private let writer: SQLiteWriter
  private var pages: AppendedPages
  private var waiting: WaitingKeys?
  private var tables: [Table] = []
  private let pageSize: Int
  /// The memory in bytes for the lists of written leaves: about five bytes for each leaf, and 24 more for each leaf
  /// that was written after a leaf with higher row ids.
  package private(set) var orderBytes = 0
  /// Whether any leaf contains a row id twice.
  private var hasTwice = false
  /// The maximum memory, in bytes, for the leaves to which rows are being added. Each table has one such leaf.
  private static let maxLeafBytes = 4 << 20

  fileprivate init(_ writer: SQLiteWriter) throws(SQLiteWriterError) {
    self.writer = writer
    pages = try AppendedPages(to: writer.file, writer.options)
    pageSize = writer.options.pageSize
  }

  /// Begins to fill a table. The table must be empty and have row ids. Returns the number of the table, for
  /// ``add(to:_:isNext:_:of:)``. Returns nil when the schema contains no table of this name with a root page, or when
  /// too many tables are being filled.
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
  ///   - place: the number of the table, as returned by ``begin(_:)``.
  ///   - rowID: the row id. No other row of the table may have the same row id.
  ///   - isNext: whether the row may be written to the same leaf as the previous row of this table. This is allowed if
  ///     no row of another leaf belongs between the rows of the leaf. The rows of one leaf may be added in any order.
  ///   - record: the range of `bytes` that contains the row's record (file format, section 2.1). For the row id's
  ///     column, the record must contain NULL.
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

  /// Writes the last leaf and the interior pages of each table.
  ///
  /// - Returns: false when a row id occurs twice, or when the ranges of row ids of two leaves overlap. The file is then
  ///   unusable.
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

  /// Writes the database header, and lets SQLite lock the file again. Before this call, the file is not consistent.
  ///
  /// - Throws: `full`, `inputOutput`, or what SQLite reports.
  package mutating func finish() throws(SQLiteWriterError) {
    try pages.finish()
    try writer.retakeLock()
  }

  // MARK: - Indexes

  /// The maximum length of an index record that ``fillIndex(_:_:_:)`` accepts, in bytes.
  package var maxIndexRecordBytes: Int { TreeLevels.maxRecordBytes(pageSize: pageSize) }

  /// The number of bytes before an index record that must be left free for the varint of the record's length.
  package static let recordStart = 9

  /// Creates an empty sorter for the entries of an index. Whenever the entries in memory take about `maxBytes` bytes,
  /// they are sorted and written to a temporary file. Throws `cannotCreate` when this file cannot be created.
  package mutating func sorter(maxBytes: Int) throws(SQLiteWriterError) -> KeySorter {
    if waiting == nil { waiting = try WaitingKeys(beside: writer.path) }
    guard let waiting else { throw writer.closedError }
    return KeySorter(waiting, maxBytes: maxBytes)
  }

  /// Fills an index. The index must be empty.
  ///
  /// - Parameters:
  ///   - root: the root page of the index.
  ///   - keys: the keys, one for each entry. They must sort in the order of the index entries.
  ///   - make: receives a key and an array; each call receives the same array. `make` writes the record of the key's
  ///     entry into the array, at index ``recordStart`` or later, and returns the range of the record. The record may
  ///     have up to ``maxIndexRecordBytes`` bytes. If the index cannot contain the key, for example because the key is
  ///     not unique, `make` returns nil, which stops the filling.
  /// - Returns: false when `make` returned nil. The file is then unusable.
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
      // A cell consists of the length of the record and the record itself (file format, section 1.6).
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

  /// Writes the bytes in the range `rest` of a record to an overflow chain, and returns the number of the chain's first
  /// page.
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

  /// Builds the interior pages above the leaves of a table, up to the root page. Returns false when the row ids of two
  /// leaves overlap.
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
  /// Whether ``filler()`` can be used for this file. A filler cannot write to a file in WAL mode or with full
  /// auto-vacuum.
  package var canBeFilled: Bool { options.autoVacuum != .full && options.journalMode != .wal }

  /// Releases SQLite's lock on the file, and creates a filler, which fills tables without SQLite. Nothing else may
  /// write to the file until ``TableFiller/finish()`` has been called.
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

  /// Runs `body`, which may open and close the file. Closing the file would release SQLite's locks, so SQLite releases
  /// them before `body` runs, and takes them again afterwards. Throws `transactionOpen`, what `body` throws, or what
  /// SQLite reports.
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
