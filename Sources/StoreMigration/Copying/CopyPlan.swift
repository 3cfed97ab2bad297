import CoreDataStore
import ModelTools
import ObjectModel
import SQLiteFile
import SQLiteWriter

/// A statement and the columns of a row of the old store that its parameters take, `?1` the first.
final class RowStatement {
  let sql: String
  let columns: [Int]
  /// The statement in the new file; nil before its first row.
  private var prepared: SQLiteStatement?

  init(sql: String, columns: [Int]) {
    self.sql = sql
    self.columns = columns
  }

  /// The statement, compiled once.
  func statement(in writer: SQLiteWriter) throws -> SQLiteStatement {
    if let prepared { return prepared }
    let made = try writer.prepare(sql)
    prepared = made
    return made
  }

  /// Closes the statement, which must not be open when the file is completed.
  func finish() {
    prepared?.finalize()
    prepared = nil
  }
}

/// What becomes of the rows of one old entity under one entity mapping.
final class EntityCopy {
  let mappingName: String
  let sourceEntity: String
  let destinationEntity: String
  /// How the old key becomes the new one.
  let shift: KeyShift
  /// Inserts the row. It changes nothing when the row lacks a value that the new model demands.
  let insert: RowStatement
  /// Whether the mapping takes only some objects: those for which the insertion's condition holds.
  let isFiltered: Bool
  /// Tells which values of a row the new types cannot hold; nil when they hold all.
  let losses: (statement: RowStatement, properties: [String])?
  /// Run after the row was inserted: links that its columns hold.
  var links: [RowStatement] = []
  /// Run in a second pass, when all rows are there.
  var updates: [RowStatement]
  /// The new properties that must have a value, each with the column of the old row; nil for one without.
  let demands: [(property: String, column: Int?)]
  /// Columns whose external files the new row names, too.
  let externalColumns: Set<Int>
  /// Columns whose external files become part of the new row, because its attribute keeps no files.
  let inlinedColumns: Set<Int>
  /// The class of the app that carries the mapping out; nil for a mapping that SQL carries out alone.
  let policyClass: String?
  /// For a mapping with a policy: tells in its first column whether the mapping takes a row; nil when it takes all.
  let selection: RowStatement?
  /// Properties whose values the policy's functions give.
  let policyValues: [(property: String, expression: ModelExpression)]
  /// The new row, if it can be put together without SQL; nil when it cannot.
  let plain: PlainRow?
  /// Rows written, those of them that lack damaged values, and rows rejected.
  var writtenCount = 0
  var incompleteCount = 0
  var rejectedCount = 0
  /// Rows that the mapping does not take.
  var passedOverCount = 0

  init(
    _ mapping: EntityMapping, from sourceEntity: String, to destinationEntity: String,
    shift: KeyShift, insert: RowStatement, isFiltered: Bool,
    losses: (statement: RowStatement, properties: [String])?, updates: [RowStatement],
    demands: [(property: String, column: Int?)], externalColumns: Set<Int>,
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
    self.externalColumns = externalColumns
    self.inlinedColumns = inlinedColumns
    self.policyClass = policyClass
    self.selection = selection
    self.policyValues = policyValues
    self.plain = plain
  }

  /// Whether nothing but the row itself has to be written.
  var isAlone: Bool {
    policyClass == nil && !isFiltered && losses == nil && links.isEmpty && updates.isEmpty
      && inlinedColumns.isEmpty && shift == KeyShift()
  }

  var statements: [RowStatement] {
    [insert] + links + updates + (losses.map { [$0.statement] } ?? [])
      + (selection.map { [$0] } ?? [])
  }
}

/// What Core Data stores in a column; a value of another kind is damage.
struct ColumnRule {
  let column: Int
  let classes: StorageClasses
  /// The length of a BLOB; nil when it varies.
  let length: Int?
}

/// What becomes of the rows of a table of the old store.
final class TableCopy {
  /// The table's name.
  let table: String
  let definition: TableDefinition
  let keyColumn: Int
  let entityColumn: Int?
  /// By entity number. An entity without a mapping is not among them.
  var entities: [Int64: [EntityCopy]] = [:]
  /// Rows read, by entity number, of the entities above, but for those of the last one.
  private var readCounts: [Int64: Int] = [:]
  /// The entity of the last row, which is mostly that of the next, too, and how many of its rows came since.
  private var last: (number: Int64, copies: [EntityCopy])?
  private var lastCount = 0
  let rules: [ColumnRule]
  /// Columns whose BLOB may be the name of an external file, with the attribute that keeps it.
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

  /// Counts rows of an entity and returns what becomes of them; nil when no mapping takes the entity's rows.
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

  /// How many rows of an entity were read.
  func readCount(ofEntity number: Int64) -> Int {
    (readCounts[number] ?? 0) + (last?.number == number ? lastCount : 0)
  }

  var hasSecondPass: Bool { entities.values.contains { $0.contains { !$0.updates.isEmpty } } }
}

/// What becomes of the rows of a join table of the old store.
struct JoinCopy {
  /// The relationship, for the report.
  struct Relationship: Hashable {
    let entity: String
    let name: String
  }

  let table: String
  let relationship: Relationship
  /// The columns with the keys of both ends, and with positions.
  let keys: [Int]
  let orders: [Int]
  let statement: RowStatement
  /// Whether the statement looks at rows, which must be there.
  let isLate: Bool
}

/// Columns of an old table that rows of others ask for by key; they are in the new file while rows are written.
struct StagedTable {
  let table: String
  let definition: TableDefinition
  let keyColumn: Int
  /// The name in the new file, quoted.
  let name: String
  var columns: [Int] = []

  /// The SQL that makes the table, and the statement that fills it.
  var creation: String {
    "CREATE TABLE \(name) (pk INTEGER PRIMARY KEY\(columns.indices.map { ", c\($0)" }.joined()))"
  }

  var filling: RowStatement {
    let marks = (0...columns.count).map { "?\($0 + 1)" }.joined(separator: ", ")
    return RowStatement(
      sql: "INSERT OR IGNORE INTO \(name) VALUES (\(marks))", columns: [keyColumn] + columns)
  }
}

/// The links of an old relationship, which are in the new file until the columns that need them are set.
struct StagedLinks {
  let table: String
  let definition: TableDefinition
  /// The name in the new file, quoted.
  let name: String
  /// The columns with the key of the row that has the relationship, the key that it leads to, and its position.
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

/// A column of the new store that is set from staged links, when all rows are there.
struct LaterReference {
  let links: StagedLinks
  let table: String
  let column: String
  /// The number of the entity whose rows are meant, and how their keys came about.
  let entityNumber: Int64
  let shift: KeyShift
  /// Whether the rows are at the near end of the links.
  let isNear: Bool
  /// The new key of the row at the other end, as SQL over `link`; NULL when it leads to no row.
  let value: String
  let entityName: String
  let propertyName: String
  /// The column of the other side, where both sides lead to one row; nil for any other relationship.
  let inverse: (table: String, column: String)?
}

/// A column of the new store that must lead to a row.
struct Reference: Hashable {
  let table: String
  let column: String
  /// The column with the number of the destination's entity; nil when only one entity is possible.
  let entityColumn: String?
  /// The column with the position among the rows that lead to the same one; nil when there is none.
  let orderColumn: String?
  /// Whether the model demands that the column leads to a row, and the numbers of the entities that have it.
  let isDemanded: Bool
  let ownNumbers: [Int64]
  /// The entities of the destination, by number.
  let destinationTable: String
  let destinationNumbers: [Int64]
  let entityName: String
  let propertyName: String
}

/// The SQL that makes the rows of a new store from those of an old one, worked out once from a mapping model.
struct CopyPlan {
  var tables: [TableCopy] = []
  var joins: [JoinCopy] = []
  /// By the old table's name.
  var staged: [String: StagedTable] = [:]
  /// By their names.
  var links: [String: StagedLinks] = [:]
  /// Columns that are set when all rows are there.
  var later: [LaterReference] = []
  /// The columns to check when all rows are there.
  var references: [Reference] = []
  /// The join tables of the new model, whose rows must lead to rows at both ends.
  let destination: TableLayout
  /// Old entities whose objects go nowhere.
  var dropped: [String] = []
  /// Why objects go nowhere although the new model has their entity, a sentence for each entity.
  var droppedReasons: [String: String] = [:]
  /// What a reader has to know, one sentence each.
  var notes: [String] = []
  /// Values that are not carried over although both models have the property, one sentence each.
  var leftOut: [String] = []
  /// Ordered relationships that had no order before: table, key column, order column.
  var unordered: [(table: String, key: String, order: String)] = []
  /// The tables of the new model whose keys are those of one old table, unchanged: the counter of keys goes on.
  var keptKeys: [String: String] = [:]

  /// The names of the mappings, in their order.
  var mappingNames: [String] = []

  /// The names of the tables that the old model has, in capitals.
  var oldTables: Set<String> = []

  /// Whether a table belongs to the old model.
  func isOld(table: String) -> Bool { oldTables.contains(table) }

  /// Whether classes of the app carry out some of the mappings.
  var hasPolicies: Bool {
    tables.contains { $0.entities.values.contains { $0.contains { $0.policyClass != nil } } }
  }

  /// All statements.
  var statements: [RowStatement] {
    tables.flatMap { $0.entities.values.flatMap { $0.flatMap(\.statements) } }
      + joins.map(\.statement)
  }
}

/// What is known of the old store's tables.
struct SourceTables {
  let layout: TableLayout
  /// The names of the entities, by number.
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

  /// The place of a column in a table.
  func column(_ name: String, in table: String) -> Int? {
    self.table(named: table)?.definition.columns.firstIndex { SQLName.isSame($0.name, name) }
  }

  /// The columns that rows of an entity have.
  func columns(of entity: String) -> (table: String, columns: [TableLayout.Column])? {
    guard let place = layout.table(of: entity) else { return nil }
    let lineage = Set([entity] + model.ancestors(of: entity).map(\.name))
    return (place.name, place.columns.filter { lineage.contains($0.entityName) })
  }

  /// The column of the entity's rows for which `isMeant` returns true.
  func column(of entity: String, where isMeant: (TableLayout.Role) -> Bool) -> Int? {
    guard let (table, columns) = columns(of: entity),
      let found = columns.first(where: { isMeant($0.role) })
    else { return nil }
    return column(found.name, in: table)
  }

  /// A relationship of an entity, inherited ones included.
  func relationship(_ name: String, of entity: String) -> Relationship? {
    model.allRelationships(of: entity).first { $0.name == name }
  }

  /// The table of a many-to-many relationship, and the places of its columns.
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

  /// The relationships, as `Entity.relationship`, after which the store names a table although their inverse comes
  /// first: see ``TableLayout/init(_:namedAfter:)``.
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
