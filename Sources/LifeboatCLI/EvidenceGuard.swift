import StoreFiles
import Foundation
import Quoting
import SQLiteFile
import SafeFiles
import SafeText
import StoreExtraction
import SupportBundle

enum EvidenceGuard {
  /// Throws if the output is a file of the store at `storePath`, or would become a file of this store by its name. Also
  /// throws if the output is in the folder of the incident or of the phone backup that holds this store.
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
    let store = realPath(storePath) ?? place(of: storePath)
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
    // A file of a backup is in a folder of the backup's folder, and is named by its place on the phone or by its hash.
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

  /// Whether a path has the name of a write-ahead log or rollback journal. Even an empty file of that name may be
  /// evidence.
  static func mayBeSideFile(_ path: String) -> Bool {
    PathText.ends(path, with: "-wal") || PathText.ends(path, with: "-journal")
  }

  /// Throws if the output has the name of a log, wal-index or journal of a database that exists. SQLite would take the
  /// output for a part of this database, and change or delete the output.
  static func checkIsNoSideFile(_ output: String) throws {
    let target = place(of: output)
    for suffix in ["-wal", "-journal", "-shm"] {
      guard let main = PathText.dropping(suffix: suffix, from: target),
        ((try? FileStatus.of(main)) ?? nil)?.kind == .file
      else { continue }
      let magic = DatabaseHeader.magic
      let lead = (try? ByteFile(main).bytes(at: 0, count: magic.count)) ?? []
      // A database that is empty or encrypted is known only by its name.
      guard lead.starts(with: magic) || StoreFinder.isNamedAsStore(PathText.lastComponent(of: main))
      else { continue }
      throw Failure(
        73, "output.isEvidence",
        "the output would become part of the database \(PathText.lastComponent(of: main)), \(output)",
        hint: "choose a name that does not end with \(suffix)")
    }
  }

  /// Throws if the output is the file or folder at `path`, which is read as evidence, or is inside this folder. Also
  /// throws if the output has the name of a log or journal, as ``checkIsNoSideFile(_:)`` does.
  static func check(_ output: String, outside path: String) throws {
    try checkIsNoSideFile(output)
    guard PathText.isInside(place(of: output), realPath(path) ?? place(of: path)) else { return }
    throw Failure(
      73, "output.isEvidence", "the output would become part of what is being read, \(output)",
      hint: "name an output outside of \(ShellText.path(path))")
  }

  /// Throws if the output would become part of a store that `path` leads to. Archives, and files that were or may be
  /// stores, count as stores.
  static func check(_ output: String, againstAllAt path: String) throws {
    let found = try? StoreFinder.find(at: path, taking: .archives)
    let stores = found.map { $0.stores + $0.taken + $0.passedOver.map(\.path) } ?? [path]
    for store in stores { try check(output, against: store) }
  }

  /// The full path of a file, which need not exist yet. Symbolic links in the path of the file's folder are resolved.
  /// The file itself may be a symbolic link, which is not resolved.
  private static func place(of path: String) -> String {
    let bare = PathText.withoutTrailingSlashes(path)
    let name = PathText.lastComponent(of: bare)
    guard PathText.isPlainName(name) else { return realPath(bare) ?? bare }
    let folder = PathText.folder(of: bare)
    return PathText.joined(realPath(folder) ?? folder, name)
  }

  /// The path with all symbolic links resolved; nil when nothing exists at the path.
  private static func realPath(_ path: String) -> String? {
    guard let real = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(real) }
    return unsafe String(validatingCString: real)
  }
}
