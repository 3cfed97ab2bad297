import CLibrary
import StoreFiles
import SafeFiles
import Foundation
import SafeText

extension SetMover {
  // MARK: A move that was not committed

  /// Undoes an unfinished move of a store into a quarantine. The incident of the move must not have a record yet.
  /// - Returns: false if another file has the main file's original name, so that the move can only be finished;
  ///   otherwise true.
  func undo(_ folder: QuarantineFolder, _ record: MoveRecord) throws -> Bool {
    try checkFolders(folder, record)
    try fileSystem.remove(folder.copyInProgress)
    if let main = record.members.first(where: { $0.role == .main }),
      let here = try fileSystem.status(folder.kept(main.name)), here.isSameFile(as: main.status),
      let there = try fileSystem.status(folder.original(main.name)),
      !there.isSameFile(as: main.status)
    {
      return false
    }
    // The main file goes first, because no process may find the log without it.
    for member in record.members {
      guard let here = try fileSystem.status(folder.kept(member.name)),
        try fileSystem.status(folder.original(member.name)) == nil
      else { continue }
      try place(
        folder.kept(member.name), at: folder.original(member.name), status: here,
        part: folder.copyInProgress)
    }
    try fileSystem.syncFolder(folder.home)
    for member in record.members where member.status.kind != .folder {
      try removeKept(member, folder)
    }
    try removeFolders(record, at: { folder.kept($0) })
    try discard(folder)
    return true
  }

  /// Clears a file of the store set out of the quarantine. Does nothing if no file exists at the original path. The
  /// quarantined file is removed if it is the same file as the one at the original path, or if it is a wal-index.
  /// Otherwise it is moved to a subfolder of the quarantine.
  private func removeKept(_ member: MoveRecord.Member, _ folder: QuarantineFolder) throws {
    let kept = folder.kept(member.name)
    guard let here = try fileSystem.status(kept),
      let there = try fileSystem.status(folder.original(member.name))
    else { return }
    if there.isSameFile(as: here) || there.isSameFile(as: member.status)
      || member.role == .sharedMemory
    {
      try fileSystem.remove(kept, here)
      return
    }
    // Another program has since made a file with that name. The kept file may hold rows that the new one lacks.
    let target = try freeFolder(
      "leftover", for: PathText.lastComponent(of: member.name), in: folder)
    try fileSystem.rename(kept, target + "/" + PathText.lastComponent(of: member.name))
    try fileSystem.syncFolder(target)
  }

  /// Returns a subfolder of the quarantine in which no file has the name `name`, and makes the subfolder if needed. Its
  /// name is `base`, `base-2` and so on. `name` itself is not changed, because it may already have the maximum length.
  private func freeFolder(
    _ base: String, for name: String, in folder: QuarantineFolder
  ) throws -> String {
    for attempt in 1...9999 {
      let target = folder.path + "/" + base + (attempt == 1 ? "" : "-\(attempt)")
      try ensureFolder(target)
      if try fileSystem.status(target + "/" + name) == nil { return target }
    }
    throw QuarantineFolder.noneFree(in: folder.home)
  }

  // MARK: Back from a quarantine

  /// Writes the record of a move that brings the kept store set from the quarantine back to its original folder. The
  /// caller holds the lease.
  func beginBack(_ folder: QuarantineFolder, reason: MoveRecord.Back) throws -> MoveRecord {
    let kept = StoreSet(at: folder.keptMainPath)
    guard !kept.members.isEmpty else {
      throw StoreRecoveryError(
        .nothingKept, "the incident holds no files of a store to bring back",
        path: folder.storeFolder)
    }
    if let problem = kept.problem {
      throw StoreRecoveryError(.unmovable, problem, path: folder.storeFolder)
    }
    let members = try kept.members.map { member in
      guard let status = try fileSystem.status(member.path) else {
        throw StoreRecoveryError(
          .sealBroken, "a kept file disappeared while it was examined", path: member.path)
      }
      return MoveRecord.Member(role: member.role, name: member.name, status: status)
    }
    let record = MoveRecord(
      storeName: folder.storeName, members: members, incident: nil, back: reason)
    try SettledMoves.forget(folder.incompatible, fileSystem)
    try records.write(record, to: folder.back)
    return record
  }

  /// Moves a kept store set back, or continues where an earlier run stopped.
  func advanceBack(_ folder: QuarantineFolder, _ record: MoveRecord, now: Date) throws {
    let reason = record.back ?? .restore
    // When the outcome exists, every member is in place and synced.
    try checkFolders(folder, record)
    if try fileSystem.status(folder.outcome) == nil {
      try fileSystem.remove(folder.copyInProgress)
      try putInPlace(folder, record, reason: reason)
      let kind: IncidentOutcome.Kind = reason == .freshFailed ? .putBack : .restored
      try records.write(
        IncidentOutcome(kind: kind, date: Timestamp.wholeSeconds(now)), to: folder.outcome)
    }
    if reason == .restore { try rewriteNote(folder) }
    for member in record.members where member.status.kind != .folder {
      guard let here = try fileSystem.status(folder.kept(member.name)) else { continue }
      // A pipe or socket may stay where it is.
      if here.kind == .other, try fileSystem.status(folder.original(member.name)) == nil {
        continue
      }
      guard try isInPlace(member, folder) else {
        throw StoreRecoveryError(
          .blocked, "a file that was put back has disappeared or was replaced",
          path: folder.original(member.name))
      }
      try fileSystem.remove(folder.kept(member.name), here)
    }
    try removeFolders(record, at: { folder.kept($0) })
    if reason == .freshFailed {
      try discard(folder)
    } else {
      try removeFolder(folder.storeFolder)
      try forgetProgress(folder)
      try fileSystem.remove(folder.intent)
      try fileSystem.remove(folder.back)
      try fileSystem.syncFolder(folder.path)
    }
  }

  /// Rewrites the note for the user, because the data is no longer where the note says. A note that is missing, or
  /// whose incident cannot be read, stays as it is.
  private func rewriteNote(_ folder: QuarantineFolder) throws {
    guard try fileSystem.status(folder.text)?.kind == .file,
      let incident = try? records.incident(in: folder.path),
      let outcome = try? records.read(IncidentOutcome.self, from: folder.outcome)
    else { return }
    let notice = incident.notice(
      in: texts().preferring(incident.notice.language), outcome: outcome)
    try records.write(
      bytes: Array(Incident.plainText(of: notice).utf8), to: folder.text, replacing: true)
  }

  private func putInPlace(
    _ folder: QuarantineFolder, _ record: MoveRecord, reason: MoveRecord.Back
  ) throws {
    try displace(folder, record, to: reason == .freshFailed ? "failed-fresh" : "displaced")
    for member in record.members {
      guard let here = try fileSystem.status(folder.kept(member.name)) else { continue }
      let original = folder.original(member.name)
      if try fileSystem.status(original) == nil {
        do {
          try place(
            folder.kept(member.name), at: original, status: here, part: folder.copyInProgress)
        } catch let error as SystemCallError where here.kind == .other && error.errno == ENOTSUP {
          // A pipe or socket cannot be moved to another volume; it holds no data.
          continue
        }
      } else if !(try isInPlace(member, folder)) {
        throw StoreRecoveryError(
          .blocked, "another file has the name of a file to restore; move it away and try again",
          path: original)
      }
    }
    try sync(StoreSet(at: folder.mainPath), skipsUnreadable: true)
  }

  /// Moves files that have taken original names of the store set, but are not its members, into a subfolder of the
  /// quarantine.
  private func displace(
    _ folder: QuarantineFolder, _ record: MoveRecord, to name: String
  ) throws {
    let present = StoreSet(at: folder.mainPath)
    let outer = present.members.filter { PathText.isPlainName($0.name) }
    let others = try outer.filter { member in
      !(try isOurs(member, of: record, folder: folder, among: present))
    }
    guard !others.isEmpty else { return }
    try lockingOut(folder.mainPath) {
      // The log before the main file, for the reason given in `advance`.
      for member in others.reversed() {
        let target = try freeFolder(name, for: member.name, in: folder)
        try fileSystem.rename(member.path, target + "/" + member.name)
        try fileSystem.syncFolder(target)
      }
    }
    try fileSystem.syncFolder(folder.home)
  }

  private func isOurs(
    _ member: StoreSet.Member, of record: MoveRecord, folder: QuarantineFolder,
    among present: StoreSet
  ) throws -> Bool {
    if member.kind != .folder {
      guard let known = record.members.first(where: { PathText.isSame($0.name, member.name) })
      else {
        return false
      }
      return try isInPlace(known, folder)
    }
    // A folder belongs to the set only if all its files do. Any other folder is moved away as a whole.
    let known = Dictionary(firstOf: record.members.map { (FileName($0.name), $0) })
    guard known[FileName(member.name)]?.status.kind == .folder else { return false }
    for inner in present.members where PathText.starts(inner.name, with: member.name + "/") {
      guard let expected = known[FileName(inner.name)], expected.status.kind == inner.kind else {
        return false
      }
      if inner.kind != .folder, !(try isInPlace(expected, folder)) { return false }
    }
    return true
  }

  /// Whether a member of the store set is at its original path: the member itself, or a copy with the same bytes.
  private func isInPlace(_ member: MoveRecord.Member, _ folder: QuarantineFolder) throws -> Bool {
    let original = folder.original(member.name)
    guard let there = try fileSystem.status(original), there.kind == member.status.kind else {
      return false
    }
    if there.kind == .folder || there.isSameFile(as: member.status) { return true }
    guard let here = try fileSystem.status(folder.kept(member.name)) else { return false }
    return try hasEqualContent(original, there, folder.kept(member.name), here)
  }
}
