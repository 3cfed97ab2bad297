/// A problem of a model: either something that Core Data would refuse, or a sign of damage.
package struct ModelProblem: Sendable, Hashable {
  /// The kind of problem, as a stable string such as `missingParent`. Later versions of this library may add kinds.
  package struct Kind: RawRepresentable, Sendable, Hashable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }
  }

  package let kind: Kind
  /// The name of the entity with the problem; nil for a problem of a configuration.
  package let entityName: String?
  /// The name of the property with the problem; nil if the problem does not concern a property.
  package let propertyName: String?
  package let sentence: String

  package init(kind: Kind, entityName: String?, propertyName: String?, sentence: String) {
    self.kind = kind
    self.entityName = entityName
    self.propertyName = propertyName
    self.sentence = sentence
  }
}

extension ModelProblem: CustomStringConvertible {
  package var description: String { sentence }
}
