import CoreDataStore
import ObjectModel
import SQLiteFile
import SafeText
import StoreExtraction
import StoreFiles
import StoreRecovery

/// Words that need not be hidden in a bundle, even if a row contains them: the words of Lifeboat's own sentences, and
/// the names in the app's code. A short string that consists only of such words does not show whether it comes from a
/// row.
struct PublicWords {
  private var words: Set<String>
  /// The whole strings that may be in any bundle, because they are not data of a user: digests, the UUID of the store,
  /// the statements of the store's schema, versions of the model, hash modifiers and renaming identifiers.
  private var texts: Set<[UInt8]> = []

  init() {
    words = Set(
      Self.vocabulary.utf8.split(separator: 0x20).map { String(decoding: $0, as: UTF8.self) })
  }

  /// Adds the words of names that the app gave to parts of the store: names of the schema, of the model and of metadata
  /// keys. Names of an unusual form are left out. The statements of the schema and the store's UUID are added as whole
  /// strings.
  mutating func add(_ store: CoreDataStore) {
    let schema = store.database.schema
    for entry in schema.entries + schema.repairedEntries {
      add(name: entry.name)
      add(name: entry.tableName)
      if let sql = entry.sql { texts.insert(Array(sql.utf8)) }
    }
    add(name: PathText.lastComponent(of: store.database.path))
    if let uuid = store.metadata?.uuid, NameForm.isUUID(uuid) { texts.insert(Array(uuid.utf8)) }
    for table in schema.tables { table.columnNames.forEach { add(name: $0) } }
    store.metadata?.otherKeyNames.forEach { add(name: $0) }
    store.metadata?.versionIdentifiers.forEach { add(version: $0) }
    store.entities.forEach { add(name: $0.name) }
    if let model = store.model { add(model) }
  }

  /// Adds the SHA-256 of the entries in `manifest`. From `incident`, adds the id, the app's name, version and build,
  /// and the model versions.
  mutating func add(_ manifest: BundleManifest, _ incident: Incident?) {
    for entry in manifest.entries { texts.insert(Array(entry.sha256.utf8)) }
    guard let incident else { return }
    for text in [incident.app.name, incident.app.version, incident.app.build, incident.id] {
      for word in Self.words(of: Array((text ?? "").utf8)) { words.insert(word) }
    }
    [incident.model?.writtenBy, incident.model?.expected].forEach { add(version: $0) }
  }

  /// Adds the words of the names in `model`, and the words of the names in `names`. A key of `names` is the name of an
  /// entity or table in the rows; the value is the names of its attributes or columns.
  mutating func add(_ model: ManagedObjectModel?, _ names: [ExactText: Set<ExactText>]) {
    for (name, attributes) in names {
      add(name: name.text)
      attributes.forEach { add(name: $0.text) }
    }
    if let model { add(model) }
  }

  private mutating func add(_ model: ManagedObjectModel) {
    model.versionIdentifiers.forEach { add(version: $0) }
    for entity in model.entities.values {
      add(codes: [entity.versionHashModifier, entity.renamingIdentifier])
      for relationship in entity.relationships {
        add(codes: [relationship.versionHashModifier, relationship.renamingIdentifier])
      }
      for attribute in entity.attributes.flatMap({ [$0] + $0.elements }) {
        add(
          codes: [
            attribute.versionHashModifier, attribute.renamingIdentifier, attribute.compositeName,
          ])
      }
      let names = [entity.name, entity.className, entity.superentityName].compactMap { $0 }
      (names + entity.propertyNames + entity.fetchIndexes.map(\.name)).forEach { add(name: $0) }
      for attribute in entity.attributes {
        (attribute.elements.map(\.name)
          + [attribute.valueTransformerName, attribute.valueClassName].compactMap { $0 })
          .forEach { add(name: $0) }
      }
    }
  }

  private mutating func add(version: String?) {
    guard let version, NameForm.isVersionName(version) else { return }
    texts.insert(Array(version.utf8))
  }

  private mutating func add(codes: [String?]) {
    for case let code? in codes where NameForm.isCode(code) { texts.insert(Array(code.utf8)) }
  }

  private mutating func add(name: String) {
    guard NameForm.isKey(name) else { return }
    for word in Self.words(of: Array(name.utf8)) { words.insert(word) }
  }

  /// The maximum number of words in a string that counts as public because all its words are public. A longer string of
  /// public words is not public: if it is both in a row and in the bundle, this is hardly a coincidence.
  private static let maxCount = 4

  /// Whether a string may be in a bundle even if it is the value of a row. The string is one of ``texts``, or it
  /// consists of at most four words that are in ``words`` or are numbers of up to four digits. Such numbers are allowed
  /// because dates consist of them.
  func hold(_ text: [UInt8]) -> Bool {
    if texts.contains(text) { return true }
    let found = Self.words(of: text)
    return found.count <= Self.maxCount
      && found.allSatisfy { word in
        words.contains(word)
          || word.utf8.count <= 4 && word.utf8.allSatisfy { (0x30...0x39).contains($0) }
      }
  }

  /// Returns the words of a string in lower case. A word is a sequence of ASCII letters, digits and non-ASCII bytes.
  private static func words(of text: [UInt8]) -> [String] {
    text.split { !isWord($0) }.map { String(decoding: $0, as: UTF8.self).lowercased() }
  }

  static func isWord(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20) && byte < 0x80
      || byte >= 0x80
  }
}
