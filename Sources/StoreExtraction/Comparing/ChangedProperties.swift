package import CoreDataStore
import SQLiteFile

extension StoreComparison {
  /// A property that has different values in the two stores' versions of one row. The values have the types that the
  /// model declares.
  package struct ChangedProperty: Sendable {
    /// The name of the attribute or relationship; the name of the column if no model names the property.
    package let name: String
    /// The value in the old store; nil when the old store does not have the property or the row.
    package let old: Value?
    /// The value in the new store; nil when the new store does not have the property or the row.
    package let new: Value?
  }

  /// The old or the new value of a ``ChangedProperty``.
  package enum Value: Sendable {
    case value(PropertyValue)
    /// A long value whose content is not kept, only its size in bytes. The size of a text is that of its UTF-8 form.
    case long(sizeBytes: Int, isText: Bool)
  }

  /// Returns the properties that differ between the old and the new version of a row. For an entity's row, Core Data's
  /// own columns (`Z_PK`, `Z_ENT`, `Z_OPT`) are included only if no other column differs.
  package func properties(of row: Row) -> [ChangedProperty] {
    let old = names(in: old, isNew: false, row)
    let new = names(in: new, isNew: true, row)
    let all = row.columns.map { column in
      ChangedProperty(
        name: new.name(column.new) ?? old.name(column.old) ?? column.name,
        old: column.old.flatMap { place in row.change.old.map { old.value($0, place) } },
        new: column.new.flatMap { place in row.change.new.map { new.value($0, place) } })
    }
    let told = zip(row.columns, all).filter { column, _ in
      row.entity == nil || !["Z_PK", "Z_ENT", "Z_OPT"].contains(column.name.uppercased())
    }
    return told.isEmpty ? all : told.map(\.1)
  }

  /// A dictionary key: a store (the old or the new one), a table of this store, and an entity whose rows are in the
  /// table.
  struct ColumnOwner: Hashable {
    let isNew: Bool
    let table: ExactText
    let entity: ExactText
  }

  private func names(in store: CoreDataStore, isNew: Bool, _ row: Row) -> Names {
    guard let entity = row.entity else { return Names(fields: [:], storePath: store.database.path) }
    let owner = ColumnOwner(isNew: isNew, table: ExactText(row.table), entity: ExactText(entity))
    if columnFields[owner] == nil { columnFields[owner] = fields(of: owner, in: store) }
    return Names(fields: columnFields[owner] ?? [:], storePath: store.database.path)
  }

  /// Returns the model's property for each column, by column position. Returns an empty dictionary if no row plan can
  /// be made; the columns then keep their own names.
  private func fields(of owner: ColumnOwner, in store: CoreDataStore) -> [Int: RowPlan.Field] {
    guard let table = store.database.schema.table(named: owner.table.text),
      let plan = (try? store.plan(for: table, wanted: nil)) ?? nil,
      let found = plan.entities.values.first(where: { ExactText($0.name) == owner.entity })
    else { return [:] }
    return Dictionary(found.fields.map { ($0.column, $0) }, uniquingKeysWith: { $1 })
  }

  /// The properties of a table's columns in one of the two compared stores.
  private struct Names {
    let fields: [Int: RowPlan.Field]
    let storePath: String

    func name(_ column: Int?) -> String? { column.flatMap { fields[$0]?.name } }

    func value(_ row: ComparedRow, _ column: Int) -> Value {
      switch row.values[safe: column] {
      case .long(let long): return .long(sizeBytes: long.sizeBytes, isText: long.isText)
      case .stored(let stored):
        let value = fields[column]?.value(stored, storePath: storePath) { _ in nil }
        return .value(value ?? PropertyValue(stored, isDate: false))
      }
    }
  }
}
