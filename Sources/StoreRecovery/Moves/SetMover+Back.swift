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
    let main = record.members.first { $0.role == .main }
    let keptMain = try fileSystem.status(folder.keptMainPath)
    let mainInPlace = try fileSystem.status(folder.mainPath)
    if let main, let mainInPlace, let keptMain, keptMain.isSameFile(as: main.status),
      !mainInPlace.isSameFile(as: main.status)
    {
      return false
    }
    // A log belongs to the main file as it was. SQLite would apply it to a main file that was written to since, or to
    // another one, and so undo what the app has written.
    let takesLog =
      if let mainInPlace {
        main.map { mainInPlace.isUnchanged($0.status) } ?? false
      } else {
        main == nil || keptMain != nil
      }
    // The main file goes first, because no process may find the log without it.
    for member in record.members {
      guard let here = try fileSystem.status(folder.kept(member.name)),
        try fileSystem.status(folder.original(member.name)) == nil
      else { continue }
      if takesLog || !Self.besideMain.contains(member.role) {
        try place(
          folder.kept(member.name), at: folder.original(member.name), status: here,
          part: folder.copyInProgress)
      } else if let main, mainInPlace?.isSameFile(as: main.status) == true {
        // A program that used the main file has written its log into it, and removed the log.
        try fileSystem.remove(folder.kept(member.name), here)
      } else {
        try keepApart(member, folder)
      }
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
    try keepApart(member, folder)
  }

  /// Moves a kept file of the store set, which no longer fits the files in place, to a subfolder of the quarantine.
  private func keepApart(_ member: MoveRecord.Member, _ folder: QuarantineFolder) throws {
    let name = PathText.lastComponent(of: member.name)
    let target = try freeFolder("leftover", for: name, in: folder)
    try fileSystem.rename(folder.kept(member.name), target + "/" + name)
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
  ///
  /// `replaced`: the id of the incident that keeps the store that was in use; nil when no store was in use.
  func beginBack(
    _ folder: QuarantineFolder, reason: MoveRecord.Back, replaced: String? = nil
  ) throws -> MoveRecord {
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
    var record = MoveRecord(
      storeName: folder.storeName, members: members, incident: nil, back: reason)
    let present = try fileSystem.status(folder.mainPath)
    let main = members.first { $0.role == .main }?.status
    let isThere = main.flatMap { present?.isSameFile(as: $0) } ?? false
    // A main file that never left its place is there before its log.
    record.placesMainLast = !isThere
    record.replaced = replaced
    if reason == .freshFailed, !isThere { record.failed = present }
    try SettledMoves.forget(folder.incompatible, fileSystem)
    try records.write(record, to: folder.back)
    return record
  }

  /// Moves a kept store set back, or continues where an earlier run stopped.
  ///
  /// The main file gets its name last, after its log and all other members. Without a main file, a program opens
  /// nothing. Once the main file has its name, the set is whole and in use, and a later run only removes the names in
  /// the quarantine. If a program has made another store at the path before that, the move is given up.
  ///
  /// - Returns: Whether the set is back. If false, the incident keeps the set, and the store at the path stays there.
  func advanceBack(
    _ folder: QuarantineFolder, _ begun: MoveRecord, now: Date
  ) throws -> Bool {
    var record = begun
    let reason = record.back ?? .restore
    try checkFolders(folder, record)
    // When the outcome exists, every member has been in place and synced.
    if try fileSystem.status(folder.outcome) == nil {
      if try !isMainPlaced(folder, record) {
        if record.placedMain != nil {
          record.placedMain = nil
          try records.write(record, to: folder.back, replacing: true)
        }
        try fileSystem.remove(folder.copyInProgress)
        if try isUsed(folder, record) {
          try giveUp(folder, record)
          return false
        }
        try putInPlace(folder, &record, reason: reason)
      }
      try sync(StoreSet(at: folder.mainPath), skipsUnreadable: true)
      let kind: IncidentOutcome.Kind = reason == .freshFailed ? .putBack : .restored
      try records.write(
        IncidentOutcome(kind: kind, date: Timestamp.wholeSeconds(now)), to: folder.outcome)
    }
    let main = record.members.first { $0.role == .main }
    if let main, try fileSystem.status(folder.kept(main.name)) != nil,
      try !isMainThere(main, folder, record), try !isInPlace(main, folder)
    {
      // The store that was put back is gone or was replaced, and the incident still keeps the whole set.
      try giveUp(folder, record)
      return false
    }
    if reason == .restore { try rewriteNote(folder) }
    // The main file goes first: without it, the other names are only those of a set that is in place.
    for member in record.members where member.status.kind != .folder {
      guard let here = try fileSystem.status(folder.kept(member.name)) else { continue }
      // A pipe or socket may stay where it is.
      if here.kind == .other, try fileSystem.status(folder.original(member.name)) == nil {
        continue
      }
      // A program that uses the store may already have removed its log.
      if main == nil, try !isInPlace(member, folder) { continue }
      try fileSystem.remove(folder.kept(member.name), here)
    }
    try removeFolders(record, at: { folder.kept($0) })
    if reason == .freshFailed {
      try discard(folder)
    } else {
      try removeFolder(folder.storeFolder)
      try forgetProgress(folder)
      try fileSystem.remove(folder.intent)
      try removeBack(folder)
    }
    return true
  }

  /// Removes the record of a move out of the quarantine.
  private func removeBack(_ folder: QuarantineFolder) throws {
    try fileSystem.remove(folder.back + RecordFile.partSuffix)
    try fileSystem.remove(folder.back)
    try fileSystem.syncFolder(folder.path)
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

  // MARK: What is in place

  /// The files that SQLite reads together with the main file.
  private static let besideMain: Set<StoreSet.Role> = [.wal, .sharedMemory, .journal]
  /// The files in which a program writes rows.
  static let withRows: Set<StoreSet.Role> = [.main, .wal, .journal]

  /// Whether this move has put the main file in place, and all other members before it.
  private func isMainPlaced(_ folder: QuarantineFolder, _ record: MoveRecord) throws -> Bool {
    guard record.placesMainLast == true,
      let main = record.members.first(where: { $0.role == .main })
    else { return false }
    return try isMainThere(main, folder, record)
  }

  /// Whether the main file at the original path is the kept one, a copy of it that this move has made, or was renamed
  /// to that path. The file may have been written to since.
  private func isMainThere(
    _ main: MoveRecord.Member, _ folder: QuarantineFolder, _ record: MoveRecord
  ) throws -> Bool {
    guard let there = try fileSystem.status(folder.original(main.name)),
      there.kind == main.status.kind
    else { return false }
    guard let here = try fileSystem.status(folder.kept(main.name)) else { return true }
    if there.isSameFile(as: here) { return true }
    // The number of a device may change when the system starts again.
    return record.placedMain?.inode == there.inode
  }

  /// Whether a program has used the path of the store since the move began, so that the kept set cannot be put there:
  /// another store is at the path, or a file that has a name there and in the quarantine was written to.
  private func isUsed(_ folder: QuarantineFolder, _ record: MoveRecord) throws -> Bool {
    let ours = record.members.filter { Self.withRows.contains($0.role) && $0.status.kind == .file }
    guard let there = try fileSystem.status(folder.mainPath) else {
      return try ours.contains { member in
        guard let here = try fileSystem.status(folder.kept(member.name)) else { return false }
        return !here.hasSizeAndTime(of: member.status)
      }
    }
    if record.placesMainLast == true {
      guard record.back == .freshFailed, let failed = record.failed else { return true }
      return there.inode != failed.inode || there.kind != failed.kind
        || !there.hasSizeAndTime(of: failed)
    }
    // The main file was there first: it never left its place, or an earlier version of Lifeboat has put it there.
    guard let main = record.members.first(where: { $0.role == .main }),
      try isInPlace(main, folder)
    else { return record.back != .freshFailed }
    return try ours.contains { member in
      try fileSystem.status(folder.original(member.name)) != nil && !isInPlace(member, folder)
    }
  }

  /// Ends a move out of the quarantine without its store set, which stays in the quarantine. The store at the path
  /// stays there. It loses the files that this move has put beside it, and shares no file with the quarantine.
  private func giveUp(_ folder: QuarantineFolder, _ record: MoveRecord) throws {
    if try fileSystem.status(folder.outcome) != nil {
      // The note says again where the files are.
      if try fileSystem.status(folder.text)?.kind == .file,
        let incident = try? records.incident(in: folder.path)
      {
        try records.write(
          bytes: Array(incident.plainText.utf8), to: folder.text, replacing: true)
      }
      try fileSystem.remove(folder.outcome)
      try fileSystem.syncFolder(folder.path)
    } else if record.placesMainLast == true {
      let main = record.members.first { $0.role == .main }
      // A main file with the kept bytes is the user's own copy of the store, and the log beside it is, too.
      let isTwin = try main.map { try isInPlace($0, folder) } ?? false
      if !isTwin { try takeBack(folder, record) }
    }
    for member in record.members where member.role == .main || Self.besideMain.contains(member.role)
    {
      let kept = folder.kept(member.name)
      guard let here = try fileSystem.status(kept), here.kind == .file,
        try fileSystem.status(folder.original(member.name))?.isSameFile(as: here) == true
      else { continue }
      try fileSystem.remove(folder.copyInProgress)
      try copy(kept, folder.copyInProgress, here)
      try fileSystem.replace(folder.copyInProgress, kept)
    }
    if try fileSystem.status(folder.storeFolder) != nil {
      try fileSystem.syncFolder(folder.storeFolder)
    }
    try fileSystem.syncFolder(folder.home)
    try removeBack(folder)
  }

  /// Removes the names of the members that this move has put in place before the main file. A file that a program has
  /// written to stays.
  private func takeBack(_ folder: QuarantineFolder, _ record: MoveRecord) throws {
    var ours: [(member: MoveRecord.Member, there: FileStatus)] = []
    for member in record.members where member.role != .main && member.status.kind != .folder {
      guard let there = try fileSystem.status(folder.original(member.name)),
        try isInPlace(member, folder)
      else { continue }
      // An external file with the same bytes may be the user's own copy.
      let here = try fileSystem.status(folder.kept(member.name))
      if let here, !Self.besideMain.contains(member.role), !there.isSameFile(as: here) { continue }
      ours.append((member, there))
    }
    try lockingOut(ours.isEmpty ? nil : folder.mainPath) {
      for (member, there) in ours {
        let kept = folder.kept(member.name)
        if try fileSystem.status(kept) == nil {
          try place(folder.original(member.name), at: kept, status: there)
        }
        try fileSystem.remove(folder.original(member.name), there)
      }
    }
    try removeFolders(record, at: { folder.original($0) })
  }

  // MARK: Into place

  private func putInPlace(
    _ folder: QuarantineFolder, _ record: inout MoveRecord, reason: MoveRecord.Back
  ) throws {
    try displace(folder, record, to: reason == .freshFailed ? "failed-fresh" : "displaced")
    for member in record.members where member.role != .main {
      try put(member, folder, &record)
    }
    // After a power cut, too, the main file has its name only if the others have theirs.
    try sync(StoreSet(at: folder.mainPath), skipsUnreadable: true)
    for member in record.members where member.role == .main {
      try put(member, folder, &record)
    }
  }

  private func put(
    _ member: MoveRecord.Member, _ folder: QuarantineFolder, _ record: inout MoveRecord
  ) throws {
    let kept = folder.kept(member.name)
    let original = folder.original(member.name)
    guard let here = try fileSystem.status(kept) else { return }
    guard try fileSystem.status(original) == nil else {
      if try isInPlace(member, folder) { return }
      throw StoreRecoveryError(
        .blocked, "another file has the name of a file to restore; move it away and try again",
        path: original)
    }
    if Self.besideMain.contains(member.role), here.kind == .file, try putCopy(member, folder, here)
    {
      return
    }
    do {
      try place(kept, at: original, status: here, part: folder.copyInProgress) { copied in
        guard member.role == .main else { return }
        record.placedMain = copied
        try records.write(record, to: folder.back, replacing: true)
      }
    } catch let error as SystemCallError where here.kind == .other && error.errno == ENOTSUP {
      // A pipe or socket cannot be moved to another volume; it holds no data.
    }
  }

  /// Puts a copy of a file beside the place of the main file. SQLite deletes a log without a main file when it makes a
  /// store, or writes into it; the kept log stays as it is.
  ///
  /// - Returns: False when this user may not read the file, or no space is left for the copy.
  private func putCopy(
    _ member: MoveRecord.Member, _ folder: QuarantineFolder, _ here: FileStatus
  ) throws -> Bool {
    do {
      try copy(folder.kept(member.name), folder.copyInProgress, here)
    } catch let error as SystemCallError
      where [EACCES, EPERM, ENOSPC, EDQUOT].contains(error.errno)
    {
      try fileSystem.remove(folder.copyInProgress)
      return false
    }
    try fileSystem.rename(folder.copyInProgress, folder.original(member.name))
    return true
  }

  /// Moves files that have taken original names of the store set, but are not its members, into a subfolder of the
  /// quarantine: a fresh store that has failed, or files without a main file, which are no store.
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

  /// Whether a member of the store set is at its original path: the member itself, or a copy with the same bytes. A
  /// main file, log or journal that was written to since the move began is another state of the store.
  private func isInPlace(_ member: MoveRecord.Member, _ folder: QuarantineFolder) throws -> Bool {
    let original = folder.original(member.name)
    guard let there = try fileSystem.status(original), there.kind == member.status.kind else {
      return false
    }
    if there.kind == .folder { return true }
    if there.isSameFile(as: member.status) {
      return !Self.withRows.contains(member.role) || there.isUnchanged(member.status)
    }
    guard let here = try fileSystem.status(folder.kept(member.name)) else { return false }
    return try hasEqualContent(original, there, folder.kept(member.name), here)
  }
}
