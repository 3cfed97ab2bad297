import StoreFiles
import SafeFiles
import Foundation

extension Error {
  var inUse: StoreRecoveryError? {
    guard let error = self as? StoreRecoveryError, error.code == .inUse else { return nil }
    return error
  }
}

/// A store that was moved into a quarantine. The app has not opened the fresh store at the original path yet.
struct SetAside: Sendable {
  let recovery: Recovery
  let judgement: Judgement
  let folder: QuarantineFolder
  let incident: Incident

  func opened<Handle>(_ handle: Handle) -> Opened<Handle> {
    // If this fails, the next launch reports the incident once more.
    try? recovery.mover.close(folder)
    return Opened(handle: handle, incident: incident)
  }

  /// Moves the store back from the quarantine to its path.
  ///
  /// An error may stop the move, for example because another process already uses a fresh store. If the record of the
  /// move back was written by then, the next launch continues the move. If not, the store stays in the quarantine, and
  /// the next launch makes a fresh store.
  ///
  /// - Returns: The error that stopped the move; nil when the store is back.
  @discardableResult
  func putBack(after error: any Error) -> (any Error)? {
    do {
      let mover = recovery.mover
      try mover.leased(folder.home) {
        // A process that has opened the fresh store has ended the move, and may have written rows to that store.
        guard try mover.fileSystem.status(folder.intent) != nil else {
          throw StoreRecoveryError(
            .inUse, "another process uses the fresh store; open the store again",
            path: folder.mainPath)
        }
        try mover.lockingOut(folder.mainPath) {}
        let record = try mover.beginBack(folder, reason: .freshFailed)
        guard try mover.advanceBack(folder, record, now: recovery.clock()) else {
          throw StoreRecoveryError(
            .inUse, "another process has made a store at this path; open the store again",
            path: folder.mainPath)
        }
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
  /// Performs the move in `record`. If this fails, the move is undone now, or the next open finishes or undoes it.
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
          try fileSystem.remove(folder.incident)
          try fileSystem.syncFolder(folder.path)
        }
        if try fileSystem.status(folder.incident) != nil {
          let record = try beginBack(folder, reason: .freshFailed)
          guard try advanceBack(folder, record, now: now) else { throw cause }
        } else {
          // If the move cannot be undone, the next open finishes it.
          guard try undo(folder, record) else { throw cause }
        }
      } catch {
        throw StoreRecoveryError(
          .unfinished,
          "the store could be neither set aside nor put back now; the next open tries again",
          path: folder.path, errno: Self.errno(of: cause), underlying: cause)
      }
      if let own = cause as? StoreRecoveryError { throw own }
      throw StoreRecoveryError(
        .moveFailed, "the store could not be set aside, and is where it was", path: folder.mainPath,
        errno: Self.errno(of: cause), underlying: cause)
    }
  }

  static func errno(of cause: any Error) -> Int32? {
    (cause as? SystemCallError)?.errno ?? (cause as? StoreSealError)?.errno
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
