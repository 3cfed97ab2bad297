import CoreDataForensics
import CoreDataStore
import ObjectModel
import SQLiteFile
import SQLiteForensics
import SQLiteWriter
import SafeText
import StoreExtraction

/// Copies the persistent history of a store. Transactions are copied unchanged. In each change, the changed object's
/// entity number and key are replaced by those that the object has in the new store.
///
/// In the table `ACHANGE`, `ZENTITY` is the entity number of the changed object, and `ZENTITYPK` is its key. `ZCOLUMNS`
/// has a bit for each property of the entity, in the order of the properties' names; the bit is set if an update
/// changed the property. `ZTOMBSTONE0` and the columns after it hold values of a deleted object. These bits and values
/// have a meaning only if the new entity has the same properties as the old one.
struct HistoryCopy {
  /// How the persistent history refers to the objects of one old entity in the new store: their new entity number, and
  /// the rule that computes their new keys.
  private struct Place {
    let number: Int64
    let shift: KeyShift
    let hasSameProperties: Bool
  }

  private let run: CopyRun
  /// How the persistent history of each entity is rewritten for the new store, keyed by the entity number in the old
  /// store.
  private var places: [Int64: Place] = [:]
  /// The entity numbers of the old store.
  private let known: Set<Int64>
  /// The number of rows of the history that are not copied, because they are damaged or their transaction is missing.
  private var lostCount = 0
  /// The number of changes in the old history that were not copied, because their object is not in the new store.
  private var goneCount = 0
  private var bareCount = 0

  /// Prepares to copy the persistent history. `run` must have copied all objects already. `known` contains the entity
  /// numbers of the old store.
  init(
    _ run: CopyRun, known: Set<Int64>, from old: ManagedObjectModel, to schema: FreshStoreSchema
  ) {
    self.run = run
    self.known = known
    let layout = schema.layout
    let (before, after) = (old.versionHashes().hashes, layout.model.versionHashes().hashes)
    for (number, copies) in run.plan.tables.flatMap(\.entities) {
      // The changes to an entity's objects are copied only if exactly one mapping takes the entity, takes all its
      // objects, and has no policy. Otherwise, a new object does not always correspond to exactly one old object.
      guard copies.count == 1, let copy = copies.first, !copy.isFiltered, copy.policyClass == nil,
        let new = layout.numbering.number(of: copy.destinationEntity)
      else { continue }
      let hash = before[copy.sourceEntity]
      places[number] = Place(
        number: new, shift: copy.shift,
        hasSameProperties: hash != nil && hash == after[copy.destinationEntity])
    }
  }

  /// Copies the history. Returns notes for the report, one sentence each.
  mutating func copy(from source: Migration.Source) throws -> [String] {
    for (entity, number, table) in FreshStoreSchema.historyTables(tombstoneCount: 0) {
      try copy(table.name, number: number, isChange: entity == "CHANGE", from: source)
    }
    let writer = run.writer
    try writer.execute(
      "DELETE FROM ACHANGE WHERE ZTRANSACTIONID NOT IN (SELECT Z_PK FROM ATRANSACTION) OR ZTRANSACTIONID IS NULL"
    )
    lostCount += writer.changeCount
    for column in ["ZAUTHORTS", "ZBUNDLEIDTS", "ZCONTEXTNAMETS", "ZPROCESSIDTS"] {
      try writer.execute(
        "UPDATE ATRANSACTION SET \(column) = NULL WHERE \(column) NOT IN (SELECT Z_PK FROM ATRANSACTIONSTRING)"
      )
    }
    var notes: [String] = []
    if lostCount > 0 {
      run.broken.append(
        "\(counted(lostCount, "damaged row")) of the persistent history \(lostCount == 1 ? "is" : "are") not in the new store"
      )
    }
    if goneCount > 0 {
      notes.append(
        "\(counted(goneCount, "change")) of the persistent history \(goneCount == 1 ? "is" : "are") not in the new store, because the changed objects have no counterpart there"
      )
    }
    if bareCount > 0 {
      notes.append(
        "\(counted(bareCount, "change")) of the persistent history no longer \(bareCount == 1 ? "says" : "say") which properties changed, and \(bareCount == 1 ? "keeps" : "keep") no values of deleted objects, because the entity has other properties now"
      )
    }
    return notes
  }

  private mutating func copy(
    _ table: String, number: Int64, isChange: Bool, from source: Migration.Source
  ) throws {
    guard let definition = source.definition(of: table) else { return }
    let new = try run.writer.rows(
      "SELECT name FROM pragma_table_info(?)", [.string(table)]
    ).map { $0[0].string }
    var columns = definition.columns.indices.filter { place in
      new.contains { SQLName.isSame($0, definition.columns[place].name) }
    }
    guard let key = definition.place(of: "Z_PK") else {
      return try source.forEachRow(of: table) { _ in lostCount += 1 }
    }
    // `Z_ENT` gets the entity number of the new store, whatever number the old store has in this column.
    let entity = definition.place(of: "Z_ENT")
    columns.removeAll { $0 == entity }
    let names = try columns.map { try SQLText.quoted(definition.columns[$0].name) } + ["Z_ENT"]
    let marks = columns.indices.map { "?\($0 + 1)" } + ["\(number)"]
    let change = (entity: definition.place(of: "ZENTITY"), key: definition.place(of: "ZENTITYPK"))
    let bare = definition.columns.indices.filter {
      let name = definition.columns[$0].name.uppercased()
      return name == "ZCOLUMNS" || name.utf8.starts(with: "ZTOMBSTONE".utf8)
    }
    let insert = try RowStatement(
      sql:
        "INSERT INTO \(SQLText.quoted(table)) (\(names.joined(separator: ", "))) VALUES (\(marks.joined(separator: ", ")))",
      columns: columns)
    defer { insert.finish() }
    try source.forEachRow(of: table) { values in
      guard var values, values.count == definition.columns.count, case .integer = values[key] else {
        lostCount += 1
        return
      }
      if isChange {
        guard let number = change.entity, let old = change.key,
          case .integer(let oldNumber) = values[number], case .integer(let oldKey) = values[old],
          known.contains(oldNumber)
        else {
          lostCount += 1
          return
        }
        guard let place = places[oldNumber], let newKey = place.shift.newKey(of: oldKey) else {
          goneCount += 1
          return
        }
        values[number] = .integer(place.number)
        values[old] = .integer(newKey)
        if !place.hasSameProperties, bare.contains(where: { values[$0] != .null }) {
          bareCount += 1
          for column in bare { values[column] = .null }
        }
      }
      var row = ValueRow(values, keyColumn: key, storePath: source.path)
      do {
        try run.run(insert, &row, [])
      } catch let error as SQLiteWriterError where error.code == .constraint {
        lostCount += 1
      }
    }
  }
}

extension Migration.Source {
  var hasHistory: Bool { definition(of: "ACHANGE") != nil }

  /// The definition of a table; nil when the store has no readable table with this name.
  func definition(of table: String) -> TableDefinition? {
    switch self {
    case .sound(let store): store.database.schema.table(named: table)?.definition
    case .damaged(let store, _):
      store.database.tables.first { SQLName.isSame($0.name, table) && $0.isDescribed }?.definition
    }
  }

  /// Calls `receive` once for each live row of a table. The argument is the row's values; nil if a value of the row is
  /// damaged.
  func forEachRow(of name: String, _ receive: ([StoredValue]?) throws -> Void) throws {
    var failure: (any Error)?
    func take(_ values: [StoredValue]?) -> Bool {
      do { try receive(values) } catch { failure = error }
      return failure == nil
    }
    switch self {
    case .sound(let store):
      guard let table = store.database.schema.table(named: name) else { return }
      try store.database.forEachRow(of: table) { take($0.values) }
    case .damaged(let store, _):
      let tables = store.database.tables
      try store.database.forEachRow(.live, of: [name]) { row in
        guard let place = row.origin.table, SQLName.isSame(tables[place].name, name) else {
          return true
        }
        guard row.partial.isEmpty else { return take(nil) }
        var values = row.values
        if let key = tables[place].definition.rowIDColumn, values[key] == .null,
          let rowID = row.rowID
        {
          values[key] = .integer(rowID)
        }
        return take(values)
      }
    }
    if let failure { throw failure }
  }
}
