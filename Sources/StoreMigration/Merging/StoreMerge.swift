import CoreDataStore
import ManagedObjects
import ObjectModel
import SQLiteWriter
import StoreExtraction
import StoreFiles

/// Merges the rows of one new store, called the other store, into a second new store of the same model, called this
/// store. The work is done in SQL, on two files that this run has made. The other store is attached as ``schema``, gets
/// some helper tables, and is discarded afterwards.
struct StoreMerge {
  /// The schema name of the other store, which is attached to the connection of this store.
  static let schema = "other"

  /// What a merge does with a row of the other store. The raw value is in the column `how` of the helper tables
  /// (``keys(of:)``).
  enum Way: Int {
    /// The row of the other store is added to this store, with a new key.
    case added = 0
    /// Not added, because this store already has a row with the same values in a uniqueness constraint.
    case sameValues = 1
    /// Not added, because this store already has a row with the same content.
    case sameContent = 2
  }

  let layout: TableLayout
  let policy: MergePolicy
  let writer: SQLiteWriter
  let rejects: RejectedRows
  /// The highest key that was ever assigned in each table of this store, keyed by table name.
  let highestKeys: [String: Int64]
  /// The external files of this store.
  let present: ExternalFiles
  /// The external files of the other store, which is merged into this store.
  let old: ExternalFiles
  private(set) var report: MigrationReport.Merge

  init(
    _ layout: TableLayout, _ policy: MergePolicy, _ writer: SQLiteWriter, _ rejects: RejectedRows,
    highestKeys: [String: Int64], into path: String, files present: ExternalFiles,
    _ old: ExternalFiles
  ) {
    self.layout = layout
    self.policy = policy
    self.writer = writer
    self.rejects = rejects
    self.highestKeys = highestKeys
    self.present = present
    self.old = old
    report = .init(into: path, duplicates: policy.duplicates)
  }

  /// Runs the merge. `copy`: the run that has written the rows of the present store into the new store. After the rows
  /// are merged, `copy` also cuts the references that lead to no row.
  mutating func run(_ copy: CopyRun) throws {
    let cutCount = copy.cut.count
    for table in layout.tables {
      try writer.execute(
        "CREATE TABLE \(keys(of: table)) (old INTEGER PRIMARY KEY, new INTEGER NOT NULL, how INTEGER NOT NULL)"
      )
    }
    try giveFilesNames()
    report.notes += try matchObjects()
    try handOutKeys()
    try giveAddedFilesNames()
    if policy.duplicates == .replace { report.replacedCount = try tellReplaced() }
    for table in layout.tables { try insert(into: table) }
    for table in layout.tables { try rejectRest(of: table) }
    if policy.duplicates != .keep { for table in layout.tables { try update(table) } }
    for join in layout.joinTables { try insert(into: join) }
    try agree(copy)
    try copy.cutDanglingReferences()
    report.differingCount = try tellDifferences()
    report.cut = Array(copy.cut[cutCount...])
    copy.cut.removeSubrange(cutCount...)
    try count()
    try settleFiles()
    noteDerived()
  }

  /// Adds a note for each entity whose present objects have derived attributes, if the merge has added or matched any
  /// objects. Core Data computes derived attributes only when it saves an object.
  private mutating func noteDerived() {
    guard report.entities.contains(where: { $0.addedCount + $0.sameValuesCount > 0 }) else {
      return
    }
    for name in report.entities.filter({ $0.presentCount > 0 }).map(\.name) {
      let derived = layout.model.entities[name]?.attributes.filter(\.isDerived).map(\.name) ?? []
      guard !derived.isEmpty else { continue }
      report.notes.append(
        "objects of the present store keep old derived values until the app saves the objects: "
          + "\(derived.sorted().joined(separator: ", ")) of \(name) \(derived.count == 1 ? "is" : "are") derived"
      )
    }
  }

  // MARK: - Names

  func own(_ table: TableLayout.Table) throws -> String {
    "main." + (try SQLText.quoted(table.name))
  }

  func other(_ table: TableLayout.Table) throws -> String {
    "\(Self.schema)." + (try SQLText.quoted(table.name))
  }

  /// Returns the quoted name of a helper table. The helper table maps the key of each row of `table` in the other store
  /// to the key in this store. No table of Core Data has such a name.
  func keys(of table: TableLayout.Table) throws -> String {
    "\(Self.schema)." + (try SQLText.quoted("keys of \(table.name)"))
  }

  /// Returns an SQL expression that gives the key of a row in this store. `old` is an SQL expression for the key of the
  /// row in the other store. The result is NULL if the helper table ``keys(of:)`` does not contain that key.
  func key(_ old: String, of table: TableLayout.Table) throws -> String {
    "(SELECT new FROM \(try keys(of: table)) WHERE old = \(old))"
  }

  /// Returns the table whose keys `column` stores; nil if `column` stores no keys.
  func destination(of column: TableLayout.Column) -> TableLayout.Table? {
    switch column.role {
    case .toOne(let relationship): layout.table(of: relationship.destinationEntityName)
    case .owner: layout.table(of: column.ownerName(in: layout))
    default: nil
    }
  }

  /// The columns of a table's attributes. Derived attributes are left out, because Core Data computes their values
  /// itself.
  func attributes(of table: TableLayout.Table) -> [(name: String, attribute: Attribute)] {
    table.columns.compactMap { column in
      guard case .attribute(let attribute) = column.role, !attribute.isDerived else { return nil }
      return (column.name, attribute)
    }
  }

  func highestKey(of table: TableLayout.Table) -> Int64 { highestKeys[table.name] ?? 0 }

  // MARK: - Rows

  /// Gives each row that will be added a new key, which is higher than all keys that were ever assigned in the row's
  /// table.
  private func handOutKeys() throws {
    for table in layout.tables {
      let highest = highestKey(of: table)
      let rest =
        "SELECT Z_PK FROM \(try other(table)) WHERE Z_PK NOT IN (SELECT old FROM \(try keys(of: table)))"
      guard
        case .integer(let count)? = try writer.rows("SELECT count(*) FROM (\(rest))").first?.first,
        highest <= Int64.max - count
      else {
        throw MigrationError(
          .presentStore,
          ["the present store has no keys left for new rows of \(table.rootEntityName)"])
      }
      try writer.execute(
        "INSERT INTO \(keys(of: table)) SELECT Z_PK, \(highest) + row_number() OVER (ORDER BY Z_PK), \(Way.added.rawValue) FROM (\(rest))"
      )
    }
  }

  /// Inserts into this store the rows of the other store that are to be added, with their new keys. Leaves out rows
  /// that break a uniqueness constraint.
  private func insert(into table: TableLayout.Table) throws {
    let leading = table.columns.compactMap { column in
      destination(of: column).map { (column: column, far: $0) }
    }
    /// Returns the index in `leading` of the column that has the role `role` for `column`: `column` itself, or the
    /// column of keys to which the positions in `column` belong.
    func place(_ role: TableLayout.Role, _ column: TableLayout.Column) -> Int? {
      let name = role == column.role ? column.name : layout.companion(of: column, role, in: table)
      return leading.firstIndex { $0.column.name == name }
    }
    var tops = ""
    var inner = ["keys.new AS k", "far.*"]
    for (index, reference) in leading.enumerated() {
      let old = try "far." + SQLText.quoted(reference.column.name)
      inner.append("\(try key(old, of: reference.far)) AS r\(index)")
    }
    var names = ["Z_PK", "Z_ENT", "Z_OPT"]
    var values = ["k", "Z_ENT", "Z_OPT"]
    for column in table.columns {
      let name = try SQLText.quoted(column.name)
      // A column that is set to NULL here gets its value after all rows are inserted.
      let (value, key): (String?, Int?) =
        switch column.role {
        case .attribute: (name, nil)
        case .toOne, .owner: (place(column.role, column).map { "r\($0)" }, nil)
        case .destinationEntity: (nil, nil)
        case .order(let relationship): (nil, place(.toOne(relationship), column))
        case .ownerOrder(let relationship): (nil, place(.owner(relationship), column))
        }
      names.append(name)
      if let key {
        let near = try SQLText.quoted(leading[key].column.name)
        values.append(position(of: name, among: "r\(key)", after: "top\(key)", then: "Z_PK"))
        tops += Self.tops("top\(key)", of: name, in: try own(table), by: near, is: "r\(key)")
      } else {
        values.append(value ?? "NULL")
      }
    }
    try writer.execute(
      """
      INSERT OR IGNORE INTO \(own(table)) (\(names.joined(separator: ", "))) \
      SELECT \(values.joined(separator: ", ")) FROM (SELECT \(inner.joined(separator: ", ")) \
      FROM \(other(table)) AS far JOIN \(keys(of: table)) AS keys ON keys.old = far.Z_PK \
      WHERE keys.how = \(Way.added.rawValue)) AS rows\(tops)
      """)
  }

  /// Returns an SQL expression for the position of an added row in an ordered relationship. The position is higher than
  /// all existing positions. The highest existing position is capped at 2^62, so that the addition does not overflow.
  private func position(of order: String, among key: String, after top: String, then next: String)
    -> String
  {
    "CASE WHEN \(key) IS NOT NULL THEN min(ifnull(\(top).place, 0), \(Int64(1) << 62)) + 1024 * row_number() OVER (PARTITION BY \(key) ORDER BY rows.\(order), \(next)) END"
  }

  /// Returns a LEFT JOIN clause for the highest position that is in use in an ordered relationship. The joined table is
  /// called `name`. Its column `place` is the highest position among the rows of `table` that refer to the row with the
  /// key `key`.
  ///
  /// `order`: the column of `table` with the positions.
  /// `column`: the column of `table` with the references.
  private static func tops(
    _ name: String, of order: String, in table: String, by column: String, is key: String
  ) -> String {
    " LEFT JOIN (SELECT \(column) AS owner, max(\(order)) AS place FROM \(table) WHERE \(column) IS NOT NULL GROUP BY \(column)) AS \(name) ON \(name).owner = \(key)"
  }

  /// Adds rows of the other store to the file of rejects. These rows could not be inserted, because another object has
  /// the same values in a uniqueness constraint.
  private mutating func rejectRest(of table: TableLayout.Table) throws {
    let columns = table.columnNames
    let listed = try columns.map { "far." + (try SQLText.quoted($0)) }.joined(separator: ", ")
    let statement = try writer.prepare(
      "SELECT \(listed) FROM \(other(table)) AS far JOIN \(keys(of: table)) AS keys ON keys.old = far.Z_PK WHERE keys.how = \(Way.added.rawValue) AND NOT EXISTS (SELECT 1 FROM \(own(table)) AS own WHERE own.Z_PK = keys.new)"
    )
    defer { statement.finalize() }
    while try statement.step() {
      try rejects.add(statement.row, columns, layout, "another object has the same unique values")
      report.rejectedCount += 1
    }
  }

  /// Adds the links of the other store's join table to this store. Each key of the other store is replaced by the key
  /// of the same object in this store.
  private func insert(into join: TableLayout.JoinTable) throws {
    guard let near = layout.table(of: join.ownerName),
      let far = layout.table(of: join.relationship.destinationEntityName)
    else { return }
    let name = try SQLText.quoted(join.name)
    let owner = try SQLText.quoted(join.ownerColumn)
    let destination = try SQLText.quoted(join.destinationColumn)
    var names = [owner, destination]
    var values = ["k0", "k1"]
    var tops = ""
    // A destination has its position among all destinations of the same owner, and an owner has its position among all
    // owners of the same destination.
    for (order, column, key) in [
      (join.ownerOrderColumn, destination, "k1"), (join.destinationOrderColumn, owner, "k0"),
    ] {
      guard let order = try order.map({ try SQLText.quoted($0) }) else { continue }
      names.append(order)
      values.append(position(of: order, among: key, after: "top\(key)", then: "k0, k1"))
      tops += Self.tops("top\(key)", of: order, in: "main.\(name)", by: column, is: key)
    }
    try writer.execute(
      """
      INSERT OR IGNORE INTO main.\(name) (\(names.joined(separator: ", "))) \
      SELECT \(values.joined(separator: ", ")) FROM (SELECT link.*, near.new AS k0, far.new AS k1 \
      FROM \(Self.schema).\(name) AS link JOIN \(keys(of: near)) AS near ON near.old = link.\(owner) \
      JOIN \(keys(of: far)) AS far ON far.old = link.\(destination)) AS rows\(tops)
      """)
  }

  /// Makes the two references of each one-to-one relationship agree after a merge. References of objects that were in
  /// this store before the merge stay. If an object without a reference is the destination of an added object, its
  /// reference is set to this added object. If an added object refers to an object that still does not refer to it, the
  /// reference of the added object is cut.
  private func agree(_ copy: CopyRun) throws {
    typealias End = (table: TableLayout.Table, column: TableLayout.Column, key: String)
    var sides: [(own: End, far: End, name: String)] = []
    for table in layout.tables {
      for column in table.columns {
        guard case .toOne(let relationship) = column.role,
          let inverse = TableLayout.inverse(of: relationship, in: layout.model), !inverse.isToMany,
          let far = layout.table(of: relationship.destinationEntityName),
          let back = far.columns.first(where: { $0.role == .toOne(inverse) })
        else { continue }
        sides.append(
          (
            (table, column, try SQLText.quoted(column.name)),
            (far, back, try SQLText.quoted(back.name)), relationship.name
          ))
      }
    }
    for (one, other, _) in sides {
      let added =
        "FROM \(try own(other.table)) AS far WHERE far.Z_PK > \(highestKey(of: other.table))"
      try writer.execute(
        """
        UPDATE \(own(one.table)) AS own SET \(one.key) = (SELECT min(far.Z_PK) \(added) \
        AND far.\(other.key) = own.Z_PK) WHERE own.\(one.key) IS NULL \
        AND own.Z_ENT IN (\(layout.numberList(of: one.column.entityName))) \
        AND own.Z_PK IN (SELECT far.\(other.key) \(added))
        """)
    }
    for (one, other, name) in sides {
      let lonely =
        "FROM \(try own(one.table)) AS own WHERE own.Z_PK > \(highestKey(of: one.table)) AND own.\(one.key) IS NOT NULL AND (SELECT far.\(other.key) FROM \(try own(other.table)) AS far WHERE far.Z_PK = own.\(one.key)) IS NOT own.Z_PK"
      try copy.note(
        one.column.entityName, name, keys: "SELECT own.Z_PK \(lonely)",
        count: "SELECT count(*) \(lonely)")
      try writer.execute(
        "UPDATE \(own(one.table)) SET \(one.key) = NULL WHERE Z_PK IN (SELECT own.Z_PK \(lonely))")
    }
  }

  // MARK: - Report

  private mutating func count() throws {
    for table in layout.tables {
      let present = try writer.rows(
        "SELECT Z_ENT, count(*) FROM \(own(table)) WHERE Z_PK <= \(highestKey(of: table)) GROUP BY Z_ENT"
      )
      let isAdded = "keys.how = \(Way.added.rawValue)"
      let merged = try writer.rows(
        """
        SELECT far.Z_ENT, sum(\(isAdded) AND own.Z_PK IS NOT NULL), sum(keys.how = \(Way.sameValues.rawValue)), \
        sum(keys.how = \(Way.sameContent.rawValue)), sum(\(isAdded) AND own.Z_PK IS NULL) \
        FROM \(other(table)) AS far JOIN \(keys(of: table)) AS keys ON keys.old = far.Z_PK \
        LEFT JOIN \(own(table)) AS own ON own.Z_PK = keys.new GROUP BY far.Z_ENT
        """)
      for number in table.entityNames.compactMap({ layout.numbering.number(of: $0) }) {
        func counts(_ rows: [[SQLiteValue]]) -> [Int] {
          rows.first { $0.first == .integer(number) }?.dropFirst().map { Int($0.int64 ?? 0) } ?? []
        }
        let (there, came) = (counts(present), counts(merged))
        guard !there.isEmpty || !came.isEmpty, let name = layout.numbering.name(of: number) else {
          continue
        }
        report.entities.append(
          .init(
            name: name, presentCount: there.first ?? 0, addedCount: came.first ?? 0,
            sameValuesCount: came.count > 1 ? came[1] : 0,
            sameContentCount: came.count > 2 ? came[2] : 0,
            rejectedCount: came.count > 3 ? came[3] : 0))
      }
    }
  }
}
