import CoreDataStore
import StoreFiles
import SafeFiles
import Foundation
import ModelTools
import ObjectModel
import SQLiteFile
import Quoting
import SQLCipherFiles
import SafeText
import StoreExtraction
import SupportBundle

/// The input of a command that needs a model: model files, a store that carries its model, or a folder, support bundle
/// or other archive that holds one of these.
struct ModelInput {
  let path: String
  /// The model versions that were found. For a store, this is the model that is cached in the store.
  let collection: ModelCollection
  /// The stores from which the versions of ``collection`` were read; empty when the versions do not come from stores.
  let stores: [Store]
  /// The files of the input that could not be read. Each is, was or may be a store or a model.
  let passedOver: [StoreFinder.PassedOver]

  /// The metadata and the version hashes that a store records.
  struct Store {
    let name: String
    let metadata: StoreMetadata?
    /// The version hashes that the store's metadata or a support bundle records; nil if neither records version hashes.
    let recorded: RecordedHashes?
  }

  /// The store that the user has named; nil for models, and for a folder of several stores.
  var store: Store? { stores.count == 1 ? stores.first : nil }
  var versions: [ModelCollection.Version] { collection.versions }

  /// Reads the models or stores at a path. `secrets` open an encrypted bundle or store.
  init(_ path: String, _ secrets: SecretOptions? = nil) throws {
    let found = try Self.found(at: path, secrets?.bundle, key: secrets?.key())
    if found.collection.versions.isEmpty { throw Self.nothingRead(found.passedOver, path) }
    self.path = path
    collection = found.collection
    stores = found.stores
    passedOver = found.passedOver
  }

  private static func nothingRead(
    _ passedOver: [StoreFinder.PassedOver], _ path: String
  ) -> ModelError {
    // Only an archive can be searched without any result; other inputs that hold nothing throw an error earlier.
    guard !passedOver.isEmpty else {
      return ModelError(
        code: .notAModel, message: "This archive holds no model and no store.", path: path)
    }
    let shown = passedOver.prefix(10).map { "\($0.path): \($0.message) (\($0.code))" }
    let more = passedOver.count > 10 ? "; and \(passedOver.count - 10) more" : ""
    return ModelError(
      code: .notAModel,
      message: "\(path): none of the stores and models could be read: "
        + shown.joined(separator: "; ") + more)
  }

  // MARK: - The chosen version

  /// The version with this name; without a name, the version that is marked as current, or else the only one. Throws
  /// `usage.whichVersion` when several versions are possible.
  func version(named name: String? = nil) throws -> ModelCollection.Version {
    if let name {
      let found = versions(named: name)
      guard let first = found.first else {
        let nearest = NearestName.of(name, among: versions.map(\.name))
        throw Failure(
          64, "usage.noSuchVersion", "\(path) has no version \(name); it has \(names)",
          hint: nearest.map { "did you mean \(ShellText.quoted($0))?" })
      }
      let models = Set(found.compactMap(\.model))
      guard models.count < 2 else {
        throw Failure(
          64, "usage.whichVersion",
          "\(path) has \(found.count) different versions called \(name): "
            + found.map(\.path).joined(separator: ", "), hint: "name one of these paths")
      }
      return found.first { $0.model != nil } ?? first
    }
    guard let current = collection.current else {
      throw Failure(
        64, "usage.whichVersion", "\(path) marks no version as current; it has \(names)",
        hint: Set(versions.map(\.name)).count < versions.count
          ? "name one of these paths: "
            + versions.prefix(5).map { ShellText.path($0.path) }.joined(separator: ", ")
          : "name a version with --model-version")
    }
    return current
  }

  /// Returns the versions that `name` may mean; empty when no version fits. Four comparisons are tried in turn: with
  /// the file name; with the file name, ignoring case, blanks, `_` and `-`; with the number at the end of the file
  /// name; with the version identifiers.
  func versions(named name: String) -> [ModelCollection.Version] {
    let bare =
      [".xcdatamodel", ".mom"].lazy.compactMap { PathText.dropping(suffix: $0, from: name) }.first
      ?? name
    let exact = versions.filter { PathText.isSame($0.name, name) || PathText.isSame($0.name, bare) }
    guard exact.isEmpty else { return exact }
    func plain(_ text: String) -> [UInt8] {
      text.lowercased().utf8.filter {
        $0 > 0x20 && $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "-")
      }
    }
    let wanted = plain(bare)
    let alike = versions.filter { plain($0.name) == wanted }
    guard alike.isEmpty else { return alike }
    func number(_ text: String) -> [UInt8] {
      text.utf8.reversed().prefix { (0x30...0x39).contains($0) }.reversed()
    }
    let byNumber = versions.filter { !wanted.isEmpty && number($0.name) == wanted }
    guard byNumber.isEmpty else { return byNumber }
    return versions.filter { $0.model?.versionIdentifiers.contains(name) ?? false }
  }

  /// The version that ``version(named:)`` chooses, and the model of this version. Throws when the model cannot be read,
  /// or when only the version hashes of the model are known.
  func model(named name: String? = nil) throws
    -> (version: ModelCollection.Version, model: ManagedObjectModel)
  {
    let version = try version(named: name)
    if let model = version.model { return (version, model) }
    if let problem = version.problem {
      if stores.isEmpty { throw problem }
      throw Failure(65, "model.unreadable", "\(path): \(problem.message)")
    }
    throw Failure(
      65, "model.hashesOnly",
      "\(path) holds only the version hashes of \(version.name), not the model itself",
      hint: "name the .xcdatamodel or .mom of this version")
  }

  /// The names of the versions, separated by commas: at most 20 names, followed by the number of the remaining
  /// versions.
  private var names: String {
    let shown = versions.prefix(20).map(\.name).joined(separator: ", ")
    return versions.count > 20 ? shown + " and \(versions.count - 20) more" : shown
  }

  // MARK: - Where models are

  fileprivate struct Found {
    var collection = ModelCollection(of: [])
    var stores: [Store] = []
    var passedOver: [StoreFinder.PassedOver] = []

    /// Adds what was found in a support bundle, which is a file of the archive that this value describes.
    mutating func add(_ bundle: Found) {
      collection = ModelCollection(of: collection.versions + bundle.collection.versions)
      stores += bundle.stores
      passedOver += bundle.passedOver
    }
  }

  /// Finds the models or stores at `path`. `secrets` open an encrypted bundle or archive, and `key` opens an encrypted
  /// store.
  private static func found(
    at path: String, _ secrets: BundleSecretOptions? = nil, key: CipherKey? = nil
  ) throws -> Found {
    if MappingModelSet.isMapping(at: path), ByteFile.exists(path) {
      throw Failure(
        65, "model.notAModel", "\(path) is a mapping model, not a model",
        hint: "to show the mapping model, run: lifeboat model show \(ShellText.path(path))")
    }
    if try PhoneBackup.split(path)?.name != nil
      || key != nil && FileStatus.of(path)?.kind == .file && !StoreInput.isArchive(path)
    {
      let (store, others) = try StoreInput.reading(path, bundle: nil, key: key) {
        (try CoreDataStore(path: $0.storePath()), $0.passedOver)
      }
      var found = of([(path: path, name: "cached in the store", store: store)])
      found.passedOver = others
      return found
    }
    if let store = try Self.store(at: path) {
      return of([(path: path, name: "cached in the store", store: store)])
    }
    if StoreInput.isArchive(path) {
      return try unpacked(BundleSecretOptions.bundle(at: path, secrets), path)
    }
    if let (archive, name) = UnpackedArchive.split(path) {
      let file = try BundleSecretOptions.bundle(at: archive, secrets)
      return try unpacked(file, archive, only: name, key)
    }
    do {
      let collection = try ModelCollection(searching: path)
      return Found(collection: collection, passedOver: collection.notEntered.map { .init($0) })
    } catch {
      if error.code == .notAModel, let found = try storesOrCache(at: path) { return found }
      throw error
    }
  }

  /// The version hashes and metadata that a store records, and the model that the store carries. The path leads to the
  /// store, to an archive with one store, or to a store in an archive. The hashes are empty if the store records no
  /// version hashes.
  static func record(
    ofStoreAt path: String, _ secrets: SecretOptions?,
    logView: SQLiteDatabase.LogView = .committed
  ) throws -> (
    hashes: [String: VersionHash], metadata: StoreMetadata?, model: ManagedObjectModel?
  ) {
    if StoreInput.isArchive(path) || StoreInput.isWithin(path) || secrets?.keyFile != nil {
      let input = try ModelInput(path, secrets)
      guard let store = input.store else {
        // The record of the store's hashes may be the entry of a bundle that has changed.
        if input.stores.isEmpty, let other = input.passedOver.first {
          throw Failure(65, other.code, "\(other.path): \(other.message)")
        }
        return ([:], nil, nil)
      }
      return (store.recorded?.hashes ?? [:], store.metadata, input.versions.first?.model)
    }
    // If the file is not a store, the store reader throws the fitting error.
    try requireNoFolder(path)
    let store = try CoreDataStore(path: path, logView: logView)
    return (store.metadata?.versionHashes ?? [:], store.metadata, store.cachedModel)
  }

  private static func requireNoFolder(_ path: String) throws {
    let resolved = ModelFile.resolved(path)
    guard let status = try FileStatus.of(resolved), status.kind == .folder else { return }
    throw Failure(
      64, "usage.folderAsStore", "\(path) is a folder, but a single store is expected",
      hint: "name the store's main file first, and the models after it")
  }

  /// The store at a path; nil when the path does not lead to an SQLite database.
  static func store(at path: String) throws -> CoreDataStore? {
    // A symbolic link to a model is followed. A symbolic link to a store is not: the store reader refuses the link.
    if FileStatus.found(path)?.kind == .symbolicLink,
      let target = try? ByteFile(ModelFile.resolved(path)),
      try target.beginsAsDatabase()
    {
      return try CoreDataStore(path: path)
    }
    let isDatabase: Bool
    do {
      isDatabase = try ByteFile(path).beginsAsDatabase()
    } catch {
      if error.code == .permission { throw error }
      return nil
    }
    return isDatabase ? try CoreDataStore(path: path) : nil
  }

  private static func of(
    _ opened: [(path: String, name: String, store: CoreDataStore)]
  ) -> Found {
    var versions: [ModelCollection.Version] = []
    var stores: [Store] = []
    for (path, name, store) in opened {
      let problem = store.cachedModelProblem ?? "the store carries no model"
      versions.append(
        .init(
          storeModel: store.cachedModel, name: name, path: path,
          problem: store.cachedModel == nil ? problem : nil))
      stores.append(
        Store(
          name: PathText.lastComponent(of: path), metadata: store.metadata,
          recorded: store.metadata.map {
            RecordedHashes(hashes: $0.versionHashes, checksum: $0.checksum, digest: $0.digest)
          }))
    }
    return Found(collection: ModelCollection(of: versions), stores: stores)
  }

  /// If the path is that of a folder, returns the stores in the folder. If it is that of a file that
  /// `model convert --to cache` has made, returns the model in the file. Nil for any other path.
  private static func storesOrCache(at path: String) throws -> Found? {
    let resolved = ModelFile.resolved(path)
    if FileStatus.found(resolved)?.kind == .folder {
      return try stores(in: resolved)
    }
    guard let bytes = try? ByteFile(resolved).bytes(at: 0, count: 64 << 20),
      let model = try? ModelCache.model(from: bytes)
    else { return nil }
    let name = PathText.lastComponent(of: path)
    return Found(
      collection: ModelCollection(of: [.init(storeModel: model, name: name, path: path)]))
  }

  /// The Core Data stores of a folder; nil when the folder holds no such store, and no file that may be one.
  private static func stores(in folder: String) throws -> Found? {
    let walk: StoreFinder.Found
    do { walk = try StoreFinder.find(at: folder) } catch let error as ExtractionError {
      guard error.code == .noStores else { throw error }
      return nil
    }
    var opened: [(path: String, name: String, store: CoreDataStore)] = []
    var passedOver = walk.passedOver
    for file in walk.stores {
      do {
        opened.append((file, PathText.lastComponent(of: file), try CoreDataStore(path: file)))
      } catch {
        passedOver.append(.init(path: file, code: error.code.rawValue, message: error.message))
      }
    }
    // Many folders hold SQLite databases that have nothing to do with Core Data.
    var found = of(opened.filter { $0.store.kind != .sqlite })
    found.passedOver = passedOver
    return found.stores.isEmpty && passedOver.isEmpty ? nil : found
  }

  private static func unpacked(_ file: BundleFile, _ path: String) throws -> Found {
    let interruption = Interruption()
    return try withExtendedLifetime(interruption) {
      if UnpackedArchive.isBundle(file) { return try ofBundle(file, path, interruption) }
      let archive = try UnpackedArchive(file, making: interruption.files.making)
      return try withExtendedLifetime(archive) {
        let folder = archive.folder.path
        var inner = try inside(folder, path)
        inner.passedOver += archive.passedOver.map { $0.at(PathText.joined(path, $0.path)) }
        try inner.add(bundlesIn: folder, of: archive, path, interruption)
        return inner
      }
    }
  }

  /// Reads a support bundle. Entries that differ from the bundle's manifest are not read, but listed as passed over.
  fileprivate static func ofBundle(
    _ file: BundleFile, _ path: String, _ interruption: Interruption
  ) throws -> Found {
    let bundle = try UnpackedBundle(file, making: interruption.files.making)
    return try withExtendedLifetime(bundle) {
      var found = try inside(bundle.path, path)
      found.passedOver += bundle.skipped.map { entry in
        StoreFinder.PassedOver(
          path: PathText.joined(path, entry.name), code: BundleError.Code.entryChanged.rawValue,
          message: "this entry is not read, because \(entry.reason); to see what is wrong, run: "
            + "lifeboat bundle verify \(ShellText.path(path))")
      }
      return found
    }
  }

  /// Unpacks the store, model or folder `name` of the archive at `path`.
  private static func unpacked(
    _ file: BundleFile, _ path: String, only name: String, _ key: CipherKey?
  ) throws -> Found {
    let interruption = Interruption()
    return try withExtendedLifetime(interruption) {
      let archive = try UnpackedArchive(file, only: name, making: interruption.files.making)
      return try withExtendedLifetime(archive) {
        let place = PathText.joined(archive.folder.path, UnpackedArchive.escaped(name))
        guard try FileStatus.of(place) != nil else {
          throw Failure(
            64, "input.unknownName", "the archive \(path) has no store or model \(name)",
            hint: "to see all of them, run: lifeboat model show \(ShellText.path(path))")
        }
        let given = PathText.joined(path, name)
        if let bundle = try archive.bundle(at: place, named: given) {
          return try ofBundle(bundle, given, interruption)
        }
        var inner = Found()
        do { inner = try found(at: place, key: key) } catch let error as ModelError
          where error.code == .notAModel && !archive.bundles(in: place).isEmpty
        {} catch {
          throw try Failure.told(error, of: place, in: archive.folder.path, as: given)
        }
        inner.collection = inner.collection.moved(from: place, to: given)
        inner.passedOver = inner.passedOver.map { other in
          other.at(ModelCollection.moved(other.path, from: place, to: given))
        }
        inner.passedOver += archive.passedOver.map { $0.at(PathText.joined(path, $0.path)) }
        try inner.add(bundlesIn: place, of: archive, path, interruption)
        return inner
      }
    }
  }

  /// The models and stores in the folder of an unpacked archive, or of an unpacked support bundle. `path` is the path
  /// of the archive.
  private static func inside(_ folder: String, _ path: String) throws -> Found {
    var inner = Found()
    do { inner = try found(at: folder) } catch let error as ModelError
      where error.code == .notAModel
    {}
    inner.passedOver = inner.passedOver.map { other in
      other.at(ModelCollection.moved(other.path, from: folder, to: path))
    }
    let recorded = recordedHashes(in: folder)
    let name = PathText.lastComponent(of: path)
    guard inner.collection.versions.isEmpty else {
      inner.collection = inner.collection.moved(from: folder, to: path)
      // The bundle contains the model, but not the store that the model is from.
      if inner.stores.isEmpty, let recorded {
        inner.stores = [Store(name: name, metadata: nil, recorded: recorded)]
      }
      return inner
    }
    guard let recorded else { return inner }
    let problem = "the bundle holds the store's version hashes, but neither the store nor its model"
    let version = ModelCollection.Version(
      storeModel: nil, name: "recorded in the bundle", path: path, recorded: recorded,
      problem: problem)
    inner.collection = ModelCollection(of: [version])
    inner.stores = [Store(name: name, metadata: nil, recorded: recorded)]
    return inner
  }

  /// Returns the version hashes that are recorded in a support bundle, for a bundle that does not contain the store
  /// itself. Nil when the bundle has no such record, or when the record cannot be read.
  private static func recordedHashes(in folder: String) -> RecordedHashes? {
    struct Stored: Decodable {
      let hashes: [String: String]
      let checksum: String?
      let digest: String?
    }
    let path = PathText.joined(folder, UnpackedArchive.hashesName)
    guard let file = try? ByteFile(path),
      let bytes = try? file.bytes(at: 0, count: BundleManifest.maxBytes + 1),
      bytes.count <= BundleManifest.maxBytes,
      let stored = try? JSONDecoder().decode(Stored.self, from: Data(bytes))
    else { return nil }
    let hashes = stored.hashes.compactMapValues { VersionHash(hex: $0) }
    guard hashes.count == stored.hashes.count, !hashes.isEmpty else { return nil }
    return RecordedHashes(hashes: hashes, checksum: stored.checksum, digest: stored.digest)
  }
}

extension ModelInput.Found {
  /// Adds what is found in each support bundle in the folder at `place`, which belongs to an unpacked archive. `path`
  /// is the path of the archive. A bundle that cannot be read is passed over.
  fileprivate mutating func add(
    bundlesIn place: String, of archive: UnpackedArchive, _ path: String,
    _ interruption: Interruption
  ) throws {
    for copy in archive.bundles(in: place) {
      let inner = PathText.dropping(prefix: archive.folder.path + "/", from: copy) ?? copy
      let name = PathText.joined(path, inner)
      do {
        guard let bundle = try archive.bundle(at: copy, named: name) else { continue }
        add(try ModelInput.ofBundle(bundle, name, interruption))
      } catch let error as BundleError {
        passedOver.append(.init(path: name, code: error.code.rawValue, message: error.message))
      }
    }
  }
}

extension DisplayOptions {
  /// Returns the version of the model at `path` that `version` names, and the model of this version. If `version` is
  /// nil, returns the current version. Lists on standard error the files beside the model that could not be read.
  func model(
    at path: String, version: String?
  ) throws -> (version: ModelCollection.Version, model: ManagedObjectModel) {
    let input = try ModelInput(path)
    for other in input.passedOver { note(other) }
    return try input.model(named: version)
  }

  /// Lists on standard error, one on each line, the files that a command could not read. If there are such files, then
  /// throws the exit code that means "findings".
  func tell(passedOver: [StoreFinder.PassedOver]) throws {
    for other in passedOver { note(other) }
    if !passedOver.isEmpty { try exitWithFindings() }
  }

  func note(_ other: StoreFinder.PassedOver) {
    note("finding: \(other.path): \(other.message) (\(other.code))")
  }
}
