import CoreDataStore
package import ObjectModel
package import SQLiteFile
import SQLiteForensics
import SafeText

/// The constraints that Core Data's rules put on the values in a store's columns.
struct CoreDataDemands {
  /// What a constraint is about. The message about a violation is made from these values.
  struct Subject {
    enum Kind {
      case entityNumber
      case attribute(AttributeType)
      case toOne(destination: String)
      case link(destination: String)
      case number
    }

    let kind: Kind
    let table: String
    /// The name of the property; for a column without a property, the name of the column.
    let name: String
  }

  private(set) var demands: [ColumnDemand] = []
  /// What each constraint is about, at the same index as the constraint in ``demands``.
  private(set) var subjects: [Subject] = []

  /// Collects the constraints on all tables that the store's model describes. Without a model, only the entity numbers
  /// are constrained.
  init(_ store: CoreDataStore) {
    for table in store.entityTables { add(table, of: store) }
    guard let layout = store.layout else { return }
    for join in layout.joinTables { add(join, layout, of: store) }
  }

  private mutating func add(_ demand: ColumnDemand, _ kind: Subject.Kind, _ name: String) {
    demands.append(demand)
    subjects.append(Subject(kind: kind, table: demand.table, name: name))
  }

  private mutating func add(_ table: Table, of store: CoreDataStore) {
    let columns = Dictionary(
      firstOf: table.columnNames.enumerated().map { ($1.uppercased(), $0) })
    let records = store.records(in: table)
    if let column = columns["Z_ENT"], !records.isEmpty {
      var demand = ColumnDemand(table: table.name, column: column, classes: .integer)
      demand.numbers = Set(records.map(\.number))
      add(demand, .entityNumber, "Z_ENT")
    }
    guard let layout = store.layout,
      let place = layout.tables.first(where: { $0.name == table.name.uppercased() })
    else { return }
    for column in place.columns {
      guard let index = columns[column.name.uppercased()] else { continue }
      switch column.role {
      case .attribute(let attribute):
        guard let classes = attribute.type.storageClasses else { continue }
        var demand = ColumnDemand(table: table.name, column: index, classes: classes)
        demand.blobLength = attribute.type.storedLength
        if attribute.allowsExternalBinaryDataStorage {
          let path = store.database.path
          demand.holds = { bytes in
            guard let identifier = ExternalBlob.identifier(in: bytes) else { return true }
            let blob = ExternalBlob(identifier: identifier, storePath: path)
            // An external file that this user may not read counts as present. `check` reports such files as not
            // examined.
            return blob.sizeBytes != nil || blob.isRefused
          }
        }
        add(demand, .attribute(attribute.type), attribute.name)
      case .toOne(let relationship):
        var demand = ColumnDemand(table: table.name, column: index, classes: .integer)
        demand.rowIDsOf = Self.table(of: relationship.destinationEntityName, layout, store)
        add(
          demand, .toOne(destination: relationship.destinationEntityName), relationship.name)
      case .destinationEntity(let relationship):
        var demand = ColumnDemand(table: table.name, column: index, classes: .integer)
        let names = layout.table(of: relationship.destinationEntityName)?.entityNames ?? []
        let numbers = names.compactMap { layout.numbering.number(of: $0) }
        if !numbers.isEmpty { demand.numbers = Set(numbers) }
        add(demand, .number, column.name)
      case .order, .owner, .ownerOrder:
        add(
          ColumnDemand(table: table.name, column: index, classes: .integer), .number, column.name)
      }
    }
  }

  private mutating func add(
    _ join: TableLayout.JoinTable, _ layout: TableLayout, of store: CoreDataStore
  ) {
    guard let (table, columns) = store.joinTable(join) else { return }
    for (column, entity) in [
      (columns.owner, join.ownerName),
      (columns.destination, join.relationship.destinationEntityName),
    ] {
      var demand = ColumnDemand(table: table.name, column: column, classes: .integer)
      demand.rowIDsOf = Self.table(of: entity, layout, store)
      add(demand, .link(destination: entity), table.columnNames[column])
    }
  }

  private static func table(of entity: String, _ layout: TableLayout, _ store: CoreDataStore)
    -> String?
  {
    layout.table(of: entity).flatMap { store.database.schema.table(named: $0.name)?.name }
  }
}

extension AttributeType {
  /// The storage classes in which Core Data stores values of this type; nil when any class is allowed.
  package var storageClasses: StorageClasses? {
    switch self {
    case .integer16, .integer32, .integer64, .boolean: .integer
    // In these columns, SQLite stores a whole number as an integer.
    case .decimal, .double, .float, .date: [.integer, .real]
    case .string, .uri: .text
    case .binary, .uuid, .transformable: .blob
    default: nil
    }
  }

  /// The length in bytes that all values of this type have; nil when the length varies.
  package var storedLength: Int? { self == .uuid ? 16 : nil }
}
