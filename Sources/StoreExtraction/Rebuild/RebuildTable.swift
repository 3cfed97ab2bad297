import Foundation
import SQLiteFile
import SQLiteForensics
import SQLiteWriter

/// A table of the new file, and how rows get into it.
final class RebuildTable {
  let expected: ExpectedTable
  /// The name in the new file.
  let target: String
  var result: RebuildResult.Table
  /// Rows without a readable row id cannot go in as they are met.
  let needsRowID: Bool
  /// Whether the row id is a column's value, so that no other can stand for it.
  let hasRowIDColumn: Bool
  /// Columns that take a value, in order.
  let columns: [String]

  private let writer: SQLiteWriter
  private let quoted: String
  /// For each column of the definition the parameter that takes its value; 0 for computed ones.
  private let parameters: ContiguousArray<Int>
  private let rowIDName: String?
  private let rowIDParameter: Int
  /// The key of the row in SQL, where it has one.
  private let key: String
  private let shape: TargetColumns
  private let overflowParameter: Int
  /// Whether expressions of the file's own run with each row: their time is limited.
  let computes: Bool
  /// Rows of which they could not be computed.
  var failedCount = 0
  /// Seconds that they may still take.
  private var allowance = RebuildLimits.rowSeconds
  private let insert: SQLiteStatement
  /// What records must be to go over as they stand; nil for a table into which rows have to be inserted.
  private(set) var form: RecordForm?
  private var encoder: EncodedRow?
  /// What the filler calls the table.
  private(set) var filled: Int?
  /// The page of its last row.
  private var lastPage: UInt32 = 0
  private var select: SQLiteStatement?
  private var keptBack: LostAndFoundTable?
  private let keptBackName: (String) -> String

  /// Prepares to fill a table that the new file has already; `namesFiles`: whether its rows may name external files;
  /// `keptBackName` gives a free name like the one it gets.
  init(
    _ expected: ExpectedTable, target: String, shape: TargetColumns, namesFiles: Bool,
    source: DamagedStore.TableSource, in writer: SQLiteWriter,
    keptBackName: @escaping (String) -> String
  ) throws(SQLiteWriterError) {
    self.expected = expected
    self.target = target
    self.writer = writer
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
    // The row id's own column gets it even where its value in the row is in doubt: SQLite would make up another.
    rowIDParameter =
      rowIDName != nil
      ? list.count
      : shape.rowIDColumn == nil ? 0 : definition.rowIDColumn.map { parameters[$0] } ?? 0
    let marks = Array(repeating: "?", count: list.count).joined(separator: ", ")
    // OR ABORT: a table that says ON CONFLICT REPLACE or IGNORE would drop rows without a word.
    insert = try writer.prepare(
      list.isEmpty
        ? "INSERT OR ABORT INTO \(quoted) DEFAULT VALUES"
        : "INSERT OR ABORT INTO \(quoted)(\(list.joined(separator: ", "))) VALUES(\(marks))")
    if isPlain { form = RecordForm(expected, namesFiles: namesFiles) }
  }

  // MARK: - Filling

  /// Indexes that are filled with it.
  var indexes: [FilledIndex] = [] {
    didSet { indexedCount = indexes.flatMap(\.columns).reduce(0) { max($0, $1.place + 1) } }
  }
  /// How many values a record must be read for them.
  private(set) var indexedCount = 0

  /// Whether SQLite stores a row as it comes and nothing else follows from it. Where in doubt, no.
  var isPlain: Bool {
    shape.isOriginal && !computes && needsRowID && !expected.definition.isStrict
  }

  /// Begins to fill it, where it can be.
  func begin(_ filler: inout TableFiller) throws {
    guard let form else { return }
    filled = try filler.begin(target)
    if filled != nil { encoder = EncodedRow(form) } else { self.form = nil }
  }

  /// Encodes a row; false for one that has to be inserted.
  func encode(_ row: borrowing RecoveredRowBuffer) -> Bool { encoder?.encode(row) ?? false }

  /// Whether the row that it is filled with next, of a page, comes from the same page as the one before: a leaf holds all
  /// rows between its lowest and its highest, in whatever order they are found.
  func goesOn(with page: UInt32) -> Bool {
    defer { lastPage = page }
    return page == lastPage
  }

  /// The highest row id that was ever given, so far as rows that it was filled with tell; nil where SQLite keeps that
  /// itself.
  func highestFilledRowID() throws(SQLiteWriterError) -> Int64? {
    guard filled != nil, expected.definition.isAutoincrement,
      case .integer(let rowID)? = try writer.rows("SELECT max(\(key)) FROM \(quoted)").first?.first
    else { return nil }
    return max(0, rowID)
  }

  /// The row last encoded, in the record format.
  var record: ContiguousArray<UInt8> { encoder?.record ?? [] }

  // MARK: - Inserting

  /// Whether a row can go in: its row id is known, or the table has none.
  func takes(_ row: borrowing RecoveredRowBuffer) -> Bool {
    !needsRowID || row.rowID != nil || (rowIDName == nil && !hasRowIDColumn)
  }

  /// Puts a row in.
  /// - Throws: `SQLiteWriterError` with the code `constraint` when the table refuses it.
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

  /// What is done with text that is no valid Unicode.
  enum InvalidText {
    /// It is kept byte by byte.
    case keep
    /// NULL stands in its place.
    case drop
    /// It is given as UTF-16, for a file whose text is.
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
      if !value.isValid {
        switch invalidText {
        case .keep: break
        case .drop: return binding.null(at: parameter)
        case .transcode:
          let units = UTF16Text.units(of: bytes, value.offset..<value.offset + value.count)
          return binding.text(utf16: units, at: parameter)
        }
      }
      binding.text(value.offset, value.count, at: parameter)
    case .blob: binding.blob(value.offset, value.count, at: parameter)
    }
  }

  /// Whether the table has this very row already.
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

  /// Keeps a row that cannot stand in the table, in a table of its own.
  /// - Returns: where it is now.
  func keepBack(_ row: borrowing RecoveredRowBuffer, reason: String) throws -> (
    table: String, rowID: Int64
  ) {
    if keptBack == nil {
      let name = keptBackName("_lifeboat_conflicts_" + target)
      keptBack = try LostAndFoundTable(
        name, columns: expected.definition.columns.map(\.name), in: writer)
    }
    guard let keptBack else { return (target, 0) }
    result.conflictCount += 1
    return (keptBack.name, try keptBack.add(row, note: reason, confidence: nil))
  }

  static let lostRowID = "the row id is lost"
  static let contradicted = "SQLite reads it, but the rest of its page contradicts it"

  /// Gives rows whose row id is lost a new one, where row ids mean nothing to the owner of the table. `moved`
  /// hears where each row was and its new row id.
  func placeRowsWithoutRowID(_ moved: (_ from: String, _ old: Int64, _ new: Int64) throws -> Void)
    throws
  {
    guard let keptBack, !hasRowIDColumn, needsRowID, !columns.isEmpty,
      shape.overflow == nil
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
      try next.bind([.integer(last), .string(Self.lostRowID)])
      while try next.step() { batch.append(next.integer(at: 0)) }
      next.reset()
      guard let end = batch.last else { break }
      for id in batch {
        do throws(SQLiteWriterError) {
          try copy.run([.integer(id)])
        } catch {
          guard error.code == .constraint else { throw error }
          continue
        }
        let new = writer.lastInsertRowID
        try delete.run([.integer(id)])
        try moved(keptBack.name, id, new)
        result.conflictCount -= 1
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
