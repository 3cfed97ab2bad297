import Foundation
import Testing

@testable import ObjectModel

/// Models written as sources, against the real sources and against what other programs read.
struct ContentsWritingTests {
  /// Every real source, read, written and read again: an equal model, the same hashes, nothing lost.
  @Test func everyRealSourceSurvives() throws {
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
  @Test func everyAttributeOfTheRealSourcesComesBack() throws {
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
    #expect(compared.elements > 8_000)
    #expect(compared.attributes > 30_000)
  }
}
