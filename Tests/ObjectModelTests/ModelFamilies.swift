import Foundation

@testable import ModelTools
@testable import ObjectModel

/// The versioned models of public projects.
enum ModelFamilies {
  struct Family: Sendable {
    let path: String
    let versions: [ModelCollection.Version]

    var name: String { ModelFile.lastComponent(path) }
  }

  private static let real = Result<[Family], any Error> {
    guard let root = SharedFiles.path("stores/real") else { return [] }
    return try families(below: root)
  }

  /// Each bundle with more than one version that can be read, its versions in natural order. They are read once.
  static func all(test: String = #function) throws -> [Family] {
    guard SharedFiles.path("stores/real", test: test) != nil else { return [] }
    return try real.get()
  }

  private static func families(below root: String) throws -> [Family] {
    let bundles =
      SharedFiles.files(below: root, suffix: ".xcdatamodeld")
      + SharedFiles.files(below: root, suffix: ".momd")
    return try bundles.map { path in
      Family(
        path: path,
        versions: try ModelCollection(searching: path).versions.filter { $0.model != nil })
    }.filter { $0.versions.count > 1 }
  }
}
