package import CoreDataStore
import StoreFiles
package import SQLiteFile
import SafeText

/// The differences between two stores, row by row.
///
/// Tables and columns are compared by name. The two versions of a table with row ids are read side by side in key
/// order, so memory use stays constant. For a table without row ids, a checksum of each row is kept in memory.
package final class StoreComparison {
  /// The result of a comparison, without the rows themselves.
  package struct Report: Sendable, Codable {
    package var schema = "lifeboat.comparison"
    /// The version of the JSON form's schema; it only increases.
    package var version = 1
    package var old: Side
    package var new: Side
    /// Whether the two stores are equal in everything that was compared.
    package var isEqual = true
    package var schemaChanges: [SchemaChange] = []
    /// Differences in the metadata, the version hashes and the header.
    package var metadataChanges: [MetadataChange] = []
    /// The tables whose rows differ or could not be compared.
    package var tables: [TableDifference] = []
    package var addedCount = 0
    package var removedCount = 0
    /// The total number of rows, over all tables, that have the same key in both stores but different values.
    package var changedCount = 0
    /// The number of findings of damage in both stores together. Rows may differ only because of damage.
    package var damageCount = 0
  }

  /// Facts about one of the two stores that are compared.
  package struct Side: Sendable, Codable {
    package var path: String
    /// The size of the main file in bytes.
    package var sizeBytes: Int64
    package var pageSizeBytes: Int
    /// The size of the database in pages after the last commit.
    package var pageCount: UInt32
    /// The number of pages on the freelist, as the header states it.
    package var freePageCount: UInt32
  }

  package struct SchemaChange: Sendable, Codable, Equatable {
    /// What the difference is: `added`, `removed` or `changed`.
    package var change: String
    /// What differs: a `table`, `column`, `index`, `view` or `trigger`.
    package var type: String
    /// The name of the table, index, view or trigger. A column has the name of its table before its own, as in
    /// `ZNOTE.ZTITLE`.
    package var name: String
    /// The old CREATE statement, or the old declared type of a column; nil when ``change`` is `added`.
    package var old: String?
    /// The new CREATE statement, or the new declared type of a column; nil when ``change`` is `removed`.
    package var new: String?
  }

  package struct MetadataChange: Sendable, Codable, Equatable {
    /// The name of the metadata value that differs, such as `uuid` or `versionHash.Note`.
    package var name: String
    package var old: String?
    package var new: String?
  }

  package struct TableDifference: Sendable, Codable, Equatable {
    package var table: String
    package var addedCount = 0
    package var removedCount = 0
    /// The number of rows that have the same key in both stores but different values.
    package var changedCount = 0
    /// The number of the table's rows in the old store. If the comparison is limited to some entities, only their rows
    /// count.
    package var oldRowCount = 0
    /// The number of the table's rows in the new store. If the comparison is limited to some entities, only their rows
    /// count.
    package var newRowCount = 0
    /// Why the rows of the table were not compared; nil if the rows were compared.
    package var problem: String?

    var isEqual: Bool { addedCount + removedCount + changedCount == 0 && problem == nil }
  }

  /// A row that only one of the stores has, or whose values differ.
  package struct Row: Sendable {
    let change: RowChange
    package let table: String
    /// The name of the row's entity; nil for a row that belongs to no entity.
    package let entity: String?
    /// The columns that differ, with their positions in the old and the new row. If only one store has the row, all its
    /// columns are listed.
    let columns: [(name: String, old: Int?, new: Int?)]
    /// What the difference is: `added`, `removed` or `changed`.
    package var kind: String { change.kind.rawValue }
    /// The row id, which is the primary key of an entity's row; nil in a table without row ids.
    package var rowID: Int64? { change.rowID }
    package var columnNames: [String] { columns.map(\.name) }
  }

  package let old: CoreDataStore
  package let new: CoreDataStore
  /// A cache of the properties that columns hold, by store, table and entity.
  var columnFields: [ColumnOwner: [Int: RowPlan.Field]] = [:]
  private let entityNames: [String]?
  /// The names of the two stores in the report. The default is the paths that the initializer was given.
  package var names: (old: String, new: String)
  /// The numbers of the entities whose rows are compared, for each store; nil to compare all rows.
  private var wanted: (old: Set<Int64>, new: Set<Int64>)?

  /// The maximum number of rows of a WITHOUT ROWID table in the old store. A larger table is not compared, because the
  /// comparison takes about 64 bytes of memory for each row.
  static let keylessLimit = 2_000_000

  /// Opens both stores.
  ///
  /// - Parameters:
  ///   - oldPath: the first store.
  ///   - newPath: the second store.
  ///   - entityNames: names of entities or tables. Only the rows of these entities, of their descendants, and of these
  ///     tables are compared. If nil, all rows are compared.
  ///   - logView: which part of the write-ahead logs is read.
  /// - Throws: `SQLiteFileError` when a file cannot be opened or is not a database; ``ExtractionError`` for a name that
  ///   neither store has.
  package init(
    _ oldPath: String, _ newPath: String, entityNames: [String]? = nil,
    logView: SQLiteDatabase.LogView = .committed
  ) throws {
    old = try CoreDataStore(path: oldPath, logView: logView)
    new = try CoreDataStore(path: newPath, logView: logView)
    names = (oldPath, newPath)
    self.entityNames = entityNames
    guard let entityNames else { return }
    wanted = (old.numbers(ofEntities: entityNames), new.numbers(ofEntities: entityNames))
    for name in entityNames.sorted() {
      let isKnown = [old, new].contains { store in
        store.database.schema.table(named: name) != nil
          || store.entities.contains { store.entityName(ofNumber: $0.number) == name }
      }
      guard isKnown else {
        let known = [old, new].flatMap { store in
          store.database.schema.tables.map(\.name)
            + store.entities.map { store.entityName(ofNumber: $0.number) ?? $0.name }
        }
        throw ExtractionError(
          .unknownName, "neither store has an entity or table \(name)",
          path: new.database.path, nearest: NearestName.of(name, among: known))
      }
    }
  }

  /// Compares the stores and calls `receive` with each row that differs. If `receive` returns false, it is not called
  /// again, but the report still counts the remaining rows. Throws `SQLiteFileError` when the device fails.
  package func run(_ receive: (Row) -> Bool) throws -> Report {
    var report = Report(
      old: Side(old.database, names.old), new: Side(new.database, names.new))
    if entityNames == nil {
      report.schemaChanges = SchemaComparison.changes(old.database.schema, new.database.schema)
      report.metadataChanges = try MetadataComparison.changes(old, new)
    }
    var wantsRows = true
    for pair in pairs() {
      var difference = TableDifference(table: pair.name)
      try compare(pair, &difference) { row in
        if wantsRows { wantsRows = receive(row) }
      }
      report.addedCount += difference.addedCount
      report.removedCount += difference.removedCount
      report.changedCount += difference.changedCount
      if !difference.isEqual { report.tables.append(difference) }
    }
    report.damageCount = old.findings.damageCount + new.findings.damageCount
    report.isEqual =
      report.schemaChanges.isEmpty && report.metadataChanges.isEmpty && report.tables.isEmpty
    return report
  }

  /// The findings of each store, the old store first.
  package var findings: [(path: String, list: FindingList)] {
    [(old.database.path, old.findings), (new.database.path, new.findings)]
  }

  // MARK: - Tables

  /// The tables with the same name in the old and the new store. One of the two is nil if only one store has the table.
  private struct Pair {
    let name: String
    let old: Table?
    let new: Table?
    let entitiesOnly: Bool
  }

  private func pairs() -> [Pair] {
    let (one, other) = (old.database.schema, new.database.schema)
    var pairs = other.tables.map { table in
      Pair(name: table.name, old: one.table(named: table.name), new: table, entitiesOnly: false)
    }
    pairs += one.tables.filter { other.table(named: $0.name) == nil }.map {
      Pair(name: $0.name, old: $0, new: nil, entitiesOnly: false)
    }
    guard let entityNames else { return pairs }
    let names = Set(entityNames.map { SQLName($0) })
    let tables = Set((old.entityTables + new.entityTables).map { SQLName($0.name) })
    return pairs.compactMap { pair in
      let name = SQLName(pair.name)
      if names.contains(name) { return pair }
      guard tables.contains(name) else { return nil }
      return Pair(name: pair.name, old: pair.old, new: pair.new, entitiesOnly: true)
    }
  }

  private func compare(_ pair: Pair, _ difference: inout TableDifference, _ receive: (Row) -> Void)
    throws
  {
    let columns = ColumnPairs(pair.old, pair.new)
    let oldHasRowIDs = try pair.old.map { try old.database.hasRowIDs($0) }
    let newHasRowIDs = try pair.new.map { try new.database.hasRowIDs($0) }
    if let oldHasRowIDs, let newHasRowIDs, oldHasRowIDs != newHasRowIDs {
      difference.problem = "only one of the two tables has row ids"
      return
    }
    guard oldHasRowIDs ?? newHasRowIDs ?? true else {
      return try compareKeyless(pair, columns, &difference, receive)
    }
    let from = try pair.old.map { try RowCursor(of: $0, in: old.database) }
    let to = try pair.new.map { try RowCursor(of: $0, in: new.database) }
    var counted = difference
    var others = (old: 0, new: 0)
    let isEqual: (ComparedRow, ComparedRow) -> Bool = { one, other in
      if pair.entitiesOnly {
        if !self.isWanted(one, in: self.old, columns) { others.old += 1 }
        if !self.isWanted(other, in: self.new, columns) { others.new += 1 }
      }
      return columns.common(of: one, other).allSatisfy {
        self.isSame(one, $0.old, other, $0.new, columns)
      }
    }
    let counts = try RowChange.forEach(from: from, to: to, isEqual: isEqual) { change in
      let entity = self.entity(of: change, in: pair, columns)
      if pair.entitiesOnly {
        let isWanted = (
          old: change.old.map { self.isWanted($0, in: self.old, columns) } ?? false,
          new: change.new.map { self.isWanted($0, in: self.new, columns) } ?? false
        )
        if change.kind == .removed, !isWanted.old { others.old += 1 }
        if change.kind == .added, !isWanted.new { others.new += 1 }
        guard isWanted.old || isWanted.new else { return true }
      }
      switch change.kind {
      case .added: counted.addedCount += 1
      case .removed: counted.removedCount += 1
      case .changed: counted.changedCount += 1
      }
      receive(
        Row(
          change: change, table: pair.name, entity: entity, columns: self.differing(change, columns)
        ))
      return true
    }
    difference = counted
    difference.oldRowCount = counts.old - others.old
    difference.newRowCount = counts.new - others.new
    if let from { old.database.add(from.findings) }
    if let to { new.database.add(to.findings) }
  }

  /// Compares whole rows of a WITHOUT ROWID table. A row with a changed value counts as one removed and one added row.
  private func compareKeyless(
    _ pair: Pair, _ columns: ColumnPairs, _ difference: inout TableDifference,
    _ receive: (Row) -> Void
  ) throws {
    func tell(_ change: RowChange) {
      receive(
        Row(change: change, table: pair.name, entity: nil, columns: differing(change, columns)))
    }
    var rows: [RowSum: Int] = [:]
    var oldCount = 0
    var newCount = 0
    if let table = pair.old {
      try old.database.forEachComparedRow(of: table) { row in
        oldCount += 1
        rows[RowSum(columns.common(of: row).lazy.map { row.values[safe: $0.old] }), default: 0] += 1
        return oldCount <= Self.keylessLimit
      }
    }
    guard oldCount <= Self.keylessLimit else {
      difference.problem =
        "the table has no row ids and more than \(Self.keylessLimit) rows, too many to compare"
      return
    }
    var added = 0
    if let table = pair.new {
      try new.database.forEachComparedRow(of: table) { row in
        newCount += 1
        let key = RowSum(columns.common(of: row).lazy.map { row.values[safe: $0.new] })
        if let count = rows[key], count > 0 {
          rows[key] = count == 1 ? nil : count - 1
        } else {
          added += 1
          tell(RowChange(old: nil, new: row))
        }
        return true
      }
    }
    if let table = pair.old, !rows.isEmpty {
      try old.database.forEachComparedRow(of: table) { row in
        let key = RowSum(columns.common(of: row).lazy.map { row.values[safe: $0.old] })
        guard let count = rows[key], count > 0 else { return true }
        rows[key] = count == 1 ? nil : count - 1
        tell(RowChange(old: row, new: nil))
        difference.removedCount += 1
        return true
      }
    }
    difference.addedCount = added
    difference.oldRowCount = oldCount
    difference.newRowCount = newCount
  }

  // MARK: - Rows

  /// Whether two values are equal. For two entity numbers, the names of the entities are compared, because two versions
  /// of a model may number an entity differently.
  private func isSame(
    _ one: ComparedRow, _ oldPlace: Int, _ other: ComparedRow, _ newPlace: Int,
    _ columns: ColumnPairs
  ) -> Bool {
    let (left, right) = (one.values[safe: oldPlace], other.values[safe: newPlace])
    if oldPlace == columns.oldEntity, newPlace == columns.newEntity,
      let name = name(left, in: old), let otherName = self.name(right, in: new)
    {
      return ExactText.isSame(name, otherName)
    }
    return left == right
  }

  private func differing(_ change: RowChange, _ columns: ColumnPairs) -> [(
    name: String, old: Int?, new: Int?
  )] {
    switch (change.old, change.new) {
    case (let one?, let other?):
      columns.common(of: one, other).filter { !isSame(one, $0.old, other, $0.new, columns) }
        .map { ($0.name, $0.old, $0.new) }
    case (let one?, nil):
      one.values.indices.map { (columns.oldNames[safe: $0] ?? "column \($0 + 1)", $0, nil) }
    case (nil, let other?):
      other.values.indices.map { (columns.newNames[safe: $0] ?? "column \($0 + 1)", nil, $0) }
    case (nil, nil): []
    }
  }

  /// Returns the name of the entity with the number `value`; nil if no entity has this number, or if `table` is that of
  /// other entities.
  private func name(
    _ value: ComparedValue, of table: Table? = nil, in store: CoreDataStore
  ) -> String? {
    guard case .stored(.integer(let number)) = value else { return nil }
    let entities = table.map { store.records(in: $0) } ?? []
    guard entities.isEmpty || entities.contains(where: { $0.number == number }) else { return nil }
    return store.entityName(ofNumber: number)
  }

  private func entity(of change: RowChange, in pair: Pair, _ columns: ColumnPairs) -> String? {
    if let row = change.new, let place = columns.newEntity {
      return name(row.values[safe: place], of: pair.new, in: new)
    }
    if let row = change.old, let place = columns.oldEntity {
      return name(row.values[safe: place], of: pair.old, in: old)
    }
    return nil
  }

  private func isWanted(_ row: ComparedRow, in store: CoreDataStore, _ columns: ColumnPairs) -> Bool
  {
    guard let wanted else { return true }
    let isOld = store === old
    guard let place = isOld ? columns.oldEntity : columns.newEntity,
      case .stored(.integer(let number)) = row.values[safe: place]
    else { return false }
    return (isOld ? wanted.old : wanted.new).contains(number)
  }
}

/// A dictionary key for a row of a WITHOUT ROWID table: two seeded hashes of the row's values.
private struct RowSum: Hashable {
  private let first: Int
  private let second: Int

  init(_ values: some Sequence<ComparedValue>) {
    var one = Hasher()
    var other = Hasher()
    other.combine(1)
    for value in values {
      one.combine(value)
      other.combine(value)
    }
    first = one.finalize()
    second = other.finalize()
  }
}

/// The columns of the old and the new form of a table, paired by name.
struct ColumnPairs {
  private let pairs: [(name: String, old: Int, new: Int)]
  /// Whether the columns of the two tables are paired by position, because the column names are not known.
  private let isByPosition: Bool
  let oldNames: [String]
  let newNames: [String]
  /// The position of the column Z_ENT, which holds the entity number, in the old table; nil without that column.
  let oldEntity: Int?
  let newEntity: Int?

  init(_ old: Table?, _ new: Table?) {
    oldNames = old?.columnNames ?? []
    newNames = new?.columnNames ?? []
    oldEntity = Self.entityColumn(oldNames)
    newEntity = Self.entityColumn(newNames)
    let (one, other) = (old ?? new, new ?? old)
    isByPosition = one?.definition == nil || other?.definition == nil
    guard !isByPosition else {
      pairs = Self.byPosition
      return
    }
    let positions = Dictionary(
      firstOf: (one?.columnNames ?? []).enumerated().map { (SQLName($1), $0) })
    pairs = (other?.columnNames ?? []).enumerated().compactMap { index, name in
      positions[SQLName(name)].map { (name, $0, index) }
    }
  }
}

extension ColumnPairs {
  /// Pairs that match the columns of two versions of a table by position, for tables whose column names are not known.
  /// There are as many pairs as SQLite allows columns.
  private static let byPosition = (0..<32_767).map {
    (name: "column \($0 + 1)", old: $0, new: $0)
  }

  /// Returns the pairs of columns in which two rows are compared. If columns are paired by position, the pairs end with
  /// the last column in which at least one of the rows is not NULL.
  func common(of one: ComparedRow, _ other: ComparedRow? = nil) -> ArraySlice<
    (name: String, old: Int, new: Int)
  > {
    guard isByPosition else { return pairs[...] }
    return pairs.prefix(max(one.values.width, other?.values.width ?? 0))
  }

  /// Returns the position of the column Z_ENT, which holds the entity number of each row in the table of an entity.
  /// Returns nil for a table without Z_PK, such as Z_PRIMARYKEY, where Z_ENT has another meaning.
  private static func entityColumn(_ names: [String]) -> Int? {
    guard names.contains(where: { SQLName.isSame($0, "Z_PK") }) else { return nil }
    return names.firstIndex { SQLName.isSame($0, "Z_ENT") }
  }
}

extension StoreComparison.Side {
  init(_ database: SQLiteDatabase, _ path: String) {
    self.init(
      path: path, sizeBytes: database.sizeBytes, pageSizeBytes: database.header.pageSize,
      pageCount: database.pageCount, freePageCount: database.header.freelistPageCount)
  }
}

extension [ComparedValue] {
  /// The number of values, without the NULLs at the end.
  fileprivate var width: Int { (lastIndex { $0 != .stored(.null) } ?? -1) + 1 }

  /// The value at a position. Positions after the last value give NULL, as in SQLite.
  subscript(safe index: Int) -> ComparedValue {
    indices.contains(index) ? self[index] : .stored(.null)
  }
}

extension [String] {
  fileprivate subscript(safe index: Int) -> String? { indices.contains(index) ? self[index] : nil }
}
