public import ObjectModel

/// What a host can pass as the model that it opens its store with: a model, all its versions, or only its hashes.
public protocol ModelExpectation: Sendable {
  /// The hashes of the model. Used only after an open has failed.
  var expectedModel: ExpectedModel { get }
}

extension ManagedObjectModel: ModelExpectation {
  /// The model's own hashes. A model has no name.
  public var expectedModel: ExpectedModel {
    ExpectedModel(
      name: nil, forms: ExpectedModel.forms(of: self), versions: [], entityNames: entityNameHistory)
  }
}

extension ModelCollection: ModelExpectation {
  /// The hashes of the current version. The other versions only serve to name the one that wrote the store. Without a
  /// current version nothing is expected, and only the writer is named.
  public var expectedModel: ExpectedModel {
    ExpectedModel(
      name: current?.name, forms: current.map(ExpectedModel.forms) ?? [],
      versions: versions.map { .init(name: $0.name, forms: ExpectedModel.forms(of: $0)) },
      entityNames: entityNameHistory)
  }
}

/// The version hashes that an app expects its store to record.
public struct ExpectedModel: Sendable, Hashable, ModelExpectation {
  /// The name of the model version, for people; nil when it has none.
  public let name: String?

  /// Each set of hashes that the model may have; a store with any of them opens. Empty when nothing is expected.
  let forms: [Form]
  /// The versions that may have written the store.
  let versions: [NamedVersion]
  /// The present and earlier names of the entities of all known versions; nil when a version could not be read.
  let entityNames: Set<String>?

  struct NamedVersion: Sendable, Hashable {
    let name: String
    let forms: [Form]
  }

  /// Creates an expectation from known hashes, such as those that Core Data computes
  /// (`NSManagedObjectModel.entityVersionHashesByName`).
  ///
  /// - Parameters:
  ///   - name: The name of the model version, for people; nil when it has none.
  ///   - hashes: The hash of each entity.
  ///   - earlierNames: The names of entities in earlier versions, including entities that no longer exist. A store with
  ///     none of the names is treated as the store of another app and never moved. So an app that has renamed all its
  ///     entities passes some of the old names here.
  public init(
    name: String?, hashes: [String: VersionHash], earlierNames: some Sequence<String> = []
  ) {
    self.init(
      name: name, forms: [Form(hashes: hashes)], versions: [],
      entityNames: Set(hashes.keys).union(earlierNames))
  }

  /// One version of a collection, current or not; nil when no version has that name.
  public init?(_ collection: ModelCollection, versionName: String) {
    guard let version = collection.versions.first(where: { $0.name == versionName }) else {
      return nil
    }
    self.init(
      name: versionName, forms: Self.forms(of: version),
      versions: collection.expectedModel.versions, entityNames: collection.entityNameHistory)
  }

  init(
    name: String?, forms: [Form], versions: [NamedVersion], entityNames: Set<String>? = nil
  ) {
    self.name = name
    self.forms = forms
    self.versions = versions
    self.entityNames = entityNames
  }

  /// The value itself.
  public var expectedModel: ExpectedModel { self }

  /// Core Data tries a model both with and without its tombstone entries.
  fileprivate static func forms(of model: ManagedObjectModel) -> [Form] {
    let plain = Form(model.versionHashes())
    guard model.hasTombstoneEntries else { return [plain] }
    return [plain, Form(model.versionHashes(honouringTombstones: true))]
  }

  /// Hashes recorded beside a version count as well as computed ones.
  fileprivate static func forms(of version: ModelCollection.Version) -> [Form] {
    let computed = version.model.map(forms) ?? []
    guard let recorded = version.recorded else { return computed }
    return [Form(hashes: recorded.hashes, derived: computed.first?.derived ?? [])] + computed
  }

  // MARK: Comparing

  /// The newest known version of the hash rules.
  static let knownRules = StoreModelRecord.confirmedHashesVersion

  /// Compares the hashes that the store records with the expected ones, and names the version that wrote the store.
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
    // By names alone: a hash includes its entity's name, and names are comparable under any hash rules.
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
  /// One set of hashes that a model may have.
  struct Form: Sendable, Hashable {
    /// The hashes that are certain.
    let hashes: [String: VersionHash]
    /// The entities whose hash follows no confirmed rule, each with the hash that the unconfirmed rule yields, if any.
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

    /// Whether these are exactly the recorded hashes.
    func matches(_ recorded: [String: VersionHash]) -> Bool {
      recorded.count == hashes.count + unknown.count
        && recorded.allSatisfy { (hashes[$0.key] ?? unknown[$0.key] ?? nil) == $0.value }
    }

    struct Result {
      let comparison: HashComparison
      let undecided: [String]

      /// How different the two sides are: proven differences first.
      var distance: (Int, Int) {
        let proven = comparison.differing.count + comparison.onlyInStore.count
        return (proven + comparison.onlyInModel.count, undecided.count)
      }
    }

    /// What is proven to differ. Entities whose difference proves nothing are in no list of the comparison.
    func compared(with recorded: [String: VersionHash], _ evidence: StoreEvidence) -> Result {
      var store = recorded
      var model = hashes
      var undecided: [String] = []
      for (name, unconfirmed) in unknown {
        if store[name] == nil {
          // Certain all the same: the store has no such entity. Any hash will do.
          model[name] = unconfirmed ?? VersionHash(bytes: [UInt8](repeating: 0, count: 32))
        } else if store[name] == unconfirmed {
          model[name] = unconfirmed
        } else {
          store[name] = nil
          undecided.append(name)
        }
      }
      // Before version 3 of the rules, Core Data compares only names.
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

    /// Whether the framework may have recorded hashes of derived attributes that changed each time the model was made,
    /// as those of iOS 13 to 16 did. An unrecorded framework version may be one of them.
    private static func hasUnstableDerivedHashes(_ frameworkVersion: Int64?) -> Bool {
      frameworkVersion.map { (977...1251).contains($0) } ?? true
    }
  }
}
