import Fixtures
import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

// Foundation has types of these names.
private typealias ModelExpression = ObjectModel.ModelExpression
private typealias ModelPredicate = ObjectModel.ModelPredicate

/// All archives of the real collection: compiled models, cached models, compiled mapping models and
/// the expressions in mapping sources.
struct RealArchives {
  private(set) var archives: [(name: String, archive: KeyedArchive)] = []

  /// Nil, with a note in the log, where the collection or Python is absent.
  init?() throws {
    guard let root = SharedFiles.path("stores/real"), let caches = try CachedModels(of: root) else {
      return nil
    }
    for suffix in [".mom", ".cdm"] {
      for path in SharedFiles.files(below: root, suffix: suffix) {
        archives.append((path, try KeyedArchive(bytes: SharedFiles.bytes(path))))
      }
    }
    for store in caches.stores {
      archives.append((store.name, try KeyedArchive(bytes: store.archive)))
    }
    for path in SharedFiles.files(below: root, suffix: "xcmapping.xml") {
      let text = String(decoding: try SharedFiles.bytes(path), as: UTF8.self)
      let parts = text.components(
        separatedBy: "<attribute name=\"valueexpressiondata\" type=\"binary\">")
      for part in parts.dropFirst() {
        let encoded = String(part.prefix { $0 != "<" })
        let data = try #require(Data(base64Encoded: encoded, options: .ignoreUnknownCharacters))
        archives.append((path, try KeyedArchive(bytes: Array(data))))
      }
    }
  }

  /// Everything that a field of another object, or the root, holds as an expression or predicate.
  func values() -> [(name: String, archive: KeyedArchive, value: PropertyList)] {
    var found: [(String, KeyedArchive, PropertyList)] = []
    for (name, archive) in archives {
      if Self.isPart(archive.root, archive), let root = archive.root {
        found.append((name, archive, root))
      }
      for object in archive.objects where archive.className(of: object) != nil {
        let isList = archive.isKind(object, of: "NSArray")
        guard !Self.isPart(object, archive), !isList else { continue }
        for (key, field) in object.entries ?? [:] where key != "$class" {
          for value in archive.elements(field) ?? [field] where Self.isPart(value, archive) {
            found.append((name, archive, value))
          }
        }
      }
    }
    return found
  }

  private static func isPart(_ value: PropertyList?, _ archive: KeyedArchive) -> Bool {
    archive.isKind(value, of: "NSExpression") || archive.isKind(value, of: "NSPredicate")
      || archive.isKind(value, of: "NSPredicateOperator")
  }
}

struct RealArchiveTests {
  /// Every archived expression and predicate is understood, printed, parsed and written again in
  /// the very shape that it had.
  @Test func everyExpressionComesBack() throws {
    guard let archives = try RealArchives() else { return }
    var texts: Set<String> = []
    let values = archives.values()
    for (name, archive, value) in values {
      var builder = KeyedArchiveBuilder()
      let written: PropertyList
      if archive.isKind(value, of: "NSPredicate") {
        let predicate = try #require(ModelPredicate(archived: value, in: archive))
        #expect(predicate.isWhole, "\(name): \(predicate)")
        #expect(try ModelPredicate(parsing: predicate.text) == predicate, "\(name): \(predicate)")
        #expect(PredicateStanding(predicate).unconfirmed.isEmpty, "\(name): \(predicate)")
        written = PredicateArchiveWriter.write(predicate, into: &builder)
        texts.insert(predicate.text)
      } else {
        let expression = try #require(ModelExpression(archived: value, in: archive))
        #expect(expression.isWhole, "\(name): \(expression)")
        #expect(
          try ModelExpression(parsing: expression.text) == expression, "\(name): \(expression)")
        #expect(PredicateStanding(expression).unconfirmed.isEmpty, "\(name): \(expression)")
        written = PredicateArchiveWriter.write(expression, into: &builder)
        texts.insert(expression.text)
      }
      let copy = try KeyedArchive(bytes: builder.bytes(root: written))
      #expect(copy.decoded(copy.root) == archive.decoded(value), "\(name)")
    }
    print("\(values.count) archived expressions and predicates, \(texts.count) different ones")
    #expect(values.count >= 60)
    #expect(texts.count >= 30)
    #expect(texts.contains("length >= 3 AND length <= 50"))
    #expect(texts.contains("count:(pages)"))
  }

  /// Every model of the collection, written as an archive in each form and read back, is equal and
  /// hashes the same, but for what is said to be lost. Outside the long rounds, each model has one of the forms.
  @Test(.enabled(if: Shared.isThere)) func everyModelComesBack() throws {
    guard let root = SharedFiles.path("stores/real"), let caches = try CachedModels(of: root) else {
      return
    }
    var models: [(name: String, model: ManagedObjectModel, isArchive: Bool)] = []
    for path in SharedFiles.files(below: root, suffix: "/contents") {
      models.append((path, try ManagedObjectModel(contentsXML: SharedFiles.bytes(path)), false))
    }
    for path in SharedFiles.files(below: root, suffix: ".mom") {
      models.append((path, try ManagedObjectModel(archive: SharedFiles.bytes(path)), true))
    }
    for store in caches.stores {
      models.append((store.name, try ManagedObjectModel(archive: store.archive), true))
    }
    var kinds: [String: Int] = [:]
    for (number, (name, model, isArchive)) in models.enumerated() {
      for (place, form) in ModelArchiveForm.allCases.enumerated()
      where Rounds.areLong || (number + place) % 2 == 0 {
        let (bytes, losses) = model.archive(form: form)
        let copy = try ManagedObjectModel(archive: bytes)
        let reduced = model.reduced(to: form)
        if copy != reduced {
          let changes = ModelDifference(from: reduced, to: copy).changes.map(\.sentence)
          Issue.record("\(name), \(form): \(changes.prefix(5))")
        }
        #expect(copy.versionHashes() == model.versionHashes(), "\(name), \(form)")
        #expect(losses.isEmpty == (copy == model), "\(name), \(form): \(losses)")
        // What came from an archive fits into one.
        if isArchive { #expect(losses == [], "\(name)") }
        for loss in losses {
          kinds[loss.sentence.filter { !$0.isNumber }, default: 0] += 1
        }
      }
    }
    print("\(models.count) models written and read back; losses of sources:")
    for (sentence, count) in kinds.sorted(by: { $0.value > $1.value }) {
      print("  \(count) times: \(sentence)")
    }
    #expect(models.count >= 78 + 8 + 47)
  }

  /// Every element, attribute, class and key of every real file is read, or is known to carry
  /// nothing.
  @Test(.enabled(if: Shared.isThere)) func everythingIsReadOrKnownToCarryNothing() throws {
    guard let root = SharedFiles.path("stores/real"), let caches = try CachedModels(of: root) else {
      return
    }
    var fileCount = 0
    for path in SharedFiles.files(below: root, suffix: "/contents") {
      #expect(try ManagedObjectModel.unreadParts(of: SharedFiles.bytes(path)) == [], "\(path)")
      fileCount += 1
    }
    for path in SharedFiles.files(below: root, suffix: ".mom") {
      #expect(try ManagedObjectModel.unreadParts(of: SharedFiles.bytes(path)) == [], "\(path)")
      fileCount += 1
    }
    var classes: Set<String> = []
    for store in caches.stores {
      let unread = try ManagedObjectModel.unreadParts(of: store.archive)
      #expect(unread == [], "\(store.name)")
      let archive = try KeyedArchive(bytes: store.archive)
      classes.formUnion(archive.objects.compactMap { archive.className(of: $0) })
      fileCount += 1
    }
    // Values of every kind, and one class of an app's own, which is kept with its fields.
    let others = classes.subtracting(ModelVocabulary.classes.keys)
    #expect(
      others == [
        "CoreDataPlus_Tests.Cover", "NSArray", "NSDate", "NSDictionary", "NSMutableArray",
        "NSMutableDictionary", "NSMutableSet", "NSMutableString", "NSSet", "NSUUID",
      ])
    print("\(fileCount) files without an unread part")
    #expect(fileCount >= 78 + 8 + 47)
  }

  /// What is not in the vocabulary is named.
  @Test func unreadPartsAreNamed() throws {
    let xml = "<model new=\"1\"><entity name=\"A\" odd=\"YES\"><thing/></entity></model>"
    #expect(
      try ManagedObjectModel.unreadParts(of: Array(xml.utf8))
        == ["<thing>", "entity.odd", "model.new"])
    var builder = KeyedArchiveBuilder()
    let root = builder.add(["NSManagedObjectModel", "NSObject"], ["NSNew": .integer(1)])
    #expect(
      try ManagedObjectModel.unreadParts(of: builder.bytes(root: root))
        == ["NSManagedObjectModel.NSNew"])
    #expect(throws: ModelError.self) { try ManagedObjectModel.unreadParts(of: [1, 2]) }
  }

  /// What is written has the keys of what was read, at every entity and property.
  @Test(.enabled(if: Shared.isThere)) func writtenArchivesHaveTheKeysOfRealOnes() throws {
    guard let root = SharedFiles.path("stores/real"), let caches = try CachedModels(of: root) else {
      return
    }
    var archives = caches.stores.map { ($0.archive, ModelArchiveForm.modelCache) }
    for path in SharedFiles.files(below: root, suffix: ".mom") {
      archives.append((try SharedFiles.bytes(path), .compiled))
    }
    var missing: Set<String> = []
    var extra: Set<String> = []
    for (bytes, form) in archives {
      let real = try KeyedArchive(bytes: bytes)
      let own = try KeyedArchive(
        bytes: ManagedObjectModel(archive: bytes).archive(form: form).bytes)
      func compare(_ one: PropertyList?, _ other: PropertyList?) {
        guard let className = real.className(of: one), className != "_NSPropertyDescriptionProxy"
        else { return }
        #expect(own.className(of: other) == className)
        let left = Set(real.resolve(one)?.entries?.keys.map { "\(className).\($0)" } ?? [])
        let right = Set(own.resolve(other)?.entries?.keys.map { "\(className).\($0)" } ?? [])
        missing.formUnion(left.subtracting(right))
        extra.formUnion(right.subtracting(left))
      }
      compare(real.root, own.root)
      let copies = Dictionary(
        (own.namedEntries(own.field("NSEntities", of: own.root)) ?? []).map { ($0.name, $0.value) }
      ) { first, _ in first }
      for (name, entity) in real.namedEntries(real.field("NSEntities", of: real.root)) ?? [] {
        compare(entity, copies[name])
        let properties = Dictionary(
          (own.namedEntries(own.field("NSProperties", of: copies[name])) ?? [])
            .map { ($0.name, $0.value) }
        ) { first, _ in first }
        let stored = real.namedEntries(real.field("NSProperties", of: entity)) ?? []
        #expect(stored.count == properties.count, "\(name)")
        for (property, value) in stored {
          compare(value, properties[property])
          compare(
            real.field("NSFetchRequest", of: value),
            own.field("NSFetchRequest", of: properties[property]))
        }
      }
    }
    // Tool versions; and an empty list of constraints, which some archives have.
    #expect(
      missing == [
        "NSManagedObjectModel.CDMCompilerToolVersion",
        "NSManagedObjectModel.CDMCompilerXcodeVersion", "NSEntityDescription.NSUniqueTuples",
      ])
    // Older archives lack the kinds of index of later systems, newer ones those of earlier.
    #expect(
      extra == [
        "NSEntityDescription.NSCompoundIndexes", "NSEntityDescription.NSFetchIndexDescriptions",
      ])
  }

  /// The copies of inherited properties, which the reader passes over, say nothing of their own.
  @Test(.enabled(if: Shared.isThere)) func inheritedCopiesAreEqual() throws {
    guard let root = SharedFiles.path("stores/real"), let caches = try CachedModels(of: root) else {
      return
    }
    var count = 0
    for store in caches.stores {
      let archive = try KeyedArchive(bytes: store.archive)
      var reader = ArchiveModelReader(archive: archive)
      let model = try reader.model()
      for (name, entity) in archive.namedEntries(archive.field("NSEntities", of: archive.root))
        ?? []
      {
        for ancestor in model.ancestors(of: name) {
          let names = Set(ancestor.propertyNames)
          let stored = archive.namedEntries(archive.field("NSProperties", of: entity)) ?? []
          for (property, value) in stored where names.contains(property) {
            let copy = reader.underlying(value)
            if let original = ancestor.attributes.first(where: { $0.name == property }) {
              #expect(try reader.attribute(property, copy, depth: 0) == original, "\(store.name)")
            } else if let original = ancestor.relationships.first(where: { $0.name == property }) {
              #expect(try reader.relationship(property, copy) == original, "\(store.name)")
            } else if let original = ancestor.fetchedProperties.first(where: { $0.name == property }
            ) {
              #expect(try reader.fetchedProperty(property, copy) == original, "\(store.name)")
            }
            count += 1
          }
        }
      }
    }
    print("\(count) inherited copies compared")
    #expect(count > 500)
  }

  /// The list of what is read is true: every name in it stands in a reader.
  @Test func theVocabularyIsThatOfTheReaders() throws {
    let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Sources").path
    var text = ""
    let rooms = ["ObjectModel", "ModelTools"].map { sources + "/" + $0 }
    for path in rooms.flatMap({ SharedFiles.files(below: $0, suffix: ".swift") })
    where path.contains("Reader") || path.hasSuffix("/KeyedArchive.swift") {
      text += String(decoding: try SharedFiles.bytes(path), as: UTF8.self)
    }
    let parts = Array(ModelVocabulary.elements.values) + Array(ModelVocabulary.classes.values)
    let names = parts.reduce(into: Set<String>()) { $0.formUnion($1.read) }
    #expect(names.count > 100)
    for name in names.sorted() { #expect(text.contains("\"\(name)\""), "\(name)") }
  }
}
