/// The versions of a model that a file or folder contains.
public struct ModelCollection: Sendable {
  /// One version of a model.
  public struct Version: Sendable {
    /// The version's name, which is the file name without its extension: `Moody 6`.
    public let name: String
    /// The name of the version's file or folder: `Moody 6.xcdatamodel`.
    package let fileName: String
    /// The path of the version's file or folder. For a version that only `VersionInfo.plist` names, it is the path of
    /// that file or of the folder that contains it.
    public package(set) var path: String
    /// The model of the version. Nil if the model could not be read, see ``problem``, or if only hashes are known.
    public let model: ManagedObjectModel?
    /// The hashes computed from ``model``, without regard to tombstone entries; nil if there is no model.
    public let hashes: ModelHashes?
    /// The hashes that `VersionInfo.plist` records for the version; nil if hashes of the version are not recorded.
    public let recorded: RecordedHashes?
    /// Whether a marker (`.xccurrentversion` or `VersionInfo.plist`) names this version as the current one.
    public let isMarkedCurrent: Bool
    /// The reason why the model of this version could not be read, so that ``model`` is nil. Nil if the model was read,
    /// or if this version has no model to read.
    public package(set) var problem: ModelError?
    /// The values in the model file that could not be read, as problems of the kind `unreadValue`;
    /// empty if all values could be read.
    package let unreadValues: [ModelProblem]
    /// The optimised model (`.omo`) of this version, with or without a ``model`` beside it. Nil if no optimised model
    /// is known to belong to the version.
    package var optimised: OptimisedModel?

    package init(
      name: String, fileName: String, path: String, model: ManagedObjectModel? = nil,
      recorded: RecordedHashes? = nil, isMarkedCurrent: Bool = false,
      problem: ModelError? = nil, unreadValues: [ModelProblem] = [],
      optimised: OptimisedModel? = nil
    ) {
      self.name = name
      self.fileName = fileName
      self.path = path
      self.model = model
      hashes = model?.versionHashes()
      self.recorded = recorded
      self.isMarkedCurrent = isMarkedCurrent
      self.problem = problem
      self.unreadValues = unreadValues
      self.optimised = optimised
    }
  }

  /// All versions that were found, bundle by bundle, in natural order of their paths (`Moody 2` before `Moody 10`).
  public let versions: [Version]

  /// The name of the current version, according to the markers (`.xccurrentversion`, `VersionInfo.plist`). Nil if
  /// there is no marker, or if several markers name different versions.
  public let currentVersionName: String?

  /// The folders that were not searched, or were searched only in part. Also the files `.xccurrentversion` and
  /// `VersionInfo.plist` that could not be read. Each error says why.
  package let notEntered: [ModelError]

  /// The version that is marked as the current version. If no version is marked, or if the markers contradict each
  /// other, the result is nil, unless the collection has only one version.
  public var current: Version? {
    if let name = currentVersionName {
      let marked = versions.filter { $0.isMarkedCurrent && $0.name == name }
      return marked.first { $0.model != nil } ?? marked.first
    }
    return versions.count == 1 ? versions.first : nil
  }

  /// Makes a collection from versions that were read separately. The current version is the one that
  /// ``Version/isMarkedCurrent`` marks.
  public init(of versions: [Version]) { self.init(versions: versions) }

  package init(versions: [Version], notEntered: [ModelError] = []) {
    self.versions = versions
    self.notEntered = notEntered
    let marked = Set(versions.filter(\.isMarkedCurrent).map(\.name))
    currentVersionName = marked.count == 1 ? marked.first : nil
  }
}

// MARK: - Finding the version that fits

extension ModelCollection.Version {
  /// Whether a store with the recorded hashes `hashes` opens with this version without migration. The store and the
  /// version must have the same entities with equal hashes.
  ///
  /// As in Core Data, the version may have several sets of hashes: the recorded hashes, and the hashes computed from
  /// the model without and with tombstone entries. One equal set suffices. A version with neither a model nor recorded
  /// hashes is compared by its optimised model.
  public func matches(_ hashes: [String: VersionHash]) -> Bool {
    if recorded?.hashes == hashes { return true }
    if self.hashes?.matches(hashes) == true { return true }
    if model == nil, recorded == nil, optimised?.matches(hashes) == true { return true }
    guard let model, model.hasTombstoneEntries else { return false }
    return model.versionHashes(honouringTombstones: true).matches(hashes)
  }
}

extension ModelCollection {
  /// Returns the versions with which a store that recorded these hashes opens without migration; empty if no version
  /// fits.
  public func versions(matching hashes: [String: VersionHash]) -> [Version] {
    versions.filter { $0.matches(hashes) }
  }
}
