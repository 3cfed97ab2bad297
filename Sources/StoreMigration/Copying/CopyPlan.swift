import CoreDataStore
import ModelTools
import ObjectModel
import SQLiteFile
import SQLiteForensics
import SQLiteWriter
import SafeText

/// An SQL statement, and the indexes of the old row's columns whose values are bound to its parameters: the first
/// column is bound to `?1`.
final class RowStatement {
  let sql: String
  let columns: [Int]
  private var prepared: SQLiteStatement?

  init(sql: String, columns: [Int]) {
    self.sql = sql
    self.columns = columns
  }

  func statement(in writer: SQLiteWriter) throws -> SQLiteStatement {
    if let prepared { return prepared }
    let made = try writer.prepare(sql)
    prepared = made
    return made
  }

  /// Finalizes the prepared statement. The new file cannot be completed before this is done.
  func finish() {
    prepared?.finalize()
    prepared = nil
  }
}

/// How the rows of one old entity are copied by one entity mapping, and how many rows were copied.
final class EntityCopy {
  let mappingName: String
  let sourceEntity: String
  let destinationEntity: String
  let shift: KeyShift
  /// The statement that inserts a row. It inserts nothing if the row lacks a value that the new model requires, or if
  /// the mapping does not take the row.
  let insert: RowStatement
  /// Whether the mapping has a predicate, and takes only the objects for which the predicate is true.
  let isFiltered: Bool
  /// A statement that finds the values of a row that the new types cannot represent, and the properties that the
  /// statement checks. The result of the statement has a column for each of these properties, which is 1 if the value
  /// of the property is lost. Nil when no value can be lost.
  let losses: (statement: RowStatement, properties: [String])?
  /// Statements that run after a row is inserted. They write the links that the old row stores in its columns into the
  /// join tables of the new store.
  var links: [RowStatement] = []
  /// Statements that run in a second pass, after all rows are inserted.
  var updates: [RowStatement]
  /// The required properties of the new entity that could be left without a value. `column` is the index of the old
  /// column that the value comes from; nil when it comes from elsewhere.
  let demands: [(property: String, column: Int?)]
  /// A statement that finds which required properties of a new row have no value. A column of its result is 1 if the
  /// property at the same index in ``demands`` has no value. Nil when ``demands`` is empty.
  let lacks: RowStatement?
  /// The columns of the old row whose external files the new row refers to, too, as indexes. A column occurs once for
  /// each new attribute that refers to its file.
  let externalColumns: [Int]
  /// Indexes of the old columns whose external files are read into the new row, because the new attribute does not
  /// allow external storage.
  let inlinedColumns: Set<Int>
  /// The name of the policy class of the entity mapping; nil when SQL alone copies the rows.
  let policyClass: String?
  /// A statement whose first column says whether the mapping takes a row; nil when the mapping takes all rows.
  let selection: RowStatement?
  /// The properties whose values the policy class computes, each with an expression that calls a function of the policy
  /// class.
  let policyValues: [(property: String, expression: ModelExpression)]
  /// How the new row is made without SQL; nil when SQL is needed.
  let plain: PlainRow?
  /// The number of rows that were written, including rows that lack some values.
  var writtenCount = 0
  /// The number of new rows that were written without some values of their old rows.
  var incompleteCount = 0
  /// The number of rows that were rejected.
  var rejectedCount = 0
  /// The number of old rows from which the mapping made no object, because its condition excludes them or its policy
  /// passes over them.
  var passedOverCount = 0

  init(
    _ mapping: EntityMapping, from sourceEntity: String, to destinationEntity: String,
    shift: KeyShift, insert: RowStatement, isFiltered: Bool,
    losses: (statement: RowStatement, properties: [String])?, updates: [RowStatement],
    demands: [(property: String, column: Int?)], lacks: RowStatement?, externalColumns: [Int],
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

  /// Whether a single INSERT with an unchanged key copies a row. True if the copy involves no policy, predicate, link
  /// or later update, and no external file that must be read into the row.
  var isAlone: Bool {
    policyClass == nil && !isFiltered && losses == nil && links.isEmpty && updates.isEmpty
      && inlinedColumns.isEmpty && shift == KeyShift()
  }

  var statements: [RowStatement] {
    [insert] + links + updates + (losses.map { [$0.statement] } ?? [])
      + [lacks, selection].compactMap { $0 }
  }
}

/// How the rows of a table of the old store are copied.
final class TableCopy {
  /// The name of the old table.
  let table: String
  let definition: TableDefinition
  let keyColumn: Int
  let entityColumn: Int?
  /// How the rows of each entity are copied, keyed by entity number. An entity without a mapping has no entry.
  var entities: [Int64: [EntityCopy]] = [:]
  var copies: [EntityCopy] { entities.values.flatMap { $0 } }
  /// The number of rows that were read of each entity, by entity number. Rows that are still counted in ``lastCount``
  /// are not included.
  private var readCounts: [Int64: Int] = [:]
  /// The entity number of the last row, and how the rows of this entity are copied. They are kept because the next row
  /// usually has the same entity.
  ///
  /// ``lastCount``: the number of rows that were read since the entity number last changed.
  private var last: (number: Int64, copies: [EntityCopy])?
  private var lastCount = 0
  let rules: [RecordCopy.Rule]
  /// Indexes of the columns whose attributes allow external storage. A BLOB in such a column may be the name of an
  /// external file instead of the data.
  let externalColumns: Set<Int>

  init(
    _ table: String, _ definition: TableDefinition, keyColumn: Int, entityColumn: Int?,
    rules: [RecordCopy.Rule], externalColumns: Set<Int>
  ) {
    self.table = table
    self.definition = definition
    self.keyColumn = keyColumn
    self.entityColumn = entityColumn
    self.rules = rules
    self.externalColumns = externalColumns
  }

  /// Counts rows of an entity, and returns how these rows are copied. If no mapping takes the entity's rows, counts
  /// nothing and returns nil.
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

  /// Returns the number of rows of an entity that were read; 0 for an entity that no mapping takes.
  func readCount(ofEntity number: Int64) -> Int {
    (readCounts[number] ?? 0) + (last?.number == number ? lastCount : 0)
  }

  var hasSecondPass: Bool { copies.contains { !$0.updates.isEmpty } }
}

/// How the rows of a join table of the old store are copied.
struct JoinCopy {
  /// A relationship as the report names it: the new entity that has the relationship, and the relationship's name.
  struct Relationship: Hashable {
    let entity: String
    let name: String
  }

  let table: String
  let relationship: Relationship
  /// The indexes of the two columns with the keys of the rows that a link connects.
  let keys: [Int]
  /// The indexes of the columns that hold a link's position in an ordered relationship.
  let orders: [Int]
  let statement: RowStatement
  /// Whether the statement looks up new rows, so that it must run after all rows are inserted.
  let isLate: Bool
  /// Whether this copy counts the rows without a usable key. If several copies read the same table for the same
  /// relationship, only the first of them counts, so that no row counts twice.
  let countsBroken: Bool
}

/// A helper table in the new file with a copy of some columns of an old table. Key paths look up values by key in this
/// table while rows of other tables are made. The helper table is dropped after all rows are written.
struct StagedTable {
  let table: String
  let definition: TableDefinition
  let keyColumn: Int
  /// The quoted name of this helper table in the new file.
  let name: String
  /// The rules for the values in all columns of the old table.
  let rules: [RecordCopy.Rule]
  var columns: [Int] = []

  var creation: String {
    "CREATE TABLE \(name) (pk INTEGER PRIMARY KEY\(columns.indices.map { ", c\($0)" }.joined()))"
  }

  var filling: RowStatement {
    let marks = (0...columns.count).map { "?\($0 + 1)" }.joined(separator: ", ")
    return RowStatement(
      sql: "INSERT OR IGNORE INTO \(name) VALUES (\(marks))", columns: [keyColumn] + columns)
  }
}

/// A helper table in the new file with a copy of the links of an old relationship. The helper table is dropped after
/// the references that need the links are set.
struct StagedLinks {
  enum End {
    case near, far
  }

  let table: String
  let definition: TableDefinition
  /// The quoted name of the helper table that holds the copied links in the new file.
  let name: String
  /// The index of the old table's column that holds the key of the row that has the relationship.
  let near: Int
  /// The index of the column that holds the key of the row that the relationship leads to.
  let far: Int
  /// The index of the column with the position of the destination (far row) among all destinations of the same source
  /// (near row). Nil if the table has no such column.
  let order: Int?
  /// The index of the column with the position of the source (near row) among all sources of the same destination (far
  /// row). Nil if the table has no such column.
  let backOrder: Int?
  /// The end whose row stores the link in one of its columns; nil when the links are in a join table.
  let keys: End?
  /// The relationship that the report names for links without a usable key in a join table. Nil if the links are in a
  /// column of an entity's table, where NULL means that there is no link.
  var relationship: JoinCopy.Relationship?

  /// The CREATE TABLE statement of the helper table. If the old rows store the links in a column, the primary key of
  /// the helper table is the key of the old row. A damaged store may have several rows with the same key; only the link
  /// of the first of them is copied. The column `late` is 1 for a link from a row that is not live.
  var creation: String {
    func column(_ name: String, _ end: End) -> String {
      keys == end ? "\(name) INTEGER PRIMARY KEY" : name
    }
    return
      "CREATE TABLE \(name) (\(column("near", .near)), \(column("far", .far)), place, back, late)"
  }

  /// Returns the INSERT statement that copies a link of the old store into the helper table. `isLive`: whether the link
  /// comes from a live row.
  func filling(isLive: Bool = true) -> RowStatement {
    var columns = [near, far]
    func mark(_ column: Int?) -> String {
      guard let column else { return "NULL" }
      columns.append(column)
      return "?\(columns.count)"
    }
    let marks = [mark(order), mark(backOrder), isLive ? "0" : "1"].joined(separator: ", ")
    return RowStatement(
      sql: "INSERT OR IGNORE INTO \(name) VALUES (?1, ?2, \(marks))", columns: columns)
  }
}

/// A column that holds the keys of other rows, and that is set after all rows are inserted. The keys come from staged
/// links (``StagedLinks``).
struct LaterReference {
  let links: StagedLinks
  /// The place of the reference. It has no column for the position if the old store has no positions.
  let place: CopyCompiler.Place
  /// The rule for the keys of the new rows that get the reference. It computes the key of a new row from the key of its
  /// old row.
  let shift: KeyShift
  /// Whether the rows that get the reference are the sources of the staged links (column `near`). If false, they are
  /// the destinations (column `far`).
  let isNear: Bool
  /// An SQL expression for the new key of the row to which a link leads. In this expression, `link` is the alias of the
  /// table of staged links. The expression gives NULL when the link leads to no row.
  let value: String
}

/// A column of the new store whose value must be NULL or the key of a row.
struct Reference: Hashable {
  let table: String
  let column: String
  /// The column that holds the entity number of the destination; nil when only one entity is possible.
  let entityColumn: String?
  /// The column that holds the row's position among all rows that refer to the same destination; nil when there is no
  /// such column.
  let orderColumn: String?
  /// Whether the model requires a destination, so that the column must not be NULL.
  let isDemanded: Bool
  /// The numbers of the entities that have the column, as an SQL list.
  let ownNumbers: String
  /// The table of the rows whose keys the column holds.
  let destinationTable: String
  /// The entity numbers of the rows to which the column may lead, as an SQL list.
  let destinationNumbers: String
  let entityName: String
  let propertyName: String
}

/// The SQL statements that make the rows of a new store from the rows of an old store. A plan is compiled once from a
/// mapping model.
struct CopyPlan {
  var tables: [TableCopy] = []
  var joins: [JoinCopy] = []
  /// The helper tables with copies of old tables (``StagedTable``), keyed by the name of the old table.
  var staged: [String: StagedTable] = [:]
  /// The helper tables with copies of the links of old relationships, keyed by the quoted name of the helper table in
  /// the new file.
  var links: [String: StagedLinks] = [:]
  var later: [LaterReference] = []
  /// The columns of one-to-one relationships that no mapping sets. After all rows are inserted, these columns are set
  /// from the columns of the inverse relationships.
  var mirrored: [CopyCompiler.Place] = []
  /// The columns that may contain keys of rows that do not exist. The columns are checked after all rows are inserted.
  var references: [Reference] = []
  /// The layout of the new store's tables. After all rows are inserted, each link in the join tables of this layout is
  /// checked: it must lead to existing rows at both ends.
  let destination: TableLayout
  let shifts: KeyShifts
  /// The names of the old entities whose rows are not copied into the new store.
  var dropped: [String] = []
  /// The reason why the rows of an entity are left behind although the new model has this entity, in one sentence. The
  /// key is the name of the entity.
  var droppedReasons: [String: String] = [:]
  /// Notes for the report, one sentence each.
  var notes: [String] = []
  /// Sentences about values that are not copied, although both models have the property that holds them.
  var leftOut: [String] = []
  /// The ordered relationships of the new store for which the old store has no positions. `table` is the new table; its
  /// column `key` stores the reference, and its column `order` the position.
  var unordered: [(table: String, key: String, order: String)] = []
  /// Whether two new rows may refer to the same external file, or a new row may refer to an external file to which its
  /// old row does not refer.
  var sharesFiles = false
  /// The names of the entity mappings, in the order of the mapping model.
  var mappingNames: [String] = []

  /// The names of the tables that the old model has, in upper case.
  var oldTables: Set<String> = []

  var hasPolicies: Bool {
    tables.contains { $0.copies.contains { $0.policyClass != nil } }
  }

  /// The statements of the plan that must be finished (``RowStatement/finish()``) before the new file can be completed.
  var statements: [RowStatement] {
    tables.flatMap(\.copies).flatMap(\.statements) + joins.map(\.statement)
  }
}

/// The tables of the old store, as the store's model and schema describe them.
struct SourceTables {
  let layout: TableLayout
  /// The names of the old entities, keyed by entity number.
  let entityNames: [Int64: String]
  private let definitions: [SQLName: (name: String, definition: TableDefinition)]

  init(
    _ layout: TableLayout, entityNames: [Int64: String],
    _ tables: [(name: String, definition: TableDefinition)]
  ) {
    self.layout = layout
    self.entityNames = entityNames
    definitions = Dictionary(firstOf: tables.map { (SQLName($0.name), $0) })
  }

  var model: ManagedObjectModel { layout.model }

  func table(named name: String) -> (name: String, definition: TableDefinition)? {
    definitions[SQLName(name)]
  }

  func column(_ name: String, in table: String) -> Int? {
    self.table(named: table)?.definition.place(of: name)
  }

  /// Returns the table of an old entity, and those columns of the table that the entity's rows use. Returns nil when
  /// the entity has no table.
  func columns(of entity: String) -> (table: String, columns: [TableLayout.Column])? {
    guard let place = layout.table(of: entity) else { return nil }
    let lineage = Set([entity] + model.ancestors(of: entity).map(\.name))
    return (place.name, place.columns.filter { lineage.contains($0.entityName) })
  }

  /// Returns the index of the first column that rows of `entity` use and whose role `isMeant` accepts; nil when there
  /// is no such column.
  func column(of entity: String, where isMeant: (TableLayout.Role) -> Bool) -> Int? {
    guard let (table, columns) = columns(of: entity),
      let found = columns.first(where: { isMeant($0.role) })
    else { return nil }
    return column(found.name, in: table)
  }

  func relationship(_ name: String, of entity: String) -> Relationship? {
    model.allRelationships(of: entity).first { $0.name == name }
  }

  /// Returns the join table of a many-to-many relationship, and the indexes of its columns. The key of an object of
  /// `entity` is in the column `near`. The key of a related object is in the column `far`. Returns nil when the old
  /// store has no such table.
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
      // The position of a destination, among all destinations of its owner, is in the destination's order column.
      return isForward
        ? (table, columns.owner, columns.destination, columns.ownerOrder, columns.destinationOrder)
        : (table, columns.destination, columns.owner, columns.destinationOrder, columns.ownerOrder)
    }
    return nil
  }

  /// The relationships after which the old store has named its join tables, although Core Data usually names them after
  /// the inverse. Each is written as `Entity.relationship`; see ``TableLayout/init(_:namedAfter:)``.
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
