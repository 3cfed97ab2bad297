import CoreDataStore
import ObjectModel
import RowText
import SQLiteFile
import SQLiteWriter

/// A table that rows are inserted into.
final class InsertTarget {
  let name: String
  let statement: SQLiteStatement
  var rowCount = 0

  init(_ name: String, _ statement: SQLiteStatement) {
    self.name = name
    self.statement = statement
  }
}

/// Inserts the rows of a table of entities, straight from their records.
final class InsertedRows: RecordReceiver {
  /// Makes and holds the tables that rows go to.
  struct Targets {
    /// By entity number; nil for an entity that is not wanted.
    let entities: [Int64: InsertTarget]
    /// Makes the table for rows whose key another row of the entity has, which damage can cause.
    let makeRepeated: (_ number: Int64) throws -> InsertTarget
    /// Makes the table for rows of unknown entities; nil when they are not wanted.
    let makeUnknown: (() throws -> InsertTarget)?
    /// For links of many-to-many relationships: entity, key, relationship, destination's entity and key, position.
    let links: SQLiteStatement
    /// For external files that cannot be read: entity, key, property, file, problem.
    let missing: SQLiteStatement
  }

  private let plan: RowPlan
  private let targets: Targets
  private let limit: Int?
  private let noteExternal: (_ file: String, _ entity: String) -> Void
  private let renderings: [Int64: EntityRendering]
  private let unknownRendering: EntityRendering
  private var sink: BindingSink
  private var unknownNumbers: [Int64: Int] = [:]
  private var failure: (any Error)?
  /// Rows with a key that another row has, by entity number.
  private(set) var repeated: [Int64: InsertTarget] = [:]
  /// Rows of unknown entities.
  private(set) var unknown: InsertTarget?

  init(
    _ plan: RowPlan, of store: CoreDataStore, into targets: Targets, limit: Int?,
    noteExternal: @escaping (_ file: String, _ entity: String) -> Void
  ) {
    self.plan = plan
    self.targets = targets
    self.limit = limit
    self.noteExternal = noteExternal
    renderings = plan.entities.mapValues { EntityRendering($0, plan, store.entityNames) }
    unknownRendering = EntityRendering(unknownEntitiesOf: plan)
    sink = BindingSink(store.entityNames, storePath: store.database.path)
  }

  /// Inserts the rows of the table. What is wrong with them is among the store's findings.
  func read(from store: CoreDataStore) throws {
    let result = Result { try store.database.read(plan.table, by: self) }
    store.note(unknownNumbers, in: plan.table)
    if let failure { throw failure }
    try result.get()
  }

  // MARK: - Receiving

  var wantsMore: Bool { failure == nil }

  func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect? {
    if let defect = decoder.open(record) { return defect }
    let number = plan.entityNumber(of: record, rowID: rowID, layout, decoder)
    do {
      if let number, let rendering = renderings[number] {
        try insert(record, rowID, number, rendering, &decoder)
      } else {
        unknownNumbers[number ?? -1, default: 0] += 1
        try insertUnknown(record, rowID, number, &decoder)
      }
    } catch {
      failure = error
    }
    return nil
  }

  private func insert(
    _ record: RawSpan, _ rowID: Int64?, _ number: Int64, _ rendering: EntityRendering,
    _ decoder: inout RecordDecoder
  ) throws {
    guard let target = targets.entities[number], limit.map({ target.rowCount < $0 }) ?? true else {
      return sink.skip(record, rowID, rendering, &decoder)
    }
    sink.bind(record, rowID, rendering, to: RowBinding(target.statement), &decoder)
    do throws(SQLiteWriterError) {
      try sink.run()
      target.rowCount += 1
    } catch {
      guard error.code == .constraint else { throw error }
      let other = try repeated[number] ?? targets.makeRepeated(number)
      repeated[number] = other
      sink.bind(record, rowID, rendering, to: RowBinding(other.statement), &decoder)
      try sink.run()
      other.rowCount += 1
    }
    try insertCompanions(of: number)
  }

  private func insertUnknown(
    _ record: RawSpan, _ rowID: Int64?, _ number: Int64?, _ decoder: inout RecordDecoder
  ) throws {
    guard let make = targets.makeUnknown, limit.map({ unknown?.rowCount ?? 0 < $0 }) ?? true else {
      return sink.skip(record, rowID, unknownRendering, &decoder)
    }
    let target = try unknown ?? make()
    unknown = target
    var binding = RowBinding(target.statement)
    if let number { binding.integer(number) } else { binding.null() }
    sink.bind(record, rowID, unknownRendering, to: binding, &decoder)
    try sink.run()
    for (_, blob) in sink.externals { noteExternal(blob.identifier, plan.table.name) }
    target.rowCount += 1
  }

  /// Inserts the links of a row, and the external files that cannot be read.
  private func insertCompanions(of number: Int64) throws {
    guard let entity = plan.entities[number] else { return }
    for (property, blob) in sink.externals {
      noteExternal(blob.identifier, entity.name)
      guard blob.sizeBytes == nil else { continue }
      try targets.missing.run([
        .string(entity.name), .integer(sink.key), .string(property), .string(blob.identifier),
        blob.unreadable.map { .string($0) } ?? .null,
      ])
    }
    for link in entity.links {
      for (index, key) in link.destinations.destinations(of: sink.key).enumerated() {
        try targets.links.run([
          .string(entity.name), .integer(sink.key), .string(link.name),
          .string(link.destinationName), .integer(key), .integer(Int64(index)),
        ])
      }
    }
  }
}

/// Binds the values of an entity's row to the parameters of a statement. A to-one relationship takes two, the key and
/// the entity of its destination.
private struct BindingSink: RowSink, ~Copyable {
  private let entityNames: [Int64: String]
  private let storePath: String
  private var binding: RowBinding?
  private var rendering: EntityRendering?
  private var roles: ContiguousArray<EntityRendering.Column> = []
  private var rowID: Int64?
  private var column = 0
  private var destinationEntity: Int64?
  /// Holds a date or a UUID while it is rendered as text.
  private var text = OutputBuffer(capacity: 256)
  /// The key of the row.
  private(set) var key: Int64 = 0
  /// The external files that the row names, each with its property.
  private(set) var externals: [(property: String, blob: ExternalBlob)] = []

  let wantsMore = true

  init(_ entityNames: [Int64: String], storePath: String) {
    self.entityNames = entityNames
    self.storePath = storePath
  }

  /// Binds the values of a record that the decoder has opened.
  mutating func bind(
    _ record: RawSpan, _ rowID: Int64?, _ rendering: EntityRendering, to binding: RowBinding,
    _ decoder: inout RecordDecoder
  ) {
    if self.rendering !== rendering {
      self.rendering = rendering
      roles = rendering.roles
    }
    self.binding = binding
    externals.removeAll(keepingCapacity: true)
    decoder.emit(record, rowID: rowID, layout: rendering.layout, into: &self)
  }

  /// Skips a row. The decoder still counts what is odd about its record.
  mutating func skip(
    _ record: RawSpan, _ rowID: Int64?, _ rendering: EntityRendering,
    _ decoder: inout RecordDecoder
  ) {
    roles = []
    self.rendering = nil
    decoder.emit(record, rowID: rowID, layout: rendering.layout, into: &self)
  }

  /// Runs the statement with the values that were bound.
  func run() throws(SQLiteWriterError) { try binding?.run() }

  // MARK: - Values

  mutating func beginRow(_ rowID: Int64?) {
    self.rowID = rowID
    column = 0
    destinationEntity = nil
  }

  mutating func endRow() {}

  /// The role of the next value; nil for one that is not bound as it comes. `key` is the value if it is an integer.
  private mutating func next(key: Int64?) -> EntityRendering.Column? {
    guard column < roles.count else { return nil }
    let next = roles[column]
    column &+= 1
    switch next.role {
    case .key:
      self.key = key ?? rowID ?? 0
      binding?.integer(self.key)
      return nil
    case .destinationEntity:
      destinationEntity = key
      return nil
    default: return next
    }
  }

  /// The property of the value that came last.
  private var field: RowPlan.Field? { rendering?.fields[column - 1] }

  /// Binds the entity of a destination after its key; NULL where there is no key.
  private mutating func finish(_ column: EntityRendering.Column, hasKey: Bool = false) {
    let number = destinationEntity
    destinationEntity = nil
    guard column.role == .toOne else { return }
    guard hasKey, case .toOne(let destination, _)? = field?.kind else {
      binding?.null()
      return
    }
    binding?.string(number.flatMap { entityNames[$0] } ?? destination)
  }

  mutating func null() {
    guard let column = next(key: nil) else { return }
    binding?.null()
    finish(column)
  }

  mutating func integer(_ value: Int64) {
    guard let column = next(key: value) else { return }
    if column.role == .date {
      bind(date: Double(value))
    } else if column.role == .number, let exact = Double(exactly: value) {
      // Beyond 2^53 a float would round.
      binding?.real(exact)
    } else {
      binding?.integer(value)
    }
    finish(column, hasKey: true)
  }

  mutating func real(_ value: Double) {
    guard let column = next(key: nil) else { return }
    if column.role == .date { bind(date: value) } else { binding?.real(value) }
    finish(column)
  }

  mutating func text(_ bytes: RawSpan) {
    guard let column = next(key: nil) else { return }
    binding?.text(bytes)
    finish(column)
  }

  mutating func blob(_ bytes: RawSpan) {
    guard let column = next(key: nil) else { return }
    if column.role == .uuid, bytes.byteCount == 16 {
      text.append(uuid: bytes)
      text.drain { binding?.text($0) }
    } else if column.mayBeExternal, bytes.byteCount == 38,
      let name = ExternalBlob.identifier(in: bytes.array())
    {
      bind(ExternalBlob(identifier: name, storePath: storePath))
    } else if column.mayBeExternal, bytes.byteCount > 0, bytes.byte(at: 0) == 1 {
      // The first byte says that the value is in the row itself.
      binding?.blob(bytes.part(1, bytes.byteCount - 1))
    } else {
      binding?.blob(bytes)
    }
    finish(column)
  }

  private mutating func bind(date seconds: Double) {
    guard let moment = ReferenceDate(seconds: seconds).moment else {
      binding?.real(seconds)
      return
    }
    text.append(iso8601: moment)
    text.drain { binding?.text($0) }
  }

  /// Binds the content of an external file; NULL where it is missing, cannot be read, or is too large for a value.
  private mutating func bind(_ external: ExternalBlob) {
    if let field { externals.append((field.name, external)) }
    guard let size = external.sizeBytes, size <= SQLiteExport.maxValueBytes,
      let content = try? ByteFile(external.path).bytes(at: 0, count: Int(size))
    else {
      binding?.null()
      return
    }
    binding?.blob(ContiguousArray(content).rawSpan)
  }
}

/// Inserts the rows of a table as SQLite stores them, straight from their records.
final class InsertedTable: RecordReceiver {
  private var sink: StoredSink
  private let limit: Int
  private var failure: SQLiteWriterError?
  private(set) var rowCount = 0

  /// - Parameters:
  ///   - statement: an INSERT with a parameter for each column.
  ///   - names: the names of all columns.
  ///   - folds: whether the last parameter is for all values that have no parameter of their own, as JSON.
  ///   - limit: the most rows; nil for all.
  init(_ statement: SQLiteStatement, _ names: [String], folds: Bool, limit: Int?) {
    sink = StoredSink(statement, names, folds: folds)
    self.limit = limit ?? .max
  }

  func read(_ table: Table, of database: SQLiteDatabase) throws {
    let result = Result { try database.read(table, by: self) }
    if let failure { throw failure }
    try result.get()
  }

  var wantsMore: Bool { failure == nil && rowCount < limit }

  func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect? {
    if let defect = sink.take(record, rowID: rowID, layout, &decoder) { return defect }
    do throws(SQLiteWriterError) {
      try sink.run()
      rowCount += 1
    } catch {
      failure = error
    }
    return nil
  }
}

/// Binds the values of a row as they are stored.
private struct StoredSink: RowSink {
  private let statement: SQLiteStatement
  private let names: [String]
  private let folds: Bool
  /// How many values have a parameter of their own.
  private let ownCount: Int
  private var binding: RowBinding
  private var column = 0
  /// The values that have none.
  private var others: [SQLiteValue] = []

  let wantsMore = true

  init(_ statement: SQLiteStatement, _ names: [String], folds: Bool) {
    self.statement = statement
    self.names = names
    self.folds = folds
    ownCount = statement.parameterCount - (folds ? 1 : 0)
    binding = RowBinding(statement)
  }

  func run() throws(SQLiteWriterError) { try binding.run() }

  mutating func beginRow(_ rowID: Int64?) {
    binding = RowBinding(statement)
    column = 0
    others.removeAll(keepingCapacity: true)
  }

  mutating func endRow() {
    while column < ownCount { null() }
    guard folds else { return }
    let all = Array(repeating: SQLiteValue.null, count: ownCount) + others
    if let json = OverflowColumns.json(of: all, from: ownCount, names: names) {
      binding.text(ContiguousArray(json).rawSpan)
    } else {
      binding.null()
    }
  }

  /// Moves on to the next value; false when it has no parameter of its own.
  private mutating func next() -> Bool {
    column &+= 1
    return column <= ownCount
  }

  mutating func null() {
    if next() { binding.null() } else { others.append(.null) }
  }
  mutating func integer(_ value: Int64) {
    if next() { binding.integer(value) } else { others.append(.integer(value)) }
  }
  mutating func real(_ value: Double) {
    if next() { binding.real(value) } else { others.append(.real(value)) }
  }
  mutating func text(_ bytes: RawSpan) {
    if next() { binding.text(bytes) } else { others.append(.text(bytes.array())) }
  }
  mutating func blob(_ bytes: RawSpan) {
    if next() { binding.blob(bytes) } else { others.append(.blob(bytes.array())) }
  }
}
