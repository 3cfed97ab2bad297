package import ObjectModel

/// Whether a mapping model is made for a step between two models. The rule is that of
/// `NSMappingModel(from:forSourceModel:destinationModel:)`: the hash of every source and destination entity that the
/// mapping model names must equal the hash in the model.
package struct MappingFit: Sendable, Hashable {
  /// One of the two models of a step.
  package enum Side: String, Sendable, Hashable {
    /// The model that the store has.
    case source
    /// The model that the store is migrated to.
    case destination
  }

  /// An entity of the mapping model that does not fit one of the two models.
  package struct Mismatch: Sendable, Hashable {
    /// The side of the step that the entity is on.
    package let side: Side
    /// The entity's name.
    package let entityName: String
    /// Whether the model does not have the entity. If false, the entity has a different hash.
    package let isMissing: Bool
  }

  /// The entities that do not fit, in the order of the entity mappings.
  package let mismatches: [Mismatch]
  /// The entities that cannot be compared, because the mapping or the model has no certain hash for them.
  package let unverified: [String]
  /// The number of entities that agree, on both sides together.
  package let agreeing: Int
  /// The source entities that are not abstract and that the mapping does not take, sorted by name. Their objects are
  /// left behind. Empty if only the hashes of the model are known.
  package let entitiesLeftBehind: [String]

  /// Whether all entities agree, and there is at least one.
  package var fits: Bool { mismatches.isEmpty && unverified.isEmpty && agreeing > 0 }
  /// Whether nothing contradicts a fit. Some entities may not be comparable.
  package var mayFit: Bool { mismatches.isEmpty }
  /// The number of entities that were looked at, on both sides together.
  package var compared: Int { mismatches.count + unverified.count + agreeing }
}

/// What is known of a model for a comparison of hashes: the model itself, its recorded hashes, or both.
struct HashedModel: Sendable {
  let model: ManagedObjectModel?
  /// The hashes that each entity may have, by entity name. If hashes are recorded, there is one. Otherwise there are
  /// the computed ones, with and without tombstone entries, confirmed or not.
  let candidates: [String: Set<VersionHash>]
  /// The entities for which a different hash proves nothing.
  let doubtful: Set<String>

  /// Makes the value. `computed` are the model's hashes without tombstone entries, if they are already known.
  init(
    model: ManagedObjectModel?, recorded: [String: VersionHash]?, computed: ModelHashes? = nil
  ) {
    self.model = model
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

  /// Whether both are the same version as far as hashes show: they have the same entities, each with a hash in common.
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
  /// The entities that the mapping names on one side, each with the hash that it must have; nil if the mapping has
  /// none.
  func demands(on side: MappingFit.Side) -> [(name: String, hash: VersionHash?)] {
    entityMappings.compactMap { mapping in
      switch side {
      case .source: mapping.sourceEntityName.map { ($0, mapping.sourceEntityVersionHash) }
      case .destination:
        mapping.destinationEntityName.map { ($0, mapping.destinationEntityVersionHash) }
      }
    }
  }

  /// Compares the hashes in the mapping with those of one model.
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

  func fit(from source: HashedModel, to destination: HashedModel) -> MappingFit {
    let left = agreement(with: source, on: .source)
    let right = agreement(with: destination, on: .destination)
    let taken = Set(entityMappings.compactMap(\.sourceEntityName))
    let behind = source.model?.entities.values.filter { !$0.isAbstract && !taken.contains($0.name) }
    return MappingFit(
      mismatches: left.mismatches + right.mismatches,
      unverified: left.unverified + right.unverified,
      agreeing: left.agreeing + right.agreeing,
      entitiesLeftBehind: ByteOrder.sorted(behind?.map(\.name) ?? []))
  }

  /// Compares this mapping with the step from one model to another. A mapping that is not yet bound to hashes is bound
  /// to those of the models that it carries, or else to those of the given models.
  package func fit(
    from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) -> MappingFit {
    compiled(from: sourceModel ?? source, to: destinationModel ?? destination).fit(
      from: HashedModel(model: source, recorded: nil),
      to: HashedModel(model: destination, recorded: nil))
  }
}

extension MappingModelSet {
  /// The mapping models that fit the step from one model to another.
  package func items(
    fittingFrom source: ManagedObjectModel, to destination: ManagedObjectModel
  ) -> [Item] {
    let from = HashedModel(model: source, recorded: nil)
    let to = HashedModel(model: destination, recorded: nil)
    return items.filter { $0.compiled?.fit(from: from, to: to).fits == true }
  }

  /// The mapping models that fit the step from one version to another. Recorded hashes are used if there are any.
  package func items(
    fittingFrom source: ModelCollection.Version, to destination: ModelCollection.Version
  ) -> [Item] {
    let from = HashedModel(source)
    let to = HashedModel(destination)
    return items.filter { $0.compiled?.fit(from: from, to: to).fits == true }
  }
}
