import ObjectModel
import SafeText

extension MappingModel {
  /// Writes the mapping as a compiled mapping model (`.cdm`), in the form of the real file `V2toV3.cdm`. The losses are
  /// the parts that a `.cdm` cannot hold: embedded models, paths, and fields that only an `.xcmappingmodel` has.
  ///
  /// Core Data finds a mapping model by the hashes in it, so a `.cdm` without hashes is of no use. If the mapping is
  /// not ``isBound``, first add the hashes with ``compiled(from:to:)``.
  package func archive() -> (bytes: [UInt8], losses: [ModelLoss]) {
    var writer = CompiledMappingWriter()
    let bytes = writer.bytes(self)
    return (bytes, writer.losses)
  }
}

private struct CompiledMappingWriter {
  /// The names of the entity mapping and the property mapping in which a loss occurs. Both are nil if the loss
  /// concerns the mapping model as a whole.
  private struct Place {
    var mapping: String?
    var property: String?
  }

  /// The names of `.xcmappingmodel` fields that only Xcode's compiler needs. Leaving them out is not a loss.
  private static let settled: Set<String> = [EntityMapping.generatesName, "mappingnumber"]

  private var builder = KeyedArchiveBuilder()
  private(set) var losses: [ModelLoss] = []

  mutating func bytes(_ mapping: MappingModel) -> [UInt8] {
    if mapping.sourceModel != nil || mapping.destinationModel != nil {
      lose(Place(), "A compiled mapping model does not contain models, only their hashes.")
    }
    if mapping.sourceModelPath != nil || mapping.destinationModelPath != nil {
      lose(Place(), "A compiled mapping model does not contain the paths of models.")
    }
    if !mapping.isBound {
      lose(
        Place(),
        "Some entity mappings have no version hash, so Core Data will not find the mapping model.")
    }
    let root = builder.reserve()
    let entities = mapping.entityMappings.map { ($0.name, write($0)) }
    var fields = others(mapping.others, of: Place())
    fields["NSEntityMappings"] = builder.array(entities.map(\.1))
    fields["NSEntityMappingsByName"] = builder.dictionary(entities)
    builder.fill(root, ["NSMappingModel", "NSObject"], fields)
    return builder.bytes(root: root)
  }

  private mutating func write(_ entity: EntityMapping) -> PropertyList {
    let place = builder.reserve()
    let subject = Place(mapping: entity.name)
    var fields = others(entity.others, of: subject)
    fields["NSMappingName"] = builder.string(entity.name)
    fields["NSMappingType"] = .integer(Int64(entity.kind.rawValue))
    fields["NSSourceEntityName"] = builder.string(entity.sourceEntityName)
    fields["NSDestinationEntityName"] = builder.string(entity.destinationEntityName)
    fields["NSSourceEntityVersionHash"] = hash(entity.sourceEntityVersionHash)
    fields["NSDestinationEntityVersionHash"] = hash(entity.destinationEntityVersionHash)
    fields["NSSourceExpression"] = expression(entity.sourceExpression, of: subject)
    fields["NSEntityMigrationPolicyClassName"] = builder.string(entity.migrationPolicyClassName)
    fields["NSAttributeMappings"] = list(entity.attributeMappings, of: subject)
    fields["NSRelationshipMappings"] = list(entity.relationshipMappings, of: subject)
    fields["NSUserInfo"] = userInfo(entity.userInfo, of: subject)
    builder.fill(place, ["NSEntityMapping", "NSObject"], fields)
    return place
  }

  private mutating func list(_ properties: [PropertyMapping], of owner: Place) -> PropertyList {
    var written: [PropertyList] = []
    for property in properties {
      let subject = Place(mapping: owner.mapping, property: property.name)
      if property.sourceKeyPath != nil || property.sourceMappingName != nil,
        property.valueExpression == nil
      {
        lose(
          subject, "The source relationship is left out: it could not be turned into an expression."
        )
      }
      var fields = others(property.others, of: subject)
      fields["NSDestinationPropertyName"] = builder.string(property.name)
      fields["NSValueExpression"] = expression(property.valueExpression, of: subject)
      fields["NSUserInfo"] = userInfo(property.userInfo, of: subject)
      fields["NSPropertyTransforms"] = KeyedArchiveBuilder.null
      if !property.transforms.isEmpty {
        let steps = property.transforms.map { value($0, "a transform", of: subject) }
        fields["NSPropertyTransforms"] = builder.array(steps)
      }
      written.append(builder.add(["NSPropertyMapping", "NSObject"], fields))
    }
    return builder.array(written)
  }

  // MARK: Values

  private mutating func expression(_ expression: ModelExpression?, of subject: Place)
    -> PropertyList
  {
    guard let expression else { return KeyedArchiveBuilder.null }
    let written = PredicateArchiveWriter.write(expression, into: &builder)
    if written == KeyedArchiveBuilder.null {
      lose(subject, "The expression \(expression.text) cannot be archived.")
    }
    return written
  }

  private mutating func hash(_ hash: VersionHash?) -> PropertyList {
    hash.map { builder.scalar(.data($0.bytes)) } ?? KeyedArchiveBuilder.null
  }

  private mutating func value(
    _ value: ArchivedValue?, _ name: String, of subject: Place
  ) -> PropertyList {
    guard let value else { return KeyedArchiveBuilder.null }
    if value.hasOpaqueParts {
      lose(subject, "Some parts of \(name) could not be read; they are left out.")
    }
    return builder.value(value)
  }

  private mutating func userInfo(
    _ entries: [String: ArchivedValue], of subject: Place
  ) -> PropertyList {
    if entries.isEmpty { return KeyedArchiveBuilder.null }
    let written = ByteOrder.sorted(entries.keys).map { name in
      (name, value(entries[name], "the user info \(name)", of: subject))
    }
    return builder.dictionary(written)
  }

  /// Returns the fields of `others` whose names begin with `NS` or `_NS`, in archived form. A `.cdm` cannot hold the
  /// other fields. Each of them is recorded as a loss, unless it is in ``settled``.
  private mutating func others(
    _ others: [String: ArchivedValue], of subject: Place
  ) -> [String: PropertyList] {
    var fields: [String: PropertyList] = [:]
    for name in ByteOrder.sorted(others.keys) {
      if PathText.starts(name, with: "NS") || PathText.starts(name, with: "_NS") {
        fields[name] = value(others[name], name, of: subject)
      } else if !Self.settled.contains(name) {
        lose(subject, "A compiled mapping model cannot hold \(name).")
      }
    }
    return fields
  }

  private mutating func lose(_ place: Place, _ sentence: String) {
    losses.append(
      ModelLoss(entityName: place.mapping, propertyName: place.property, sentence: sentence))
  }
}
