import CoreDataStore
import ModelTools
import ObjectModel
import SQLiteFile
import SQLiteWriter

/// An SQL statement, and the columns of an old row whose values its parameters take: `?1` takes the first of them.
final class RowStatement {
  let sql: String
  let columns: [Int]
  /// The statement as prepared for the new file; nil before the first row.
  private var prepared: SQLiteStatement?

  init(sql: String, columns: [Int]) {
    self.sql = sql
    self.columns = columns
  }

  /// The prepared statement. It is prepared at the first call, and kept.
  func statement(in writer: SQLiteWriter) throws -> SQLiteStatement {
    if let prepared { return prepared }
    let made = try writer.prepare(sql)
    prepared = made
    return made
  }

  /// Finalizes the prepared statement. No statement may be open when the file is completed.
  func finish() {
    prepared?.finalize()
    prepared = nil
  }
}

/// How the rows of one old entity are copied under one entity mapping, with counts of the rows that were copied.
final class EntityCopy {
  let mappingName: String
  let sourceEntity: String
  let destinationEntity: String
  /// How the key of an old row becomes the key of the new row.
  let shift: KeyShift
  /// Inserts a row. Changes nothing when the row lacks a value that the new model requires, or when the mapping does
  /// not take the row.
  let insert: RowStatement
  /// Whether the mapping takes only some objects: those for which its predicate holds.
  let isFiltered: Bool
  /// Finds the values of a row that the new types cannot hold: each column of the result is 1 when the value of the
  /// property at the same place is lost. Nil when the new types hold all values.
  let losses: (statement: RowStatement, properties: [String])?
  /// Statements that run after a row is inserted: they write the links that its columns hold into join tables.
  var links: [RowStatement] = []
  /// Statements that run in a second pass, after all rows are inserted.
  var updates: [RowStatement]
  /// The new properties that must have a value, each with the index of the old column that it comes from; nil when the
  /// value does not come from a column. Properties that never lack a value are left out.
  let demands: [(property: String, column: Int?)]
  /// Finds the demanded values that a row lacks: each column of the result is 1 when the property at the same place in
  /// ``demands`` has no value. Nil when no value is demanded.
  let lacks: RowStatement?
  /// Indexes of the old columns whose external files the new row refers to as well.
  let externalColumns: Set<Int>
  /// Indexes of the old columns whose external files are read into the new row, because the new attribute does not
  /// allow external storage.
  let inlinedColumns: Set<Int>
  /// The name of the policy class that carries the mapping out; nil for a mapping that SQL carries out alone.
  let policyClass: String?
  /// A statement whose first column says whether the mapping takes a row; nil when it takes all rows.
  let selection: RowStatement?
  /// The properties whose values functions of the policy class compute, each with the expression that calls one.
  let policyValues: [(property: String, expression: ModelExpression)]
  /// How the new row is put together without SQL; nil when SQL is needed.
  let plain: PlainRow?
  /// How many rows were written, how many of these lack damaged values, and how many rows were rejected.
  var writtenCount = 0
  var incompleteCount = 0
  var rejectedCount = 0
  /// How many rows the mapping did not take.
  var passedOverCount = 0

  init(
    _ mapping: EntityMapping, from sourceEntity: String, to destinationEntity: String,
    shift: KeyShift, insert: RowStatement, isFiltered: Bool,
    losses: (statement: RowStatement, properties: [String])?, updates: [RowStatement],
    demands: [(property: String, column: Int?)], lacks: RowStatement?, externalColumns: Set<Int>,
    inlinedColumns: Set<Int>, policyClass: String?,
    selection: RowStatement?, policyValues: [(property: String, expression: ModelExpression)],
    plain: PlainRow?
  ) {
    mappingName = mapping.name
    self.sourceEntity = sourceEntity
    self.destinationEntity = destinationEntity
    self.shift = shift
    self.insert = insert
    self.isFiltered = isFiltered
    self.losses = losses
    self.updates = updates
    self.demands = demands
    self.lacks = lacks
    self.externalColumns = externalColumns
    self.inlinedColumns = inlinedColumns
    self.policyClass = policyClass
    self.selection = selection
    self.policyValues = policyValues
    self.plain = plain
  }

  /// Whether inserting a row is all that this copy does, and the row keeps its key.
  var isAlone: Bool {
    policyClass == nil && !isFiltered && losses == nil && links.isEmpty && updates.isEmpty
      && inlinedColumns.isEmpty && shift == KeyShift()
  }

  var statements: [RowStatement] {
    [insert] + links + updates + (losses.map { [$0.statement] } ?? [])
      + [lacks, selection].compactMap { $0 }
  }
}

/// What Core Data stores in a column; a value of another kind is damage.
struct ColumnRule {
  let column: Int
  let classes: StorageClasses
  /// The length of a BLOB; nil when it varies.
  let length: Int?
}

/// How the rows of a table of the old store are copied.
final class TableCopy {
  /// The name of the old table.
  let table: String
  let definition: TableDefinition
  let keyColumn: Int
  let entityColumn: Int?
  /// How the rows of each entity are copied, by entity number. An entity without a mapping has no entry.
  var entities: [Int64: [EntityCopy]] = [:]
  /// How many rows of each entity in ``entities`` were read, by entity number, without those that ``lastCount`` counts.
  private var readCounts: [Int64: Int] = [:]
  /// The entity of the last row, kept because the next row mostly has the same entity, and how many of its rows
  /// ``readCounts`` does not include yet.
  private var last: (number: Int64, copies: [EntityCopy])?
  private var lastCount = 0
  let rules: [ColumnRule]
  /// Indexes of the columns whose attributes allow external storage: a BLOB there may be the name of a file.
  let externalColumns: Set<Int>

  init(
    _ table: String, _ definition: TableDefinition, keyColumn: Int, entityColumn: Int?,
    rules: [ColumnRule], externalColumns: Set<Int>
  ) {
    self.table = table
    self.definition = definition
    self.keyColumn = keyColumn
    self.entityColumn = entityColumn
    self.rules = rules
    self.externalColumns = externalColumns
  }

  /// Counts rows of an entity, and returns how they are copied. Returns nil, and counts nothing, when no mapping takes
  /// the rows of the entity.
  func count(_ rows: Int = 1, ofEntity number: Int64) -> [EntityCopy]? {
    if let last, last.number == number {
      lastCount += rows
      return last.copies
    }
    guard let copies = entities[number] else { return nil }
    if let last { readCounts[last.number, default: 0] += lastCount }
    last = (number, copies)
    lastCount = rows
    return copies
  }

  /// How many rows of an entity were read; 0 for an entity that no mapping takes.
  func readCount(ofEntity number: Int64) -> Int {
    (readCounts[number] ?? 0) + (last?.number == number ? lastCount : 0)
  }

  var hasSecondPass: Bool { entities.values.contains { $0.contains { !$0.updates.isEmpty } } }
}

/// How the rows of a join table of the old store are copied.
struct JoinCopy {
  /// A relationship as the report names it: the new entity that has it, and its name.
  struct Relationship: Hashable {
    let entity: String
    let name: String
  }

  let table: String
  let relationship: Relationship
  /// Indexes of the columns with the keys of both ends, and of those with positions.
  let keys: [Int]
  let orders: [Int]
  let statement: RowStatement
  /// Whether the statement looks up new rows, so that it has to run after all of them are inserted.
  let isLate: Bool
}

/// A copy of some columns of an old table, which other rows read by key. It is in the new file only while rows are
/// written.
struct StagedTable {
  let table: String
  let definition: TableDefinition
  let keyColumn: Int
  /// The quoted name of the staged table in the new file.
  let name: String
  var columns: [Int] = []

  /// The SQL that creates the staged table.
  var creation: String {
    "CREATE TABLE \(name) (pk INTEGER PRIMARY KEY\(columns.indices.map { ", c\($0)" }.joined()))"
  }

  var filling: RowStatement {
    let marks = (0...columns.count).map { "?\($0 + 1)" }.joined(separator: ", ")
    return RowStatement(
      sql: "INSERT OR IGNORE INTO \(name) VALUES (\(marks))", columns: [keyColumn] + columns)
  }
}

/// A copy of the links of an old relationship. It is in the new file until the columns that need the links are set.
struct StagedLinks {
  let table: String
  let definition: TableDefinition
  /// The quoted name, in the new file, of the table with the copied links.
  let name: String
  /// Indexes of three columns of the old table: the key of the row that has the relationship, the key that it leads to,
  /// and the position; nil when there is no position.
  let near: Int
  let far: Int
  let order: Int?

  var creation: String { "CREATE TABLE \(name) (near, far, place)" }

  var filling: RowStatement {
    RowStatement(
      sql:
        "INSERT INTO \(name) SELECT ?1, ?2, \(order == nil ? "NULL" : "?3") WHERE ?1 IS NOT NULL AND ?2 IS NOT NULL",
      columns: [near, far] + (order.map { [$0] } ?? []))
  }
}

/// A reference of new rows that is set from staged links, after all rows are inserted.
struct LaterReference {
  let links: StagedLinks
  let table: String
  let column: String
  /// The number of the entity whose rows get the reference, and how the keys of these rows were shifted.
  let entityNumber: Int64
  let shift: KeyShift
  /// Whether the rows that get the reference are at the near end of the links.
  let isNear: Bool
  /// The new key of the row at the other end, as SQL over the alias `link`; NULL when the link leads to no row.
  let value: String
  let entityName: String
  let propertyName: String
  /// The column of the inverse relationship when both are to-one; else nil.
  let inverse: (table: String, column: String)?
}

/// A column of the new store whose value must be NULL or the key of a row.
struct Reference: Hashable {
  let table: String
  let column: String
  /// The column with the entity number of the destination; nil when only one entity is possible.
  let entityColumn: String?
  /// The column with the position of a row among the rows that lead to the same destination; nil when there is none.
  let orderColumn: String?
  /// Whether the model requires that the column leads to a row, and the numbers of the entities that have the column.
  let isDemanded: Bool
  let ownNumbers: [Int64]
  /// The table that the column leads to, and the numbers of the entities that its destination may have.
  let destinationTable: String
  let destinationNumbers: [Int64]
  let entityName: String
  let propertyName: String
}

/// The SQL that makes the rows of a new store from those of an old one. It is compiled once from a mapping model.
struct CopyPlan {
  var tables: [TableCopy] = []
  var joins: [JoinCopy] = []
  /// The staged tables, by the name of the old table.
  var staged: [String: StagedTable] = [:]
  /// The staged links, by their quoted names in the new file.
  var links: [String: StagedLinks] = [:]
  /// References that are set after all rows are inserted.
  var later: [LaterReference] = []
  /// Columns of one-to-one relationships that no mapping sets. The columns of the inverse relationships say, after all
  /// rows are inserted, where they lead.
  var mirrored: [CopyCompiler.Place] = []
  /// The columns to check, after all rows are inserted, for keys that lead to no row.
  var references: [Reference] = []
  /// The layout of the new store. The rows of its join tables must lead to rows at both ends.
  let destination: TableLayout
  /// The names of the old entities whose rows are left behind.
  var dropped: [String] = []
  /// Why rows are left behind although the new model has their entity: a sentence for each entity, by its name.
  var droppedReasons: [String: String] = [:]
  /// Notes for the report, one sentence each.
  var notes: [String] = []
  /// Values that are not carried over although both models have the property, one sentence each.
  var leftOut: [String] = []
  /// The columns of ordered relationships that had no order in the old store: table, key column, order column.
  var unordered: [(table: String, key: String, order: String)] = []
  /// The old table, by new table, for each new table whose rows all keep the keys of one old table. The highest key
  /// that the old table has handed out is carried over, too.
  var keptKeys: [String: String] = [:]

  /// The names of the entity mappings, in the order of the mapping model.
  var mappingNames: [String] = []

  /// The names of the tables that the old model has, in capitals.
  var oldTables: Set<String> = []

  /// Whether a table, whose name is given in capitals, belongs to the old model.
  func isOld(table: String) -> Bool { oldTables.contains(table) }

  /// Whether policy classes of the app carry out any of the mappings.
  var hasPolicies: Bool {
    tables.contains { $0.entities.values.contains { $0.contains { $0.policyClass != nil } } }
  }

  /// All statements of the plan that may be open.
  var statements: [RowStatement] {
    tables.flatMap { $0.entities.values.flatMap { $0.flatMap(\.statements) } }
      + joins.map(\.statement)
  }
}

/// The tables of the old store, as its model and its schema describe them.
struct SourceTables {
  let layout: TableLayout
  /// The names of the old entities, by entity number.
  let entityNames: [Int64: String]
  private let definitions: [SQLName: (name: String, definition: TableDefinition)]

  init(
    _ layout: TableLayout, entityNames: [Int64: String],
    _ tables: [(name: String, definition: TableDefinition)]
  ) {
    self.layout = layout
    self.entityNames = entityNames
    definitions = Dictionary(
      tables.map { (SQLName($0.name), $0) }, uniquingKeysWith: { first, _ in first })
  }

  var model: ManagedObjectModel { layout.model }

  func table(named name: String) -> (name: String, definition: TableDefinition)? {
    definitions[SQLName(name)]
  }

  /// The index of a column in a table of the old store; nil when there is no such column.
  func column(_ name: String, in table: String) -> Int? {
    self.table(named: table)?.definition.columns.firstIndex { SQLName.isSame($0.name, name) }
  }

  /// The table of an old entity, and those of its columns that rows of the entity use; nil when the entity has no
  /// table.
  func columns(of entity: String) -> (table: String, columns: [TableLayout.Column])? {
    guard let place = layout.table(of: entity) else { return nil }
    let lineage = Set([entity] + model.ancestors(of: entity).map(\.name))
    return (place.name, place.columns.filter { lineage.contains($0.entityName) })
  }

  /// The index, in its table, of the first column of an entity's rows whose role `isMeant` accepts; nil when there is
  /// none.
  func column(of entity: String, where isMeant: (TableLayout.Role) -> Bool) -> Int? {
    guard let (table, columns) = columns(of: entity),
      let found = columns.first(where: { isMeant($0.role) })
    else { return nil }
    return column(found.name, in: table)
  }

  /// A relationship of an old entity by its name, also one that the entity inherits; nil when there is none.
  func relationship(_ name: String, of entity: String) -> Relationship? {
    model.allRelationships(of: entity).first { $0.name == name }
  }

  /// The join table of a many-to-many relationship, and the indexes of its columns: the near ones are those of
  /// `entity`. Nil when the old store has no such table.
  func joinTable(of relationship: Relationship, of entity: String) -> (
    table: String, near: Int, far: Int, nearOrder: Int?, farOrder: Int?
  )? {
    let lineage = [entity] + model.ancestors(of: entity).map(\.name)
    for join in layout.joinTables {
      let inverse = TableLayout.inverse(of: join.relationship, in: model)
      let isForward = join.relationship == relationship && lineage.contains(join.ownerName)
      let isBackward = inverse == relationship
      guard isForward || isBackward,
        let (table, columns) = CoreDataStore.joinTable(join, among: { self.table(named: $0) })
      else { continue }
      // The position of a destination among the owner's destinations is in the destination's order column.
      return isForward
        ? (table, columns.owner, columns.destination, columns.ownerOrder, columns.destinationOrder)
        : (table, columns.destination, columns.owner, columns.destinationOrder, columns.ownerOrder)
    }
    return nil
  }

  /// The relationships, as `Entity.relationship`, that the old store's join tables are named after although the inverse
  /// would come first; see ``TableLayout/init(_:namedAfter:)``.
  var joinSides: Set<String> {
    var sides: Set<String> = []
    for join in layout.joinTables {
      guard let inverse = join.relationship.inverseName, let other = join.otherName,
        table(named: join.name) == nil, table(named: other) != nil
      else { continue }
      sides.insert("\(join.ownerName).\(inverse)")
    }
    return sides
  }
}
