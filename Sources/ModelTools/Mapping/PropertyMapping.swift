package import ObjectModel

/// How one property of the destination entity gets its value (`NSPropertyMapping`).
package struct PropertyMapping: Sendable, Hashable {
  /// The name of the destination property (`name`).
  package var name: String
  /// The expression for the value (`valueExpression`); nil if the mapping sets none, as for an
  /// attribute that keeps its default or that the policy class fills.
  package var valueExpression: ModelExpression?
  /// The relationship of the source that the value follows, in Xcode's form only
  /// (`sourcekeypath`); nil elsewhere.
  package var sourceKeyPath: String?
  /// The entity mapping whose results the value takes, in Xcode's form only (`sourcemappingname`);
  /// nil elsewhere.
  package var sourceMappingName: String?
  /// The user info (`userInfo`), by the entries whose keys are text.
  package var userInfo: [String: ArchivedValue]
  /// Core Data's own list of steps (`NSPropertyTransforms`), present in inferred mappings; empty
  /// where there is none.
  package var transforms: [ArchivedValue]
  /// The other fields of the file, under the file's names.
  package var others: [String: ArchivedValue]

  /// Makes a property mapping.
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
