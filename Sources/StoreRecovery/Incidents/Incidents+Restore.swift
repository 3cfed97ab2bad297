package import StoreFiles
import SafeFiles
import Foundation
import SafeText

extension Incidents {
  /// What a restoration did.
  public struct Restoration: Sendable {
    /// What the host should do after a restoration.
    public enum NextStep: String, Sendable, Codable {
      /// Open the store as usual.
      case open
      /// Open the store only with a build whose model fits it. The build that set the store aside, and any other build,
      /// would set the store aside again.
      case openWithFittingBuild
      /// Recover the rows from a copy of the store, because the store is damaged or cannot be read as a store. The app
      /// will probably not open it.
      case salvage
    }

    /// The paths of the restored files and folders.
    public let restored: [String]
    /// The incident of the store that was in use before the restoration; nil when no store was in use.
    public let replaced: Incident?
    /// The differences between the files and their seal, or the reasons why the files could not be compared with it.
    /// Empty unless the restoration was forced.
    package let differences: [StoreSeal.Difference]
    /// What the host should do next.
    public let nextStep: NextStep
    /// The names of pipes, sockets and extended attributes that could not be moved. No store data is among them.
    public let leftBehind: [String]
  }

  /// Moves a kept store back to its original place. A store that is now in that place is first set aside, in its own
  /// quarantine. Nothing is overwritten. No program may have either store open. This is checked for other processes,
  /// but not for this process, so call `restore` before this process opens the store.
  ///
  /// If an earlier call was killed, this call finishes what that call began, and returns its result. If a program has
  /// made another store at the path since, that store is set aside like any other.
  ///
  /// - Parameters:
  ///   - id: The incident's id.
  ///   - force: Whether to restore the store in spite of these problems: its bytes differ from its seal or cannot be
  ///     read; its main file is not an SQLite database; its support folder is a symbolic link or contains pipes or
  ///     sockets. A store with any other link, or with a folder in place of a file, is never restored.
  ///   - app: The app that used the current store; nil for the incident's app.
  ///   - texts: The words for the notice in the record of the current store.
  /// - Returns: What was restored and replaced, and what to do next.
  /// - Throws: ``StoreRecoveryError`` when the incident cannot be read, when the kept files are not a store
  ///   (`restore.notAStore`), when they differ from their seal, when another process has a store open, when too little
  ///   space is free, or when a file cannot be moved. Either the current store or the kept one is then in place, or the
  ///   next open with Lifeboat finishes the move.
  public func restore(
    _ id: String, force: Bool = false, app: Recovery.App? = nil,
    texts: IncidentTexts = IncidentTexts()
  ) throws -> Restoration {
    _ = try show(id)
    return try mover.leased(home) {
      try restoreHoldingLease(id, force: force, app: app, texts: texts)
    }
  }

  private func restoreHoldingLease(
    _ id: String, force: Bool, app: Recovery.App?, texts: IncidentTexts
  ) throws -> Restoration {
    // A record that is damaged is reported below.
    let begun = try? mover.records.move(
      at: incompatible + "/" + id + "/" + QuarantineFolder.backName)
    _ = try PendingMoves(mover: mover, home: home, storeName: nil, only: id)
      .endHoldingLease(now: clock())
    var entry = try show(id)
    if entry.isSealPending, let incident = entry.incident {
      let folder = QuarantineFolder(home: home, storeName: incident.storeName, id: id)
      try checkIsStore(keptSet(folder), nil, force: force)
      var noLimit: Int64?
      do { try mover.continueSeal(folder, budget: &noLimit) } catch let error as StoreSealError {
        // A set whose files cannot all be read is restored only with `force`.
        guard force else { throw Self.notCompared(error) }
      }
      entry = try show(id)
    }
    guard let incident = entry.incident else {
      throw StoreRecoveryError(
        .unreadableIncident, entry.problem ?? "the record cannot be read", path: entry.folder,
        errno: entry.problemErrno)
    }
    _ = try PendingMoves(mover: mover, home: home, storeName: incident.storeName)
      .endHoldingLease(now: clock())
    let folder = QuarantineFolder(home: home, storeName: incident.storeName, id: id)
    if let begun, begun.back == .restore, entry.outcome != nil, !entry.isUnfinished,
      StoreSet(at: folder.mainPath).first(.main) != nil
    {
      return try finished(folder, begun, incident)
    }
    let kept = try keptSet(folder)
    // A folder alone, or one that holds only a pipe, is not a store.
    guard kept.members.contains(where: { $0.kind == .file || $0.kind == .symbolicLink }) else {
      throw StoreRecoveryError(
        .nothingKept, "the incident no longer holds a store", path: folder.storeFolder)
    }
    let present = StoreSet(at: folder.mainPath)
    // Without its main file, the kept set would replace a store by files that no app can open.
    if kept.first(.main) == nil, present.first(.main) != nil {
      throw StoreRecoveryError(
        .notAStore,
        "the incident holds no main file, so it cannot replace the store at its path; nothing was moved",
        path: folder.keptMainPath)
    }
    try checkIsStore(kept, incident.seal, force: force)
    let differences = try broken(incident, kept, force: force)
    for path in [folder.mainPath, folder.keptMainPath]
    where FileEvidence.isUsedElsewhere(path) == true {
      throw StoreRecoveryError(
        .inUse, "another program has the store open; close it and try again", path: path)
    }
    try checkSpace(folder, kept: kept, present: present)
    let attributes = Self.attributes(of: kept)
    var replaced: (folder: QuarantineFolder, incident: Incident)?
    let record: MoveRecord
    do {
      if !present.members.isEmpty {
        replaced = try replace(folder, app: app ?? incident.app, texts: texts)
      }
      record = try mover.beginBack(
        folder, reason: .restore, replaced: replaced?.incident.id)
      // If this run ended before this point, the next run would put back the store that was in use.
      if let replaced { try mover.close(replaced.folder) }
      guard try mover.advanceBack(folder, record, now: clock()) else {
        throw StoreRecoveryError(
          .inUse, "another program has made a store at this path in the meantime",
          path: folder.mainPath)
      }
    } catch {
      _ = try? PendingMoves(mover: mover, home: home, storeName: incident.storeName)
        .endHoldingLease(now: clock())
      throw error
    }
    return Restoration(
      restored: try restored(folder, record), replaced: replaced?.incident,
      differences: differences, nextStep: Self.nextStep(incident),
      leftBehind: try leftBehind(folder, record, attributes))
  }

  /// The result of a restoration that an earlier run has begun and this run has finished.
  private func finished(
    _ folder: QuarantineFolder, _ record: MoveRecord, _ incident: Incident
  ) throws -> Restoration {
    let replaced = record.replaced.flatMap { Self.isID($0) ? entry($0).incident : nil }
    return Restoration(
      restored: try restored(folder, record), replaced: replaced, differences: [],
      nextStep: Self.nextStep(incident), leftBehind: try leftBehind(folder, record, []))
  }

  /// The original paths of the members that are in place.
  private func restored(_ folder: QuarantineFolder, _ record: MoveRecord) throws -> [String] {
    try record.members.map { folder.original($0.name) }.filter {
      try fileSystem.status($0) != nil
    }
  }

  private static func attributes(of set: StoreSet) -> [(name: String, ExtendedAttributes)] {
    set.members.filter { $0.kind == .file || $0.kind == .folder }.compactMap { member in
      let attributes = ExtendedAttributes(ofPath: member.path)
      return attributes.isEmpty ? nil : (member.name, attributes)
    }
  }

  private func leftBehind(
    _ folder: QuarantineFolder, _ record: MoveRecord,
    _ attributes: [(name: String, ExtendedAttributes)]
  ) throws -> [String] {
    let special = try record.members.filter { member in
      try member.status.kind == .other && fileSystem.status(folder.original(member.name)) == nil
    }
    return special.map { "\($0.name), \($0.status.kind.words)" }
      + attributes.flatMap { name, before in
        before.missing(from: ExtendedAttributes(ofPath: folder.original(name))).map {
          "\(name), its extended attribute \($0)"
        }
      }
  }

  /// The store set in the quarantine, which may have no members. Throws when this user may not read the set, because
  /// its files would otherwise seem to be missing.
  private func keptSet(_ folder: QuarantineFolder) throws -> StoreSet {
    let kept = StoreSet(at: folder.keptMainPath)
    do {
      if kept.isComplete, !kept.members.isEmpty { return kept }
      guard try fileSystem.status(folder.storeFolder)?.kind == .folder else { return kept }
      _ = try fileSystem.entries(folder.storeFolder)
      _ = try fileSystem.status(folder.keptMainPath)
      for member in kept.members where member.kind == .folder && member.role.mayBeFolder {
        _ = try fileSystem.entries(member.path)
        _ = try fileSystem.status(member.path + "/.")
      }
    } catch let error as SystemCallError {
      throw StoreRecoveryError(
        .unmovable, "the kept files cannot be examined; nothing was moved", path: error.path,
        errno: error.errno)
    }
    return kept
  }

  private static func nextStep(_ incident: Incident) -> Restoration.NextStep {
    switch incident.kind {
    case .replaced, .returned: return .open
    // SQLite drops a part of its log as soon as the store is opened.
    case .copied: return .salvage
    case .setAside: break
    }
    return switch incident.verdict.finding {
    case .incompatible, .newer: .openWithFittingBuild
    case .corrupt, .foreign: .salvage
    case .healthy, .unavailable, .hostError: .open
    }
  }

  /// Throws unless the kept files are ordinary files of a store, because an app will open them. The files themselves
  /// are examined, because the incident's record may be wrong.
  private func checkIsStore(_ kept: StoreSet, _ seal: StoreSeal?, force: Bool) throws {
    func refused(_ text: String, _ path: String, forceHelps: Bool) -> StoreRecoveryError {
      StoreRecoveryError(
        .notAStore, text + "; nothing was moved", path: path, forceHelps: forceHelps)
    }
    for member in kept.members {
      let mayBeFolder = member.role.mayBeFolder
      let isOrdinary = member.kind == .file || member.kind == .folder && mayBeFolder
      let forceHelps =
        switch member.kind {
        case .symbolicLink: mayBeFolder
        // A pipe or socket among the external files holds no data.
        case .other: mayBeFolder && !PathText.isPlainName(member.name)
        case .file, .folder: false
        }
      guard isOrdinary || forceHelps && force else {
        throw refused(
          "\(VisibleText.visible(member.name)) is \(member.kind.words), and only ordinary files can be restored: "
            + "move it away and try again", member.path, forceHelps: forceHelps)
      }
    }
    if force { return }
    guard let main = kept.first(.main) else {
      throw refused("the incident holds no main file", kept.mainPath, forceHelps: true)
    }
    let start = FileEvidence.firstBytes(of: main.path, count: 16)
    guard start.errno == 0 else {
      throw StoreRecoveryError(
        .notAStore, "the main file cannot be read; nothing was moved", path: main.path,
        errno: start.errno, forceHelps: true)
    }
    let wasEmpty =
      seal?.files.contains { $0.role == .main && $0.kind == .file && $0.sizeBytes == 0 } ?? false
    guard FileEvidence.header(start.bytes)?.isMagicRight == true || main.sizeBytes == 0 && wasEmpty
    else {
      throw refused("the main file is not an SQLite database", main.path, forceHelps: true)
    }
  }

  private func broken(
    _ incident: Incident, _ kept: StoreSet, force: Bool
  ) throws -> [StoreSeal.Difference] {
    let differences: [StoreSeal.Difference]
    do throws(StoreSealError) {
      guard let seal = incident.seal else {
        throw StoreSealError(
          .incompleteSet, path: kept.mainPath, message: "its record has no checksums")
      }
      differences = seal.differences(
        from: try StoreSeal(sealing: kept, isCancelled: isCancelled)
      ).filter(\.affectsContent)
    } catch {
      if error.code == .cancelled {
        throw StoreRecoveryError(
          .cancelled, "the restoration was cancelled; nothing was moved", path: kept.mainPath)
      }
      if force { return [.notCompared(error)] }
      throw Self.notCompared(error)
    }
    guard differences.isEmpty || force else {
      throw StoreRecoveryError(
        .sealBroken,
        "the kept files have changed since their checksums were recorded: "
          + differences.prefix(5).map(\.text).joined(separator: "; "),
        path: kept.mainPath, forceHelps: true)
    }
    return differences
  }

  private static func notCompared(_ error: StoreSealError) -> StoreRecoveryError {
    StoreRecoveryError(
      .sealBroken, "the kept files cannot be compared with their checksums: \(error.message)",
      path: error.path, errno: error.errno, underlying: error, forceHelps: true)
  }

  /// The number of bytes, besides the files, that must be free for the records and folders of a restoration.
  private static let recordBytes: Int64 = 1024 * 1024

  /// Throws unless enough space is free for a restoration. On one volume, files are only renamed, so little space is
  /// needed. If the quarantine is on another volume, the kept set and the present set are copied. Then there must be
  /// space for both copies, and all kept files must be readable.
  private func checkSpace(
    _ folder: QuarantineFolder, kept: StoreSet, present: StoreSet
  ) throws {
    let volumes = try [folder.home, folder.storeFolder].map { try fileSystem.status($0)?.device }
    let isCopied = volumes[0] != volumes[1]
    // A file that cannot be read cannot be copied, and the move back would stop halfway.
    for file in kept.members where isCopied && file.kind == .file {
      let code = FileEvidence.firstBytes(of: file.path, count: 1).errno
      guard code != 0 else { continue }
      throw StoreRecoveryError(
        .unmovable, "the file cannot be read, so it cannot be copied back; nothing was moved",
        path: file.path, errno: code)
    }
    for (path, set) in [(folder.home, kept), (folder.incompatible, present)] {
      let needed = (isCopied ? set.sizeBytes : 0).addingClamped(Self.recordBytes)
      let free = try fileSystem.freeSpace(path)
      guard free >= needed else {
        throw StoreRecoveryError(
          .noSpace,
          "too little space is free to restore the store: \(free) bytes are free, and \(needed) are needed; nothing was moved",
          path: path)
      }
    }
  }

  /// Moves the files at the original paths of a store into a quarantine, because an earlier store is restored to these
  /// paths. The caller ends this move with ``SetMover/close(_:)``.
  private func replace(
    _ folder: QuarantineFolder, app: Recovery.App, texts: IncidentTexts
  ) throws -> (QuarantineFolder, Incident) {
    let now = Timestamp.wholeSeconds(clock())
    let verdict = Verdict(
      finding: .healthy, action: .quarantine, reason: "an earlier store is restored to its path",
      rule: .restoreReplaced)
    let judgement = Judgement(evidence: FileEvidence.read(folder.mainPath), verdict: verdict)
    try mover.check(folder.mainPath, minimumFreeBytes: Self.recordBytes)
    let (target, record) = try mover.begin(
      folder.mainPath, name: Timestamp.folderName(now) + "-replaced"
    ) { id, path in
      Incident(
        judgement, app: app, storeName: folder.storeName, id: id, folder: path, created: now,
        kind: .replaced, texts: texts)
    }
    return (target, try mover.advanceOrUndo(target, record, now: now))
  }
}
