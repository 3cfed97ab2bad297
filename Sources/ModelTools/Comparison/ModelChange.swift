import ObjectModel

/// One difference between two versions of a model.
public struct ModelChange: Sendable, Hashable {
  /// The part that changed and what happened to it, as a stable string such as `attributeAdded`. Later versions may add
  /// kinds.
  package struct Kind: RawRepresentable, Sendable, Hashable {
    /// The stable text of the kind.
    package let rawValue: String

    /// Makes a kind from its stable text.
    package init(rawValue: String) { self.rawValue = rawValue }

    init(_ part: Part, _ action: Action) {
      rawValue =
        part.rawValue + action.rawValue.prefix(1).uppercased() + action.rawValue.dropFirst()
    }

    /// An entity was added.
    package static let entityAdded = Kind(.entity, .added)
    /// An entity was removed.
    package static let entityRemoved = Kind(.entity, .removed)
    /// An entity was renamed, as its renaming identifier says.
    package static let entityRenamed = Kind(.entity, .renamed)
    /// A trait of an entity changed, see ``ModelChange/trait``.
    package static let entityChanged = Kind(.entity, .changed)
    /// An attribute was added.
    package static let attributeAdded = Kind(.attribute, .added)
    /// An attribute was removed.
    package static let attributeRemoved = Kind(.attribute, .removed)
    /// An attribute was renamed, as its renaming identifier says.
    package static let attributeRenamed = Kind(.attribute, .renamed)
    /// A trait of an attribute changed, see ``ModelChange/trait``.
    package static let attributeChanged = Kind(.attribute, .changed)
    /// A relationship was added.
    package static let relationshipAdded = Kind(.relationship, .added)
    /// A relationship was removed.
    package static let relationshipRemoved = Kind(.relationship, .removed)
    /// A relationship was renamed, as its renaming identifier says.
    package static let relationshipRenamed = Kind(.relationship, .renamed)
    /// A trait of a relationship changed, see ``ModelChange/trait``.
    package static let relationshipChanged = Kind(.relationship, .changed)
  }

  /// The kind of part of a model that changed.
  public enum Part: String, Sendable, Hashable {
    /// The model itself.
    case model
    /// An entity.
    case entity
    /// An attribute of an entity, or an element of a composite attribute. The name of an element is a path:
    /// `place.city`.
    case attribute
    /// A relationship.
    case relationship
    /// A fetched property.
    case fetchedProperty
    /// A fetch index.
    case fetchIndex
    /// An old-style compound index. Its name is the list of its properties.
    case compoundIndex
    /// A uniqueness constraint. Its name is the list of its properties.
    case uniquenessConstraint
    /// A user info entry of an entity or of a property. Its name is `/key` for an entity and `property/key` for a
    /// property.
    case userInfoEntry
    /// A configuration of the model.
    case configuration
    /// A fetch request template of the model.
    case fetchRequest
  }

  /// What happened to a part of the model.
  public enum Action: String, Sendable, Hashable {
    /// The part is new.
    case added
    /// The part is gone.
    case removed
    /// The part has a new name.
    case renamed
    /// A trait of the part changed, such as its type.
    case changed
  }

  /// The kind of part that changed.
  public let part: Part
  /// What happened to the part.
  public let action: Action
  /// The new name of the entity; the old name if the entity is gone. Nil for changes of the model itself.
  public let entityName: String?
  /// The new name of the property, index, constraint, user info entry, configuration or template; the old name if it is
  /// gone. Nil if the change is one of the entity or the model itself.
  public let name: String?
  /// The trait that changed; nil if the part was added, removed or renamed.
  package let trait: ModelTrait?
  /// The state before the change, as text: the trait's value, the old name, or a description of what is gone. Nil if
  /// there was nothing.
  public let oldValue: String?
  /// The state after the change, as text: the trait's value, the new name, or a description of what is new. Nil if
  /// there is nothing.
  public let newValue: String?
  /// Whether the change alters the entity's version hash, so that a store of the old version needs a migration. The
  /// effects on other entities are in ``ModelDifference/hashEffects``.
  public let affectsVersionHash: Bool
  /// Whether lightweight migration can do this change.
  public let verdict: LightweightVerdict
  /// What else people should know about the change, as a sentence; nil if there is nothing.
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

  /// The part and the action in one word for programs, such as `attributeAdded`.
  package var kind: Kind { Kind(part, action) }

  /// The name of the property that changed; nil if the change is not one of a property.
  package var propertyName: String? {
    switch part {
    case .attribute, .relationship, .fetchedProperty: name
    default: nil
    }
  }

  /// The name of ``trait``; nil if the part was added, removed or renamed.
  package var field: String? { trait?.name }
}

extension ModelChange: CustomStringConvertible {
  /// The same as ``sentence``.
  public var description: String { sentence }
}
