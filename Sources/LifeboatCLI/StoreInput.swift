import ArgumentParser
import Foundation
import Quoting
import SQLiteFile
import SafeFiles
import SafeText
import SQLCipherFiles
import StoreExtraction
import StoreFiles
import StoreRecovery
import SupportBundle
import Terminal

/// A command that reads one store, which may be in a folder, an archive, an incident or a bundle.
protocol StoreReader: ParsableCommand, RecordedCommand {
  /// The path of a store, of a folder or archive that holds one, of an incident's folder or of a bundle.
  var path: String { get }
  var secrets: SecretOptions { get }
  var display: DisplayOptions { get }

  func read(_ input: StoreInput) throws
}

extension StoreReader {
  var evidencePaths: [String] { [path] }

  func run() throws { try StoreInput.reading(path, secrets, display, read) }
}

/// The input that an argument names: the main file of a store, a folder or archive that contains one store, the folder
/// of an incident, or a support bundle. An archive is unpacked into a private folder, which is removed when this object
/// is released.
final class StoreInput {
  /// The path as the user gave it. Messages show this path, because commands accept it as an argument.
  let given: String
  /// The options that open an encrypted bundle; nil when no options were given.
  private let secrets: BundleSecretOptions?
  /// The incident that the store is in; nil for a store that is not in an incident.
  private(set) var incident: Incident?
  /// Entries of the bundle that were not unpacked because they differ from the bundle's manifest.
  var leftOut: [BundleExtraction.Skipped] { bundle?.skipped ?? [] }
  /// The archives in the given archive or folder that were not opened, and the files of a backup that cannot be read.
  /// Each has a path and a reason.
  private(set) var passedOver: [StoreFinder.PassedOver] = []
  /// The archive or bundle, opened as a file; nil for a store and for a folder.
  private(set) var file: BundleFile?
  /// The path of the store's main file; nil for a bundle that does not contain the store. If the main file was
  /// unpacked, other files of the store may be missing beside it, because they were not unpacked.
  private(set) var store: String?
  private(set) var bundle: UnpackedBundle?
  private var archive: UnpackedArchive?
  private var backup: UnpackedBackup?
  /// The decrypted copy of the store; nil if the store is not encrypted, or if no key was given.
  private(set) var decrypted: DecryptedStore?
  /// Makes sure that the private folder is removed when a signal ends the process.
  private lazy var interruption = Interruption()

  /// Whether rows may be wrong or missing, because pages of the encrypted store do not match their authentication codes,
  /// because the backup lacks files of the store, or because entries of the bundle are not as the manifest lists them.
  var isInDoubt: Bool {
    decrypted?.findings.damageCount ?? 0 > 0 || !leftOut.isEmpty
      || backup != nil && passedOver.contains { $0.code == "file.missing" }
  }

  /// Whether the file at a path is an archive or is encrypted, so that a store may be inside.
  static func isArchive(_ path: String) -> Bool { UnpackedArchive.mayHoldStore(path) }

  /// Whether the path is that of an incident's folder, which contains the file `incident.json`.
  static func isIncident(_ path: String) -> Bool {
    FileStatus.found(record(in: path))?.kind == .file
  }

  /// Opens the store or bundle at the path `given`. An archive or a phone backup is unpacked, unless `kept` contains
  /// the unpacked archive. An encrypted store is decrypted if `key` is given. If `isBundle` is true, only bundles are
  /// accepted: any other archive is refused, and a path into an archive names a bundle in this archive.
  init(
    _ given: String, bundle secrets: BundleSecretOptions? = nil, key: CipherKey? = nil,
    kept: KeptArchive? = nil, isBundle: Bool = false
  ) throws {
    self.given = given
    self.secrets = secrets
    if let kept { try Self.refill(kept, for: given, secrets) }
    if let kept, let opened = kept.opened(for: given) {
      file = opened.file
      if let archive = opened.archive {
        interruption = kept.interruption
        try take(archive, opened.name, of: opened.path)
      } else {
        try unpack(opened.file)
      }
    } else if Self.isArchive(given) || isBundle && UnpackedArchive.split(given) != nil {
      kept?.drop()
      try unpack(BundleSecretOptions.bundle(at: given, secrets), isBundle: isBundle)
    } else if let (archive, name) = UnpackedArchive.split(given) {
      kept?.drop()
      try unpack(BundleSecretOptions.bundle(at: archive, secrets), name, of: archive)
    } else if Self.isIncident(given) {
      (store, incident) = try Self.kept(in: PathText.withoutTrailingSlashes(given))
    } else if let (backup, name) = PhoneBackup.split(given) {
      try unpack(PhoneBackup(backup), name)
    } else {
      store = try only(atPath: given)
    }
    if let key, let store { try decrypt(store, key) }
  }

  /// Whether the store must be unpacked before it can be read. True if `path` is the path of an archive or phone
  /// backup, or names a store inside an archive or phone backup.
  static func isPacked(_ path: String) -> Bool { isInside(path) || isArchive(path) }

  /// Whether a path names a store within an archive or a phone backup.
  static func isWithin(_ path: String) -> Bool {
    PhoneBackup.split(path)?.name != nil || UnpackedArchive.split(path) != nil
  }

  /// Whether a path names a phone backup, or a store within an archive or a phone backup.
  static func isInside(_ path: String) -> Bool {
    PhoneBackup.split(path) != nil || UnpackedArchive.split(path) != nil
  }

  /// Returns the paths of all stores in the folder, archive or phone backup at `path`. For any other path, returns only
  /// `path` itself.
  ///
  /// Calls `tell` with each file that the caller should report: files that are, were or may be stores but cannot be
  /// read, archives that cannot be opened, and unreadable files of a phone backup. Puts the last archive that was
  /// opened into `kept`.
  static func all(
    at path: String, _ secrets: BundleSecretOptions, _ kept: KeptArchive,
    _ tell: (StoreFinder.PassedOver) -> Void
  ) throws -> [String] {
    if isArchive(path) { return try stores(inArchive: path, secrets, kept, tell) }
    guard !isIncident(path) else { return [path] }
    if let (folder, name) = PhoneBackup.split(path) {
      if let name {
        // A backup that cannot be opened causes a failure later, when the store is read.
        if let backup = try? PhoneBackup(folder), let store = backup.store(named: name) {
          backup.problems(of: store).forEach(tell)
        }
        return [path]
      }
      let (stores, others) = try PhoneBackup(folder).contents()
      others.forEach(tell)
      return stores.map { PathText.joined(folder, $0.name) }
    }
    let found = try StoreFinder.find(at: path, taking: .archives)
    found.passedOver.forEach(tell)
    let inner = try found.taken.flatMap { archive in
      do { return try stores(inArchive: archive, secrets, kept, tell) } catch {
        guard let failure = Failure(error) else { throw error }
        // An archive without a store is common in a folder, so nothing is said about it.
        guard failure.code != ExtractionError.Code.noStores.rawValue else { return [] }
        // The message goes into a list that shows the path beside the message.
        let message = (error as? BundleError)?.message ?? failure.message
        tell(.init(path: archive, code: failure.code, message: message))
        return []
      }
    }
    guard !inner.isEmpty else { return found.stores }
    return (found.stores + inner).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// The arguments that name this input in a command that is suggested to the user: the given path, quoted for the
  /// shell, and the options that are needed to open the input.
  var argument: String { secrets?.argument(given) ?? ShellText.path(given) }

  /// Like ``argument``, but names the bundle itself if the given path is that of an archive with the bundle in it. The
  /// commands about bundles need this path.
  var bundleArgument: String {
    let path = file?.path ?? given
    return secrets?.argument(path) ?? ShellText.path(path)
  }

  /// The path of the store's main file.
  ///
  /// - Throws: a failure when the input is a bundle that does not contain the store, or when a file of the store has
  ///   changed since it was packed.
  func storePath() throws -> String {
    try requireAsPacked("store/")
    guard let store else {
      throw Failure(
        65, "bundle.noStore", "\(given) holds no store, only records about one",
        hint:
          "to see these records, run: lifeboat inspect \(argument); for the store itself, ask for "
          + "a bundle made with --include store")
    }
    return store
  }

  /// Returns the recorded inspection of the store from a support bundle that does not contain the store itself. Returns
  /// nil for any other input.
  func recordedInspection() throws -> StoreInspection? {
    guard let bundle, store == nil else { return nil }
    // A bundle may lack the store because the store was not unpacked, for example because its entry was damaged. This
    // is a failure.
    try requireAsPacked("store/")
    try requireAsPacked(StoreBundle.inspectionName)
    let record = PathText.joined(bundle.path, StoreBundle.inspectionName)
    guard ByteFile.exists(record),
      let inspection = try? RecordFile.read(record, as: StoreInspection.self)
    else {
      throw Failure(
        65, "report.noInspection",
        "\(given): \(StoreBundle.inspectionName), the record of the store, is missing or cannot be read"
      )
    }
    return inspection
  }

  /// Throws a failure when an entry whose name starts with `name` has changed since it was packed.
  func requireAsPacked(_ name: String) throws {
    guard let part = leftOut.first(where: { PathText.starts($0.name, with: name) }) else { return }
    throw Failure(
      65, BundleError.Code.entryChanged.rawValue,
      "\(given): \(part.name) has changed since it was packed: \(part.reason)",
      hint:
        "ask the sender for the bundle once more; to unpack what is intact, run: lifeboat bundle extract "
        + "\(bundleArgument) -o DIR")
  }

  /// The store's name for the title of a page, and the argument that names the store in the commands on the page.
  /// Neither of them contains the path of the folder that the store is in.
  var names: (title: String, argument: String) {
    let outer = PathText.lastComponent(of: PathText.withoutTrailingSlashes(given))
    guard let store else { return (outer, outer) }
    let name = PathText.lastComponent(of: store)
    return privateFolder == nil ? (name, name) : ("\(name) in \(outer)", outer)
  }

  /// Writes notes to standard error about the archives that were not opened and the files that cannot be read, with the
  /// reasons.
  func tellPassedOver(_ display: DisplayOptions) {
    for other in passedOver { display.note("note: \(other.path): \(other.message)") }
  }

  /// Throws a failure if the output would become part of this input.
  func check(_ output: String) throws {
    let isUnpacked = bundle != nil || archive != nil || backup != nil
    // If the store was only decrypted, the evidence is the encrypted store, which may be in a folder that the user
    // named.
    try EvidenceGuard.check(
      output, against: isUnpacked ? given : decrypted?.evidence.mainPath ?? storePath())
  }

  // MARK: - Reading

  /// Calls `body` with the opened input, as ``reading(_:bundle:key:_:)`` does, and reports damage around the call.
  /// Before the call, lists the pages of an encrypted store that do not match their authentication codes. After the
  /// call, lists the entries of a bundle that have changed, and throws the exit code for findings if the input is in
  /// doubt (``isInDoubt``).
  static func reading<Result>(
    _ path: String, _ secrets: SecretOptions, _ display: DisplayOptions,
    _ body: (StoreInput) throws -> Result
  ) throws -> Result {
    try reading(path, bundle: secrets.bundle, key: secrets.key()) { input in
      display.note(input.decrypted?.findings.kept ?? [])
      input.tellPassedOver(display)
      let result: Result
      do { result = try body(input) } catch let code as ExitCode {
        input.tellChanges(display)
        throw code
      }
      input.tellChanges(display)
      if input.isInDoubt { try display.exitWithFindings() }
      return result
    }
  }

  /// Calls `body` with the opened input. If `body` fails, the failure names the path that the user gave, and not that
  /// of a private folder.
  static func reading<Result>(
    _ path: String, bundle secrets: BundleSecretOptions?, key: CipherKey? = nil,
    kept: KeptArchive? = nil, isBundle: Bool = false, _ body: (StoreInput) throws -> Result
  ) throws -> Result {
    let input = try StoreInput(path, bundle: secrets, key: key, kept: kept, isBundle: isBundle)
    return try withExtendedLifetime(input) {
      guard let folder = input.privateFolder else { return try body(input) }
      do { return try body(input) } catch {
        throw try Failure.told(error, of: input.store ?? folder, in: folder, as: path)
      }
    }
  }

  /// Returns `text` with the path of the private folder replaced by the path that the user gave.
  func shown(_ text: String) -> String {
    guard let privateFolder else { return text }
    let named = store.map { Self.replacing($0, with: given, in: text) } ?? text
    return Self.replacing(privateFolder, with: given, in: named)
  }

  /// Returns `text` with each occurrence of `old` replaced by `new`. Compares bytes, not characters.
  static func replacing(_ old: String, with new: String, in text: String) -> String {
    let bytes = Array(text.utf8).replacing(Array(old.utf8), with: Array(new.utf8))
    return String(decoding: bytes, as: UTF8.self)
  }

  private var privateFolder: String? {
    decrypted?.path ?? bundle?.path ?? archive?.folder.path ?? backup?.path
  }

  // MARK: - Archives

  /// Returns a path for each store and support bundle in an archive: the archive's path, followed by the name of the
  /// store or bundle. For a support bundle, and for an archive with only one store or bundle and nothing to tell,
  /// returns only the archive's path.
  private static func stores(
    inArchive path: String, _ secrets: BundleSecretOptions, _ kept: KeptArchive,
    _ tell: (StoreFinder.PassedOver) -> Void
  ) throws -> [String] {
    let file = try BundleSecretOptions.bundle(at: path, secrets)
    guard try UnpackedArchive.bundle(in: file) == nil else {
      kept.keep(path, file)
      return [path]
    }
    return try withExtendedLifetime(kept) {
      let archive = try unpacked(file, path, kept)
      return try withExtendedLifetime(archive) {
        let folder = archive.folder.path
        func named(_ place: String) -> String {
          PathText.joined(path, PathText.dropping(prefix: folder + "/", from: place) ?? place)
        }
        func tellOf(_ others: [StoreFinder.PassedOver]) {
          for other in others { tell(other.at(named(other.path))) }
        }
        tellOf(archive.passedOver)
        let found = try found(at: folder, of: archive, named: path)
        let all = found.stores + found.passedOver.map(\.path)
        // If something else was told of the archive, its path alone would not say what is meant.
        if let only = all.first, all.count == 1 {
          return [archive.passedOver.isEmpty ? path : named(only)]
        }
        tellOf(found.passedOver)
        return found.stores.map(named)
      }
    }
  }

  /// Unpacks the archive at `path`, and keeps it in `kept`. The archive that was kept before is removed first, so that
  /// only one takes space on the disk.
  private static func unpacked(
    _ file: BundleFile, _ path: String, _ kept: KeptArchive
  ) throws -> UnpackedArchive {
    kept.drop()
    let archive = try unpacking(path) {
      try UnpackedArchive(file, making: kept.interruption.files.making)
    }
    kept.keep(path, file, archive)
    return archive
  }

  /// Unpacks an archive again, which contains the store at `path`. Does so only if `kept` has held the archive earlier
  /// and no longer holds it.
  private static func refill(
    _ kept: KeptArchive, for path: String, _ secrets: BundleSecretOptions?
  ) throws {
    guard kept.opened(for: path) == nil, let (archive, _) = UnpackedArchive.split(path),
      kept.hasListed(archive)
    else { return }
    _ = try unpacked(BundleSecretOptions.bundle(at: archive, secrets), archive, kept)
  }

  /// Unpacks the store `name` of the archive at `path`.
  private func unpack(_ file: BundleFile, _ name: String, of path: String) throws {
    self.file = file
    let archive = try Self.unpacking(path) {
      try UnpackedArchive(file, only: name, making: interruption.files.making)
    }
    try take(archive, name, of: path)
  }

  /// Opens the store or support bundle `name` in the unpacked archive or, if `name` is nil, the only one in it. `path`
  /// is the path of the archive.
  private func take(_ archive: UnpackedArchive, _ name: String?, of path: String) throws {
    self.archive = archive
    let folder = archive.folder.path
    var place = name.map { PathText.joined(folder, UnpackedArchive.escaped($0)) } ?? folder
    // If `name` is that of a folder or an archive inside the archive, the only store in there is read.
    if try FileStatus.of(place)?.kind == .folder {
      note(archive.passedOver, in: path)
      place = try only(inFolder: place, of: archive)
    } else if let name, !ByteFile.exists(place) {
      throw Failure(
        64, "input.unknownName", "the archive \(path) has no store \(name)",
        hint: "to see all stores, run: lifeboat inspect \(ShellText.path(path))")
    }
    let inner = PathText.dropping(prefix: folder + "/", from: place) ?? place
    if let bundle = try archive.bundle(at: place, named: PathText.joined(path, inner)) {
      try take(bundle)
    } else {
      store = place
    }
  }

  private func unpack(_ file: BundleFile, isBundle: Bool = false) throws {
    self.file = file
    let making = interruption.files.making
    try Self.unpacking(given) {
      guard try UnpackedArchive.bundle(in: file) != nil else {
        guard !isBundle else { throw Self.notABundle(given, hint: file.innerHint) }
        return try take(UnpackedArchive(file, making: making), nil, of: given)
      }
      try take(file)
    }
  }

  /// Unpacks a support bundle, and sets ``store`` to the store in it, if there is one.
  private func take(_ file: BundleFile) throws {
    self.file = file
    let bundle = try Self.unpacking(file.path) {
      try UnpackedBundle(file, making: interruption.files.making)
    }
    self.bundle = bundle
    let files = PathText.joined(bundle.path, "store")
    incident = try? RecordFile.read(Self.record(in: bundle.path), as: Incident.self)
    if try FileStatus.of(files)?.kind == .folder {
      store = try only(inFolder: files)
    }
  }

  /// The failure for an input that is not a bundle. `hint` replaces the default hint, which says how to make a bundle.
  static func notABundle(_ path: String, hint: String? = nil) -> Failure {
    Failure(
      65, BundleError.Code.manifestMissing.rawValue, "\(path) is not a bundle",
      hint: hint ?? "to make a bundle, run: lifeboat bundle create STORE -o FILE")
  }

  private func note(_ others: [StoreFinder.PassedOver], in archive: String) {
    passedOver = others.map { $0.at(PathText.joined(archive, $0.path)) }
  }

  /// Runs `work`, which unpacks an archive. If `work` fails because the disk is full, or because the archive would
  /// become too large, the failure says what the user can do.
  private static func unpacking<Result>(_ path: String, _ work: () throws -> Result) throws
    -> Result
  {
    do { return try work() } catch let error as BundleError where error.code == .cannotCreate {
      throw Failure(
        73, error.code.rawValue,
        "\(path): a part of the archive cannot be unpacked into the temporary folder: \(error.message)",
        hint: "check that the folder in TMPDIR can be written to and has free space")
    } catch let error as BundleError where error.code == .tooLarge {
      throw Failure(
        65, error.code.rawValue, "\(path): \(error.message)",
        hint:
          "if you trust the sender, unpack the archive and name the new folder, or name one store in the archive: "
          + ShellText.path(PathText.joined(path, "STORE")))
    }
  }

  // MARK: - Backups

  private func unpack(_ backup: PhoneBackup, _ name: String?) throws {
    // If the path names the store, the other files of the backup need not be examined.
    let named = name.flatMap(backup.store)
    let found = named == nil ? backup.contents() : nil
    let stores = found?.stores ?? []
    guard let only = named ?? (name == nil && stores.count == 1 ? stores[0] : nil) else {
      let names = stores.prefix(5).map(\.name).joined(separator: ", ")
      throw Failure(
        64, name == nil ? "usage.oneStore" : "input.unknownName",
        name.map { "the backup \(backup.path) has no store \($0)" }
          ?? "the backup \(given) holds \(Quantity.count(stores.count, "store")), and one is expected: "
          + names + (stores.count > 5 ? ", …" : ""),
        hint:
          "to see all stores, run: lifeboat inspect \(ShellText.path(backup.path)); to read one, add its name to the path: "
          + ShellText.path(PathText.joined(backup.path, stores.first?.name ?? "DOMAIN/PATH")))
    }
    passedOver = found?.passedOver ?? backup.problems(of: only)
    let unpacked = try UnpackedBackup(only, making: interruption.files.making)
    self.backup = unpacked
    store = unpacked.storePath
  }

  // MARK: - Encrypted stores

  private func decrypt(_ store: String, _ key: CipherKey) throws {
    let name = shown(store)
    do {
      guard
        let decrypted = try DecryptedStore.ifEncrypted(
          store, key, making: interruption.files.making)
      else { return }
      self.decrypted = decrypted
      self.store = decrypted.storePath
    } catch let error as CipherError {
      throw Failure(
        65, error.code.rawValue, "\(name): \(error.message)",
        hint: error.code == .noKeyFits
          ? "check the key; even the right key fails if the first 16 bytes of the file, the salt, are damaged"
          : nil)
    }
  }

  // MARK: - Folders

  /// Returns the only store or support bundle in a folder of an unpacked archive. If the folder contains neither, but
  /// the archive contains archives that were not opened, the hint of the failure names the first of these, because the
  /// store may be in it.
  private func only(inFolder path: String, of archive: UnpackedArchive) throws -> String {
    do {
      var found = try Self.found(at: path, of: archive, named: given)
      // The records in a bundle do not compete with a store.
      let (stores, records) = found.stores.reduce(into: ([String](), [String]())) {
        if archive.isBundleWithoutStore($1) { $0.1.append($1) } else { $0.0.append($1) }
      }
      if stores.count + found.passedOver.count == 1 {
        found.stores = stores
        passedOver += records.map { record in
          StoreFinder.PassedOver(
            path: PathText.joined(
              given, PathText.dropping(prefix: path + "/", from: record) ?? record),
            code: "bundle.noStore",
            message: "a support bundle without the store; to read its records, name it")
        }
      }
      return try only(of: found, in: path)
    } catch let failure as Failure where failure.code == ExtractionError.Code.noStores.rawValue {
      var told = failure
      if let other = archive.passedOver.first { told.hint = "\(other.path): \(other.message)" }
      throw told
    }
  }

  /// Returns the path of the only store in a folder, and throws if there is not exactly one. A damaged file that was a
  /// store counts too, so that the user learns about it.
  private func only(inFolder path: String) throws -> String {
    try only(of: Self.found(at: path, named: given), in: path)
  }

  private func only(of found: StoreFinder.Found, in path: String) throws -> String {
    let stores = found.stores + found.passedOver.map(\.path)
    if let only = stores.first, stores.count == 1 { return only }
    let names = stores.prefix(5).map { PathText.dropping(prefix: path + "/", from: $0) ?? $0 }
    throw Failure(
      64, "usage.oneStore",
      "\(given) holds \(stores.count) stores, damaged ones included, and one is expected: "
        + names.joined(separator: ", ") + (stores.count > 5 ? ", …" : "")
        + (passedOver.isEmpty
          ? "" : "; \(Quantity.count(passedOver.count, "archive")) beside them not opened"),
      hint: Self.isArchive(given) || UnpackedArchive.split(given) != nil
        ? "to read one, add its name to the path of the archive: \(ShellText.path(PathText.joined(given, names.first ?? "")))"
        : "name one of these files; to see all of them, use: lifeboat inspect")
  }

  /// Returns `path` if it does not name a folder. For a folder, returns the path of the only store in the folder, and
  /// sets ``passedOver`` to the archives in the folder. Throws if the folder does not contain exactly one store.
  private func only(atPath path: String) throws -> String {
    guard try FileStatus.of(path)?.kind == .folder else { return path }
    let found = try StoreFinder.find(at: path, taking: .archives)
    if found.stores.isEmpty, found.passedOver.isEmpty, let first = found.taken.first {
      throw Failure(
        64, "usage.oneStore",
        "\(given) holds \(Quantity.count(found.taken.count, "archive")) and no store",
        hint: "name an archive instead of the folder: \(ShellText.path(first))")
    }
    passedOver = found.taken.map {
      .init(
        path: $0, code: "input.notEntered",
        message: "this archive was not opened; to read it, name it instead of the folder")
    }
    return try only(of: found, in: path)
  }

  /// Finds the stores and the support bundles in a folder of an unpacked archive.
  private static func found(
    at path: String, of archive: UnpackedArchive, named given: String
  ) throws -> StoreFinder.Found {
    let bundles = archive.bundles(in: path)
    var found = StoreFinder.Found()
    do { found = try self.found(at: path, named: given) } catch let failure as Failure
      where failure.code == ExtractionError.Code.noStores.rawValue && !bundles.isEmpty
    {}
    found.stores = (found.stores + bundles).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    return found
  }

  private static func found(at path: String, named given: String) throws -> StoreFinder.Found {
    do { return try StoreFinder.find(at: path) } catch let error as ExtractionError
      where error.code == .noStores && (isArchive(given) || isWithin(given))
    {
      let archive = UnpackedArchive.split(given)?.archive ?? given
      throw Failure(
        65, error.code.rawValue, "\(given) holds no store",
        hint: ArchiveListing.hint(archive))
    }
  }

  /// The absolute path of a file or folder, without `.` and `..`. Links are not resolved.
  static func absolute(_ path: String) -> String {
    URL(fileURLWithPath: path).standardizedFileURL.path
  }
}

extension StoreFinder.Wanted {
  /// Finds archives and encrypted files, in addition to stores.
  static let archives = Self(file: UnpackedArchive.mayHoldStore)
}
