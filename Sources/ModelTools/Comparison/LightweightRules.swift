import ObjectModel

/// What Core Data's inferred migration can do.
///
/// Sources, in the order in which they count:
/// - [M] Apple, "Migrating your data model automatically" (the former "Using lightweight migration"
///   and "Lightweight Migration" of the Core Data Model Versioning and Data Migration Programming
///   Guide): add or remove an attribute; non-optional becoming optional; optional becoming
///   non-optional with a default value; rename an entity or property; add, remove or rename a
///   relationship; to-one becoming to-many; non-ordered to-many becoming ordered and back; add,
///   remove or rename an entity; a new parent or child; properties moved up and down the hierarchy;
///   entities moved out of it. Hierarchies are not merged: entities without a common parent in the
///   source cannot have one in the destination.
/// - [W] Apple, WWDC 2010, session 118: "numerical type conversion" of attributes is inferable.
/// - [E] Core Data's own messages in public logs: 134190 "Source and destination attribute types are
///   incompatible"; 134110 "Validation error missing attribute values on mandatory destination
///   attribute"; 134111 for a uniqueness constraint that the data violate.
/// - [A] Public apps, which infer steps that [M] does not name: to another destination and another
///   inverse (Artsy Folio 1.4 and 2.0). That proves nothing, but shows that silence does not mean "no".
///
/// Where these are silent the verdict is unknown.
struct LightweightRules {
  let entities: EntityPairing

  // MARK: Entities

  /// [M] A new parent is allowed, and so is leaving a hierarchy, but two hierarchies are not merged.
  func parentChange(of entity: Entity) -> LightweightVerdict {
    guard let other = entities.entity(mergedWith: entity.name) else { return .handled }
    return .notHandled(
      reason: "`\(entity.name)` and `\(other)` had no common parent before and have one now")
  }

  /// Not named by Apple. An abstract entity may become concrete; a concrete one may become abstract
  /// only if it has no objects.
  func abstractChange(of entity: Entity) -> LightweightVerdict {
    guard entity.isAbstract else { return .handled }
    return .handledIfDataAllows(
      reason: "there are objects of `\(entity.name)` itself, not of a subentity")
  }

  /// [E]
  func constraintAdded(_ names: String, to entity: Entity) -> LightweightVerdict {
    .handledIfDataAllows(
      reason: "two objects of `\(entity.name)` already have the same \(names)")
  }

  // MARK: Attributes

  /// Conversions between number types that keep every value exactly.
  private static let exactConversions: [AttributeType: Set<AttributeType>] = [
    .integer16: [.integer32, .integer64, .decimal, .double, .float],
    .integer32: [.integer64, .decimal, .double],
    .integer64: [.decimal],
    .float: [.double],
  ]

  /// [M], [E]
  func added(_ attribute: Attribute, to entity: Entity) -> LightweightVerdict {
    if attribute.isDerived || attribute.isOptional || attribute.defaultValue != nil {
      return .handled
    }
    return .handledIfDataAllows(
      reason:
        "`\(entity.name)` already has objects, because `\(attribute.name)` may not be empty and "
        + "has no default")
  }

  /// [M], [E]
  func optionalChange(of attribute: Attribute, in entity: Entity) -> LightweightVerdict {
    if attribute.isOptional || attribute.isDerived || attribute.defaultValue != nil {
      return .handled
    }
    return .handledIfDataAllows(
      reason:
        "an object of `\(entity.name)` has no `\(attribute.name)`, which has no default")
  }

  /// [E], and [W] for numbers.
  func typeChange(from old: Attribute, to new: Attribute) -> LightweightVerdict {
    if Self.exactConversions[old.type]?.contains(new.type) == true { return .handled }
    let numbers: Set<AttributeType> = [
      .integer16, .integer32, .integer64, .decimal, .double, .float,
    ]
    if numbers.contains(old.type), numbers.contains(new.type) {
      return .handledIfDataAllows(reason: "a number cannot be kept exactly as \(new.type.name)")
    }
    let isBoolean = old.type == .boolean || new.type == .boolean
    if isBoolean, numbers.contains(old.type) || numbers.contains(new.type) {
      return .unknown(
        reason: "Apple names conversions between number types, but not to or from Boolean")
    }
    if old.type == .composite || new.type == .composite {
      return .unknown(reason: "Apple's documentation does not name composite attributes")
    }
    return .notHandled(reason: "values of one type are not converted into values of the other")
  }

  /// Not named by Apple; losses are on record (S: nickkuh.com 2012).
  func externalStorageChange() -> LightweightVerdict {
    .unknown(
      reason: "Apple's documentation does not name it, and values kept in files beside the store "
        + "have been lost this way")
  }

  /// Not named by Apple.
  func derivationChange() -> LightweightVerdict {
    .unknown(
      reason: "Apple's documentation does not name changes of what an attribute is derived from")
  }

  /// Not named by Apple.
  func compositeChange() -> LightweightVerdict {
    .unknown(reason: "Apple's documentation does not name changes within a composite attribute")
  }

  /// Not named by Apple; Xcode cannot set the flag.
  func readOnlyChange() -> LightweightVerdict {
    .unknown(reason: "Apple's documentation does not name the read-only flag")
  }

  // MARK: Relationships

  /// [M], [E]
  func added(_ relationship: Relationship, to entity: Entity) -> LightweightVerdict {
    if Self.mayBeEmpty(relationship) { return .handled }
    return .handledIfDataAllows(
      reason: "`\(entity.name)` already has objects, because `\(relationship.name)` may not be "
        + "empty")
  }

  /// [M], [E]
  func optionalChange(of relationship: Relationship, in entity: Entity) -> LightweightVerdict {
    if Self.mayBeEmpty(relationship) { return .handled }
    return .handledIfDataAllows(
      reason: "an object of `\(entity.name)` has no `\(relationship.name)`")
  }

  /// A to-many relationship that is not optional is satisfied by an empty set, unless it has a lower
  /// bound.
  private static func mayBeEmpty(_ relationship: Relationship) -> Bool {
    relationship.isOptional || (relationship.isToMany && relationship.minCount <= 0)
  }

  /// [M] covers a destination entity that was renamed; Apple names nothing else. The apps of [A] infer such steps.
  func destinationChange(from old: Relationship, to new: Relationship) -> LightweightVerdict {
    if entities.newName(ofOld: old.destinationEntityName) == new.destinationEntityName {
      return .handled
    }
    return .unknown(
      reason: "Apple's documentation does not name a relationship whose destination changes")
  }

  /// A changed inverse affects both ends. If it only follows a rename, or is added or removed with its relationship,
  /// nothing has to be inferred.
  func inverseChange(
    from old: Relationship, to new: Relationship, renamedTo: String?
  ) -> LightweightVerdict {
    guard old.inverseName != nil, new.inverseName != nil else { return .handled }
    if let renamedTo, renamedTo == new.inverseName { return .handled }
    return .unknown(
      reason: "Apple's documentation does not name a relationship whose inverse changes")
  }

  /// [M] names to-one becoming to-many and is silent on the reverse.
  func maxCountChange(from old: Relationship, to new: Relationship) -> LightweightVerdict {
    if old.isToMany, !new.isToMany {
      return .unknown(
        reason:
          "Apple's documentation names a to-one relationship that becomes to-many, but not the "
          + "reverse")
    }
    // 0 and -1 both mean no limit.
    if new.maxCount <= 0 || (old.maxCount > 0 && old.maxCount <= new.maxCount) { return .handled }
    return .handledIfDataAllows(
      reason: "an object has more than \(new.maxCount) in `\(new.name)`")
  }

  /// Core Data checks a lower bound when it validates objects.
  func minCountChange(from old: Relationship, to new: Relationship) -> LightweightVerdict {
    if new.minCount <= old.minCount { return .handled }
    if new.minCount <= 1, !new.isToMany {
      return .handledIfDataAllows(reason: "an object has no `\(new.name)`")
    }
    return .handledIfDataAllows(
      reason: "an object has fewer than \(new.minCount) in `\(new.name)`")
  }
}
