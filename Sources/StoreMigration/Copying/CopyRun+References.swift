import CoreDataStore
import ObjectModel
import SQLiteWriter
import SafeText

// Sets and checks references after all rows are inserted.
extension CopyRun {
  private static let maxKeys = 20

  /// Sets the references that can be set only after all rows are inserted, and adds missing positions in ordered
  /// relationships. Then cuts references that lead to no row. In all other references, sets the entity number of the
  /// destination.
  func settleReferences() throws {
    tellBrokenLinks()
    for stage in plan.staged.values { try writer.execute("DROP TABLE \(stage.name)") }
    try setWaitingReferences()
    for links in plan.links.values { try writer.execute("DROP TABLE \(links.name)") }
    try cutDanglingReferences()
  }

  /// Sets the references that could not be set until all rows were inserted. Gives positions to the objects of ordered
  /// relationships whose positions are not stored. Only the first call has an effect, so that a later call does not
  /// overwrite references that a policy has changed.
  func setWaitingReferences() throws {
    guard !hasSetWaiting else { return }
    hasSetWaiting = true
    for later in plan.later { try set(later) }
    // References are set from their inverses before `agree` runs, because `agree` cuts each reference whose inverse
    // leads elsewhere.
    for place in plan.mirrored { try mirror(place) }
    for later in plan.later { try agree(later) }
    var met: Set<String> = []
    for (table, key, order) in plan.unordered where met.insert(table + "\u{0}" + order).inserted {
      let (into, key, order) = try (
        SQLText.quoted(table), SQLText.quoted(key), SQLText.quoted(order)
      )
      // Rows that have a position keep it, and the other rows come after them. The highest position is capped at 2^52,
      // so that the addition does not overflow.
      try writer.execute(
        """
        UPDATE \(into) SET \(order) = place.n FROM (SELECT Z_PK AS pk, \(order) AS old, \
        min(ifnull(max(\(order)) OVER (PARTITION BY \(key)), 0), \(Int64(1) << 52)) \
        + 1024 * row_number() OVER (PARTITION BY \(key), \(order) IS NULL ORDER BY Z_PK) AS n \
        FROM \(into) WHERE \(key) IS NOT NULL) AS place \
        WHERE Z_PK = place.pk AND place.old IS NULL
        """)
    }
  }

  /// Cuts references that lead to no row, and sets the entity number of the destination in the remaining references.
  func cutDanglingReferences() throws {
    for reference in plan.references { try settle(reference) }
    for join in plan.destination.joinTables { try settle(join) }
  }

  /// Sets the reference `later` in each new row. If several staged links lead from a row to existing rows, the row gets
  /// the first of these links. Reports links that lead to no row. Also reports all other links of the row, unless the
  /// relationship is one-to-one.
  private func set(_ later: LaterReference) throws {
    let place = later.place
    let (table, column) = try (SQLText.quoted(place.table), SQLText.quoted(place.column))
    let own = later.isNear ? "near" : "far"
    let end: StagedLinks.End = later.isNear ? .near : .far
    if later.links.keys != end {
      let index = try SQLText.quoted("\(own) of \(later.links.name)")
      try writer.execute("CREATE INDEX IF NOT EXISTS \(index) ON \(later.links.name) (\(own))")
    }
    let rows = "own.Z_ENT = \(place.entityNumber) AND own.\(column) IS NULL"
    // Links from live rows come before links from rows that are not live.
    let order = later.isNear ? "link.late, link.place, link.far" : "link.late, link.near"
    var match = "link.\(own) = own.Z_PK - \(later.shift.offset)"
    if let highest = later.shift.highest { match += " AND link.\(own) BETWEEN 1 AND \(highest)" }
    // The row also gets the position of its link, if the links have such positions.
    let position = try place.orderColumn.map { try SQLText.quoted($0) }
    let target = position.map { "(\(column), \($0))" } ?? column
    let linkPosition = position == nil ? "" : later.isNear ? ", link.back" : ", link.place"
    try writer.execute(
      "UPDATE \(table) AS own SET \(target) = (SELECT \(later.value) AS value\(linkPosition) FROM \(later.links.name) AS link WHERE \(match) AND value IS NOT NULL ORDER BY \(order) LIMIT 1) WHERE \(rows)"
    )
    // Two kinds of links are lost: links that lead to no row, and all but the first link of a row, because the row can
    // hold only one reference. For a one-to-one relationship, agree(_:) reports the second kind.
    let isOther = place.inverse == nil ? " OR own.\(column) IS NOT (\(later.value))" : ""
    let others =
      "FROM \(later.links.name) AS link, \(table) AS own WHERE \(match) AND own.Z_ENT = \(place.entityNumber) AND link.near IS NOT NULL AND link.far IS NOT NULL AND ((\(later.value)) IS NULL\(isOther))"
    try note(
      place.entityName, place.propertyName, keys: "SELECT DISTINCT own.Z_PK \(others)",
      count: "SELECT count(*) \(others)")
  }

  /// Sets empty references of a one-to-one relationship from the inverse relationship. If row A refers to row B through
  /// the inverse, and B has no reference, B gets a reference to A. If several rows refer to B, B gets a reference to
  /// one of them, and the references of the other rows to B are cut.
  private func mirror(_ place: CopyCompiler.Place) throws {
    guard let inverse = place.inverse else { return }
    let (table, column) = try (SQLText.quoted(place.table), SQLText.quoted(place.column))
    let (far, back) = try (SQLText.quoted(inverse.table), SQLText.quoted(inverse.column))
    try writer.execute(
      "UPDATE \(table) AS own SET \(column) = (SELECT min(far.Z_PK) FROM \(far) AS far WHERE far.\(back) = own.Z_PK) WHERE own.Z_ENT = \(place.entityNumber) AND own.\(column) IS NULL AND own.Z_PK IN (SELECT far.\(back) FROM \(far) AS far)"
    )
    let reference = reference(inverse.column, in: inverse.table)
    try cutReferences(
      "FROM \(far) AS far, \(table) AS own WHERE own.Z_PK = far.\(back) AND own.Z_ENT = \(place.entityNumber) AND own.\(column) IS NOT far.Z_PK",
      key: "far.Z_PK", of: inverse,
      (
        reference?.entityName ?? place.entityName, reference?.propertyName ?? place.propertyName
      ))
  }

  /// Checks the references of a one-to-one relationship in both directions. If the destination row does not refer back,
  /// sets the reference to NULL and reports it.
  private func agree(_ later: LaterReference) throws {
    let place = later.place
    guard let (table, column) = place.inverse else { return }
    for (one, other) in [
      ((table, column), (place.table, place.column)),
      ((place.table, place.column), (table, column)),
    ] {
      let (own, key) = try (SQLText.quoted(one.0), SQLText.quoted(one.1))
      let (far, back) = try (SQLText.quoted(other.0), SQLText.quoted(other.1))
      try cutReferences(
        "FROM \(own) AS own WHERE own.\(key) IS NOT NULL AND (SELECT far.\(back) FROM \(far) AS far WHERE far.Z_PK = own.\(key)) IS NOT own.Z_PK",
        key: "own.Z_PK", of: one, (place.entityName, place.propertyName))
    }
  }

  /// Cuts and reports the references in one column. The FROM clause `rows` returns the rows whose references are cut.
  /// `key` is the SQL expression for the primary key of such a row.
  private func cutReferences(
    _ rows: String, key: String, of place: (table: String, column: String),
    _ name: (entity: String, property: String)
  ) throws {
    guard
      try note(
        name.entity, name.property, keys: "SELECT \(key) \(rows)",
        count: "SELECT count(*) \(rows)")
    else { return }
    // The columns with the entity number of the destination and with the position are set to NULL, too.
    let reference = reference(place.column, in: place.table)
    let columns: [String?] = [place.column, reference?.entityColumn, reference?.orderColumn]
    let changes = try columns.compactMap { $0 }.map { "\(try SQLText.quoted($0)) = NULL" }
      .joined(separator: ", ")
    try writer.execute(
      "UPDATE \(SQLText.quoted(place.table)) SET \(changes) WHERE Z_PK IN (SELECT \(key) \(rows))")
  }

  private func reference(_ column: String, in table: String) -> Reference? {
    plan.references.first { $0.table == table && $0.column == column }
  }

  /// Adds to the report that references of the relationship `property` of `entity` are about to be set to NULL. `keys`:
  /// a query for the keys of the rows with these references. `count`: a query for the number of these references.
  /// Returns false if there are no such references.
  @discardableResult
  func note(_ entity: String, _ property: String, keys: String, count: String) throws -> Bool {
    let found = try writer.rows("\(keys) LIMIT \(Self.maxKeys)").compactMap { $0.first?.int64 }
    guard !found.isEmpty else { return false }
    let number = try writer.rows(count).first?.first?.int64 ?? 0
    cut.append(.init(entity: entity, property: property, count: Int(number), keys: found))
    return true
  }

  private func settle(_ reference: Reference) throws {
    let table = try SQLText.quoted(reference.table)
    let column = try SQLText.quoted(reference.column)
    let target = try SQLText.quoted(reference.destinationTable)
    func nowhere(_ key: String) -> String {
      "NOT EXISTS (SELECT 1 FROM \(target) AS far WHERE far.Z_PK = \(key) AND far.Z_ENT IN (\(reference.destinationNumbers)))"
    }
    let dangling =
      "FROM \(table) AS own WHERE own.\(column) IS NOT NULL AND \(nowhere("own.\(column)"))"
    // This query reads the distinct keys from the column's index, which is much faster than reading all rows.
    let firstLost =
      "SELECT 1 FROM (SELECT DISTINCT \(column) AS pk FROM \(table) WHERE \(column) IS NOT NULL) AS link WHERE \(nowhere("link.pk")) LIMIT 1"
    if try !writer.rows(firstLost).isEmpty {
      try cutReferences(
        dangling, key: "own.Z_PK", of: (reference.table, reference.column),
        (reference.entityName, reference.propertyName))
    }
    if let entityColumn = try reference.entityColumn.map({ try SQLText.quoted($0) }) {
      // The prefix `own.` is needed, because the destination's table may have a column with the same name.
      let actual = "(SELECT far.Z_ENT FROM \(target) AS far WHERE far.Z_PK = own.\(column))"
      try writer.execute(
        "UPDATE \(table) AS own SET \(entityColumn) = \(actual) WHERE own.\(column) IS NOT NULL AND own.\(entityColumn) IS NOT \(actual)"
      )
    }
    guard reference.isDemanded else { return }
    let empty =
      "FROM \(table) AS own WHERE own.\(column) IS NULL AND own.Z_ENT IN (\(reference.ownNumbers))"
    if let count = try writer.rows("SELECT count(*) \(empty)").first?.first?.int64, count > 0 {
      broken.append(
        "\(counted(count, "row")) of \(reference.entityName) in the new store \(count == 1 ? "has" : "have") no "
          + "\(reference.propertyName), a relationship that the model requires"
      )
    }
  }

  private func settle(_ join: TableLayout.JoinTable) throws {
    let layout = plan.destination
    guard let near = layout.table(of: join.ownerName)?.name,
      let far = layout.table(of: join.relationship.destinationEntityName)?.name
    else { return }
    let table = try SQLText.quoted(join.name)
    let owner = try "link." + SQLText.quoted(join.ownerColumn)
    let destination = try "link." + SQLText.quoted(join.destinationColumn)
    // A row of the same table whose entity does not fit the relationship is not a valid end of a link.
    let nearEnd = try
      "SELECT 1 FROM \(SQLText.quoted(near)) AS own WHERE own.Z_PK = \(owner) AND own.Z_ENT IN (\(layout.numberList(of: join.ownerName)))"
    let farEnd = try
      "SELECT 1 FROM \(SQLText.quoted(far)) AS far WHERE far.Z_PK = \(destination) AND far.Z_ENT IN (\(layout.numberList(of: join.relationship.destinationEntityName)))"
    let dangling =
      "FROM \(table) AS link WHERE NOT EXISTS (\(nearEnd)) OR NOT EXISTS (\(farEnd))"
    if try note(
      join.ownerName, join.relationship.name, keys: "SELECT \(owner) \(dangling)",
      count: "SELECT count(*) \(dangling)")
    {
      try writer.execute("DELETE \(dangling)")
    }
  }
}
