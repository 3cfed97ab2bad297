/// The version hashes that this library computes for a model.
public struct ModelHashes: Sendable, Hashable {
  /// The version hashes by entity name. Entities with a rule that no recorded hash confirms are only in ``unknown``.
  public let hashes: [String: VersionHash]

  /// For each entity without a certain hash: why no recorded hash confirms the rule. Report the entity as "unknown",
  /// never as "incompatible". The descendants of an unknown entity are unknown too.
  public let unknown: [String: String]

  /// The hashes that unconfirmed rules yield for entities in ``unknown``, by entity name. If one equals the recorded
  /// hash, the entity is certainly the same. A different hash proves nothing.
  public let unconfirmed: [String: VersionHash]

  /// The names of the entities with a derived attribute, declared or inherited. Systems from iOS 13 to about 16
  /// recorded a new hash for them each time the model was created, so a different hash of such an entity does not prove
  /// an incompatibility.
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

  /// Whether a store with these recorded hashes has the same entities as the model, each with the same hash. Hashes in
  /// ``unconfirmed`` count too.
  public func matches(_ recorded: [String: VersionHash]) -> Bool {
    guard recorded.count == hashes.count + unknown.count else { return false }
    return recorded.allSatisfy { name, hash in (hashes[name] ?? unconfirmed[name]) == hash }
  }
}
