import StoreFiles
import SafeFiles
import Foundation

extension Error {
  /// This error, if it says that another process uses or moves the store; otherwise nil.
  var inUse: StoreRecoveryError? {
    guard let error = self as? StoreRecoveryError, error.code == .inUse else { return nil }
    return error
  }
}

/// A set that was moved into its quarantine, before the fresh store has opened.
struct SetAside: Sendable {
  let recovery: StoreRecovery
  let judgement: Judgement
  let folder: QuarantineFolder
  let incident: Incident

  func opened<Handle>(_ handle: Handle) -> Opened<Handle> {
    // When this fails, the incident is reported once more at the next launch.
    try? recovery.mover.close(folder)
    return Opened(handle: handle, incident: incident)
  }

  /// Brings the set back. If this fails after the intent to do so is written, the next launch continues. If it fails
  /// earlier, the set stays aside and the next launch makes a fresh store: other processes may already use theirs.
  ///
  /// - Returns: The error that kept the set from going back; nil when the set is back.
  @discardableResult
  func putBack(after error: any Error) -> (any Error)? {
    do {
      let mover = recovery.mover
      try mover.leased(folder.home) {
        // A process that has opened the fresh store has ended the move, and may have written rows to that store.
        guard try mover.fileSystem.status(folder.intent) != nil else {
          throw StoreRecoveryError(
            .inUse, "another process uses the fresh store; open again", path: folder.mainPath)
        }
        try mover.lockingOut(folder.mainPath) {}
        let record = try mover.beginBack(folder, reason: .freshFailed)
        try mover.advanceBack(folder, record, now: recovery.clock())
      }
      recovery.tell(.putBack(incident: folder.id, error))
      return nil
    } catch {
      recovery.tell(.setAsideFailed(error))
      return error
    }
  }
}

extension SetMover {
  /// Performs a move. If the move fails, the set goes back to where it was, now or at the next open.
  func advanceOrUndo(
    _ folder: QuarantineFolder, _ record: MoveRecord, now: Date
  ) throws -> Incident {
    do {
      return try advance(folder, record)
    } catch {
      let cause = error
      do {
        if try areOriginalsInPlace(folder, record) {
          // Without the incident's record the move counts as not committed.
          try remove(folder.incident)
          try fileSystem.syncFolder(folder.path)
        }
        if try fileSystem.status(folder.incident) != nil {
          try advanceBack(folder, try beginBack(folder, reason: .freshFailed), now: now)
        } else {
          // If the move cannot be undone, the next open finishes it.
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
