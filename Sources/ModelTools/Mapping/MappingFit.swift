import ObjectModel

/// The source or the destination model of a migration step.
///
/// A mapping model fits a step by the rule of `NSMappingModel(from:forSourceModel:destinationModel:)`. Each source
/// entity that the mapping model names must have, in the source model, the hash that the mapping model records. The
/// same holds for the destination entities and the destination model.
enum MappingSide: Hashable {
  /// The model that the store has.
  case source
  /// The model that the store is migrated to.
  case destination
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
}

extension MappingModel {
  /// Returns the entities that the mapping names on one side of the step, each with the hash that the mapping records
  /// for it; nil if the mapping records no hash for the entity.
  func demands(on side: MappingSide) -> [(name: String, hash: VersionHash?)] {
    entityMappings.compactMap { mapping in
      switch side {
      case .source: mapping.sourceEntityName.map { ($0, mapping.sourceEntityVersionHash) }
      case .destination:
        mapping.destinationEntityName.map { ($0, mapping.destinationEntityVersionHash) }
      }
    }
  }

  /// Compares the hashes that the mapping records on one side of the step with those of a model. `mismatches` has the
  /// names of the entities that the model lacks, or that have another hash in the model.
  func agreement(
    with model: HashedModel, on side: MappingSide
  ) -> (mismatches: [String], unverified: [String], agreeing: Int) {
    var mismatches: [String] = []
    var unverified: [String] = []
    var agreeing = 0
    var met: Set<String> = []
    for (name, hash) in demands(on: side) where met.insert(name).inserted {
      let known = model.candidates[name]
      if let hash, known?.contains(hash) == true {
        agreeing += 1
      } else if let known, hash == nil || known.isEmpty || model.doubtful.contains(name) {
        unverified.append(name)
      } else {
        mismatches.append(name)
      }
    }
    return (mismatches, unverified, agreeing)
  }
}
