import ObjectModel

/// One difference between two versions of a model.
public struct ModelChange: Sendable, Hashable {
  /// The part that changed and what happened to it, combined in a stable string such as `attributeAdded`. Later
  /// versions of this library may add kinds.
  package struct Kind: RawRepresentable, Sendable, Hashable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    init(_ part: Part, _ action: Action) {
      rawValue =
        part.rawValue + action.rawValue.prefix(1).uppercased() + action.rawValue.dropFirst()
    }

    package static let entityAdded = Kind(.entity, .added)
    package static let entityRemoved = Kind(.entity, .removed)
    /// An entity was renamed, according to its renaming identifier.
    package static let entityRenamed = Kind(.entity, .renamed)
    /// A trait of an entity changed, see ``ModelChange/trait``.
    package static let entityChanged = Kind(.entity, .changed)
    package static let attributeAdded = Kind(.attribute, .added)
    package static let attributeRemoved = Kind(.attribute, .removed)
    /// An attribute was renamed, according to its renaming identifier.
    package static let attributeRenamed = Kind(.attribute, .renamed)
    package static let relationshipRemoved = Kind(.relationship, .removed)
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
    /// An old-style compound index. The index has no name of its own; the list of its properties serves as its name.
    case compoundIndex
    /// A uniqueness constraint. The list of its properties serves as its name.
    case uniquenessConstraint
    /// An entry in the user info of an entity or a property. Its name is `/key` in the user info of an entity, and
    /// `property/key` in that of a property.
    case userInfoEntry
    /// A configuration of the model.
    case configuration
    /// A fetch request template of the model.
    case fetchRequest
  }

  /// The kind of change to a part of the model.
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
  /// The name of the entity in the new model. If the new model lacks the entity, its name in the old model. Nil for a
  /// change of the model itself.
  public let entityName: String?
  /// The name of the changed property, index, constraint, user info entry, configuration or template in the new model,
  /// or in the old model if that part is gone. Nil for a change of an entity itself or of the model itself.
  public let name: String?
  /// The trait that changed; nil if the part was added, removed or renamed.
  package let trait: ModelTrait?
  /// What was there before the change, as text: the old value of the trait, the old name, or a description of the
  /// removed part. Nil if the change has no such text.
  public let oldValue: String?
  /// What is there after the change, as text: the new value of the trait, the new name, or a description of the added
  /// part. Nil if the change has no such text.
  public let newValue: String?
  /// Whether the change alters the version hash of the entity, so that a store of the old version needs a migration.
  /// ``ModelDifference/hashEffects`` lists the other entities whose hashes change as a result.
  public let affectsVersionHash: Bool
  /// Whether lightweight migration can do this change.
  public let verdict: LightweightVerdict
  /// A further fact about the change, as a sentence for people; nil without such a fact.
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

  package var kind: Kind { Kind(part, action) }

  package var propertyName: String? {
    switch part {
    case .attribute, .relationship, .fetchedProperty: name
    default: nil
    }
  }

  package var field: String? { trait?.name }
}

extension ModelChange: CustomStringConvertible {
  /// The same as ``sentence``.
  public var description: String { sentence }
}
