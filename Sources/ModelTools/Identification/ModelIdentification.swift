package import ObjectModel

/// The versions of a model that may have written a store, judged by the hashes that the store records.
package struct ModelIdentification: Sendable {
  package struct Candidate: Sendable {
    package let version: ModelCollection.Version
    package let agreement: ModelAgreement
    /// Whether the store and the version have at least one version identifier in common. If several versions fit the
    /// store, a common identifier is a hint as to which one wrote it.
    package let sharesIdentifier: Bool
  }

  /// How the version of the model that wrote the store relates to the app's current version.
  package enum Age: Sendable, Hashable {
    /// The store fits the current version.
    case current
    /// The store fits a version that is known to be earlier than the current one.
    case older
    /// The store is too new for the app: its hashes follow later rules than the known ones, or it was written by a
    /// later Core Data framework than the app's. The reason is a clause about the store.
    case newer(reason: String)
    /// It is not known whether the store is older or newer than the app's version. `reason` is a clause that says why.
    /// If the cause is that the order of the versions is unknown, `doubt` says why it is unknown; otherwise `doubt` is
    /// nil.
    case unknown(reason: String, doubt: String? = nil)
  }

  package let record: StoreModelRecord
  /// The versions with which the store opens without migration. Versions that share a version identifier with the store
  /// come first.
  package let matches: [Candidate]
  /// The versions that may fit: no hash contradicts them, but at least one hash cannot be judged. The version nearest
  /// to the store comes first.
  package let possible: [Candidate]
  /// The versions that do not fit the store but have at least one entity whose hash agrees or cannot be compared. The
  /// version nearest to the store comes first. A version with more equal hashes is nearer. Of versions with as many
  /// equal hashes, the one with fewer entities that differ or that the store lacks is nearer. Of equally near versions,
  /// the later one in `collections` comes first.
  package let others: [Candidate]
  /// The versions that could not be read, so that any of them may have written the store.
  /// ``ModelCollection/Version/problem`` gives the reason for each.
  package let unread: [ModelCollection.Version]
  package let age: Age

  /// The version nearest to the store: the first one in ``possible``, or else in ``others``, that has an equal hash.
  /// Nil if there is no such version, or if ``matches`` is not empty.
  package var nearest: Candidate? {
    matches.isEmpty ? (possible + others).first { !$0.agreement.agreeing.isEmpty } : nil
  }

  /// Looks for the versions that may have written a store.
  ///
  /// - Parameters:
  ///   - record: The hashes and other model data that the store records.
  ///   - collections: The versions to look at. Each collection may have a current version of its own.
  ///   - frameworkVersion: The version of the Core Data framework on the system that the app runs on, in the form of
  ///     the metadata value `NSPersistenceFrameworkVersion`; nil if it is not known. A store that a later framework
  ///     wrote counts as newer.
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
        reason: "its hashes have version \(version), and the latest known version is "
          + "\(StoreModelRecord.confirmedHashesVersion)")
    }
    var places: [(current: ModelCollection.Version, place: Int, order: ModelVersionOrder)] = []
    for collection in collections.flatMap(\.bundles) {
      guard let current = collection.current else { continue }
      let order = ModelVersionOrder(collection)
      guard let place = order.index(of: current) else { continue }
      places.append((current, place, order))
    }
    // If there is such a version, the store may be of its model, of which no current version is known.
    let unplaced = matches.first { match in
      !places.contains { $0.order.index(of: match.version) != nil }
    }
    let unplacedDoubt = unplaced.map { match in
      "the store also fits `\(match.version.name)`, in a folder that marks no version as current"
    }
    var other: Age?
    for (current, place, order) in places {
      for match in matches {
        guard let index = order.index(of: match.version) else { continue }
        // If the current version fits, it does not matter whether other versions fit too.
        if index == place { return later(record, than: frameworkVersion) ?? .current }
        // If the order is known, the current version is the last one.
        other =
          (order.doubt ?? unplacedDoubt).map { doubt in
            .unknown(
              reason: "the store fits `\(match.version.name)`, and the current version is "
                + "`\(current.name)`", doubt: doubt)
          } ?? other ?? .older
      }
    }
    if let age = later(record, than: frameworkVersion) { return age }
    if let other { return other }
    guard !matches.isEmpty else { return .unknown(reason: noMatchReason(record, collections)) }
    return .unknown(
      reason: collections.flatMap(\.versions).contains(where: \.isMarkedCurrent)
        ? "the store fits a version in a folder that marks no version as current"
        : "no version is marked as the current one")
  }

  /// Returns ``Age/newer(reason:)`` if the framework that wrote the store is later than the one that the app runs on;
  /// nil for any other store.
  private static func later(_ record: StoreModelRecord, than frameworkVersion: Int64?) -> Age? {
    guard let frameworkVersion, let latest = record.latestFramework, latest > frameworkVersion
    else { return nil }
    return .newer(
      reason:
        "framework \(latest) wrote the store, and the app runs on framework \(frameworkVersion)")
  }

  /// Returns why the age of a store that fits no version is unknown, as a clause. The clause lists the entities that
  /// only the store has, because such entities suggest a newer store.
  private static func noMatchReason(
    _ record: StoreModelRecord, _ collections: [ModelCollection]
  ) -> String {
    var known: Set<String> = []
    for version in collections.flatMap(\.versions) {
      known.formUnion(version.entityNames ?? [])
      // The strings of an optimised model include names of entities. If an optimised model contains a hash that the
      // store records for an entity, then the model has that entity too.
      guard let optimised = version.optimised else { continue }
      known.formUnion(optimised.entityStrings)
      known.formUnion(optimised.strings)
      known.formUnion(record.hashes.filter { optimised.contains($0.value) }.keys)
    }
    let isPartial = collections.contains { $0.versions.contains(where: \.isUnread) }
    let fact = isPartial ? "no readable version fits" : "no version fits"
    let names = ByteOrder.sorted(record.hashes.keys.filter { !known.contains($0) })
    if names.isEmpty { return fact }
    let list = names.prefix(5).map { "`\($0)`" }.joined(separator: ", ")
    let more = names.count > 5 ? " and others" : ""
    return isPartial
      ? "\(fact) or has \(list)\(more): the store may be of a version that could not be read, "
        + "of a newer version, or of another app"
      : "\(fact) or has \(list)\(more): the store may be newer, or of another app"
  }
}

extension StoreModelRecord {
  fileprivate var latestFramework: Int64? {
    [frameworkVersion, maximumFrameworkVersion].compactMap { $0 }.max()
  }
}
