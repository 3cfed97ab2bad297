import ObjectModel

/// One difference between two versions of a model.
public struct ModelChange: Sendable, Hashable {
  /// What happened to what, as a stable string such as `attributeAdded`; more may be added.
  package struct Kind: RawRepresentable, Sendable, Hashable {
    /// The stable text of the kind.
    package let rawValue: String

    /// Makes a kind from its stable text.
    package init(rawValue: String) { self.rawValue = rawValue }

    init(_ part: Part, _ action: Action) {
      rawValue =
        part.rawValue + action.rawValue.prefix(1).uppercased() + action.rawValue.dropFirst()
    }

    /// A new entity.
    package static let entityAdded = Kind(.entity, .added)
    /// An entity that is gone.
    package static let entityRemoved = Kind(.entity, .removed)
    /// An entity under a new name, as its renaming identifier says.
    package static let entityRenamed = Kind(.entity, .renamed)
    /// A changed trait of an entity, see ``ModelChange/trait``.
    package static let entityChanged = Kind(.entity, .changed)
    /// A new attribute.
    package static let attributeAdded = Kind(.attribute, .added)
    /// An attribute that is gone.
    package static let attributeRemoved = Kind(.attribute, .removed)
    /// An attribute under a new name, as its renaming identifier says.
    package static let attributeRenamed = Kind(.attribute, .renamed)
    /// A changed trait of an attribute, see ``ModelChange/trait``.
    package static let attributeChanged = Kind(.attribute, .changed)
    /// A new relationship.
    package static let relationshipAdded = Kind(.relationship, .added)
    /// A relationship that is gone.
    package static let relationshipRemoved = Kind(.relationship, .removed)
    /// A relationship under a new name, as its renaming identifier says.
    package static let relationshipRenamed = Kind(.relationship, .renamed)
    /// A changed trait of a relationship, see ``ModelChange/trait``.
    package static let relationshipChanged = Kind(.relationship, .changed)
  }

  /// The kinds of things that change.
  public enum Part: String, Sendable, Hashable {
    /// The model itself.
    case model
    /// An entity.
    case entity
    /// An attribute, or an element of a composite one: then the name is a path, `place.city`.
    case attribute
    /// A relationship.
    case relationship
    /// A fetched property.
    case fetchedProperty
    /// A fetch index.
    case fetchIndex
    /// An old-style compound index; its name is the list of its properties.
    case compoundIndex
    /// A uniqueness constraint; its name is the list of its properties.
    case uniquenessConstraint
    /// An entry of the user info of an entity, or of a property: then the name is `property/key`.
    case userInfoEntry
    /// A configuration of the model.
    case configuration
    /// A fetch request template of the model.
    case fetchRequest
  }

  /// What happened to the part.
  public enum Action: String, Sendable, Hashable {
    /// It is new.
    case added
    /// It is gone.
    case removed
    /// It has a new name.
    case renamed
    /// A ``Trait`` of it changed.
    case changed
  }

  /// What kind of thing changed.
  public let part: Part
  /// What happened to it.
  public let action: Action
  /// The new name of the entity, or the old name if it is gone; nil for changes of the model itself.
  public let entityName: String?
  /// The new name of the property, index, constraint, entry, configuration or template, or the old name if it is gone;
  /// nil for the entity or the model itself.
  public let name: String?
  /// Which trait changed; nil when something was added, removed or renamed.
  package let trait: ModelTrait?
  /// The state before, as text: the trait's value, the old name, or a description of what is gone.
  public let oldValue: String?
  /// The state after, as text: the trait's value, the new name, or a description of what is new.
  public let newValue: String?
  /// Whether the change alters the entity's version hash, so that old stores do not open without migration. The effects
  /// on other entities are in ``ModelDifference/hashEffects``.
  public let affectsVersionHash: Bool
  /// Whether lightweight migration can do the change.
  public let verdict: LightweightVerdict
  /// What else a reader should know, as a sentence; nil when there is nothing.
  package let remark: String?

  init(
    _ part: Part, _ action: Action, entity: String? = nil, name: String? = nil,
    trait: ModelTrait? = nil, old: String? = nil, new: String? = nil, affects: Bool = false,
    verdict: LightweightVerdict = .handled, remark: String? = nil
  ) {
    self.part = part
    self.action = action
    entityName = entity
    self.name = name
    self.trait = trait
    oldValue = old
    newValue = new
    affectsVersionHash = affects
    self.verdict = affects ? verdict : .nothingToDo
    self.remark = remark
  }

  /// What happened to what, in one word for programs.
  package var kind: Kind { Kind(part, action) }

  /// The property that changed, or that the change belongs to; nil for changes of an entity or of the model.
  package var propertyName: String? {
    switch part {
    case .attribute, .relationship, .fetchedProperty: name
    default: nil
    }
  }

  /// ``trait`` in words; nil when something was added, removed or renamed.
  package var field: String? { trait?.name }
}

extension ModelChange: CustomStringConvertible {
  /// ``sentence``.
  public var description: String { sentence }
}
