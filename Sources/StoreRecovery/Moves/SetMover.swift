import CLibrary
import StoreFiles
import SafeFiles
import SafeText

/// Moves store sets into and out of their quarantine. A step that is already done does nothing.
struct SetMover: Sendable {
  let fileSystem: FileSystem
  var maximumWaitSeconds: Double = Policy.usualWaitSeconds
  var pace = SealPace()
  var isCancelled: @Sendable () -> Bool = { false }
  /// Returns the texts for the note in the quarantine. The note is rewritten when a store set is moved back to its
  /// original place.
  var texts: @Sendable () -> IncidentTexts = { IncidentTexts() }

  var records: RecordFile { RecordFile(fileSystem: fileSystem) }

  // MARK: Into the quarantine

  /// Throws unless the store set at `mainPath` can be moved, and at least `minimumFreeBytes` bytes are free on its
  /// volume for a fresh store.
  func check(_ mainPath: String, minimumFreeBytes: Int64) throws {
    try check(StoreSet(at: mainPath))
    let home = PathText.folder(of: mainPath)
    guard try fileSystem.freeSpace(home) >= minimumFreeBytes else {
      throw StoreRecoveryError(
        .noSpace,
        "too little space is free for a fresh store; free some space and open the store again",
        path: home)
    }
  }

  /// Makes the folder of a new quarantine, and writes the intent into it: the record of what the move will do. From
  /// then on, a later run can continue the move. The caller must hold the lease.
  func begin(
    _ mainPath: String, name: String, draft: (_ id: String, _ folder: String) -> Incident
  ) throws -> (QuarantineFolder, MoveRecord) {
    let home = PathText.folder(of: mainPath)
    let storeName = PathText.lastComponent(of: mainPath)
    let set = StoreSet(at: mainPath)
    try check(set)
    let folder = try makeFolder(home: home, storeName: storeName, name: name)
    do {
      let members = try set.members.map { member in
        guard let status = try fileSystem.status(member.path), status.kind == member.kind else {
          throw StoreRecoveryError(
            .unmovable, "the file changed while the move was prepared", path: member.path)
        }
        return MoveRecord.Member(role: member.role, name: member.name, status: status)
      }
      let record = MoveRecord(
        storeName: storeName, members: members, incident: draft(folder.id, folder.path), back: nil)
      try records.write(record, to: folder.intent)
      return (folder, record)
    } catch {
      try? discard(folder)
      throw error
    }
  }

  /// Performs the move, or continues where an earlier run stopped. The steps: bring the members into the quarantine,
  /// seal them, write the incident's record, which commits the move, and remove the original names.
  ///
  /// A resumed move skips members that other processes have removed or replaced since the move began. If sealing would
  /// read more bytes than `budget`, the move is committed without a seal.
  func advance(
    _ folder: QuarantineFolder, _ record: MoveRecord, isResumed: Bool = false, budget: Int64? = nil
  ) throws -> Incident {
    if let incident = try records.incident(in: folder.path) {
      try checkFolders(folder, record)
      try removeOriginals(folder, record, isResumed: isResumed)
      return incident
    }
    try checkFolders(folder, record)
    try ensureFolder(folder.storeFolder)
    if isResumed { try? fileSystem.sweep(folder.storeFolder) }
    // A file that cannot be linked is renamed, so it loses its original name here and not at the end.
    let main = record.members.first { $0.role == .main }?.status
    let isOurs = try main.flatMap { try fileSystem.status(folder.mainPath)?.isSameFile(as: $0) }
    try lockingOut(isOurs == true ? folder.mainPath : nil) {
      // The log before the main file: when files are renamed one by one, a main file without its log opens in an
      // earlier state, but a log without its main file is deleted when the store is opened.
      for member in record.members where member.role != .main {
        try take(member, folder, isResumed: isResumed)
      }
      for member in record.members where member.role == .main {
        try take(member, folder, isResumed: isResumed)
      }
    }
    let incident = try commit(folder, record, isResumed: isResumed, budget: budget)
    try removeOriginals(folder, record, isResumed: isResumed)
    return incident
  }

  func close(_ folder: QuarantineFolder) throws {
    try fileSystem.remove(folder.intent)
    // A partial record may be left by a run that was about to put the set back.
    try fileSystem.remove(folder.back + RecordFile.partSuffix)
    try fileSystem.syncFolder(folder.path)
  }

  private func check(_ set: StoreSet) throws {
    if let problem = set.problem {
      throw StoreRecoveryError(.unmovable, problem, path: set.mainPath)
    }
    guard let first = set.members.first else {
      throw StoreRecoveryError(.unmovable, "there is no store to set aside", path: set.mainPath)
    }
    if first.role == .main, first.kind != .file {
      throw StoreRecoveryError(
        .unmovable, "at the store's path is \(first.kind.words), which cannot be moved",
        path: set.mainPath)
    }
    try checkSupport(set)
  }

  /// Throws if another store uses the set's support folder. Stores whose names differ only in the extension share a
  /// support folder, which must not be moved with one store alone.
  private func checkSupport(_ set: StoreSet) throws {
    guard let support = set.first(.support) else { return }
    let home = PathText.folder(of: set.mainPath)
    let mainName = PathText.lastComponent(of: set.mainPath)
    let entries = try fileSystem.entries(home)
    if let problem = entries.problem(in: "the store's folder") {
      throw StoreRecoveryError(.unmovable, problem, path: set.mainPath)
    }
    let names = Set(entries.names.map { FileName($0) })
    for name in entries.names.sortedByBytes()
    where PathText.isSame(StoreSet.supportName(for: name), support.name)
      && StoreSet.role(ofMember: name, mainName: mainName) == nil
    {
      let path = home + "/" + name
      guard try fileSystem.status(path)?.kind == .file else { continue }
      // A file with a log is a database, so it is not opened: closing it would drop locks that this process may hold
      // on it.
      let hasLog = ["-wal", "-shm", "-journal"].contains { names.contains(FileName(name + $0)) }
      let start = hasLog ? nil : FileEvidence.firstBytes(of: path, count: 16)
      if let start, start.errno == 0, FileEvidence.header(start.bytes)?.isMagicRight != true {
        continue
      }
      let other =
        start?.errno ?? 0 == 0
        ? "the store \(name) uses" : "\(name) cannot be read and may be a store that uses"
      throw StoreRecoveryError(
        .unmovable,
        "\(other) the same support folder, \(support.name); move or rename one of the two stores",
        path: path)
    }
  }

  /// Makes the folder `Incompatible` in the store's folder `home`, if it does not exist. The folders of all incidents
  /// are in this folder.
  func makeIncompatible(in home: String) throws {
    let path = QuarantineFolder.parent(in: home)
    try ensureFolder(path)
    try fileSystem.syncFolder(home)
  }

  private func makeFolder(home: String, storeName: String, name: String) throws -> QuarantineFolder
  {
    for folder in QuarantineFolder.candidates(name, home: home, storeName: storeName) {
      do {
        try fileSystem.makeFolder(folder.path, 0o700)
      } catch let error as SystemCallError where error.errno == EEXIST {
        continue
      }
      try fileSystem.syncFolder(folder.incompatible)
      return folder
    }
    throw QuarantineFolder.noneFree(in: home)
  }

  private func take(
    _ member: MoveRecord.Member, _ folder: QuarantineFolder, isResumed: Bool
  ) throws {
    let original = folder.original(member.name)
    let kept = folder.kept(member.name)
    let there = try fileSystem.status(original)
    if let here = try fileSystem.status(kept) {
      if here.kind == .folder || here.isSameFile(as: member.status) { return }
      guard let there, there.isSameFile(as: member.status) else {
        // The wal-index is a copy, and SQLite can do without it.
        if member.role == .sharedMemory, isResumed { return }
        throw StoreRecoveryError(
          .unmovable, "the quarantine holds a file that does not belong to the store", path: kept)
      }
      // The kept file is a partial copy; the original is still in place.
      try fileSystem.unlink(kept, here)
    }
    guard let there else {
      if isResumed { return }
      throw StoreRecoveryError(.unmovable, "a file of the store has disappeared", path: original)
    }
    guard there.isSameFile(as: member.status) else {
      if isResumed { return }
      throw StoreRecoveryError(
        .unmovable, "another file has replaced a file of the store", path: original)
    }
    if member.role == .sharedMemory, there.kind == .file {
      // A process that only reads the store writes to the wal-index, so a link would break the seal.
      try copy(original, kept, there)
    } else {
      try place(original, at: kept, status: there)
    }
  }

  /// Writes the record of the incident, which commits the move.
  private func commit(
    _ folder: QuarantineFolder, _ record: MoveRecord, isResumed: Bool, budget: Int64?
  ) throws -> Incident {
    let names = Set(record.members.map { FileName($0.name) })
    let kept = StoreSet(at: folder.keptMainPath)
    let present = StoreSet(at: folder.mainPath)
    for member in present.members where !isResumed && !names.contains(FileName(member.name)) {
      throw StoreRecoveryError(
        .inUse, "a file appeared in the store during the move, so something still uses it",
        path: member.path)
    }
    guard kept.isComplete, kept.members.allSatisfy({ names.contains(FileName($0.name)) }) else {
      throw StoreRecoveryError(
        .unmovable, "the files in the quarantine are not those of the store", path: folder.path)
    }
    if !isResumed { try checkUnchanged(folder, record) }
    try sync(kept)
    try fileSystem.syncFolder(folder.path)
    guard var incident = record.incident else {
      throw StoreRecoveryError(
        .unmovable, "the record of the move names no incident", path: folder.intent)
    }
    var budget = budget
    incident.seal = try seal(folder, kept, budget: &budget)
    if try fileSystem.status(folder.text) == nil {
      try records.write(bytes: Array(incident.plainText.utf8), to: folder.text)
    }
    try records.write(incident, to: folder.incident)
    if incident.seal != nil { try forgetProgress(folder) }
    return incident
  }

  /// Whether an interrupted move has already brought all files of the store set, unchanged, into the quarantine. Such a
  /// move is finished instead of undone.
  func isAllKept(_ folder: QuarantineFolder, _ record: MoveRecord) throws -> Bool {
    guard record.incident != nil, !record.members.isEmpty else { return false }
    guard !hasNewLog(folder, record) else { return false }
    var places: Set<Bool> = []
    for member in record.members {
      guard let here = try fileSystem.status(folder.kept(member.name)),
        here.kind == member.status.kind
      else { return false }
      if here.kind == .folder { continue }
      let there = try fileSystem.status(folder.original(member.name))
      if let there, !there.isUnchanged(member.status), member.role != .sharedMemory { return false }
      if member.role == .sharedMemory {
        if let there, !there.isSameFile(as: member.status) { return false }
        continue
      }
      // The member was linked, renamed or copied. A copy gets the original's time when it is complete.
      guard here.hasSizeAndTime(of: member.status) else { return false }
      if there == nil, !here.isSameFile(as: member.status) { return false }
      places.insert(there != nil)
    }
    // If only some originals are left, such as all but the log, another process has opened and closed the store.
    return places.count <= 1
  }

  /// Whether a log has appeared in place since the move began. It belongs to the main file that is still there.
  private func hasNewLog(_ folder: QuarantineFolder, _ record: MoveRecord) -> Bool {
    let names = Set(record.members.map { FileName($0.name) })
    return StoreSet(at: folder.mainPath).members.contains {
      $0.role != .main && Self.withRows.contains($0.role) && !names.contains(FileName($0.name))
    }
  }

  /// Whether a program has used the store in place, although the move is committed: the main file, which still has both
  /// names, or its log was written to. The files in the quarantine are then a mixture of two states.
  func isUsedAgain(_ folder: QuarantineFolder, _ record: MoveRecord) throws -> Bool {
    guard let main = record.members.first(where: { $0.role == .main }),
      let here = try fileSystem.status(folder.kept(main.name)),
      try fileSystem.status(folder.original(main.name))?.isSameFile(as: here) == true
    else { return false }
    if hasNewLog(folder, record) { return true }
    return try record.members.contains { member in
      guard Self.withRows.contains(member.role), member.status.kind == .file else { return false }
      // The main file loses its name before its log does, so a program has removed a log that is missing.
      guard let there = try fileSystem.status(folder.original(member.name)) else { return true }
      return !there.isUnchanged(member.status)
    }
  }

  /// Throws if a file has changed since the move began, because a process then still uses the store.
  private func checkUnchanged(_ folder: QuarantineFolder, _ record: MoveRecord) throws {
    for member in record.members
    where member.status.kind == .file && member.role != .sharedMemory {
      guard let now = try fileSystem.status(folder.kept(member.name)),
        now.hasSizeAndTime(of: member.status)
      else {
        throw StoreRecoveryError(
          .inUse, "a file of the store changed during the move, so something still uses it",
          path: folder.kept(member.name))
      }
    }
  }

  /// Removes the names that the members of the store set have outside the quarantine. The main file is locked
  /// meanwhile, so that no other process has it open. The wal-index loses its name first, because a fresh store would
  /// use that wal-index. The main file is next: without its name, no process can open the set and write into files that
  /// the quarantine shares.
  private func removeOriginals(
    _ folder: QuarantineFolder, _ record: MoveRecord, isResumed: Bool
  ) throws {
    // All members are checked before any is removed, because a move is cancelled for the set as a whole.
    var removable: [(role: StoreSet.Role, path: String, status: FileStatus)] = []
    for member in record.members where member.status.kind != .folder {
      let original = folder.original(member.name)
      guard let there = try fileSystem.status(original),
        let here = try fileSystem.status(folder.kept(member.name))
      else { continue }
      if there.isSameFile(as: here) {
        removable.append((member.role, original, there))
        continue
      }
      // The quarantine holds a copy of the member, or another file has the name.
      guard there.isSameFile(as: member.status) else { continue }
      let isIndex = member.role == .sharedMemory
      if try (isIndex && !isResumed)
        || (there.modified == member.status.modified
          && (isIndex || hasEqualContent(original, there, folder.kept(member.name), here)))
      {
        removable.append((member.role, original, there))
      } else if !isResumed {
        throw StoreRecoveryError(
          .inUse, "a file of the store changed during the move, so something still uses it",
          path: original)
      }
    }
    try lockingOut(removable.isEmpty ? nil : folder.mainPath) {
      // The last moment to cancel; from here on no other process can write.
      if !isResumed { try checkUnchanged(folder, record) }
      let indexes = removable.filter { $0.role == .sharedMemory }
      for one in indexes + removable.filter({ $0.role != .sharedMemory }) {
        // After the main file's name is removed, another process may make a fresh store at any moment.
        guard try fileSystem.status(one.path)?.isSameFile(as: one.status) == true else { continue }
        try fileSystem.remove(one.path, one.status)
      }
    }
    try removeFolders(record, at: { folder.original($0) })
    try fileSystem.syncFolder(folder.home)
  }

  // MARK: Shared steps

  /// Throws if the path of a folder of the store set leads to something else, such as a symbolic link. Through a
  /// symbolic link, the move could reach files outside the store's folder.
  func checkFolders(_ folder: QuarantineFolder, _ record: MoveRecord) throws {
    var paths: Set = [FileName(folder.storeFolder)]
    for member in record.members {
      var name = PathText.folder(of: member.name)
      while !PathText.isSame(name, ".") {
        paths.formUnion([FileName(folder.original(name)), FileName(folder.kept(name))])
        name = PathText.folder(of: name)
      }
    }
    for path in paths.map(\.text) {
      guard let status = try fileSystem.status(path), status.kind != .folder else { continue }
      throw StoreRecoveryError(
        .unmovable, "\(status.kind.words) is at the path of a folder that is needed; move it away",
        path: path)
    }
  }

  /// Makes the file `from` available under the name `to`: by a hard link; if that is not possible, by a rename; on
  /// another volume, by a copy. After a rename, the name `from` no longer exists.
  ///
  /// `part`: the temporary name of an unfinished copy; nil to write the copy directly under the name `to`. `noting` is
  /// called with a complete copy before it gets the name `to`.
  func place(
    _ from: String, at to: String, status: FileStatus, part: String? = nil,
    noting: (_ copy: FileStatus) throws -> Void = { _ in }
  ) throws {
    if status.kind == .folder {
      return try ensureFolder(to) { try fileSystem.copyFolder(from, to) }
    }
    do {
      try fileSystem.link(from, to)
    } catch let error as SystemCallError
      where [EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS, EMLINK, EXDEV].contains(error.errno)
    {
      do {
        try fileSystem.rename(from, to)
      } catch let error as SystemCallError where error.errno == EXDEV {
        try copy(from, part ?? to, status)
        if let part {
          if let copied = try fileSystem.status(part) { try noting(copied) }
          try fileSystem.rename(part, to)
        }
      }
    }
  }

  func copy(_ from: String, _ to: String, _ status: FileStatus) throws {
    try fileSystem.copy(from, to)
    guard let copied = try fileSystem.status(to), try hasEqualContent(from, status, to, copied)
    else {
      throw StoreRecoveryError(.moveFailed, "the copy differs from the original", path: to)
    }
  }

  func hasEqualContent(
    _ first: String, _ firstStatus: FileStatus, _ second: String, _ secondStatus: FileStatus
  ) throws -> Bool {
    guard firstStatus.kind == secondStatus.kind, firstStatus.sizeBytes == secondStatus.sizeBytes
    else { return false }
    switch firstStatus.kind {
    case .file: return try StoreSeal.sha256(ofFile: first) == StoreSeal.sha256(ofFile: second)
    case .symbolicLink: return try StoreSeal.target(of: first) == StoreSeal.target(of: second)
    case .folder, .other: return false
    }
  }

  /// Makes a folder that only this user may enter, unless there is a folder at the path.
  func ensureFolder(_ path: String) throws {
    try ensureFolder(path) { try fileSystem.makeFolder(path, 0o700) }
  }

  private func ensureFolder(_ path: String, _ make: () throws -> Void) throws {
    if let status = try fileSystem.status(path) {
      guard status.kind == .folder else {
        throw StoreRecoveryError(
          .unmovable,
          "\(status.kind.words) is at the path of a folder that is needed; move it away", path: path
        )
      }
      return
    }
    do {
      try make()
    } catch let error as SystemCallError where error.errno == EEXIST {
      guard try fileSystem.status(path)?.kind == .folder else { throw error }
    }
  }

  /// Syncs the files and folders of a store set, and the folder that contains the set. If `skipsUnreadable` is true,
  /// files that this user may not read are skipped.
  func sync(_ set: StoreSet, skipsUnreadable: Bool = false) throws {
    for member in set.members where member.kind == .file {
      do { try fileSystem.syncFile(member.path) } catch let error as SystemCallError
        where skipsUnreadable && [EACCES, EPERM].contains(error.errno)
      { continue }
    }
    for member in set.members.reversed() where member.kind == .folder {
      try fileSystem.syncFolder(member.path)
    }
    try fileSystem.syncFolder(PathText.folder(of: set.mainPath))
  }

  /// Removes the set's folders, innermost first; a folder that is not empty stays.
  func removeFolders(_ record: MoveRecord, at path: (String) -> String) throws {
    for folder in Set(record.members.map { FileName(PathText.folder(of: path($0.name))) }) {
      try? fileSystem.sweep(folder.text)
    }
    for member in record.members.reversed() where member.status.kind == .folder {
      try removeFolder(path(member.name))
    }
  }

  func removeFolder(_ path: String) throws {
    do {
      try fileSystem.removeFolder(path)
    } catch let error as SystemCallError
      where [ENOENT, ENOTEMPTY, EEXIST, ENOTDIR].contains(error.errno)
    {
      return
    }
  }

  /// Removes a quarantine's folder and Lifeboat's records in it, unless the folder holds anything else.
  func discard(_ folder: QuarantineFolder) throws {
    try removeFolder(folder.storeFolder)
    guard try fileSystem.status(folder.storeFolder) == nil else { return }
    let records = [
      folder.incident, folder.text, folder.outcome, folder.sealing, folder.intent, folder.back,
    ]
    for path in records { try fileSystem.remove(path + RecordFile.partSuffix) }
    let entries = try fileSystem.entries(folder.path)
    let ours = Set(records.map { FileName(PathText.lastComponent(of: $0)) })
    // A folder that holds anything else stays, and so does its record.
    let keeps = entries.isCut || !entries.names.allSatisfy { ours.contains(FileName($0)) }
    try fileSystem.remove(folder.sealing)
    if !keeps {
      for path in [folder.incident, folder.text, folder.outcome] { try fileSystem.remove(path) }
    }
    // These two go last, because without them a later run would not continue here.
    for path in [folder.intent, folder.back] { try fileSystem.remove(path) }
    if !keeps { try removeFolder(folder.path) }
    try fileSystem.syncFolder(folder.incompatible)
  }
}
