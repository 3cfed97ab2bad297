package import ObjectModel

/// Reads attributes, relationships and fetched properties from the archive of Xcode's editor.
extension EditorModelReader {
  /// The names of an entity's tagged values that are not reported as unread. All are read except `XD_PSK_classMapping`,
  /// which only names the generic class of Xcode's editor.
  package static let entityTags: Set<String> = [
    "XDPMCompoundIndexes", "XDPMUniquenessConstraints", "XD_PSK_classMapping", "XD_PSK_elementID",
    "XD_PSK_entityClassName", "XD_PSK_fetchRequestsArray", "XD_PSK_isAbstract", "XD_PSK_userInfo",
    "XD_PSK_versionHashModifier",
  ]

  /// The keys that Xcode's editor uses in its archive for every kind of property.
  package static let propertyTags: Set<String> = [
    "XD_PPSK_elementID", "XD_PPSK_isIndexed", "XD_PPSK_isOptional", "XD_PPSK_isSpotlightIndexed",
    "XD_PPSK_isStoredInTruthFile", "XD_PPSK_isTransient", "XD_PPSK_userInfo",
    "XD_PPSK_versionHashModifier",
  ]

  package static let attributeTags = propertyTags.union([
    "XD_PAttK_allowsExternalBinaryDataStorage", "XD_PAttK_attributeType",
    "XD_PAttK_defaultValueAsString", "XD_PAttK_maxValueString", "XD_PAttK_minValueString",
    "XD_PAttK_regularExpressionString", "XD_PAttK_valueTransformerName",
  ])

  package static let relationshipTags = propertyTags.union([
    "XD_PRK_deleteRule", "XD_PRK_destination", "XD_PRK_inverseRelationship", "XD_PRK_isToMany",
    "XD_PRK_maxCount", "XD_PRK_minCount", "XD_PRK_ordered",
  ])

  package mutating func attribute(
    _ name: String, _ tags: [String: PropertyList]
  ) throws(ModelError) -> Attribute {
    note(tags, except: Self.attributeTags, of: "XDPMAttribute")
    // The number is absent if the editor shows "Undefined" as the type.
    let type = AttributeType(rawValue: try count("XD_PAttK_attributeType", tags) ?? 0)
    let text = try self.text(tags["XD_PAttK_defaultValueAsString"])
    return Attribute(
      name: name, type: type, isOptional: try flag(tags["XD_PPSK_isOptional"]),
      isTransient: try flag(tags["XD_PPSK_isTransient"]),
      isIndexed: try flag(tags["XD_PPSK_isIndexed"]),
      isIndexedBySpotlight: try flag(tags["XD_PPSK_isSpotlightIndexed"]),
      isStoredInTruthFile: try flag(tags["XD_PPSK_isStoredInTruthFile"]),
      allowsExternalBinaryDataStorage: try flag(tags["XD_PAttK_allowsExternalBinaryDataStorage"]),
      defaultValue: text.map { DefaultValue(text: $0, type: type) },
      validations: try validations(type, tags),
      valueTransformerName: try self.text(tags["XD_PAttK_valueTransformerName"]),
      versionHashModifier: try self.text(tags["XD_PPSK_versionHashModifier"]),
      renamingIdentifier: try renaming(tags["XD_PPSK_elementID"], name),
      userInfo: try userInfo(tags["XD_PPSK_userInfo"]))
  }

  package mutating func relationship(
    _ name: String, _ tags: [String: PropertyList]
  ) throws(ModelError) -> Relationship {
    note(tags, except: Self.relationshipTags, of: "XDPMRelationship")
    let destination = try entityName(tags["XD_PRK_destination"])
    let inverse = tags["XD_PRK_inverseRelationship"]
    let inverseName = try text("_name", of: inverse)
    let isToMany = try flag(tags["XD_PRK_isToMany"])
    return Relationship(
      name: name, destinationEntityName: destination ?? "", inverseName: inverseName,
      inverseEntityName: inverseName == nil
        ? nil : try entityName(archive.field("_owner", of: inverse)) ?? destination,
      minCount: try count("XD_PRK_minCount", tags) ?? 0,
      maxCount: try count("XD_PRK_maxCount", tags) ?? (isToMany ? 0 : 1),
      isOrdered: try flag(tags["XD_PRK_ordered"]), isOptional: try flag(tags["XD_PPSK_isOptional"]),
      isTransient: try flag(tags["XD_PPSK_isTransient"]),
      isIndexed: try flag(tags["XD_PPSK_isIndexed"]),
      isIndexedBySpotlight: try flag(tags["XD_PPSK_isSpotlightIndexed"]),
      isStoredInTruthFile: try flag(tags["XD_PPSK_isStoredInTruthFile"]),
      deleteRule: try count("XD_PRK_deleteRule", tags).map { DeleteRule(rawValue: $0) }
        ?? .nullify,
      versionHashModifier: try text(tags["XD_PPSK_versionHashModifier"]),
      renamingIdentifier: try renaming(tags["XD_PPSK_elementID"], name),
      userInfo: try userInfo(tags["XD_PPSK_userInfo"]))
  }

  /// Reads a fetched property. Its fetch request is recognised by class, because no known file shows the name of the
  /// tagged value that holds the request.
  package mutating func fetchedProperty(
    _ name: String, _ tags: [String: PropertyList]
  ) throws(ModelError) -> FetchedProperty {
    let names = ByteOrder.sorted(tags.keys)
    let requestName = names.first { archive.isKind(tags[$0], of: "XDPMFetchRequest") }
    let request = requestName.flatMap { tags[$0] }
    note(
      tags, except: Self.propertyTags.union(requestName.map { [$0] } ?? []),
      of: "XDPMFetchedProperty")
    return FetchedProperty(
      name: name, request: try fetchRequest(request),
      requestName: try text("_name", of: request), isOptional: try flag(tags["XD_PPSK_isOptional"]),
      isIndexedBySpotlight: try flag(tags["XD_PPSK_isSpotlightIndexed"]),
      versionHashModifier: try text(tags["XD_PPSK_versionHashModifier"]),
      renamingIdentifier: try renaming(tags["XD_PPSK_elementID"], name),
      userInfo: try userInfo(tags["XD_PPSK_userInfo"]))
  }

  package mutating func fetchRequest(_ value: PropertyList?) throws(ModelError) -> FetchRequest {
    let predicate = try text("_predicateString", of: value)
    return FetchRequest(
      entityName: try entityName(archive.field("_entity", of: value)),
      predicate: predicate.map { ModelPredicate(text: $0) })
  }

  /// Reads the validation rules of an attribute. The limits are strings, as the editor shows them. For a String
  /// attribute, they limit the length.
  private mutating func validations(
    _ type: AttributeType, _ tags: [String: PropertyList]
  ) throws(ModelError) -> [AttributeValidation] {
    typealias Form = AttributeValidation.Form
    var rules: [AttributeValidation] = []
    for (tag, isMinimum) in [("XD_PAttK_minValueString", true), ("XD_PAttK_maxValueString", false)]
    {
      guard let text = try self.text(tags[tag]) else { continue }
      var form: Form?
      switch type {
      case .string:
        form = Int64(text).map { isMinimum ? Form.minimumLength($0) : .maximumLength($0) }
      case .date: form = Double(text).map { isMinimum ? Form.earliestDate($0) : .latestDate($0) }
      default:
        form = Self.limit(text, type).map {
          isMinimum ? Form.minimumNumber($0) : .maximumNumber($0)
        }
      }
      // Some texts cannot be read as a limit of the attribute's type, for example a date in words.
      if let form { rules.append(form.validation) } else { noteUnread("XDPMAttribute", tag) }
    }
    if type == .string, let pattern = try text(tags["XD_PAttK_regularExpressionString"]) {
      rules.append(Form.pattern(pattern).validation)
    }
    return rules
  }

  private static func limit(_ text: String, _ type: AttributeType) -> ExpressionConstant? {
    switch type {
    case .integer16, .integer32, .integer64: Int64(text).map { .integer($0) }
    case .decimal: DecimalText.canonical(text).map { .decimal($0) }
    default: Double(text).map { .real($0) }
    }
  }

  private func count(
    _ tag: String, _ tags: [String: PropertyList]
  ) throws(ModelError) -> Int32? {
    guard let number = try known(archive.integer(tags[tag]), tags[tag], "an integer") else {
      return nil
    }
    guard let count = Int32(exactly: number) else {
      throw malformed("\(tag) is \(number), which does not fit 32 bits.")
    }
    return count
  }
}
