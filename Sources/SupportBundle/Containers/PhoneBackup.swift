import CoreDataStore
import ObjectModel
import SQLiteFile
import SafeFiles
import SafeText
package import StoreExtraction
import StoreFiles

/// An unencrypted backup of an iPhone or iPad, as Finder and iTunes make such backups. The files of a backup have
/// hashes as names. For each file, `Manifest.db` lists the domain, for example that of an app, and the path that the
/// file had on the phone.
///
/// The table `Files` has four columns: `fileID`, the SHA-1 of `domain-path` in hexadecimal; `domain`; `relativePath`;
/// and `flags`, which is 1 for a file. The file itself is in a folder whose name is the first two digits of the file's
/// id.
package struct PhoneBackup {
  package struct Store: Sendable {
    /// The domain of the main file, and the path of the main file within this domain, joined by `/`:
    /// `AppDomain-org.example.Notes/Library/Notes.sqlite`.
    package let name: String
    /// The files of the store set. `name` is the domain and the path of the file on the phone, as in ``Store/name``.
    /// `place` is the path of the file's copy in the backup.
    package let members: [(name: String, place: String)]
    /// The names of the files of the store set that the backup lists, but that cannot be read. A missing shared-memory
    /// file does not count, because SQLite makes this file anew.
    let lost: [String]
  }

  /// What a file in the backup's list is: the main file of a store, a file that must be reported, or neither.
  private enum Judgement {
    case store(Store)
    case passedOver(StoreFinder.PassedOver)
    case other
  }

  package let path: String
  /// The `fileID` of each file in the backup's list. The key is the domain and the path of the file, joined by `/`.
  private let files: [ExactText: String]
  /// The names of external data files, keyed by the support folder (`.NAME_SUPPORT`) of their store.
  private let external: [ExactText: [String]]
  /// The problems of `Manifest.db`, the backup's list of files.
  private let listProblems: [StoreFinder.PassedOver]

  /// The maximum number of files that are read from the backup's list.
  package static let fileLimit = 4_000_000
  private static let manifestName = "Manifest.db"

  /// Whether a folder is a phone's backup. Such a folder contains `Manifest.db`. In addition, the folder contains
  /// `Manifest.plist` or `Info.plist`, or `Manifest.db` has a table `Files` with a column `fileID`.
  package static func isBackup(_ path: String) -> Bool {
    func isFile(_ name: String) -> Bool {
      FileStatus.found(PathText.joined(path, name))?.kind == .file
    }
    guard isFile(manifestName) else { return false }
    if isFile("Manifest.plist") || isFile("Info.plist") { return true }
    let list = try? SQLiteDatabase(path: PathText.joined(path, manifestName))
    return list?.schema.table(named: "Files")?.columnNames.contains { SQLName.isSame($0, "fileID") }
      ?? false
  }

  /// Splits the path of a store in a backup. Returns the path of the backup, and the name of the store in the backup.
  /// `name` is nil if `path` is the path of the backup itself. Returns nil for any other path.
  package static func split(_ path: String) -> (backup: String, name: String?)? {
    let whole = PathText.withoutTrailingSlashes(path)
    if isBackup(whole) { return (whole, nil) }
    guard FileStatus.found(whole) == nil else { return nil }
    var parts = PathText.components(of: whole)
    var rest: [String] = []
    // A path on a phone has fewer than 64 components.
    while let last = parts.popLast(), rest.count < 64 {
      rest.insert(last, at: 0)
      let isAbsolute = whole.utf8.first == UInt8(ascii: "/")
      let folder = (isAbsolute ? "/" : "") + parts.joined(separator: "/")
      if !folder.isEmpty, isBackup(folder) { return (folder, rest.joined(separator: "/")) }
    }
    return nil
  }

  /// Reads the list of files in the phone backup at `path`.
  ///
  /// - Throws: ``BundleError`` with `backup.encrypted`, or `backup.badManifest` for a list that cannot be read.
  package init(_ path: String, fileLimit: Int = PhoneBackup.fileLimit) throws {
    self.path = path
    let manifest = PathText.joined(path, Self.manifestName)
    if Self.isEncrypted(path) { throw Self.encrypted(path) }
    let database: SQLiteDatabase
    do throws(SQLiteFileError) {
      database = try SQLiteDatabase(path: manifest)
    } catch {
      if error.code == .looksEncrypted { throw Self.encrypted(path) }
      throw BundleError(
        .badBackup, "the file list of the backup cannot be read: \(error.message)", path: manifest)
    }
    guard let table = database.schema.table(named: "Files") else { throw Self.noList(manifest) }
    let columns = ["fileID", "domain", "relativePath", "flags"].map { name in
      table.columnNames.firstIndex { SQLName.isSame($0, name) }
    }
    guard let id = columns[0], let domain = columns[1], let relative = columns[2],
      let flags = columns[3]
    else { throw Self.noList(manifest) }
    var files: [ExactText: String] = [:]
    var bad = 0
    var isCut = false
    try database.forEachRow(of: table) { row in
      guard case .integer(1) = row.values[flags] else { return true }
      guard case .text(let hash) = row.values[id], case .text(let domain) = row.values[domain],
        case .text(let relative) = row.values[relative]
      else {
        bad += 1
        return true
      }
      let name = PathText.joined(domain.string, relative.string)
      guard Hex.isLowercase(hash.utf8, count: 40),
        PathText.components(of: name).allSatisfy({ PathText.isPlainName($0) })
      else {
        bad += 1
        return true
      }
      guard files.count < fileLimit else {
        isCut = true
        return false
      }
      files[ExactText(name)] = hash.string
      return true
    }
    var problems: [StoreFinder.PassedOver] = []
    func tell(_ code: String, _ message: String) {
      problems.append(.init(path: manifest, code: code, message: message))
    }
    if isCut {
      tell(
        "input.notEntered", "only the first \(fileLimit) files of the backup's list are looked at")
    }
    if bad > 0 {
      tell(
        "backup.badName", "names in the backup's list that are not possible on a phone: \(bad)")
    }
    if database.findings.damageCount > 0 {
      tell(
        "backup.damagedManifest",
        "the file list of the backup is damaged; some files may be missing from it")
    }
    listProblems = problems
    self.files = files
    var external: [ExactText: [String]] = [:]
    for name in files.keys.map(\.text) {
      let parts = PathText.components(of: name)
      guard let place = parts.firstIndex(where: { PathText.isSame($0, "_EXTERNAL_DATA") }),
        place > 0
      else { continue }
      external[ExactText(parts[..<place].joined(separator: "/")), default: []].append(name)
    }
    self.external = external
  }

  // MARK: - Stores

  /// Returns all stores, sorted by name. To find the stores, the first bytes of each file in the backup's list are
  /// read. `passedOver` contains the problems of the list, and the files that may belong to a store but cannot be read.
  package func contents() -> (stores: [Store], passedOver: [StoreFinder.PassedOver]) {
    var stores: [Store] = []
    var passedOver = listProblems
    for name in files.keys.sorted().map(\.text) {
      switch judge(name) {
      case .store(let store):
        stores.append(store)
        passedOver += lostFiles(of: store)
      case .passedOver(let other): passedOver.append(other)
      case .other: break
      }
    }
    return (stores, passedOver)
  }

  /// Returns the store whose main file has the given name; nil when the backup does not list a file of this name, or
  /// when the file is not a store.
  package func store(named name: String) -> Store? {
    var known = ExactText(name)
    if files[known] == nil {
      // The given name and the name on the phone may have different Unicode normal forms (NFC, NFD).
      known = files.keys.filter { $0.text == name }.min() ?? known
    }
    guard case .store(let store) = judge(known.text) else { return nil }
    return store
  }

  package func problems(of store: Store) -> [StoreFinder.PassedOver] {
    listProblems + lostFiles(of: store)
  }

  package func lostFiles(of store: Store) -> [StoreFinder.PassedOver] {
    store.lost.map {
      .init(
        path: PathText.joined(path, $0), code: "file.missing",
        message: "the backup lists the file, but the file cannot be read")
    }
  }

  private func judge(_ name: String) -> Judgement {
    guard let place = place(of: name), !isSide(name) else { return .other }
    let sides = ["-wal", "-journal"].map { name + $0 }.filter { size(of: $0) != 0 }
    func passedOver(_ code: String, _ message: String) -> Judgement {
      .passedOver(.init(path: PathText.joined(path, name), code: code, message: message))
    }
    guard let head = try? ByteFile(place) else {
      // If a file cannot be read, only its name can show that it may be a store. Most files of a backup are not stores.
      return StoreFinder.isNamedAsStore(PathText.lastComponent(of: name))
        ? passedOver("file.missing", "the backup lists the file, but the file cannot be read")
        : .other
    }
    guard (try? head.beginsAsDatabase()) == true || (head.size == 0 && !sides.isEmpty) else {
      return sides.isEmpty
        ? .other
        : passedOver(
          "file.notADatabase",
          "the file does not begin like a database, but has a log or journal; the file may be "
            + "encrypted or damaged"
        )
    }
    let support = StoreSet.supportPath(of: name)
    var members = [(name: name, place: place)]
    var lost: [String] = []
    let shared = name + "-shm"
    let external = external[ExactText(support)] ?? []
    for other in [shared, name + "-wal", name + "-journal"] + external.sorted() {
      guard let place = self.place(of: other) else { continue }
      if (try? ByteFile(place)) != nil {
        members.append((other, place))
      } else if other != shared {
        lost.append(other)
      }
    }
    return .store(Store(name: name, members: members, lost: lost))
  }

  private func isSide(_ name: String) -> Bool {
    ["-wal", "-journal", "-shm"].contains { suffix in
      PathText.dropping(suffix: suffix, from: name).map { files[ExactText($0)] != nil } ?? false
    }
  }

  private func place(of name: String) -> String? {
    files[ExactText(name)].map { hash in
      PathText.joined(
        PathText.joined(path, String(decoding: hash.utf8.prefix(2), as: UTF8.self)), hash)
    }
  }

  /// Returns the size of a file in bytes; 0 when the backup does not list the file, nil when the file cannot be read.
  private func size(of name: String) -> Int64? {
    guard let place = place(of: name) else { return 0 }
    return try? ByteFile(place).size
  }

  /// Whether `Manifest.plist` says that the backup is encrypted; false when `Manifest.plist` cannot be read.
  private static func isEncrypted(_ path: String) -> Bool {
    guard let file = try? ByteFile(PathText.joined(path, "Manifest.plist")), file.size < 16 << 20,
      let bytes = try? file.bytes(at: 0, count: Int(file.size)),
      case .dictionary(let members)? = try? PropertyList(bytes: bytes)
    else { return false }
    return members["IsEncrypted"] == .bool(true)
  }

  private static func encrypted(_ path: String) -> BundleError {
    BundleError(
      .encryptedBackup,
      "the backup is encrypted, and its files cannot be read without its password",
      path: path)
  }

  private static func noList(_ manifest: String) -> BundleError {
    BundleError(
      .badBackup, "the file list of the backup has no table Files with the expected columns",
      path: manifest
    )
  }
}

/// Copies of the files of one store in a backup. The copies have the names that the files had on the phone. The copies
/// are in a private folder, which is removed when this object is deallocated.
package final class UnpackedBackup {
  private let folder: PrivateFolder
  package let storePath: String
  package var path: String { folder.path }

  /// Copies the files of a store into a private folder. `making` is called for each new file and folder
  /// (``OutputTree/Making``).
  ///
  /// - Throws: ``BundleError``.
  package init(
    _ store: PhoneBackup.Store, making: @escaping (String, () -> Bool) -> Void = { _ = $1() }
  ) throws {
    folder = try PrivateFolder(making: making)
    storePath = PathText.joined(folder.path, store.name)
    var left = UnpackedArchive.byteLimit
    for (name, place) in store.members {
      let source = try InputFile(path: place, followsLink: false)
      guard source.size <= left else {
        throw BundleError(
          .tooLarge, "the store has more than \(UnpackedArchive.byteLimit) bytes", path: place)
      }
      left -= source.size
      try folder.makeFile(PathText.components(of: name), path: name) { try source.forEachPiece($0) }
    }
  }
}
