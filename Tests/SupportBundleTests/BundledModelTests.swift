import CoreDataStore
import Fixtures
import Foundation
import ModelTools
import ObjectModel
import Testing

@testable import SupportBundle

/// The model in a bundle.
@Suite struct BundledModelTests {
  /// Its hashes are those of the store's model, so that it can be identified, and no default value or user info is in it.
  @Test(.enabled(if: Shared.isThere)) func realModelsKeepTheirHashes() throws {
    guard Shared.require("real models") != nil else { return }
    var count = 0
    var others: [String] = []
    var refused: [String] = []
    for real in RealStores.all {
      guard let store = try? CoreDataStore(path: real.url.path), let model = store.cachedModel
      else { continue }
      guard let bundled = BundledModel(model) else {
        refused.append(real.url.lastPathComponent)
        continue
      }
      count += 1
      let read = try ManagedObjectModel(contentsXML: bundled.contents)
      let hashes = read.versionHashes().hashes
      let changed = model.versionHashes().hashes.count { hashes[$0.key] != $0.value }
      #expect(changed == bundled.changedHashCount)
      if changed > 0 { others.append(real.url.lastPathComponent) }
      for entity in read.entities.values {
        #expect(entity.userInfo.isEmpty && entity.fetchedProperties.isEmpty)
        for attribute in entity.attributes {
          #expect(attribute.userInfo.isEmpty && attribute.validations.isEmpty)
          #expect(attribute.defaultValue == nil)
        }
      }
    }
    #expect(count > 40)
    #expect(refused.isEmpty)
    // Their greatest count of -1 is 0 in an .xcdatamodel.
    #expect(others.sorted() == ["SampleModel2_V1.sqlite", "SampleModel2_V2.sqlite"])
  }

  @Test func secretsOfAModelStayOut() throws {
    var attribute = Attribute(name: "title", type: .string)
    attribute.defaultValue = .string("zq default")
    attribute.userInfo = ["zq key": .string("zq value")]
    attribute.versionHashModifier = "zq@modifier"
    attribute.renamingIdentifier = "zq; renaming"
    let entity = Entity(
      name: "Note", className: "zq, class", attributes: [attribute],
      userInfo: ["zq": .string("zq")])
    let model = ManagedObjectModel(entities: [entity], versionIdentifiers: ["zq version", "2"])
    let bundled = try #require(BundledModel(model))
    #expect(!String(decoding: bundled.contents, as: UTF8.self).contains("zq"))
    #expect(
      try ManagedObjectModel(contentsXML: bundled.contents).versionIdentifiers == ["2"])
    #expect(bundled.changedHashCount == 1)
    for name in ["a b", "ñ", "x1234567", ""] {
      let entity = Entity(name: name, attributes: [])
      #expect(BundledModel(ManagedObjectModel(entities: [entity])) == nil, "\(name)")
      let other = Entity(name: "Note", attributes: [Attribute(name: name, type: .string)])
      #expect(BundledModel(ManagedObjectModel(entities: [other])) == nil, "\(name)")
    }
  }
}
