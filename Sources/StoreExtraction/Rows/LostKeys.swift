import CoreDataForensics
import CoreDataStore
import SQLiteFile
import SQLiteForensics
import SafeText

/// Infers lost keys of deleted rows. A row without a key is held as long as it is the only such row of its table. If
/// other rows refer to exactly one key that no row of the table has, the held row must have had this key.
struct LostKeys {
  typealias Row = (managed: ManagedRow, columns: [Int], recovered: RecoveredRow)

  /// For each table, by table number: the row that is held back because it is the only row of the table that has lost
  /// its key.
  private var held: [Int: Row] = [:]
  /// The numbers of the tables in which more than one row has lost its key. These keys are not inferred, because it
  /// cannot be known which row had which key.
  private var several: Set<Int> = []

  /// What ``take(_:of:)`` has done with a row.
  enum Fate {
    /// The row is held back. ``rows(of:_:)`` returns it, unless a later call of ``take(_:of:)`` releases it.
    case held
    /// The caller must output the row now. `after` is an earlier row of the same table that was held back until now,
    /// and that must be output first; nil if no row was held back.
    case passed(after: Row?)
  }

  /// Holds back a row that has lost its key, if it is the first such row of its table. When the table has a second such
  /// row, passes on both rows, because it is not known which row had which key. `table` is the number of the table.
  mutating func take(_ row: Row, of table: Int) -> Fate {
    if several.contains(table) { return .passed(after: nil) }
    guard let earlier = held.removeValue(forKey: table) else {
      held[table] = row
      return .held
    }
    several.insert(table)
    return .passed(after: earlier)
  }

  /// The maximum number of keys that are collected to infer lost keys. If the store has more, no lost key is inferred.
  private static let maxKeys = 2_000_000

  /// Returns the rows that were held back because they have lost their key, in the order of their tables. A row gets an
  /// inferred key if references in the store name exactly one key that no row of its table has.
  ///
  /// A row that resembles another row of its table gets no key, because it may be an older version of that row.
  func rows(of store: DamagedStore, _ naming: RecoveredNaming) throws -> [Row] {
    guard !held.isEmpty else { return [] }
    let places = Dictionary(
      firstOf: store.database.tables.enumerated().map { (SQLName($1.name), $0) })
    let layout = store.model.map { TableLayout($0) }
    func place(ofEntity name: String) -> Int? {
      places[SQLName(layout?.table(of: name)?.name ?? "Z" + name.uppercased())]
    }
    var pointers: [RowKind: [Pointer]] = [:]
    var keys: [Int: Set<Int64>] = [:]
    var pointed: [Int: Set<Int64>] = [:]
    var alike: Set<Int> = []
    var count = 0
    try store.database.forEachRow(.all) { row in
      guard let table = row.origin.table else { return true }
      let number = row.values.integer(at: 1)
      if let own = held[table], let key = row.values.integer(at: 0) ?? row.rowID {
        if keys[table, default: []].insert(key).inserted { count += 1 }
        if Self.isVersion(own.recovered, row) { alike.insert(table) }
      }
      let kind = naming.kind(of: table, number)
      if pointers[kind] == nil {
        guard pointers.count < RowKind.most else { return true }
        pointers[kind] = (naming.fields(of: table, number)?.fields ?? []).compactMap(Pointer.init)
      }
      for pointer in pointers[kind] ?? [] {
        guard let key = row.values.integer(at: pointer.column) else { continue }
        let named = row.values.integer(at: pointer.entityColumn).flatMap { naming.entityNames[$0] }
        guard let name = named ?? pointer.destination, let target = place(ofEntity: name),
          held[target] != nil
        else { continue }
        if pointed[target, default: []].insert(key).inserted { count += 1 }
      }
      return count < Self.maxKeys
    }
    return held.sorted { $0.key < $1.key }.map { table, row in
      let fitting = pointed[table, default: []].subtracting(keys[table, default: []])
      guard count < Self.maxKeys, fitting.count == 1, let key = fitting.first, key > 0,
        !alike.contains(table)
      else { return row }
      return (row.managed.with(inferredKey: key), row.columns, row.recovered)
    }
  }

  /// Whether `other` may be another version of the row `one`, because most of their values are equal. Two kinds of
  /// columns are not compared: the first three, which are Core Data's own, and columns in which `one` is NULL.
  private static func isVersion(_ one: RecoveredRow, _ other: RecoveredRow) -> Bool {
    var equal = 0
    var different = 0
    for (value, another) in zip(one.values.dropFirst(3), other.values.dropFirst(3))
    where value != .null {
      if value == another { equal += 1 } else { different += 1 }
    }
    return equal > different
  }
}

/// The columns in which the rows of a table store a to-one relationship.
private struct Pointer {
  let column: Int
  let destination: String?
  /// The position of the column with the entity number of the destination; nil if the destination is always of the
  /// entity ``destination``.
  let entityColumn: Int?

  init?(_ field: RowPlan.Field) {
    guard case .toOne(let destination, let entityColumn) = field.kind else { return nil }
    column = field.column
    self.destination = destination
    self.entityColumn = entityColumn
  }
}
