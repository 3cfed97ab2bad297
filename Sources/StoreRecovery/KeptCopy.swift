import CoreDataStore
import Foundation

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

extension StoreRecovery {
  /// Copies the set into an incident of its own, because opening the store makes SQLite drop a part of the log
  /// that holds rows. The store stays in place.
  ///
  /// The copy grows in a folder that the next trial removes, and gets its name as a whole: a killed run leaves
  /// nothing half.
  ///
  /// - Returns: The incident; the earlier one when a copy with the same bytes is kept already.
  func keepCopy(_ judgement: Judgement) throws -> Incident {
    let path = try path()
    let home = StoreSet.folder(of: path)
    let set = StoreSet(at: path)
    let seal = try StoreSeal(sealing: set)
    let copies = try Incidents(home: home, fileSystem: fileSystem).list().compactMap(\.incident)
      .filter { $0.kind == .copied && $0.storeName == StoreSet.lastComponent(of: path) }
    let earlier = copies.last { incident in
      guard let kept = incident.seal else { return false }
      return !kept.differences(from: seal).contains(where: \.affectsContent)
    }
    if let earlier { return earlier }
    // A log that is damaged again and again would fill the disk.
    guard copies.count(where: { $0.app == app }) < policy.maximumQuarantines else {
      throw StoreRecoveryError(
        .refused, "this build has kept \(copies.count) copies of the store already", path: path)
    }
    let bytes = seal.files.reduce(Int64(0)) {
      $0.addingReportingOverflow(max(0, $1.sizeBytes)).partialValue
    }
    guard bytes >= 0, try fileSystem.freeSpace(home) - bytes >= policy.minimumFreeBytes else {
      throw StoreRecoveryError(
        .noSpace, "too little space is free for a copy of the store; free some and open again",
        path: home)
    }
    let trial = try TrialFolder(in: home, mover)
    defer { try? trial.remove() }
    let kept = trial.path + "/kept"
    try fileSystem.makeFolder(kept, 0o700)
    let copy = try trial.copy(
      set, to: "kept/" + QuarantineFolder.storeFolderName, withIndex: true)
    let copied = try StoreSeal(sealing: copy)
    guard !seal.differences(from: copied).contains(where: \.affectsContent) else {
      throw StoreRecoveryError(
        .unmovable, "the store changed while it was copied, so something uses it", path: path)
    }
    try mover.sync(copy)
    return try publish(judgement, copied, kept, home)
  }

  /// Writes the records beside the copy and gives the whole its name.
  private func publish(
    _ judgement: Judgement, _ seal: StoreSeal, _ kept: String, _ home: String
  ) throws -> Incident {
    let now = Timestamp.wholeSeconds(clock())
    let storeName = StoreSet.lastComponent(of: storeURL.path)
    let records = mover.records
    for attempt in 1...9999 {
      let name = Timestamp.folderName(now)
      let folder = QuarantineFolder(
        home: home, storeName: storeName, id: attempt == 1 ? name : "\(name)-\(attempt)")
      if try fileSystem.status(folder.path) != nil { continue }
      var incident = Incident(
        judgement, app: app, storeName: storeName, id: folder.id, folder: folder.path,
        created: now, kind: .copied, texts: policy.texts)
      incident.seal = seal
      let text = Array(incident.plainText.utf8)
      try records.write(bytes: text, to: kept + "/" + QuarantineFolder.textName, replacing: true)
      try records.write(
        incident, to: kept + "/" + QuarantineFolder.incidentName, replacing: true)
      do {
        try fileSystem.rename(kept, folder.path)
      } catch let error as SystemCallError where [EEXIST, ENOTEMPTY].contains(error.errno) {
        continue
      }
      try fileSystem.syncFolder(folder.incompatible)
      return incident
    }
    throw StoreRecoveryError(
      .unmovable, "no free name for a quarantine", path: home + "/" + QuarantineFolder.parentName)
  }
}
