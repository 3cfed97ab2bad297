import ObjectModel
import CoreDataStore
import SQLiteWriter

// What is done when all rows are there.
extension CopyRun {
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
