import SQLiteFile
import SQLiteForensics
import SQLiteWriter

/// The tables of an export. As long as possible, rows are written straight into the pages of their tables. From the
/// first row for which this is impossible, SQLite inserts all rows.
///
/// A row cannot be written straight into a page if its table is made only when needed, or if its record is too large.
/// The same applies if its key is not higher than all earlier keys of the table, which happens only in a damaged store.
final class ExportTables {
  /// Where a new table stores the keys of its rows.
  enum Key {
    /// Rows have no key of their own. Each row gets the next unused row id.
    case none
    /// The key is the row id, and the first column is an alias of the row id. The record has NULL for this column.
    case column
    /// The key is the row id. No column holds it.
    case rowID
  }

  final class Table {
    /// The wanted name of the table, or its actual name once the table is made.
    fileprivate(set) var name: String
    /// The quoted names of the table's columns.
    fileprivate let columns: [String]
    fileprivate let key: Key
    /// The quoted names of the columns in the INSERT statement, including the name of the row id if the statement sets
    /// the row id.
    fileprivate let inserted: [String]
    fileprivate(set) var rowCount = 0
    fileprivate(set) var isMade = false
    /// The number of the table in the `TableFiller`; nil if the table is not filled page by page.
    fileprivate var number: Int?
    fileprivate var lastKey: Int64?
    fileprivate var insert: SQLiteStatement?
    /// The table for rows whose key an earlier row already has; nil as long as there is no such row.
    fileprivate(set) var repeated: Table?

    init(_ name: String, _ columns: [String], key: Key) {
      self.name = name
      self.columns = columns
      // SQL has three names for the row id, and a table may have columns with these names ("ROWIDs and the INTEGER
      // PRIMARY KEY" in SQLite's CREATE TABLE).
      let rowID = ["\"rowid\"", "\"_rowid_\"", "\"oid\""].first { name in
        key == .rowID && !columns.contains { SQLName.isSame($0, name) }
      }
      self.key = key == .rowID && rowID == nil ? .none : key
      inserted = (rowID.map { [$0] } ?? []) + columns
    }
  }

  private let writer: SQLiteWriter
  private(set) var tables: [Table] = []
  private var filler: TableFiller?
  private var taken: UniqueNames
  private var values: ContiguousArray<RecoveredRowBuffer.Value> = []

  /// Creates an export without tables. `reserved`: names that no table may get.
  init(_ writer: SQLiteWriter, reserved: [String]) {
    self.writer = writer
    taken = UniqueNames(reserved)
  }

  // MARK: - Making tables

  /// Adds a table to the export, and returns its number. If the name is in use, the table gets a similar name.
  ///
  /// `columns`: the quoted names of the table's columns. The columns have no types, because an affinity could change
  /// the values.
  /// `isLate`: whether the table is made only when its first row comes.
  func add(_ name: String, _ columns: [String], key: Key = .none, isLate: Bool = false) throws
    -> Int
  {
    let table = Table(name, columns, key: key)
    if !isLate { try make(table) }
    tables.append(table)
    return tables.count - 1
  }

  private func make(_ table: Table) throws {
    table.name = taken.unique(table.name)
    var columns = table.columns
    if table.key == .column { columns[0] += " INTEGER PRIMARY KEY" }
    let name = try SQLIdentifier.quoted(table.name)
    try writer.define("CREATE TABLE \(name) (\(columns.joined(separator: ", ")))")
    table.isMade = true
  }

  /// Prepares the added tables for rows. Call it once, after the last table was added.
  func begin() throws {
    var filler = try writer.filler()
    for table in tables where table.isMade { table.number = try filler.begin(table.name) }
    self.filler = consume filler
  }

  // MARK: - Rows

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

  /// Writes rows of the batch into pages, up to the first row that only SQLite can insert. Returns the index of that
  /// row, or the number of rows if SQLite need not insert any of them.
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

  /// Ends the phase in which rows are written straight into the pages of tables. SQLite inserts all later rows. Does
  /// nothing if the phase has already ended.
  private func endFilling() throws {
    guard var filler = filler.take() else { return }
    guard try filler.finishTables() else {
      throw ExtractionError(
        .writeFailed, "two rows of the new file have the same key", path: writer.path)
    }
    try filler.finish()
    try writer.execute("BEGIN")
  }

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
      try run(row, of: batch, into: table, as: table)
    } catch {
      guard error.code == .constraint, table.key != .none else { throw error }
      let other = table.repeated ?? Table(table.name + "_repeated", table.inserted, key: .none)
      if table.repeated == nil { try make(other) }
      table.repeated = other
      try run(row, of: batch, into: other, as: table)
    }
  }

  /// Inserts a record into `table`, by a statement of SQLite. `form`: the table for which the record was made. It
  /// differs from `table` if `table` holds rows with repeated keys.
  private func run(
    _ row: MadeRecords.Batch.Row, of batch: borrowing MadeRecords.Batch, into table: Table,
    as form: Table
  ) throws(SQLiteWriterError) {
    if table.insert == nil { table.insert = try prepare(table) }
    guard let statement = table.insert else { return }
    RecordBatch.read(row.new, of: batch.bytes, form.columns.count, into: &values)
    let first = form.inserted.count - form.columns.count + 1
    try statement.run(over: batch.bytes.rawSpan) { binding in
      if form.key == .rowID {
        if let key = row.rowID { binding.integer(key, at: 1) } else { binding.null(at: 1) }
      }
      for (place, value) in values.enumerated() {
        let number = first + place
        switch value.kind {
        case .null where form.key == .column && place == 0:
          binding.integer(row.rowID ?? 0, at: number)
        case .null: binding.null(at: number)
        case .integer: binding.integer(value.bits, at: number)
        case .real:
          binding.real(Double(bitPattern: UInt64(bitPattern: value.bits)), at: number)
        case .text: binding.text(value.offset, value.count, at: number)
        case .blob: binding.blob(value.offset, value.count, at: number)
        }
      }
    }
    table.rowCount += 1
  }

  private func prepare(_ table: Table) throws(SQLiteWriterError) -> SQLiteStatement {
    let marks = Array(repeating: "?", count: table.inserted.count).joined(separator: ", ")
    let names = table.inserted.joined(separator: ", ")
    let name = try SQLIdentifier.quoted(table.name)
    return try writer.prepare("INSERT INTO \(name) (\(names)) VALUES (\(marks))")
  }
}
