/// The versions of a model that a file or folder contains.
public struct ModelCollection: Sendable {
  /// One version of a model.
  public struct Version: Sendable {
    /// The version's name, which is the file name without its extension: `Moody 6`.
    public let name: String
    /// The name of the version's file or folder: `Moody 6.xcdatamodel`.
    package let fileName: String
    /// The path of the version. For a version that only `VersionInfo.plist` names, the path of that file's folder.
    public let path: String
    /// The model; nil if it could not be read, see ``problem``, or if only hashes are known.
    public let model: ManagedObjectModel?
    /// The hashes computed from ``model``, without tombstone entries; nil if there is no model.
    public let hashes: ModelHashes?
    /// The hashes that `VersionInfo.plist` records for the version; nil if it records none.
    public let recorded: RecordedHashes?
    /// Whether a marker (`.xccurrentversion`, `VersionInfo.plist`) names this version as the current one.
    public let isMarkedCurrent: Bool
    /// Why there is no ``model`` although there should be one; nil if no model is missing.
    public let problem: ModelError?
    /// The values in the model's file that could not be read, of kind ``ModelProblem/Kind/unreadValue``; empty if all
    /// values could be read.
    package let unreadValues: [ModelProblem]
    /// The optimised model (`.omo`) of this version, beside the model or alone; nil if no optimised model is known to
    /// belong to the version.
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

  /// All versions found. They are in natural order of their paths (`Moody 2` before `Moody 10`), bundle by bundle.
  public let versions: [Version]

  /// The name of the current version, as markers (`.xccurrentversion`, `VersionInfo.plist`) give it. Nil if there is no
  /// marker, or if several bundles name different versions.
  public let currentVersionName: String?

  /// The folders that were not searched, or only in part, each with the reason.
  package let notEntered: [ModelError]

  /// The current version: the one that a marker names. Without a marker it is the only version, or nil if there are
  /// more.
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
  /// Whether a store with these recorded hashes opens with this version without migration: it has the same entities,
  /// and all hashes are equal. The hashes recorded for the version are tried, then those computed from its model,
  /// without and with tombstone entries, as Core Data tries both.
  public func matches(_ hashes: [String: VersionHash]) -> Bool {
    if recorded?.hashes == hashes { return true }
    if self.hashes?.matches(hashes) == true { return true }
    if model == nil, recorded == nil, optimised?.matches(hashes) == true { return true }
    guard let model, model.hasTombstoneEntries else { return false }
    return model.versionHashes(honouringTombstones: true).matches(hashes)
  }
}

extension ModelCollection {
  /// The versions with which a store with these recorded hashes opens without migration; empty if there are none.
  public func versions(matching hashes: [String: VersionHash]) -> [Version] {
    versions.filter { $0.matches(hashes) }
  }
}
