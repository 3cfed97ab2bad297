/// Attributes, relationships and fetched properties of the editor's form.
extension EditorModelReader {
  /// The tagged values of an entity that are read, or that say nothing about the model:
  /// `XD_PSK_classMapping` names the editor's own generic class.
  static let entityTags: Set<String> = [
    "XDPMCompoundIndexes", "XDPMUniquenessConstraints", "XD_PSK_classMapping", "XD_PSK_elementID",
    "XD_PSK_entityClassName", "XD_PSK_fetchRequestsArray", "XD_PSK_isAbstract", "XD_PSK_userInfo",
    "XD_PSK_versionHashModifier",
  ]

  /// Those that all properties share. Spotlight (`XD_PPSK_isSpotlightIndexed`,
  /// `XD_PPSK_isStoredInTruthFile`) has no place in the model and no part in the hash.
  static let propertyTags: Set<String> = [
    "XD_PPSK_elementID", "XD_PPSK_isIndexed", "XD_PPSK_isOptional", "XD_PPSK_isSpotlightIndexed",
    "XD_PPSK_isStoredInTruthFile", "XD_PPSK_isTransient", "XD_PPSK_userInfo",
    "XD_PPSK_versionHashModifier",
  ]

  static let attributeTags = propertyTags.union([
    "XD_PAttK_allowsExternalBinaryDataStorage", "XD_PAttK_attributeType",
    "XD_PAttK_defaultValueAsString", "XD_PAttK_maxValueString", "XD_PAttK_minValueString",
    "XD_PAttK_regularExpressionString", "XD_PAttK_valueTransformerName",
  ])

  static let relationshipTags = propertyTags.union([
    "XD_PRK_deleteRule", "XD_PRK_destination", "XD_PRK_inverseRelationship", "XD_PRK_isToMany",
    "XD_PRK_maxCount", "XD_PRK_minCount", "XD_PRK_ordered",
  ])

  mutating func attribute(
    _ name: String, _ tags: [String: PropertyList]
  ) throws(ModelError) -> Attribute {
    note(tags, except: Self.attributeTags, of: "XDPMAttribute")
    // The number is absent where the editor shows "Undefined".
    let type = AttributeType(rawValue: try count("XD_PAttK_attributeType", tags) ?? 0)
    let text = try self.text(tags["XD_PAttK_defaultValueAsString"])
    return Attribute(
      name: name, type: type, isOptional: flag(tags["XD_PPSK_isOptional"]),
      isTransient: flag(tags["XD_PPSK_isTransient"]), isIndexed: flag(tags["XD_PPSK_isIndexed"]),
      allowsExternalBinaryDataStorage: flag(tags["XD_PAttK_allowsExternalBinaryDataStorage"]),
      defaultValue: text.map { DefaultValue(text: $0, type: type) },
      valueTransformerName: try self.text(tags["XD_PAttK_valueTransformerName"]),
      versionHashModifier: try self.text(tags["XD_PPSK_versionHashModifier"]),
      renamingIdentifier: try renaming(tags["XD_PPSK_elementID"], name),
      userInfo: try userInfo(tags["XD_PPSK_userInfo"]))
  }

  mutating func relationship(
    _ name: String, _ tags: [String: PropertyList]
  ) throws(ModelError) -> Relationship {
    note(tags, except: Self.relationshipTags, of: "XDPMRelationship")
    let destination = try entityName(tags["XD_PRK_destination"])
    let inverse = tags["XD_PRK_inverseRelationship"]
    let inverseName = try text("_name", of: inverse)
    let isToMany = flag(tags["XD_PRK_isToMany"])
    return Relationship(
      name: name, destinationEntityName: destination ?? "", inverseName: inverseName,
      inverseEntityName: inverseName == nil
        ? nil : try entityName(archive.field("_owner", of: inverse)) ?? destination,
      minCount: try count("XD_PRK_minCount", tags) ?? 0,
      maxCount: try count("XD_PRK_maxCount", tags) ?? (isToMany ? 0 : 1),
      isOrdered: flag(tags["XD_PRK_ordered"]), isOptional: flag(tags["XD_PPSK_isOptional"]),
      isTransient: flag(tags["XD_PPSK_isTransient"]),
      deleteRule: try count("XD_PRK_deleteRule", tags).map { DeleteRule(rawValue: $0) }
        ?? .nullify,
      versionHashModifier: try text(tags["XD_PPSK_versionHashModifier"]),
      renamingIdentifier: try renaming(tags["XD_PPSK_elementID"], name),
      userInfo: try userInfo(tags["XD_PPSK_userInfo"]))
  }

  /// The request is found by its class: no file shows the name of its tag.
  mutating func fetchedProperty(
    _ name: String, _ tags: [String: PropertyList]
  ) throws(ModelError) -> FetchedProperty {
    let request = tags.values.first { archive.isKind($0, of: "XDPMFetchRequest") }
    let others = tags.filter { !archive.isKind($0.value, of: "XDPMFetchRequest") }
    note(others, except: Self.propertyTags, of: "XDPMFetchedProperty")
    return FetchedProperty(
      name: name, destinationEntityName: try entityName(archive.field("_entity", of: request)),
      predicate: try text("_predicateString", of: request),
      isOptional: flag(tags["XD_PPSK_isOptional"]),
      userInfo: try userInfo(tags["XD_PPSK_userInfo"]))
  }

  private func count(
    _ tag: String, _ tags: [String: PropertyList]
  ) throws(ModelError) -> Int32? {
    guard let number = archive.integer(tags[tag]) else { return nil }
    guard let count = Int32(exactly: number) else { throw malformed("\(tag) is \(number).") }
    return count
  }
}
