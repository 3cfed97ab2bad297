/// The version hashes computed for a model.
public struct ModelHashes: Sendable, Hashable {
  /// The hash of each entity whose every input follows a rule that recorded hashes confirm.
  public let hashes: [String: VersionHash]

  /// For each other entity, why no recorded hash confirms the rule. A tool reports it as "unknown",
  /// never as "incompatible". The descendants of an unknown entity are unknown too.
  public let unknown: [String: String]

  /// For unknown entities, the hash that the unconfirmed rule yields. If it equals a recorded one,
  /// the entity is certainly the same; a different hash proves nothing.
  public let unconfirmed: [String: VersionHash]

  /// The entities with a derived attribute of their own or inherited. Systems from iOS 13 to about
  /// 16 recorded hashes for them that changed at each creation of the model, so a difference in
  /// these alone proves no incompatibility.
  package let entitiesWithDerivedAttributes: Set<String>

  /// The model checksum, base64 of 32 bytes; nil when any entity is unknown.
  public let checksum: String?
  /// The model digest, base64 of 64 bytes; nil when any entity is unknown.
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

  /// Whether these are the recorded hashes of a store: the same entities, each with the same hash,
  /// unconfirmed ones included.
  public func matches(_ recorded: [String: VersionHash]) -> Bool {
    guard recorded.count == hashes.count + unknown.count else { return false }
    return recorded.allSatisfy { name, hash in (hashes[name] ?? unconfirmed[name]) == hash }
  }
}
