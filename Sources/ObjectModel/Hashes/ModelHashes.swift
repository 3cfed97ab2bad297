/// The version hashes that this library computes for a model.
public struct ModelHashes: Sendable, Hashable {
  /// The version hashes that are certain, by entity name. ``unknown`` has the other entities: their hashes depend on a
  /// rule that no hash recorded by Core Data confirms.
  public let hashes: [String: VersionHash]

  /// Why the hash of an entity is not certain, by entity name. Report such an entity as "unknown", never as
  /// "incompatible". The descendants of an unknown entity are unknown too.
  public let unknown: [String: String]

  /// Provisional hashes of the entities in ``unknown``, by entity name. They are computed with rules that no recorded
  /// hash confirms. A provisional hash that equals the recorded hash proves the entity unchanged; any other provisional
  /// hash proves nothing.
  public let unconfirmed: [String: VersionHash]

  /// The names of the entities that declare or inherit a derived attribute. Systems from iOS 13 to about 16 recorded a
  /// new hash for such an entity each time the model was created, so a different hash does not prove an
  /// incompatibility.
  package let entitiesWithDerivedAttributes: Set<String>

  /// The model checksum as base64 of 32 bytes, see ``checksum(of:)``; nil if any entity is in ``unknown``.
  public let checksum: String?
  /// The model digest as base64 of 64 bytes, see ``digest(of:)``; nil if any entity is in ``unknown``.
  package let digest: String?

  init(
    hashes: [String: VersionHash], unknown: [String: String],
    unconfirmed: [String: VersionHash], entitiesWithDerivedAttributes: Set<String>
  ) {
    self.hashes = hashes
    self.unknown = unknown
    self.unconfirmed = unconfirmed
    self.entitiesWithDerivedAttributes = entitiesWithDerivedAttributes
    checksum = unknown.isEmpty ? Self.checksum(of: hashes) : nil
    digest = unknown.isEmpty ? Self.digest(of: hashes) : nil
  }

  /// Whether a store that records the hashes `recorded` has the same entities as this model, each with the same hash.
  /// Hashes in ``unconfirmed`` count like those in ``hashes``.
  public func matches(_ recorded: [String: VersionHash]) -> Bool {
    guard recorded.count == hashes.count + unknown.count else { return false }
    return recorded.allSatisfy { name, hash in (hashes[name] ?? unconfirmed[name]) == hash }
  }
}
