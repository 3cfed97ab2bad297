import Fixtures
import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

/// The reported difference of two sources against a comparison of their XML.
struct ContentsDifferenceTests {
  /// A change in the words of the oracle.
  static func key(_ change: ModelChange) -> String {
    let place: String
    switch (change.entityName, change.name) {
    case (nil, nil): place = ""
    case (nil, let name?): place = " " + name
    case (let entity?, nil): place = " " + entity
    case (let entity?, let name?):
      place = " \(entity)." + name
    }
    let trait = change.trait.map { " " + $0.name } ?? ""
    return "\(change.part.rawValue)\(place) \(change.action.rawValue)\(trait)"
  }

  /// Neighbours in natural order, both ways.
  @Test(.enabled(if: Shared.isThere)) func neighbours() throws {
    var pairs = 0
    var differences = 0
    for family in try ModelFamilies.all() where family.name.hasSuffix(".xcdatamodeld") {
      for (one, other) in zip(family.versions, family.versions.dropFirst()) {
        for (old, new) in [(one, other), (other, one)] {
          guard let before = old.model, let after = new.model,
            [old, new].allSatisfy({ FileManager.default.fileExists(atPath: $0.path + "/contents") }
            ),
            let oldTree = try XMLTree.root(old.path + "/contents"),
            let newTree = try XMLTree.root(new.path + "/contents")
          else {
            print("no contents to compare: \(old.path), \(new.path)")
            continue
          }
          let oracle = ContentsOracle(oldTree, newTree)
          let reported = ModelDifference(from: before, to: after).changes.map(Self.key)
          let place = "\(family.name): \(old.name) to \(new.name)"
          #expect(oracle.unnamed == [], "\(place)")
          #expect(Set(reported).count == reported.count, "\(place): something is reported twice")
          #expect(
            Set(reported).symmetricDifference(oracle.expected).sorted() == [], "\(place)")
          pairs += 1
          differences += oracle.expected.count
        }
      }
    }
    print("\(pairs) pairs of neighbours, \(differences) differences")
  }
}
