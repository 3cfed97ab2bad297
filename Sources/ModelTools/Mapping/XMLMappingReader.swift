package import ObjectModel

extension MappingModel {
  /// Reads an uncompiled mapping model: the file `xcmapping.xml` inside an `.xcmappingmodel`.
  ///
  /// The file is an XML store of the model `XDDevMappingModel`. It lacks what Xcode's compiler adds: the hashes, the
  /// kinds, and the expressions of properties that keep their names. ``compiled(from:to:)`` adds them to the result.
  ///
  /// - Throws: ``ModelError``; `model.notAMapping` if the bytes are not the XML of a mapping model.
  package init(xcmapping bytes: [UInt8]) throws(ModelError) {
    var reader = XMLMappingReader(store: try XMLStore(bytes))
    self = try reader.mapping()
  }
}

/// Builds a mapping model from the objects of an `xcmapping.xml`.
///
/// The known attribute names are those found in 24 files. An attribute with another name is kept in the `others` of its
/// mapping. Objects to which no other object refers are kept in ``MappingModel/others``, under ``unreachableName``.
struct XMLMappingReader {
  /// The names of the store's entities, in capitals as in the file.
  enum EntityName {
    static let model = "XDDEVMAPPINGMODEL"
    static let entity = "XDDEVENTITYMAPPING"
    static let attribute = "XDDEVATTRIBUTEMAPPING"
    static let relationship = "XDDEVRELATIONSHIPMAPPING"
  }

  /// The key in ``MappingModel/others`` for objects to which no other object refers. Xcode leaves such objects in the
  /// file when a model changes.
  static let unreachableName = "unreachable"

  /// The maximum number of archived values that are read. The limit is needed because a file has many archives, and
  /// because a small archive that refers to the same parts many times can expand to a huge one. Real files stay far
  /// below this number.
  static let maximumWork = 1_000_000

  private let store: XMLStore
  private var reached: Set<String> = []
  /// The number of archived values read so far. It may not exceed ``maximumWork``.
  private(set) var work = 0

  init(store: XMLStore) { self.store = store }

  mutating func mapping() throws(ModelError) -> MappingModel {
    let roots = store.objects.filter { $0.entityName == EntityName.model }
    guard let root = roots.first else {
      throw ModelError(
        code: .notAMapping,
        message: "The XML store does not contain a mapping model (XDDevMappingModel).")
    }
    guard roots.count == 1 else {
      throw ModelError(
        code: .malformed, message: "There is more than one mapping model in the file.",
        line: roots[1].line)
    }
    reached.insert(root.id)
    var fields = Fields(root)
    var mappings: [(number: Int64, mapping: EntityMapping)] = []
    for object in try members("entitymappings", EntityName.entity, of: root) {
      mappings.append(try entity(object))
    }
    // The sort is stable: mappings with equal numbers keep their order in the file.
    mappings.sort { $0.number < $1.number }
    var mapping = MappingModel(
      entityMappings: mappings.map(\.mapping),
      sourceModelPath: fields.text("sourcemodelpath"),
      destinationModelPath: fields.text("destinationmodelpath"))
    mapping.sourceModel = try model("sourcemodeldata", &fields, &mapping.others)
    mapping.destinationModel = try model("destinationmodeldata", &fields, &mapping.others)
    mapping.others.merge(fields.rest) { known, _ in known }
    let remains = store.objects.filter { !reached.contains($0.id) }
    if !remains.isEmpty {
      mapping.others[Self.unreachableName] = .array(remains.map(Self.value))
    }
    return mapping
  }

  // MARK: Objects

  private mutating func entity(
    _ object: XMLStore.Object
  ) throws(ModelError) -> (number: Int64, mapping: EntityMapping) {
    var fields = Fields(object)
    let source = fields.text("sourcename")
    let destination = fields.text("destinationname")
    let name = fields.text("name") ?? EntityMapping.standardName(source, destination)
    let attributes = try properties("attributemappings", EntityName.attribute, of: object)
    let relationships = try properties("relationshipmappings", EntityName.relationship, of: object)
    var kind = EntityMapping.Kind.undefined
    if let word = fields.text("mappingtypename") {
      if let known = EntityMapping.Kind(name: word) {
        kind = known
      } else {
        fields.rest["mappingtypename"] = .string(word)
      }
    }
    let number = fields.rest["mappingnumber"]?.integerValue ?? Int64.max
    var mapping = EntityMapping(
      name: name, kind: kind, sourceEntityName: source, destinationEntityName: destination,
      attributeMappings: attributes, relationshipMappings: relationships,
      sourceExpression: try expression("sourceexpressiondata", &fields, object),
      migrationPolicyClassName: fields.text("migrationpolicyclassname"),
      userInfo: try userInfo(&fields, object))
    mapping.others = fields.rest
    return (number, mapping)
  }

  /// Returns the property mappings to which a relationship refers, sorted by name.
  private mutating func properties(
    _ name: String, _ entityName: String, of owner: XMLStore.Object
  ) throws(ModelError) -> [PropertyMapping] {
    var found: [PropertyMapping] = []
    for part in try members(name, entityName, of: owner) { found.append(try property(part)) }
    return found.sorted { ByteOrder.precedes($0.name, $1.name) }
  }

  private mutating func property(_ object: XMLStore.Object) throws(ModelError) -> PropertyMapping {
    var fields = Fields(object)
    guard let name = fields.text("name") else {
      throw ModelError(
        code: .malformed, message: "The property mapping \(object.id) has no name.",
        line: object.line)
    }
    var mapping = PropertyMapping(
      name: name, valueExpression: try expression("valueexpressiondata", &fields, object),
      sourceKeyPath: fields.text("sourcekeypath"),
      sourceMappingName: fields.text("sourcemappingname"),
      userInfo: try userInfo(&fields, object))
    mapping.others = fields.rest
    return mapping
  }

  /// Returns the objects to which a relationship refers. Throws if an object is of another entity, or belongs to two
  /// owners.
  private mutating func members(
    _ name: String, _ entityName: String, of owner: XMLStore.Object
  ) throws(ModelError) -> [XMLStore.Object] {
    var found: [XMLStore.Object] = []
    for id in owner.relationships[name] ?? [] {
      guard let object = store[id], object.entityName == entityName else {
        throw ModelError(
          code: .malformed,
          message:
            "The object \(owner.id) lists \(id) under \(name), but \(id) is not of the right kind.",
          line: owner.line)
      }
      guard reached.insert(id).inserted else {
        throw ModelError(
          code: .malformed, message: "The object \(id) belongs to two owners.", line: object.line)
      }
      found.append(object)
    }
    return found
  }

  // MARK: Values

  private mutating func model(
    _ name: String, _ fields: inout Fields, _ others: inout [String: ArchivedValue]
  ) throws(ModelError) -> ManagedObjectModel? {
    guard let bytes = fields.data(name) else { return nil }
    do {
      let archive = try KeyedArchive(bytes: bytes)
      guard EditorModelReader.isEditorArchive(archive) else {
        return try ManagedObjectModel(archive)
      }
      let (model, unread) = try EditorModelReader.model(in: archive)
      if !unread.isEmpty { others[name] = .array(unread.map { .string($0) }) }
      return model
    } catch {
      let cause = (error as? ModelError) ?? (error as? PropertyListError).map(ModelError.init)
      throw ModelError(
        code: cause?.code ?? .malformed,
        message: "The model in \(name) cannot be read: \(cause?.message ?? "").")
    }
  }

  private mutating func expression(
    _ name: String, _ fields: inout Fields, _ object: XMLStore.Object
  ) throws(ModelError) -> ModelExpression? {
    guard let archive = try archive(name, &fields, object) else { return nil }
    var reader = PredicateArchiveReader(archive: archive)
    let expression = reader.expression(archive.root)
    try spend(reader.partCount)
    return expression
  }

  private mutating func userInfo(
    _ fields: inout Fields, _ object: XMLStore.Object
  ) throws(ModelError) -> [String: ArchivedValue] {
    guard let archive = try archive("userinfodata", &fields, object) else { return [:] }
    var found: [String: ArchivedValue] = [:]
    for entry in archive.entries(archive.root) ?? [] {
      guard let name = archive.string(entry.key) else { continue }
      let (value, count) = archive.decodedWithCount(entry.value)
      try spend(count + name.utf8.count / 16)
      found[name] = value
    }
    return found
  }

  private mutating func archive(
    _ name: String, _ fields: inout Fields, _ object: XMLStore.Object
  ) throws(ModelError) -> KeyedArchive? {
    guard let bytes = fields.data(name) else { return nil }
    let archive: KeyedArchive
    do {
      archive = try KeyedArchive(bytes: bytes)
    } catch {
      throw ModelError(
        code: ModelError(error).code,
        message: "\(name) of the object \(object.id) cannot be read: \(error.message)",
        line: object.line)
    }
    try spend(archive.objects.reduce(0) { $0 + $1.expandedCount })
    return archive
  }

  private mutating func spend(_ amount: Int) throws(ModelError) {
    work += amount
    guard work <= Self.maximumWork else {
      throw ModelError(
        code: .tooLarge, message: "The mapping model is larger than any real mapping model.")
    }
  }

  /// Converts an object to which no other object refers to an archived value.
  private static func value(_ object: XMLStore.Object) -> ArchivedValue {
    var entries: [ArchivedValue.Entry] = [
      .init(key: "entity", value: .string(object.entityName)),
      .init(key: "id", value: .string(object.id)),
    ]
    for name in ByteOrder.sorted(object.attributes.keys) {
      entries.append(.init(key: .string(name), value: object.attributes[name] ?? .null))
    }
    return .dictionary(entries)
  }
}

/// The attributes of an XML object that the reader has not used yet.
private struct Fields {
  var rest: [String: ArchivedValue]

  init(_ object: XMLStore.Object) { rest = object.attributes }

  /// Removes and returns the text of an attribute; nil if the attribute is absent or empty.
  mutating func text(_ name: String) -> String? {
    guard case .string(let text)? = rest[name] else { return nil }
    rest[name] = nil
    return text.isEmpty ? nil : text
  }

  /// Removes and returns the bytes of an attribute; nil if the attribute is absent or empty.
  mutating func data(_ name: String) -> [UInt8]? {
    guard case .data(let bytes)? = rest[name] else { return nil }
    rest[name] = nil
    return bytes.isEmpty ? nil : bytes
  }
}
