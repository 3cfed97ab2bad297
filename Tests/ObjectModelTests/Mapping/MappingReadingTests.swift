import Foundation
import Testing

@testable import ObjectModel

struct MappingReadingTests {
  @Test func explore() throws {
    guard let files = try RealMappings.sources() else { return }
    let root = try #require(SharedFiles.path("stores/real"))
    let all = try ModelCollection(at: root)
    for file in files {
      print(
        "==", file.path.suffix(60), file.mapping.others.keys.sorted(),
        file.mapping.entityMappings.count)
      for (model, path) in [
        (file.mapping.sourceModel, file.mapping.sourceModelPath),
        (file.mapping.destinationModel, file.mapping.destinationModelPath),
      ] {
        let hashes = try #require(model).versionHashes()
        let matches = all.versions.filter { $0.hashes?.hashes == hashes.hashes }.map(\.name)
        let name = ModelFile.baseName(path ?? "")
        let near = all.nearest(to: hashes.hashes)
        print(
          "  ", name, "->", matches, hashes.unknown, near?.version.name ?? "", near?.agreeing ?? 0,
          hashes.hashes.count)
      }
    }
    guard let cdm = try RealMappings.compiled() else { return }
    for file in cdm { print(file.mapping) }
  }
}
