package import CoreDataStore
import SQLiteFile

extension StoreComparison {
  /// A property of a row that differs, with its values in the types of the model.
  package struct ChangedProperty: Sendable {
    /// The attribute or relationship; the column where no model names it.
    package let name: String
    /// The values; nil where that store does not have the property, or not the row.
    package let old: Value?
    package let new: Value?
  }

  /// A value of such a property.
  package enum Value: Sendable {
    /// The value itself.
    case value(PropertyValue)
    /// A long value, of which only the size is kept: bytes of text as UTF-8, or of a blob.
    case long(sizeBytes: Int, isText: Bool)
  }

  /// The properties of a row that differ. What Core Data counts itself (`Z_ENT`, `Z_OPT`) is among them only when nothing
  /// else is.
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

  /// The rows of an entity in a table of one of the stores.
  struct ColumnOwner: Hashable {
    let isNew: Bool
    let table: ExactText
    let entity: String
  }

  private func names(in store: CoreDataStore, isNew: Bool, _ row: Row) -> Names {
    guard let entity = row.entity else { return Names(fields: [:], storePath: store.database.path) }
    let owner = ColumnOwner(isNew: isNew, table: ExactText(row.table), entity: entity)
    if columnFields[owner] == nil { columnFields[owner] = fields(of: owner, in: store) }
    return Names(fields: columnFields[owner] ?? [:], storePath: store.database.path)
  }

  /// The properties of columns; none where no plan can be made, which leaves the names of the columns.
  private func fields(of owner: ColumnOwner, in store: CoreDataStore) -> [Int: RowPlan.Field] {
    guard let table = store.database.schema.table(named: owner.table.text),
      let plan = (try? store.plan(for: table, wanted: nil)) ?? nil,
      let found = plan.entities.values.first(where: { $0.name == owner.entity })
    else { return [:] }
    return Dictionary(found.fields.map { ($0.column, $0) }, uniquingKeysWith: { $1 })
  }

  /// How one of the stores names the columns of a row.
  private struct Names {
    let fields: [Int: RowPlan.Field]
    let storePath: String

    func name(_ column: Int?) -> String? { column.flatMap { fields[$0]?.name } }

    func value(_ row: ComparedRow, _ column: Int) -> Value {
      switch row.values[safe: column] {
      case .long(let long): return .long(sizeBytes: long.sizeBytes, isText: long.isText)
      case .stored(let stored):
        switch fields[column]?.kind {
        case .attribute(let attribute)?:
          return .value(PropertyValue(stored, attribute, storePath: storePath))
        case .declared(let isDate)?: return .value(PropertyValue(stored, isDate: isDate))
        case .toOne(let destination, _)?:
          guard case .integer(let key) = stored else {
            return .value(PropertyValue(stored, isDate: false))
          }
          return .value(.toOne(ObjectReference(entityName: destination, primaryKey: key)))
        case nil: return .value(PropertyValue(stored, isDate: false))
        }
      }
    }
  }
}
