import Foundation
import SQLiteFile
import SQLiteForensics
import SQLiteWriter

/// Puts rows into one table of the new file.
final class RebuildTable {
  let expected: ExpectedTable
  /// The name of the table in the new file.
  let target: String
  var result: RebuildResult.Table
  /// Whether the table has row ids. A row whose row id is lost cannot be inserted directly into such a table.
  let needsRowID: Bool
  /// Whether a column of the table holds the row id, as an INTEGER PRIMARY KEY column does. In such a table, a lost row
  /// id is not replaced by a new one.
  let hasRowIDColumn: Bool
  /// The names of the columns to which values are written, in the order of the table.
  let columns: [String]

  private let writer: SQLiteWriter
  private let quoted: String
  /// The number of the SQL parameter for each column of the definition; 0 for computed columns.
  private let parameters: ContiguousArray<Int>
  private let rowIDName: String?
  private let rowIDParameter: Int
  /// The SQL name of the row id: the name of the row id column, or `rowid` or another name that stands for the row id.
  private let key: String
  private let shape: TargetColumns
  private let overflowParameter: Int
  /// Whether SQLite computes expressions from the damaged file for each inserted row: those of generated columns and
  /// CHECK constraints. The time for these expressions is limited.
  let computes: Bool
  /// The number of rows whose expressions could not be computed.
  var failedCount = 0
  /// The number of seconds that the table's expressions may still take.
  private var allowance: Double
  private let insert: SQLiteStatement
  /// The format of records that can be copied unchanged into this table; nil if SQLite must insert all rows of the
  /// table.
  private(set) var form: RecordForm?
  private var encoder: EncodedRow?
  /// The number of the table in the `TableFiller`; nil if SQLite inserts the rows of the table.
  private(set) var filled: Int?
  /// The number of the page that the last added row comes from.
  private var lastPage: UInt32 = 0
  private var select: SQLiteStatement?
  private var keptBack: LostAndFoundTable?
  private let keptBackName: (String) -> String

  /// Prepares to put rows into a table that exists in the new file. `namesFiles`: whether rows of the table may name
  /// external files. `seconds`: the initial time limit for the table's expressions. `keptBackName`: takes a table name,
  /// and returns an unused name that is derived from it.
  init(
    _ expected: ExpectedTable, target: String, shape: TargetColumns, namesFiles: Bool,
    source: DamagedStore.TableSource, in writer: SQLiteWriter, seconds: Double,
    keptBackName: @escaping (String) -> String
  ) throws(SQLiteWriterError) {
    self.expected = expected
    self.target = target
    self.writer = writer
    allowance = seconds
    self.keptBackName = keptBackName
    self.shape = shape
    result = .init(name: expected.name, target: target, source: source)
    quoted = try SQLIdentifier.quoted(target)
    let definition = expected.definition
    var parameters = ContiguousArray<Int>()
    var columns: [String] = []
    for name in shape.names {
      if let name {
        columns.append(name)
        parameters.append(columns.count)
      } else {
        parameters.append(0)
      }
    }
    self.parameters = parameters
    self.columns = columns
    hasRowIDColumn = shape.rowIDColumn != nil
    needsRowID = !definition.isWithoutRowID
    computes = shape.isOriginal && expected.computes
    let names = Set((columns + [OverflowColumns.name]).map { SQLName($0) })
    rowIDName =
      definition.isWithoutRowID || hasRowIDColumn
      ? nil : ["rowid", "_rowid_", "oid"].first { !names.contains(SQLName($0)) }
    if let column = shape.rowIDColumn {
      key = try SQLIdentifier.quoted(column)
    } else {
      key = rowIDName ?? "rowid"
    }
    var list: [String] = []
    for column in columns { list.append(try SQLIdentifier.quoted(column)) }
    if shape.overflow != nil { list.append(try SQLIdentifier.quoted(OverflowColumns.name)) }
    overflowParameter = shape.overflow == nil ? 0 : list.count
    if let rowIDName { list.append(rowIDName) }
    // The row id column gets the row id even if the column's own value is in doubt, because SQLite would otherwise
    // choose another row id.
    rowIDParameter =
      rowIDName != nil
      ? list.count
      : shape.rowIDColumn == nil ? 0 : definition.rowIDColumn.map { parameters[$0] } ?? 0
    let marks = Array(repeating: "?", count: list.count).joined(separator: ", ")
    // OR ABORT, because a table that is declared with ON CONFLICT REPLACE or IGNORE would otherwise drop rows silently.
    insert = try writer.prepare(
      list.isEmpty
        ? "INSERT OR ABORT INTO \(quoted) DEFAULT VALUES"
        : "INSERT OR ABORT INTO \(quoted)(\(list.joined(separator: ", "))) VALUES(\(marks))")
    if isPlain { form = RecordForm(expected, namesFiles: namesFiles) }
  }

  // MARK: - Filling

  var indexes: [FilledIndex] = [] {
    didSet { indexedCount = indexes.flatMap(\.columns).reduce(0) { max($0, $1.place + 1) } }
  }
  /// The number of values at the start of a record that must be read to make the entries of ``indexes``.
  private(set) var indexedCount = 0

  /// Whether SQLite stores rows of the table unchanged and without side effects. False if this is not certain.
  var isPlain: Bool {
    shape.isOriginal && !computes && needsRowID && !expected.definition.isStrict
  }

  /// Starts to fill the table page by page, if that is possible.
  func begin(_ filler: inout TableFiller) throws {
    guard let form else { return }
    filled = try filler.begin(target)
    if filled != nil { encoder = EncodedRow(form) } else { self.form = nil }
  }

  /// Encodes a row as a record. Returns false if SQLite must insert the row.
  func encode(_ row: borrowing RecoveredRowBuffer) -> Bool { encoder?.encode(row) ?? false }

  /// Whether the next row is on the same page as the previous row. If so, no other page has a row id between those of
  /// the two rows.
  ///
  /// `page`: the page of the next row.
  func goesOn(with page: UInt32) -> Bool {
    defer { lastPage = page }
    return page == lastPage
  }

  /// Returns the highest row id of this table if the table has AUTOINCREMENT and was filled page by page. Otherwise
  /// returns nil: SQLite itself records the highest row id of the rows that it inserts.
  func highestFilledRowID() throws(SQLiteWriterError) -> Int64? {
    guard filled != nil, expected.definition.isAutoincrement,
      case .integer(let rowID)? = try writer.rows("SELECT max(\(key)) FROM \(quoted)").first?.first
    else { return nil }
    return max(0, rowID)
  }

  var record: ContiguousArray<UInt8> { encoder?.record ?? [] }

  // MARK: - Inserting

  /// Whether SQLite can insert the row: its row id is known, or the table needs no row id.
  func takes(_ row: borrowing RecoveredRowBuffer) -> Bool {
    !needsRowID || row.rowID != nil || (rowIDName == nil && !hasRowIDColumn)
  }

  /// Inserts a row. If the table refuses it, the error's `isRowRefusal` is true.
  @inline(__always)
  func add(_ row: borrowing RecoveredRowBuffer, _ invalidText: InvalidText)
    throws(SQLiteWriterError)
  {
    guard computes else { return try insert(row, invalidText) }
    allowance += RebuildLimits.seconds(forRow: row.bytes.count)
    try writer.limited(to: &allowance) { () throws(SQLiteWriterError) in
      try insert(row, invalidText)
    }
  }

  @inline(__always)
  private func insert(_ row: borrowing RecoveredRowBuffer, _ invalidText: InvalidText)
    throws(SQLiteWriterError)
  {
    let more = shape.overflow.flatMap {
      OverflowColumns.json(of: row, from: $0, names: expected.definition.columns.map(\.name))
    }
    try insert.run(over: row.bytes.rawSpan) { binding in
      let count = min(row.values.count, parameters.count)
      var column = 0
      while column < count {
        let parameter = parameters[column]
        if parameter > 0 {
          Self.bind(row.values[column], of: row.bytes, at: parameter, &binding, invalidText)
        }
        column &+= 1
      }
      if overflowParameter > 0 {
        if let more {
          binding.text(copying: more, at: overflowParameter)
        } else {
          binding.null(at: overflowParameter)
        }
      }
      if rowIDParameter > 0 {
        if let rowID = row.rowID {
          binding.integer(rowID, at: rowIDParameter)
        } else {
          binding.null(at: rowIDParameter)
        }
      }
    }
    result.rowCount &+= 1
  }

  /// How text that is not valid Unicode is stored.
  enum InvalidText {
    /// The bytes of the text are stored unchanged, although they are not valid Unicode.
    case keep
    /// Stored as NULL.
    case drop
    /// Converted to UTF-16 and then stored. Used when the text encoding of the database is UTF-16.
    case transcode
  }

  @inline(__always)
  private static func bind(
    _ value: RecoveredRowBuffer.Value, of bytes: ContiguousArray<UInt8>, at parameter: Int,
    _ binding: inout SQLiteStatement.ScopedBinding, _ invalidText: InvalidText
  ) {
    switch value.kind {
    case .null: binding.null(at: parameter)
    case .integer: binding.integer(value.bits, at: parameter)
    case .real:
      binding.real(Double(bitPattern: UInt64(bitPattern: value.bits)), at: parameter)
    case .text:
      let range = value.offset..<value.offset + value.count
      switch invalidText {
      case .drop where !value.isValid: binding.null(at: parameter)
      case .transcode where !value.isValid || UTF16Text.holdsNoncharacter(bytes, range):
        binding.text(utf16: UTF16Text.units(of: bytes, range), at: parameter)
      default: binding.text(value.offset, value.count, at: parameter)
      }
    case .blob: binding.blob(value.offset, value.count, at: parameter)
    }
  }

  /// Whether the table already contains exactly this row.
  func has(_ row: borrowing RecoveredRowBuffer) throws -> Bool {
    guard let rowID = row.rowID, needsRowID, row.partial.isEmpty, !columns.isEmpty,
      shape.overflow == nil
    else { return false }
    if select == nil {
      let list = try columns.map { try SQLIdentifier.quoted($0) }.joined(separator: ", ")
      select = try writer.prepare("SELECT \(list) FROM \(quoted) WHERE \(key) = ?")
    }
    guard let select else { return false }
    try select.bind([.integer(rowID)])
    defer { select.reset() }
    guard try select.step() else { return false }
    let there = select.row
    for (column, parameter) in parameters.enumerated() where parameter > 0 {
      guard column < row.values.count, parameter <= there.count,
        Self.isSame(row.values[column], row, there[parameter - 1])
      else { return false }
    }
    return true
  }

  private static func isSame(
    _ value: RecoveredRowBuffer.Value, _ row: borrowing RecoveredRowBuffer, _ other: SQLiteValue
  ) -> Bool {
    switch (value.kind, other) {
    case (.null, .null): true
    case (.integer, .integer(let number)): value.bits == number
    case (.real, .real(let number)): UInt64(bitPattern: value.bits) == number.bitPattern
    case (.text, .text(let bytes)), (.blob, .blob(let bytes)): row.content(of: value) == bytes
    default: false
    }
  }

  // MARK: - Kept back

  /// Why a live row is kept back from its own table.
  enum Reason {
    /// SQLite refuses the row; `message` is what SQLite says.
    case refused(_ message: String)
    case rowIDLost
    case contradicted

    /// The note beside the row in the separate table.
    var text: String {
      switch self {
      case .refused(let message): message
      case .rowIDLost: "the row id is lost"
      case .contradicted: "SQLite reads this row, but the rest of the page contradicts the row"
      }
    }
  }

  /// Adds a row to a separate lost-and-found table. Returns the name of the separate table, and the row id that the row
  /// has there.
  func keepBack(_ row: borrowing RecoveredRowBuffer, reason: Reason) throws -> (
    table: String, rowID: Int64
  ) {
    if keptBack == nil {
      let name = keptBackName("_lifeboat_conflicts_" + target)
      keptBack = try LostAndFoundTable(
        name, columns: expected.definition.columns.map(\.name), in: writer)
    }
    guard let keptBack else { return (target, 0) }
    result.conflictCount += 1
    switch reason {
    case .refused: break
    case .rowIDLost: result.rowIDLostCount += 1
    case .contradicted: result.contradictedCount += 1
    }
    return (keptBack.name, try keptBack.add(row, note: reason.text, confidence: nil))
  }

  /// Moves rows that have lost their row ids into this table, from a separate table in which they were kept until now.
  /// The rows get new row ids. Does nothing if a column of this table holds the row id. After each move, calls `moved`
  /// with the name of the separate table, the row id in the separate table, and the new row id.
  func placeRowsWithoutRowID(_ moved: (_ from: String, _ old: Int64, _ new: Int64) throws -> Void)
    throws
  {
    // The separate table may lack some of the rows' columns, because it has additional columns of its own, and SQLite
    // limits the number of columns.
    guard let keptBack, !hasRowIDColumn, needsRowID, !columns.isEmpty, shape.overflow == nil,
      parameters.count <= keptBack.quotedColumns.count
    else { return }
    let list = try columns.map { try SQLIdentifier.quoted($0) }.joined(separator: ", ")
    let from = try SQLIdentifier.quoted(keptBack.name)
    let chosen = parameters.enumerated().filter { $0.element > 0 }
      .map { keptBack.quotedColumns[$0.offset] }.joined(separator: ", ")
    let next = try writer.prepare(
      "SELECT _id FROM \(from) WHERE _id > ? AND _note = ? ORDER BY _id LIMIT 1000")
    let copy = try writer.prepare(
      "INSERT OR ABORT INTO \(quoted)(\(list)) SELECT \(chosen) FROM \(from) WHERE _id = ?")
    let delete = try writer.prepare("DELETE FROM \(from) WHERE _id = ?")
    var last: Int64 = 0
    while true {
      var batch: [Int64] = []
      try next.bind([.integer(last), .string(Reason.rowIDLost.text)])
      while try next.step() { batch.append(next.integer(at: 0)) }
      next.reset()
      guard let end = batch.last else { break }
      for id in batch {
        do throws(SQLiteWriterError) {
          if computes {
            allowance += RebuildLimits.seconds(forRow: 0)
            try writer.limited(to: &allowance) { () throws(SQLiteWriterError) in
              try copy.run([.integer(id)])
            }
          } else {
            try copy.run([.integer(id)])
          }
        } catch {
          guard error.isRowRefusal else { throw error }
          continue
        }
        let new = writer.lastInsertRowID
        try delete.run([.integer(id)])
        try moved(keptBack.name, id, new)
        result.conflictCount -= 1
        result.rowIDLostCount -= 1
        result.rowCount += 1
        result.renumberedCount += 1
      }
      last = end
    }
    for statement in [next, copy, delete] { statement.finalize() }
    if result.conflictCount == 0 {
      keptBack.close()
      try writer.execute("DROP TABLE \(from)")
      self.keptBack = nil
    }
  }

  func close() {
    insert.finalize()
    select?.finalize()
    keptBack?.close()
  }
}
