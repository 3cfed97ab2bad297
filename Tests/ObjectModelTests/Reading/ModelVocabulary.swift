import ObjectModel

/// Everything that a model's source or archive can say: what is read, and what is passed over with the
/// reason why it carries nothing. ``ManagedObjectModel/unreadParts(of:)`` names what is in neither list.
enum ModelVocabulary {
  /// One kind of element or object.
  struct Part {
    /// The attributes or keys that are read.
    let read: Set<String>
    /// The attributes or keys that are passed over, each with the reason.
    let passedOver: [String: Reason]

    init(_ read: Set<String>, passedOver: [String: Reason] = [:]) {
      self.read = read
      self.passedOver = passedOver
    }
  }

  /// Why something is passed over.
  enum Reason: String {
    /// Which version of which tool wrote the file, for which other tool.
    case tool = "names the tool that wrote the file"
    /// Where the editor draws a box.
    case diagram = "places a box in the editor's picture"
    /// Sync Services ended with OS X 10.8; every file says YES or leaves it out.
    case sync = "was for Sync Services, which are gone"
    /// Which systems and which language the editor offers.
    case editor = "chooses what the editor offers"
    /// The same in other words: back links, packed flags, counts of lists.
    case repetition = "repeats what other keys say"
    /// The number of the class, which the class name says.
    case classNumber = "numbers the class"
  }

  // MARK: Sources

  private static let property: Set<String> = [
    "name", "optional", "transient", "indexed", "versionHashModifier", "elementID",
    "spotlightIndexingEnabled", "storedInTruthFile",
  ]

  private static let request = Part([
    "name", "entity", "predicateString", "fetchLimit", "fetchOffset", "fetchBatchSize",
    "resultType", "returnsDistinctResults", "returnDistinctResults", "includesSubentities",
    "includeSubentities", "includesPropertyValues", "includePropertyValues",
    "returnsObjectsAsFaults", "returnObjectsAsFaults", "includesPendingChanges",
    "includePendingChanges",
  ])

  private static let attribute = Part(
    property.union([
      "attributeType", "defaultValueString", "defaultDateTimeInterval", "minValueString",
      "maxValueString", "minDateTimeInterval", "maxDateTimeInterval", "regularExpressionString",
      "usesScalarValueType", "customClassName", "valueTransformerName",
      "allowsExternalBinaryDataStorage", "preserveAfterDeletion", "derived",
      "derivationExpression", "derivationFilterPredicate", "composite",
    ]), passedOver: ["syncable": .sync])

  /// The elements of a source, by parent and name.
  static let elements: [String: Part] = {
    var parts: [String: Part] = [
      "model": Part(
        ["userDefinedModelVersionIdentifier", "usedWithCloudKit", "usedWithSwiftData"],
        passedOver: [
          "type": .tool, "documentVersion": .tool, "lastSavedToolsVersion": .tool,
          "systemVersion": .tool, "minimumToolsVersion": .tool, "sourceLanguage": .editor,
          "name": .editor, "macOSVersion": .editor, "iOSVersion": .editor,
          "tvOSVersion": .editor, "watchOSVersion": .editor, "visionOSVersion": .editor,
        ]),
      "model/entity": Part(
        [
          "name", "representedClassName", "parentEntity", "isAbstract", "codeGenerationType",
          "versionHashModifier", "elementID", "coreSpotlightDisplayNameExpression",
        ], passedOver: ["syncable": .sync]),
      "entity/attribute": attribute, "composite/attribute": attribute,
      "entity/relationship": Part(
        property.union([
          "destinationEntity", "inverseName", "inverseEntity", "toMany", "minCount", "maxCount",
          "ordered", "deletionRule",
        ]), passedOver: ["syncable": .sync]),
      "entity/fetchedProperty": Part(
        ["name", "optional", "versionHashModifier", "elementID", "spotlightIndexingEnabled"],
        passedOver: ["syncable": .sync, "transient": .repetition]),
      "fetchedProperty/fetchRequest": request, "model/fetchRequest": request,
      "entity/compoundIndexes": Part([]), "compoundIndexes/compoundIndex": Part([]),
      "compoundIndex/index": Part(["value"]), "entity/uniquenessConstraints": Part([]),
      "uniquenessConstraints/uniquenessConstraint": Part([]),
      "uniquenessConstraint/constraint": Part(["value"]),
      "entity/fetchIndex": Part(["name", "partialIndexPredicate"]),
      "fetchIndex/fetchIndexElement": Part([
        "property", "expression", "expressionType", "type", "order",
      ]),
      "model/configuration": Part(["name", "usedWithCloudKit"]),
      "configuration/memberEntity": Part(["name"]), "model/composite": Part(["name"]),
      "userInfo/entry": Part(["key", "value"]), "model/elements": Part([]),
      "elements/element": Part(
        [],
        passedOver: [
          "name": .diagram, "positionX": .diagram, "positionY": .diagram, "width": .diagram,
          "height": .diagram,
        ]),
    ]
    for owner in ["entity", "attribute", "relationship", "fetchedProperty"] {
      parts["\(owner)/userInfo"] = Part([])
    }
    return parts
  }()

  // MARK: Archives

  private static let archivedProperty: Set<String> = [
    "NSPropertyName", "NSIsOptional", "NSIsTransient", "NSIsReadOnly", "NSIsIndexed",
    "NSIndexedBySpotlight", "NSRenamingIdentifier", "NSVersionHashModifier", "NSUserInfo",
    "NSValidationPredicates", "NSValidationWarnings",
  ]
  private static let propertyRepetition: [String: Reason] = [
    "NSEntity": .repetition, "_P": .repetition,
  ]

  private static let archivedAttribute: Set<String> = archivedProperty.union([
    "NSAttributeType", "NSAttributeValueClassName", "NSDefaultValue", "NSFlagsKey",
    "NSValueTransformerName", "NSCompositeElements",
  ])

  private static func expression(_ keys: Set<String>) -> Part {
    Part(keys, passedOver: ["NSExpressionType": .classNumber])
  }

  private static func sign(_ keys: Set<String>, _ more: [String: Reason] = [:]) -> Part {
    Part(keys.union(["NSOperatorType", "NSModifier"]), passedOver: more)
  }

  /// The classes whose every key is known. Objects of other classes are kept with all their fields
  /// where a model holds a value, and as opaque parts in expressions.
  static let classes: [String: Part] = [
    "NSManagedObjectModel": Part(
      ["NSEntities", "NSConfigurations", "NSFetchRequestTemplates", "NSVersionIdentifiers"],
      passedOver: ["CDMCompilerToolVersion": .tool, "CDMCompilerXcodeVersion": .tool]),
    "NSEntityDescription": Part(
      [
        "NSEntityName", "NSClassNameForEntity", "NSIsAbstract", "NSSuperentity", "NSProperties",
        "NSRenamingIdentifier", "NSVersionHashModifier", "NSUserInfo", "NSUniqueTuples",
        "NSFetchIndexDescriptions", "NSCompoundIndexes",
      ], passedOver: ["NSManagedObjectModel": .repetition, "NSSubentities": .repetition]),
    "NSAttributeDescription": Part(archivedAttribute, passedOver: propertyRepetition),
    "NSCompositeAttributeDescription": Part(archivedAttribute, passedOver: propertyRepetition),
    "NSDerivedAttributeDescription": Part(
      archivedAttribute.union(["NSDerivationExpression", "NSFilteringPredicate"]),
      passedOver: propertyRepetition),
    "NSRelationshipDescription": Part(
      archivedProperty.union([
        "NSDestinationEntity", "_NSDestinationEntityName", "NSInverseRelationship",
        "_NSInverseRelationshipName", "NSMinCount", "NSMaxCount", "NSDeleteRule", "NSIsOrdered",
      ]).subtracting(["NSValidationPredicates", "NSValidationWarnings"]),
      passedOver: propertyRepetition),
    "NSFetchedPropertyDescription": Part(
      archivedProperty.union(["NSFetchRequest", "_NSFetchRequestEntityName"])
        .subtracting(["NSValidationPredicates", "NSValidationWarnings", "NSIsIndexed"])
        .subtracting(["NSIsTransient", "NSIsReadOnly"]),
      passedOver: propertyRepetition.merging(
        ["NSIsTransient": .repetition, "NSIsReadOnly": .repetition]) { first, _ in first }),
    "_NSPropertyDescriptionProxy": Part(
      ["NSUnderlyingProperty"],
      passedOver: ["NSEntityDescription": .repetition, "NSReferenceID": .repetition]),
    "NSFetchIndexDescription": Part(
      ["NSIndexName", "NSIndexElements", "NSPartialIndexPredicate"],
      passedOver: ["NSEntity": .repetition]),
    "NSFetchIndexElementDescription": Part(
      ["NSPropertyName", "NSFetchIndexElementType", "NSAscending"],
      passedOver: ["NSFetchIndexDescription": .repetition]),
    "NSFetchRequest": Part([
      "NSEntity", "NSPredicate", "NSSortDescriptors", "NSFetchLimit", "NSFetchOffset",
      "NSBatchSize", "NSResultType", "NSHasFetchRequestFlags", "NSFetchRequestFlags",
      "NSAllocationType", "NSValuesToFetch", "NSValuesToGroupBy", "NSHavingPredicate",
      "NSRelationshipKeyPathsForPrefetching",
    ]),
    "NSSortDescriptor": Part(["NSKey", "NSAscending", "NSSelector", "NSReverseNullOrder"]),
    "NSConstantValueExpression": expression(["NSConstantValue", "NSConstantValueClassName"]),
    "NSSelfExpression": expression([]), "NSVariableExpression": expression(["NSVariable"]),
    "NSKeyPathExpression": Part(
      ["NSOperand", "NSArguments"],
      passedOver: ["NSExpressionType": .classNumber, "NSSelectorName": .repetition]),
    "NSKeyPathSpecifierExpression": expression(["NSKeyPath"]),
    "NSFunctionExpression": expression(["NSOperand", "NSSelectorName", "NSArguments"]),
    "NSFetchRequestExpression": expression([
      "NSFRExpression", "NSMOCExpression", "NSCountOnlyFlag",
    ]),
    "NSComparisonPredicate": Part([
      "NSLeftExpression", "NSRightExpression", "NSPredicateOperator",
    ]),
    "NSCompoundPredicate": Part(["NSCompoundPredicateType", "NSSubpredicates"]),
    "NSComparisonPredicateOperator": sign(["NSOptions"], ["NSVariant": .repetition]),
    "NSEqualityPredicateOperator": sign(["NSOptions"], ["NSNegate": .repetition]),
    "NSInPredicateOperator": sign(["NSFlags"]),
    "NSKnownKeysDictionary1": Part(
      ["searchMapping", "values"], passedOver: ["version": .tool, "emptyToken": .tool]),
    "NSKnownKeysMappingStrategy1": Part(
      ["keys"], passedOver: ["length": .repetition, "version": .tool]),
  ]
}

extension ManagedObjectModel {
  /// What a `contents` file or an archive of a model says that no model value takes in, and that is not
  /// known to carry nothing (diagram, tool versions, repetitions): `attribute.someTrait`, sorted.
  /// Empty for every file that was seen; a newer Xcode or system may say more.
  ///
  /// - Throws: ``ModelError`` when the bytes are neither XML nor a keyed archive.
  static func unreadParts(of bytes: [UInt8]) throws(ModelError) -> [String] {
    var unread: Set<String> = []
    do {
      if HardenedXML.looksLikeXML(bytes) {
        var path: [String] = []
        for event in try HardenedXML(bytes).events {
          switch event {
          case .start(let name, let attributes, _):
            let place = path.last.map { "\($0)/\(name)" } ?? name
            path.append(name)
            guard let part = ModelVocabulary.elements[place] else {
              unread.insert("<\(name)>")
              continue
            }
            for attribute in attributes.keys
            where !part.read.contains(attribute) && part.passedOver[attribute] == nil {
              unread.insert("\(name).\(attribute)")
            }
          case .end: path.removeLast(path.isEmpty ? 0 : 1)
          case .text, .known: break
          }
        }
      } else {
        let archive = try KeyedArchive(bytes: bytes)
        for object in archive.objects {
          guard let className = archive.className(of: object),
            let part = ModelVocabulary.classes[className]
          else { continue }
          for key in object.entries?.keys ?? [:].keys
          where key != "$class" && !part.read.contains(key) && part.passedOver[key] == nil {
            unread.insert("\(className).\(key)")
          }
        }
      }
    } catch {
      throw ModelError(error)
    }
    return ByteOrder.sorted(unread)
  }
}
