import CoreDataStore
import ObjectModel
import SQLiteWriter

// Finds the objects that are in both stores.
extension StoreMerge {
  /// The maximum number of matching rounds in a pass. A round matches the rows whose references lead to rows that are
  /// already matched. So a row at the end of a longer chain of references is not matched, but added as a new row.
  private static let maxRounds = 1_000
  /// The maximum number of passes that match the rows of two stores. A pass is repeated if it has matched rows with
  /// equal content whose references lead to different objects. The next pass no longer matches these rows by content.
  private static let maxPasses = 20
  private static let apart = "\(schema).\"kept apart\""

  /// Finds the objects that are in both stores. Returns notes for the report, one sentence each.
  func matchObjects() throws -> [String] {
    try writer.execute(
      "CREATE TABLE \(Self.apart) (place INTEGER, old INTEGER, PRIMARY KEY (place, old)) WITHOUT ROWID"
    )
    for pass in 1...Self.maxPasses {
      let isComplete = try matchInRounds(byContent: pass < Self.maxPasses)
      let apart = policy.matchesEqualContent ? try keepApart() : 0
      guard apart > 0 else {
        var notes: [String] = []
        if !isComplete {
          notes.append(
            "objects at the end of more than \(Self.maxRounds) relationships in a row were not matched; they are added as new objects"
          )
        }
        if pass == Self.maxPasses {
          notes.append(
            "objects whose relationships form a circle were not matched by their content")
        }
        return notes
      }
      for table in layout.tables { try writer.execute("DELETE FROM \(keys(of: table))") }
    }
    return []
  }

  /// Matches the objects of the two stores. First uses the uniqueness constraints that contain only attributes, and
  /// then works in rounds. Rounds are needed because a row can be matched only after the rows that its references lead
  /// to. Each round uses the other uniqueness constraints and, if `byContent` and the policy allow it, equal content.
  /// Returns false if even the last round matched rows, so that further rounds could match more.
  private func matchInRounds(byContent: Bool) throws -> Bool {
    try matchUniqueValues(onlyAttributes: true)
    for _ in 0..<Self.maxRounds {
      var found = try matchUniqueValues(onlyAttributes: false)
      if policy.matchesEqualContent, byContent {
        for table in layout.tables { found += try matchContent(of: table) }
      }
      if found == 0 { return true }
    }
    return false
  }

  /// Matches rows of the two stores that have the same values in a uniqueness constraint. Returns the number of matched
  /// rows. `onlyAttributes`: whether to use the constraints that contain only attributes, or those that contain a
  /// relationship.
  @discardableResult
  private func matchUniqueValues(onlyAttributes: Bool) throws -> Int {
    var found = 0
    for table in layout.tables {
      for entity in table.entityNames {
        for constraint in layout.model.entities[entity]?.uniquenessConstraints ?? [] {
          let columns = constraint.compactMap { layout.column(of: $0, in: entity) }
          guard columns.count == constraint.count, !columns.isEmpty,
            columns.allSatisfy({ destination(of: $0) == nil }) == onlyAttributes
          else { continue }
          found += try match(columns, of: entity, in: table)
        }
      }
    }
    return found
  }

  private func match(
    _ columns: [TableLayout.Column], of entity: String, in table: TableLayout.Table
  ) throws -> Int {
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
      ON \(SQLText.joined(equal, by: "AND")) WHERE far.Z_ENT IN (\(layout.numberList(of: entity))) \
      AND own.Z_ENT IN (\(layout.numberList(of: entity))) \
      AND far.Z_PK NOT IN (SELECT old FROM \(keys(of: table))) GROUP BY far.Z_PK
      """)
    return writer.changeCount
  }

  /// Matches rows of the two stores by content. Two rows match if their attributes are equal and their references lead
  /// to matched rows, and if no other row of either store has this content. A row of the other store that names an
  /// external file is never matched. Returns the number of rows that were matched.
  private func matchContent(of table: TableLayout.Table) throws -> Int {
    var own = ["0 AS side", "Z_PK AS pk", "Z_ENT AS v0"]
    var other = ["1", "Z_PK", "Z_ENT"]
    let place = layout.tables.firstIndex(of: table) ?? 0
    var conditions = [
      "Z_PK NOT IN (SELECT old FROM \(Self.apart) WHERE place = \(place))"
    ]
    for column in table.columns {
      let name = try SQLText.quoted(column.name)
      if case .attribute(let attribute) = column.role, !attribute.isDerived {
        other.append(name)
        if attribute.allowsExternalBinaryDataStorage {
          conditions.append("(far.\(name) IS NULL OR NOT \(Self.namesFile("far." + name)))")
        }
      } else if let far = destination(of: column), comparesReference(column) {
        let mapped = try key("far.\(name)", of: far)
        other.append(mapped)
        conditions.append("(far.\(name) IS NULL OR \(mapped) IS NOT NULL)")
      } else {
        continue
      }
      own.append("\(name) AS v\(own.count - 2)")
    }
    let values = (2..<own.count).map { "v\($0 - 2)" }.joined(separator: ", ")
    let keys = try keys(of: table)
    let rest = conditions.map { " AND \($0)" }.joined()
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

  /// Finds the pairs of rows that were matched by equal content, but whose references lead to different objects.
  /// Excludes the row of the other store from later matching by content. Returns the number of these rows.
  private func keepApart() throws -> Int {
    var found = 0
    for (place, table) in layout.tables.enumerated() {
      let differs = try table.columns.compactMap { column -> String? in
        guard let far = destination(of: column) else { return nil }
        let name = try SQLText.quoted(column.name)
        return
          "((far.\(name) IS NULL) <> (own.\(name) IS NULL) OR own.\(name) IS NOT \(try key("far.\(name)", of: far)))"
      }
      guard !differs.isEmpty else { continue }
      try writer.execute(
        """
        INSERT OR IGNORE INTO \(Self.apart) SELECT \(place), pair.old FROM \(keys(of: table)) AS pair \
        JOIN \(other(table)) AS far ON far.Z_PK = pair.old JOIN \(own(table)) AS own ON own.Z_PK = pair.new \
        WHERE pair.how = \(Way.sameContent.rawValue) AND (\(SQLText.joined(differs, by: "OR")))
        """)
      found += writer.changeCount
    }
    return found
  }

  /// Whether the reference in a column is included when the contents of two rows are compared. In a one-to-one
  /// relationship, only the reference of one side is included. With both, each of the two related rows could be matched
  /// only after the other.
  private func comparesReference(_ column: TableLayout.Column) -> Bool {
    guard case .toOne(let relationship) = column.role,
      let inverse = TableLayout.inverse(of: relationship, in: layout.model), !inverse.isToMany
    else { return true }
    return (column.entityName, relationship.name)
      < (relationship.destinationEntityName, inverse.name)
  }

  // MARK: - Values

  /// The names of the columns whose values the merge may copy from the other store into a matched row of the present
  /// store. Attributes in uniqueness constraints are left out, because rows were matched by them.
  private func givenAttributes(of table: TableLayout.Table) -> [String] {
    let unique = Set(
      table.entityNames.flatMap { name in
        (layout.model.entities[name]?.uniquenessConstraints ?? []).flatMap { $0 }
          .compactMap { layout.column(of: $0, in: name)?.name }
      })
    return attributes(of: table).map(\.name).filter { !unique.contains($0) }
  }

  /// Returns a subquery with the pairs of rows that have the same values in a uniqueness constraint. The column `new`
  /// is the key of the row in this store. The column `old` is the key of the row in the other store, or the lowest key
  /// if there are several.
  private func pairs(_ table: TableLayout.Table) throws -> String {
    "(SELECT new, min(old) AS old FROM \(try keys(of: table)) WHERE how = \(Way.sameValues.rawValue) GROUP BY new)"
  }

  /// Changes the attributes of present objects, as ``MergePolicy/duplicates`` demands. The new values come from the old
  /// object that has the same values in a uniqueness constraint as the present object.
  func update(_ table: TableLayout.Table) throws {
    let changes = try givenAttributes(of: table).map { column in
      let name = try SQLText.quoted(column)
      return policy.duplicates == .fill
        ? "\(name) = ifnull(own.\(name), far.\(name))"
        : "\(name) = ifnull(far.\(name), own.\(name))"
    }
    guard !changes.isEmpty else { return }
    try writer.execute(
      "UPDATE \(own(table)) AS own SET \(changes.joined(separator: ", ")) FROM \(pairs(table)) AS pair JOIN \(other(table)) AS far ON far.Z_PK = pair.old WHERE own.Z_PK = pair.new AND own.Z_ENT = far.Z_ENT"
    )
  }

  /// Adds to the file of rejects each present row in which the merge will replace a value. Returns the number of these
  /// rows.
  func tellReplaced() throws -> Int {
    try layout.tables.reduce(0) { count, table in
      let given = Set(givenAttributes(of: table))
      return count
        + (try forEachPair(of: table, "SELECT old, new FROM \(pairs(table)) ORDER BY new") {
          far, own, columns in
          guard far[1] == own[1] else { return false }
          let lost = columns.indices.filter {
            given.contains(columns[$0]) && far[$0] != .null && own[$0] != .null
              && far[$0] != own[$0]
          }
          guard !lost.isEmpty else { return false }
          try rejects.add(
            own, columns, layout,
            "replaced by the values of row \(far[0].int64 ?? 0) of the old store: \(lost.map { columns[$0] }.joined(separator: ", "))",
            store: "present")
          return true
        })
    }
  }

  /// Adds to the file of rejects each old row that has the same values as a present row in a uniqueness constraint, but
  /// differs from the present row in another value. Returns the number of these rows.
  func tellDifferences() throws -> Int {
    try layout.tables.reduce(0) { count, table in
      let attributes = Set(attributes(of: table).map(\.name))
      let leads = Dictionary(
        uniqueKeysWithValues: table.columns.compactMap { column in
          destination(of: column).map { (column.name, $0) }
        })
      return count
        + (try forEachPair(
          of: table,
          "SELECT old, new FROM \(keys(of: table)) WHERE how = \(Way.sameValues.rawValue) ORDER BY old"
        ) { far, own, columns in
          let lost = try columns.indices.filter { place in
            guard far[place] != .null else { return false }
            if let destination = leads[columns[place]] {
              return try newKey(of: far[place], in: destination) != own[place]
            }
            return attributes.contains(columns[place]) && far[place] != own[place]
          }
          guard !lost.isEmpty else { return false }
          try rejects.add(
            far, columns, layout,
            "a row of the present store has the same unique values, but differs in: "
              + "\(lost.map { columns[$0] }.joined(separator: ", ")) (row \(own[0].int64 ?? 0))"
          )
          return true
        })
    }
  }

  private func newKey(of old: SQLiteValue, in table: TableLayout.Table) throws -> SQLiteValue {
    try writer.rows("SELECT new FROM \(keys(of: table)) WHERE old = ?1", [old]).first?.first
      ?? .null
  }

  /// Calls `body` with the two matched rows of each pair. `far` is the row in the other store, and `own` is the row in
  /// this store. Returns the number of calls in which `body` returned true.
  private func forEachPair(
    of table: TableLayout.Table, _ pairs: String,
    _ body: (_ far: [SQLiteValue], _ own: [SQLiteValue], _ columns: [String]) throws -> Bool
  ) throws -> Int {
    let columns = table.columnNames
    let listed = try columns.map { try SQLText.quoted($0) }.joined(separator: ", ")
    let far = try writer.prepare("SELECT \(listed) FROM \(other(table)) WHERE Z_PK = ?1")
    let own = try writer.prepare("SELECT \(listed) FROM \(self.own(table)) WHERE Z_PK = ?1")
    let statement = try writer.prepare(pairs)
    defer { for each in [far, own, statement] { each.finalize() } }
    func row(_ statement: SQLiteStatement, _ key: SQLiteValue) throws -> [SQLiteValue]? {
      try statement.bind([key])
      defer { statement.reset() }
      return try statement.step() ? statement.row : nil
    }
    var count = 0
    while try statement.step() {
      guard let one = try row(far, statement.value(at: 0)),
        let other = try row(own, statement.value(at: 1))
      else { continue }
      if try body(one, other, columns) { count += 1 }
    }
    return count
  }
}
