public import CoreDataStore
import ObjectModel
import SQLiteFile
package import SQLiteWriter

/// Reads and writes the objects of a store during a migration. One context is for the new store that is being made. A
/// second, read-only context is for a copy of the old store.
///
/// The context holds only weak references to objects that it reads, so its use of memory does not grow with the store.
/// As long as the app holds an instance, the context returns that instance whenever it reads the object. A context is
/// not `Sendable`.
public final class ObjectContext {
  package let layout: TableLayout
  package let writer: SQLiteWriter
  /// The path of the store's main file. The folder of external files is next to this file.
  package let storePath: String
  /// The SQL schema name of the store's file: `main`, or the name of an attached file.
  private let schema: String
  private let isReadOnly: Bool

  private struct Place: Hashable {
    let table: String
    let key: Int64
  }
  private struct Held {
    weak var object: ManagedObject?
  }
  private var held: [Place: Held] = [:]
  /// The objects with pending changes. The context holds strong references to them until it has written the changes.
  private var changed: [ManagedObject] = []
  private var changedSet: Set<ObjectIdentifier> = []
  /// The pending changes of to-one relationships, in the order in which they were made. The new destinations are in
  /// ``ManagedObject/leads``.
  private var leads: [(object: ManagedObject, column: TableLayout.Column)] = []
  /// The pending additions to and removals from to-many relationships, oldest first.
  private var links:
    [(near: ManagedObject, far: ManagedObject, relationship: Relationship, isAdded: Bool)] = []
  private var statements: [String: SQLiteStatement] = [:]
  /// The highest primary key that is in use or reserved, keyed by table name. A new object in the table gets this key
  /// plus 1.
  private var highestKeys: [String: Int64]
  /// The deleted objects whose rows are still to be deleted.
  private var deleted: [ManagedObject] = []
  /// The number of rows that this context has inserted for new objects, keyed by entity name.
  package private(set) var insertedCounts: [String: Int] = [:]

  /// Makes a context for the objects in a file that `writer` has made or attached. `highestKeys` has, for each table
  /// name, the highest primary key that is in use or reserved; nil for a read-only context.
  package init(
    _ layout: TableLayout, _ writer: SQLiteWriter, schema: String, storePath: String,
    highestKeys: [String: Int64]?
  ) {
    self.layout = layout
    self.writer = writer
    self.schema = schema
    self.storePath = storePath
    self.highestKeys = highestKeys ?? [:]
    isReadOnly = highestKeys == nil
  }

  // MARK: - Objects

  /// Makes a new object of an entity, with the default values of its attributes. The context inserts the object's row
  /// the next time that it writes.
  ///
  /// - Throws: ``ObjectError`` when the model has no entity with this name, the entity is abstract, or the context is
  ///   read-only.
  public func insertObject(ofEntity name: String) throws -> ManagedObject {
    guard layout.model.entities[name]?.isAbstract == false else {
      throw ObjectError(.noSuchEntity, "the entity \(name) is abstract, or missing from the model")
    }
    let object = ManagedObject(name, nil, in: self)
    try willChange(object)
    return object
  }

  /// Returns the objects of an entity and its subentities whose attribute `attributeName` equals `value`, sorted by
  /// primary key. Writes pending changes first.
  ///
  /// SQLite scans the whole table, unless the table has an index for the attribute.
  /// - Throws: ``ObjectError``, or errors of SQLite.
  public func objects(ofEntity name: String, where attributeName: String, is value: PropertyValue)
    throws -> [ManagedObject]
  {
    try write()
    let (column, attribute) = try attribute(attributeName, of: name)
    guard let table = layout.table(of: name),
      let stored = AttributeValue.stored(value, of: attribute)
    else {
      throw ObjectError(
        .wrongType,
        "\(name).\(attributeName) has the type \(attribute.type.name), and cannot be \(value)")
    }
    let numbers = layout.numberList(of: name)
    return try rows(
      "SELECT Z_PK, Z_ENT FROM \(sql(table.name)) WHERE \(quoted(column)) IS ?1 AND Z_ENT IN (\(numbers)) ORDER BY Z_PK",
      [stored]
    ).compactMap { try object($0, inTable: table) }
  }

  /// Calls `body` with each object of an entity and its subentities, in the order of their primary keys. Leaves out
  /// objects that are inserted during the call.
  ///
  /// - Throws: ``ObjectError`` when the model has no entity with this name; errors of `body`; errors of SQLite.
  public func forEachObject(ofEntity name: String, _ body: (ManagedObject) throws -> Void) throws {
    try write()
    guard let table = layout.table(of: name) else {
      throw ObjectError(.noSuchEntity, "the model has no entity \(name)")
    }
    let numbers = layout.numberList(of: name)
    guard
      case .integer(let end)? = try rows("SELECT max(Z_PK) FROM \(sql(table.name))", []).first?
        .first
    else { return }
    var last = Int64.min
    while true {
      let part = try rows(
        "SELECT Z_PK, Z_ENT FROM \(sql(table.name)) WHERE Z_PK > ?1 AND Z_PK <= ?2 AND Z_ENT IN (\(numbers)) ORDER BY Z_PK LIMIT 500",
        [.integer(last), .integer(end)])
      for row in part {
        if case .integer(let key)? = row.first { last = key }
        guard let object = try object(row, inTable: table), !object.isDeleted else { continue }
        try body(object)
      }
      try write()
      if part.count < 500 { return }
    }
  }

  /// Returns the object with the primary key `key` in the table of `entity`; nil when the table has no such row.
  package func object(withKey key: Int64, inTableOf entity: String) throws -> ManagedObject? {
    guard let table = layout.table(of: entity) else { return nil }
    if let object = held[Place(table: table.name, key: key)]?.object { return object }
    return try rows("SELECT Z_PK, Z_ENT FROM \(sql(table.name)) WHERE Z_PK = ?1", [.integer(key)])
      .first.flatMap { try object($0, inTable: table) }
  }

  private func object(_ row: [SQLiteValue], inTable table: TableLayout.Table) throws
    -> ManagedObject?
  {
    guard row.count > 1, case .integer(let key) = row[0], case .integer(let number) = row[1],
      let name = layout.numbering.name(of: number)
    else { return nil }
    let place = Place(table: table.name, key: key)
    if let object = held[place]?.object { return object }
    let object = ManagedObject(
      name, ObjectReference(entityName: name, primaryKey: key), in: self)
    hold(object, at: place)
    return object
  }

  private func hold(_ object: ManagedObject, at place: Place) {
    if held.count > 10_000 { held = held.filter { $0.value.object != nil } }
    held[place] = Held(object: object)
  }

  // MARK: - Reading

  /// Returns the value of a column in an object's row. Returns NULL for a new object whose row is not inserted yet.
  /// Throws `object.gone` when the row no longer exists.
  func stored(_ column: String, of object: ManagedObject) throws -> SQLiteValue {
    guard let table = layout.table(of: object.entityName), let reference = object.reference else {
      return .null
    }
    guard
      let row = try rows(
        "SELECT \(quoted(column)) FROM \(sql(table.name)) WHERE Z_PK = ?1",
        [.integer(reference.primaryKey)]
      ).first
    else {
      throw ObjectError(
        .gone, "\(object.entityName) has no object with the key \(reference.primaryKey)")
    }
    return row[0]
  }

  /// Returns the destinations of a to-many relationship. They are in the relationship's order if the relationship is
  /// ordered, else sorted by primary key.
  func destinations(of object: ManagedObject, by relationship: Relationship) throws
    -> [ManagedObject]
  {
    if !isReadOnly { try write() }
    guard let key = object.reference?.primaryKey,
      let far = layout.table(of: relationship.destinationEntityName)
    else { return [] }
    let sqlText: String
    if let join = try join(of: relationship, of: object.entityName) {
      let order = join.order.map { quoted($0) + ", " } ?? ""
      sqlText =
        "SELECT far.Z_PK, far.Z_ENT FROM \(sql(join.table)) AS link JOIN \(sql(far.name)) AS far ON far.Z_PK = link.\(quoted(join.far)) WHERE link.\(quoted(join.near)) = ?1 ORDER BY \(order)far.Z_PK"
    } else {
      let (column, order) = try keyColumn(of: relationship, of: object.entityName, in: far)
      sqlText =
        "SELECT Z_PK, Z_ENT FROM \(sql(far.name)) WHERE \(quoted(column)) = ?1 ORDER BY \(order.map { quoted($0) + ", " } ?? "")Z_PK"
    }
    return try rows(sqlText, [.integer(key)]).compactMap { try self.object($0, inTable: far) }
  }

  // MARK: - Writing

  /// Marks an object as changed, so that the next ``write()`` writes the object. Throws `object.readOnly` when the
  /// context is read-only.
  func willChange(_ object: ManagedObject) throws {
    guard !isReadOnly else {
      throw ObjectError(.readOnly, "objects of the old store cannot be changed")
    }
    if changedSet.insert(ObjectIdentifier(object)).inserted { changed.append(object) }
  }

  /// Changes the destination of the to-one relationship that is stored in `column`. A nil destination clears the
  /// relationship.
  func lead(_ object: ManagedObject, to destination: ManagedObject?, _ column: TableLayout.Column)
    throws
  {
    try willChange(object)
    object.leads[column.name] = .some(destination)
    leads.append((object, column))
  }

  func link(
    _ near: ManagedObject, _ far: ManagedObject, by relationship: Relationship, isAdded: Bool
  ) throws {
    try willChange(near)
    links.append((near, far, relationship, isAdded))
  }

  /// Writes the pending changes in this order: new rows, attribute values, relationships, deletions.
  ///
  /// - Throws: ``ObjectError`` when a table has no free primary key; errors of SQLite, for example when a uniqueness
  ///   constraint is broken.
  package func write() throws {
    guard !changed.isEmpty || !links.isEmpty || !deleted.isEmpty else { return }
    let objects = changed
    let deleted = deleted
    self.deleted = []
    let (leads, links) = (leads, links)
    changed = []
    changedSet = []
    self.leads = []
    self.links = []
    for object in objects where object.reference == nil { try insert(object) }
    for object in objects { try update(object) }
    // Only the last change of each relationship is written. They are written oldest first, because an object that is
    // added to an ordered relationship goes to the end.
    var ends: [(object: ManagedObject, far: ManagedObject?, column: TableLayout.Column)] = []
    for (object, column) in leads.reversed() {
      guard let far = object.leads.removeValue(forKey: column.name) else { continue }
      ends.append((object, far, column))
    }
    for end in ends.reversed() { try relate(end.object, to: end.far, end.column) }
    for link in links { try write(link.near, link.far, link.relationship, link.isAdded) }
    for object in deleted { try remove(object) }
  }

  // MARK: - Deleting

  /// Deletes an object. Relationships with the delete rule Cascade delete their destinations, too. Relationships that
  /// lead to a deleted object are cleared.
  ///
  /// - Throws: ``ObjectError`` when the context is read-only, or when a deleted object has a relationship with the
  ///   delete rule Deny whose destination would not be deleted. In both cases, nothing is deleted. Also throws errors
  ///   of SQLite.
  public func delete(_ object: ManagedObject) throws {
    try write()
    // The whole cascade is collected before any object is marked as deleted, so that nothing changes if the deletion is
    // denied. A relationship with the delete rule Deny denies the deletion, unless all its destinations are in the
    // cascade.
    var doomed: [ManagedObject] = []
    var met: Set<ObjectIdentifier> = []
    var denials: [(near: ManagedObject, name: String, far: [ManagedObject])] = []
    var pending = [object]
    while let next = pending.popLast() {
      guard !next.isDeleted, met.insert(ObjectIdentifier(next)).inserted else { continue }
      try willChange(next)
      doomed.append(next)
      for relationship in layout.model.allRelationships(of: next.entityName)
      where !relationship.isTransient && [.cascade, .deny].contains(relationship.deleteRule) {
        let far =
          relationship.isToMany
          ? try next.objects(forKey: relationship.name)
          : [try next.object(forKey: relationship.name)].compactMap { $0 }
        if relationship.deleteRule == .cascade {
          pending += far
        } else {
          denials.append((next, relationship.name, far))
        }
      }
    }
    for (near, name, far) in denials
    where !far.allSatisfy({ met.contains(ObjectIdentifier($0)) }) {
      throw ObjectError(
        .denied,
        "\(near.entityName).\(name) does not allow the deletion: its delete rule is Deny")
    }
    for next in doomed { next.isDeleted = true }
    deleted += doomed
    try write()
  }

  private func remove(_ object: ManagedObject) throws {
    guard let table = layout.table(of: object.entityName), let key = object.reference?.primaryKey
    else { return }
    for other in layout.tables {
      for column in other.columns {
        let destination: TableLayout.Table?
        let companions: [TableLayout.Role]
        switch column.role {
        case .toOne(let relationship):
          destination = layout.table(of: relationship.destinationEntityName)
          companions = [.destinationEntity(relationship), .order(relationship)]
        case .owner(let relationship):
          destination = layout.table(of: column.ownerName(in: layout))
          companions = [.ownerOrder(relationship)]
        default: continue
        }
        guard destination == table else { continue }
        let cleared =
          [column.name] + companions.compactMap { layout.companion(of: column, $0, in: other) }
        try run(
          "UPDATE \(sql(other.name)) SET \(cleared.map { quoted($0) + " = NULL" }.joined(separator: ", ")) WHERE \(quoted(column.name)) = ?1",
          [.integer(key)])
      }
    }
    for join in layout.joinTables {
      for (entity, column) in [
        (join.ownerName, join.ownerColumn),
        (join.relationship.destinationEntityName, join.destinationColumn),
      ] where layout.table(of: entity) == table {
        try run("DELETE FROM \(sql(join.name)) WHERE \(quoted(column)) = ?1", [.integer(key)])
      }
    }
    try run("DELETE FROM \(sql(table.name)) WHERE Z_PK = ?1", [.integer(key)])
    held[Place(table: table.name, key: key)] = nil
  }

  private func insert(_ object: ManagedObject) throws {
    guard let table = layout.table(of: object.entityName),
      let number = layout.numbering.number(of: object.entityName)
    else { return }
    let highest = highestKeys[table.name] ?? 0
    guard highest < Int64.max else {
      throw ObjectError(.noRoom, "no primary key is left for a new \(table.rootEntityName)")
    }
    let given = highest + 1
    highestKeys[table.name] = given
    let lineage = lineage(of: object.entityName)
    var names = ["Z_PK", "Z_ENT", "Z_OPT"]
    var values: [SQLiteValue] = [.integer(given), .integer(number), .integer(1)]
    for column in table.columns where lineage.contains(column.entityName) {
      guard case .attribute(let attribute) = column.role else { continue }
      names.append(quoted(column.name))
      values.append(object.values[column.name] ?? AttributeValue.initial(attribute))
    }
    let marks = names.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
    try run(
      "INSERT INTO \(sql(table.name)) (\(names.joined(separator: ", "))) VALUES (\(marks))", values)
    object.values = [:]
    object.reference = ObjectReference(entityName: object.entityName, primaryKey: given)
    hold(object, at: Place(table: table.name, key: given))
    insertedCounts[object.entityName, default: 0] += 1
  }

  private func update(_ object: ManagedObject) throws {
    guard let table = layout.table(of: object.entityName), let key = object.reference?.primaryKey
    else { return }
    let values = object.values
    object.values = [:]
    for (column, value) in values.sorted(by: { $0.key < $1.key }) {
      try run(
        "UPDATE \(sql(table.name)) SET \(quoted(column)) = ?2 WHERE Z_PK = ?1",
        [.integer(key), value])
    }
  }

  private func relate(
    _ object: ManagedObject, to destination: ManagedObject?, _ column: TableLayout.Column
  ) throws {
    guard let table = layout.table(of: object.entityName), let key = object.reference?.primaryKey,
      case .toOne(let relationship) = column.role
    else { return }
    let far = destination?.reference.map { SQLiteValue.integer($0.primaryKey) } ?? .null
    let near = quoted(column.name)
    try run(
      "UPDATE \(sql(table.name)) SET \(near) = ?2 WHERE Z_PK = ?1", [.integer(key), far])
    if let name = layout.companion(of: column, .destinationEntity(relationship), in: table) {
      let number = destination.flatMap { layout.numbering.number(of: $0.entityName) }
      try run(
        "UPDATE \(sql(table.name)) SET \(quoted(name)) = ?2 WHERE Z_PK = ?1",
        [.integer(key), number.map { .integer($0) } ?? .null])
    }
    if let order = layout.companion(of: column, .order(relationship), in: table) {
      let name = quoted(order)
      // In the ordered inverse relationship, the object gets the last position. The highest existing position is capped
      // at 2^52, so that the addition does not overflow.
      try run(
        "UPDATE \(sql(table.name)) SET \(name) = CASE WHEN ?2 IS NULL THEN NULL ELSE 1024 + min(ifnull((SELECT max(other.\(name)) FROM \(sql(table.name)) AS other WHERE other.\(near) = ?2 AND other.Z_PK <> ?1), 0), \(Int64(1) << 52)) END WHERE Z_PK = ?1",
        [.integer(key), far])
    }
  }

  private func write(
    _ near: ManagedObject, _ far: ManagedObject, _ relationship: Relationship, _ isAdded: Bool
  ) throws {
    guard let nearKey = near.reference?.primaryKey, let farKey = far.reference?.primaryKey else {
      return
    }
    let keys: [SQLiteValue] = [.integer(nearKey), .integer(farKey)]
    guard let join = try join(of: relationship, of: near.entityName) else {
      // A to-many relationship without a join table is stored in the destination's row, as the primary key of the
      // source object.
      guard let table = layout.table(of: relationship.destinationEntityName) else { return }
      let (column, order) = try keyColumn(of: relationship, of: near.entityName, in: table)
      let (target, name) = (sql(table.name), quoted(column))
      guard let order = order.map({ quoted($0) }) else {
        return try run(
          isAdded
            ? "UPDATE \(target) SET \(name) = ?1 WHERE Z_PK = ?2"
            : "UPDATE \(target) SET \(name) = NULL WHERE Z_PK = ?2 AND \(name) = ?1", keys)
      }
      // An added object goes to the end, unless it is a destination already: then it keeps its position.
      return try run(
        isAdded
          ? "UPDATE \(target) SET \(name) = ?1, \(order) = 1024 + min(ifnull((SELECT max(\(order)) FROM \(target) WHERE \(name) = ?1), 0), \(Int64(1) << 52)) WHERE Z_PK = ?2 AND (\(name) IS NOT ?1 OR \(order) IS NULL)"
          : "UPDATE \(target) SET \(name) = NULL, \(order) = NULL WHERE Z_PK = ?2 AND \(name) = ?1",
        keys)
    }
    let (one, other) = (quoted(join.near), quoted(join.far))
    guard isAdded else {
      return try run("DELETE FROM \(sql(join.table)) WHERE \(one) = ?1 AND \(other) = ?2", keys)
    }
    try run("INSERT OR IGNORE INTO \(sql(join.table)) (\(one), \(other)) VALUES (?1, ?2)", keys)
    for (order, column, place) in [(join.order, one, "?1"), (join.backOrder, other, "?2")] {
      guard let order = order.map({ quoted($0) }) else { continue }
      try run(
        "UPDATE \(sql(join.table)) SET \(order) = 1024 + min(ifnull((SELECT max(\(order)) FROM \(sql(join.table)) WHERE \(column) = \(place)), 0), \(Int64(1) << 52)) WHERE \(one) = ?1 AND \(other) = ?2 AND \(order) IS NULL",
        keys)
    }
  }

  // MARK: - SQL

  private func sql(_ table: String) -> String { quoted(schema) + "." + quoted(table) }

  /// Returns a name from the layout as a quoted SQL identifier. Quoting fails only for a name with a NUL character, and
  /// names from the layout never contain one.
  private func quoted(_ name: String) -> String {
    (try? SQLIdentifier.quoted(name)) ?? "\"\""
  }

  private func statement(_ sql: String) throws -> SQLiteStatement {
    if let statement = statements[sql] { return statement }
    if statements.count > 200 { finish() }
    let made = try writer.prepare(sql)
    statements[sql] = made
    return made
  }

  private func rows(_ sql: String, _ values: [SQLiteValue]) throws -> [[SQLiteValue]] {
    let statement = try statement(sql)
    defer { statement.reset() }
    try statement.bind(values)
    var rows: [[SQLiteValue]] = []
    while try statement.step() { rows.append(statement.row) }
    return rows
  }

  private func run(_ sql: String, _ values: [SQLiteValue]) throws {
    try statement(sql).run(values)
  }

  /// Finalizes all prepared statements. When a statement is needed again, it is prepared again.
  package func finish() {
    for statement in statements.values { statement.finalize() }
    statements = [:]
  }
}
