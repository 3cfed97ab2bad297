import CoreDataForensics
import CoreDataStore
import ManagedObjects
import ObjectModel
import SQLiteFile
import SQLiteForensics
import SQLiteWriter
import SafeText
import StoreExtraction
import StoreFiles

/// Carries out a ``CopyPlan``: writes the rows of an old store into a new file.
final class CopyRun {
  let plan: CopyPlan
  let writer: SQLiteWriter
  let rejects: RejectedRows
  let watch: ProgressWatch
  let storePath: String
  /// Collects the external files that rows of the new store refer to; nil if this is not the last step of the
  /// migration.
  let external: ExternalFiles?
  var filling: FilledTables?
  /// The names of the old tables that were copied page by page.
  var filled: Set<String> = []
  /// Rows of the tables of ``filling`` that SQLite must insert. They are kept here until these tables are filled.
  private var waiting:
    [(
      row: ValueRow, copy: EntityCopy, table: TableCopy, reasons: [String], values: [StoredValue]?
    )] = []
  private var waitingBytes = 0
  private static let maxWaiting = 10_000
  private static let maxWaitingBytes = 8 << 20
  /// The number of rows in join tables that lack a usable key, keyed by relationship. The links in these rows are not
  /// copied, but reported as cut.
  private var brokenLinks: [JoinCopy.Relationship: Int] = [:]
  /// The number of rows that were left behind because no mapping takes them, keyed by entity name.
  private var leftBehind: [String: Int] = [:]
  private var unknownCount = 0
  /// Whether the rows were found by recovery. If several of these rows have the same key, only the first row is
  /// written.
  var isRecovered = false
  /// The number of rows that were read so far from each old table of a damaged store, keyed by table name. A damaged
  /// store is read twice: `insertedCounts` counts in the first pass, `updatedCounts` in the second.
  private var insertedCounts: [String: Int] = [:]
  private var updatedCounts: [String: Int] = [:]
  /// The rows of a damaged store that each ``EntityCopy`` has rejected in the first pass. A row is identified by its
  /// index among the rows of its old table, which is the same in the second pass.
  private var rejected: [ObjectIdentifier: Set<Int>] = [:]
  var cut: [MigrationReport.Cut] = []
  /// Whether ``setWaitingReferences()`` has been called.
  var hasSetWaiting = false
  /// Sentences, each of which names a rule of the new model that rows of the new store break.
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

  /// The report's counts for each entity, sorted by name. The counts of rows whose entity is unknown come last.
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

  /// The reasons why rows were left behind although the new model has their entity: one sentence for each such entity.
  var leftBehindReasons: [String] {
    leftBehind.keys.sorted().compactMap { plan.droppedReasons[$0] }
  }

  func finish() {
    for statement in plan.statements { statement.finish() }
  }

  // MARK: - Rows

  /// A row of the old store. Its values can be bound to a statement any number of times.
  protocol Row: ~Copyable {
    /// Binds the values of the old columns `columns` to the parameters of a statement, in this order. If a column is in
    /// `inlined` and its value names an external file, binds the content of the file.
    mutating func bind(_ statement: SQLiteStatement, _ columns: [Int], _ inlined: Set<Int>) throws
    /// All values, in column order.
    func values() -> [StoredValue]
    /// The name of the external file that the value of `column` refers to; nil when the value refers to no external
    /// file.
    func externalName(_ column: Int) -> String?
    /// Whether the value in the column of `rule` is NULL or allowed by `rule`.
    func fits(_ rule: RecordCopy.Rule) -> Bool
    /// Makes the value of a column NULL.
    mutating func leaveOut(_ column: Int)
    /// The damaged values: only a part of the value is left, or its bytes are in doubt. ``values()`` has NULL in place
    /// of each damaged value.
    var partial: [PartialValue] { get }
    /// All values as they are in the old store. A damaged value is represented by the bytes that are left of it.
    func evidence() -> [StoredValue]
    var key: Int64? { get }
    /// The page on which the row was found; nil for a row of a sound file.
    var page: UInt32? { get }
    func isNull(_ column: Int) -> Bool
    /// Appends the row's value in the old column `column` to `record`, as SQLite would encode the value in the new
    /// column `place`. Returns false when SQLite would convert the value to another one, or refuse the value.
    func append(_ column: Int, _ place: Int, _ form: RecordForm, to record: inout RecordBytes)
      -> Bool
  }

  /// Inserts a new row for each mapping that takes the row's entity and has no policy. If a row cannot be inserted, or
  /// lacks some values, the old row is added to the file of rejects with the reason.
  func insert<SomeRow: Row & ~Copyable>(
    _ row: inout SomeRow, entityNumber: Int64?, _ name: String?, _ table: TableCopy
  ) throws {
    try watch.count(of: name)
    if isRecovered { insertedCounts[table.table, default: 0] += 1 }
    guard let number = entityNumber, let copies = table.count(ofEntity: number) else {
      return try leaveBehind(&row, name, table)
    }
    guard row.key != nil else {
      copies.first?.rejectedCount += 1
      return try reject(row.values(), of: row, name, "its key is not an integer", table)
    }
    var misfits: [Int] = []
    for rule in table.rules where !row.fits(rule) { misfits.append(rule.column) }
    var reasons: [String] = []
    if !misfits.isEmpty {
      reasons.append(
        "left out, because Core Data never stores such a value there: \(names(misfits, table))")
    }
    for (isWhole, why) in [(false, "only a part is left"), (true, "its bytes are in doubt")] {
      let columns: [Int] = row.partial.filter { ($0.have >= $0.of) == isWhole }.map { $0.column }
      if !columns.isEmpty { reasons.append("left out, because \(why): \(names(columns, table))") }
    }
    let values = reasons.isEmpty ? nil : row.evidence()
    for column in misfits { row.leaveOut(column) }
    for copy in copies where copy.policyClass == nil {
      let count = copy.rejectedCount
      try insert(&row, copy, table, reasons, values)
      if isRecovered, copy.rejectedCount > count, !copy.updates.isEmpty {
        let place = insertedCounts[table.table, default: 1] - 1
        rejected[ObjectIdentifier(copy), default: []].insert(place)
      }
    }
  }

  /// Adds `count` to the counts of an entity, for rows of this entity that were written page by page.
  func countWritten(_ count: Int, entityNumber: Int64, _ name: String?, _ table: TableCopy) throws {
    try watch.count(count, of: name)
    table.count(count, ofEntity: entityNumber)?.first?.writtenCount += count
  }

  /// Whether the mapping of `copy` takes the row of the old store with the primary key `key`. The old store is attached
  /// as `schema`.
  func takes(_ key: Int64, _ copy: EntityCopy, _ table: TableCopy, from schema: String) throws
    -> Bool
  {
    guard copy.selection != nil else { return true }
    guard var row = try storedRow(key, table, from: schema) else { return false }
    return try takes(&row, copy)
  }

  private func takes<SomeRow: Row & ~Copyable>(_ row: inout SomeRow, _ copy: EntityCopy) throws
    -> Bool
  {
    guard let selection = copy.selection else { return true }
    let prepared = try selection.statement(in: writer)
    try row.bind(prepared, selection.columns, [])
    defer { prepared.reset() }
    return try prepared.step() && prepared.integer(at: 0) != 0
  }

  /// Inserts the new row that a mapping with a migration policy makes from one old row. `key` is the key of the old
  /// row, and `schema` is the name under which the old store is attached. Returns the key of the new row; nil when the
  /// old row does not exist or was rejected.
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

  /// Inserts the new row that one mapping makes from an old row. `reasons`: sentences that say why some values of the
  /// old row were left out. `values`: all values of the old row, as they were before some were left out; nil when no
  /// value was left out.
  private func insert<SomeRow: Row & ~Copyable>(
    _ row: inout SomeRow, _ copy: EntityCopy, _ table: TableCopy, _ reasons: [String],
    _ values: [StoredValue]?
  ) throws {
    var reasons = reasons + (try losses(of: &row, copy, table))
    guard row.key.map(copy.shift.hasRoom(for:)) ?? false else {
      copy.rejectedCount += 1
      reasons.append(
        "its key is below 1 or too high; rows of several old tables need separate ranges of keys")
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
      guard try takes(&row, copy) else {
        copy.passedOverCount += 1
        return
      }
      reasons.append(try missingValue(&row, copy))
    } catch let error as SQLiteWriterError where error.code == .constraint {
      reasons.append("another row has the same key or the same unique values: \(error.message)")
    }
    copy.rejectedCount += 1
    try reject(
      values ?? row.values(), of: row, copy.sourceEntity, reasons.joined(separator: "; "), table)
  }

  /// Writes a row into its new table. Returns whether the row was written, lacks a required value, or must be inserted
  /// later.
  private func write<SomeRow: Row & ~Copyable>(
    _ row: inout SomeRow, _ copy: EntityCopy, _ table: TableCopy
  ) throws -> FilledTables.Outcome {
    if let filling, filling.fills(table) { return try filling.add(row, copy, table) }
    try run(copy.insert, &row, copy.inlinedColumns)
    return writer.changeCount == 0 ? .incomplete : .written
  }

  /// Keeps a row until the tables are filled. Throws when too many rows are waiting, which happens only with a damaged
  /// store.
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
          "the rows of \(copy.sourceEntity) are out of order, or SQLite would not store them in "
            + "this way, so the store is damaged; use lifeboat salvage"
        ])
    }
    waiting.append(
      (
        ValueRow(stored, keyColumn: table.keyColumn, storePath: storePath), copy, table,
        reasons, values
      ))
  }

  /// Completes the tables that were filled page by page, and then inserts the rows that had to wait.
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

  /// Returns sentences about the values of an old row that are left out because the new row cannot store them.
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
            "left out, because the new type cannot hold the value: "
              + "\(lost.map { properties[$0] }.joined(separator: ", "))"
          )
        }
      }
    }
    for column in copy.inlinedColumns.sorted() {
      guard let name = row.externalName(column) else { continue }
      let blob = ExternalBlob(identifier: name, storePath: storePath)
      guard blob.rowBytes == nil else { continue }
      let why = blob.sizeBytes == nil ? "cannot be read" : "is too large for a row"
      reasons.append(
        "left out, because the external file \(name) \(why): \(names([column], table))")
    }
    return reasons
  }

  /// Sets the references and links of the new rows that were made from the old row `row`. Called for each old row in a
  /// second pass, after all new rows are inserted. A mapping that rejected the row, or that does not take it, has made
  /// no new row and is skipped.
  func update<SomeRow: Row & ~Copyable>(
    _ row: inout SomeRow, entityNumber: Int64?, _ table: TableCopy
  ) throws {
    var place = 0
    if isRecovered {
      place = updatedCounts[table.table, default: 0]
      updatedCounts[table.table] = place + 1
    }
    guard let number = entityNumber, let copies = table.entities[number], row.key != nil else {
      return
    }
    for rule in table.rules where !row.fits(rule) { row.leaveOut(rule.column) }
    for copy in copies
    where !copy.updates.isEmpty && rejected[ObjectIdentifier(copy)]?.contains(place) != true {
      guard try takes(&row, copy) else { continue }
      for update in copy.updates { try run(update, &row, []) }
    }
  }

  func link<SomeRow: Row & ~Copyable>(_ row: inout SomeRow, _ join: JoinCopy) throws {
    guard hasKeys(row, join.keys) else {
      if join.countsBroken { brokenLinks[join.relationship, default: 0] += 1 }
      return
    }
    leaveOutMisfits(&row, join.orders)
    try run(join.statement, &row, [])
  }

  /// Replaces the values of `row` in `columns` with NULL, unless they are integers.
  private func leaveOutMisfits<SomeRow: Row & ~Copyable>(_ row: inout SomeRow, _ columns: [Int]) {
    for column in columns
    where !row.fits(RecordCopy.Rule(column: column, classes: .integer, length: nil)) {
      row.leaveOut(column)
    }
  }

  /// Copies a row into a staged table (``StagedTable``), so that its values can be looked up while other rows are made.
  /// A value that Core Data never stores in its column becomes NULL. Returns the number of these values.
  func stage<SomeRow: Row & ~Copyable>(
    _ row: inout SomeRow, _ table: StagedTable, by filling: RowStatement
  ) throws -> Int {
    var count = 0
    for rule in table.rules where table.columns.contains(rule.column) && !row.fits(rule) {
      row.leaveOut(rule.column)
      count += 1
    }
    try run(filling, &row, [])
    return count
  }

  /// Reports that `count` values of a staged table were replaced with NULL, because Core Data never stores such values
  /// in their columns.
  func tellMisfits(_ count: Int, of table: StagedTable) {
    guard count > 0 else { return }
    broken.append(
      "\(counted(count, "value")) of \(table.table) that key paths lead to \(count == 1 ? "is" : "are") left out, because Core Data never stores such values there"
    )
  }

  /// Copies a row that stores a link into the helper table of `links`. A row without usable keys for both ends is left
  /// out. The exception is a damaged store whose links are in a column: there, a row without a usable key for the other
  /// end is copied too. A later row with the same key is then ignored, including its link.
  func stage<SomeRow: Row & ~Copyable>(
    _ row: inout SomeRow, _ links: StagedLinks, by filling: RowStatement
  ) throws {
    let orders = [links.order, links.backOrder].compactMap { $0 }
    if isRecovered, let keys = links.keys {
      guard hasKeys(row, [keys == .near ? links.near : links.far]) else { return }
      leaveOutMisfits(&row, [links.near, links.far] + orders)
      return try run(filling, &row, [])
    }
    guard hasKeys(row, [links.near, links.far]) else {
      if let relationship = links.relationship { brokenLinks[relationship, default: 0] += 1 }
      return
    }
    leaveOutMisfits(&row, orders)
    try run(filling, &row, [])
  }

  private func hasKeys<SomeRow: Row & ~Copyable>(_ row: borrowing SomeRow, _ columns: [Int]) -> Bool
  {
    for column in columns
    where row.isNull(column)
      || !row.fits(RecordCopy.Rule(column: column, classes: .integer, length: nil))
    {
      return false
    }
    return true
  }

  /// Reports each row of a join table that lacks a usable key. Such a row counts as a reference that was cut.
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
    throws -> String
  {
    var missing: [String] = []
    if filling != nil {
      // SQL cannot run while tables are filled page by page. In these tables, a new row has the values of the old row
      // unchanged.
      let values = row.values()
      missing = copy.demands.filter { demand in
        guard let column = demand.column, column < values.count else { return true }
        return values[column] == .null
      }.map(\.property)
    } else if let lacks = copy.lacks {
      let prepared = try lacks.statement(in: writer)
      try row.bind(prepared, lacks.columns, copy.inlinedColumns)
      defer { prepared.reset() }
      if try prepared.step() {
        missing = copy.demands.indices.filter { prepared.integer(at: $0) == 1 }
          .map { copy.demands[$0].property }
      }
    }
    return
      "the row lacks a value that the model requires and gives no default for: "
      + "\(missing.joined(separator: ", ")) of \(copy.destinationEntity)"
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
  /// The approximate size of the value in memory, in bytes.
  fileprivate var byteCount: Int {
    switch self {
    case .null, .integer, .real: 16
    case .text(let text): 32 + text.utf8.count
    case .blob(let bytes): 32 + bytes.count
    }
  }
}
