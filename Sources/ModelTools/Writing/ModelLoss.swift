import ObjectModel

/// A model as the bytes of a file, and the parts of the model that were left out or changed. There are no losses if
/// reading the bytes gives an equal model.
package typealias WrittenModel = (bytes: [UInt8], losses: [ModelLoss])

/// A part of a model that a file format cannot hold, so that writing the model omits or changes the part.
package struct ModelLoss: Sendable, Hashable, Encodable {
  /// The name of the entity that loses something; nil for a loss of the model itself.
  package let entityName: String?
  /// The name of the property, index or template; nil for a loss of the entity or of the model itself.
  package let propertyName: String?
  /// What is lost and why, as one sentence for people, without the names of the entity and the property.
  package let sentence: String

  package init(entityName: String? = nil, propertyName: String? = nil, sentence: String) {
    self.entityName = entityName
    self.propertyName = propertyName
    self.sentence = sentence
  }

  private enum CodingKeys: String, CodingKey {
    case entityName = "entity"
    case propertyName = "property"
    case sentence
  }
}

extension ModelLoss: CustomStringConvertible {
  /// The entity, the property and the sentence: "`Note.title`: ...".
  package var description: String {
    let place = [entityName, propertyName].compactMap { $0 }.joined(separator: ".")
    return place.isEmpty ? sentence : "`\(place)`: \(sentence)"
  }
}
