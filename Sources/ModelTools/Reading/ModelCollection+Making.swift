package import ObjectModel
import SafeText

// Collections of models that are not made from model files.

extension ModelCollection.Version {
  /// Makes a version from a store's cached model, from recorded hashes, or from both. `path` is the path of the file
  /// that contained them. `problem` is a sentence that says why there is no model.
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
  /// Returns the collection with each path below `folder` replaced by the same path below `path`. After versions were
  /// read from a temporary copy, their paths become paths that the user knows.
  package func moved(from folder: String, to path: String) -> ModelCollection {
    func moved(_ text: String) -> String { Self.moved(text, from: folder, to: path) }
    return ModelCollection(
      versions: versions.map { version in
        var copy = version
        copy.path = moved(version.path)
        copy.problem?.path = version.problem?.path.map(moved)
        return copy
      })
  }

  /// Returns `text` with the start `folder` replaced by `path`, if `text` is a path below `folder`. Returns any other
  /// text unchanged.
  package static func moved(_ text: String, from folder: String, to path: String) -> String {
    // The path of the temporary folder may contain a symbolic link: on macOS, `/var` is a link to `/private/var`.
    let folders = [folder, ModelFile.resolved(folder)].flatMap { [$0, "/private" + $0] }
    guard let found = folders.first(where: { PathText.isInside(text, $0) }) else { return text }
    return path + String(Substring(text.utf8.dropFirst(found.utf8.count)))
  }
}
