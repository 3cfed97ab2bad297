import ModelTools
import ObjectModel

/// The source of the value of a new object's property, as described by the expression in the property's mapping.
enum PropertySource: Hashable {
  /// The mapping has no expression: an attribute gets its default value, and a relationship leads to no object.
  case none
  /// `$source.name`: an attribute of the old object, or of an object that the old object's relationships lead to.
  case sourceValue(keyPath: String)
  case constant(ExpressionConstant)
  /// The object that another mapping, `mappingName`, makes from the same old object.
  case same(mappingName: String)
  /// The objects made from the destinations of the old object's relationship `relationship`. If `mappingName` is not
  /// nil, objects that other mappings make are left out.
  case related(relationship: String, mappingName: String?)
  /// Any other expression.
  case unsupported(ModelExpression)

  init(attribute mapping: PropertyMapping) {
    switch mapping.valueExpression {
    case nil: self = .none
    case .constant(let constant)?: self = .constant(constant)
    case let other?:
      self = other.pathFromSource.map { .sourceValue(keyPath: $0) } ?? .unsupported(other)
    }
  }

  /// Finds out from the expression in a relationship's mapping where the destinations come from.
  init(relationship mapping: PropertyMapping) {
    guard let expression = mapping.valueExpression else {
      self = .none
      return
    }
    self = Self.related(expression) ?? .unsupported(expression)
  }

  private static func related(_ expression: ModelExpression) -> PropertySource? {
    guard
      case .function(target: .variable("manager")?, let selector, let arguments) = expression,
      arguments.count == 2, case .constant(.string(let name)) = arguments[0]
    else { return nil }
    if arguments[1] == .variable("source") {
      return selector == "destinationInstancesForEntityMappingNamed:sourceInstances:"
        ? .same(mappingName: name) : nil
    }
    guard case .keyPath(let path, of: .variable("source")) = arguments[1] else { return nil }
    switch selector {
    case "destinationInstancesForEntityMappingNamed:sourceInstances:":
      return .related(relationship: path, mappingName: name)
    case "destinationInstancesForSourceRelationshipNamed:sourceInstances:":
      return .related(relationship: path, mappingName: nil)
    default: return nil
    }
  }
}

extension EntityMapping {
  enum Selection {
    case all
    case some(ModelPredicate)
    /// The mapping selects its objects with an expression that is not supported.
    case unsupported
  }

  var selection: Selection {
    guard let sourceExpression else { return .all }
    guard case .fetch(let request, _, countOnly: false) = sourceExpression,
      case .function(
        target: .variable("manager")?,
        selector: "fetchRequestForSourceEntityNamed:predicateString:",
        arguments: let arguments) = request,
      arguments.count == 2, arguments[0] == .constant(.string(sourceEntityName ?? "")),
      case .constant(.string(let text)) = arguments[1]
    else { return .unsupported }
    guard let predicate = try? ModelPredicate(parsing: text) else { return .unsupported }
    return predicate == .constant(true) || predicate == .and([]) ? .all : .some(predicate)
  }
}
