public import ObjectModel

/// A value that says which model a store must fit: a model, a collection of all its versions, or only version hashes.
public protocol ModelExpectation: Sendable {
  /// The version hashes that a store must record to fit. A normal launch does not read this property.
  var expectedModel: ExpectedModel { get }
}

extension ManagedObjectModel: ModelExpectation {
  /// The version hashes of this model. ``ExpectedModel/name`` is nil, because a model has no name.
  public var expectedModel: ExpectedModel {
    ExpectedModel(
      name: nil, forms: ExpectedModel.forms(of: self), versions: [], entityNames: entityNameHistory)
  }
}

extension ModelCollection: ModelExpectation {
  /// The version hashes of the current version; without a current version, no model is expected. The other versions
  /// serve to name the version that wrote a store, and to recognise another app's store.
  public var expectedModel: ExpectedModel {
    ExpectedModel(
      name: current?.name, forms: current.map(ExpectedModel.forms) ?? [],
      versions: versions.map { .init(name: $0.name, forms: ExpectedModel.forms(of: $0)) },
      entityNames: entityNameHistory)
  }
}

/// The version hashes that an app expects its store to record.
public struct ExpectedModel: Sendable, Hashable, ModelExpectation {
  /// The name of the model version, for people; nil for a version without a name.
  public let name: String?

  /// The alternative sets of hashes that the model may have. A store that records any one of these sets fits the model.
  /// Empty when no model is expected.
  let forms: [Form]
  /// The known versions of the model, one of which may have written the store.
  let versions: [NamedVersion]
  /// The current and earlier names of the entities in all known versions of the model; nil when a version could not be
  /// read.
  let entityNames: Set<String>?

  struct NamedVersion: Sendable, Hashable {
    let name: String
    let forms: [Form]
  }
}

extension ExpectedModel {
  /// Creates an expectation from known hashes, such as those that Core Data computes
  /// (`NSManagedObjectModel.entityVersionHashesByName`).
  ///
  /// - Parameters:
  ///   - name: The name of the model version, for people; nil for a version without a name.
  ///   - hashes: The hash of each entity.
  ///   - earlierNames: The names of entities in earlier versions, including entities that no longer exist. A store that
  ///     has none of the present and earlier names is treated as the store of another app and never moved. So an app
  ///     that has renamed all its entities passes some of the old names here.
  public init(
    name: String?, hashes: [String: VersionHash], earlierNames: some Sequence<String> = []
  ) {
    self.init(
      name: name, forms: [Form(hashes: hashes)], versions: [],
      entityNames: Set(hashes.keys).union(earlierNames))
  }

  /// Creates an expectation from the version with this name, current or not; nil if `collection` has no such version.
  public init?(_ collection: ModelCollection, versionName: String) {
    guard let version = collection.versions.first(where: { $0.name == versionName }) else {
      return nil
    }
    self.init(
      name: versionName, forms: Self.forms(of: version),
      versions: collection.expectedModel.versions, entityNames: collection.entityNameHistory)
  }

  /// This value.
  public var expectedModel: ExpectedModel { self }

  /// The alternative sets of hashes that Core Data tries for a model. The first set ignores the user info entries
  /// `NSPersistentHistoryTombstoneAttributes`. If the model has such entries, a second set includes them.
  fileprivate static func forms(of model: ManagedObjectModel) -> [Form] {
    let plain = Form(model.versionHashes())
    guard model.hasTombstoneEntries else { return [plain] }
    return [plain, Form(model.versionHashes(honouringTombstones: true))]
  }

  /// Returns the sets of hashes with which a store of this version is compared: the set that `VersionInfo.plist`
  /// records, if there is one, and the sets computed from the version's model.
  fileprivate static func forms(of version: ModelCollection.Version) -> [Form] {
    let computed = version.model.map(forms) ?? []
    guard let recorded = version.recorded else { return computed }
    return [Form(hashes: recorded.hashes, derived: computed.first?.derived ?? [])] + computed
  }

  // MARK: Comparing

  static let knownRules = StoreModelRecord.confirmedHashesVersion

  /// Compares the hashes that the store records with the expected ones, and finds the version that wrote the store.
  ///
  /// `isNewerThanApp` is not changed: neither a version's name nor its position in the collection says which of two
  /// versions is older. A wrong guess would lock users out of the app, or set aside a store that an update could open.
  func compare(_ evidence: inout StoreEvidence) {
    evidence.expectsModel = !forms.isEmpty
    evidence.expectedVersion = name
    guard let recorded = evidence.recordedHashes, !recorded.isEmpty else { return }
    let writers = versions.filter { version in version.forms.contains { $0.matches(recorded) } }
    let names = Set(writers.map(\.name)).sorted()
    if !names.isEmpty { evidence.writtenBy = names.joined(separator: " or ") }
    // Only the names of entities are compared. This works under all hash rules, because entities with equal hashes have
    // equal names.
    if !forms.isEmpty, let entityNames {
      evidence.sharesEntities = recorded.keys.contains(where: entityNames.contains)
    }
    guard (evidence.hashesVersion ?? Self.knownRules) <= Self.knownRules else { return }
    let results = forms.map { ($0.hashes, $0.compared(with: recorded, evidence)) }
    guard let (hashes, best) = results.min(by: { $0.1.distance < $1.1.distance }) else { return }
    evidence.expectedHashes = hashes
    evidence.comparison = best.comparison
    evidence.undecided = best.undecided
  }
}

extension ExpectedModel {
  struct Form: Sendable, Hashable {
    /// The hashes that are certain, by entity name. A recorded hash is certain. A computed hash is certain if recorded
    /// hashes confirm the rules by which it was computed.
    let hashes: [String: VersionHash]
    /// The entities whose hash is uncertain, because recorded hashes do not confirm the rules by which it was computed.
    /// The value is the uncertain hash; nil when no hash could be computed.
    let unknown: [String: VersionHash?]
    /// The entities with a derived attribute.
    let derived: Set<String>

    init(hashes: [String: VersionHash], derived: Set<String> = []) {
      self.hashes = hashes
      unknown = [:]
      self.derived = derived
    }

    init(_ computed: ModelHashes) {
      hashes = computed.hashes
      unknown = Dictionary(
        uniqueKeysWithValues: computed.unknown.keys.map { ($0, computed.unconfirmed[$0]) })
      derived = computed.entitiesWithDerivedAttributes
    }

    func matches(_ recorded: [String: VersionHash]) -> Bool {
      recorded.count == hashes.count + unknown.count
        && recorded.allSatisfy { (hashes[$0.key] ?? unknown[$0.key] ?? nil) == $0.value }
    }

    struct Result {
      let comparison: HashComparison
      let undecided: [String]

      /// How much the hashes of the store and of the model differ: first the number of entities that certainly differ,
      /// then the number of entities for which this is undecided.
      var distance: (Int, Int) {
        let proven = comparison.differing.count + comparison.onlyInStore.count
        return (proven + comparison.onlyInModel.count, undecided.count)
      }
    }

    /// Compares the expected hashes of a version with the hashes that a store records. An entity is left out of the
    /// comparison, and listed as undecided, if its hashes could differ although the entity is the same.
    func compared(with recorded: [String: VersionHash], _ evidence: StoreEvidence) -> Result {
      var store = recorded
      var model = hashes
      var undecided: [String] = []
      for (name, unconfirmed) in unknown {
        if store[name] == nil {
          // The store certainly lacks this entity. The comparison needs a hash for the entity; any value will do.
          model[name] = unconfirmed ?? VersionHash(bytes: [UInt8](repeating: 0, count: 32))
        } else if store[name] == unconfirmed {
          model[name] = unconfirmed
        } else {
          store[name] = nil
          undecided.append(name)
        }
      }
      // Under hash rules before version 3, Core Data compares only names.
      if let version = evidence.hashesVersion, version < 3 {
        for (name, hash) in store where model[name] != nil { model[name] = hash }
      }
      var comparison = HashComparison(store: store, model: model)
      if Self.hasUnstableDerivedHashes(evidence.frameworkVersion), comparison.onlyInStore.isEmpty,
        comparison.onlyInModel.isEmpty, derived.isSuperset(of: comparison.differing)
      {
        for name in comparison.differing {
          store[name] = nil
          model[name] = nil
        }
        comparison = HashComparison(store: store, model: model)
      }
      return Result(comparison: comparison, undecided: undecided.sorted())
    }

    /// Whether a store of this Core Data version may record unreliable hashes for entities with derived attributes.
    /// Core Data of iOS 13 to 16 computed new hashes for such entities each time a model was made. The result is also
    /// true if the version is nil, that is, unknown.
    private static func hasUnstableDerivedHashes(_ frameworkVersion: Int64?) -> Bool {
      frameworkVersion.map { (977...1251).contains($0) } ?? true
    }
  }
}
