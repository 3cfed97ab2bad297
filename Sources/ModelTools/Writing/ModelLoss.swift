import ObjectModel

/// A part of a model that a file form cannot hold, so that writing the model in that form omits or
/// changes it.
package struct ModelLoss: Sendable, Hashable {
  /// The entity; nil for the model itself.
  package let entityName: String?
  /// The property, index or template; nil for the entity itself.
  package let propertyName: String?
  /// What is lost and why, as one sentence for a reader, without the names of entity and property.
  package let sentence: String

  /// Makes a loss.
  package init(entityName: String? = nil, propertyName: String? = nil, sentence: String) {
    self.entityName = entityName
    self.propertyName = propertyName
    self.sentence = sentence
  }
}

extension ModelLoss: CustomStringConvertible {
  /// The entity, property and sentence: "`Note.title`: ...".
  package var description: String {
    let place = [entityName, propertyName].compactMap { $0 }.joined(separator: ".")
    return place.isEmpty ? sentence : "`\(place)`: \(sentence)"
  }
}
