package import ObjectModel

extension ManagedObjectModel {
  /// Reads a model in the form of Xcode's editor: the file `elements` of an `.xcdatamodel` made by Xcode 3, or
  /// `sourcemodeldata` and `destinationmodeldata` of an `xcmapping.xml`.
  ///
  /// The bytes are a keyed archive of the editor's own classes (`XDPMModel`, `XDPMEntity`, …), which is read as data.
  ///
  /// - Throws: ``ModelError``; `model.notAModel` if the bytes are not the archive of an editor's model.
  package init(editorArchive bytes: [UInt8]) throws(ModelError) {
    let archive = try KeyedArchive(
      bytes: bytes, orThrow: .notAModel, "An editor's model is a keyed archive; this file is not.")
    self = try EditorModelReader.model(in: archive).model
  }
}

/// Builds a model from an archive of the editor's classes.
///
/// The editor keeps a model as UML. Entities are classes in a package, and a parent is a generalization. Everything
/// that UML does not know is a tagged value of a stereotype: an `XDUMLPropertyImp` with a `_default`. The names come
/// from 27 models. They were checked against the current format if a model was later saved in it.
package struct EditorModelReader {
  /// The maximum number of elements that are visited. The parts of an archive may be shared, so the file's size does
  /// not limit the work.
  private static let maximumWork = 4_000_000

  package let archive: KeyedArchive
  private var work = 0
  /// The tagged values that are not read, each as "class.tag". Tagged values that are empty or NO are not listed.
  private(set) var unread: Set<String> = []

  private init(archive: KeyedArchive) { self.archive = archive }

  /// Whether an archive holds a model in the editor's form.
  package static func isEditorArchive(_ archive: KeyedArchive) -> Bool { root(of: archive) != nil }

  /// Reads the model in an archive, and returns the sorted names ("class.tag") of the tagged values that are not read.
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
      guard met.insert(name).inserted else {
        throw ModelError(
          code: .duplicateName, message: "There are two entities called \(name).")
      }
      let tags = try tags(of: stored)
      entities.append(try entity(name, stored, tags))
      for request in try elements(tags["XD_PSK_fetchRequestsArray"]) {
        // A fetched property keeps its own request, which may be listed here too.
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

  /// The entities of the root package and of all packages inside it. Within a package they have stored order.
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
      guard met.insert(propertyName).inserted else {
        throw ModelError(
          code: .duplicateName,
          message: "Entity \(name) has two properties called \(propertyName).")
      }
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
      isAbstract: flag(tags["XD_PSK_isAbstract"] ?? archive.field("_isAbstract", of: stored)),
      superentityName: parent, attributes: attributes, relationships: relationships,
      fetchedProperties: fetched,
      uniquenessConstraints: try lists(tags["XDPMUniquenessConstraints"]),
      compoundIndexes: try lists(tags["XDPMCompoundIndexes"]),
      versionHashModifier: try text(tags["XD_PSK_versionHashModifier"]),
      renamingIdentifier: try renaming(tags["XD_PSK_elementID"], name),
      userInfo: try userInfo(tags["XD_PSK_userInfo"]))
  }

  /// Reads `_configurationsByName`. No file with an entry was found. Entities and names are both accepted, as members
  /// of a list or of an object with a list.
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
        for member in try elements(list) {
          if let entity = try entityName(member) { members.insert(entity) }
          if let entity = try text(member) { members.insert(entity) }
        }
      }
      found[name] = Array(members)
    }
    return found
  }

  // MARK: UML

  /// The tagged values of all stereotypes of an element, by tag name. A tag name starts with a prefix of its
  /// stereotype, so the names are unique.
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

  /// The members of a bucket. A bucket is a dictionary by name or a list.
  private mutating func members(
    _ bucket: String, of owner: PropertyList
  ) throws(ModelError) -> [PropertyList] {
    let stored = archive.field(bucket, of: owner)
    let members = archive.entries(stored)?.map(\.value) ?? archive.elements(stored) ?? []
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

  /// Adds the tagged values that are not read to ``unread``.
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
      throw ModelError(code: .tooLarge, message: "The model is larger than any real one.")
    }
  }

  /// The text of a value; nil if it is absent or empty.
  package mutating func text(_ value: PropertyList?) throws(ModelError) -> String? {
    guard let text = archive.string(value), !text.isEmpty else { return nil }
    try spend(1 + text.utf8.count / 16)
    return text
  }

  package mutating func text(_ key: String, of value: PropertyList?) throws(ModelError) -> String? {
    try text(archive.field(key, of: value))
  }

  package func flag(_ value: PropertyList?) -> Bool { archive.bool(value) ?? false }

  package mutating func elements(_ value: PropertyList?) throws(ModelError) -> [PropertyList] {
    let elements = archive.elements(value) ?? []
    try spend(elements.count)
    return elements
  }

  private mutating func named(
    _ value: PropertyList?
  ) throws(ModelError) -> [(name: String, value: PropertyList)] {
    let entries = archive.namedEntries(value) ?? []
    try spend(entries.count)
    return entries
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
