import CoreDataStore
import Foundation

/// One call of `open`, between the calls of the opener.
struct Attempt: Sendable {
  let recovery: StoreRecovery
  let model: (any ModelExpectation)?
  /// The facts from before the opener ran.
  let facts: StoreEvidence
  /// The main file from before the opener ran; nil when there was none.
  let main: FileStatus?
  /// Moves of an earlier run that were finished, and whose incident nobody was told about.
  let resumed: [PendingMoves.Ended]

  /// The store is open: an incident of an earlier run is handed over now.
  func opened<Handle>(_ handle: Handle) -> Opened<Handle> {
    for one in resumed {
      // When this fails, the incident is reported once more at the next launch.
      try? recovery.mover.close(one.folder)
    }
    return Opened(
      handle: handle, incident: resumed.last { $0.incident?.kind == .setAside }?.incident)
  }

  /// The judgement on a failed open when it is a quarantine; nil when the error is to be thrown.
  func verdict(on error: any Error) -> Judgement? {
    // Whoever cancels has changed their mind; that says nothing of the store.
    if error is CancellationError { return nil }
    var evidence = facts
    let main = try? recovery.fileSystem.status(recovery.storeURL.path)
    if evidence.isUsedElsewhere == true {
      // It may have been an opener like ours, which fails and lets go.
      DatabaseLock.waitUntilFree(
        recovery.storeURL.path, seconds: recovery.policy.maximumWaitSeconds)
      evidence.isUsedElsewhere = FileEvidence.isUsedElsewhere(recovery.storeURL.path)
    }
    evidence.failure = OpenFailure.facts(of: error, sqliteCode: recovery.policy.sqliteCode)
    if let state = recovery.policy.hostState?() { evidence.host = state }
    if Classifier(evidence: evidence, policy: recovery.policy).wantsDeepEvidence {
      evidence = recovery.deepened(evidence, model)
      evidence.earlierQuarantines = recovery.earlierQuarantines()
    }
    let verdict = classify(evidence, policy: recovery.policy)
    recovery.policy.report?(.judged(verdict))
    guard verdict.action == .quarantine else { return nil }
    var judgement = Judgement(evidence: evidence, verdict: verdict)
    judgement.main = main
    return judgement
  }

  /// What to throw when the store stays: the opener's error, or that it was about a store that another process
  /// has moved away since.
  func reason(_ error: any Error) -> any Error {
    isInPlace(main) ? error : Superseded(cause: error)
  }

  private func isInPlace(_ judged: FileStatus?) -> Bool {
    guard let judged else { return true }
    do {
      return try recovery.fileSystem.status(recovery.storeURL.path)?.isSameFile(as: judged) == true
    } catch { return true }
  }

  /// Sets the store aside; nil when that failed and the set is where it was.
  ///
  /// - Throws: `Superseded`, or ``StoreRecoveryError`` with the code `store.inUse`.
  func setAside(_ judgement: Judgement) throws -> SetAside? {
    do {
      return try recovery.moveAside(judgement)
    } catch {
      let isUnfinished = (error as? StoreRecoveryError)?.code == .unfinished
      if !isUnfinished, !isInPlace(judgement.main) { throw Superseded(cause: error) }
      recovery.policy.report?(.setAsideFailed(error))
      if let inUse = error.inUse { throw inUse }
      return nil
    }
  }
}

/// Another process moved the store away that `cause` is about, so an open starts anew.
struct Superseded: Error {
  let cause: any Error
}

extension Error {
  /// The error when it says that another process is in the way.
  var inUse: StoreRecoveryError? {
    guard let error = self as? StoreRecoveryError, error.code == .inUse else { return nil }
    return error
  }
}

/// A set that was moved into its quarantine, before the fresh store has proved itself.
struct SetAside: Sendable {
  let recovery: StoreRecovery
  let folder: QuarantineFolder
  let incident: Incident

  func opened<Handle>(_ handle: Handle) -> Opened<Handle> {
    // When this fails, the incident is reported once more at the next launch.
    try? recovery.mover.close(folder)
    return Opened(handle: handle, incident: incident)
  }

  /// Brings the set back. What fails here is finished at the next launch, from the record of the intent.
  ///
  /// - Returns: What stood in the way; nil when the set is back.
  @discardableResult
  func putBack(after error: any Error) -> (any Error)? {
    do {
      let mover = recovery.mover
      try mover.leased(folder.home) {
        // Whoever opened the fresh store has closed the move, and may have rows in it by now.
        guard try mover.fileSystem.status(folder.intent) != nil else {
          throw StoreRecoveryError(
            .inUse, "another process uses the fresh store; open again", path: folder.mainPath)
        }
        try mover.lockingOut(folder.mainPath) {}
        let record = try mover.beginBack(folder, reason: .freshFailed)
        try mover.advanceBack(folder, record, now: recovery.clock())
      }
      recovery.policy.report?(.putBack(incident: folder.id, error))
      return nil
    } catch {
      recovery.policy.report?(.setAsideFailed(error))
      return error
    }
  }
}

extension SetMover {
  /// Does a move; when it fails, the set goes back to where it was.
  func advanceOrUndo(
    _ folder: QuarantineFolder, _ record: MoveRecord, now: Date
  ) throws -> Incident {
    do {
      return try advance(folder, record)
    } catch {
      let cause = error
      do {
        if try areOriginalsInPlace(folder, record) {
          // Without its record the move counts as not committed.
          try remove(folder.incident)
          try fileSystem.syncFolder(folder.path)
        }
        if try fileSystem.status(folder.incident) != nil {
          try advanceBack(folder, try beginBack(folder, reason: .freshFailed), now: now)
        } else {
          // Left to the next open, which finishes a move that cannot be undone.
          guard try undo(folder, record) else { throw cause }
        }
      } catch {
        throw StoreRecoveryError(
          .unfinished,
          "the store could be neither set aside nor put back now; the next open tries again",
          path: folder.path, errno: (cause as? SystemCallError)?.errno, underlying: cause)
      }
      if let own = cause as? StoreRecoveryError { throw own }
      throw StoreRecoveryError(
        .moveFailed, "the store could not be set aside, and is where it was", path: folder.mainPath,
        errno: (cause as? SystemCallError)?.errno, underlying: cause)
    }
  }

  private func areOriginalsInPlace(
    _ folder: QuarantineFolder, _ record: MoveRecord
  ) throws -> Bool {
    try record.members.allSatisfy { member in
      guard member.status.kind != .folder else { return true }
      let there = try fileSystem.status(folder.original(member.name))
      return there?.isSameFile(as: member.status) ?? false
    }
  }
}
