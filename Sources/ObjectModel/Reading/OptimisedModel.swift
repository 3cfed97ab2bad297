/// The readable contents of an optimised model (`.omo`), which is a second compiled form of a model's current version.
///
/// The format is not documented. The header, the sections, the strings and the hashes are known from five files. The
/// records of entities and properties are not read. A `.mom` of the same name contains the complete model.
package struct OptimisedModel: Sendable, Hashable {
  /// The number of entities, according to the header.
  package let entityCount: Int
  /// The number of properties, according to the header.
  package let propertyCount: Int
  /// The strings of the UTF-16 section, in the order of the file: the names of entities and of value transformers.
  package let entityStrings: [String]
  /// The strings of the 8-bit section, in the order of the file: the names of properties, entities and classes, and
  /// Core Data's own words such as `_pk`.
  package let strings: [String]
  /// The model's version identifiers, sorted; empty also if they cannot be read.
  package let versionIdentifiers: [String]
  /// All hashes in the file. Some belong to entities and others to properties; the file does not say which.
  package let hashes: Set<VersionHash>
  /// The contradictions between the header and the rest of the file, as clauses for people; empty for a sound file.
  package let problems: [String]

  package init(
    entityCount: Int, propertyCount: Int, entityStrings: [String], strings: [String],
    versionIdentifiers: [String], hashes: Set<VersionHash>, problems: [String]
  ) {
    self.entityCount = entityCount
    self.propertyCount = propertyCount
    self.entityStrings = entityStrings
    self.strings = strings
    self.versionIdentifiers = versionIdentifiers
    self.hashes = hashes
    self.problems = problems
  }

  package func contains(_ hash: VersionHash) -> Bool { hashes.contains(hash) }

  /// Whether this optimised model has exactly the entities with these hashes: as many entities as there are hashes, and
  /// every hash. Hashes do not collide, so no other model has all of them.
  package func matches(_ hashes: [String: VersionHash]) -> Bool {
    hashes.count == entityCount && hashes.values.allSatisfy { self.hashes.contains($0) }
  }

  package static let magic = Array("momv2$".utf8)

  package static func isOptimised(_ bytes: [UInt8]) -> Bool { bytes.starts(with: magic) }

  /// The error for a file that is an optimised model, if a complete model is needed.
  package static var error: ModelError {
    ModelError(
      code: .optimisedFormat,
      message: "This is an optimised model (.omo); only its strings and hashes can be read. Use "
        + "the .mom of the same name.", offset: 0)
  }
}
