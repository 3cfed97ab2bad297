package import ObjectModel

/// The result of comparing the hashes that a store records with one version of a model: whether the store opens with
/// the version, and which entities agree.
///
/// The rules are Core Data's, as far as they are known. Store and model must have the same entities and, for hashes
/// version 3, equal hashes. The configuration and the version identifiers play no part. If the rule for computing a
/// hash is unconfirmed, then the result is unknown, never a difference.
package struct ModelAgreement: Sendable, Hashable {
  package enum Compatibility: Sendable, Hashable {
    /// The store opens, because all hashes are equal.
    case compatible
    /// The store does not open with the model. An entity is missing in one of them, or the hashes of an entity
    /// certainly differ.
    case incompatible
    /// The store may open. No hash rules this out, but the result is not certain, for example because a hash is
    /// computed by an unconfirmed rule. The reason is a clause that says what is uncertain.
    case unknown(reason: String)
  }

  package let compatibility: Compatibility
  /// The names of the entities whose hashes are equal in the store and in the version, sorted.
  package let agreeing: [String]
  /// The names of the entities whose hashes certainly differ, sorted.
  package let differing: [String]
  /// The entities in both the store and the model whose hashes cannot be compared. The key is the entity's name, the
  /// value the reason as a clause.
  package let undecided: [String: String]
  /// The names of the entities that only the store has, sorted.
  package let onlyInStore: [String]
  /// The names of the entities that only the model has, sorted.
  package let onlyInModel: [String]

  /// Compares the hashes that the store records with each set of hashes that Core Data may have for the version. The
  /// result for the set that agrees best is kept. The sets are:
  /// - the recorded hashes
  /// - the hashes computed from the model, without and with tombstone entries
  /// - the old-style hashes, if a framework up to about 2011 wrote the store
  /// - the hashes of the optimised model, if the version has neither a model nor recorded hashes.
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

  /// Compares the hashes that a store records with the hashes of a model. `unknown` has the entities of the model whose
  /// hash is not certain, each with the reason; `hashes` need not contain these entities.
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
          "the entity has a derived attribute, and systems from iOS 13 to 16 recorded a different "
          + "hash for such an entity each time"
      } else if let doubt = record.doubt {
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

  /// How far the store is from the model: first the number of proven differences, then the number of undecided
  /// entities. The second number counts only if the first numbers are equal.
  private var distance: (Int, Int) {
    (differing.count + onlyInStore.count + onlyInModel.count, undecided.count)
  }
}

extension StoreModelRecord {
  /// A clause that says why entities may be equal although the store and the model have different hashes for them. Nil
  /// if different hashes prove that the entities differ.
  fileprivate var doubt: String? {
    guard let version = hashesVersion, version != Self.confirmedHashesVersion else { return nil }
    return version < Self.confirmedHashesVersion
      ? "with hashes of version \(version), Core Data compares only the names of the entities"
      : "the rules for hashes of version \(version) are not known"
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

extension StoreModelRecord {
  /// Whether framework 386 or earlier (about 2011) wrote the store. If the ordinary hashes do not fit, such a framework
  /// also compares hashes of an older style.
  fileprivate var hasSecondTry: Bool { frameworkVersion.map { $0 <= 386 } ?? false }
}
