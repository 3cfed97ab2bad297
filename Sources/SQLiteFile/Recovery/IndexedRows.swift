/// What the indexes of a table say of its rows: each entry holds the values of some columns and the row id that has them.
///
/// An index is a b-tree of its own, so pages of the table that come from elsewhere contradict it.
struct IndexedRows {
  private struct Index {
    let columns: [Int]
    /// Row ids with a hash of the values, in the order of the row ids.
    var entries: ContiguousArray<(rowID: Int64, content: Int)> = []
    var trials = 0
    var agreeing = 0
  }

  /// Rows of a leaf that are asked about before an index is believed, and how many of them must agree: an index whose root is another
  /// one's agrees with hardly any.
  private static let sampleCount = 32
  private static let leastAgreeing = 5

  private var indexes: [Index] = []

  var isEmpty: Bool { indexes.isEmpty }

  /// `sample`: leaves of the table from all over it.
  /// `budget`: entries that may still be read. Larger indexes are not asked.
  init(
    of table: Int, _ sample: [UInt32], _ database: DamagedDatabase, budget: inout Int
  ) throws(SQLiteFileError) {
    let name = database.tables[table].name
    for entry in database.schemaEntries
    where entry.type == "index" && SQLName.isSame(entry.tableName, name) && entry.rootPage > 1 {
      guard let columns = database.columns(of: entry, table), !columns.isEmpty,
        let entries = try Self.entries(entry.rootPage, columns.count, database, &budget),
        !entries.isEmpty
      else { continue }
      indexes.append(Index(columns: columns, entries: entries))
    }
    guard !indexes.isEmpty else { return }
    try tryOut(table, sample, database)
    indexes.removeAll { $0.agreeing * Self.leastAgreeing < $0.trials }
  }

  /// Whether any index has a row as it is; nil when none has its row id.
  func confirms(_ values: [StoredValue], _ rowID: Int64) -> Bool? {
    var answer: Bool?
    for index in indexes {
      guard let isSame = Self.agrees(index, values, rowID) else { continue }
      if isSame { return true }
      answer = false
    }
    return answer
  }

  private static func agrees(_ index: Index, _ values: [StoredValue], _ rowID: Int64) -> Bool? {
    var low = 0
    var high = index.entries.count
    while low < high {
      let middle = (low + high) / 2
      if index.entries[middle].rowID < rowID { low = middle + 1 } else { high = middle }
    }
    guard low < index.entries.count, index.entries[low].rowID == rowID else { return nil }
    let content = hash(index.columns.map { $0 < values.count ? values[$0] : .null })
    while low < index.entries.count, index.entries[low].rowID == rowID {
      if index.entries[low].content == content { return true }
      low += 1
    }
    return false
  }

  /// Asks each index about rows from all over the table.
  private mutating func tryOut(_ table: Int, _ sample: [UInt32], _ database: DamagedDatabase)
    throws(SQLiteFileError)
  {
    var reading = database.newReading()
    var buffer = ContiguousArray<UInt8>()
    for page in sample where try database.reader.copy(page, into: &buffer) > 0 {
      reading.read(
        buffer.rawSpan, number: page, available: database.layout.pageSize, shape: nil)
      for cell in reading.cells.prefix(Self.sampleCount) where !cell.spills && cell.hasRowID {
        let values = database.decode(
          cell, buffer.rawSpan, database.layouts[table], rowID: cell.rowID)
        for index in indexes.indices {
          guard let isSame = Self.agrees(indexes[index], values, cell.rowID) else { continue }
          indexes[index].trials += 1
          if isSame { indexes[index].agreeing += 1 }
        }
      }
    }
  }

  /// All entries of an index that end on their pages; nil when they are too many.
  private static func entries(
    _ root: UInt32, _ columns: Int, _ database: DamagedDatabase, _ budget: inout Int
  ) throws(SQLiteFileError) -> ContiguousArray<(rowID: Int64, content: Int)>? {
    var found: ContiguousArray<(rowID: Int64, content: Int)> = []
    var met = PageSet(pageCount: database.pageCount)
    var pending = [root]
    var reading = database.newReading()
    var buffer = ContiguousArray<UInt8>()
    while let page = pending.popLast() {
      let isInterior = database.census.kind(page) == .indexInterior
      guard isInterior || database.census.kind(page) == .indexLeaf, met.insert(page),
        try database.reader.copy(page, into: &buffer) == database.layout.pageSize
      else { continue }
      reading.readIndex(buffer.rawSpan, isInterior: isInterior)
      for cell in reading.cells where !cell.spills {
        let values = database.decode(cell, buffer.rawSpan, RowLayout(), rowID: nil)
        guard values.count == columns + 1, case .integer(let rowID)? = values.last else { continue }
        found.append((rowID, hash(values.dropLast())))
      }
      budget -= reading.cells.count + 1
      guard budget > 0 else { return nil }
      guard isInterior else { continue }
      let bytes = buffer.rawSpan
      let count = min(Int(bytes.uint16(at: 3)), (database.layout.usableSize - 12) / 2)
      pending.append(bytes.uint32(at: 8))
      for index in 0..<count {
        let start = Int(bytes.uint16(at: 12 + 2 * index))
        if start + 4 <= database.layout.usableSize { pending.append(bytes.uint32(at: start)) }
      }
    }
    found.sort { $0.rowID < $1.rowID }
    return found
  }

  /// Whole numbers are the same whether they stand as integers or as reals.
  private static func hash(_ values: some Sequence<StoredValue>) -> Int {
    var hasher = Hasher()
    for value in values {
      if case .integer(let number) = value {
        hasher.combine(StoredValue.real(Double(number)))
      } else {
        hasher.combine(value)
      }
    }
    return hasher.finalize()
  }
}

extension DamagedDatabase {
  /// The columns that the entries of an index hold in front of the row id; nil when its statement does not say so plainly.
  fileprivate func columns(of index: SchemaEntry, _ table: Int) -> [Int]? {
    let definition = tables[table].definition
    let places: [Int?]
    if let sql = index.sql {
      guard let parts = IndexDefinition(sql: sql)?.parts else { return nil }
      places = parts.map { definition.place(of: $0.column) }
    } else {
      guard
        let key = definition.automaticIndexes?.first(where: { key in
          SQLName.isSame(index.name, "sqlite_autoindex_\(index.tableName)_\(key.number)")
        })
      else { return nil }
      places = key.parts.map(\.column)
    }
    let columns = places.compactMap { $0 }
    return columns.count == places.count ? columns : nil
  }
}
