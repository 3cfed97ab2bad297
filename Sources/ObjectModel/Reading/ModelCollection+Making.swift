import SafeText

// Collections of models that are not made from model files.

extension ModelCollection.Version {
  /// Makes a version from a store's cached model, from recorded hashes, or from both.
  ///
  /// - Parameters:
  ///   - storeModel: the model; nil if it is missing or not readable.
  ///   - name: the name of the version.
  ///   - path: the path that the model or the hashes came from.
  ///   - recorded: the hashes recorded beside the model; nil if there are none.
  ///   - problem: why there is no model, as a sentence; nil if there is a model.
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
  /// Makes a collection from versions that were read one by one. The markers of the versions decide which is current.
  public init(of versions: [Version]) { self.init(versions: versions) }

  /// Returns the versions with all paths below `folder` replaced by paths below `path`. It is for versions read from a
  /// temporary copy that users never see.
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

  /// Returns a path below `folder` as the same path below `path`; any other text is returned as it is.
  package static func moved(_ text: String, from folder: String, to path: String) -> String {
    // The temporary folder may be reached through a link; `/var` of macOS is one, to `/private/var`.
    let folders = [folder, ModelFile.resolved(folder)].flatMap { [$0, "/private" + $0] }
    guard let found = folders.first(where: { PathText.isInside(text, $0) }) else { return text }
    return path + String(Substring(text.utf8.dropFirst(found.utf8.count)))
  }
}
