package import ObjectModel

/// How one property of the destination entity gets its value (`NSPropertyMapping`).
package struct PropertyMapping: Sendable, Hashable {
  /// The name of the destination property (`name`).
  package var name: String
  /// The expression for the value (`valueExpression`). Nil if the mapping sets none: an attribute keeps its default, or
  /// the policy class sets the value.
  package var valueExpression: ModelExpression?
  /// The source relationship that the value follows (`sourcekeypath`). Only Xcode's form has it; otherwise nil.
  package var sourceKeyPath: String?
  /// The name of the entity mapping whose results are the value (`sourcemappingname`). Only Xcode's form has it;
  /// otherwise nil.
  package var sourceMappingName: String?
  /// The entries of the user info (`userInfo`) whose keys are text.
  package var userInfo: [String: ArchivedValue]
  /// Core Data's own list of transforming steps (`NSPropertyTransforms`), which inferred mappings have; empty if there
  /// is none.
  package var transforms: [ArchivedValue]
  /// The fields of the file that have no property here, under the file's names.
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
