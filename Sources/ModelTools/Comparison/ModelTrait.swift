package import ObjectModel

/// A changeable trait of an entity, a property or the model. The name of a trait is stable. Later versions of this
/// library may add traits.
package struct ModelTrait: RawRepresentable, Sendable, Hashable {
  /// The stable name of the trait, in words: `external storage`.
  package let rawValue: String

  package init(rawValue: String) { self.rawValue = rawValue }

  package var name: String { rawValue }

  // MARK: Entities

  package static let parent = ModelTrait(rawValue: "parent")
  package static let isAbstract = ModelTrait(rawValue: "abstract")
  package static let className = ModelTrait(rawValue: "class")
  package static let codeGeneration = ModelTrait(rawValue: "code generation")
  /// The expression that Spotlight takes the display name from.
  package static let spotlightName = ModelTrait(rawValue: "Spotlight name")

  // MARK: Properties

  package static let versionHashModifier = ModelTrait(rawValue: "version hash modifier")
  package static let renamingIdentifier = ModelTrait(rawValue: "renaming identifier")
  package static let isOptional = ModelTrait(rawValue: "optional")
  package static let isTransient = ModelTrait(rawValue: "transient")
  package static let isIndexed = ModelTrait(rawValue: "indexed")
  package static let type = ModelTrait(rawValue: "type")
  package static let derivation = ModelTrait(rawValue: "derivation")
  package static let derivationFilter = ModelTrait(rawValue: "derivation filter")
  package static let externalStorage = ModelTrait(rawValue: "external storage")
  package static let preservedOnDeletion = ModelTrait(rawValue: "preserved in history on deletion")
  package static let isReadOnly = ModelTrait(rawValue: "read-only")
  package static let defaultValue = ModelTrait(rawValue: "default")
  package static let valueTransformer = ModelTrait(rawValue: "value transformer")
  package static let valueClass = ModelTrait(rawValue: "value class")
  /// The destination entity of a relationship, or the entity that a fetched property or a fetch request template
  /// fetches.
  package static let destination = ModelTrait(rawValue: "destination")
  package static let inverse = ModelTrait(rawValue: "inverse")
  package static let inverseEntity = ModelTrait(rawValue: "inverse entity")
  package static let minCount = ModelTrait(rawValue: "least count")
  package static let maxCount = ModelTrait(rawValue: "greatest count")
  package static let isOrdered = ModelTrait(rawValue: "ordered")
  package static let deleteRule = ModelTrait(rawValue: "delete rule")
  package static let validation = ModelTrait(rawValue: "validation")
  package static let isIndexedBySpotlight = ModelTrait(rawValue: "indexed by Spotlight")
  package static let isStoredInTruthFile = ModelTrait(rawValue: "stored in record files")
  package static let usesScalarValueType = ModelTrait(rawValue: "scalar in generated code")
  /// The name of the composite type of a composite attribute.
  package static let composite = ModelTrait(rawValue: "composite")

  // MARK: Others

  /// The predicate of a fetched property or a fetch request template.
  package static let predicate = ModelTrait(rawValue: "predicate")
  /// The columns of an index.
  package static let columns = ModelTrait(rawValue: "columns")
  package static let partialPredicate = ModelTrait(rawValue: "filter")
  /// The value of a user info entry.
  package static let value = ModelTrait(rawValue: "value")
  /// The entities of a configuration.
  package static let members = ModelTrait(rawValue: "entities")
  /// The settings of a fetch request other than its entity and predicate.
  package static let request = ModelTrait(rawValue: "request")
  package static let cloudKitConfigurations = ModelTrait(rawValue: "CloudKit configurations")
  package static let isUsedWithCloudKit = ModelTrait(rawValue: "used with CloudKit")
  package static let isUsedWithSwiftData = ModelTrait(rawValue: "used with SwiftData")
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

  /// Returns `value`, a value of this trait, for use in a sentence. Names and texts are put in backticks; numbers and
  /// fixed words are not.
  func quoted(_ value: String) -> String { Self.inWords.contains(self) ? value : "`\(value)`" }

  private static let inWords: Set<ModelTrait> = [
    .type, .minCount, .maxCount, .deleteRule, .request, .codeGeneration,
  ]

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
