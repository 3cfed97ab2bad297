import Foundation
import Testing

@testable import ObjectModel

// Foundation has types of these names.
private typealias Expression = ObjectModel.Expression
private typealias Predicate = ObjectModel.Predicate

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
        let predicate = try #require(Predicate(archived: value, in: archive))
        #expect(predicate.isWhole, "\(name): \(predicate)")
        #expect(try Predicate(parsing: predicate.text) == predicate, "\(name): \(predicate)")
        #expect(PredicateStanding(predicate).unconfirmed.isEmpty, "\(name): \(predicate)")
        written = PredicateArchiveWriter.write(predicate, into: &builder)
        texts.insert(predicate.text)
      } else {
        let expression = try #require(Expression(archived: value, in: archive))
        #expect(expression.isWhole, "\(name): \(expression)")
        #expect(try Expression(parsing: expression.text) == expression, "\(name): \(expression)")
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
  /// hashes the same, but for what is said to be lost.
  @Test func everyModelComesBack() throws {
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
    for (name, model, isArchive) in models {
      for form in ModelArchiveForm.allCases {
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
    print("\(models.count) models written in both forms and read back; losses of sources:")
    for (sentence, count) in kinds.sorted(by: { $0.value > $1.value }) {
      print("  \(count) times: \(sentence)")
    }
    #expect(models.count >= 78 + 8 + 47)
  }
}
