package import ObjectModel

extension ManagedObjectModel {
  /// Reads a model in the form of Xcode's editor: the file `elements` of an `.xcdatamodel` made by Xcode 3, or the
  /// data in `sourcemodeldata` or `destinationmodeldata` of an `xcmapping.xml`.
  ///
  /// The bytes are a keyed archive of the editor's own classes (`XDPMModel`, `XDPMEntity`, …). The archive is read as
  /// data; no object of these classes is made.
  ///
  /// - Throws: ``ModelError``; `model.notAModel` if the bytes are not the archive of an editor's model.
  package init(editorArchive bytes: [UInt8]) throws(ModelError) {
    let archive = try KeyedArchive(
      bytes: bytes, orThrow: .notAModel,
      "This file is not a keyed archive, so it is not a model of Xcode's editor.")
    self = try EditorModelReader.model(in: archive).model
  }
}

/// Builds a model from an archive of Xcode's model editor, which stores the model as UML. An entity is a class in a
/// package, and its parent is a generalization. Anything that UML cannot express is a tagged value of a stereotype, for
/// example `_default` of `XDUMLPropertyImp`.
///
/// The names of tagged values come from 27 models. Where the same model exists in the current format too, the names
/// were checked against it.
package struct EditorModelReader {
  /// The maximum number of archived elements that are visited. An archive may refer to one element many times, so the
  /// file's size does not limit the work.
  private static let maximumWork = 4_000_000

  package let archive: KeyedArchive
  private var work = 0
  /// The tagged values of the model's UML elements that the reader does not use, each as "class.tag". Tagged values
  /// that are empty or NO are left out.
  private(set) var unread: Set<String> = []

  private init(archive: KeyedArchive) { self.archive = archive }

  package static func isEditorArchive(_ archive: KeyedArchive) -> Bool { root(of: archive) != nil }

  /// Reads the model in an archive. The result also has the sorted names ("class.tag") of the tagged values that are
  /// not read.
  package static func model(
    in archive: KeyedArchive
  ) throws(ModelError) -> (model: ManagedObjectModel, unread: [String]) {
    guard let root = root(of: archive) else {
      let className = archive.className(of: archive.root) ?? "nothing"
      throw ModelError(
        code: .notAModel, message: "The archive holds \(className), not a model of Xcode's editor.")
    }
    var reader = EditorModelReader(archive: archive)
    let model = try reader.model(root)
    return (model, ByteOrder.sorted(reader.unread))
  }

  private static func root(of archive: KeyedArchive) -> PropertyList? {
    if archive.isKind(archive.root, of: "XDPMModel") { return archive.root }
    return archive.top.values.first { archive.isKind($0, of: "XDPMModel") }
  }

  private mutating func model(_ root: PropertyList) throws(ModelError) -> ManagedObjectModel {
    var entities: [Entity] = []
    var templates: [FetchRequestTemplate] = []
    var met: Set<String> = []
    for stored in try storedEntities(root) {
      let name = try requiredName(stored, "entity")
      try met.claim(name, "There are two entities")
      let tags = try tags(of: stored)
      entities.append(try entity(name, stored, tags))
      for request in try elements(tags["XD_PSK_fetchRequestsArray"]) {
        // This list may include the request of a fetched property. Such a request is not a template.
        guard archive.resolve(archive.field("_fetchedProperty", of: request)) == nil else {
          continue
        }
        var fetched = try fetchRequest(request)
        fetched.entityName = fetched.entityName ?? name
        templates.append(
          FetchRequestTemplate(name: try text("_name", of: request) ?? "", request: fetched))
      }
    }
    let identifier = archive.string(archive.field("_modelVersionIdentifier", of: root))
    return ManagedObjectModel(
      entities: entities, versionIdentifiers: identifier.map { [$0] } ?? [],
      configurations: try configurations(root), fetchRequestTemplates: templates)
  }

  /// Returns the entities of the root package and of all packages inside it. The entities of one package are in the
  /// order of the archive.
  private mutating func storedEntities(_ root: PropertyList) throws(ModelError) -> [PropertyList] {
    guard let package = archive.field("_xd_rootPackage", of: root),
      archive.resolve(package) != nil
    else { throw malformed("The model has no root package.") }
    var found: [PropertyList] = []
    var pending = [package]
    var met: Set<Int> = []
    while let next = pending.popLast() {
      if let index = archive.index(next), !met.insert(index).inserted { continue }
      for stored in try members("XDBucketForClassesstorage", of: next)
      where archive.isKind(stored, of: "XDPMEntity") {
        found.append(stored)
      }
      pending += try members("XDBucketForPackagesstorage", of: next)
      try spend(1)
    }
    return found
  }

  // MARK: Entities

  private mutating func entity(
    _ name: String, _ stored: PropertyList, _ tags: [String: PropertyList]
  ) throws(ModelError) -> Entity {
    var attributes: [Attribute] = []
    var relationships: [Relationship] = []
    var fetched: [FetchedProperty] = []
    var met: Set<String> = []
    for property in try members("XDBucketForOwnedAttributesstorage", of: stored) {
      let propertyName = try requiredName(property, "property of \(name)")
      try met.claim(propertyName, "Entity \(name) has two properties")
      let tags = try self.tags(of: property)
      if archive.isKind(property, of: "XDPMAttribute") {
        attributes.append(try attribute(propertyName, tags))
      } else if archive.isKind(property, of: "XDPMRelationship") {
        relationships.append(try relationship(propertyName, tags))
      } else if archive.isKind(property, of: "XDPMFetchedProperty") {
        fetched.append(try fetchedProperty(propertyName, tags))
      } else {
        let className = archive.className(of: property) ?? "nothing"
        throw malformed("Property \(name).\(propertyName) is of the unknown class \(className).")
      }
    }
    var parent: String?
    for generalization in try members("XDBucketForGeneralizationsstorage", of: stored)
    where parent == nil {
      parent = try entityName(archive.field("_general", of: generalization))
    }
    note(tags, except: Self.entityTags, of: "XDPMEntity")
    let className = try text(tags["XD_PSK_entityClassName"])
    return Entity(
      name: name, className: className == "NSManagedObject" ? nil : className,
      isAbstract: try flag(tags["XD_PSK_isAbstract"] ?? archive.field("_isAbstract", of: stored)),
      superentityName: parent, attributes: attributes, relationships: relationships,
      fetchedProperties: fetched,
      uniquenessConstraints: try lists(tags["XDPMUniquenessConstraints"]),
      compoundIndexes: try lists(tags["XDPMCompoundIndexes"]),
      versionHashModifier: try text(tags["XD_PSK_versionHashModifier"]),
      renamingIdentifier: try renaming(tags["XD_PSK_elementID"], name),
      userInfo: try userInfo(tags["XD_PSK_userInfo"]))
  }

  /// Reads `_configurationsByName`. This dictionary is empty in all known files, so the form of its values is not
  /// known. A value may be a list, or an object that has a list in a field. The elements of the list may be entities or
  /// entity names.
  private mutating func configurations(
    _ root: PropertyList
  ) throws(ModelError) -> [String: [String]] {
    var found: [String: [String]] = [:]
    for (name, stored) in try named(archive.field("_configurationsByName", of: root)) {
      var lists = [stored]
      if archive.elements(stored) == nil, let fields = archive.resolve(stored)?.entries {
        for key in ByteOrder.sorted(fields.keys) where key != "$class" {
          if let field = fields[key] { lists.append(field) }
        }
      }
      var members: Set<String> = []
      for list in lists {
        for member in archive.elements(list) ?? [] {
          try spend(1)
          if let entity = try entityName(member) { members.insert(entity) }
          if archive.string(member) != nil, let entity = try text(member) { members.insert(entity) }
        }
      }
      found[name] = Array(members)
    }
    return found
  }

  // MARK: UML

  /// Returns the tagged values of a UML element, by tag name. They come from all stereotypes of the element. Each
  /// stereotype has its own prefix for tag names, so no name occurs twice.
  private mutating func tags(
    of element: PropertyList
  ) throws(ModelError) -> [String: PropertyList] {
    var tags: [String: PropertyList] = [:]
    for stereotype in try members("XDBucketForStereotypesstorage", of: element) {
      for property in try members("XDBucketForOwnedAttributesstorage", of: stereotype) {
        guard let name = try text("_name", of: property) else { continue }
        tags[name] = archive.field("_default", of: property)
      }
    }
    return tags
  }

  /// Returns the elements in `bucket`, a field of `owner` that holds a dictionary or a list.
  private mutating func members(
    _ bucket: String, of owner: PropertyList
  ) throws(ModelError) -> [PropertyList] {
    let stored = archive.field(bucket, of: owner)
    let members =
      try known(archive.entries(stored)?.map(\.value) ?? archive.elements(stored), stored, "a list")
      ?? []
    try spend(members.count + 1)
    return members.filter { archive.resolve($0) != nil }
  }

  package mutating func entityName(_ value: PropertyList?) throws(ModelError) -> String? {
    archive.isKind(value, of: "XDPMEntity") ? try text("_name", of: value) : nil
  }

  private mutating func requiredName(
    _ value: PropertyList, _ what: String
  ) throws(ModelError) -> String {
    guard let name = try text("_name", of: value) else {
      throw malformed("One \(what) has no name.")
    }
    return name
  }

  /// Records in ``unread`` the names of tagged values that the reader does not know: the names in `tags` that are not
  /// in `known`. Values that are nil or false are left out.
  package mutating func note(
    _ tags: [String: PropertyList], except known: Set<String>, of className: String
  ) {
    for (name, value) in tags where !known.contains(name) {
      guard archive.resolve(value) != nil, archive.bool(value) != false else { continue }
      noteUnread(className, name)
    }
  }

  package mutating func noteUnread(_ className: String, _ tag: String) {
    unread.insert("\(className).\(tag)")
  }

  // MARK: Values

  package mutating func spend(_ amount: Int) throws(ModelError) {
    work += amount
    guard work <= Self.maximumWork else {
      throw ModelError(code: .tooLarge, message: "The model is too large to be read.")
    }
  }

  /// Returns the text of a value; nil if the value is absent or the text is empty.
  package mutating func text(_ value: PropertyList?) throws(ModelError) -> String? {
    guard let text = try known(archive.string(value), value, "text"), !text.isEmpty else {
      return nil
    }
    try spend(1 + text.utf8.count / 16)
    return text
  }

  package mutating func text(_ key: String, of value: PropertyList?) throws(ModelError) -> String? {
    try text(archive.field(key, of: value))
  }

  package func flag(_ value: PropertyList?) throws(ModelError) -> Bool {
    try known(archive.bool(value), value, "a boolean") ?? false
  }

  /// Returns `read`, which is the result of reading `value`; nil if `value` is absent. Throws if `value` has the wrong
  /// type. A default value would not do, because it would give the hashes of another model.
  package func known<Value>(
    _ read: Value?, _ value: PropertyList?, _ what: String
  ) throws(ModelError) -> Value? {
    guard read != nil || archive.isNull(value) else {
      throw malformed("A value in the model must be \(what), but is of another type.")
    }
    return read
  }

  package mutating func elements(_ value: PropertyList?) throws(ModelError) -> [PropertyList] {
    let elements = try known(archive.elements(value), value, "a list") ?? []
    try spend(elements.count)
    return elements
  }

  private mutating func named(
    _ value: PropertyList?
  ) throws(ModelError) -> [(name: String, value: PropertyList)] {
    var named: [(name: String, value: PropertyList)] = []
    for entry in try known(archive.entries(value), value, "a dictionary") ?? [] {
      guard let name = archive.string(entry.key) else { continue }
      try spend(1 + name.utf8.count / 16)
      named.append((name, entry.value))
    }
    return named
  }

  /// Reads a list of lists of property names; empty lists are left out.
  private mutating func lists(_ value: PropertyList?) throws(ModelError) -> [[String]] {
    var lists: [[String]] = []
    for part in try elements(value) {
      var list: [String] = []
      for element in try elements(part) {
        if let name = try text(element) { list.append(name) }
      }
      if !list.isEmpty { lists.append(list) }
    }
    return lists
  }

  package mutating func renaming(_ value: PropertyList?, _ name: String) throws(ModelError)
    -> String?
  {
    let identifier = try text(value)
    return identifier == name ? nil : identifier
  }

  package mutating func userInfo(_ value: PropertyList?) throws(ModelError) -> [String:
    ArchivedValue]
  {
    var found: [String: ArchivedValue] = [:]
    for (key, stored) in try named(value) {
      let (decoded, count) = archive.decodedWithCount(stored)
      try spend(count)
      found[key] = decoded
    }
    return found
  }

  package func malformed(_ message: String) -> ModelError {
    ModelError(code: .malformed, message: message)
  }
}
