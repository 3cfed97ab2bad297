package import ObjectModel

/// How one property of the destination entity gets its value (`NSPropertyMapping`).
package struct PropertyMapping: Sendable, Hashable {
  /// The name of the property of the destination entity (`name`).
  package var name: String
  /// The expression for the value (`valueExpression`). Nil if an attribute keeps its default value, or if the migration
  /// policy class sets the value.
  package var valueExpression: ModelExpression?
  /// The key path of the source objects from which the related objects were made (`sourcekeypath`), for example
  /// `$source.country`. Nil unless the mapping was read from an `.xcmappingmodel`.
  package var sourceKeyPath: String?
  /// The name of the entity mapping that made the related objects (`sourcemappingname`). Nil unless the mapping was
  /// read from an `.xcmappingmodel`.
  package var sourceMappingName: String?
  /// The entries of the user info dictionary (`userInfo`) whose keys are strings.
  package var userInfo: [String: ArchivedValue]
  /// The property transforms of an inferred mapping (`NSPropertyTransforms`); empty if the mapping has no transforms.
  package var transforms: [ArchivedValue]
  /// The archived fields of the property mapping that no other property of this type holds, by their names in the
  /// archive.
  package var others: [String: ArchivedValue]

  package init(
    name: String, valueExpression: ModelExpression? = nil, sourceKeyPath: String? = nil,
    sourceMappingName: String? = nil, userInfo: [String: ArchivedValue] = [:],
    transforms: [ArchivedValue] = [], others: [String: ArchivedValue] = [:]
  ) {
    self.name = name
    self.valueExpression = valueExpression
    self.sourceKeyPath = sourceKeyPath
    self.sourceMappingName = sourceMappingName
    self.userInfo = userInfo
    self.transforms = transforms
    self.others = others
  }
}

extension ModelExpression {
  /// The key path that starts at the source object, `$source`; nil when the expression is no such key path. The key
  /// path can also be written as a function: `FUNCTION($source, "valueForKeyPath:", "a.b")`.
  package var pathFromSource: String? {
    switch self {
    case .keyPath(let path, of: .variable("source")): return path
    case .function(target: .variable("source")?, selector: "valueForKey:", let arguments),
      .function(target: .variable("source")?, selector: "valueForKeyPath:", let arguments):
      guard case .constant(.string(let path))? = arguments.first, arguments.count == 1 else {
        return nil
      }
      return path
    default: return nil
    }
  }
}
