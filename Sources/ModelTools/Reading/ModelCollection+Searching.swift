public import ObjectModel
import SafeText

extension ModelCollection {
  /// The maximum depth of the folders that a search reads. The folder at which the search starts has depth 0.
  package static let maximumDepth = 16
  package static let maximumEntries = 200_000

  /// Reads the model versions at a path: an `.xcdatamodeld`, an `.xcdatamodel`, a `contents` file, a `.momd`, a
  /// `.mom`, a `VersionInfo.plist`, or a folder that contains any of these at any depth, for example an app bundle.
  ///
  /// A version that cannot be read is listed with its ``Version/problem`` and does not affect the others. Symbolic
  /// links below the path are not followed.
  ///
  /// - Throws: ``ModelError`` if nothing exists at the path, if the path contains no model, or if the path is a single
  ///   file that cannot be read.
  public init(searching path: String) throws(ModelError) {
    let resolved = ModelFile.resolved(path)
    var search = ModelSearch()
    switch ModelFile.kind(at: resolved) {
    case .folder:
      search.visit(folder: resolved)
    case .file:
      search.take(file: resolved, isNamed: true)
      if search.versions.count == 1, let version = search.versions.first, version.recorded == nil,
        version.optimised == nil, let problem = version.problem
      {
        throw problem
      }
    case .other, nil:
      throw ModelFile.absence(at: resolved, givenAs: path)
    }
    guard !search.versions.isEmpty else {
      let missed = search.notEntered.first.map { " Not searched: \($0.path ?? ""): \($0.message)" }
      throw ModelError(
        code: .notAModel,
        message:
          "No model was found at this path. Give the path of an .xcdatamodeld, .xcdatamodel, "
          + ".momd or .mom, or of a folder or app bundle that contains a model." + (missed ?? ""),
        path: path)
    }
    self.init(versions: search.versions, notEntered: search.notEntered)
  }
}

private struct ModelSearch {
  private(set) var versions: [ModelCollection.Version] = []
  /// The errors of the search: folders that could not be read completely, and unreadable markers of the current
  /// version.
  private(set) var notEntered: [ModelError] = []
  private var entryCount = 0
  private var isCut = false
  /// The entities of all `.xcdatamodel` files that were read so far.
  private var known = KnownEntities()
  /// The paths of the files that were read as parts of a bundle, so that they are not read again as single files.
  private var takenPaths: Set<[UInt8]> = []

  /// Visits a folder and all folders below it. The entries of each folder are visited in natural order.
  mutating func visit(folder: String) {
    var pending = [(path: folder, depth: 0)]
    while let (path, depth) = pending.popLast() {
      if take(bundle: path) { continue }
      guard depth <= ModelCollection.maximumDepth else {
        notEntered.append(.tooDeep(path))
        continue
      }
      guard let names = ModelFile.readNames(in: path) else {
        notEntered.append(.unreadable(folder: path))
        continue
      }
      var folders: [String] = []
      for name in names {
        entryCount += 1
        guard hasRoom(in: folder) else { return }
        let entry = path + "/" + name
        switch ModelFile.kind(at: entry) {
        case .folder: folders.append(entry)
        case .file: take(file: entry, isNamed: false)
        default: break
        }
      }
      pending += folders.reversed().map { ($0, depth + 1) }
    }
  }

  /// Whether the limits allow the search to go on. If not, the first call adds an error for `folder` to ``notEntered``.
  private mutating func hasRoom(in folder: String) -> Bool {
    let isFull =
      entryCount > ModelCollection.maximumEntries
      || versions.count >= ModelCollection.maximumVersions
    if isFull { cut(folder) }
    return !isFull
  }

  private mutating func cut(_ folder: String) {
    if !isCut { notEntered.append(.tooMany(folder)) }
    isCut = true
  }

  /// Adds the versions of a folder that is a model bundle. Returns false for an ordinary folder.
  private mutating func take(bundle path: String) -> Bool {
    switch ModelFile.pathExtension(path) {
    case "xcdatamodel":
      add(source: path, isMarked: false)
      return true
    case "xcdatamodeld":
      return takeSourceBundle(path)
    default:
      guard
        ModelFile.kind(at: path + "/VersionInfo.plist") == .file
          || ModelFile.pathExtension(path) == "momd"
      else { return false }
      return takeCompiledBundle(path)
    }
  }

  private mutating func takeSourceBundle(_ path: String) -> Bool {
    let marked = markedName(in: path)
    guard let all = ModelFile.readNames(in: path) else {
      notEntered.append(.unreadable(folder: path))
      return true
    }
    let names = all.filter {
      ModelFile.pathExtension($0) == "xcdatamodel"
        && ModelFile.kind(at: path + "/" + $0) == .folder
    }
    for name in names where hasRoom(in: path) {
      add(source: path + "/" + name, isMarked: name == marked)
    }
    if let marked, !names.contains(marked) {
      versions.append(.init(missing: marked, in: path, recorded: nil, isMarkedCurrent: true))
    }
    return true
  }

  /// Returns the file name of the current version, according to the marker in a `.xcdatamodeld`. Nil if there is no
  /// marker, or if the marker cannot be read; an unreadable marker is added to ``notEntered``.
  private mutating func markedName(in bundle: String) -> String? {
    let path = bundle + "/.xccurrentversion"
    guard ModelFile.kind(at: path) != nil else { return nil }
    do {
      let marker = try PropertyList(ofModel: try ModelFile.bytes(at: path))
      return marker["_XCCurrentVersionName"]?.stringValue
    } catch {
      notEntered.append(error.at(path: path))
      return nil
    }
  }

  /// Adds the versions of a `.momd`, or of any folder with a `VersionInfo.plist`. Returns false if the search must go
  /// on inside the folder, because the folder has other contents too.
  private mutating func takeCompiledBundle(_ path: String) -> Bool {
    let limit = ModelCollection.maximumVersions - versions.count
    guard let bundle = CompiledBundle(path, limit: limit) else { return false }
    takenPaths.formUnion(bundle.versions.map { Array($0.path.utf8) })
    versions += bundle.versions
    if bundle.isCut { cut(path) }
    let optimised = bundle.names.filter { ModelFile.pathExtension($0) == "omo" }
    for fileName in optimised { takeOptimised(path + "/" + fileName, in: path) }
    if let problem = bundle.problem {
      if bundle.versions.isEmpty, optimised.isEmpty {
        versions.append(
          .init(
            name: ModelFile.baseName(path), fileName: ModelFile.lastComponent(path), path: path,
            problem: problem))
      } else if bundle.names.contains("VersionInfo.plist") {
        notEntered.append(problem)
      }
    }
    return ModelFile.pathExtension(path) == "momd"
      || bundle.names.allSatisfy { ModelFile.isModelPart($0) }
  }

  /// Adds the version in the file at `path`. `isNamed`: whether the user gave the path. If so, the file is read as a
  /// model whatever its name is. Otherwise it is read only if it has the name of a model file.
  mutating func take(file path: String, isNamed: Bool) {
    let name = ModelFile.lastComponent(path)
    switch ModelFile.pathExtension(path) {
    case "mom":
      add(file: path, name: ModelFile.baseName(name))
    case "omo":
      let compiled = String(Substring(path.utf8.dropLast(3))) + "mom"
      if isNamed || ModelFile.kind(at: compiled) == nil,
        takenPaths.insert(Array(path.utf8)).inserted
      {
        addOptimised(path, Self.optimised(path))
      }
    case "plist" where name == "VersionInfo.plist" || isNamed:
      // A search of a folder reads this file together with the versions in the same folder.
      if isNamed { takeVersionInfo(path) }
    case "" where name == "contents" || name == "elements":
      let parent = ModelFile.lastComponent(PathText.folder(of: path))
      guard isNamed || name == "contents" else { return }
      let isBundle = ModelFile.pathExtension(parent) == "xcdatamodel"
      add(file: path, name: isBundle ? ModelFile.baseName(parent) : name)
      // Files of other programs may have the same name.
      if !isNamed, versions.last?.path == path, versions.last?.problem?.code == .notAModel {
        versions.removeLast()
      }
    default:
      guard isNamed else { return }
      add(file: path, name: ModelFile.baseName(name))
    }
  }

  private mutating func takeVersionInfo(_ path: String) {
    do {
      let info = try VersionInfo(bytes: try ModelFile.bytes(at: path))
      for name in info.versionNames {
        versions.append(
          .init(
            name: name, fileName: name + ".mom", path: path, recorded: info.versions[name],
            isMarkedCurrent: info.currentVersionName == name))
      }
    } catch {
      versions.append(
        .init(
          name: "VersionInfo", fileName: "VersionInfo.plist", path: path,
          problem: error.at(path: path)))
    }
  }

  // MARK: Adding versions

  /// Adds the version in an `.xcdatamodel` folder. The version is in the file `contents` or in the older file
  /// `elements`.
  private mutating func add(source path: String, isMarked: Bool) {
    let isCurrent = ModelFile.kind(at: path + "/contents") == .file
    add(
      path, name: ModelFile.baseName(path), isMarked: isMarked,
      readFrom: path + (isCurrent ? "/contents" : "/elements"))
  }

  private mutating func add(file path: String, name: String) {
    guard takenPaths.insert(Array(path.utf8)).inserted else { return }
    add(path, name: name, isMarked: false, readFrom: path)
  }

  private mutating func add(_ path: String, name: String, isMarked: Bool, readFrom file: String) {
    var model: ManagedObjectModel?
    var unread: [ModelProblem] = []
    var problem: ModelError?
    do {
      (model, unread) = try ModelFile.model(try ModelFile.bytes(at: file), knowing: &known)
    } catch {
      problem = error.at(path: path)
    }
    versions.append(
      .init(
        name: name, fileName: ModelFile.lastComponent(path), path: path, model: model,
        isMarkedCurrent: isMarked, problem: problem, unreadValues: unread))
  }

  /// Reads an optimised model (`.omo`) in a bundle. The optimised model is added to the version of the bundle whose
  /// hashes it contains. If there is no such version, then the optimised model becomes a version of its own.
  private mutating func takeOptimised(_ path: String, in folder: String) {
    guard takenPaths.insert(Array(path.utf8)).inserted else { return }
    let read = Self.optimised(path)
    guard let model = try? read.get() else {
      // If the compiled model of the same name exists, a damaged optimised model is not reported.
      let compiled = String(Substring(path.utf8.dropLast(3))) + "mom"
      if ModelFile.kind(at: compiled) == nil { addOptimised(path, read) }
      return
    }
    for index in versions.indices.reversed()
    where PathText.isInside(versions[index].path, folder) {
      let version = versions[index]
      let known = version.knownHashes
      // A version without entities has no hashes to compare, so the name must match.
      let isNamed = version.name == ModelFile.baseName(path)
      if model.matches(known), isNamed || !known.isEmpty {
        versions[index].optimised = model
        return
      }
    }
    addOptimised(path, read)
  }

  /// Adds an optimised model as a version of its own. That version has no ``ModelCollection/Version/model``.
  private mutating func addOptimised(_ path: String, _ read: Result<OptimisedModel, ModelError>) {
    let name = ModelFile.lastComponent(path)
    var problem = OptimisedModel.error
    if case .failure(let error) = read { problem = error }
    versions.append(
      .init(
        name: ModelFile.baseName(name), fileName: name, path: path, problem: problem.at(path: path),
        optimised: try? read.get()))
  }

  private static func optimised(_ path: String) -> Result<OptimisedModel, ModelError> {
    do {
      return .success(try OptimisedModel(bytes: try ModelFile.bytes(at: path)))
    } catch {
      return .failure(error)
    }
  }
}

extension ModelError {
  package static func tooDeep(_ path: String) -> ModelError {
    ModelError(
      code: .notEntered,
      message:
        "Folders deeper than \(ModelCollection.maximumDepth) levels are not searched; "
        + "to search this folder, give its own path.",
      path: path)
  }

  package static func tooMany(_ path: String) -> ModelError {
    ModelError(
      code: .notEntered,
      message: "At most \(ModelCollection.maximumEntries) folder entries and "
        + "\(ModelCollection.maximumVersions) models are read at once; give the subfolders of this folder one by one.",
      path: path)
  }
}

extension ModelCollection.Version {
  package var isUnread: Bool {
    problem != nil && model == nil && recorded == nil && optimised == nil
  }

  /// The version hashes by entity name: the recorded hashes or, if no hashes are recorded, the computed ones. Entities
  /// whose hash is unknown are left out.
  package var knownHashes: [String: VersionHash] {
    recorded?.hashes ?? hashes?.hashes ?? [:]
  }
}

extension ModelFile {
  /// Whether the name is that of a model file in a folder of compiled models: `VersionInfo.plist`, `.mom`, `.omo` or
  /// `.cdm`.
  fileprivate static func isModelPart(_ name: String) -> Bool {
    name == "VersionInfo.plist" || ["mom", "omo", "cdm"].contains(pathExtension(name))
  }
}
