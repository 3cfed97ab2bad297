/// How rows are written for output that may leave the machine: tokens for values that are not allowed, and names in the
/// form in which they may be shown.
package struct RowRedaction {
  package let tokens: ValueTokens
  /// Returns the name of an entity in the form in which it is written.
  let entityName: (String) -> String
  /// Returns the name of a property in the form in which it is written.
  let propertyName: (String) -> String
  /// Returns the ancestors of an entity, the nearest first.
  private let ancestors: (String) -> [String]
  /// Returns whether a property is written with its real values. `entities` are the entity and its ancestors.
  private let isAllowed: (_ property: String, _ entities: [String]) -> Bool

  /// Takes closures that are called once for each entity of a table, before its rows are read.
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

  /// Returns how the values of a property are hidden; nil for values that may be shown. `entity` is nil for rows of
  /// unknown entities.
  package func hiding(_ property: String, of entity: String?) -> HiddenColumn? {
    let lineage = entity.map { [$0] + ancestors($0) } ?? []
    guard !isAllowed(property, lineage) else { return nil }
    // An attribute that an ancestor declares is one column for all its subentities.
    return HiddenColumn(property, of: lineage.last ?? "")
  }
}

/// A column whose values are written as tokens.
package struct HiddenColumn {
  /// The bytes that go into the token of each number, so that equal numbers of two columns have different tokens.
  package let key: [UInt8]

  /// Makes the column `name` of a table, or of the entity that declares the property.
  package init(_ name: String, of owner: String) {
    key = Array(owner.utf8) + [0] + name.utf8 + [0]
  }
}
