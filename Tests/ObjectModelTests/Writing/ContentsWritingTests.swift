import Fixtures
import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

/// Models written as sources, against the real sources and against what other programs read.
struct ContentsWritingTests {
  /// Every real source, read, written and read again: an equal model, the same hashes, nothing lost.
  @Test(.enabled(if: Shared.isThere)) func everyRealSourceSurvives() throws {
    guard let root = SharedFiles.path("stores/real") else { return }
    var count = 0
    for path in SharedFiles.files(below: root, suffix: "/contents") {
      let bytes = try SharedFiles.bytes(path)
      let model = try ManagedObjectModel(contentsXML: bytes)
      let written = model.contentsXML(settings: try SourceSettings(contentsXML: bytes))
      #expect(written.losses == [], "\(path)")
      let copy = try ManagedObjectModel(contentsXML: written.bytes)
      #expect(copy == model, "\(path): \(ModelDifference(from: model, to: copy).changes)")
      #expect(copy.versionHashes() == model.versionHashes(), "\(path)")
      count += 1
    }
    print("\(count) real sources written and read back")
    #expect(count == 78)
  }

  /// What a real source says is in the written one: every element with every attribute.
  @Test(.enabled(if: Shared.isThere)) func everyAttributeOfTheRealSourcesComesBack() throws {
    guard let root = SharedFiles.path("stores/real") else { return }
    var compared = XMLNode.Count()
    for path in SharedFiles.files(below: root, suffix: "/contents") {
      let bytes = try SharedFiles.bytes(path)
      let model = try ManagedObjectModel(contentsXML: bytes)
      let written = model.contentsXML(settings: try SourceSettings(contentsXML: bytes))
      let real = try XMLNode(bytes)
      let ours = try XMLNode(written.bytes)
      let differences = XMLNode.differences(real, ours, count: &compared)
      #expect(differences == [], "\(path)")
    }
    print("\(compared.elements) elements and \(compared.attributes) attributes compared")
    for (reason, count) in compared.exceptions { print("\(count) times: \(reason)") }
    #expect(compared.elements > 9_000)
    #expect(compared.attributes > 44_000)
    #expect(compared.exceptions.count == 2)
    #expect(compared.exceptions.values.reduce(0, +) < 150)
  }

  /// The attributes of every tag stand in the order in which Xcode has them, and the lines are indented
  /// and escaped as its are: but for the exceptions above, each line of a real source is one of ours.
  @Test(.enabled(if: Shared.isThere)) func linesAreThoseOfXcode() throws {
    guard let root = SharedFiles.path("stores/real") else { return }
    var count = 0
    var others = 0
    for path in SharedFiles.files(below: root, suffix: "/contents") {
      let bytes = try SharedFiles.bytes(path)
      let model = try ManagedObjectModel(contentsXML: bytes)
      let written = model.contentsXML(settings: try SourceSettings(contentsXML: bytes))
      let ours = Set(String(decoding: written.bytes, as: UTF8.self).split(separator: "\n"))
      let real = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
      for line in real where !line.contains("<element") && !line.contains("</elements>") {
        count += 1
        guard !ours.contains(line) else { continue }
        others += 1
        let isOldHeading = line.hasPrefix("<model ") && !line.hasSuffix("Identifier=\"\">")
        let isExcepted = line.contains(" defaultValueString=") || line.contains(" elementID=")
        #expect(isOldHeading || isExcepted, "\(path): \(line)")
      }
    }
    print("\(count) lines of real sources, \(others) of them spelled otherwise")
    #expect(count > 9_000)
    #expect(others == 148)
  }

  /// Models of every other form as sources: what is lost is said, and nothing else is.
  @Test(.enabled(if: Shared.isThere)) func everyArchiveBecomesASource() throws {
    guard let root = SharedFiles.path("stores/real"), let caches = try CachedModels(of: root) else {
      return
    }
    var models: [(name: String, model: ManagedObjectModel)] = []
    for path in SharedFiles.files(below: root, suffix: ".mom") {
      models.append((path, try ManagedObjectModel(archive: SharedFiles.bytes(path))))
    }
    for store in caches.stores {
      models.append((store.name, try ManagedObjectModel(archive: store.archive)))
    }
    for path in SharedFiles.files(below: root, suffix: "/elements") {
      models.append((path, try ManagedObjectModel(editorArchive: SharedFiles.bytes(path))))
    }
    var lossy: [String: Int] = [:]
    var equal = 0
    for (name, model) in models {
      let written = model.contentsXML()
      let copy = try ManagedObjectModel(contentsXML: written.bytes)
      #expect(written.losses.isEmpty == (copy == model), "\(name): \(written.losses)")
      if copy == model { equal += 1 }
      // Losses may change a hash only where they say so.
      let before = model.versionHashes()
      let after = copy.versionHashes()
      let told = Set(
        written.losses.filter { $0.sentence.contains("changes the version hash") }
          .compactMap(\.entityName))
      let differing = model.entityNames.filter { before.hashes[$0] != after.hashes[$0] }
      if told.isEmpty { #expect(differing == [], "\(name)") }
      for loss in written.losses { lossy[loss.sentence.filter { !$0.isNumber }, default: 0] += 1 }
      #expect(model.contentsXML() == written)
    }
    print("\(models.count) compiled and cached models written as sources, \(equal) equal; losses:")
    for (sentence, count) in lossy.sorted(by: { $0.value > $1.value }) {
      print("  \(count) times: \(sentence)")
    }
    #expect(models.count == 58)
  }
}
