/// An attribute of an entity, or an element of a composite attribute.
public struct Attribute: Sendable, Hashable {
  /// The attribute's name.
  public var name: String
  /// The attribute's type.
  public var type: AttributeType
  /// Whether null is allowed.
  public var isOptional: Bool
  /// Whether the value is never stored.
  public var isTransient: Bool
  /// Whether the archived model marks the attribute as read-only; true for every derived attribute.
  package var isReadOnly: Bool
  /// Whether the old `indexed` flag is set.
  package var isIndexed: Bool
  /// Whether Spotlight indexes the values.
  package var isIndexedBySpotlight: Bool
  /// Whether the values are kept in external record files for Spotlight ("truth files", macOS).
  package var isStoredInTruthFile: Bool
  /// Whether big values may go to files beside the store.
  public var allowsExternalBinaryDataStorage: Bool
  /// Whether persistent history keeps the value of a deleted row.
  package var preservesValueInHistoryOnDeletion: Bool
  /// The default value; nil when there is none.
  public var defaultValue: DefaultValue?
  /// The validation rules, in stored order.
  package var validations: [AttributeValidation]
  /// Whether generated code uses a scalar instead of an object; nil if the file form does not say, as in compiled
  /// models.
  package var usesScalarValueType: Bool?
  /// The value transformer of a transformable attribute; nil for the default one.
  public var valueTransformerName: String?
  /// The class of the values, if the model names one other than the type's own.
  package var valueClassName: String?
  /// The version hash modifier.
  public var versionHashModifier: String?
  /// The name in an earlier version of the model, when the model gives one.
  public var renamingIdentifier: String?
  /// The user info.
  public var userInfo: [String: ArchivedValue]
  /// How a derived attribute gets its value; nil for an ordinary one.
  package var derivation: Derivation?
  /// The elements of a composite attribute, in the model's order, which is that of their columns; empty for any other.
  package var elements: [Attribute]
  /// The composite's name in an `.xcdatamodel`; nil in compiled models.
  package var compositeName: String?

  /// Makes an attribute. The defaults are those of Apple's API: mandatory, persistent, plain.
  package init(
    name: String, type: AttributeType, isOptional: Bool = false, isTransient: Bool = false,
    isReadOnly: Bool = false, isIndexed: Bool = false, isIndexedBySpotlight: Bool = false,
    isStoredInTruthFile: Bool = false,
    allowsExternalBinaryDataStorage: Bool = false,
    preservesValueInHistoryOnDeletion: Bool = false, defaultValue: DefaultValue? = nil,
    validations: [AttributeValidation] = [], usesScalarValueType: Bool? = nil,
    valueTransformerName: String? = nil, valueClassName: String? = nil,
    versionHashModifier: String? = nil, renamingIdentifier: String? = nil,
    userInfo: [String: ArchivedValue] = [:], derivation: Derivation? = nil,
    elements: [Attribute] = [], compositeName: String? = nil
  ) {
    self.name = name
    self.type = type
    self.isOptional = isOptional
    self.isTransient = isTransient
    self.isReadOnly = isReadOnly
    self.isIndexed = isIndexed
    self.isIndexedBySpotlight = isIndexedBySpotlight
    self.isStoredInTruthFile = isStoredInTruthFile
    self.allowsExternalBinaryDataStorage = allowsExternalBinaryDataStorage
    self.preservesValueInHistoryOnDeletion = preservesValueInHistoryOnDeletion
    self.defaultValue = defaultValue
    self.validations = validations
    self.usesScalarValueType = usesScalarValueType
    self.valueTransformerName = valueTransformerName
    self.valueClassName = valueClassName
    self.versionHashModifier = versionHashModifier
    self.renamingIdentifier = renamingIdentifier
    self.userInfo = userInfo
    self.derivation = derivation
    self.elements = elements
    self.compositeName = compositeName
  }

  /// Whether the value is computed by the store.
  package var isDerived: Bool { derivation != nil }
}
