/// Rules for output that may leave the machine. They say which values are replaced by tokens, and how names are
/// written.
package struct RowRedaction {
  package let tokens: ValueTokens
  /// Returns the name that is written for an entity: the entity's own name, or a token in its place.
  let entityName: (String) -> String
  /// Returns the name that is written for a property: the property's own name, or a token in its place.
  let propertyName: (String) -> String
  /// Returns the ancestors of an entity, the nearest first.
  private let ancestors: (String) -> [String]
  /// Whether the values of a property may be written without tokens. `entities` has the names of the entity and of its
  /// ancestors.
  private let isAllowed: (_ property: String, _ entities: [String]) -> Bool

  /// Creates rules for redaction from closures. The closures are called once for each entity of a table, before its
  /// rows are read.
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

  /// Returns the column to hide for a property whose values must be replaced by tokens; nil if the values may be
  /// written. `entity` is nil for rows of unknown entities.
  package func hiding(_ property: String, of entity: String?) -> HiddenColumn? {
    let lineage = entity.map { [$0] + ancestors($0) } ?? []
    guard !isAllowed(property, lineage) else { return nil }
    // An attribute that an ancestor declares is one column for all subentities, so the root entity is the owner of the
    // column.
    return HiddenColumn(property, of: lineage.last ?? "")
  }
}

/// A column whose values are written as tokens.
package struct HiddenColumn {
  /// Bytes that are hashed together with each number, so that equal numbers in two columns have different tokens.
  package let key: [UInt8]

  /// Creates a column whose values are hidden.
  ///
  /// `name`: the name of the column or property.
  /// `owner`: the table of the column, or the root entity of the entity with the property.
  package init(_ name: String, of owner: String) {
    key = Array(owner.utf8) + [0] + name.utf8 + [0]
  }
}
