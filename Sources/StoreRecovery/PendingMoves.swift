import CoreDataStore
import Foundation

/// Finds the moves that an earlier run began, and brings each to an end.
struct PendingMoves: Sendable {
  let mover: SetMover
  let home: String
  /// Only the moves of this store; nil for those of every store in the folder.
  let storeName: String?

  /// A move that came to an end.
  struct Ended {
    let folder: QuarantineFolder
    /// nil when the move was undone, or a set went back.
    let incident: Incident?
  }

  /// Finishes or undoes each pending move, oldest first. A move into a quarantine keeps its intent, so that
  /// it is reported again until a fresh store has opened.
  ///
  /// - Throws: ``StoreRecoveryError`` with the code `quarantine.unfinished` when a move can be neither
  ///   finished nor undone. The store must not be opened then: its set may be split.
  func end(now: Date) throws -> [Ended] {
    let incompatible = home + "/" + QuarantineFolder.parentName
    guard let status = try mover.fileSystem.status(incompatible), status.kind == .folder else {
      return []
    }
    var ended: [Ended] = []
    for id in try mover.fileSystem.entries(incompatible).names.sorted()
    where Timestamp.isFolderName(id) {
      do {
        if let one = try end(id, now: now) { ended.append(one) }
      } catch {
        // Only a move that began can have split the set.
        guard try concernsUs(id) else { continue }
        throw StoreRecoveryError(
          .unfinished,
          "an earlier move of the store could not be brought to an end; nothing is opened until it is",
          path: incompatible + "/" + id, errno: (error as? SystemCallError)?.errno,
          underlying: error)
      }
    }
    return ended
  }

  /// Whether a part of our set is in a quarantine whose record cannot be used. If none is, all of the set is
  /// at home.
  private func concernsUs(_ id: String) throws -> Bool {
    guard let storeName else { return true }
    let folder = QuarantineFolder(home: home, storeName: storeName, id: id)
    let hasRecord =
      try mover.fileSystem.status(folder.back) != nil
      || mover.fileSystem.status(folder.intent) != nil
    return hasRecord && !StoreSet(at: folder.keptMainPath).members.isEmpty
  }

  private func end(_ id: String, now: Date) throws -> Ended? {
    let path = home + "/" + QuarantineFolder.parentName + "/" + id
    guard try mover.fileSystem.status(path)?.kind == .folder else { return nil }
    let back = try mover.records.read(
      MoveRecord.self, from: path + "/" + QuarantineFolder.backName)
    let intent = try mover.records.read(
      MoveRecord.self, from: path + "/" + QuarantineFolder.intentName)
    guard let record = back ?? intent else {
      try sweep(id, path)
      return nil
    }
    guard record.isValid else {
      throw StoreRecoveryError(
        .unreadableIncident, "the record of the move is damaged or of an unknown form", path: path)
    }
    if let storeName, storeName != record.storeName { return nil }
    let folder = QuarantineFolder(home: home, storeName: record.storeName, id: id)
    if back != nil {
      try mover.advanceBack(folder, record, now: now)
      return Ended(folder: folder, incident: nil)
    }
    let isCommitted = try mover.fileSystem.status(folder.incident) != nil
    if !isCommitted, try mover.undo(folder, record) { return Ended(folder: folder, incident: nil) }
    return Ended(folder: folder, incident: try mover.advance(folder, record, isResumed: true))
  }

  /// Removes a folder whose run ended before it wrote its intent.
  private func sweep(_ id: String, _ path: String) throws {
    let part = QuarantineFolder.intentName + ".part"
    guard Set(try mover.fileSystem.entries(path).names).isSubset(of: [part]) else { return }
    try mover.remove(path + "/" + part)
    try mover.removeFolder(path)
  }
}
