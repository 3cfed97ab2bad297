import CoreDataStore
import ObjectModel
import RowText
import SQLiteFile
import SQLiteWriter

/// Makes the records that an export writes into the tables of entities, directly from the records of the store. A
/// record's `target` is the number of the record's table in ``ExportTables``.
final class EntityRecords: RecordMaker {
  /// The tables of an export to which rows are written, given by their numbers in ``ExportTables``.
  struct Targets {
    /// For each wanted entity, by entity number: the number of the table for its rows.
    var entities: [Int64: Int] = [:]
    /// The number of the table for rows of unknown entities; nil when such rows are not exported.
    var unknown: Int?
    /// The number of the table that gets the links of many-to-many relationships. Its columns are: entity, key,
    /// relationship, entity of the destination, key of the destination, position.
    let links: Int
    /// The table for external files that cannot be read. Its columns are: entity, key, property, file, problem.
    let missing: Int
  }

  private let plan: RowPlan
  private let targets: Targets
  private let limit: Int?
  private let entityNames: [Int64: String]
  private let storePath: String
  private let renderings: [Int64: EntityRendering]
  private let unknownRendering: EntityRendering
  private var sink: EntitySink
  private var others = RecordBytes()
  /// The number of rows that each table of the export has received. Rows are counted only if the export has a row
  /// limit.
  private var counts: [Int: Int] = [:]
  /// The number of rows of unknown entities, by entity number; nil stands for rows without an entity number.
  private(set) var unknownNumbers: [Int64?: Int] = [:]
  /// The external files that the rows name, each with the entity or table of its row. Filled only in a maker on another
  /// thread, which cannot call `noteExternal`.
  private var externals: [(file: String, entity: String)] = []
  /// Called with each external file that a row names. Nil in a copy of this object for another thread, which collects
  /// the files in ``externals``.
  private let noteExternal: ((_ file: String, _ entity: String) -> Void)?

  init(
    _ plan: RowPlan, of store: CoreDataStore, to targets: Targets, limit: Int?,
    noteExternal: @escaping (_ file: String, _ entity: String) -> Void
  ) {
    self.plan = plan
    self.targets = targets
    self.limit = limit
    self.noteExternal = noteExternal
    entityNames = store.entityNames
    storePath = store.database.path
    renderings = plan.entities.mapValues { EntityRendering($0, plan, store.entityNames) }
    unknownRendering = EntityRendering(unknownEntitiesOf: plan)
    sink = EntitySink(entityNames, storePath: storePath)
  }

  private init(like other: EntityRecords) {
    plan = other.plan
    targets = other.targets
    limit = nil
    noteExternal = nil
    entityNames = other.entityNames
    storePath = other.storePath
    renderings = other.renderings
    unknownRendering = other.unknownRendering
    sink = EntitySink(entityNames, storePath: storePath)
  }

  // A limit requires that a single maker counts all rows.
  var takesBlocks: Bool { limit == nil }

  func another() -> any RecordMaker { EntityRecords(like: self) }

  func take(from other: any RecordMaker) {
    guard let other = other as? EntityRecords else { return }
    unknownNumbers.merge(other.unknownNumbers, uniquingKeysWith: +)
    for external in other.externals { noteExternal?(external.file, external.entity) }
    other.unknownNumbers = [:]
    other.externals = []
  }

  func make(
    _ record: RawSpan, _ rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder, into batch: inout MadeRecords.Batch
  ) {
    let number = plan.entityNumber(of: record, rowID: rowID, layout, decoder)
    let known = number.flatMap { renderings[$0] }
    if known == nil { unknownNumbers[number, default: 0] += 1 }
    let rendering = known ?? unknownRendering
    let target = known == nil ? targets.unknown : number.flatMap { targets.entities[$0] }
    guard let target, hasRoom(in: target) else {
      // The record is decoded even if its row is not wanted, because the decoder counts the defects that it finds.
      var nothing = NoSink()
      return decoder.emit(record, rowID: rowID, layout: rendering.layout, into: &nothing)
    }
    sink.begin(rendering, unknownEntity: known == nil ? .some(number) : nil)
    decoder.emit(record, rowID: rowID, layout: rendering.layout, into: &sink)
    batch.add(sink.record, to: target, rowID: known == nil ? nil : sink.key)
    let entity = number.flatMap { plan.entities[$0] }
    for (property, blob) in sink.externals {
      note(blob.identifier, of: entity?.name ?? plan.table.name)
      guard let entity, blob.sizeBytes == nil else { continue }
      batch.add(to: targets.missing, &others) { values in
        values.append(text: entity.name)
        values.append(integer: sink.key)
        values.append(text: property)
        values.append(text: blob.identifier)
        if let reason = blob.unreadable { values.append(text: reason) } else { values.appendNull() }
      }
    }
    for link in entity?.links ?? [] {
      for (position, key) in link.destinations.destinations(of: sink.key).enumerated() {
        batch.add(to: targets.links, &others) { values in
          values.append(text: entity?.name ?? "")
          values.append(integer: sink.key)
          values.append(text: link.name)
          values.append(text: link.destinationName)
          values.append(integer: key)
          values.append(integer: Int64(position))
        }
      }
    }
  }

  private func hasRoom(in target: Int) -> Bool {
    guard let limit else { return true }
    let count = counts[target, default: 0]
    guard count < limit else { return false }
    counts[target] = count + 1
    return true
  }

  private func note(_ file: String, of entity: String) {
    if let noteExternal { noteExternal(file, entity) } else { externals.append((file, entity)) }
  }
}

extension MadeRecords.Batch {
  fileprivate mutating func add(_ record: borrowing RecordBytes, to target: Int, rowID: Int64?) {
    let range = record.append(to: &bytes)
    rows.append(Row(rowID: rowID, target: Int64(target), old: range, new: range))
  }

  fileprivate mutating func add(
    to target: Int, _ scratch: inout RecordBytes, _ write: (inout RecordBytes) -> Void
  ) {
    scratch.removeAll()
    write(&scratch)
    add(scratch, to: target, rowID: nil)
  }
}

/// Makes the record of an entity's row. The value of a to-one relationship becomes two values in the record: the key
/// and the entity of the destination.
private struct EntitySink: PropertySink, ~Copyable {
  private let entityNames: [Int64: String]
  private let storePath: String
  private var rendering: EntityRendering?
  private var roles: ContiguousArray<EntityRendering.Column> = []
  private(set) var record = RecordBytes()
  private var rowID: Int64?
  private var column = 0
  private var destinationEntity: Int64?
  private var isUnknown = false
  /// A buffer in which the text of a date or UUID is made.
  private var text = OutputBuffer(capacity: 256)
  private(set) var key: Int64 = 0
  /// The external files that the row names. Each holds the value of the property `property`.
  private(set) var externals: [(property: String, blob: ExternalBlob)] = []

  let wantsMore = true

  init(_ entityNames: [Int64: String], storePath: String) {
    self.entityNames = entityNames
    self.storePath = storePath
  }

  /// Prepares for the next row. `unknownEntity`: the row's entity number if no entity is known for it, otherwise nil.
  /// For such a number, the record begins with the number and the primary key; NULL stands for a number that the row
  /// lacks.
  mutating func begin(_ rendering: EntityRendering, unknownEntity: Int64??) {
    if self.rendering !== rendering {
      self.rendering = rendering
      roles = rendering.roles
    }
    record.removeAll()
    if !externals.isEmpty { externals.removeAll() }
    isUnknown = unknownEntity != nil
    guard let unknownEntity else { return }
    if let unknownEntity { record.append(integer: unknownEntity) } else { record.appendNull() }
  }

  // MARK: - Values

  mutating func beginRow(_ rowID: Int64?) {
    self.rowID = rowID
    column = 0
    destinationEntity = nil
  }

  mutating func endRow() {}

  mutating func next(key: Int64?) -> EntityRendering.Column? {
    guard column < roles.count else { return nil }
    let next = roles[column]
    column &+= 1
    switch next.role {
    case .key:
      self.key = key ?? rowID ?? 0
      // A key that is the row id is not stored in the record (file format, section 2.3).
      if isUnknown { record.append(integer: self.key) } else { record.appendNull() }
      return nil
    case .destinationEntity:
      destinationEntity = key
      return nil
    default: return next
    }
  }

  /// The property of the value that was received last.
  private var field: RowPlan.Field? { rendering?.fields[column - 1] }

  /// Appends the name of the destination's entity in the column after the key of a to-one relationship. Appends NULL if
  /// the relationship has no key.
  mutating func end(_ column: EntityRendering.Column, isInteger: Bool) {
    guard column.role == .toOne else { return }
    let number = destinationEntity
    destinationEntity = nil
    guard isInteger, case .toOne(let destination, _)? = field?.kind else {
      return record.appendNull()
    }
    record.append(text: number.flatMap { entityNames[$0] } ?? destination)
  }

  mutating func appendNull() { record.appendNull() }

  mutating func append(integer value: Int64, _: EntityRendering.Column) {
    record.append(integer: value)
  }

  mutating func append(real value: Double, _: EntityRendering.Column) { record.append(real: value) }

  mutating func append(text bytes: RawSpan, _: EntityRendering.Column) {
    record.append(bytes, isText: true)
  }

  mutating func append(uuid bytes: RawSpan, _: EntityRendering.Column) {
    text.append(uuid: bytes)
    text.drain { record.append($0, isText: true) }
  }

  mutating func append(binary bytes: RawSpan, _: EntityRendering.Column) {
    record.append(bytes, isText: false)
  }

  mutating func append(date seconds: Double, _: EntityRendering.Column) {
    guard let moment = ReferenceDate(seconds: seconds).moment else {
      return record.append(real: seconds)
    }
    text.append(iso8601: moment)
    text.drain { record.append($0, isText: true) }
  }

  /// Appends the content of an external file. Appends NULL if the file is missing, cannot be read, or is too large for
  /// a value.
  mutating func append(external file: String, _: EntityRendering.Column) {
    let external = ExternalBlob(identifier: file, storePath: storePath)
    if let field { externals.append((field.name, external)) }
    guard let size = external.sizeBytes, size <= SQLiteExport.maxValueBytes,
      let content = try? ByteFile(external.path).bytes(at: 0, count: Int(size))
    else { return record.appendNull() }
    record.append(content[...], isText: false)
  }
}

/// Makes the records of an export for a table whose values are written as they are stored.
final class TableRecords: RecordMaker {
  private var sink: StoredSink
  private let target: Int
  private let limit: Int?
  private var count = 0

  /// Prepares to make the records of a new table from those of an old table.
  ///
  /// `names`: the names of the old table's columns.
  /// `ownCount`: the number of the old table's first columns that are also columns of the new table. The new table
  /// stores the values of all later columns in one additional column, as JSON.
  /// `target`: the number of the new table.
  /// `limit`: the maximum number of rows; nil for all.
  init(_ names: [String], ownCount: Int, to target: Int, limit: Int?) {
    sink = StoredSink(names, ownCount: ownCount)
    self.target = target
    self.limit = limit
  }

  // A limit requires that a single maker counts all rows.
  var takesBlocks: Bool { limit == nil }

  var wantsMore: Bool { limit.map { count < $0 } ?? true }

  func another() -> any RecordMaker {
    TableRecords(sink.names, ownCount: sink.ownCount, to: target, limit: nil)
  }

  func make(
    _ record: RawSpan, _ rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder, into batch: inout MadeRecords.Batch
  ) {
    guard wantsMore else { return }
    count += 1
    decoder.emit(record, rowID: rowID, layout: layout, into: &sink)
    batch.add(sink.record, to: target, rowID: rowID)
  }
}

/// Makes a record from the values of a row, each unchanged as it is stored.
private struct StoredSink: RowSink {
  let names: [String]
  /// The number of values that have a column of their own.
  let ownCount: Int
  private(set) var record = RecordBytes()
  private var column = 0
  /// The values of the current row that follow the first ``ownCount`` values. They share one column, as JSON.
  private var others: [SQLiteValue] = []

  let wantsMore = true

  init(_ names: [String], ownCount: Int) {
    self.names = names
    self.ownCount = ownCount
  }

  mutating func beginRow(_ rowID: Int64?) {
    record.removeAll()
    column = 0
    if !others.isEmpty { others.removeAll() }
  }

  mutating func endRow() {
    while column < ownCount { null() }
    guard ownCount < names.count else { return }
    if let json = OverflowColumns.json(of: others, from: ownCount, names: names) {
      record.append(json[...], isText: true)
    } else {
      record.appendNull()
    }
  }

  /// Moves on to the next column. Returns false if the new table has no column of its own for this value.
  private mutating func next() -> Bool {
    column &+= 1
    return column <= ownCount
  }

  mutating func null() {
    if next() { record.appendNull() } else { others.append(.null) }
  }
  mutating func integer(_ value: Int64) {
    if next() { record.append(integer: value) } else { others.append(.integer(value)) }
  }
  mutating func real(_ value: Double) {
    if next() { record.append(real: value) } else { others.append(.real(value)) }
  }
  mutating func text(_ bytes: RawSpan) {
    if next() { record.append(bytes, isText: true) } else { others.append(.text(bytes.array())) }
  }
  mutating func blob(_ bytes: RawSpan) {
    if next() { record.append(bytes, isText: false) } else { others.append(.blob(bytes.array())) }
  }
}
