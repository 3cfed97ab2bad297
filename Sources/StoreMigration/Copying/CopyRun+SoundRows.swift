import CoreDataForensics
import CoreDataStore
import ObjectModel
import SQLiteFile
import SQLiteForensics
import SQLiteWriter
import StoreExtraction
import StoreFiles

extension CopyRun {
  /// Copies those tables of a sound store whose rows need no SQL, by filling the new tables page by page. No
  /// transaction may be open. Returns the CREATE statements of the indexes that were made for these tables.
  func fill(_ store: CoreDataStore, _ schema: FreshStoreSchema) throws -> Set<String> {
    if watch.isWatched {
      watch.totalRowCount = try plan.tables.reduce(0) { sum, copy in
        guard let table = store.database.schema.table(named: copy.table) else { return sum }
        return sum + (try store.database.rowCount(of: table).count)
      }
    }
    guard let filling = try FilledTables(plan, schema, writer) else { return [] }
    self.filling = filling
    for table in plan.tables where filling.fills(table) {
      filled.insert(table.table)
      try fillRows(of: table, store, filling)
    }
    try finishFilling()
    return filling.indexes
  }

  private func fillRows(of table: TableCopy, _ store: CoreDataStore, _ filling: FilledTables)
    throws
  {
    guard let stored = store.database.schema.table(named: table.table) else { return }
    let encoding = store.database.header.textEncoding
    let layout = RowLayout(table.definition)
    var decoder = RecordDecoder(encoding: encoding)
    var row = SoundRow(layout, keyColumn: table.keyColumn, storePath: storePath)
    let maker = CopiedRecords(
      encoding == .utf8 ? filling.recordCopies(of: table) : [:], entityColumn: table.entityColumn)
    try MadeRecords.read(stored, of: store.database, with: maker) { batch in
      var place = 0
      while place < batch.rows.count {
        let found = batch.rows[place]
        if let number = found.target {
          // At most 1,024 rows are added at a time, so that progress is reported often and a cancellation is noticed
          // soon.
          let same = batch.rows[place...].prefix(1_024).prefix { $0.target == number }
          let count = try filling.add(same.indices, of: batch, table)
          if count > 0 {
            try self.countWritten(
              count, entityNumber: number, store.entityName(ofNumber: number), table)
            place += count
            continue
          }
        }
        let record = batch.bytes.rawSpan.extracting(found.old)
        if decoder.open(record) == nil {
          row.load(record, found.rowID, &decoder)
          let number = table.entityColumn.flatMap {
            decoder.integer($0, of: record, rowID: found.rowID, layout: layout)
          }
          try self.insert(
            &row, entityNumber: number, number.flatMap { store.entityName(ofNumber: $0) }, table)
        }
        place += 1
      }
    }
  }

  /// Copies the tables of an undamaged store row by row. The tables that ``fill(_:_:)`` has copied page by page are
  /// left out.
  func read(_ store: CoreDataStore) throws {
    for stage in plan.staged.values {
      try writer.execute(stage.creation)
      let filling = stage.filling
      var misfits = 0
      try read(stage.table, stage.definition, keyColumn: stage.keyColumn, of: store) { row, _ in
        misfits += try self.stage(&row, stage, by: filling)
      }
      filling.finish()
      tellMisfits(misfits, of: stage)
    }
    for links in plan.links.values {
      try writer.execute(links.creation)
      let filling = links.filling()
      try read(links.table, links.definition, of: store) { row, _ in
        try self.stage(&row, links, by: filling)
      }
      filling.finish()
    }
    for table in plan.tables where !filled.contains(table.table) {
      try read(table, of: store) { row, number in
        try self.insert(
          &row, entityNumber: number, number.flatMap { store.entityName(ofNumber: $0) }, table)
      }
    }
    try read(joins: plan.joins.filter { !$0.isLate }, of: store)
  }

  /// Reads a sound store a second time, after all new rows were inserted. Sets the references and links that can only
  /// be set when the new rows at both of their ends exist.
  func relate(_ store: CoreDataStore) throws {
    for table in plan.tables where table.hasSecondPass {
      try read(table, of: store) { row, number in
        try self.update(&row, entityNumber: number, table)
      }
    }
    try read(joins: plan.joins.filter(\.isLate), of: store)
  }

  private func read(
    _ copy: TableCopy, of store: CoreDataStore,
    _ take: @escaping (inout SoundRow, Int64?) throws -> Void
  ) throws {
    try read(
      copy.table, copy.definition, entityColumn: copy.entityColumn, keyColumn: copy.keyColumn,
      of: store, take)
  }

  private func read(joins: [JoinCopy], of store: CoreDataStore) throws {
    for join in joins {
      guard let definition = store.database.schema.table(named: join.table)?.definition else {
        continue
      }
      try read(join.table, definition, of: store) { row, _ in try self.link(&row, join) }
    }
  }

  private func read(
    _ name: String, _ definition: TableDefinition, entityColumn: Int? = nil,
    keyColumn: Int? = nil, of store: CoreDataStore,
    _ take: @escaping (inout SoundRow, Int64?) throws -> Void
  ) throws {
    guard let table = store.database.schema.table(named: name) else { return }
    let rows = SoundRows(
      definition, entityColumn: entityColumn, keyColumn: keyColumn,
      storePath: storePath, take)
    let result = Result { try store.database.read(table, by: rows) }
    if let failure = rows.failure { throw failure }
    try result.get()
  }
}

/// A receiver of records that calls a closure with each row of a table.
private final class SoundRows: RecordReceiver {
  private let entityColumn: Int?
  private let take: (inout SoundRow, Int64?) throws -> Void
  private var row: SoundRow
  private(set) var failure: (any Error)?

  init(
    _ definition: TableDefinition, entityColumn: Int?, keyColumn: Int?, storePath: String,
    _ take: @escaping (inout SoundRow, Int64?) throws -> Void
  ) {
    self.entityColumn = entityColumn
    self.take = take
    row = SoundRow(RowLayout(definition), keyColumn: keyColumn, storePath: storePath)
  }

  var wantsMore: Bool { failure == nil }

  func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect? {
    if let defect = decoder.open(record) { return defect }
    let number = entityColumn.flatMap {
      decoder.integer($0, of: record, rowID: rowID, layout: layout)
    }
    row.load(record, rowID, &decoder)
    do { try take(&row, number) } catch { failure = error }
    return nil
  }
}

/// A row of a store that is read without recovery. The row keeps numbers as values, and strings and BLOBs as ranges in
/// a copy of their bytes.
private struct SoundRow: CopyRun.Row {
  private let layout: RowLayout
  private let keyColumn: Int?
  private let storePath: String
  private var sink = CellSink()
  let page: UInt32? = nil

  init(_ layout: RowLayout, keyColumn: Int?, storePath: String) {
    self.layout = layout
    self.keyColumn = keyColumn
    self.storePath = storePath
  }

  mutating func load(_ record: RawSpan, _ rowID: Int64?, _ decoder: inout RecordDecoder) {
    sink.clear()
    decoder.emit(record, rowID: rowID, layout: layout, into: &sink)
  }

  var key: Int64? {
    guard let keyColumn, case .integer(let key)? = sink.cell(keyColumn) else { return nil }
    return key
  }

  mutating func bind(_ statement: SQLiteStatement, _ columns: [Int], _ inlined: Set<Int>) throws {
    var binding = RowBinding(statement)
    // The statement has fewer parameters than the list has columns if its SQL does not use the last columns.
    for column in columns.prefix(statement.parameterCount) {
      if inlined.contains(column), let name = externalName(column) {
        try binding.bind(contentOf: name, storePath)
      } else {
        sink.bind(column, to: &binding)
      }
    }
    try binding.check()
  }

  func values() -> [StoredValue] { sink.values }

  let partial: [PartialValue] = []

  func evidence() -> [StoredValue] { values() }

  func fits(_ rule: RecordCopy.Rule) -> Bool { sink.fits(rule) }

  mutating func leaveOut(_ column: Int) { sink.leaveOut(column) }

  func isNull(_ column: Int) -> Bool { sink.isNull(column) }

  func append(_ column: Int, _ place: Int, _ form: RecordForm, to record: inout RecordBytes) -> Bool
  {
    sink.append(column, place, form, to: &record)
  }

  func externalName(_ column: Int) -> String? {
    guard case .blob(let range)? = sink.cell(column), range.count == 38,
      case .blob(let bytes)? = sink.value(column)
    else { return nil }
    return ExternalBlob.identifier(in: bytes)
  }
}

extension RowBinding {
  /// Binds the content of an external file, preceded by the marker byte 1, which means that the value is stored in the
  /// row itself. Binds NULL when the file cannot be found, or is too large for a row.
  mutating func bind(contentOf name: String, _ storePath: String) throws {
    let blob = ExternalBlob(identifier: name, storePath: storePath)
    guard let size = blob.rowBytes else { return null() }
    let bytes = ContiguousArray([1] + (try ByteFile(blob.path).bytes(at: 0, count: size)))
    self.blob(bytes.rawSpan)
  }
}

extension ExternalBlob {
  /// The size in bytes of the external file; nil when the file cannot be found, or is too large to be stored in a row.
  /// SQLite allows 1,000,000,000 bytes for a row. Of these, 1 MiB is reserved for the other values of the row.
  var rowBytes: Int? {
    sizeBytes.flatMap { $0 < 1_000_000_000 - (1 << 20) ? Int($0) : nil }
  }
}

/// A sink that keeps the values of one record in memory.
private struct CellSink: RowSink {
  enum Cell {
    case null
    case integer(Int64)
    case real(Double)
    case text(Range<Int>)
    case blob(Range<Int>)
  }

  private var cells: [Cell] = []
  private var bytes = ContiguousArray<UInt8>()
  let wantsMore = true

  mutating func clear() {
    cells.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: true)
  }

  func cell(_ column: Int) -> Cell? { column < cells.count ? cells[column] : nil }

  mutating func beginRow(_ rowID: Int64?) {}
  mutating func null() { cells.append(.null) }
  mutating func integer(_ value: Int64) { cells.append(.integer(value)) }
  mutating func real(_ value: Double) { cells.append(.real(value)) }
  mutating func text(_ bytes: RawSpan) { cells.append(.text(keep(bytes))) }
  mutating func blob(_ bytes: RawSpan) { cells.append(.blob(keep(bytes))) }
  mutating func endRow() {}

  private mutating func keep(_ span: RawSpan) -> Range<Int> {
    let start = bytes.count
    unsafe span.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    return start..<bytes.count
  }

  func bind(_ column: Int, to binding: inout RowBinding) {
    switch cell(column) {
    case .null?, nil: binding.null()
    case .integer(let value)?: binding.integer(value)
    case .real(let value)?: binding.real(value)
    case .text(let range)?: binding.text(bytes.rawSpan.extracting(range))
    case .blob(let range)?: binding.blob(bytes.rawSpan.extracting(range))
    }
  }

  func isNull(_ column: Int) -> Bool {
    if case .null? = cell(column) { true } else { column >= cells.count }
  }

  func append(_ column: Int, _ place: Int, _ form: RecordForm, to record: inout RecordBytes) -> Bool
  {
    switch cell(column) {
    case .null?, nil: return record.appendNull(in: place, form)
    case .integer(let value)?: return record.append(value, in: place, form)
    case .real(let value)?: return record.append(value, in: place, form)
    case .text(let range)?: return record.append(text: bytes[range], in: place, form)
    case .blob(let range)?:
      record.append(bytes[range], isText: false)
      return true
    }
  }

  func fits(_ rule: RecordCopy.Rule) -> Bool {
    switch cell(rule.column) {
    case .null?, nil: true
    case .integer?: rule.classes.contains(.integer)
    case .real?: rule.classes.contains(.real)
    case .text?: rule.classes.contains(.text)
    case .blob(let range)?:
      rule.classes.contains(.blob) && rule.length.map { $0 == range.count } ?? true
    }
  }

  mutating func leaveOut(_ column: Int) {
    if column < cells.count { cells[column] = .null }
  }

  func value(_ column: Int) -> StoredValue? {
    switch cell(column) {
    case nil: nil
    case .null?: .null
    case .integer(let value)?: .integer(value)
    case .real(let value)?: .real(value)
    case .text(let range)?: .text(StoredText(utf8: Array(bytes[range])))
    case .blob(let range)?: .blob(Array(bytes[range]))
    }
  }

  var values: [StoredValue] { cells.indices.map { value($0) ?? .null } }
}
