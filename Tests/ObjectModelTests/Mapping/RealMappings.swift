import Foundation

@testable import ModelTools
@testable import ObjectModel

/// The mapping models of the real files.
enum RealMappings {
  struct File {
    let path: String
    let bytes: [UInt8]
    let mapping: MappingModel
  }

  /// Every `xcmapping.xml`; nil, with a note in the log, where the files are absent.
  static func sources(test: String = #function) throws -> [File]? {
    guard let root = SharedFiles.path("stores/real", test: test) else { return nil }
    return try SharedFiles.files(below: root, suffix: "/xcmapping.xml").map { path in
      let bytes = try SharedFiles.bytes(path)
      return File(path: path, bytes: bytes, mapping: try MappingModel(xcmapping: bytes))
    }
  }

  /// Every `.cdm`.
  static func compiled(test: String = #function) throws -> [File]? {
    guard let root = SharedFiles.path("stores/real", test: test) else { return nil }
    return try SharedFiles.files(below: root, suffix: ".cdm").map { path in
      let bytes = try SharedFiles.bytes(path)
      return File(path: path, bytes: bytes, mapping: try MappingModel(archive: bytes))
    }
  }
}
