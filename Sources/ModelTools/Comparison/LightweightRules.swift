import ObjectModel

/// The rules for what Core Data's inferred (lightweight) migration can do.
///
/// The sources, the most authoritative first. The comments of this type cite them by letter:
/// - [M] Apple, "Migrating your data model automatically" (the former "Using lightweight migration" and "Lightweight
///   Migration" of the Core Data Model Versioning and Data Migration Programming Guide): add or remove an attribute;
///   non-optional becoming optional; optional becoming non-optional with a default value; rename an entity or property;
///   add, remove or rename a relationship; to-one becoming to-many; non-ordered to-many becoming ordered and back; add,
///   remove or rename an entity; a new parent or child; properties moved up and down the hierarchy; entities moved out
///   of it. Hierarchies are not merged: entities without a common parent in the source cannot have one in the
///   destination.
/// - [W] Apple, WWDC 2010, session 118: "numerical type conversion" of attributes is inferable.
/// - [E] Core Data's own messages in public logs: 134190 "Source and destination attribute types are
///   incompatible"; 134110 "Validation error missing attribute values on mandatory destination
///   attribute"; 134111 for a uniqueness constraint that the data violate.
/// - [A] Public apps (Artsy Folio 1.4 and 2.0), which infer steps in which a relationship gets another destination or
///   another inverse. [M] does not mention such changes. The apps do not prove a rule. They only show that a change can
///   be possible although [M] does not mention it.
///
/// If these sources do not mention a change, then the verdict is unknown.
struct LightweightRules {
  let entities: EntityPairing

  // MARK: Entities

  /// Returns the verdict on an entity whose parent has changed. Apple's migration guide allows a new parent, and an
  /// entity that leaves its hierarchy. It does not allow that two hierarchies become one.
  func parentChange(of entity: Entity) -> LightweightVerdict {
    guard let other = entities.entity(mergedWith: entity.name) else { return .handled }
    return .notHandled(
      reason: "`\(entity.name)` and `\(other)` had no common parent before and have one now")
  }

  /// Returns the verdict on a changed abstract flag, which Apple's documentation does not mention. An abstract entity
  /// can become concrete. A concrete entity can become abstract only if it has no objects of its own.
  func abstractChange(of entity: Entity) -> LightweightVerdict {
    guard entity.isAbstract else { return .handled }
    return .handledIfDataAllows(
      reason: "there are objects of `\(entity.name)` itself, not of a subentity")
  }

  /// Returns the verdict on a new uniqueness constraint. Lightweight migration can add the constraint unless two stored
  /// objects already have the same values in it.
  func constraintAdded(_ names: String, to entity: Entity) -> LightweightVerdict {
    .handledIfDataAllows(
      reason: "two objects of `\(entity.name)` already have the same \(names)")
  }

  // MARK: Attributes

  /// For each number type, the number types into which all of its values can be converted without loss.
  private static let exactConversions: [AttributeType: Set<AttributeType>] = [
    .integer16: [.integer32, .integer64, .decimal, .double, .float],
    .integer32: [.integer64, .decimal, .double],
    .integer64: [.decimal],
    .float: [.double],
  ]

  /// Returns the verdict on a new attribute. Lightweight migration can add an attribute that is optional, is derived or
  /// has a default value (Apple's migration guide [M]). It can add any other attribute only if the entity has no
  /// objects (Core Data's error 134110 [E]).
  func added(_ attribute: Attribute, to entity: Entity) -> LightweightVerdict {
    if attribute.isDerived || attribute.isOptional || attribute.defaultValue != nil {
      return .handled
    }
    return .handledIfDataAllows(
      reason:
        "`\(entity.name)` already has objects (`\(attribute.name)` may not be empty and "
        + "has no default)")
  }

  /// Returns the verdict on a changed optional flag of an attribute. An attribute may become optional. An attribute may
  /// become mandatory if it has a default value (Apple's migration guide [M]), or if no object lacks a value for it
  /// (Core Data's error 134110 [E]).
  func optionalChange(of attribute: Attribute, in entity: Entity) -> LightweightVerdict {
    if attribute.isOptional || attribute.isDerived || attribute.defaultValue != nil {
      return .handled
    }
    return .handledIfDataAllows(
      reason:
        "an object of `\(entity.name)` has no value for `\(attribute.name)`, which has no default")
  }

  /// Returns the verdict on a changed type. Values are converted between number types (WWDC 2010 [W]). Apple does not
  /// document conversions between Boolean and number types, or conversions of composites; the verdict on these changes
  /// is unknown. Lightweight migration cannot do any other change of type (Core Data's error 134190 [E]).
  func typeChange(from old: Attribute, to new: Attribute) -> LightweightVerdict {
    if Self.exactConversions[old.type]?.contains(new.type) == true { return .handled }
    let numbers: Set<AttributeType> = [
      .integer16, .integer32, .integer64, .decimal, .double, .float,
    ]
    if numbers.contains(old.type), numbers.contains(new.type) {
      return .handledIfDataAllows(
        reason: "a stored number cannot be kept exactly as \(new.type.name)")
    }
    let isBoolean = old.type == .boolean || new.type == .boolean
    if isBoolean, numbers.contains(old.type) || numbers.contains(new.type) {
      return .unknown(
        reason: "Apple's guide lists conversions between number types, but none to or from Boolean")
    }
    if old.type == .composite || new.type == .composite {
      return .unknown(reason: "Apple's documentation does not mention composite attributes")
    }
    return .notHandled(
      reason: "values of the old type are not converted into values of the new type")
  }

  /// Returns the verdict on a changed external storage option. The verdict is unknown, because Apple's documentation
  /// does not mention such a change. One report says that such a change lost values (nickkuh.com, 2012).
  func externalStorageChange() -> LightweightVerdict {
    .unknown(
      reason: "Apple's documentation does not mention a change of external storage, and "
        + "values kept in files beside the store have been lost this way")
  }

  func derivationChange() -> LightweightVerdict {
    .unknown(
      reason:
        "Apple's documentation does not mention changes of what a derived attribute is computed from"
    )
  }

  func compositeChange() -> LightweightVerdict {
    .unknown(reason: "Apple's documentation does not mention changes within a composite attribute")
  }

  /// Returns the verdict on a changed read-only flag. The verdict is unknown, because Apple's documentation does not
  /// mention the flag. Xcode cannot set the flag.
  func readOnlyChange() -> LightweightVerdict {
    .unknown(reason: "Apple's documentation does not mention the read-only flag")
  }

  // MARK: Relationships

  /// Returns the verdict on a new relationship. Lightweight migration can add a relationship that may be empty (Apple's
  /// migration guide [M]). It can add any other relationship only if the entity has no objects (Core Data's error
  /// messages [E]).
  func added(_ relationship: Relationship, to entity: Entity) -> LightweightVerdict {
    if Self.mayBeEmpty(relationship) { return .handled }
    return .handledIfDataAllows(
      reason: "`\(entity.name)` already has objects (`\(relationship.name)` may not be "
        + "empty)")
  }

  /// Returns the verdict on a changed optional flag of a relationship. A relationship may become optional (Apple's
  /// migration guide [M]). A relationship may become mandatory if it is not empty in any object (Core Data's error
  /// messages [E]).
  func optionalChange(of relationship: Relationship, in entity: Entity) -> LightweightVerdict {
    if Self.mayBeEmpty(relationship) { return .handled }
    return .handledIfDataAllows(
      reason: "an object of `\(entity.name)` has no `\(relationship.name)`")
  }

  /// Whether a relationship may be empty: it is optional, or it is to-many and has no minimum count above 0.
  private static func mayBeEmpty(_ relationship: Relationship) -> Bool {
    relationship.isOptional || (relationship.isToMany && relationship.minCount <= 0)
  }

  /// Returns the verdict on a relationship whose destination entity differs between the two models. If the destination
  /// entity was only renamed, lightweight migration handles the change (Apple's migration guide [M]). Otherwise the
  /// verdict is unknown: Apple's documentation does not mention such a change, but public apps infer mappings for it
  /// [A].
  func destinationChange(from old: Relationship, to new: Relationship) -> LightweightVerdict {
    if entities.newName(ofOld: old.destinationEntityName) == new.destinationEntityName {
      return .handled
    }
    return .unknown(
      reason: "Apple's documentation does not mention a relationship whose destination changes")
  }

  /// Returns the verdict on a changed inverse. Nothing has to be inferred if the inverse was only renamed, or if the
  /// old or the new relationship has no inverse. The verdict on any other change is unknown.
  func inverseChange(
    from old: Relationship, to new: Relationship, renamedTo: String?
  ) -> LightweightVerdict {
    guard old.inverseName != nil, new.inverseName != nil else { return .handled }
    if let renamedTo, renamedTo == new.inverseName { return .handled }
    return .unknown(
      reason: "Apple's documentation does not mention a relationship whose inverse changes")
  }

  /// Returns the verdict on a changed maximum count. Apple's migration guide [M] allows a to-one relationship to become
  /// to-many, and does not mention the reverse.
  func maxCountChange(from old: Relationship, to new: Relationship) -> LightweightVerdict {
    if old.isToMany, !new.isToMany {
      return .unknown(
        reason:
          "Apple's documentation mentions a to-one relationship that becomes to-many, but not the "
          + "reverse")
    }
    // 0 and -1 both mean no limit.
    if new.maxCount <= 0 || (old.maxCount > 0 && old.maxCount <= new.maxCount) { return .handled }
    return .handledIfDataAllows(
      reason: "an object has more than \(new.maxCount) related objects in `\(new.name)`")
  }

  /// Returns the verdict on a changed minimum count. Lightweight migration can lower the count. It can raise the count
  /// unless an object has too few related objects, because Core Data checks their number when it validates the object.
  func minCountChange(from old: Relationship, to new: Relationship) -> LightweightVerdict {
    if new.minCount <= old.minCount { return .handled }
    if new.minCount <= 1, !new.isToMany {
      return .handledIfDataAllows(reason: "an object has no `\(new.name)`")
    }
    return .handledIfDataAllows(
      reason: "an object has fewer than \(new.minCount) related objects in `\(new.name)`")
  }
}
