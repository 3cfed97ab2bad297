import CoreDataForensics
import CoreDataStore
import ManagedObjects
import ObjectModel
import SQLiteFile
import SQLiteForensics
import SQLiteWriter
import StoreExtraction
import StoreFiles

/// Writes the rows of an old store into a new file by a plan.
final class CopyRun {
  let plan: CopyPlan
  let writer: SQLiteWriter
  let rejects: RejectedRows
  let watch: ProgressWatch
  let storePath: String
  /// Notes the external files that rows of the new store name; nil unless this is the last step.
  private let external: ExternalFiles?
  /// The tables that are filled page by page while rows are read; nil when none are.
  var filling: FilledTables?
  /// The old tables whose rows are in filled tables.
  var filled: Set<String> = []
  /// Rows of such tables that SQLite has to insert.
  private var waiting:
    [(
      row: ValueRow, copy: EntityCopy, table: TableCopy, reasons: [String], values: [StoredValue]?
    )] = []
  private var waitingBytes = 0
  private static let maxWaiting = 10_000
  private static let maxWaitingBytes = 8 << 20
  /// Links of join tables without a usable key; they are cut.
  private var brokenLinks: [JoinCopy.Relationship: Int] = [:]
  /// Rows of entities that the new model does not have.
  private var leftBehind: [String: Int] = [:]
  private var unknownCount = 0
  var cut: [MigrationReport.Cut] = []
  /// Rules of the model that rows break, one sentence each.
  var broken: [String] = []

  init(
    _ plan: CopyPlan, _ writer: SQLiteWriter, _ rejects: RejectedRows, _ watch: ProgressWatch,
    storePath: String, external: ExternalFiles?
  ) {
    self.plan = plan
    self.writer = writer
    self.rejects = rejects
    self.watch = watch
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
          all[first.sourceEntity]?.readCount += table.readCount(ofEntity: number)
        }
      }
    }
    for (name, count) in leftBehind where count > 0 {
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

  /// What is lost of the rows that nothing takes, one sentence each.
  var leftBehindReasons: [String] {
    leftBehind.keys.sorted().compactMap { plan.droppedReasons[$0] }
  }

  /// Closes all statements.
  func finish() {
    for statement in plan.statements { statement.finish() }
  }

  // MARK: - Rows

  /// A row of the old store: its values can be bound again and again.
  protocol Row: ~Copyable {
    /// Binds the values of some columns to a statement's parameters, in this order.
    mutating func bind(_ statement: SQLiteStatement, _ columns: [Int], _ inlined: Set<Int>) throws
    /// All values, in column order.
    func values() -> [StoredValue]
    /// The name of the external file that a column gives; nil when it holds something else.
    func externalName(_ column: Int) -> String?
    /// Whether a value is one of the rule's, or NULL.
    func fits(_ rule: ColumnRule) -> Bool
    /// Makes a value NULL.
    mutating func leaveOut(_ column: Int)
    /// Values of which only a part is left, or whose bytes are in doubt; they are NULL here.
    var partial: [PartialValue] { get }
    /// All values as the old store has them, as far as it has them.
    func evidence() -> [StoredValue]
    var key: Int64? { get }
    /// Where the row was found; nil for a row of a sound file.
    var page: UInt32? { get }
    func isNull(_ column: Int) -> Bool
    /// Appends a value to a record, in the form of a column; false when SQLite would convert or refuse it.
    func append(_ column: Int, _ place: Int, _ form: RecordForm, to record: inout RecordBytes)
      -> Bool
  }

  /// Inserts a row, or notes why not.
  func insert<SomeRow: Row & ~Copyable>(
    _ row: inout SomeRow, entityNumber: Int64?, _ name: String?, _ table: TableCopy
  ) throws {
    try watch.count(of: name)
    guard let number = entityNumber, let copies = table.count(ofEntity: number) else {
      return try leaveBehind(&row, name, table)
    }
    guard row.key != nil else {
      copies.first?.rejectedCount += 1
      return try reject(row.values(), of: row, name, "its key is no whole number", table)
    }
    var misfits: [Int] = []
    for rule in table.rules where !row.fits(rule) { misfits.append(rule.column) }
    var reasons: [String] = []
    if !misfits.isEmpty {
      reasons.append(
        "left out, because no value of the model looks like it: \(names(misfits, table))")
    }
    for (isWhole, why) in [(false, "only a part is left"), (true, "its bytes are in doubt")] {
      let columns: [Int] = row.partial.filter { ($0.have >= $0.of) == isWhole }.map { $0.column }
      if !columns.isEmpty { reasons.append("left out, because \(why): \(names(columns, table))") }
    }
    let values = reasons.isEmpty ? nil : row.evidence()
    for column in misfits { row.leaveOut(column) }
    for copy in copies where copy.policyClass == nil {
      try insert(&row, copy, table, reasons, values)
    }
  }

  /// Counts rows of one entity that were written as they are.
  func countWritten(_ count: Int, entityNumber: Int64, _ name: String?, _ table: TableCopy) throws {
    try watch.count(count, of: name)
    table.count(count, ofEntity: entityNumber)?.first?.writtenCount += count
  }

  /// Whether a mapping with a policy takes the row with a key, which an attached store has.
  func takes(_ key: Int64, _ copy: EntityCopy, _ table: TableCopy, from schema: String) throws
    -> Bool
  {
    guard let selection = copy.selection else { return true }
    guard let row = try storedRow(key, table, from: schema) else { return false }
    let prepared = try selection.statement(in: writer)
    try row.bind(prepared, selection.columns, [])
    defer { prepared.reset() }
    return try prepared.step() && prepared.integer(at: 0) != 0
  }

  /// Inserts the row with a key, which an attached store has, under a mapping with a policy. Returns the new key; nil when
  /// the row was rejected.
  func create(_ key: Int64, _ copy: EntityCopy, _ table: TableCopy, from schema: String) throws
    -> Int64?
  {
    guard var row = try storedRow(key, table, from: schema) else { return nil }
    let written = copy.writtenCount
    try insert(&row, copy, table, [], nil)
    return copy.writtenCount > written ? copy.shift.newKey(of: key) : nil
  }

  private func storedRow(_ key: Int64, _ table: TableCopy, from schema: String) throws
    -> ValueRow?
  {
    let columns = try table.definition.columns.map { try SQLText.quoted($0.name) }
    return try writer.rows(
      "SELECT \(columns.joined(separator: ", ")) FROM \(schema).\(SQLText.quoted(table.table)) WHERE Z_PK = ?1",
      [.integer(key)]
    ).first.map {
      ValueRow($0.map { StoredValue($0) }, keyColumn: table.keyColumn, storePath: storePath)
    }
  }

  private func names(_ columns: [Int], _ table: TableCopy) -> String {
    columns.filter { $0 < table.definition.columns.count }
      .map { table.definition.columns[$0].name }.joined(separator: ", ")
  }

  /// Inserts a row under one mapping. `reasons` say what was left out of it, and `values` are those before.
  private func insert<SomeRow: Row & ~Copyable>(
    _ row: inout SomeRow, _ copy: EntityCopy, _ table: TableCopy, _ reasons: [String],
    _ values: [StoredValue]?
  ) throws {
    var reasons = reasons + (try losses(of: &row, copy, table))
    guard row.key.map(copy.shift.hasRoom(for:)) ?? false else {
      copy.rejectedCount += 1
      reasons.append("its key has no room among those of other tables")
      return try reject(
        values ?? row.values(), of: row, copy.sourceEntity, reasons.joined(separator: "; "), table)
    }
    do {
      let outcome = try write(&row, copy, table)
      guard outcome != .later else {
        return try wait(row, copy, table, reasons, values)
      }
      guard outcome != .written else {
        copy.writtenCount += 1
        if !reasons.isEmpty {
          copy.incompleteCount += 1
          try reject(
            values ?? row.values(), of: row, copy.sourceEntity, reasons.joined(separator: "; "),
            table, isWritten: true)
        }
        if !copy.externalColumns.isEmpty { noteExternalFiles(&row, copy) }
        for link in copy.links { try run(link, &row, []) }
        return
      }
      guard let missing = missingValue(&row, copy) else {
        copy.passedOverCount += 1
        return
      }
      reasons.append(missing)
    } catch let error as SQLiteWriterError where error.code == .constraint {
      reasons.append("another row has its key or its unique values: \(error.message)")
    }
    copy.rejectedCount += 1
    try reject(
      values ?? row.values(), of: row, copy.sourceEntity, reasons.joined(separator: "; "), table)
  }

  /// Puts a row into its new table.
  private func write<SomeRow: Row & ~Copyable>(
    _ row: inout SomeRow, _ copy: EntityCopy, _ table: TableCopy
  ) throws -> FilledTables.Outcome {
    if let filling, filling.fills(table) { return try filling.add(row, copy, table) }
    try run(copy.insert, &row, copy.inlinedColumns)
    return writer.changeCount == 0 ? .incomplete : .written
  }

  /// Keeps a row until the tables are filled.
  private func wait<SomeRow: Row & ~Copyable>(
    _ row: borrowing SomeRow, _ copy: EntityCopy, _ table: TableCopy, _ reasons: [String],
    _ values: [StoredValue]?
  ) throws {
    let stored = row.values()
    waitingBytes += stored.reduce(0) { $0 + $1.byteCount }
    guard waiting.count < Self.maxWaiting, waitingBytes < Self.maxWaitingBytes else {
      throw MigrationError(
        .damagedSource,
        [
          "the rows of \(copy.sourceEntity) are not as SQLite keeps them, so the store is damaged; use: lifeboat salvage"
        ])
    }
    waiting.append(
      (
        ValueRow(stored, keyColumn: table.keyColumn, storePath: storePath), copy, table,
        reasons, values
      ))
  }

  /// Completes the tables that were filled, and inserts the rows that had to wait.
  func finishFilling() throws {
    guard let filling else { return }
    try filling.finish()
    self.filling = nil
    guard !waiting.isEmpty else { return }
    try writer.transaction {
      for entry in waiting {
        var row = entry.row
        try insert(&row, entry.copy, entry.table, entry.reasons, entry.values)
      }
    }
    waiting = []
    waitingBytes = 0
  }

  /// What the new row cannot hold, as sentences.
  private func losses<SomeRow: Row & ~Copyable>(
    of row: inout SomeRow, _ copy: EntityCopy, _ table: TableCopy
  ) throws -> [String] {
    var reasons: [String] = []
    if let (statement, properties) = copy.losses {
      let prepared = try statement.statement(in: writer)
      try row.bind(prepared, statement.columns, [])
      defer { prepared.reset() }
      if try prepared.step() {
        let lost = properties.indices.filter { prepared.integer(at: $0) == 1 }
        if !lost.isEmpty {
          reasons.append(
            "left out, because the new type cannot hold it: \(lost.map { properties[$0] }.joined(separator: ", "))"
          )
        }
      }
    }
    for column in copy.inlinedColumns.sorted() {
      guard let name = row.externalName(column),
        ExternalBlob(identifier: name, storePath: storePath).sizeBytes == nil
      else { continue }
      reasons.append("left out, because its file \(name) cannot be read: \(names([column], table))")
    }
    return reasons
  }

  /// Runs the second pass for a row.
  func update<SomeRow: Row & ~Copyable>(
    _ row: inout SomeRow, entityNumber: Int64?, _ table: TableCopy
  ) throws {
    guard let number = entityNumber, let copies = table.entities[number] else { return }
    for rule in table.rules where !row.fits(rule) { row.leaveOut(rule.column) }
    for copy in copies {
      for update in copy.updates { try run(update, &row, []) }
    }
  }

  func link<SomeRow: Row & ~Copyable>(_ row: inout SomeRow, _ join: JoinCopy) throws {
    for column in join.keys
    where row.isNull(column)
      || !row.fits(ColumnRule(column: column, classes: .integer, length: nil))
    {
      brokenLinks[join.relationship, default: 0] += 1
      return
    }
    for column in join.orders
    where !row.fits(ColumnRule(column: column, classes: .integer, length: nil)) {
      row.leaveOut(column)
    }
    try run(join.statement, &row, [])
  }

  /// Adds the links that had no keys to what was cut.
  func tellBrokenLinks() {
    for (relationship, count) in brokenLinks.sorted(by: {
      ($0.key.entity, $0.key.name) < ($1.key.entity, $1.key.name)
    }) {
      cut.append(
        .init(entity: relationship.entity, property: relationship.name, count: count, keys: []))
    }
    brokenLinks = [:]
  }

  func run<SomeRow: Row & ~Copyable>(
    _ statement: RowStatement, _ row: inout SomeRow, _ inlined: Set<Int>
  ) throws {
    let prepared = try statement.statement(in: writer)
    try row.bind(prepared, statement.columns, inlined)
    try prepared.run()
  }

  private func leaveBehind<SomeRow: Row & ~Copyable>(
    _ row: inout SomeRow, _ name: String?, _ table: TableCopy
  ) throws {
    if let name, plan.dropped.contains(name) {
      leftBehind[name, default: 0] += 1
    } else {
      unknownCount += 1
      try reject(
        row.values(), of: row, name, "its entity number belongs to no entity of this table", table)
    }
  }

  private func reject<SomeRow: Row & ~Copyable>(
    _ values: [StoredValue], of row: borrowing SomeRow, _ entity: String?, _ reason: String,
    _ table: TableCopy, isWritten: Bool = false
  ) throws {
    try rejects.add(
      entity: entity, key: row.key, reason: reason,
      values: Array(zip(table.definition.columns.map(\.name), values)), page: row.page,
      isWritten: isWritten)
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
    _ row: inout SomeRow, _ copy: EntityCopy
  ) {
    guard let external else { return }
    for column in copy.externalColumns {
      if let name = row.externalName(column) { external.note(name, in: copy.sourceEntity) }
    }
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

extension StoredValue {
  /// About how much memory the value takes.
  fileprivate var byteCount: Int {
    switch self {
    case .null, .integer, .real: 16
    case .text(let text): 32 + text.utf8.count
    case .blob(let bytes): 32 + bytes.count
    }
  }
}
