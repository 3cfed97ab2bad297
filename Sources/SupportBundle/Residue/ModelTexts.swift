import ObjectModel

/// The strings of a model that are not names: default values, user info, and the constants in predicates and
/// expressions. These strings are removed from the model in a bundle. A finished bundle is searched for them, because
/// no entry may contain them.
enum ModelTexts {
  static func all(of model: ManagedObjectModel) -> [String] {
    model.entities.values.flatMap { texts(of: $0) }
      + model.fetchRequestTemplates.flatMap { texts(of: $0.request) }
  }

  private static func texts(of entity: Entity) -> [String] {
    var texts = texts(of: entity.userInfo)
    texts += entity.attributes.flatMap { Self.texts(of: $0) }
    texts += entity.relationships.flatMap { Self.texts(of: $0.userInfo) }
    for property in entity.fetchedProperties {
      texts += Self.texts(of: property.userInfo) + Self.texts(of: property.request)
    }
    for index in entity.fetchIndexes {
      texts += Self.texts(of: index.partialPredicate)
      texts += index.elements.flatMap { Self.texts(of: $0.expression) }
    }
    return texts + Self.texts(of: entity.spotlightDisplayNameExpression)
  }

  private static func texts(of attribute: Attribute) -> [String] {
    var texts = texts(of: attribute.userInfo)
    switch attribute.defaultValue {
    case .string(let text), .uri(let text), .uuid(let text): texts.append(text)
    case .object(let object): texts += Self.texts(of: object.fields)
    default: break
    }
    for validation in attribute.validations {
      texts += Self.texts(of: validation.predicate) + Self.texts(of: validation.warning)
    }
    texts += Self.texts(of: attribute.derivation?.expression)
    texts += Self.texts(of: attribute.derivation?.filterPredicate)
    // The elements of a composite attribute have user info, default values and predicates, too.
    return texts + attribute.elements.flatMap { Self.texts(of: $0) }
  }

  private static func texts(of request: FetchRequest) -> [String] {
    texts(of: request.predicate) + texts(of: request.havingPredicate)
  }

  private static func texts(of predicate: ModelPredicate?) -> [String] {
    switch predicate {
    case .comparison(let comparison): texts(of: comparison.left) + texts(of: comparison.right)
    case .and(let parts), .or(let parts): parts.flatMap { texts(of: $0) }
    case .not(let part): texts(of: part)
    case .unparsed(let text): [text]
    case .constant, .opaque, nil: []
    }
  }

  private static func texts(of expression: ModelExpression?) -> [String] {
    switch expression {
    case .constant(.string(let text)), .constant(.url(let text)), .constant(.uuid(let text)),
      .unparsed(let text):
      return [text]
    case let expression?:
      let (expressions, predicates) = expression.children
      return expressions.flatMap { texts(of: $0) } + predicates.flatMap { texts(of: $0) }
    case nil: return []
    }
  }

  private static func texts(of fields: [String: ArchivedValue]) -> [String] {
    fields.flatMap { [$0.key] + texts(of: $0.value) }
  }

  private static func texts(of value: ArchivedValue) -> [String] {
    switch value {
    case .string(let text), .url(let text), .uuid(let text): [text]
    case .array(let elements), .set(let elements): elements.flatMap { texts(of: $0) }
    case .dictionary(let entries): entries.flatMap { texts(of: $0.key) + texts(of: $0.value) }
    case .object(let object): texts(of: object.fields)
    default: []
    }
  }
}
