import StoreFiles
import Foundation
import Quoting
import SQLiteFile
import SafeText
import StoreExtraction

/// Keeps outputs out of the evidence.
enum EvidenceGuard {
  /// Refuses an output that is a member of the store set at `storePath`, or would become one by its name.
  static func check(_ output: String, against storePath: String) throws {
    // Many tools take "-" for standard output; nobody wants a file of that name.
    guard !PathText.isSame(output, "-") else {
      throw Failure(
        64, "usage.noStandardOutput", "the output is a file, and cannot be standard output (-)",
        hint: "name a file; rows go to standard output with: lifeboat rows --format ndjson")
    }
    let store = realPath(storePath) ?? place(of: storePath)
    let folder = PathText.folder(of: store)
    let target = place(of: output)
    // A store that was set aside: its whole folder is sealed.
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
    guard PathText.isInside(target, folder), !PathText.isSame(target, folder) else { return }
    let name = String(Substring(target.utf8.dropFirst(PathText.joined(folder, "").utf8.count)))
    let main = PathText.lastComponent(of: store)
    // On a case-insensitive volume the lowercased name is the same file.
    guard StoreSet.role(ofMember: name, mainName: main) == nil,
      StoreSet.role(ofMember: name.lowercased(), mainName: main.lowercased()) == nil
    else {
      throw Failure(
        73, "output.isEvidence",
        "the output would become part of the store being read, \(output)",
        hint: "choose a name that does not belong to the store")
    }
  }

  /// Whether a path has the name of a log or journal, so that even an empty file there may be evidence.
  static func mayBeSideFile(_ path: String) -> Bool {
    PathText.ends(path, with: "-wal") || PathText.ends(path, with: "-journal")
  }

  /// Refuses an output that is, or would be inside, a file or folder that is read as evidence.
  static func check(_ output: String, outside path: String) throws {
    guard PathText.isInside(place(of: output), realPath(path) ?? place(of: path)) else { return }
    throw Failure(
      73, "output.isEvidence", "the output would become part of what is being read, \(output)",
      hint: "name an output outside of \(ShellText.path(path))")
  }

  /// Refuses an output that belongs to any store, or former store, that `path` leads to.
  static func check(_ output: String, againstAllAt path: String) throws {
    let found = try? StoreFinder.find(at: path, taking: .archives)
    let stores = found.map { $0.stores + $0.taken + $0.passedOver.map(\.path) } ?? [path]
    for store in stores { try check(output, against: store) }
  }

  /// The full path of an existing or future file: its folder with links resolved, and its own name.
  private static func place(of path: String) -> String {
    let bare = PathText.withoutTrailingSlashes(path)
    let name = PathText.lastComponent(of: bare)
    guard PathText.isPlainName(name) else { return realPath(bare) ?? bare }
    let folder = PathText.folder(of: bare)
    return PathText.joined(realPath(folder) ?? folder, name)
  }

  /// The path with links resolved; nil when nothing exists there.
  private static func realPath(_ path: String) -> String? {
    guard let real = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(real) }
    return unsafe String(validatingCString: real)
  }
}
