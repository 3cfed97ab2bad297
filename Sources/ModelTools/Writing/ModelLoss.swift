import ObjectModel

/// A part of a model that a file form cannot hold. Writing the model in that form omits or changes the part.
package struct ModelLoss: Sendable, Hashable {
  /// The name of the entity; nil if the loss is one of the model itself.
  package let entityName: String?
  /// The name of the property, index or template; nil if the loss is one of the entity or model itself.
  package let propertyName: String?
  /// What is lost and why, as one sentence for people. The names of entity and property are not in it.
  package let sentence: String

  /// Makes a loss from its place and a sentence.
  package init(entityName: String? = nil, propertyName: String? = nil, sentence: String) {
    self.entityName = entityName
    self.propertyName = propertyName
    self.sentence = sentence
  }
}

extension ModelLoss: CustomStringConvertible {
  /// The entity, the property and the sentence: "`Note.title`: ...".
  package var description: String {
    let place = [entityName, propertyName].compactMap { $0 }.joined(separator: ".")
    return place.isEmpty ? sentence : "`\(place)`: \(sentence)"
  }
}
