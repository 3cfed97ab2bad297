/// What can be read from an optimised model (`.omo`), the second compiled form of a model's current version.
///
/// The format is not documented. The header, the sections and the form of strings and hashes are known from five files;
/// the records of entities and properties are not read. The `.mom` of the same name, if there is one, has everything.
package struct OptimisedModel: Sendable, Hashable {
  /// How many entities the header announces.
  package let entityCount: Int
  /// How many properties the header announces.
  package let propertyCount: Int
  /// The strings of the UTF-16 section in stored order: names of entities and of value transformers.
  package let entityStrings: [String]
  /// The strings of the 8-bit section in stored order: names of properties, entities and classes, and
  /// Core Data's own words such as `_pk`.
  package let strings: [String]
  /// The model's version identifiers, sorted; empty when there are none or they cannot be read.
  package let versionIdentifiers: [String]
  /// Every hash in the file, those of entities and those of properties; nothing distinguishes them.
  package let hashes: Set<VersionHash>
  /// What disagrees with the header; empty if nothing does.
  package let problems: [String]

  /// Creates a model from what was read.
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

  /// Whether a hash occurs in the file.
  package func contains(_ hash: VersionHash) -> Bool { hashes.contains(hash) }

  /// Whether this is the model with these entity hashes: as many entities, and every hash occurs. No
  /// other model has them, as hashes do not collide.
  package func matches(_ hashes: [String: VersionHash]) -> Bool {
    hashes.count == entityCount && hashes.values.allSatisfy { self.hashes.contains($0) }
  }

  /// The bytes that an optimised model begins with.
  package static let magic = Array("momv2$".utf8)

  /// Whether a file starts as an optimised model does.
  package static func isOptimised(_ bytes: [UInt8]) -> Bool { bytes.starts(with: magic) }

  /// The error for an optimised model in place of a full one.
  package static var error: ModelError {
    ModelError(
      code: .optimisedFormat,
      message: "This is an optimised model (.omo), of which only strings and hashes are read. Use "
        + "the .mom of the same name.", offset: 0)
  }
}
