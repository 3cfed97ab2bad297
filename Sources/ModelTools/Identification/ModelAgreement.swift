package import ObjectModel

/// The result of comparing what a store records with one version of a model: whether the store opens with the version,
/// and which entities agree.
///
/// The rules are Core Data's as far as they are known. The number of entities must be the same, and with hashes version
/// 3 every hash must be equal. The configuration and the version identifiers play no part. Where the rule for a hash is
/// unconfirmed, the result is unknown, never a difference.
package struct ModelAgreement: Sendable, Hashable {
  /// Whether Core Data opens the store with the model, without migration.
  package enum Compatibility: Sendable, Hashable {
    /// The store opens, because all hashes are equal.
    case compatible
    /// The store does not open: one side lacks an entity, or an entity certainly has a different hash.
    case incompatible
    /// The store may open. Nothing contradicts it, but a hash depends on an unconfirmed rule. The reason is a clause
    /// that says which one.
    case unknown(reason: String)
  }

  /// Whether the store opens with the model.
  package let compatibility: Compatibility
  /// The entities with equal hashes, sorted by name.
  package let agreeing: [String]
  /// The entities with certainly different hashes, sorted by name.
  package let differing: [String]
  /// The entities on both sides whose hashes cannot be compared, by name, each with the reason as a clause.
  package let undecided: [String: String]
  /// The entities that only the store has, sorted by name.
  package let onlyInStore: [String]
  /// The entities that only the model has, sorted by name.
  package let onlyInModel: [String]

  /// Compares what a store records with each set of hashes that Core Data may have for a version: recorded ones,
  /// computed ones, those with tombstone entries, and, for frameworks up to about 2011, those in the old style. The set
  /// that agrees best gives the result.
  package init(_ record: StoreModelRecord, _ version: ModelCollection.Version) {
    let derived = version.hashes?.entitiesWithDerivedAttributes ?? []
    var best: ModelAgreement?
    func consider(_ agreement: ModelAgreement) {
      if best.map({ $0.distance > agreement.distance }) ?? true { best = agreement }
    }
    if let recorded = version.recorded {
      consider(ModelAgreement(record, hashes: recorded.hashes, unknown: [:], derived: derived))
    }
    for computed in version.computedHashes {
      consider(
        ModelAgreement(
          record, hashes: computed.hashes.merging(computed.unconfirmed) { first, _ in first },
          unknown: computed.unknown, derived: derived))
    }
    if version.model == nil, version.recorded == nil, let optimised = version.optimised {
      consider(
        ModelAgreement(
          record, hashes: optimised.hashes(beside: record.hashes), unknown: [:], derived: derived))
    }
    if record.hasSecondTry, let computed = version.hashes,
      let second = version.model?.oldStyleHashes()
    {
      let plain = computed.hashes.merging(computed.unconfirmed) { first, _ in first }
      consider(
        ModelAgreement(
          record, hashes: plain.merging(second) { _, old in old }, unknown: computed.unknown,
          derived: derived))
    }
    self = best ?? ModelAgreement(record, hashes: [:], unknown: [:], derived: [])
  }

  /// Compares what a store records with one set of hashes. Entities in `unknown` may be missing from the set.
  private init(
    _ record: StoreModelRecord, hashes: [String: VersionHash], unknown: [String: String],
    derived: Set<String>
  ) {
    let names = Set(hashes.keys).union(unknown.keys)
    var agreeing: [String] = []
    var differing: [String] = []
    var undecided: [String: String] = [:]
    for (name, hash) in record.hashes where names.contains(name) {
      if hashes[name] == hash {
        agreeing.append(name)
      } else if let doubt = unknown[name] {
        undecided[name] = doubt
      } else if derived.contains(name), record.hasUnstableDerivedHashes {
        undecided[name] =
          "it has a derived attribute, and systems of the store's time recorded "
          + "a different hash each time"
      } else if let doubt = record.doubt(hash) {
        undecided[name] = doubt
      } else {
        differing.append(name)
      }
    }
    self.agreeing = ByteOrder.sorted(agreeing)
    self.differing = ByteOrder.sorted(differing)
    self.undecided = undecided
    onlyInStore = ByteOrder.sorted(record.hashes.keys.filter { !names.contains($0) })
    onlyInModel = ByteOrder.sorted(names.filter { record.hashes[$0] == nil })
    compatibility = Self.compatibility(
      record, isSameSet: onlyInStore.isEmpty && onlyInModel.isEmpty, differing: differing,
      undecided: undecided)
  }

  private static func compatibility(
    _ record: StoreModelRecord, isSameSet: Bool, differing: [String], undecided: [String: String]
  ) -> Compatibility {
    guard !record.hashes.isEmpty else {
      return .unknown(reason: "the store records no version hashes")
    }
    guard isSameSet, differing.isEmpty else { return .incompatible }
    if let name = ByteOrder.sorted(undecided.keys).first, let doubt = undecided[name] {
      return .unknown(reason: "the hash of `\(name)` cannot be judged: \(doubt)")
    }
    if let version = record.hashesVersion, version > StoreModelRecord.confirmedHashesVersion {
      return .unknown(
        reason: "the store has hashes of version \(version), which some systems refuse")
    }
    return .compatible
  }

  /// The distance between store and model: the number of proven differences, then that of undecided entities.
  private var distance: (Int, Int) {
    (differing.count + onlyInStore.count + onlyInModel.count, undecided.count)
  }
}

extension StoreModelRecord {
  /// Why a different hash proves nothing, as a clause; nil if it proves a difference.
  fileprivate func doubt(_ hash: VersionHash) -> String? {
    guard let version = hashesVersion, version != Self.confirmedHashesVersion else { return nil }
    return version < Self.confirmedHashesVersion
      ? "for hashes version \(version) Core Data compares only the names of the entities"
      : "the rules of hashes version \(version) are not known"
  }
}

extension ModelCollection.Version {
  /// The sets of hashes that Core Data may compute for the version. The ordinary set comes first.
  fileprivate var computedHashes: [ModelHashes] {
    guard let hashes else { return [] }
    guard let model, model.hasTombstoneEntries else { return [hashes] }
    return [hashes, model.versionHashes(honouringTombstones: true)]
  }
}
