import CoreDataStore
import Foundation

extension SetMover {
  // MARK: A move that was not committed

  /// Undoes a move whose record was not written yet.
  ///
  /// - Returns: false when another file stands where the main file has to go back, so that the move can
  ///   only be finished.
  func undo(_ folder: QuarantineFolder, _ record: MoveRecord) throws -> Bool {
    try checkFolders(folder, record)
    try removeCopyInProgress(folder)
    if let main = record.members.first(where: { $0.role == .main }),
      let here = try fileSystem.status(folder.kept(main.name)), here.isSameFile(as: main.status),
      let there = try fileSystem.status(folder.original(main.name)),
      !there.isSameFile(as: main.status)
    {
      return false
    }
    // The main file first: nobody must find the log alone.
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
      try release(member, folder)
    }
    try removeFolders(record, at: { folder.kept($0) })
    try discard(folder)
    return true
  }

  private func removeCopyInProgress(_ folder: QuarantineFolder) throws {
    if try fileSystem.status(folder.copyInProgress) != nil { try remove(folder.copyInProgress) }
  }

  /// Removes a kept member whose original is in place.
  private func release(_ member: MoveRecord.Member, _ folder: QuarantineFolder) throws {
    let kept = folder.kept(member.name)
    guard let here = try fileSystem.status(kept),
      let there = try fileSystem.status(folder.original(member.name))
    else { return }
    if there.isSameFile(as: here) || there.isSameFile(as: member.status)
      || member.role == .sharedMemory
    {
      try remove(kept)
      return
    }
    // Another program made a file of that name since. Ours may hold rows that it does not.
    let target = folder.path + "/leftover"
    try ensureFolder(target, mode: 0o700)
    let name = member.name.replacing("/", with: "_")
    try fileSystem.rename(kept, target + "/" + name)
    try fileSystem.syncFolder(target)
  }

  // MARK: Back from a quarantine

  /// Writes the intent to bring a kept set back. The lease is held.
  func beginBack(_ folder: QuarantineFolder, reason: MoveRecord.Back) throws -> MoveRecord {
    let kept = StoreSet(at: folder.keptMainPath)
    guard kept.isComplete, !kept.members.isEmpty else {
      throw StoreRecoveryError(
        .nothingKept, "the incident holds no store set that could go back", path: folder.storeFolder
      )
    }
    let members = try kept.members.map { member in
      guard let status = try fileSystem.status(member.path) else {
        throw StoreRecoveryError(
          .sealBroken, "a kept file vanished while it was looked at", path: member.path)
      }
      return MoveRecord.Member(role: member.role, name: member.name, status: status)
    }
    let record = MoveRecord(
      storeName: folder.storeName, members: members, incident: nil, back: reason)
    try SettledMoves.forget(folder.incompatible, fileSystem)
    try records.write(record, to: folder.back)
    return record
  }

  /// Brings a kept set back, from any point on.
  func advanceBack(_ folder: QuarantineFolder, _ record: MoveRecord, now: Date) throws {
    let reason = record.back ?? .restore
    // With this record there, every member is in place and on the device.
    try checkFolders(folder, record)
    if try fileSystem.status(folder.outcome) == nil {
      try removeCopyInProgress(folder)
      try putInPlace(folder, record, reason: reason)
      let kind: IncidentOutcome.Kind = reason == .freshFailed ? .putBack : .restored
      try records.write(
        IncidentOutcome(kind: kind, date: Timestamp.wholeSeconds(now)), to: folder.outcome)
    }
    for member in record.members where member.status.kind != .folder {
      guard try fileSystem.status(folder.kept(member.name)) != nil else { continue }
      guard try isInPlace(member, folder) else {
        throw StoreRecoveryError(
          .blocked, "a file did not stay where it was put back",
          path: folder.original(member.name))
      }
      try remove(folder.kept(member.name))
    }
    try removeFolders(record, at: { folder.kept($0) })
    if reason == .freshFailed {
      try discard(folder)
    } else {
      try removeFolder(folder.storeFolder)
      try remove(folder.intent)
      try remove(folder.back)
      try fileSystem.syncFolder(folder.path)
    }
  }

  private func putInPlace(
    _ folder: QuarantineFolder, _ record: MoveRecord, reason: MoveRecord.Back
  ) throws {
    try displace(folder, record, to: reason == .freshFailed ? "failed-fresh" : "displaced")
    for member in record.members {
      guard let here = try fileSystem.status(folder.kept(member.name)) else { continue }
      let original = folder.original(member.name)
      if try fileSystem.status(original) == nil {
        try place(
          folder.kept(member.name), at: original, status: here, part: folder.copyInProgress)
      } else if !(try isInPlace(member, folder)) {
        throw StoreRecoveryError(
          .blocked, "something stands where a file has to go back; move it away and try again",
          path: original)
      }
    }
    try sync(StoreSet(at: folder.mainPath))
    try fileSystem.syncFolder(folder.home)
  }

  /// Moves what stands at the set's names, and is not of the set, into the quarantine's folder.
  private func displace(
    _ folder: QuarantineFolder, _ record: MoveRecord, to name: String
  ) throws {
    let present = StoreSet(at: folder.mainPath)
    let outer = present.members.filter { !$0.name.contains("/") }
    let strangers = try outer.filter { member in
      !(try isOurs(member, of: record, folder: folder, among: present))
    }
    guard !strangers.isEmpty else { return }
    let target = folder.path + "/" + name
    try ensureFolder(target, mode: 0o700)
    try lockingOut(folder.mainPath) {
      // The log before the main file, for the reason given in `advance`.
      for member in strangers.reversed() {
        var to = target + "/" + member.name
        var attempt = 2
        while try fileSystem.status(to) != nil, attempt < 10_000 {
          to = "\(target)/\(member.name)-\(attempt)"
          attempt += 1
        }
        try fileSystem.rename(member.path, to)
      }
    }
    try fileSystem.syncFolder(target)
    try fileSystem.syncFolder(folder.home)
  }

  private func isOurs(
    _ member: StoreSet.Member, of record: MoveRecord, folder: QuarantineFolder,
    among present: StoreSet
  ) throws -> Bool {
    if member.kind != .folder {
      guard let known = record.members.first(where: { $0.name == member.name }) else {
        return false
      }
      return try isInPlace(known, folder)
    }
    // A folder is ours when all of its files are: the first pass takes a stranger's away as a whole.
    let known = Dictionary(record.members.map { ($0.name, $0) }, uniquingKeysWith: { a, _ in a })
    guard known[member.name]?.status.kind == .folder else { return false }
    for inner in present.members where inner.name.hasPrefix(member.name + "/") {
      guard let expected = known[inner.name], expected.status.kind == inner.kind else {
        return false
      }
      if inner.kind != .folder, !(try isInPlace(expected, folder)) { return false }
    }
    return true
  }

  /// Whether the file at a member's original name is that member.
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
