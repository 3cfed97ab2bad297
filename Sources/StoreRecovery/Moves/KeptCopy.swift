import CLibrary
import StoreFiles
import SafeFiles
import Foundation
import SafeText

extension Recovery {
  /// Copies the store's files into a new incident, because SQLite drops a part of the log when the store is opened. The
  /// store stays in place.
  ///
  /// If the files exceed ``Policy/maximumCopyBytes`` or the free space, only the log and the wal-index are copied. The
  /// copy is made in a ``TrialFolder`` and gets its final name when it is complete. If the run is killed before that,
  /// the next trial removes the copy.
  ///
  /// - Returns: The new incident, or an earlier one that keeps the same log.
  func keepCopy(_ judgement: Judgement) throws -> Incident {
    let path = try realPath()
    let home = PathText.folder(of: path)
    let set = StoreSet(at: path)
    let copies = try Incidents(home: home, fileSystem: fileSystem).list().filter {
      $0.incident?.kind == .copied && PathText.isSame($0.incident?.storeName ?? "", set.storeName)
    }
    if let earlier = try copies.last(where: { try isKept(set, in: $0.folder) })?.incident {
      return earlier
    }
    if let problem = set.problem { throw StoreRecoveryError(.unmovable, problem, path: path) }
    // Without a limit, a log that is damaged again and again would fill the disk with copies.
    let own = copies.count { $0.incident?.app == app }
    guard own < policy.maximumQuarantines else {
      throw StoreRecoveryError(
        .refused, "this build has kept \(counted(own, "copy", "copies")) of the store already",
        path: path)
    }
    let roles = try rolesToCopy(set, home)
    let trial = try TrialFolder(in: home, mover)
    defer { try? trial.remove() }
    try fileSystem.makeFolder(trial.kept, 0o700)
    let before = try states(of: set)
    let copy = try trial.copy(set, roles, to: "kept/" + QuarantineFolder.storeFolderName)
    let seal = try StoreSeal(sealing: copy, isCancelled: mover.isCancelled)
    guard try states(of: set) == before else {
      throw StoreRecoveryError(
        .unmovable, "the store changed while it was copied, so something uses it", path: path)
    }
    return try trial.publish(home, copy, seal, clock(), mover) {
      Incident(
        judgement, app: app, storeName: set.storeName, id: $0.id, folder: $0.path, created: $1,
        kind: .copied, texts: policy.texts)
    }
  }

  private func states(of set: StoreSet) throws -> [FileStatus?] {
    try set.members.map { try fileSystem.status($0.path) }
  }

  /// Whether the incident's folder `folder` contains a copy of the write-ahead log of `set`. The copy must have the
  /// size and modification time of the log. The incident's record is not used, because it does not show whether the
  /// copy was restored or removed later.
  private func isKept(_ set: StoreSet, in folder: String) throws -> Bool {
    let store = Incidents.keptFolder(in: folder) + "/"
    guard let log = set.first(.wal), let now = try fileSystem.status(log.path),
      let kept = try fileSystem.status(store + log.name)
    else { return false }
    return kept.kind == .file && kept.hasSizeAndTime(of: now)
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
        .noSpace,
        "too little space is free for a copy of the log; free some space and open the store again",
        path: home)
    }
    return logs
  }
}
