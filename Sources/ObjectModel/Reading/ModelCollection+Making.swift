import Foundation

// Collections of models that do not come from model files.

extension ModelCollection.Version {
  /// Makes a version of a store's cached model, or of recorded hashes.
  ///
  /// - Parameters:
  ///   - storeModel: the model; nil when it is missing or not readable.
  ///   - name: the name of the version.
  ///   - path: where it came from.
  ///   - recorded: the hashes recorded beside it; nil when there are none.
  ///   - problem: why there is no model, in a sentence; nil when there is one.
  package init(
    storeModel: ManagedObjectModel?, name: String, path: String,
    recorded: RecordedHashes? = nil, problem: String? = nil
  ) {
    self.init(
      name: name, fileName: ModelFile.lastComponent(path), path: path, model: storeModel,
      recorded: recorded,
      problem: problem.map { ModelError(code: .notAModel, message: $0, path: path) })
  }
}

extension ModelCollection {
  /// Gathers versions that were made one by one; none of them is marked as current.
  public init(of versions: [Version]) { self.init(versions: versions) }

  /// The same versions with paths below `folder` replaced by paths below `path`. For versions read
  /// from a copy that users never see.
  package func moved(from folder: String, to path: String) -> ModelCollection {
    func moved(_ text: String) -> String { Self.moved(text, from: folder, to: path) }
    return ModelCollection(
      versions: versions.map { version in
        var problem = version.problem
        problem?.path = version.problem?.path.map(moved)
        return Version(
          name: version.name, fileName: version.fileName, path: moved(version.path),
          model: version.model, hashes: version.hashes, recorded: version.recorded,
          isMarkedCurrent: version.isMarkedCurrent, problem: problem,
          unreadValues: version.unreadValues, optimised: version.optimised)
      })
  }

  /// A path below `folder` as one below `path`.
  package static func moved(_ text: String, from folder: String, to path: String) -> String {
    // A temporary folder may be reached through a link.
    guard let found = text.utf8.firstRange(of: folder.utf8) else { return text }
    return path + String(Substring(text.utf8[found.upperBound...]))
  }
}
