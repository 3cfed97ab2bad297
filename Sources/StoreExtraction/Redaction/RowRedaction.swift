/// How rows are written that may leave the machine: tokens for values that are not allowed, and names as they may be shown.
package struct RowRedaction {
  package let tokens: ValueTokens
  /// The name of an entity as it is written.
  let entityName: (String) -> String
  /// The name of a property as it is written.
  let propertyName: (String) -> String
  /// The ancestors of an entity, the nearest first.
  private let ancestors: (String) -> [String]
  /// Whether the values of a property of these entities are written as they are.
  private let isAllowed: (_ property: String, _ entities: [String]) -> Bool

  /// The arguments are asked once for each entity of a table, before its rows are read.
  package init(
    _ tokens: ValueTokens, entityName: @escaping (String) -> String,
    propertyName: @escaping (String) -> String, ancestors: @escaping (String) -> [String],
    isAllowed: @escaping (_ property: String, _ entities: [String]) -> Bool
  ) {
    self.tokens = tokens
    self.entityName = entityName
    self.propertyName = propertyName
    self.ancestors = ancestors
    self.isAllowed = isAllowed
  }

  /// How the values of a property are hidden; nil for values that are allowed. `entity` is nil for rows of unknown entities.
  package func hiding(_ property: String, of entity: String?) -> HiddenColumn? {
    let lineage = entity.map { [$0] + ancestors($0) } ?? []
    guard !isAllowed(property, lineage) else { return nil }
    // An attribute of an ancestor is one column.
    return HiddenColumn(property, of: lineage.last ?? "")
  }
}

/// A column whose values are written as tokens.
package struct HiddenColumn {
  /// What the numbers of the column have in common.
  package let key: [UInt8]

  /// The column of a name in a table, or in the entity that has it first.
  package init(_ name: String, of owner: String) {
    key = Array(owner.utf8) + [0] + name.utf8 + [0]
  }
}
