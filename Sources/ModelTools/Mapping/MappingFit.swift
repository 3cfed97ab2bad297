import ObjectModel

/// Whether a mapping model fits the two models of a migration step. The rule is that of
/// `NSMappingModel(from:forSourceModel:destinationModel:)`. Each source entity that the mapping model names must have,
/// in the source model, the hash that the mapping model records. The same holds for the destination entities and the
/// destination model.
package enum MappingFit {
  /// The source or the destination model of a migration step.
  package enum Side: String, Sendable, Hashable {
    /// The model that the store has.
    case source
    /// The model that the store is migrated to.
    case destination
  }

  /// An entity of a mapping model that does not fit the source or destination model: the model lacks the entity, or its
  /// hash of the entity differs from the hash that the mapping model records.
  package struct Mismatch: Sendable, Hashable {
    package let side: Side
    package let entityName: String
    /// Whether the model lacks the entity. If false, the model has the entity, but with another hash than the mapping
    /// model records.
    package let isMissing: Bool
  }
}

/// The known hashes of a model: the recorded hashes or, without recorded hashes, the hashes computed from the model.
struct HashedModel: Sendable {
  /// The possible hashes of each entity, by entity name. If the model's hashes are recorded, each entity has only its
  /// recorded hash. Otherwise, each entity has the hashes that are computed from the model, with and without tombstone
  /// entries, and also by unconfirmed rules.
  let candidates: [String: Set<VersionHash>]
  /// The names of the entities whose hash is unknown or computed by an unconfirmed rule, so that a different hash
  /// proves nothing.
  let doubtful: Set<String>

  /// Takes the recorded hashes or, if `recorded` is nil, computes the hashes of `model`. `computed`: the hashes of
  /// `model` without regard to tombstone entries, if they are already known.
  init(
    model: ManagedObjectModel?, recorded: [String: VersionHash]?, computed: ModelHashes? = nil
  ) {
    if let recorded {
      candidates = recorded.mapValues { [$0] }
      doubtful = []
      return
    }
    var candidates: [String: Set<VersionHash>] = [:]
    var doubtful: Set<String> = []
    if let model {
      var ways = [computed ?? model.versionHashes()]
      if model.hasTombstoneEntries { ways.append(model.versionHashes(honouringTombstones: true)) }
      for name in model.entities.keys {
        candidates[name] = Set(
          ways.flatMap { [$0.hashes[name], $0.unconfirmed[name]].compactMap { $0 } })
        if ways.contains(where: { $0.unknown[name] != nil }) { doubtful.insert(name) }
      }
    }
    self.candidates = candidates
    self.doubtful = doubtful
  }

  init(_ version: ModelCollection.Version) {
    self.init(
      model: version.model, recorded: version.recorded?.hashes, computed: version.hashes)
  }

  /// Whether this model and `other` may be the same version. They must have the same entities. For each entity, the
  /// ``candidates`` of both models must have a hash in common.
  func isSame(as other: HashedModel) -> Bool {
    candidates.count == other.candidates.count && !candidates.isEmpty
      && candidates.allSatisfy { name, hashes in
        other.candidates[name].map { !hashes.isDisjoint(with: $0) } ?? false
      }
  }

  enum Answer {
    case equal, different, missing, unverified
  }

  func compare(_ entityName: String, _ hash: VersionHash?) -> Answer {
    guard let known = candidates[entityName] else { return .missing }
    guard let hash else { return .unverified }
    if known.contains(hash) { return .equal }
    return doubtful.contains(entityName) || known.isEmpty ? .unverified : .different
  }
}

extension MappingModel {
  /// Returns the entities that the mapping names on one side of the step, each with the hash that the mapping records
  /// for it; nil if the mapping records no hash for the entity.
  func demands(on side: MappingFit.Side) -> [(name: String, hash: VersionHash?)] {
    entityMappings.compactMap { mapping in
      switch side {
      case .source: mapping.sourceEntityName.map { ($0, mapping.sourceEntityVersionHash) }
      case .destination:
        mapping.destinationEntityName.map { ($0, mapping.destinationEntityVersionHash) }
      }
    }
  }

  func agreement(
    with model: HashedModel, on side: MappingFit.Side
  ) -> (mismatches: [MappingFit.Mismatch], unverified: [String], agreeing: Int) {
    var mismatches: [MappingFit.Mismatch] = []
    var unverified: [String] = []
    var agreeing = 0
    var met: Set<String> = []
    for (name, hash) in demands(on: side) where met.insert(name).inserted {
      switch model.compare(name, hash) {
      case .equal: agreeing += 1
      case .unverified: unverified.append(name)
      case .different, .missing:
        mismatches.append(
          .init(side: side, entityName: name, isMissing: model.candidates[name] == nil))
      }
    }
    return (mismatches, unverified, agreeing)
  }
}
