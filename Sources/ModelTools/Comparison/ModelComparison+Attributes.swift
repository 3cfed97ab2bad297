import ObjectModel

extension ModelComparison {
  mutating func compareAttributes(_ old: Entity, _ new: Entity) {
    let pairing = Pairing(
      old: old.attributes, new: new.attributes, name: \.name, identifier: \.renamingIdentifier)
    for attribute in pairing.removed {
      let names = [attribute.renamingIdentifier ?? attribute.name, attribute.name]
      let place = entities.newIndex.newAttributes.home(of: names, from: new.name)
      add(
        ModelChange(
          .attribute, .removed, entity: new.name, name: attribute.name, old: attribute.summary,
          affects: !attribute.isTransient, remark: place.map { "It is in `\($0)` now." }))
    }
    for attribute in pairing.added {
      let name = attribute.renamingIdentifier ?? attribute.name
      let origin = entities.oldIndex.oldAttributes.find(name, from: old.name)
      var verdict = rules.added(attribute, to: new)
      if let origin {
        let before = origin.declaration.property
        if before.type != attribute.type {
          verdict = rules.typeChange(from: before, to: attribute)
        } else if origin.isAbove, !before.isOptional {
          // Each object already has a value, because the attribute was inherited and mandatory in the old model.
          verdict = .handled
        }
      }
      add(
        ModelChange(
          .attribute, .added, entity: new.name, name: attribute.name, new: attribute.summary,
          affects: !attribute.isTransient, verdict: verdict,
          remark: origin.map { "It was in `\($0.declaration.entity)` before." }))
    }
    for (before, after) in pairing.pairs {
      if before.name != after.name {
        let isSeen =
          !(before.isTransient && after.isTransient)
          && (!Self.isNameless(before) || !Self.isNameless(after)
            || isReordered(before, after, old, new))
        add(
          ModelChange(
            .attribute, .renamed, entity: new.name, name: after.name, old: before.name,
            new: after.name, affects: isSeen))
      }
      compare(before, after, in: new, path: after.name)
    }
  }

  /// Whether the hash of the attribute leaves out the attribute's name, as the hashes of derived and composite
  /// attributes do.
  private static func isNameless(_ attribute: Attribute) -> Bool {
    attribute.isDerived || attribute.type == .composite
  }

  /// Whether the rename changes the attribute's position when the entity's properties are sorted by name. The entity's
  /// hash joins the property hashes in this order, so a new position changes the entity's hash too.
  private func isReordered(
    _ before: Attribute, _ after: Attribute, _ old: Entity, _ new: Entity
  ) -> Bool {
    func place(_ name: String, _ entity: String, _ model: ManagedObjectModel) -> Int {
      model.allAttributes(of: entity).count {
        !$0.isTransient && ByteOrder.precedes($0.name, name)
      }
        + model.allRelationships(of: entity).count {
          !$0.isTransient && ByteOrder.precedes($0.name, name)
        }
    }
    return place(before.name, old.name, entities.old) != place(after.name, new.name, entities.new)
  }

  // MARK: Traits

  /// Compares an attribute, or an element of a composite attribute, in the old and the new model.
  ///
  /// `path`: the name of the attribute, or the key path of the element, such as `place.city`.
  /// `isStored`: false for an element of a composite that is not stored.
  /// `fixed`: for an element, the verdict on each of its changes that alters a hash; nil for an attribute.
  private mutating func compare(
    _ old: Attribute, _ new: Attribute, in entity: Entity, path: String,
    isStored: Bool = true, fixed: LightweightVerdict? = nil
  ) {
    let isStored = isStored && !(old.isTransient && new.isTransient)
    // The hash of a derived attribute includes only the derivation expression.
    let isPlain = isStored && !(old.isDerived && new.isDerived)
    // If the attribute is transient in one of the models, there is no value to carry over. The change then counts as a
    // removal or an addition.
    let isCarried = !old.isTransient && !new.isTransient
    var traits = TraitComparison(.attribute, entity: entity.name, name: path, fixed: fixed)
    traits.compare(
      .type, old.type.name, new.type.name, affects: isPlain,
      verdict: isCarried ? rules.typeChange(from: old, to: new) : .handled)
    traits.compare(
      .isOptional, old.isOptional, new.isOptional, affects: isPlain,
      verdict: isCarried ? rules.optionalChange(of: new, in: entity) : .handled)
    traits.compare(
      .isTransient, old.isTransient, new.isTransient, affects: isStored,
      verdict: new.isTransient ? .handled : rules.added(new, to: entity),
      remark: new.isTransient ? "A migration drops the stored values." : nil)
    traits.compare(
      .derivation, old.derivation?.expressionText, new.derivation?.expressionText,
      affects: isStored,
      verdict: isCarried ? rules.derivationChange() : .handled)
    traits.compare(
      .derivationFilter, old.derivation?.filterText, new.derivation?.filterText,
      affects: isStored, verdict: isCarried ? rules.derivationChange() : .handled)
    traits.compare(
      .externalStorage, old.allowsExternalBinaryDataStorage, new.allowsExternalBinaryDataStorage,
      affects: isPlain, verdict: isCarried ? rules.externalStorageChange() : .handled)
    traits.compare(
      .preservedOnDeletion, old.preservesValueInHistoryOnDeletion,
      new.preservesValueInHistoryOnDeletion, affects: isPlain)
    traits.compare(
      .isReadOnly, old.isReadOnly, new.isReadOnly, affects: isPlain && !new.isDerived,
      verdict: rules.readOnlyChange())
    traits.compare(
      .versionHashModifier, old.versionHashModifier, new.versionHashModifier, affects: isPlain)
    compareQuietTraits(old, new, &traits)
    add(traits)
    compareElements(old, new, in: entity, path: path, isStored: isStored)
    compareUserInfo(old.userInfo, new.userInfo, entity: entity.name, owner: path)
  }

  /// Compares the traits that are not part of any hash.
  private func compareQuietTraits(
    _ old: Attribute, _ new: Attribute, _ traits: inout TraitComparison
  ) {
    let defaults = (old.defaultValue?.text, new.defaultValue?.text)
    if defaults.0 != defaults.1 || Self.hidesDifference(old.defaultValue, new.defaultValue) {
      traits.add(
        .defaultValue, defaults.0, defaults.1, remark: "Existing objects keep their values.")
    }
    traits.compare(
      .valueTransformer, old.valueTransformerName, new.valueTransformerName,
      remark:
        "Stored values stay as the old transformer wrote them; the new transformer has to read them."
    )
    traits.compare(.valueClass, old.valueClassName, new.valueClassName)
    traits.compare(.isIndexed, old.isIndexed, new.isIndexed)
    traits.compare(
      .validation, Self.text(old.validations), Self.text(new.validations),
      remark: "Rules are checked on saving; until then existing objects stay as they are."
    )
    traits.compare(.isIndexedBySpotlight, old.isIndexedBySpotlight, new.isIndexedBySpotlight)
    traits.compare(.isStoredInTruthFile, old.isStoredInTruthFile, new.isStoredInTruthFile)
    if scope.hasSourceTraits {
      traits.compare(
        .usesScalarValueType, old.usesScalarValueType ?? false, new.usesScalarValueType ?? false)
      traits.compare(.composite, old.compositeName, new.compositeName)
    }
    traits.compare(.renamingIdentifier, old.renamingIdentifier, new.renamingIdentifier)
  }

  /// Whether two default values differ although their texts may be equal. The text of binary data shows only the number
  /// of bytes, and the text of an archived object only the class.
  private static func hidesDifference(_ old: DefaultValue?, _ new: DefaultValue?) -> Bool {
    switch (old, new) {
    case (.data, .data), (.object, .object): old != new
    default: false
    }
  }

  private static func text(_ rules: [AttributeValidation]) -> String? {
    rules.isEmpty ? nil : rules.map(\.predicate.text).joined(separator: ", ")
  }

  private mutating func compareElements(
    _ old: Attribute, _ new: Attribute, in entity: Entity, path: String, isStored: Bool
  ) {
    guard !old.elements.isEmpty || !new.elements.isEmpty else { return }
    let pairing = Pairing(
      old: old.elements, new: new.elements, name: \.name, identifier: \.renamingIdentifier)
    for element in pairing.removed {
      add(
        ModelChange(
          .attribute, .removed, entity: entity.name, name: path + "." + element.name,
          old: element.summary, affects: isStored && !element.isTransient,
          verdict: rules.compositeChange()))
    }
    for element in pairing.added {
      add(
        ModelChange(
          .attribute, .added, entity: entity.name, name: path + "." + element.name,
          new: element.summary, affects: isStored && !element.isTransient,
          verdict: rules.compositeChange()))
    }
    for (before, after) in pairing.pairs {
      let elementPath = path + "." + after.name
      if before.name != after.name {
        add(
          ModelChange(
            .attribute, .renamed, entity: entity.name, name: elementPath,
            old: path + "." + before.name, new: elementPath, affects: isStored,
            verdict: rules.compositeChange()))
      }
      // The recursion is bounded, because the model readers bound the depth of nested composites.
      compare(
        before, after, in: entity, path: elementPath, isStored: isStored,
        fixed: rules.compositeChange())
    }
  }
}
