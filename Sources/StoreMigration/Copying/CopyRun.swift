import CoreDataForensics
import CoreDataStore
import ObjectModel
import SQLiteFile
import SQLiteForensics
import SQLiteWriter
import StoreExtraction
import StoreFiles

/// Writes the rows of an old store into a new file by a plan.
final class CopyRun {
  let plan: CopyPlan
  private let writer: SQLiteWriter
  private let rejects: RejectedRows
  private let storePath: String
  /// Notes the external files that rows of the new store name; nil unless this is the last step.
  private let external: ExternalFiles?
  /// Rows of entities that the new model does not have.
  private var leftBehind: [String: Int] = [:]
  private var unknownCount = 0
  private(set) var cut: [MigrationReport.Cut] = []

  init(
    _ plan: CopyPlan, _ writer: SQLiteWriter, _ rejects: RejectedRows, storePath: String,
    external: ExternalFiles?
  ) {
    self.plan = plan
    self.writer = writer
    self.rejects = rejects
    self.storePath = storePath
    self.external = external
  }

  /// The counts by entity, rows of unknown entities last.
  var entities: [MigrationReport.Entity] {
    var all: [String: MigrationReport.Entity] = [:]
    for table in plan.tables {
      for (number, copies) in table.entities {
        for copy in copies {
          all[copy.sourceEntity, default: .init(name: copy.sourceEntity, became: [])].add(copy)
        }
        if let first = copies.first {
          all[first.sourceEntity]?.readCount += table.readCounts[number] ?? 0
        }
      }
    }
    for (name, count) in leftBehind {
      all[name, default: .init(name: name, became: [])].readCount += count
      all[name]?.leftBehindCount += count
    }
    var list = all.values.sorted { $0.name ?? "" < $1.name ?? "" }
    if unknownCount > 0 {
      var unknown = MigrationReport.Entity(name: nil, became: [])
      unknown.readCount = unknownCount
      unknown.rejectedCount = unknownCount
      list.append(unknown)
    }
    return list
  }

  /// Closes all statements.
  func finish() {
    for statement in plan.statements { statement.finish() }
  }

  // MARK: - Rows

  /// A row of the old store: its values can be bound again and again.
  fileprivate protocol Row: ~Copyable {
    /// Binds the values of some columns to a statement's parameters, in this order, and runs it.
    mutating func run(_ statement: SQLiteStatement, _ columns: [Int], _ inlined: Set<Int>) throws
    /// All values, in column order.
    func values() -> [StoredValue]
    /// The name of the external file that a column gives; nil when it holds something else.
    func externalName(_ column: Int) -> String?
    /// Whether a value is one of the rule's, or NULL.
    func fits(_ rule: ColumnRule) -> Bool
    /// Makes a value NULL.
    mutating func leaveOut(_ column: Int)
    /// Columns with values of which only a part is left; they are NULL here.
    var partial: [Int] { get }
    var key: Int64? { get }
    /// Where the row was found; nil for a row of a sound file.
    var page: UInt32? { get }
  }

  /// Inserts a row, or notes why not.
  fileprivate func insert<SomeRow: Row & ~Copyable>(
    _ row: inout SomeRow, entityNumber: Int64?, _ name: String?, _ table: TableCopy
  ) throws {
    guard let number = entityNumber, let copies = table.entities[number] else {
      return try leaveBehind(&row, name, table)
    }
    let incomplete = try leaveOutMisfits(&row, name, table)
    table.readCounts[number, default: 0] += 1
    for copy in copies {
      var reason: String?
      do {
        try run(copy.insert, &row, copy.inlinedColumns)
        if writer.changeCount == 0 {
          reason = missingValue(&row, copy)
          if reason == nil {
            copy.passedOverCount += 1
            continue
          }
        }
      } catch let error as SQLiteWriterError where error.code == .constraint {
        reason = error.message
      }
      if let reason {
        copy.rejectedCount += 1
        try reject(&row, copy.sourceEntity, reason, table)
        continue
      }
      copy.writtenCount += 1
      if incomplete { copy.incompleteCount += 1 }
      if !table.externalColumns.isEmpty { noteExternalFiles(&row, copy, table) }
      for link in copy.links { try run(link, &row, []) }
    }
  }

  /// Leaves out values that Core Data never stores in their columns, and notes them and partial ones with the row.
  private func leaveOutMisfits<SomeRow: Row & ~Copyable>(
    _ row: inout SomeRow, _ name: String?, _ table: TableCopy
  ) throws -> Bool {
    var misfits: [Int] = []
    for rule in table.rules where !row.fits(rule) { misfits.append(rule.column) }
    guard !misfits.isEmpty || !row.partial.isEmpty else { return false }
    func names(_ columns: [Int]) -> String {
      columns.filter { $0 < table.definition.columns.count }
        .map { table.definition.columns[$0].name }.joined(separator: ", ")
    }
    var reasons: [String] = []
    if !misfits.isEmpty {
      reasons.append("left out, because no value of the model looks like it: \(names(misfits))")
    }
    if !row.partial.isEmpty {
      reasons.append("left out, because only a part is left: \(names(row.partial))")
    }
    try reject(&row, name, reasons.joined(separator: "; "), table, isWritten: true)
    for column in misfits { row.leaveOut(column) }
    return true
  }

  /// Runs the second pass for a row.
  fileprivate func update<SomeRow: Row & ~Copyable>(
    _ row: inout SomeRow, entityNumber: Int64?, _ table: TableCopy
  ) throws {
    guard let number = entityNumber, let copies = table.entities[number] else { return }
    for rule in table.rules where !row.fits(rule) { row.leaveOut(rule.column) }
    for copy in copies {
      for update in copy.updates { try run(update, &row, []) }
    }
  }

  fileprivate func link<SomeRow: Row & ~Copyable>(_ row: inout SomeRow, _ join: JoinCopy) throws {
    try run(join.statement, &row, [])
  }

  private func run<SomeRow: Row & ~Copyable>(
    _ statement: RowStatement, _ row: inout SomeRow, _ inlined: Set<Int>
  ) throws {
    try row.run(try statement.statement(in: writer), statement.columns, inlined)
  }

  private func leaveBehind<SomeRow: Row & ~Copyable>(
    _ row: inout SomeRow, _ name: String?, _ table: TableCopy
  ) throws {
    if let name, plan.dropped.contains(name) {
      leftBehind[name, default: 0] += 1
    } else {
      unknownCount += 1
      try reject(&row, name, "its entity number belongs to no entity of this table", table)
    }
  }

  private func reject<SomeRow: Row & ~Copyable>(
    _ row: inout SomeRow, _ entity: String?, _ reason: String, _ table: TableCopy,
    isWritten: Bool = false
  ) throws {
    let names = table.definition.columns.map(\.name)
    try rejects.add(
      entity: entity, key: row.key, reason: reason, values: Array(zip(names, row.values())),
      page: row.page, isWritten: isWritten)
  }

  private func missingValue<SomeRow: Row & ~Copyable>(_ row: inout SomeRow, _ copy: EntityCopy)
    -> String?
  {
    let values = row.values()
    let missing = copy.demands.filter { demand in
      guard let column = demand.column, column < values.count else { return true }
      return values[column] == .null
    }.map(\.property)
    if missing.isEmpty, copy.isFiltered { return nil }
    return
      "\(copy.destinationEntity) demands a value of \(missing.joined(separator: ", ")), and there is no default"
  }

  private func noteExternalFiles<SomeRow: Row & ~Copyable>(
    _ row: inout SomeRow, _ copy: EntityCopy, _ table: TableCopy
  ) {
    guard let external else { return }
    for column in table.externalColumns where !copy.inlinedColumns.contains(column) {
      if let name = row.externalName(column) { external.note(name, in: copy.sourceEntity) }
    }
  }

  // MARK: - References

  private static let maxKeys = 20

  /// Cuts references that lead to no row, gives the others the number of their destination's entity, and orders what
  /// had no order.
  func settleReferences() throws {
    for stage in plan.staged.values { try writer.execute("DROP TABLE \(stage.name)") }
    for reference in plan.references { try settle(reference) }
    for join in plan.destination.joinTables { try settle(join) }
    var met: Set<String> = []
    for (table, key, order) in plan.unordered where met.insert(table + "\u{0}" + order).inserted {
      let (into, key, order) = try (
        SQLText.quoted(table), SQLText.quoted(key), SQLText.quoted(order)
      )
      try writer.execute(
        """
        UPDATE \(into) SET \(order) = place.n FROM (SELECT Z_PK AS pk, 1024 * row_number() OVER \
        (PARTITION BY \(key) ORDER BY Z_PK) AS n FROM \(into) WHERE \(key) IS NOT NULL) AS place \
        WHERE Z_PK = place.pk
        """)
    }
  }

  private func settle(_ reference: Reference) throws {
    let table = try SQLText.quoted(reference.table)
    let column = try SQLText.quoted(reference.column)
    let target = try SQLText.quoted(reference.destinationTable)
    let numbers = reference.destinationNumbers.map(String.init).joined(separator: ", ")
    let dangling =
      "FROM \(table) AS own WHERE \(column) IS NOT NULL AND NOT EXISTS (SELECT 1 FROM \(target) AS far WHERE far.Z_PK = own.\(column) AND far.Z_ENT IN (\(numbers)))"
    let keys = try writer.rows("SELECT own.Z_PK \(dangling) LIMIT \(Self.maxKeys)").compactMap(
      Self.integer)
    if !keys.isEmpty {
      let count = try writer.rows("SELECT count(*) \(dangling)").compactMap(Self.integer).first ?? 0
      let entityColumn =
        try reference.entityColumn.map { try ", \(SQLText.quoted($0)) = NULL" } ?? ""
      try writer.execute(
        "UPDATE \(table) SET \(column) = NULL\(entityColumn) WHERE Z_PK IN (SELECT own.Z_PK \(dangling))"
      )
      cut.append(
        .init(
          entity: reference.entityName, property: reference.propertyName, count: Int(count),
          keys: keys))
    }
    if let entityColumn = try reference.entityColumn.map({ try SQLText.quoted($0) }) {
      try writer.execute(
        "UPDATE \(table) SET \(entityColumn) = (SELECT far.Z_ENT FROM \(target) AS far WHERE far.Z_PK = \(column)) WHERE \(column) IS NOT NULL AND \(entityColumn) IS NOT (SELECT far.Z_ENT FROM \(target) AS far WHERE far.Z_PK = \(column))"
      )
    }
  }

  private func settle(_ join: TableLayout.JoinTable) throws {
    let layout = plan.destination
    guard let near = layout.table(of: join.ownerName)?.name,
      let far = layout.table(of: join.relationship.destinationEntityName)?.name
    else { return }
    let table = try SQLText.quoted(join.name)
    let (owner, destination) = try (
      SQLText.quoted(join.ownerColumn), SQLText.quoted(join.destinationColumn)
    )
    let dangling = try
      "FROM \(table) WHERE NOT EXISTS (SELECT 1 FROM \(SQLText.quoted(near)) AS own WHERE own.Z_PK = \(owner)) OR NOT EXISTS (SELECT 1 FROM \(SQLText.quoted(far)) AS far WHERE far.Z_PK = \(destination))"
    let keys = try writer.rows("SELECT \(owner) \(dangling) LIMIT \(Self.maxKeys)").compactMap(
      Self.integer)
    guard !keys.isEmpty else { return }
    let count = try writer.rows("SELECT count(*) \(dangling)").compactMap(Self.integer).first ?? 0
    try writer.execute("DELETE \(dangling)")
    cut.append(
      .init(
        entity: join.ownerName, property: join.relationship.name, count: Int(count), keys: keys))
  }

  private static func integer(_ row: [SQLiteValue]) -> Int64? {
    if case .integer(let value)? = row.first { value } else { nil }
  }
}

extension MigrationReport.Entity {
  fileprivate mutating func add(_ copy: EntityCopy) {
    if !became.contains(copy.destinationEntity) { became.append(copy.destinationEntity) }
    writtenCount += copy.writtenCount
    incompleteCount += copy.incompleteCount
    rejectedCount += copy.rejectedCount
    passedOverCount += copy.passedOverCount
  }
}

// MARK: - Sound stores

extension CopyRun {
  /// Reads a sound store.
  func read(_ store: CoreDataStore) throws {
    for stage in plan.staged.values {
      try writer.execute(stage.creation)
      let filling = stage.filling
      try read(stage.table, stage.definition, keyColumn: stage.keyColumn, of: store) { row, _ in
        try self.run(filling, &row, [])
      }
      filling.finish()
    }
    for table in plan.tables {
      try read(table, of: store) { row, number in
        try self.insert(
          &row, entityNumber: number, number.flatMap { store.entityName(ofNumber: $0) }, table)
      }
    }
    try read(joins: plan.joins.filter { !$0.isUpdate }, of: store)
    for table in plan.tables where table.hasSecondPass {
      try read(table, of: store) { row, number in
        try self.update(&row, entityNumber: number, table)
      }
    }
    try read(joins: plan.joins.filter(\.isUpdate), of: store)
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
      storePath: store.database.path, take)
    let result = Result { try store.database.read(table, by: rows) }
    if let failure = rows.failure { throw failure }
    try result.get()
  }
}

/// Hands on the rows of a table, straight from their records.
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

/// A row whose values are at hand: small ones as they are, texts and blobs as places in a copy of the record.
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

  mutating func run(_ statement: SQLiteStatement, _ columns: [Int], _ inlined: Set<Int>) throws {
    var binding = RowBinding(statement)
    // A column that was asked for and not used has no parameter.
    for column in columns.prefix(statement.parameterCount) {
      if inlined.contains(column), let name = externalName(column) {
        try binding.bind(contentOf: name, storePath)
      } else {
        sink.bind(column, to: &binding)
      }
    }
    try binding.run()
  }

  func values() -> [StoredValue] { sink.values }

  let partial: [Int] = []

  func fits(_ rule: ColumnRule) -> Bool { sink.fits(rule) }

  mutating func leaveOut(_ column: Int) { sink.leaveOut(column) }

  func externalName(_ column: Int) -> String? {
    guard case .blob(let range)? = sink.cell(column), range.count == 38,
      case .blob(let bytes)? = sink.value(column)
    else { return nil }
    return ExternalBlob.identifier(in: bytes)
  }
}

extension RowBinding {
  /// Binds what an external file holds, behind the marker byte of a value that is in its row.
  fileprivate mutating func bind(contentOf name: String, _ storePath: String) throws {
    let blob = ExternalBlob(identifier: name, storePath: storePath)
    guard let size = blob.sizeBytes, size < 1_000_000_000 else { return null() }
    let bytes = ContiguousArray([1] + (try ByteFile(blob.path).bytes(at: 0, count: Int(size))))
    self.blob(bytes.rawSpan)
  }
}

/// Keeps the values of a record.
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

  func fits(_ rule: ColumnRule) -> Bool {
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

// MARK: - Damaged stores

extension CopyRun {
  /// Reads the live rows of a store that may be damaged, and the deleted ones when asked.
  func read(
    _ store: DamagedStore, entityNames: [Int64: String], _ selection: DamagedDatabase.Selection
  ) throws {
    for stage in plan.staged.values {
      try writer.execute(stage.creation)
      let filling = stage.filling
      try each(store, selection, [SQLName(stage.table)]) { row, _ in
        try self.run(filling, &row, [])
      }
      filling.finish()
    }
    let places = Dictionary(
      plan.tables.map { (SQLName($0.table), $0) }, uniquingKeysWith: { first, _ in first })
    let joins = Dictionary(grouping: plan.joins.filter { !$0.isUpdate }) { SQLName($0.table) }
    let late = Dictionary(grouping: plan.joins.filter(\.isUpdate)) { SQLName($0.table) }
    try each(store, selection, Set(places.keys).union(joins.keys)) { row, name in
      if let table = places[name] {
        let number = row.integer(table.entityColumn)
        try self.insert(&row, entityNumber: number, number.flatMap { entityNames[$0] }, table)
      }
      for join in joins[name] ?? [] { try self.link(&row, join) }
    }
    guard plan.tables.contains(where: \.hasSecondPass) || !late.isEmpty else { return }
    try each(store, selection, Set(places.keys).union(late.keys)) { row, name in
      if let table = places[name] {
        try self.update(&row, entityNumber: row.integer(table.entityColumn), table)
      }
      for join in late[name] ?? [] { try self.link(&row, join) }
    }
  }

  private func each(
    _ store: DamagedStore, _ selection: DamagedDatabase.Selection, _ names: Set<SQLName>,
    _ body: (inout RecoveredCopyRow, SQLName) throws -> Void
  ) throws {
    let tables = store.database.tables
    let keys = tables.map { table in table.definition.rowIDColumn }
    var failure: (any Error)?
    try store.database.forEachRow(selection) { row in
      guard let place = row.origin.table, names.contains(SQLName(tables[place].name)) else {
        return true
      }
      var copied = RecoveredCopyRow(row, keyColumn: keys[place], storePath: store.database.path)
      do { try body(&copied, SQLName(tables[place].name)) } catch { failure = error }
      return failure == nil
    }
    if let failure { throw failure }
  }
}

/// A row that recovery found.
private struct RecoveredCopyRow: CopyRun.Row {
  private var stored: [StoredValue]
  let key: Int64?
  let page: UInt32?
  let partial: [Int]
  private let storePath: String

  init(_ row: RecoveredRow, keyColumn: Int?, storePath: String) {
    stored = row.values
    if let keyColumn, keyColumn < stored.count, stored[keyColumn] == .null, let rowID = row.rowID {
      stored[keyColumn] = .integer(rowID)
    }
    key = row.rowID
    page = row.origin.page
    partial = row.partial.map(\.column)
    self.storePath = storePath
  }

  func integer(_ column: Int?) -> Int64? {
    guard let column, column < stored.count, case .integer(let value) = stored[column] else {
      return nil
    }
    return value
  }

  func values() -> [StoredValue] { stored }

  func fits(_ rule: ColumnRule) -> Bool {
    guard rule.column < stored.count else { return true }
    switch stored[rule.column] {
    case .null: return true
    case .integer: return rule.classes.contains(.integer)
    case .real: return rule.classes.contains(.real)
    case .text: return rule.classes.contains(.text)
    case .blob(let bytes):
      return rule.classes.contains(.blob) && rule.length.map { $0 == bytes.count } ?? true
    }
  }

  mutating func leaveOut(_ column: Int) {
    if column < stored.count { stored[column] = .null }
  }

  func externalName(_ column: Int) -> String? {
    guard column < stored.count, case .blob(let bytes) = stored[column] else { return nil }
    return ExternalBlob.identifier(in: bytes)
  }

  mutating func run(_ statement: SQLiteStatement, _ columns: [Int], _ inlined: Set<Int>) throws {
    var binding = RowBinding(statement)
    // A column that was asked for and not used has no parameter.
    for column in columns.prefix(statement.parameterCount) {
      switch column < stored.count ? stored[column] : .null {
      case .null: binding.null()
      case .integer(let value): binding.integer(value)
      case .real(let value): binding.real(value)
      case .text(let text):
        let bytes = ContiguousArray(text.utf8)
        binding.text(bytes.rawSpan)
      case .blob(let blob):
        if inlined.contains(column), let name = ExternalBlob.identifier(in: blob) {
          try binding.bind(contentOf: name, storePath)
        } else {
          let bytes = ContiguousArray(blob)
          binding.blob(bytes.rawSpan)
        }
      }
    }
    try binding.run()
  }
}
