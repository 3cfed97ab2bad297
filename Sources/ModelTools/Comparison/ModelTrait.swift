package import ObjectModel

/// A changeable trait of an entity, a property or the model. Its name is stable; later versions of this library may
/// add traits.
package struct ModelTrait: RawRepresentable, Sendable, Hashable {
  /// The stable name of the trait, in words: `external storage`.
  package let rawValue: String

  /// Makes a trait from its stable name.
  package init(rawValue: String) { self.rawValue = rawValue }

  /// The trait's name for people. It equals the stable name for programs.
  package var name: String { rawValue }

  // MARK: Entities

  /// The parent of an entity.
  package static let parent = ModelTrait(rawValue: "parent")
  /// Whether an entity is abstract, without objects of its own.
  package static let isAbstract = ModelTrait(rawValue: "abstract")
  /// The managed object class of an entity.
  package static let className = ModelTrait(rawValue: "class")
  /// How Xcode generates the class of an entity.
  package static let codeGeneration = ModelTrait(rawValue: "code generation")
  /// The expression that Spotlight takes the display name from.
  package static let spotlightName = ModelTrait(rawValue: "Spotlight name")

  // MARK: Properties

  /// The version hash modifier of an entity or property.
  package static let versionHashModifier = ModelTrait(rawValue: "version hash modifier")
  /// The renaming identifier of an entity or property.
  package static let renamingIdentifier = ModelTrait(rawValue: "renaming identifier")
  /// Whether a property may be empty in a saved object.
  package static let isOptional = ModelTrait(rawValue: "optional")
  /// Whether a property is transient, so that it is never stored.
  package static let isTransient = ModelTrait(rawValue: "transient")
  /// Whether the old-style `indexed` flag of a property is set.
  package static let isIndexed = ModelTrait(rawValue: "indexed")
  /// An attribute's type.
  package static let type = ModelTrait(rawValue: "type")
  /// The expression of a derived attribute.
  package static let derivation = ModelTrait(rawValue: "derivation")
  /// The predicate that filters the objects from which a derived attribute is computed.
  package static let derivationFilter = ModelTrait(rawValue: "derivation filter")
  /// Whether Core Data may keep large values of an attribute in files beside the store.
  package static let externalStorage = ModelTrait(rawValue: "external storage")
  /// Whether persistent history keeps the attribute's value of a deleted object.
  package static let preservedOnDeletion = ModelTrait(rawValue: "preserved in history on deletion")
  /// Whether the archived model marks a property as read-only.
  package static let isReadOnly = ModelTrait(rawValue: "read-only")
  /// The default value of an attribute.
  package static let defaultValue = ModelTrait(rawValue: "default")
  /// The value transformer of a transformable attribute.
  package static let valueTransformer = ModelTrait(rawValue: "value transformer")
  /// The class of an attribute's values.
  package static let valueClass = ModelTrait(rawValue: "value class")
  /// The destination entity of a relationship, or the entity that a fetched property or a fetch request template
  /// fetches.
  package static let destination = ModelTrait(rawValue: "destination")
  /// The name of a relationship's inverse.
  package static let inverse = ModelTrait(rawValue: "inverse")
  /// The entity that declares a relationship's inverse.
  package static let inverseEntity = ModelTrait(rawValue: "inverse entity")
  /// The minimum number of objects of a relationship.
  package static let minCount = ModelTrait(rawValue: "least count")
  /// The maximum number of objects of a relationship.
  package static let maxCount = ModelTrait(rawValue: "greatest count")
  /// Whether a to-many relationship keeps its objects in an order.
  package static let isOrdered = ModelTrait(rawValue: "ordered")
  /// The delete rule of a relationship.
  package static let deleteRule = ModelTrait(rawValue: "delete rule")
  /// The validation rules of an attribute.
  package static let validation = ModelTrait(rawValue: "validation")
  /// Whether Spotlight indexes the values of a property.
  package static let isIndexedBySpotlight = ModelTrait(rawValue: "indexed by Spotlight")
  /// Whether a property is kept in external record files for Spotlight.
  package static let isStoredInTruthFile = ModelTrait(rawValue: "stored in record files")
  /// Whether generated code declares the attribute as a number or Boolean instead of an object.
  package static let usesScalarValueType = ModelTrait(rawValue: "scalar in generated code")
  /// The name of the composite type of a composite attribute.
  package static let composite = ModelTrait(rawValue: "composite")

  // MARK: Others

  /// The predicate of a fetched property or a fetch request template.
  package static let predicate = ModelTrait(rawValue: "predicate")
  /// The columns of an index.
  package static let columns = ModelTrait(rawValue: "columns")
  /// The predicate of a partial index.
  package static let partialPredicate = ModelTrait(rawValue: "filter")
  /// The value of a user info entry.
  package static let value = ModelTrait(rawValue: "value")
  /// The entities of a configuration.
  package static let members = ModelTrait(rawValue: "entities")
  /// The settings of a fetch request other than its entity and predicate.
  package static let request = ModelTrait(rawValue: "request")
  /// The configurations that CloudKit is used with.
  package static let cloudKitConfigurations = ModelTrait(rawValue: "CloudKit configurations")
  /// Whether the model is used with CloudKit.
  package static let isUsedWithCloudKit = ModelTrait(rawValue: "used with CloudKit")
  /// Whether the model is used with SwiftData.
  package static let isUsedWithSwiftData = ModelTrait(rawValue: "used with SwiftData")
  /// The model's version identifiers.
  package static let versionIdentifiers = ModelTrait(rawValue: "version identifiers")

  // MARK: Words

  static let yes = "yes"
  static let no = "no"

  /// Whether the trait is a flag, with the values "yes" and "no".
  var isFlag: Bool { Self.flags.contains(self) }

  private static let flags: Set<ModelTrait> = [
    .isAbstract, .isOptional, .isTransient, .isIndexed, .preservedOnDeletion, .isReadOnly,
    .isOrdered, .externalStorage, .isIndexedBySpotlight, .isStoredInTruthFile, .usesScalarValueType,
    .isUsedWithCloudKit, .isUsedWithSwiftData,
  ]

  /// A value of the trait, as it is written in a sentence: numbers and fixed words without quotation, names and texts
  /// in backticks.
  func quoted(_ value: String) -> String { Self.inWords.contains(self) ? value : "`\(value)`" }

  private static let inWords: Set<ModelTrait> = [
    .type, .minCount, .maxCount, .deleteRule, .request, .codeGeneration,
  ]

  /// Whether the trait's name is a plural noun.
  var isPlural: Bool {
    [.columns, .members, .cloudKitConfigurations, .versionIdentifiers].contains(self)
  }
}

extension Attribute {
  /// The type and other main traits of the attribute in a few words: `Date, optional`.
  package var summary: String {
    var parts = [type.name]
    if isOptional { parts.append("optional") }
    if isTransient { parts.append("transient") }
    if let derivation { parts.append("derived from \(derivation.expressionText)") }
    if let defaultValue { parts.append("default \(defaultValue.text)") }
    return parts.joined(separator: ", ")
  }
}

extension Relationship {
  /// The main traits of the relationship in a few words: `to many Tag, ordered, inverse notes`.
  package var summary: String {
    var parts = ["\(isToMany ? "to many" : "to one") \(destinationEntityName)"]
    if isOrdered { parts.append("ordered") }
    if isOptional { parts.append("optional") }
    if isTransient { parts.append("transient") }
    if let inverseName { parts.append("inverse \(inverseName)") }
    return parts.joined(separator: ", ")
  }
}
