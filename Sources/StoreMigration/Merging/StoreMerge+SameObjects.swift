import CoreDataStore
import ObjectModel
import SQLiteWriter

// Objects that both stores have.
extension StoreMerge {
  /// How often rows are matched by content once the rows that they lead to are matched. A chain of objects that is
  /// longer ends unmatched: the rest is added.
  private static let maxRounds = 100

  /// Matches rows with the same unique values: first by attributes, then also by what a row leads to.
  func matchUniqueValues() throws {
    for onlyAttributes in [true, false] {
      for table in layout.tables {
        for entity in table.entityNames {
          for constraint in layout.model.entities[entity]?.uniquenessConstraints ?? [] {
            let columns = constraint.compactMap { layout.column(of: $0, in: entity) }
            guard columns.count == constraint.count, !columns.isEmpty,
              columns.allSatisfy({ destination(of: $0) == nil }) == onlyAttributes
            else { continue }
            try match(columns, of: entity, in: table)
          }
        }
      }
    }
  }

  private func match(
    _ columns: [TableLayout.Column], of entity: String, in table: TableLayout.Table
  ) throws {
    let equal = try columns.map { column in
      let name = try SQLText.quoted(column.name)
      let value =
        try destination(of: column).map { try key("far.\(name)", of: $0) } ?? "far.\(name)"
      return "own.\(name) = \(value)"
    }
    try writer.execute(
      """
      INSERT OR IGNORE INTO \(keys(of: table)) SELECT far.Z_PK, min(own.Z_PK), \
      \(Way.sameValues.rawValue) FROM \(other(table)) AS far JOIN \(own(table)) AS own \
      ON \(equal.joined(separator: " AND ")) WHERE far.Z_ENT IN (\(numbers(of: entity))) \
      AND own.Z_ENT IN (\(numbers(of: entity))) GROUP BY far.Z_PK
      """)
  }

  /// Matches rows whose attributes are equal and which lead to the same rows, where each store has one such row. A row
  /// waits until those that it leads to are matched, so that what is matched is matched as a whole.
  func matchContent() throws {
    for _ in 0..<Self.maxRounds {
      var found = 0
      for table in layout.tables { found += try matchContent(of: table) }
      if found == 0 { return }
    }
  }

  private func matchContent(of table: TableLayout.Table) throws -> Int {
    var own = ["0 AS side", "Z_PK AS pk", "Z_ENT AS v0"]
    var other = ["1", "Z_PK", "Z_ENT"]
    var isComplete: [String] = []
    for column in table.columns {
      let name = try SQLText.quoted(column.name)
      if case .attribute(let attribute) = column.role, !attribute.isDerived {
        other.append(name)
      } else if let far = destination(of: column), comparesReference(column) {
        let mapped = try key("far.\(name)", of: far)
        other.append(mapped)
        isComplete.append("(far.\(name) IS NULL OR \(mapped) IS NOT NULL)")
      } else {
        continue
      }
      own.append("\(name) AS v\(own.count - 2)")
    }
    let values = (2..<own.count).map { "v\($0 - 2)" }.joined(separator: ", ")
    let keys = try keys(of: table)
    let rest = isComplete.map { " AND \($0)" }.joined()
    try writer.execute(
      """
      INSERT INTO \(keys) SELECT max(CASE side WHEN 1 THEN pk END), max(CASE side WHEN 0 THEN pk END), \
      \(Way.sameContent.rawValue) FROM (SELECT \(own.joined(separator: ", ")) FROM \(self.own(table)) \
      WHERE Z_PK NOT IN (SELECT new FROM \(keys)) UNION ALL SELECT \(other.joined(separator: ", ")) \
      FROM \(self.other(table)) AS far WHERE Z_PK NOT IN (SELECT old FROM \(keys))\(rest)) \
      GROUP BY \(values) HAVING sum(side = 0) = 1 AND sum(side = 1) = 1
      """)
    return writer.changeCount
  }

  /// Whether a key is part of a row's content. Of a relationship between two objects, one side is: each would wait for
  /// the other.
  private func comparesReference(_ column: TableLayout.Column) -> Bool {
    guard case .toOne(let relationship) = column.role,
      let inverse = TableLayout.inverse(of: relationship, in: layout.model), !inverse.isToMany
    else { return true }
    return (column.entityName, relationship.name)
      < (relationship.destinationEntityName, inverse.name)
  }

  // MARK: - Values

  /// The attributes that an object may get from the other store: all but those by which it was recognised.
  private func givenAttributes(of table: TableLayout.Table) -> [String] {
    let unique = Set(
      table.entityNames.flatMap { name in
        (layout.model.entities[name]?.uniquenessConstraints ?? []).flatMap { $0 }
          .compactMap { layout.column(of: $0, in: name)?.name }
      })
    return attributes(of: table).map(\.name).filter { !unique.contains($0) }
  }

  /// The rows of this store that have one in the other with the same unique values, the first if there are several, as
  /// SQL after FROM.
  private func pairs(_ table: TableLayout.Table) throws -> String {
    "(SELECT new, min(old) AS old FROM \(try keys(of: table)) WHERE how = \(Way.sameValues.rawValue) GROUP BY new) AS pair JOIN \(try other(table)) AS far ON far.Z_PK = pair.old"
  }

  /// Gives the objects of this store the values that the policy takes from the other one.
  func update(_ table: TableLayout.Table) throws {
    let changes = try givenAttributes(of: table).map { column in
      let name = try SQLText.quoted(column)
      return policy.duplicates == .fill
        ? "\(name) = ifnull(own.\(name), far.\(name))"
        : "\(name) = ifnull(far.\(name), own.\(name))"
    }
    guard !changes.isEmpty else { return }
    try writer.execute(
      "UPDATE \(own(table)) AS own SET \(changes.joined(separator: ", ")) FROM \(pairs(table)) WHERE own.Z_PK = pair.new AND own.Z_ENT = far.Z_ENT"
    )
  }

  /// Puts present rows whose values are about to be replaced into the file of rejects. Returns how many they are.
  func tellReplaced() throws -> Int {
    var count = 0
    for table in layout.tables {
      let flags = try givenAttributes(of: table).map { column in
        let name = try SQLText.quoted(column)
        return (
          column,
          "(far.\(name) IS NOT NULL AND own.\(name) IS NOT NULL AND own.\(name) IS NOT far.\(name))"
        )
      }
      count += try tell(
        "own", of: table, flags,
        from:
          "\(pairs(table)) JOIN \(own(table)) AS own ON own.Z_PK = pair.new AND own.Z_ENT = far.Z_ENT"
      ) { key, names in "row \(key) of the old store replaces its values: \(names)" }
    }
    return count
  }

  /// Puts old rows into the file of rejects that are in the new store as a present row, with a value that this one does
  /// not have. Returns how many they are.
  func tellDifferences() throws -> Int {
    var count = 0
    for table in layout.tables {
      var flags: [(String, String)] = []
      for column in table.columns {
        let name = try SQLText.quoted(column.name)
        var value = "far.\(name)"
        if case .attribute(let attribute) = column.role {
          if attribute.isDerived { continue }
        } else if let far = destination(of: column) {
          value = try key(value, of: far)
        } else {
          continue
        }
        flags.append((column.name, "(far.\(name) IS NOT NULL AND own.\(name) IS NOT \(value))"))
      }
      count += try tell(
        "far", of: table, flags,
        from:
          "\(keys(of: table)) AS pair JOIN \(other(table)) AS far ON far.Z_PK = pair.old JOIN \(own(table)) AS own ON own.Z_PK = pair.new AND pair.how = \(Way.sameValues.rawValue)"
      ) { key, names in
        "row \(key) of the present store has its unique values, and others here: \(names)"
      }
    }
    return count
  }

  /// Puts the rows `side` for which one of the flags holds into the file of rejects.
  private func tell(
    _ side: String, of table: TableLayout.Table, _ flags: [(column: String, sql: String)],
    from rows: String, _ reason: (_ key: Int64, _ columns: String) -> String
  ) throws -> Int {
    guard !flags.isEmpty else { return 0 }
    let columns = columnNames(of: table)
    let listed = try columns.map { "\(side)." + (try SQLText.quoted($0)) }
    let selected = (flags.map(\.sql) + listed).joined(separator: ", ")
    let statement = try writer.prepare(
      "SELECT \(side == "own" ? "far" : "own").Z_PK, \(selected) FROM \(rows) WHERE \(flags.map(\.sql).joined(separator: " OR ")) ORDER BY \(side).Z_PK"
    )
    defer { statement.finalize() }
    var count = 0
    while try statement.step() {
      let row = statement.row
      let names = flags.indices.filter { row[$0 + 1] == .integer(1) }.map { flags[$0].column }
      try rejects.add(
        Array(row[(flags.count + 1)...]), columns, layout,
        reason(statement.integer(at: 0), names.joined(separator: ", ")))
      count += 1
    }
    return count
  }
}
