import ObjectModel

/// One thing of a model that a form cannot hold, so that writing the model in that form leaves it
/// out or changes it.
package struct ModelLoss: Sendable, Hashable {
  /// The entity; nil for the model itself.
  package let entityName: String?
  /// The property, index or template; nil for the entity itself.
  package let propertyName: String?
  /// What is lost and why, as one sentence for a reader, without the names above.
  package let sentence: String

  /// Makes a loss.
  package init(entityName: String? = nil, propertyName: String? = nil, sentence: String) {
    self.entityName = entityName
    self.propertyName = propertyName
    self.sentence = sentence
  }
}

extension ModelLoss: CustomStringConvertible {
  /// The place and the sentence: "`Note.title`: ...".
  package var description: String {
    let place = [entityName, propertyName].compactMap { $0 }.joined(separator: ".")
    return place.isEmpty ? sentence : "`\(place)`: \(sentence)"
  }
}
