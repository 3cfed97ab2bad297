/// The versions of a model, gathered from a file or folder that holds any.
public struct ModelCollection: Sendable {
  /// One version of a model.
  public struct Version: Sendable {
    /// The version's name without extension: `Moody 6`.
    public let name: String
    /// The file's or folder's name: `Moody 6.xcdatamodel`.
    package let fileName: String
    /// Where the version is; for a version that only `VersionInfo.plist` names, where that file is.
    public let path: String
    /// The model; nil when it could not be read, see ``problem``, or when only its hashes are
    /// recorded.
    public let model: ManagedObjectModel?
    /// The hashes computed from ``model``, without tombstone entries; nil when there is no model.
    public let hashes: ModelHashes?
    /// The hashes that `VersionInfo.plist` recorded for the version; nil if there is no such record.
    public let recorded: RecordedHashes?
    /// Whether a marker beside the version names it as the current one.
    public let isMarkedCurrent: Bool
    /// Why ``model`` is nil although there should be one.
    public let problem: ModelError?
    /// The values in the model's file that could not be read, of kind ``ModelProblem/Kind/unreadValue``; empty if all
    /// could be read.
    package let unreadValues: [ModelProblem]
    /// The optimised model (`.omo`) of this version, beside the model or on its own; nil if no optimised model is known
    /// to belong to this version.
    package var optimised: OptimisedModel?

    package init(
      name: String, fileName: String, path: String, model: ManagedObjectModel? = nil,
      hashes: ModelHashes? = nil, recorded: RecordedHashes? = nil, isMarkedCurrent: Bool = false,
      problem: ModelError? = nil, unreadValues: [ModelProblem] = [],
      optimised: OptimisedModel? = nil
    ) {
      self.name = name
      self.fileName = fileName
      self.path = path
      self.model = model
      self.hashes = hashes ?? model?.versionHashes()
      self.recorded = recorded
      self.isMarkedCurrent = isMarkedCurrent
      self.problem = problem
      self.unreadValues = unreadValues
      self.optimised = optimised
    }
  }

  /// All versions found, those of one bundle together, in natural order of their paths: `Moody 2` before `Moody 10`.
  public let versions: [Version]

  /// The name of the version that markers (`.xccurrentversion`, `VersionInfo.plist`) name as the
  /// current one; nil when there is no marker, or when several bundles name different ones.
  public let currentVersionName: String?

  /// The folders that were not searched, or not completely, each with the reason.
  package let notEntered: [ModelError]

  /// The current version: the one that a marker names, else the sole version, else nil.
  public var current: Version? {
    if let name = currentVersionName {
      let marked = versions.filter { $0.isMarkedCurrent && $0.name == name }
      return marked.first { $0.model != nil } ?? marked.first
    }
    return versions.count == 1 ? versions.first : nil
  }

  package init(versions: [Version], notEntered: [ModelError] = []) {
    self.versions = versions
    self.notEntered = notEntered
    let marked = Set(versions.filter(\.isMarkedCurrent).map(\.name))
    currentVersionName = marked.count == 1 ? marked.first : nil
  }
}

// MARK: - Finding the version that fits

extension ModelCollection.Version {
  /// Whether nothing is known of the version, not even hashes, because it could not be read.
  package var isUnread: Bool {
    problem != nil && model == nil && recorded == nil && optimised == nil
  }

  /// Whether a store with these recorded hashes opens with this version without migration: the same entities, all
  /// hashes equal. Hashes recorded beside the version are tried first, then computed ones, without and with tombstone
  /// entries, as Core Data tries both.
  public func matches(_ hashes: [String: VersionHash]) -> Bool {
    if recorded?.hashes == hashes { return true }
    if self.hashes?.matches(hashes) == true { return true }
    if model == nil, recorded == nil, optimised?.matches(hashes) == true { return true }
    guard let model, model.hasTombstoneEntries else { return false }
    return model.versionHashes(honouringTombstones: true).matches(hashes)
  }

  /// The hashes of the version as far as known: recorded ones, else computed ones. Entities with an unknown hash are
  /// left out.
  package var knownHashes: [String: VersionHash] {
    recorded?.hashes ?? hashes?.hashes ?? [:]
  }

  /// How many of the given hashes this version has as well, unconfirmed ones included.
  func agreement(with hashes: [String: VersionHash]) -> Int {
    if model == nil, recorded == nil, let optimised { return optimised.agreement(with: hashes) }
    return hashes.count { name, hash in
      recorded?.hashes[name] == hash || self.hashes?.hashes[name] == hash
        || self.hashes?.unconfirmed[name] == hash
    }
  }
}

extension ModelCollection {
  /// How near a version comes to a set of hashes.
  public struct Nearness: Sendable {
    /// The version.
    public let version: Version
    /// How many of the hashes the version has too.
    public let agreeing: Int
    /// How many hashes were compared.
    public let of: Int
  }

  /// The versions that a store with these hashes opens with, without migration.
  public func versions(matching hashes: [String: VersionHash]) -> [Version] {
    versions.filter { $0.matches(hashes) }
  }

  /// The version with the most of these hashes; among equals, the one with the fewest entities, then the first. Nil if
  /// no version has any of them.
  public func nearest(to hashes: [String: VersionHash]) -> Nearness? {
    var best: Nearness?
    for version in versions {
      let agreeing = version.agreement(with: hashes)
      guard agreeing > 0 else { continue }
      if let known = best {
        let isCloser =
          agreeing == known.agreeing && version.entityCount < known.version.entityCount
        guard agreeing > known.agreeing || isCloser else { continue }
      }
      best = Nearness(version: version, agreeing: agreeing, of: hashes.count)
    }
    return best
  }
}

extension ModelCollection.Version {
  fileprivate var entityCount: Int {
    model?.entities.count ?? recorded?.hashes.count ?? optimised?.entityCount ?? 0
  }
}
