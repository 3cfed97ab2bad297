import CoreDataStore
import Foundation
import StoreExtraction

/// Keeps outputs out of the evidence.
enum EvidenceGuard {
  /// Refuses an output that is a member of the store set at `storePath`, or would become one by its name.
  static func check(_ output: String, against storePath: String) throws {
    // Elsewhere "-" is standard output; a file of that name is nobody's wish.
    guard output != "-" else {
      throw Failure(
        64, "usage.noStandardOutput", "the output is a file, and cannot be standard output (-)",
        hint: "name a file; rows go to standard output with: lifeboat rows --format ndjson")
    }
    let store = URL(fileURLWithPath: storePath).resolvingSymlinksInPath().standardizedFileURL
    let target = URL(fileURLWithPath: output).standardizedFileURL
    let place = target.deletingLastPathComponent().resolvingSymlinksInPath()
      .appendingPathComponent(target.lastPathComponent)
    let folder = store.deletingLastPathComponent().path
    let prefix = folder.hasSuffix("/") ? folder : folder + "/"
    guard place.path.hasPrefix(prefix) else { return }
    let name = String(place.path.dropFirst(prefix.count))
    guard StoreSet.role(ofMember: name, mainName: store.lastPathComponent) == nil else {
      throw Failure(
        73, "output.isEvidence",
        "the output would become part of the store that is read, \(output)",
        hint: "name a file outside the store's own")
    }
  }

  /// Refuses an output that is, or would lie in, a file or folder that is read as evidence.
  static func check(_ output: String, outside path: String) throws {
    let evidence = URL(fileURLWithPath: path).resolvingSymlinksInPath().standardizedFileURL.path
    let target = URL(fileURLWithPath: output).standardizedFileURL
    let place = target.deletingLastPathComponent().resolvingSymlinksInPath()
      .appendingPathComponent(target.lastPathComponent).path
    guard place == evidence || place.hasPrefix(evidence + "/") else { return }
    throw Failure(
      73, "output.isEvidence", "the output would become part of what is read, \(output)",
      hint: "name an output outside of \(path)")
  }

  /// The same for all stores that a path leads to.
  static func check(_ output: String, againstAllAt path: String) throws {
    for store in (try? StoreFinder.stores(at: path)) ?? [path] {
      try check(output, against: store)
    }
  }
}
