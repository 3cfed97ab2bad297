/// Fills tables and indexes by writing their pages, which takes a fraction of the time of INSERT.
///
/// Leaves are written as rows come, one behind the other; what leads to them, when all rows are there. Rows of a table
/// should come in stretches between whose row ids no other lie, as they do from pages of a file: the order of leaves in
/// a file means nothing. No constraint is looked at.
public struct TableFiller: ~Copyable {
  /// A table that is being filled.
  private struct Table {
    let root: UInt32
    /// The leaf that rows go to.
    var leaf: FilledLeaf
    /// Those that are full.
    var leaves = LeafRuns()
  }

  private let writer: SQLiteWriter
  private var pages: AppendedPages
  private var waiting: WaitingKeys?
  private var tables: [Table] = []
  private let pageSize: Int
  /// Whether a row id came twice in a stretch.
  private var hasTwice = false
  /// So many bytes of leaves are held at most.
  private static let mostLeafBytes = 4 << 20
  private static let interiorHeader = 12

  fileprivate init(_ writer: SQLiteWriter) throws(SQLiteWriterError) {
    self.writer = writer
    pages = try AppendedPages(to: writer.file, writer.options)
    pageSize = writer.options.pageSize
  }

  /// Begins with a table, which must be empty and have row ids.
  ///
  /// - Parameter name: its name.
  /// - Returns: what ``add(to:_:isNext:_:)`` calls it; nil when it is none that can be filled, or there are too many already.
  /// - Throws: what SQLite reports.
  public mutating func begin(_ name: String) throws(SQLiteWriterError) -> Int? {
    guard tables.count < max(16, Self.mostLeafBytes / pageSize),
      case .integer(let root)? = try writer.rows(
        "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = ?", [.string(name)]
      ).first?.first, root >= 2, root <= Int64(pages.last)
    else { return nil }
    tables.append(
      Table(root: UInt32(root), leaf: FilledLeaf(pageSize: pageSize)))
    return tables.count - 1
  }

  /// Adds a row.
  ///
  /// - Parameters:
  ///   - place: the table.
  ///   - rowID: the row id, which the table may not have yet.
  ///   - isNext: whether the row is of the same stretch as the one added before, in whatever order.
  ///   - record: the row in the record format (file format, section 2.1), with NULL for the row id's column.
  /// - Throws: `full`, `inputOutput`.
  @inline(__always)
  public mutating func add(
    to place: Int, _ rowID: Int64, isNext: Bool, _ record: borrowing ContiguousArray<UInt8>
  ) throws(SQLiteWriterError) {
    let cell = FilledLeaf.Cell(rowID, record.count, pageSize: pageSize)
    if !tables[place].leaf.takes(cell, isNext: isNext) { try endLeaf(place) }
    let head = cell.isWhole ? 0 : try spill(record, from: cell.local)
    tables[place].leaf.put(cell, record, head)
  }

  /// Ends all tables.
  ///
  /// - Returns: false when a row id came twice, or a row between those of another stretch.
  /// - Throws: `full`, `inputOutput`.
  public mutating func finishTables() throws(SQLiteWriterError) -> Bool {
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
        guard tables[place].leaves.sort() else { return false }
        try raise(place)
      }
    }
    return !hasTwice
  }

  /// Gives the file back to SQLite; only now it is in order again.
  /// - Throws: `full`, `inputOutput`, or what SQLite reports.
  public mutating func finish() throws(SQLiteWriterError) {
    try pages.finish()
    try writer.retakeLock()
  }

  // MARK: - Indexes

  /// The longest record that an index filled here takes, in bytes.
  public var mostIndexRecordBytes: Int { IndexLevels.mostRecordBytes(pageSize: pageSize) }

  /// Makes something that puts the entries of an index in order.
  ///
  /// - Parameter mostBytes: the memory that it may take, about; what is more waits in a file.
  /// - Throws: `cannotCreate`.
  /// - Returns: it, still empty.
  public mutating func sorter(mostBytes: Int) throws(SQLiteWriterError) -> KeySorter {
    if waiting == nil { waiting = try WaitingKeys(beside: writer.path) }
    guard let waiting else { throw writer.closedError }
    return KeySorter(waiting, mostBytes: mostBytes)
  }

  /// Fills an index, which must be empty.
  ///
  /// - Parameters:
  ///   - root: its root page.
  ///   - keys: what sorts like its entries.
  ///   - make: makes the record of an entry from it, of at most ``mostIndexRecordBytes``; false ends all, for a key that may
  ///     not stand behind the one before.
  /// - Returns: false when `make` ended it; the file is of no use then.
  /// - Throws: `full`, `inputOutput`.
  public mutating func fillIndex(
    _ root: UInt32, _ keys: inout KeySorter,
    _ make: (ArraySlice<UInt8>, inout ContiguousArray<UInt8>) -> Bool
  ) throws(SQLiteWriterError) -> Bool {
    var levels = IndexLevels(pageSize: pageSize)
    var record = ContiguousArray<UInt8>()
    var isWhole = true
    try keys.drain { key throws(SQLiteWriterError) in
      guard isWhole else { return }
      guard make(key, &record) else {
        isWhole = false
        return
      }
      try levels.add(record) { page throws(SQLiteWriterError) in try write(page) }
    }
    guard isWhole else { return false }
    let top = try levels.finish { page throws(SQLiteWriterError) in try write(page) }
    try pages.replace(root, by: top.bytes)
    for child in top.allChildren { try pages.note(child, as: .tree, of: root) }
    return true
  }

  private mutating func write(_ page: borrowing IndexPage) throws(SQLiteWriterError) -> UInt32 {
    let bytes = page.bytes
    let number = try pages.append { $0.append(contentsOf: bytes) }
    for child in page.allChildren { try pages.note(child, as: .tree, of: number) }
    return number
  }

  // MARK: - Leaves

  /// Writes the rest of a record to an overflow chain; returns its first page.
  private mutating func spill(_ record: borrowing ContiguousArray<UInt8>, from start: Int)
    throws(SQLiteWriterError) -> UInt32
  {
    let head = pages.upcoming()
    var place = start
    var before: UInt32 = 0
    while place < record.count {
      let count = min(pageSize - 4, record.count - place)
      let next = place + count < record.count ? pages.upcoming(after: 1) : 0
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
    tables[place].leaves.add(page, tables[place].leaf.ids)
    tables[place].leaf.removeAll()
  }

  // MARK: - Interior pages

  /// Builds level upon level over a table's leaves, up to its root.
  private mutating func raise(_ place: Int) throws(SQLiteWriterError) {
    let root = tables[place].root
    var level = Level(room: pageSize - Self.interiorHeader)
    try tables[place].leaves.forEach { child throws(SQLiteWriterError) in
      try level.take(child) { node throws(SQLiteWriterError) in try write(node) }
    }
    tables[place].leaves = LeafRuns()
    while true {
      let above = try level.finish { node throws(SQLiteWriterError) in try write(node) }
      guard let above else { break }
      level = Level(room: pageSize - Self.interiorHeader)
      for child in above {
        try level.take(child) { node throws(SQLiteWriterError) in try write(node) }
      }
    }
    try pages.replace(root, by: page(of: level.current))
    for child in level.current { try pages.note(child.page, as: .tree, of: root) }
  }

  private mutating func write(_ children: [LeafRuns.Child]) throws(SQLiteWriterError) -> UInt32 {
    let bytes = page(of: children)
    let number = try pages.append { $0.append(contentsOf: bytes) }
    for child in children { try pages.note(child.page, as: .tree, of: number) }
    return number
  }

  /// An interior page: all children but the last have cells (file format, section 1.6).
  private func page(of children: [LeafRuns.Child]) -> ContiguousArray<UInt8> {
    var bytes = ContiguousArray<UInt8>(repeating: 0, count: pageSize)
    var start = pageSize
    for (index, child) in children.dropLast().enumerated() {
      var cell = ContiguousArray<UInt8>()
      cell.append(bigEndian: child.page)
      cell.append(varint: UInt64(bitPattern: child.last))
      start -= cell.count
      bytes.replaceSubrange(start..<start + cell.count, with: cell)
      bytes.set(UInt16(start), at: Self.interiorHeader + 2 * index)
    }
    bytes[0] = 0x05
    bytes.set(UInt16(children.count - 1), at: 3)
    bytes.set(UInt16(truncatingIfNeeded: start), at: 5)
    if let last = children.last {
      bytes.set(UInt16(last.page >> 16), at: 8)
      bytes.set(UInt16(truncatingIfNeeded: last.page), at: 10)
    }
    return bytes
  }

  /// One level of a b-tree, of which the last two pages are held, so that none is left with a single child.
  private struct Level {
    let room: Int
    private(set) var current: [LeafRuns.Child] = []
    private var used = 0
    private var held: [LeafRuns.Child] = []
    private var above: [LeafRuns.Child] = []

    init(room: Int) { self.room = room }

    mutating func take(
      _ child: LeafRuns.Child,
      _ write: ([LeafRuns.Child]) throws(SQLiteWriterError) -> UInt32
    ) throws(SQLiteWriterError) {
      if let last = current.last {
        let cell = 2 + 4 + PageBytes.varintLength(UInt64(bitPattern: last.last))
        if used + cell > room {
          try release(write)
          held = current
          current.removeAll()
          used = 0
        } else {
          used += cell
        }
      }
      current.append(child)
    }

    /// Ends the level; returns the pages of which it consists, nil when its children are all on ``current``.
    mutating func finish(_ write: ([LeafRuns.Child]) throws(SQLiteWriterError) -> UInt32)
      throws(SQLiteWriterError) -> [LeafRuns.Child]?
    {
      guard !held.isEmpty else { return nil }
      if current.count == 1 { current.insert(held.removeLast(), at: 0) }
      try release(write)
      held = current
      try release(write)
      return above
    }

    private mutating func release(
      _ write: ([LeafRuns.Child]) throws(SQLiteWriterError) -> UInt32
    ) throws(SQLiteWriterError) {
      guard let last = held.last else { return }
      above.append(LeafRuns.Child(page: try write(held), last: last.last))
      held.removeAll()
    }
  }
}

extension SQLiteWriter {
  /// Whether pages can be put behind those of SQLite: not in a file that is vacuumed at each commit or is in WAL mode.
  public var canBeFilled: Bool { options.autoVacuum != .full && options.journalMode != .wal }

  /// Lets go of the file, for tables to be filled past SQLite. Nothing else may be written until the filler has
  /// finished; SQLite reads the file anew then.
  ///
  /// - Returns: the filler.
  /// - Throws: `refused` where the file cannot be filled; `transactionOpen`, `closed`, `inputOutput`, `replaced`, or what
  ///   SQLite reports.
  public func filler() throws(SQLiteWriterError) -> TableFiller {
    guard canBeFilled else {
      throw SQLiteWriterError(.refused, "a file of this layout cannot be filled", path: path)
    }
    try releaseLock()
    return try TableFiller(self)
  }

  /// Runs something that opens the file and closes it again, which would drop SQLite's locks.
  ///
  /// - Returns: what `body` returns.
  /// - Throws: `transactionOpen`, what `body` throws, or what SQLite reports.
  public func withoutLock<R>(_ body: () throws -> R) throws -> R {
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
    // The lock goes with the end of the next look at the file.
    _ = try rows("SELECT count(*) FROM sqlite_schema")
  }

  fileprivate func retakeLock() throws(SQLiteWriterError) {
    if !options.isSynchronous { try execute("PRAGMA locking_mode = EXCLUSIVE") }
  }

}
