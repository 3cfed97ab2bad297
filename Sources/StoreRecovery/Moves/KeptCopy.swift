import CLibrary
import StoreFiles
import SafeFiles
import Foundation
import SafeText

extension StoreRecovery {
  /// Copies the set into an incident of its own, because SQLite would drop a part of the log, with rows in it, when the
  /// store is opened. The store stays in place. When the set is larger than ``Policy/maximumCopyBytes`` or than the
  /// free space, only the log and the wal-index are copied: opening loses no other committed data.
  ///
  /// The copy is made in a folder that the next trial removes, and gets its final name when it is complete. So a killed
  /// run leaves no partial copy.
  ///
  /// - Returns: The new incident, or an earlier one that keeps the same log.
  func keepCopy(_ judgement: Judgement) throws -> Incident {
    let path = try realPath()
    let home = PathText.folder(of: path)
    let set = StoreSet(at: path)
    let copies = try Incidents(home: home, fileSystem: fileSystem).list().compactMap(\.incident)
      .filter {
        $0.kind == .copied && PathText.isSame($0.storeName, PathText.lastComponent(of: path))
      }
    if let earlier = try copies.last(where: { try isKept(set, in: $0) }) { return earlier }
    // Otherwise a log that is damaged again and again would fill the disk.
    guard copies.count(where: { $0.app == app }) < policy.maximumQuarantines else {
      throw StoreRecoveryError(
        .refused, "this build has kept \(copies.count) copies of the store already", path: path)
    }
    let roles = try rolesToCopy(set, home)
    let trial = try TrialFolder(in: home, mover)
    defer { try? trial.remove() }
    let kept = trial.path + "/kept"
    try fileSystem.makeFolder(kept, 0o700)
    let before = try states(of: set)
    let copy = try trial.copy(set, roles, to: "kept/" + QuarantineFolder.storeFolderName)
    let seal = try StoreSeal(sealing: copy, isCancelled: mover.isCancelled)
    guard try states(of: set) == before, set.isComplete else {
      throw StoreRecoveryError(
        .unmovable, "the store changed while it was copied, so something uses it", path: path)
    }
    try mover.sync(copy)
    return try trial.publish(home, set.storeName, seal, clock(), mover.records) {
      Incident(
        judgement, app: app, storeName: set.storeName, id: $0.id, folder: $0.path, created: $1,
        kind: .copied, texts: policy.texts)
    }
  }

  private func states(of set: StoreSet) throws -> [FileStatus?] {
    try set.members.map { try fileSystem.status($0.path) }
  }

  /// Whether the incident keeps the set's log: a kept copy has the log's size and modification time.
  private func isKept(_ set: StoreSet, in incident: Incident) throws -> Bool {
    guard let log = set.first(.wal), let now = try fileSystem.status(log.path) else { return false }
    return incident.seal?.files.contains {
      $0.role == .wal && $0.sizeBytes == now.sizeBytes && $0.modifiedNanoseconds == now.modified
    } ?? false
  }

  private func rolesToCopy(_ set: StoreSet, _ home: String) throws -> Set<StoreSet.Role> {
    let free =
      try fileSystem.freeSpace(home) - policy.neededFreeBytes(set.members.map(\.sizeBytes))
    if set.sizeBytes <= policy.maximumCopyBytes, set.sizeBytes <= free {
      return Set(set.members.map(\.role))
    }
    let logs: Set<StoreSet.Role> = [.wal, .sharedMemory]
    let needed = set.members.filter { logs.contains($0.role) }.reduce(Int64(0)) {
      $0.addingClamped($1.sizeBytes)
    }
    guard needed <= free else {
      throw StoreRecoveryError(
        .noSpace, "too little space is free for a copy of the log; free some space and open again",
        path: home)
    }
    return logs
  }
}
