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
}

extension ModelCollection {
  /// The versions that a store with these hashes opens with, without migration.
  public func versions(matching hashes: [String: VersionHash]) -> [Version] {
    versions.filter { $0.matches(hashes) }
  }
}
