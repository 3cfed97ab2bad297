package import ObjectModel

extension MappingModel {
  /// Reads a compiled mapping model (`.cdm`), which is a keyed archive of an `NSMappingModel`.
  ///
  /// - Throws: ``ModelError``; `model.notAMapping` if the bytes are not the archive of a mapping model.
  package init(archive bytes: [UInt8]) throws(ModelError) {
    let archive = try KeyedArchive(
      bytes: bytes, orThrow: .notAMapping,
      "The file is not a compiled mapping model, because it is not a keyed archive.")
    var reader = CompiledMappingReader(archive: archive)
    self = try reader.mapping()
  }
}

/// Builds a mapping model from the object table of a keyed archive.
struct CompiledMappingReader {
  /// The maximum number of archived elements that are visited. An archive may refer to one element many times, so the
  /// file's size does not limit the work.
  static let maximumWork = 1_000_000

  private enum Key {
    static let model: Set<String> = ["$class", "NSEntityMappings", "NSEntityMappingsByName"]
    static let entity: Set<String> = [
      "$class", "NSAttributeMappings", "NSDestinationEntityName", "NSDestinationEntityVersionHash",
      "NSEntityMigrationPolicyClassName", "NSMappingName", "NSMappingType",
      "NSRelationshipMappings", "NSSourceEntityName", "NSSourceEntityVersionHash",
      "NSSourceExpression", "NSUserInfo",
    ]
    static let property: Set<String> = [
      "$class", "NSDestinationPropertyName", "NSPropertyTransforms", "NSUserInfo",
      "NSValueExpression",
    ]
  }

  private let archive: KeyedArchive
  /// The number of archived elements that were visited so far. ``maximumWork`` limits it.
  private(set) var work = 0

  init(archive: KeyedArchive) { self.archive = archive }

  static func isMapping(_ archive: KeyedArchive) -> Bool {
    archive.isKind(archive.root, of: "NSMappingModel")
  }

  mutating func mapping() throws(ModelError) -> MappingModel {
    guard let root = archive.root, Self.isMapping(archive) else {
      let className = archive.className(of: archive.root) ?? "nothing"
      throw ModelError(
        code: .notAMapping, message: "The archive holds \(className), not a mapping model.")
    }
    var mappings: [EntityMapping] = []
    var places: Set<Int> = []
    var names: Set<String> = []
    for stored in try elements("NSEntityMappings", of: root) {
      let mapping = try entity(stored)
      try names.claim(mapping.name, "There are two entity mappings")
      mappings.append(mapping)
      if let place = archive.index(stored) { places.insert(place) }
    }
    // This dictionary lists the mappings again, by name. Mappings that are only in the dictionary are added at the
    // end.
    let table = try named("NSEntityMappingsByName", of: root)
    for (name, stored) in table where archive.index(stored).map(places.contains) != true {
      try names.claim(name, "There are two entity mappings")
      mappings.append(try entity(stored))
    }
    return MappingModel(
      entityMappings: mappings, others: try others(root, except: Key.model))
  }

  private mutating func entity(_ value: PropertyList) throws(ModelError) -> EntityMapping {
    guard archive.isKind(value, of: "NSEntityMapping") else {
      let className = archive.className(of: value) ?? "nothing"
      throw malformed("An entity mapping is missing or of the unknown class \(className).")
    }
    let source = try text("NSSourceEntityName", of: value)
    let destination = try text("NSDestinationEntityName", of: value)
    let name = try text("NSMappingName", of: value)
    let number = try checked(archive.integer, "NSMappingType", of: value) ?? 0
    guard let kind = Int(exactly: number) else {
      throw malformed("An entity mapping has the unknown type \(number).")
    }
    let policy = try text("NSEntityMigrationPolicyClassName", of: value)
    return EntityMapping(
      name: name ?? EntityMapping.standardName(source, destination), kind: .init(rawValue: kind),
      sourceEntityName: source, destinationEntityName: destination,
      sourceEntityVersionHash: try hash("NSSourceEntityVersionHash", of: value),
      destinationEntityVersionHash: try hash("NSDestinationEntityVersionHash", of: value),
      attributeMappings: try properties("NSAttributeMappings", of: value),
      relationshipMappings: try properties("NSRelationshipMappings", of: value),
      sourceExpression: try expression("NSSourceExpression", of: value),
      migrationPolicyClassName: policy, userInfo: try userInfo(value),
      others: try others(value, except: Key.entity))
  }

  private mutating func properties(
    _ key: String, of value: PropertyList
  ) throws(ModelError) -> [PropertyMapping] {
    var mappings: [PropertyMapping] = []
    for stored in try elements(key, of: value) {
      guard archive.isKind(stored, of: "NSPropertyMapping"),
        let name = try text("NSDestinationPropertyName", of: stored)
      else {
        let className = archive.className(of: stored) ?? "nothing"
        throw malformed(
          "A property mapping is missing, without a name, or of the unknown class \(className).")
      }
      var transforms: [ArchivedValue] = []
      for step in try elements("NSPropertyTransforms", of: stored) {
        transforms.append(try decoded(step))
      }
      mappings.append(
        PropertyMapping(
          name: name, valueExpression: try expression("NSValueExpression", of: stored),
          userInfo: try userInfo(stored), transforms: transforms,
          others: try others(stored, except: Key.property)))
    }
    return mappings
  }

  // MARK: Values

  /// Returns the value of a field, converted by `read`; nil if the field is absent. Throws if `read` cannot convert the
  /// value, because a default in its place would change the mapping.
  private func checked<Value>(
    _ read: (PropertyList?) -> Value?, _ key: String, of object: PropertyList
  ) throws(ModelError) -> Value? {
    let field = archive.field(key, of: object)
    let value = read(field)
    guard value != nil || archive.isNull(field) else {
      throw malformed("\(key) of a mapping has a value of the wrong type.")
    }
    return value
  }

  private mutating func spend(_ amount: Int) throws(ModelError) {
    work += amount
    guard work <= Self.maximumWork else {
      throw ModelError(
        code: .tooLarge, message: "The mapping model is larger than any real mapping model.")
    }
  }

  private mutating func text(
    _ key: String, of value: PropertyList
  ) throws(ModelError) -> String? {
    guard let text = try checked(archive.string, key, of: value), !text.isEmpty else { return nil }
    try spend(1 + text.utf8.count / 16)
    return text
  }

  private func hash(_ key: String, of value: PropertyList) throws(ModelError) -> VersionHash? {
    guard let bytes = try checked(archive.data, key, of: value) else { return nil }
    guard let hash = VersionHash(bytes: bytes) else {
      throw malformed("A version hash has \(bytes.count) bytes instead of 32.")
    }
    return hash
  }

  private mutating func expression(
    _ key: String, of value: PropertyList
  ) throws(ModelError) -> ModelExpression? {
    try spend(1)
    var reader = PredicateArchiveReader(archive: archive)
    let read = reader.expression(archive.field(key, of: value))
    try spend(reader.partCount + reader.textLength / 16)
    return read
  }

  private mutating func elements(
    _ key: String, of value: PropertyList
  ) throws(ModelError) -> [PropertyList] {
    let elements = try checked(archive.elements, key, of: value) ?? []
    try spend(elements.count)
    return elements
  }

  private mutating func userInfo(
    _ value: PropertyList
  ) throws(ModelError) -> [String: ArchivedValue] {
    var found: [String: ArchivedValue] = [:]
    for entry in try named("NSUserInfo", of: value) {
      found[entry.name] = try decoded(entry.value)
    }
    return found
  }

  /// Returns the entries of the dictionary that the archived object `value` has in the field `key`. Entries whose key
  /// is not a string are left out. The result is empty if the field is absent.
  private mutating func named(
    _ key: String, of value: PropertyList
  ) throws(ModelError) -> [(name: String, value: PropertyList)] {
    var named: [(name: String, value: PropertyList)] = []
    for entry in try checked(archive.entries, key, of: value) ?? [] {
      guard let name = archive.string(entry.key) else { continue }
      try spend(1 + name.utf8.count / 16)
      named.append((name, entry.value))
    }
    return named
  }

  private mutating func others(
    _ value: PropertyList, except known: Set<String>
  ) throws(ModelError) -> [String: ArchivedValue] {
    var found: [String: ArchivedValue] = [:]
    for name in ByteOrder.sorted(archive.resolve(value)?.entries?.keys.map { $0 } ?? [])
    where !known.contains(name) {
      found[name] = try decoded(archive.field(name, of: value))
    }
    return found
  }

  private mutating func decoded(_ value: PropertyList?) throws(ModelError) -> ArchivedValue {
    let (decoded, count) = archive.decodedWithCount(value)
    try spend(count)
    return decoded
  }

  private func malformed(_ message: String) -> ModelError {
    ModelError(code: .malformed, message: message)
  }
}
