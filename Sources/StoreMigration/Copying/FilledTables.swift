import CoreDataForensics
import CoreDataStore
import ObjectModel
import SQLiteFile
import SQLiteForensics
import SQLiteWriter
import StoreExtraction

/// Fills new tables page by page, in a fraction of the time that INSERT takes. This is possible for a new table whose
/// rows are made from the rows of one old table, in the order of the old table.
final class FilledTables {
  private final class Target {
    let number: Int
    let form: RecordForm
    /// The sources of a new row's values, in column order. The key is the identifier of the ``EntityCopy`` that makes
    /// the row.
    let rows: [ObjectIdentifier: [Column]]
    let indexes: [FilledIndex]
    /// The number of values that are decoded from the start of each record, to make the index entries.
    let indexedCount: Int
    var lastKey: Int64?

    init(
      _ number: Int, _ form: RecordForm, _ rows: [ObjectIdentifier: [Column]],
      _ indexes: [FilledIndex]
    ) {
      self.number = number
      self.form = form
      self.rows = rows
      self.indexes = indexes
      indexedCount = indexes.flatMap(\.columns).reduce(0) { max($0, $1.place + 1) }
    }

    /// Adds a row to the table and to the table's indexes. `values` is scratch memory for the decoded values of the
    /// row.
    @inline(__always)
    func put(
      _ record: Range<Int>, of bytes: borrowing ContiguousArray<UInt8>, _ key: Int64,
      _ filler: inout TableFiller, _ values: inout ContiguousArray<RecoveredRowBuffer.Value>
    ) throws {
      try filler.add(to: number, key, isNext: true, record, of: bytes)
      guard indexedCount > 0 else { return }
      RecordBatch.read(record, of: bytes, indexedCount, into: &values)
      for index in indexes { try index.add(values, of: bytes, rowID: key) }
    }
  }

  /// The source of the value in a column of a new row: a column of the old row or a constant. If both are set, the
  /// constant replaces either NULL or, if `isConstantWhereSet` is true, each value that is not NULL.
  private struct Column {
    var source: Int?
    var constant: SQLiteValue?
    var isConstantWhereSet = false
    var isDemanded = false
  }

  enum Outcome {
    case written
    /// The row was not written, because it lacks a value that the new model requires.
    case incomplete
    /// The row was not written, because SQLite must insert it after the tables are filled.
    case later
  }

  private let writer: SQLiteWriter
  private var filler: TableFiller
  /// The CREATE statements of the indexes on the tables that are being filled.
  let indexes: Set<String>
  /// The names of indexes that SQLite must rebuild after their tables are filled.
  private var others: [String] = []
  private var targets: [ObjectIdentifier: Target] = [:]
  /// A cache of the last lookup, because the next row usually has the same target. `table` identifies the old table,
  /// and `copy` the ``EntityCopy`` that describes its rows.
  private var last: (table: ObjectIdentifier, copy: ObjectIdentifier, target: Target, [Column])?
  private var parts = RecordBytes()
  private var record = ContiguousArray<UInt8>()
  private var values: ContiguousArray<RecoveredRowBuffer.Value> = []
  private static let maxIndexes = 32
  /// The maximum number of bytes of memory for index entries, for all indexes together.
  private static let keyBytes = 2 << 20

  /// Prepares to fill all tables that can be filled page by page. Returns nil when no table can be filled.
  init?(_ plan: CopyPlan, _ schema: FreshStoreSchema, _ writer: SQLiteWriter) throws {
    guard writer.canBeFilled else { return nil }
    var prepared: [(table: TableCopy, new: ExpectedTable, rows: [ObjectIdentifier: [Column]])] = []
    for table in plan.tables {
      guard let name = Self.target(of: table, plan),
        let sql = schema.tables.first(where: { $0.name == name })?.sql,
        let new = ExpectedTable(name: name, sql: sql)
      else { continue }
      var rows: [ObjectIdentifier: [Column]] = [:]
      for copy in table.copies {
        guard let plain = copy.plain else { continue }
        rows[ObjectIdentifier(copy)] = try new.definition.columns.map {
          try Self.column(plain.fields[$0.name], plain.demanded.contains($0.name), writer)
        }
      }
      prepared.append((table, new, rows))
    }
    guard !prepared.isEmpty else { return nil }
    self.writer = writer
    let names = Set(prepared.map(\.new.name))
    let statements = schema.indexes.filter { names.contains($0.table) && !$0.isUnique }.map(\.sql)
    try writer.transaction { for statement in statements { try writer.define(statement) } }
    indexes = Set(statements)
    var found: [[FilledIndex]] = []
    var count = 0
    for (_, new, _) in prepared {
      var indexes: [FilledIndex] = []
      for name in try writer.indexNames(of: new.name) {
        if count < Self.maxIndexes,
          let index = try FilledIndex(name, of: new, named: new.name, in: writer)
        {
          indexes.append(index)
          count += 1
        } else {
          others.append(name)
        }
      }
      found.append(indexes)
    }
    filler = try writer.filler()
    for ((table, new, rows), indexes) in zip(prepared, found) {
      for index in indexes { try index.begin(&filler, maxBytes: Self.keyBytes / count) }
      guard let number = try filler.begin(new.name) else { continue }
      let form = RecordForm(new, namesFiles: !table.externalColumns.isEmpty)
      targets[ObjectIdentifier(table)] = Target(number, form, rows, indexes)
    }
  }

  private static func column(_ field: RowField?, _ isDemanded: Bool, _ writer: SQLiteWriter) throws
    -> Column
  {
    func value(_ constant: String) throws -> SQLiteValue {
      try writer.rows("SELECT \(constant)").first?.first ?? .null
    }
    return switch field {
    case nil: Column(constant: .null, isDemanded: isDemanded)
    case .column(let source): Column(source: source, isDemanded: isDemanded)
    case .columnOr(let source, let constant):
      Column(source: source, constant: try value(constant), isDemanded: isDemanded)
    case .constantWhere(let source, let constant):
      Column(
        source: source, constant: try value(constant), isConstantWhereSet: true,
        isDemanded: isDemanded)
    case .constant(let constant): Column(constant: try value(constant), isDemanded: isDemanded)
    }
  }

  /// Returns the name of the new table that receives an old table's rows; nil when SQLite must insert the rows. Rows
  /// can be written page by page if they do not need SQL, if the new table receives no rows from other old tables, and
  /// if its entities have no uniqueness constraint. Only SQLite's INSERT checks uniqueness constraints.
  private static func target(of table: TableCopy, _ plan: CopyPlan) -> String? {
    let copies = table.entities.values
    // Rows are read in the order of their row ids, but must be written in the order of their keys. So the old table's
    // row id must be its key.
    guard table.definition.rowIDColumn == table.keyColumn,
      copies.allSatisfy({ $0.count == 1 && $0[0].plain != nil && $0[0].isAlone }),
      let entity = copies.first?.first?.destinationEntity,
      let target = plan.destination.table(of: entity),
      copies.allSatisfy({ target.entityNames.contains($0[0].destinationEntity) }),
      target.entityNames.allSatisfy({
        plan.destination.model.entities[$0]?.uniquenessConstraints.isEmpty ?? true
      }),
      plan.tables.allSatisfy({ other in
        other === table
          || other.entities.values.allSatisfy {
            $0.allSatisfy { !target.entityNames.contains($0.destinationEntity) }
          }
      })
    else { return nil }
    return target.name
  }

  func fills(_ table: TableCopy) -> Bool { targets[ObjectIdentifier(table)] != nil }

  /// Adds a row of the old table `table` to its new table. Returns what was done with the row.
  func add(_ row: borrowing some CopyRun.Row & ~Copyable, _ copy: EntityCopy, _ table: TableCopy)
    throws -> Outcome
  {
    guard let key = row.key, let (target, columns) = place(copy, table) else { return .later }
    // Two rows with the same key, or rows that are not in the order of their keys, mean damage. SQLite inserts these
    // rows later.
    guard target.lastKey.map({ $0 < key }) ?? true else { return .later }
    // A local variable is faster here: a record has many values, and Swift checks each access to an object's property.
    var parts = RecordBytes()
    swap(&parts, &self.parts)
    defer { swap(&parts, &self.parts) }
    let outcome = Self.encode(row, columns, target.form, &parts)
    guard outcome == .written else { return outcome }
    parts.write(to: &record)
    guard RecordForm.takes(byteCount: record.count) else { return .later }
    try target.put(0..<record.count, of: record, key, &filler, &values)
    target.lastKey = key
    return .written
  }

  /// Encodes the values of a row in the column order of its new table.
  private static func encode(
    _ row: borrowing some CopyRun.Row & ~Copyable, _ columns: [Column], _ form: RecordForm,
    _ parts: inout RecordBytes
  ) -> Outcome {
    parts.removeAll()
    for (place, column) in columns.enumerated() {
      if form.isRowID(place) {
        parts.appendNull()
        continue
      }
      let isSet = column.source.map { !row.isNull($0) } ?? false
      let isStored: Bool
      if isSet, !column.isConstantWhereSet, let source = column.source {
        isStored = row.append(source, place, form, to: &parts)
      } else {
        // The constant replaces NULL. If `isConstantWhereSet` is true, the constant instead replaces every other value,
        // and NULL stays NULL.
        let value = isSet || !column.isConstantWhereSet ? column.constant ?? .null : .null
        if value == .null, column.isDemanded { return .incomplete }
        isStored = parts.append(value, in: place, form)
      }
      guard isStored else { return .later }
    }
    return .written
  }

  /// Writes the finished records of one entity straight into the pages of the new table. Stops at the first record
  /// whose key is not higher than the previous one, or that is too long. Returns the number of records that were
  /// written.
  func add(_ rows: Range<Int>, of batch: borrowing MadeRecords.Batch, _ table: TableCopy) throws
    -> Int
  {
    guard let target = targets[ObjectIdentifier(table)] else { return 0 }
    return try Self.add(rows, of: batch, to: target, &filler, &values)
  }

  private static func add(
    _ rows: Range<Int>, of batch: borrowing MadeRecords.Batch, to target: Target,
    _ filler: inout TableFiller, _ values: inout ContiguousArray<RecoveredRowBuffer.Value>
  ) throws -> Int {
    var lastKey = target.lastKey
    defer { target.lastKey = lastKey }
    for place in rows {
      let row = batch.rows[place]
      guard let key = row.rowID, lastKey.map({ $0 < key }) ?? true,
        RecordForm.takes(byteCount: row.new.count)
      else { return place - rows.lowerBound }
      try target.put(row.new, of: batch.bytes, key, &filler, &values)
      lastKey = key
    }
    return rows.count
  }

  /// Returns how records of an old table are copied: a `RecordCopy` for each entity of the table, keyed by entity
  /// number. An entity is left out if its new rows get a constant that SQLite would convert or refuse.
  func recordCopies(of table: TableCopy) -> [Int64: RecordCopy] {
    guard let target = targets[ObjectIdentifier(table)] else { return [:] }
    var copies: [Int64: RecordCopy] = [:]
    for (number, entityCopies) in table.entities {
      guard let copy = entityCopies.first, let columns = target.rows[ObjectIdentifier(copy)] else {
        continue
      }
      var parts: [RecordCopy.Part] = []
      for (place, column) in columns.enumerated() {
        guard let part = part(column, place, target.form, table, number) else { break }
        parts.append(part)
      }
      guard parts.count == columns.count else { continue }
      copies[number] = RecordCopy(from: table.definition, table.rules, to: target.form, parts)
    }
    return copies
  }

  private func part(
    _ column: Column, _ place: Int, _ form: RecordForm, _ table: TableCopy, _ number: Int64
  ) -> RecordCopy.Part? {
    if form.isRowID(place) { return RecordCopy.Part(constant: .null) }
    if column.constant == .integer(number), column.source == nil {
      // The entity has the same number in both stores, so the entity number is copied from the old row.
      return RecordCopy.Part(source: table.entityColumn)
    }
    var constant: RecordCopy.Constant?
    if let value = column.constant {
      var parts = RecordBytes()
      var record = ContiguousArray<UInt8>()
      guard parts.append(value, in: place, form) else { return nil }
      parts.write(to: &record)
      constant = RecordCopy.Constant(record)
    }
    return RecordCopy.Part(
      source: column.source, constant: constant, isConstantWhereSet: column.isConstantWhereSet,
      isDemanded: column.isDemanded)
  }

  private func place(_ copy: EntityCopy, _ table: TableCopy) -> (Target, [Column])? {
    let ids = (ObjectIdentifier(table), ObjectIdentifier(copy))
    if let last, last.table == ids.0, last.copy == ids.1 { return (last.target, last.3) }
    guard let target = targets[ids.0], let columns = target.rows[ids.1] else { return nil }
    last = (ids.0, ids.1, target, columns)
    return (target, columns)
  }

  /// Completes the filled tables and makes their indexes. SQLite must not use the file before this method returns.
  func finish() throws {
    guard try filler.finishTables() else {
      throw MigrationError(.checkFailed, ["the old store has several rows with the same key"])
    }
    for target in targets.values.sorted(by: { $0.number < $1.number }) {
      for index in target.indexes {
        guard try index.fill(&filler) else {
          throw MigrationError(.checkFailed, ["the index \(index.name) cannot be made"])
        }
        if index.isLeftToSQLite { others.append(index.name) }
      }
    }
    try filler.finish()
    for name in others { try writer.execute("REINDEX main.\(SQLText.quoted(name))") }
  }
}

extension SQLiteWriter {
  /// Returns the names of the indexes of `table` that were made by a CREATE INDEX statement. Automatic indexes are left
  /// out.
  fileprivate func indexNames(of table: String) throws -> [String] {
    try rows(
      "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
      [.string(table)]
    ).map { $0[0].string }
  }
}

extension RecordBytes {
  /// Appends a constant as SQLite encodes it for the column `place` of the new table. Returns false for a constant that
  /// SQLite would refuse or store as a different value.
  fileprivate mutating func append(_ value: SQLiteValue, in place: Int, _ form: RecordForm) -> Bool
  {
    switch value {
    case .null: return appendNull(in: place, form)
    case .integer(let value): return append(value, in: place, form)
    case .real(let value): return append(value, in: place, form)
    case .text(let bytes): return append(text: bytes[...], in: place, form)
    case .blob(let bytes):
      append(bytes[...], isText: false)
      return true
    }
  }

  /// Appends NULL. Returns false when the column `place` does not allow NULL.
  mutating func appendNull(in place: Int, _ form: RecordForm) -> Bool {
    appendNull()
    return form.takesNull(place)
  }

  /// Appends an integer in the form in which SQLite stores it in the column `place` of the new table. Returns false
  /// when SQLite would convert the integer to text.
  mutating func append(_ value: Int64, in place: Int, _ form: RecordForm) -> Bool {
    if let real = form.converted(value, in: place) {
      append(real: real)
      return true
    }
    append(integer: value)
    return form.takes(value, in: place)
  }

  /// Appends a real, as SQLite encodes it for the column `place` of the new table. Returns false when SQLite would
  /// store a different value.
  mutating func append(_ value: Double, in place: Int, _ form: RecordForm) -> Bool {
    if let whole = form.converted(value, in: place) {
      append(integer: whole)
      return true
    }
    append(real: value)
    return form.takes(value, in: place)
  }

  /// Appends text. Returns false when SQLite would store a number in the column `place`.
  mutating func append(
    text: ArraySlice<UInt8>, in place: Int, _ form: RecordForm
  ) -> Bool {
    append(text, isText: true)
    return form.takesText(text.first, in: place)
  }
}
