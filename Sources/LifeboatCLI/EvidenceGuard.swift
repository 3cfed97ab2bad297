import StoreFiles
import Quoting
import SQLiteFile
import SafeFiles
import SafeText
import StoreExtraction
import SupportBundle

enum EvidenceGuard {
  /// Throws if `output` is a file of the store at `storePath`, or if its name would make it a file of this store. Also
  /// throws if the store is in the folder of an incident or of a phone backup, and `output` is inside that folder.
  static func check(_ output: String, against storePath: String) throws {
    // Many tools take "-" for standard output, and a file of that name is hardly ever wanted.
    guard !PathText.isSame(output, "-") else {
      throw Failure(
        64, "usage.noStandardOutput",
        "the output must be a file; it cannot be standard output (-)",
        hint: "name a file; to write rows to standard output, run: "
          + "lifeboat rows --format ndjson STORE")
    }
    try checkIsNoSideFile(output)
    let store = SystemCalls.realPath(storePath) ?? place(of: storePath)
    let folder = PathText.folder(of: store)
    let target = place(of: output)
    // A store that was set aside is in the folder of an incident, which is sealed as a whole.
    let incident = PathText.folder(of: folder)
    guard
      !PathText.isSame(PathText.lastComponent(of: folder), "store")
        || !ByteFile.exists(PathText.joined(incident, "incident.json"))
        || !PathText.isInside(target, incident)
    else {
      throw Failure(
        73, "output.isEvidence", "the output would become part of an incident, \(output)",
        hint: "name an output outside of \(ShellText.path(incident))")
    }
    // `split` recognises a path that names a file by its path on the phone. A file that is named by its hash is in the
    // backup's folder, or in a folder within it.
    if let backup = PhoneBackup.split(storePath)?.backup
      ?? [folder, incident].first(where: PhoneBackup.isBackup)
    {
      try check(output, outside: backup)
    }
    guard PathText.isInside(target, folder), !PathText.isSame(target, folder) else { return }
    let name = String(Substring(target.utf8.dropFirst(PathText.joined(folder, "").utf8.count)))
    let main = PathText.lastComponent(of: store)
    // On a case-insensitive volume, the name in lower case refers to the same file.
    guard StoreSet.role(ofMember: name, mainName: main) == nil,
      StoreSet.role(ofMember: name.lowercased(), mainName: main.lowercased()) == nil
    else {
      throw Failure(
        73, "output.isEvidence",
        "the output would become part of the store being read, \(output)",
        hint: "choose a name that does not belong to the store")
    }
  }

  /// Whether `path` ends with `-wal` or `-journal`, as the name of a write-ahead log or rollback journal does. Even an
  /// empty file with such a name may be evidence.
  static func mayBeSideFile(_ path: String) -> Bool {
    PathText.ends(path, with: "-wal") || PathText.ends(path, with: "-journal")
  }

  /// Throws if `output` has the name of the write-ahead log, wal-index or rollback journal of an existing database.
  /// SQLite would treat such an output as a part of the database, and might change or delete the output.
  static func checkIsNoSideFile(_ output: String) throws {
    let target = place(of: output)
    for suffix in ["-wal", "-journal", "-shm"] {
      guard let main = PathText.dropping(suffix: suffix, from: target),
        FileStatus.found(main)?.kind == .file
      else { continue }
      // An empty or encrypted database does not begin with the magic string, so it is recognised by its name.
      guard
        (try? ByteFile(main).beginsAsDatabase()) == true
          || StoreFinder.isNamedAsStore(PathText.lastComponent(of: main))
      else { continue }
      throw Failure(
        73, "output.isEvidence",
        "the output would become part of the database \(PathText.lastComponent(of: main)), \(output)",
        hint: "choose a name that does not end with \(suffix)")
    }
  }

  /// Throws if `output` is the file or folder at `path`, or is inside this folder, because `path` is read as evidence.
  /// Also throws whenever ``checkIsNoSideFile(_:)`` throws.
  static func check(_ output: String, outside path: String) throws {
    try checkIsNoSideFile(output)
    let input = SystemCalls.realPath(path) ?? place(of: path)
    guard PathText.isInside(place(of: output), input) else { return }
    throw Failure(
      73, "output.isEvidence", "the output would be inside the input, \(output)",
      hint: "name an output outside of \(ShellText.path(path))")
  }

  /// Throws if `output` would become part of the store at `path`. If `path` is a folder, throws if `output` would
  /// become part of a store in the folder. Archives are protected like stores. So are the files that the search for
  /// stores passed over, because they may be stores.
  static func check(_ output: String, againstAllAt path: String) throws {
    let found = try? StoreFinder.find(at: path, taking: .archives)
    let stores = found.map { $0.stores + $0.taken + $0.passedOver.map(\.path) } ?? [path]
    for store in stores { try check(output, against: store) }
  }

  /// Returns the full path of a file that need not exist yet. Symbolic links to the folders in the path are resolved.
  /// If the file is a symbolic link itself, the link is not resolved.
  private static func place(of path: String) -> String {
    let bare = PathText.withoutTrailingSlashes(path)
    let name = PathText.lastComponent(of: bare)
    guard PathText.isPlainName(name) else { return StoreSet.realFolder(bare) }
    return PathText.joined(StoreSet.realFolder(PathText.folder(of: bare)), name)
  }
}
