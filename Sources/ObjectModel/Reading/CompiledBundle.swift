/// The model versions in a folder of compiled models: a `.momd`, or any folder with a `VersionInfo.plist`.
package struct CompiledBundle {
  /// The versions: first those with a `.mom`, in natural order, then those that only `VersionInfo.plist` names.
  package private(set) var versions: [ModelCollection.Version] = []
  /// The names of all files in the folder, in natural order (`2` before `10`).
  package let names: [String]
  /// Why `VersionInfo.plist` or the folder itself could not be read; nil if both could be read.
  package private(set) var problem: ModelError?
  /// Whether versions in the folder were left out because the limit was reached.
  package private(set) var isCut = false

  /// Reads at most `limit` versions in a folder. Nil if the folder is not a `.momd` and has no readable
  /// `VersionInfo.plist`. The folder may have other contents too, for example the resources of an app.
  package init?(_ path: String, limit: Int) {
    var info: VersionInfo?
    do {
      info = try VersionInfo(bytes: try ModelFile.bytes(at: path + "/VersionInfo.plist"))
    } catch {
      problem = error.at(path: path + "/VersionInfo.plist")
    }
    guard info != nil || ModelFile.pathExtension(path) == "momd" else { return nil }
    guard let found = ModelFile.readNames(in: path) else {
      problem = .unreadable(folder: path)
      names = []
      return
    }
    names = found
    var taken: Set<String> = []
    for fileName in names where ModelFile.pathExtension(fileName) == "mom" && hasRoom(limit) {
      let name = ModelFile.baseName(fileName)
      taken.insert(name)
      versions.append(
        .init(
          compiled: path + "/" + fileName, recorded: info?.versions[name],
          isMarkedCurrent: info?.currentVersionName == name))
    }
    for name in info?.versionNames ?? [] where !taken.contains(name) && hasRoom(limit) {
      versions.append(
        .init(
          missing: name + ".mom", in: path, recorded: info?.versions[name],
          isMarkedCurrent: info?.currentVersionName == name))
    }
  }

  private mutating func hasRoom(_ limit: Int) -> Bool {
    isCut = isCut || versions.count >= limit
    return !isCut
  }
}

extension ModelCollection.Version {
  /// Makes a version from a compiled model file (`.mom`). If the file cannot be read, then the version has a problem
  /// instead of a model.
  package init(
    compiled path: String, recorded: RecordedHashes? = nil, isMarkedCurrent: Bool = false
  ) {
    var model: ManagedObjectModel?
    var problem: ModelError?
    do {
      model = try ManagedObjectModel(archive: try ModelFile.bytes(at: path))
    } catch {
      problem = error.at(path: path)
    }
    let fileName = ModelFile.lastComponent(path)
    self.init(
      name: ModelFile.baseName(fileName), fileName: fileName, path: path, model: model,
      recorded: recorded, isMarkedCurrent: isMarkedCurrent, problem: problem)
  }

  /// Makes a version that a model bundle lists, but whose file is missing. The version's ``problem`` says so.
  package init(
    missing fileName: String, in path: String, recorded: RecordedHashes?, isMarkedCurrent: Bool
  ) {
    self.init(
      name: ModelFile.baseName(fileName), fileName: fileName, path: path, recorded: recorded,
      isMarkedCurrent: isMarkedCurrent,
      problem: ModelError(
        code: .missingVersion,
        message: "The bundle lists a version, but the version's file \(fileName) is missing.",
        path: path))
  }
}

extension ModelCollection {
  package static let maximumVersions = 2_000

  /// Reads the versions of a compiled model: a `.momd` or a `.mom`, as in an app's bundle. Symbolic links in the path
  /// are followed. A version in a `.momd` that cannot be read is listed with its ``Version/problem``.
  public init(at path: String) throws(ModelError) {
    let resolved = ModelFile.resolved(path)
    switch ModelFile.kind(at: resolved) {
    case .folder:
      guard let bundle = CompiledBundle(resolved, limit: Self.maximumVersions) else {
        throw Self.noCompiledModel(at: path)
      }
      if bundle.versions.isEmpty { throw bundle.problem ?? Self.noCompiledModel(at: path) }
      self.init(versions: bundle.versions)
    case .file:
      let version = Version(compiled: resolved)
      if let problem = version.problem { throw problem }
      self.init(versions: [version])
    case .other, nil:
      throw ModelFile.absence(at: resolved, givenAs: path)
    }
  }

  private static func noCompiledModel(at path: String) -> ModelError {
    ModelError(
      code: .notAModel, message: "No compiled model (.momd or .mom) is at this path.", path: path)
  }
}
