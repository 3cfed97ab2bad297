import CLibrary
import StoreFiles
import SafeFiles
import Foundation
import SafeText

/// Finds the moves that an earlier run began but did not finish, and finishes or undoes each.
struct PendingMoves: Sendable {
  let mover: SetMover
  let home: String
  /// The name of the store whose unfinished moves are completed or undone; nil for all stores in the folder.
  let storeName: String?
  /// The incident whose unfinished move is completed or undone; nil for all incidents.
  var only: String?
  /// Called for a problem that does not prevent opening the store: a damaged record, or a seal that makes no progress.
  var report: (@Sendable (RecoveryEvent) -> Void)?

  private var incompatible: String { QuarantineFolder.parent(in: home) }

  struct Ended {
    let folder: QuarantineFolder
    /// The incident of the move, if the move into the quarantine was completed. Nil when the store set is in its
    /// original place again.
    let incident: Incident?
  }

  /// Finishes or undoes each unfinished move, oldest first. Takes the lease (``SetMover/leased(_:_:)``) only if
  /// something may be unfinished.
  ///
  /// The result also contains finished moves that made room for a fresh store. Each run returns such a move again until
  /// the fresh store has opened.
  ///
  /// - Throws: ``StoreRecoveryError`` with the code `quarantine.unfinished` when a move can be neither finished nor
  ///   undone. The store must not be opened then, because its files may be in two places. The code is `store.inUse`
  ///   when another process uses or moves the store.
  func end(now: Date) throws -> [Ended] {
    guard try isAnythingPending() else {
      // With this note, the next launch skips the search.
      SettledMoves.note(
        in: incompatible, now: now, mover.fileSystem
      ) { try isAnythingPending() || !unsealed().isEmpty }
      return []
    }
    return try mover.leased(home) { try endHoldingLease(now: now) }
  }

  /// Finishes or undoes the pending moves, like ``end(now:)``. The caller must hold the lease, so that no other process
  /// moves a store.
  func endHoldingLease(now: Date) throws -> [Ended] {
    var ended: [Ended] = []
    let names = try mover.fileSystem.entries(incompatible).names
    // First, interrupted removals are ended. A removal that cannot be ended does not affect a store in use.
    if only == nil {
      _ = Removal(fileSystem: mover.fileSystem, incompatible: incompatible).endPending(names)
    }
    TrialFolder.sweep(names, in: incompatible, mover.fileSystem)
    try? mover.fileSystem.sweep(home)
    for id in names.sortedByBytes() where Timestamp.isFolderName(id) && isSelected(id) {
      do {
        if let one = try end(id, now: now) { ended.append(one) }
      } catch let error as StoreRecoveryError where error.code == .inUse {
        throw error
      } catch {
        // Only a move that has begun can have left the store's files in two places.
        guard try holdsPartOfSet(id) else { continue }
        if RecordFile.isDamage(error), try isWhole(id) {
          report?(.setAsideFailed(error))
          continue
        }
        throw StoreRecoveryError(
          .unfinished,
          "an earlier move of the store could be neither finished nor undone, so the store is not opened; the next open tries again",
          path: incompatible + "/" + id, errno: SetMover.errno(of: error),
          underlying: error)
      }
    }
    return ended
  }

  /// Whether an earlier run has left a move of the store unfinished. Changes nothing. If the record of a move is
  /// damaged, the move counts as unfinished when the quarantine may hold the only copy of a part of the store set.
  /// ``endHoldingLease(now:)`` judges moves by the same rule.
  func hasUnfinishedMove() throws -> Bool {
    try names().contains { id in
      guard Timestamp.isFolderName(id) else { return false }
      let path = incompatible + "/" + id + "/"
      do {
        let record =
          try mover.records.move(at: path + QuarantineFolder.backName)
          ?? mover.records.move(at: path + QuarantineFolder.intentName)
        return record.map { isOurs($0.storeName) } ?? false
      } catch  where RecordFile.isDamage(error) {
        return try holdsPartOfSet(id) && !isWhole(id)
      }
    }
  }

  /// Whether a move of a store set, a trial of a store or the removal of an incident may be unfinished or in progress.
  /// Only the names of files are examined.
  private func isAnythingPending() throws -> Bool {
    try names().contains { id in
      if TrialFolder.isName(id) || PathText.starts(id, with: Removal.prefix) { return true }
      guard Timestamp.isFolderName(id), isSelected(id) else { return false }
      let path = incompatible + "/" + id + "/"
      let records = [
        QuarantineFolder.backName, QuarantineFolder.intentName,
        QuarantineFolder.backName + RecordFile.partSuffix,
      ]
      // If the folder has no incident's record either, the run may have ended before it wrote its intent.
      return try records.contains { try mover.fileSystem.status(path + $0) != nil }
        || mover.fileSystem.status(path + QuarantineFolder.incidentName) == nil
    }
  }

  /// The names in the folder of the incidents; empty when there is no such folder.
  private func names() throws -> [String] {
    guard try mover.fileSystem.status(incompatible)?.kind == .folder else { return [] }
    return try mover.fileSystem.entries(incompatible).names
  }

  private func isSelected(_ id: String) -> Bool { only.map { PathText.isSame($0, id) } ?? true }

  private func isOurs(_ name: String) -> Bool {
    storeName.map { PathText.isSame($0, name) } ?? true
  }

  // MARK: Seals

  /// Continues to hash the files of incidents whose seals are incomplete. One launch reads at most
  /// ``SealPace/bytesPerLaunch`` bytes for all incidents together. Does nothing while another process holds the lease
  /// on the folder of the incidents.
  func continueSeals() {
    let lease = incompatible + "/" + QuarantineFolder.leaseName
    guard let waiting = try? unsealed(), !waiting.isEmpty,
      let descriptor = try? mover.fileSystem.lock(lease)
    else { return }
    defer { _ = close(descriptor) }
    var budget: Int64? = mover.pace.bytesPerLaunch
    for id in waiting {
      let path = incompatible + "/" + id
      do {
        guard let incident = try mover.records.incident(in: path) else { continue }
        let folder = QuarantineFolder(home: home, storeName: incident.storeName, id: id)
        if try mover.continueSeal(folder, budget: &budget) { return }
      } catch {
        // The launch goes on without the seal.
        report?(.setAsideFailed(error))
      }
      if let budget, budget <= 0, budget < mover.pace.bytesPerLaunch { return }
    }
  }

  private func unsealed() throws -> [String] {
    try names().sortedByBytes().filter { id in
      let path = incompatible + "/" + id + "/"
      return try Timestamp.isFolderName(id)
        && mover.fileSystem.status(path + QuarantineFolder.sealingName) != nil
        && mover.fileSystem.status(path + QuarantineFolder.incidentName) != nil
    }
  }

  /// Whether the folder of the quarantine `id`, whose record cannot be used, contains files of the store set. If not,
  /// the whole set is in its original place.
  private func holdsPartOfSet(_ id: String) throws -> Bool {
    guard let storeName else { return true }
    let folder = QuarantineFolder(home: home, storeName: storeName, id: id)
    let hasRecord =
      try mover.fileSystem.status(folder.back) != nil
      || mover.fileSystem.status(folder.intent) != nil
    return hasRecord && !StoreSet(at: folder.keptMainPath).members.isEmpty
  }

  private func end(_ id: String, now: Date) throws -> Ended? {
    let path = incompatible + "/" + id
    guard try mover.fileSystem.status(path)?.kind == .folder else { return nil }
    try? mover.fileSystem.sweep(Incidents.keptFolder(in: path))
    let back = try mover.records.move(at: path + "/" + QuarantineFolder.backName)
    let intent: MoveRecord?
    do {
      // If the set is on its way back, its intent is no longer needed.
      intent =
        back == nil ? try mover.records.move(at: path + "/" + QuarantineFolder.intentName) : nil
    } catch  where RecordFile.isDamage(error) {
      guard let incident = try? mover.records.incident(in: path) else { throw error }
      try finish(incident, id)
      return nil
    }
    guard let record = back ?? intent else {
      try sweep(id, path)
      return nil
    }
    guard isOurs(record.storeName) else { return nil }
    let folder = QuarantineFolder(home: home, storeName: record.storeName, id: id)
    if back != nil {
      // A move that is given up leaves the set in the quarantine, where its intent may still be pending.
      guard try mover.advanceBack(folder, record, now: now) else { return try end(id, now: now) }
      return Ended(folder: folder, incident: nil)
    }
    if try mover.fileSystem.status(folder.incident) != nil, try mover.isUsedAgain(folder, record) {
      // The store in place is newer than the incident. Without its record, the move is undone.
      try mover.fileSystem.remove(folder.incident)
      try mover.fileSystem.syncFolder(folder.path)
    }
    if try mover.fileSystem.status(folder.incident) == nil {
      if let incident = try goForward(folder, record) {
        return try ended(folder, incident, now: now)
      }
      if try mover.undo(folder, record) { return Ended(folder: folder, incident: nil) }
    }
    let incident = try mover.advance(folder, record, isResumed: true)
    return try ended(folder, incident, now: now)
  }

  /// Returns the result of a finished move into a quarantine. A move that made room for a fresh store stays pending
  /// until the fresh store has opened. A move that made room for a restored store is closed, if the earlier run had
  /// begun to restore that store. Otherwise the moved store set is moved back.
  private func ended(_ folder: QuarantineFolder, _ incident: Incident, now: Date) throws -> Ended {
    if incident.kind == .replaced, StoreSet(at: folder.mainPath).members.isEmpty,
      try !isSetGoingBack()
    {
      // The earlier run ended before it began to restore the other set, so the replaced set is moved back.
      let record = try mover.beginBack(folder, reason: .freshFailed)
      if try mover.advanceBack(folder, record, now: now) {
        return Ended(folder: folder, incident: nil)
      }
    }
    // When this fails, a later run closes the move; the set is whole.
    if incident.kind != .setAside { try? mover.close(folder) }
    return Ended(folder: folder, incident: incident)
  }

  private func isSetGoingBack() throws -> Bool {
    try mover.fileSystem.entries(incompatible).names.contains { id in
      let path = incompatible + "/" + id + "/" + QuarantineFolder.backName
      return try mover.records.move(at: path).map { isOurs($0.storeName) } ?? false
    }
  }

  /// Continues the move of a store set into the quarantine, if an earlier run has moved the whole set but has not
  /// finished. This happens when hashing a large set for its seal takes longer than a launch. Each launch would start
  /// over if the set were moved back.
  ///
  /// - Returns: The incident of the move; nil when the set must be moved back.
  private func goForward(_ folder: QuarantineFolder, _ record: MoveRecord) throws -> Incident? {
    guard try mover.isAllKept(folder, record) else { return nil }
    do {
      return try mover.advance(folder, record, budget: mover.pace.bytesPerLaunch)
    } catch {
      // A committed move cannot be undone.
      guard try mover.fileSystem.status(folder.incident) == nil else { throw error }
      return nil
    }
  }

  /// Finishes a move into the quarantine whose record is damaged. The quarantine already contains the whole store set.
  /// Removes the original names that still lead to files in the quarantine, because an app that opens the store would
  /// write to these files.
  private func finish(_ incident: Incident, _ id: String) throws {
    guard isOurs(incident.storeName) else { return }
    let folder = QuarantineFolder(home: home, storeName: incident.storeName, id: id)
    let members = try StoreSet(at: folder.keptMainPath).members.compactMap { member in
      try mover.fileSystem.status(member.path).map {
        MoveRecord.Member(role: member.role, name: member.name, status: $0)
      }
    }
    let isStillThere = try members.contains { member in
      try member.status.kind != .folder
        && mover.fileSystem.status(folder.original(member.name))?.isSameFile(as: member.status)
          ?? false
    }
    guard isStillThere else { return }
    let record = MoveRecord(
      storeName: incident.storeName, members: members, incident: incident, back: nil)
    _ = try mover.advance(folder, record, isResumed: true)
  }

  /// Whether the store may be opened although the records of its move into the quarantine `id` cannot be read. It may
  /// be opened if the files show that no part of the store set is only in the quarantine.
  private func isWhole(_ id: String) throws -> Bool {
    guard let storeName else { return false }
    let folder = QuarantineFolder(home: home, storeName: storeName, id: id)
    guard try mover.fileSystem.status(folder.back) == nil,
      let there = try mover.fileSystem.status(folder.mainPath), there.kind == .file
    else { return false }
    // The store in use is fresh, or the quarantine holds a copy of it: no part of the store in use was moved.
    if let here = try mover.fileSystem.status(folder.keptMainPath), !there.isSameFile(as: here) {
      return true
    }
    // The move is committed. A later run that can read the records would remove names that are then in use.
    guard try mover.fileSystem.status(folder.incident) == nil else { return false }
    // The main file alone does not show that the set is whole: a file that cannot be linked is renamed, and the log is
    // moved before the main file.
    let kept = StoreSet(at: folder.keptMainPath)
    return try kept.isComplete
      && kept.members.allSatisfy { member in
        try member.role == .sharedMemory
          || mover.fileSystem.status(folder.original(member.name)) != nil
      }
  }

  /// Removes an incomplete record that a killed process left in the folder of an incident. Also removes the folder if
  /// it is empty or contains only such a record.
  private func sweep(_ id: String, _ path: String) throws {
    try mover.fileSystem.remove(path + "/" + QuarantineFolder.backName + RecordFile.partSuffix)
    let part = QuarantineFolder.intentName + RecordFile.partSuffix
    let entries = try mover.fileSystem.entries(path)
    guard !entries.isCut, entries.names.allSatisfy({ PathText.isSame($0, part) }) else { return }
    try mover.fileSystem.remove(path + "/" + part)
    try mover.removeFolder(path)
  }
}
