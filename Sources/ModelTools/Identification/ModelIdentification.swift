package import ObjectModel

/// The versions of a model that may have written a store, as far as the store's recorded hashes tell.
package struct ModelIdentification: Sendable {
  /// A version of a model, and how it compares with the store.
  package struct Candidate: Sendable {
    /// The version that is compared.
    package let version: ModelCollection.Version
    /// The result of comparing the version with the store.
    package let agreement: ModelAgreement
    /// Whether the store and the version have a version identifier in common. This is a hint if several versions fit.
    package let sharesIdentifier: Bool
  }

  /// The age of the store compared with the app's current version.
  package enum Age: Sendable, Hashable {
    /// The store fits the current version.
    case current
    /// The store fits a version that is known to be earlier than the current one.
    case older
    /// The store was written by later hash rules or a later framework. The reason is a clause about the store.
    case newer(reason: String)
    /// The age is unknown. The reason is a clause about the store. The doubt says why the order of the versions is
    /// unknown; nil if the order is not the reason.
    case unknown(reason: String, doubt: String? = nil)
  }

  /// What the store records.
  package let record: StoreModelRecord
  /// All versions that fit: the store opens with each of them. Those that share a version identifier with the store
  /// come first. There are several if versions have equal hashes.
  package let matches: [Candidate]
  /// The versions that may fit: no hash contradicts them, but at least one hash cannot be judged. The nearest is first.
  package let possible: [Candidate]
  /// All other versions with an entity in common, the nearest first. Versions with more equal hashes are nearer; then
  /// those with fewer entities that the store lacks or that differ; then those with a later position.
  package let others: [Candidate]
  /// The versions of which nothing is known, because they could not be read. Each may be the one that wrote the store.
  /// ``ModelCollection/Version/problem`` of a version says why it could not be read.
  package let unread: [ModelCollection.Version]
  /// The age of the store compared with the current version.
  package let age: Age

  /// The nearest version if no version certainly fits; nil if one does, or if no version has an equal hash.
  package var nearest: Candidate? {
    matches.isEmpty ? (possible + others).first { !$0.agreement.agreeing.isEmpty } : nil
  }

  /// Looks for the versions that may have written a store.
  ///
  /// - Parameters:
  ///   - record: what the store records.
  ///   - collections: the versions to look at. The current version is looked for in each collection.
  ///   - frameworkVersion: the framework of the system that the app runs on, as `NSPersistenceFrameworkVersion` of a
  ///     store that it writes; nil if it is not known. A store written by a later framework counts as newer.
  package init(
    _ record: StoreModelRecord, in collections: [ModelCollection], frameworkVersion: Int64? = nil
  ) {
    self.record = record
    let identifiers = Set(record.versionIdentifiers.filter { !$0.isEmpty })
    var candidates: [Candidate] = []
    unread = collections.flatMap(\.versions).filter(\.isUnread)
    for version in collections.flatMap(\.versions) {
      guard version.model != nil || version.recorded != nil || version.optimised != nil else {
        continue
      }
      candidates.append(
        Candidate(
          version: version, agreement: ModelAgreement(record, version),
          sharesIdentifier: version.model.map {
            !identifiers.isDisjoint(with: $0.versionIdentifiers)
          } ?? false))
    }
    let fitting = candidates.filter { $0.agreement.compatibility == .compatible }
    matches = fitting.filter(\.sharesIdentifier) + fitting.filter { !$0.sharesIdentifier }
    possible = Self.ranked(
      candidates.filter {
        if case .unknown = $0.agreement.compatibility { true } else { false }
      })
    others = Self.ranked(candidates.filter { $0.agreement.compatibility == .incompatible })
      .filter { !$0.agreement.agreeing.isEmpty || !$0.agreement.undecided.isEmpty }
    age = Self.age(record, matches, collections, frameworkVersion)
  }

  private static func ranked(_ candidates: [Candidate]) -> [Candidate] {
    candidates.enumerated().sorted { left, right in
      let (one, other) = (left.element.agreement, right.element.agreement)
      if one.agreeing.count != other.agreeing.count {
        return one.agreeing.count > other.agreeing.count
      }
      let extra = (
        one.differing.count + one.onlyInModel.count, other.differing.count + other.onlyInModel.count
      )
      return extra.0 == extra.1 ? left.offset > right.offset : extra.0 < extra.1
    }.map(\.element)
  }

  // MARK: Age

  private static func age(
    _ record: StoreModelRecord, _ matches: [Candidate], _ collections: [ModelCollection],
    _ frameworkVersion: Int64?
  ) -> Age {
    if let version = record.hashesVersion, version > StoreModelRecord.confirmedHashesVersion {
      return .newer(
        reason: "its hashes have version \(version), and the latest known is "
          + "\(StoreModelRecord.confirmedHashesVersion)")
    }
    var other: Age?
    for collection in collections.flatMap(\.bundles) {
      guard let current = collection.current else { continue }
      let order = ModelVersionOrder(collection)
      guard let place = order.index(of: current) else { continue }
      for match in matches {
        guard let index = order.index(of: match.version) else { continue }
        // If the current version fits, other versions that fit do not matter.
        if index == place { return later(record, than: frameworkVersion) ?? .current }
        // If the order is known, the current version is the last one.
        other =
          order.doubt.map { doubt in
            .unknown(
              reason: "it fits `\(match.version.name)`, and the current version is "
                + "`\(current.name)`", doubt: doubt)
          } ?? other ?? .older
      }
    }
    if let age = later(record, than: frameworkVersion) { return age }
    if let other { return other }
    guard !matches.isEmpty else { return .unknown(reason: noMatchReason(record, collections)) }
    return .unknown(reason: "no version is marked as the current one")
  }

  /// ``Age/newer(reason:)`` if a later framework wrote the store than the one that the app runs on; nil for any other
  /// store.
  private static func later(_ record: StoreModelRecord, than frameworkVersion: Int64?) -> Age? {
    guard let frameworkVersion, let latest = record.latestFramework, latest > frameworkVersion
    else { return nil }
    return .newer(
      reason: "framework \(latest) wrote it, and the app runs on \(frameworkVersion)")
  }

  /// The reason if no version fits, as a clause. It names entities of the store that no version has: a newer store can
  /// have them.
  private static func noMatchReason(
    _ record: StoreModelRecord, _ collections: [ModelCollection]
  ) -> String {
    var known: Set<String> = []
    for version in collections.flatMap(\.versions) {
      known.formUnion(version.entityNames ?? [])
      // The strings of an optimised model include entity names. A hash in the model identifies an entity too.
      guard let optimised = version.optimised else { continue }
      known.formUnion(optimised.entityStrings)
      known.formUnion(optimised.strings)
      known.formUnion(record.hashes.filter { optimised.contains($0.value) }.keys)
    }
    let isPartial = collections.contains { $0.versions.contains(where: \.isUnread) }
    let fact = isPartial ? "no version that could be read fits" : "no version fits"
    let names = ByteOrder.sorted(record.hashes.keys.filter { !known.contains($0) })
    if names.isEmpty { return fact }
    let list = names.prefix(5).map { "`\($0)`" }.joined(separator: ", ")
    let more = names.count > 5 ? " and others" : ""
    return isPartial
      ? "\(fact); none of them has \(list)\(more), so the store may be of a version that could not be read, "
        + "of a newer version, or of another app"
      : "\(fact); no version has \(list)\(more), so the store may be newer, or of another app"
  }
}
