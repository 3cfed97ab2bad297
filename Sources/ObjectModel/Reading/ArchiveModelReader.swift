extension ManagedObjectModel {
  /// Reads a compiled model (`.mom`), or the cached model of a store (`Z_MODELCACHE`) after inflation.
  ///
  /// Both are keyed archives. In a cached model, each subentity has its inherited properties too, as copies or as
  /// proxies. The copies and proxies are left out: an entity's own properties are those whose name no ancestor has.
  ///
  /// - Throws: ``ModelError``; `model.optimisedFormat` for an `.omo`.
  public init(archive bytes: [UInt8]) throws(ModelError) {
    if OptimisedModel.isOptimised(bytes) { throw OptimisedModel.error }
    let archive = try KeyedArchive(
      bytes: bytes, orThrow: .notAModel,
      "This file is not a keyed archive, so it is not a compiled model.")
    try self.init(archive)
  }

  package init(_ archive: KeyedArchive) throws(ModelError) {
    var reader = ArchiveModelReader(archive: archive)
    self = try reader.model()
  }
}

/// Builds a model from the object table of a keyed archive.
///
/// The keys are those that Core Data writes: `NSEntities`, `NSProperties` and so on.
struct ArchiveModelReader {
  /// The maximum amount of work. One unit stands for roughly 32 bytes of the resulting values. Objects may share
  /// parts, so a small archive can describe a huge model. A real model needs a few hundred thousand units.
  static let maximumWork = 12_000_000

  enum Cost {
    static let reference = 3
    static let name = 4
    static let property = 64
    static let indexElement = 16
    static let sortDescriptor = 16
    static let template = 32
    static let predicatePart = 12
    static let value = 6
  }

  let archive: KeyedArchive
  /// The names of all properties of each entity, including copies of inherited properties, by entity name.
  private(set) var names: [String: Set<String>] = [:]
  private(set) var parents: [String: String] = [:]
  /// The amount of work done so far. It is limited by ``maximumWork``.
  private(set) var work = 0

  init(archive: KeyedArchive) { self.archive = archive }

  mutating func model() throws(ModelError) -> ManagedObjectModel {
    let root = archive.root
    guard archive.isKind(root, of: "NSManagedObjectModel") else {
      let className = archive.className(of: root) ?? "nothing"
      throw ModelError(
        code: .notAModel, message: "The archive holds \(className), not a managed object model.")
    }
    let stored = try named("NSEntities", root, isNeeded: true)
    var met: Set<String> = []
    for (name, value) in stored {
      try met.claim(name, "There are two entities")
      // The entity's name is stored twice: as the dictionary's key and in the entity.
      guard try entityName(value) == name else {
        throw malformed("The entity stored under \(name) is missing or has another name.")
      }
      let properties = try named("NSProperties", value, isNeeded: true)
      names[name] = Set(properties.map(\.name))
      let parent = archive.field("NSSuperentity", of: value)
      parents[name] = try entityName(parent)
      guard parents[name] != nil || archive.isNull(parent) else {
        throw malformed("NSSuperentity of \(place(of: value)) is not an entity.")
      }
    }
    var entities: [Entity] = []
    for (name, value) in stored { entities.append(try entity(name, value)) }
    var identifiers: [String] = []
    for element in try elements("NSVersionIdentifiers", of: root) {
      if let identifier = try string(element) { identifiers.append(identifier) }
    }
    return ManagedObjectModel(
      entities: entities, versionIdentifiers: identifiers,
      configurations: try configurations(root), fetchRequestTemplates: try templates(root))
  }

  // MARK: Entities

  private mutating func entity(_ name: String, _ value: PropertyList) throws(ModelError) -> Entity {
    var attributes: [Attribute] = []
    var relationships: [Relationship] = []
    var fetched: [FetchedProperty] = []
    let lineage = lineage(of: name)
    let properties = try named("NSProperties", value, isNeeded: true)
    try spend(properties.count * lineage.count)
    var met: Set<String> = []
    for (propertyName, stored) in properties {
      if lineage.contains(where: { names[$0]?.contains(propertyName) == true }) { continue }
      try met.claim(propertyName, "Entity \(name) has two properties")
      let property = underlying(stored)
      try spend(Cost.property)
      guard try text("NSPropertyName", property) == propertyName else {
        throw malformed("The property \(name).\(propertyName) is missing or misnamed.")
      }
      if archive.isKind(property, of: "NSAttributeDescription") {
        attributes.append(try attribute(propertyName, property, depth: 0))
      } else if archive.isKind(property, of: "NSRelationshipDescription") {
        relationships.append(try relationship(propertyName, property))
      } else if archive.isKind(property, of: "NSFetchedPropertyDescription") {
        fetched.append(try fetchedProperty(propertyName, property))
      } else {
        let className = archive.className(of: property) ?? "nothing"
        throw malformed("Property \(name).\(propertyName) is of the unknown class \(className).")
      }
    }
    let className = try text("NSClassNameForEntity", value)
    let indexes = try fetchIndexes(value)
    // Core Data stores each fetch index again as a compound index, the older form, which is left out here.
    let columns = Set(indexes.map { $0.elements.map(\.propertyName) })
    let compound = try lists("NSCompoundIndexes", value).filter { !columns.contains($0) }
    return Entity(
      name: name, className: className == "NSManagedObject" ? nil : className,
      isAbstract: try flag("NSIsAbstract", value), superentityName: parents[name],
      attributes: attributes, relationships: relationships, fetchedProperties: fetched,
      uniquenessConstraints: try lists("NSUniqueTuples", value), fetchIndexes: indexes,
      compoundIndexes: compound, versionHashModifier: try text("NSVersionHashModifier", value),
      renamingIdentifier: try renaming(value, name), userInfo: try userInfo(value))
  }

  /// Returns the names of the ancestors, starting with the parent. If the ancestors form a cycle, the list ends before
  /// the first name that would occur again.
  func lineage(of name: String) -> [String] {
    var found: [String] = []
    var met: Set<String> = [name]
    var next = parents[name]
    while let parent = next, found.count < ManagedObjectModel.maximumInheritanceDepth,
      met.insert(parent).inserted
    {
      found.append(parent)
      next = parents[parent]
    }
    return found
  }

  /// Returns the property to which a proxy of an inherited property refers. Any value other than a proxy is returned
  /// unchanged.
  func underlying(_ value: PropertyList) -> PropertyList? {
    archive.className(of: value) == "_NSPropertyDescriptionProxy"
      ? archive.field("NSUnderlyingProperty", of: value) : value
  }

  private mutating func fetchIndexes(_ value: PropertyList) throws(ModelError) -> [FetchIndex] {
    var indexes: [FetchIndex] = []
    for stored in try elements("NSFetchIndexDescriptions", of: value) {
      guard let name = try text("NSIndexName", stored) else { continue }
      var index = FetchIndex(
        name: name, elements: [],
        partialPredicate: try predicate(archive.field("NSPartialIndexPredicate", of: stored)))
      for element in try elements("NSIndexElements", of: stored) {
        try spend(Cost.indexElement)
        let isRTree = archive.integer(archive.field("NSFetchIndexElementType", of: element)) == 1
        index.elements.append(
          FetchIndex.Element(
            propertyName: try text("NSPropertyName", element) ?? "",
            isAscending: try flag("NSAscending", element), kind: isRTree ? .rTree : .binary))
      }
      indexes.append(index)
    }
    return indexes
  }

  // MARK: The model itself

  private mutating func configurations(
    _ root: PropertyList?
  ) throws(ModelError) -> [String: [String]] {
    var found: [String: [String]] = [:]
    for (name, members) in try named("NSConfigurations", root) {
      var list: [String] = []
      for member in try elements(members) {
        if let entity = try entityName(member) {
          list.append(entity)
        } else if let entity = try string(member) {
          list.append(entity)
        }
      }
      found[name] = list
    }
    return found
  }

  private mutating func templates(
    _ root: PropertyList?
  ) throws(ModelError) -> [FetchRequestTemplate] {
    var found: [FetchRequestTemplate] = []
    for (name, request) in try named("NSFetchRequestTemplates", root) {
      try spend(Cost.template)
      found.append(FetchRequestTemplate(name: name, request: try fetchRequest(request)))
    }
    return found
  }

  // MARK: Values

  /// Adds to the work done. Throws `model.tooLarge` if the total exceeds what any real model needs.
  mutating func spend(_ amount: Int) throws(ModelError) {
    work += amount
    guard work <= Self.maximumWork else {
      throw ModelError(code: .tooLarge, message: "The model is too large to be read.")
    }
  }

  mutating func string(_ value: PropertyList?) throws(ModelError) -> String? {
    let text = archive.string(value)
    try spend((text?.utf8.count ?? 0) / 16)
    return text
  }

  /// Returns the text in a field; nil if the field is absent or the text is empty.
  mutating func text(_ key: String, _ value: PropertyList?) throws(ModelError) -> String? {
    let field = archive.field(key, of: value)
    guard let text = try string(field) else {
      guard archive.isNull(field) else {
        throw malformed("\(key) of \(place(of: value)) is not text.")
      }
      return nil
    }
    return text.isEmpty ? nil : text
  }

  /// Returns the elements of the list in a field; empty if the field is absent.
  mutating func elements(
    _ key: String, of value: PropertyList?
  ) throws(ModelError) -> [PropertyList] {
    let field = archive.field(key, of: value)
    guard archive.isNull(field) || archive.elements(field) != nil else {
      throw malformed("\(key) of \(place(of: value)) is not a list.")
    }
    return try elements(field)
  }

  mutating func elements(_ value: PropertyList?) throws(ModelError) -> [PropertyList] {
    let elements = archive.elements(value) ?? []
    try spend(elements.count * Cost.reference)
    return elements
  }

  /// Returns the entries of the dictionary in the field `key`, without entries whose key is not a string; empty if the
  /// field is absent. `isNeeded` is true for a field that every archive has. If it is true, an absent field and a key
  /// that is not a string are errors.
  mutating func named(
    _ key: String, _ value: PropertyList?, isNeeded: Bool = false
  ) throws(ModelError) -> [(name: String, value: PropertyList)] {
    let field = archive.field(key, of: value)
    guard let entries = archive.entries(field) else {
      guard !isNeeded, archive.isNull(field) else {
        let problem = isNeeded ? "missing or not a dictionary" : "not a dictionary"
        throw malformed("\(key) of \(place(of: value)) is \(problem).")
      }
      return []
    }
    try spend(entries.count * Cost.name)
    var named: [(name: String, value: PropertyList)] = []
    for entry in entries {
      if let name = try string(entry.key) {
        named.append((name, entry.value))
      } else if isNeeded {
        throw malformed("\(key) of \(place(of: value)) has a key that is not text.")
      }
    }
    return named
  }

  mutating func entityName(_ value: PropertyList?) throws(ModelError) -> String? {
    try text("NSEntityName", value)
  }

  /// Returns the value of the flag in a field; false if the field is absent, because archives contain only flags that
  /// are set.
  func flag(_ key: String, _ value: PropertyList?) throws(ModelError) -> Bool {
    guard let field = archive.field(key, of: value) else { return false }
    guard let flag = archive.bool(field) else {
      throw malformed("\(key) of \(place(of: value)) is not a boolean.")
    }
    return flag
  }

  /// Returns the integer in a field; nil if the field is absent. Throws if the integer is outside `range`.
  func integer(
    _ key: String, _ value: PropertyList?, in range: ClosedRange<Int32>
  ) throws(ModelError) -> Int32? {
    guard let field = archive.field(key, of: value) else { return nil }
    let number: Int64?
    switch archive.resolve(field) {
    case .bool, .real: number = nil
    case let object: number = archive.integer(object)
    }
    guard let number else {
      throw malformed("\(key) of \(place(of: value)) is not an integer.")
    }
    guard let narrow = Int32(exactly: number), range.contains(narrow) else {
      throw malformed("\(key) of \(place(of: value)) is \(number), which is out of range.")
    }
    return narrow
  }

  func neededInteger(
    _ key: String, _ value: PropertyList?, in range: ClosedRange<Int32>
  ) throws(ModelError) -> Int32 {
    guard let number = try integer(key, value, in: range) else {
      throw malformed("\(key) of \(place(of: value)) is missing.")
    }
    return number
  }

  /// Returns the kind and name of an object for an error message: `entity Note`; the class if the object has no name.
  func place(of value: PropertyList?) -> String {
    let holder = archive.field("NSEntity", of: value)
    let entity = archive.string(archive.field("NSEntityName", of: holder))
    if let name = archive.string(archive.field("NSPropertyName", of: value)) {
      return "property " + (entity.map { "\($0)." } ?? "") + name
    }
    if let name = archive.string(archive.field("NSEntityName", of: value)) {
      return "entity \(name)"
    }
    return archive.className(of: value) ?? "an object without a class"
  }

  /// Reads a list of lists of property names, such as the uniqueness constraints. If an archive contains a property in
  /// place of its name, the property's name is returned.
  private mutating func lists(
    _ key: String, _ value: PropertyList?
  ) throws(ModelError) -> [[String]] {
    var lists: [[String]] = []
    for tuple in try elements(key, of: value) {
      guard archive.elements(tuple) != nil else {
        throw malformed("\(key) of \(place(of: value)) holds something that is not a list.")
      }
      var list: [String] = []
      for part in try elements(tuple) {
        if let name = try string(part) {
          list.append(name)
        } else if let name = try text("NSPropertyName", part) {
          list.append(name)
        } else {
          throw malformed("\(key) of \(place(of: value)) holds something that is not a property.")
        }
      }
      if !list.isEmpty { lists.append(list) }
    }
    return lists
  }

  /// Returns the renaming identifier of an element of the model. Returns nil if the identifier equals the element's
  /// name, because Core Data archives the name when no renaming identifier is set.
  mutating func renaming(
    _ value: PropertyList?, _ name: String
  ) throws(ModelError) -> String? {
    let identifier = try text("NSRenamingIdentifier", value)
    return identifier == name ? nil : identifier
  }

  mutating func userInfo(_ value: PropertyList?) throws(ModelError) -> [String: ArchivedValue] {
    var found: [String: ArchivedValue] = [:]
    for (key, stored) in try named("NSUserInfo", value) {
      found[key] = try decoded(stored)
    }
    return found
  }

  func malformed(_ message: String) -> ModelError {
    ModelError(code: .malformed, message: message)
  }
}
