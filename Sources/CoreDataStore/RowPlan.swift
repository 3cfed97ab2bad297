package import ObjectModel
package import SQLiteFile
import SafeText

/// The properties to which the columns of a table correspond. A plan is computed once and used for all rows of the
/// table.
package struct RowPlan {
  package enum Kind {
    case attribute(Attribute)
    case toOne(destination: String, entityColumn: Int?)
    /// A column that the model does not describe.
    case declared(isDate: Bool)
  }

  package struct Field {
    package let name: String
    package let kind: Kind
    package let column: Int

    var described: DescribedEntity.Property {
      switch kind {
      case .attribute(let attribute):
        .init(name: name, kind: .attribute, typeName: attribute.type.name)
      case .toOne(let destination, _): .init(name: name, kind: .toOne, typeName: destination)
      case .declared(let isDate):
        .init(name: name, kind: .column, typeName: isDate ? "TIMESTAMP" : "")
      }
    }

    /// Returns the property's value, made from the stored value of its column. `entityName` returns the name of the
    /// entity whose number is in a column of the same row; nil if there is no such entity.
    package func value(
      _ stored: StoredValue, storePath: String, entityName: (_ column: Int) -> String?
    ) -> PropertyValue {
      switch kind {
      case .attribute(let attribute):
        return PropertyValue(stored, attribute, storePath: storePath)
      case .declared(let isDate): return PropertyValue(stored, isDate: isDate)
      case .toOne(let destination, let entityColumn):
        guard case .integer(let key) = stored else { return PropertyValue(stored, isDate: false) }
        let name = entityColumn.flatMap { entityName($0) }
        return .toOne(ObjectReference(entityName: name ?? destination, primaryKey: key))
      }
    }
  }

  /// A many-to-many relationship of an entity, with its links. The owners of the links in `destinations` are rows of
  /// this entity.
  package struct Links {
    package let name: String
    package let destinations: LinkTable
    package let destinationName: String
  }

  package struct EntityPlan {
    package let name: String
    package let fields: [Field]
    package let links: [Links]
  }

  package let table: Table
  package let keyColumn: Int
  package let entityColumn: Int?
  package let saveCountColumn: Int?
  /// The plan for the rows of each entity, keyed by entity number.
  package let entities: [Int64: EntityPlan]
  /// The properties of rows whose entity number is unknown: one for each declared column. Empty when
  /// `CoreDataStore.shows` chooses the properties to read.
  package let fallback: [Field]

  /// The entities whose rows are in the table, sorted by number.
  package var describedEntities: [DescribedEntity] {
    entities.sorted { $0.key < $1.key }.map { number, entity in
      DescribedEntity(
        name: entity.name, number: number,
        properties: entity.fields.map(\.described)
          + entity.links.map {
            .init(name: $0.name, kind: .toMany, typeName: $0.destinationName)
          })
    }
  }

  /// Returns the attributes and to-one relationships that the entity declares or inherits, sorted by name. Empty when
  /// the model does not have the entity.
  package static func fields(
    of entity: String, in definition: TableDefinition, _ layout: TableLayout
  )
    -> [Field]
  {
    guard let place = layout.table(of: entity) else { return [] }
    let columns = Dictionary(
      firstOf: definition.columns.enumerated().map { ($1.name.uppercased(), $0) })
    let lineage = Set([entity] + layout.model.ancestors(of: entity).map(\.name))
    let own = place.columns.filter { lineage.contains($0.entityName) }
    var fields: [Field] = []
    for column in own {
      guard let index = columns[column.name.uppercased()] else { continue }
      switch column.role {
      case .attribute(let attribute):
        fields.append(Field(name: attribute.name, kind: .attribute(attribute), column: index))
      case .toOne(let relationship):
        let companion = own.first { $0.role == .destinationEntity(relationship) }
        fields.append(
          Field(
            name: relationship.name,
            kind: .toOne(
              destination: relationship.destinationEntityName,
              entityColumn: companion.flatMap { columns[$0.name.uppercased()] }),
            column: index))
      default: break
      }
    }
    return fields.sorted { $0.name < $1.name }
  }

  /// Returns the properties of rows that the model does not describe. There is one property for each column except
  /// Z_PK, Z_ENT and Z_OPT. A column that is declared as TIMESTAMP holds dates.
  package static func declaredFields(of definition: TableDefinition) -> [Field] {
    definition.columns.enumerated().compactMap { index, column in
      guard !["Z_PK", "Z_ENT", "Z_OPT"].contains(column.name.uppercased()) else { return nil }
      return Field(
        name: column.name,
        kind: .declared(isDate: column.declaredType.uppercased() == "TIMESTAMP"), column: index)
    }
  }
}

/// The links of a join table, sorted by owner. A link joins two rows: its owner and its destination. The caller of the
/// initializer chooses which end of the links is the owner. Each link takes 24 bytes.
package struct LinkTable {
  private var links: [(owner: Int64, destination: Int64, order: Int64)]

  init(_ links: [(owner: Int64, destination: Int64, order: Int64)]) {
    self.links = links.sorted { one, two in
      if one.owner != two.owner { return one.owner < two.owner }
      return one.order != two.order ? one.order < two.order : one.destination < two.destination
    }
  }

  /// Returns the primary keys of the owner's destinations, in the order of the relationship if it is ordered, else
  /// ascending.
  package func destinations(of owner: Int64) -> [Int64] {
    var low = 0
    var high = links.count
    while low < high {
      let middle = (low + high) / 2
      if links[middle].owner < owner { low = middle + 1 } else { high = middle }
    }
    return links[low...].prefix { $0.owner == owner }.map(\.destination)
  }
}
