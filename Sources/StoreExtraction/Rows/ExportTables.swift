import SQLiteFile
import SQLiteForensics
import SQLiteWriter

/// The tables of an export. Their pages are filled until a row comes that only SQLite can place: one whose key is not
/// above all keys before, which is damage, or one for a table that is made only when needed. From then on SQLite inserts.
final class ExportTables {
  /// A table that rows go to.
  final class Table {
    /// Its name, which is only certain when it is made.
    fileprivate(set) var name: String
    /// The quoted names of its columns.
    fileprivate let columns: [String]
    /// Whether the first column is the row id.
    fileprivate let hasKey: Bool
    fileprivate(set) var rowCount = 0
    fileprivate(set) var isMade = false
    /// The filler's number for it; nil when it is not filled.
    fileprivate var number: Int?
    fileprivate var lastKey: Int64?
    fileprivate var insert: SQLiteStatement?
    /// The table for rows whose key another row has.
    fileprivate(set) var repeated: Table?

    init(_ name: String, _ columns: [String], hasKey: Bool) {
      self.name = name
      self.columns = columns
      self.hasKey = hasKey
    }
  }

  private let writer: SQLiteWriter
  private(set) var tables: [Table] = []
  private var filler: TableFiller?
  private var taken: UniqueNames
  private var values: ContiguousArray<RecoveredRowBuffer.Value> = []

  /// - Parameters:
  ///   - writer: the new file.
  ///   - reserved: names that no table gets.
  init(_ writer: SQLiteWriter, reserved: [String]) {
    self.writer = writer
    taken = UniqueNames(reserved)
  }

  // MARK: - Making tables

  /// Adds a table.
  ///
  /// - Parameters:
  ///   - name: its name, if that is free.
  ///   - columns: the quoted names of its columns. They have no types, because an affinity could change the values.
  ///   - hasKey: whether the first one is the row id.
  ///   - isLate: whether the table is made only when its first row comes.
  /// - Returns: its number.
  /// - Throws: what SQLite reports.
  func add(_ name: String, _ columns: [String], hasKey: Bool = false, isLate: Bool = false) throws
    -> Int
  {
    let table = Table(name, columns, hasKey: hasKey)
    if !isLate { try make(table) }
    tables.append(table)
    return tables.count - 1
  }

  private func make(_ table: Table) throws {
    table.name = taken.unique(table.name)
    var columns = table.columns
    if table.hasKey { columns[0] += " INTEGER PRIMARY KEY" }
    let name = try SQLIdentifier.quoted(table.name)
    try writer.define("CREATE TABLE \(name) (\(columns.joined(separator: ", ")))")
    table.isMade = true
  }

  /// Begins to fill the tables, when all are made.
  func begin() throws {
    var filler = try writer.filler()
    for table in tables where table.isMade { table.number = try filler.begin(table.name) }
    self.filler = consume filler
  }

  // MARK: - Rows

  /// Adds rows.
  func add(_ batch: borrowing MadeRecords.Batch) throws {
    var place = 0
    if var filler = filler.take() {
      place = try Self.fill(tables, batch, &filler)
      self.filler = consume filler
    }
    guard place < batch.rows.count else { return }
    try endFilling()
    while place < batch.rows.count {
      let row = batch.rows[place]
      if let target = row.target { try insert(row, of: batch, into: tables[Int(target)]) }
      place += 1
    }
  }

  /// Adds rows to pages until one comes that only SQLite can place; returns how many were added.
  private static func fill(
    _ tables: [Table], _ batch: borrowing MadeRecords.Batch, _ filler: inout TableFiller
  ) throws -> Int {
    for place in batch.rows.indices {
      let row = batch.rows[place]
      guard let target = row.target else { continue }
      let table = tables[Int(target)]
      let key = row.rowID ?? Int64(table.rowCount + 1)
      guard let number = table.number, table.lastKey.map({ $0 < key }) ?? true,
        RecordForm.takes(byteCount: row.new.count)
      else { return place }
      try filler.add(to: number, key, isNext: true, row.new, of: batch.bytes)
      table.lastKey = key
      table.rowCount += 1
    }
    return batch.rows.count
  }

  /// Leaves the file to SQLite, if it is still filled.
  private func endFilling() throws {
    guard var filler = filler.take() else { return }
    guard try filler.finishTables() else {
      throw ExtractionError(.writeFailed, "a key comes twice in the new file", path: writer.path)
    }
    try filler.finish()
    try writer.execute("BEGIN")
  }

  /// Ends with all rows in the file.
  func finish() throws {
    try endFilling()
    try writer.execute("COMMIT")
  }

  // MARK: - Inserting

  private func insert(
    _ row: MadeRecords.Batch.Row, of batch: borrowing MadeRecords.Batch, into table: Table
  ) throws {
    if !table.isMade { try make(table) }
    do throws(SQLiteWriterError) {
      try run(row, of: batch, into: table)
    } catch {
      guard error.code == .constraint, table.hasKey else { throw error }
      let other = table.repeated ?? Table(table.name + "_repeated", table.columns, hasKey: false)
      if table.repeated == nil { try make(other) }
      table.repeated = other
      try run(row, of: batch, into: other, withKey: true)
    }
  }

  /// Inserts the values of a record, which may begin with NULL for the row id.
  private func run(
    _ row: MadeRecords.Batch.Row, of batch: borrowing MadeRecords.Batch, into table: Table,
    withKey: Bool = false
  ) throws(SQLiteWriterError) {
    if table.insert == nil { table.insert = try prepare(table) }
    guard let statement = table.insert else { return }
    RecordBatch.read(row.new, of: batch.bytes, table.columns.count, into: &values)
    let hasKey = withKey || table.hasKey
    try statement.run(over: batch.bytes.rawSpan) { binding in
      for (place, value) in values.enumerated() {
        switch value.kind {
        case .null where hasKey && place == 0: binding.integer(row.rowID ?? 0, at: 1)
        case .null: binding.null(at: place + 1)
        case .integer: binding.integer(value.bits, at: place + 1)
        case .real:
          binding.real(Double(bitPattern: UInt64(bitPattern: value.bits)), at: place + 1)
        case .text: binding.text(value.offset, value.count, at: place + 1)
        case .blob: binding.blob(value.offset, value.count, at: place + 1)
        }
      }
    }
    table.rowCount += 1
  }

  private func prepare(_ table: Table) throws(SQLiteWriterError) -> SQLiteStatement {
    let marks = Array(repeating: "?", count: table.columns.count).joined(separator: ", ")
    let name = try SQLIdentifier.quoted(table.name)
    return try writer.prepare("INSERT INTO \(name) VALUES (\(marks))")
  }
}
