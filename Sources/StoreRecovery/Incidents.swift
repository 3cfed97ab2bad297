public import CoreDataStore
public import Foundation

/// The incidents of one folder: what was set aside there, and the way back.
public struct Incidents: Sendable {
  /// One quarantine's folder.
  public struct Entry: Sendable, Identifiable {
    /// The folder's name.
    public let id: String
    /// The folder's path as it is now.
    public let folder: String
    /// The record; nil when it cannot be read.
    public let incident: Incident?
    /// Why the record cannot be read; nil when it can.
    public let problem: String?
    /// What became of the kept set later; nil when it is still there.
    public let outcome: IncidentOutcome?
    /// Whether a move into or out of the folder is not finished.
    public let isUnfinished: Bool
  }

  /// What a restoration did.
  public struct Restoration: Sendable {
    /// The paths at which the restored set now is.
    public let restored: [String]
    /// The record of the store that was in use until then; nil when there was none.
    public let replaced: Incident?
    /// How the set differed from its seal; never empty only after a forced restoration.
    public let differences: [StoreSeal.Difference]
  }

  let home: String
  let fileSystem: FileSystem
  let clock: @Sendable () -> Date

  /// The incidents in `folder`, which is a store's folder or the `Incompatible` folder in it.
  public init(in folder: URL) {
    self.init(in: folder.path, fileSystem: .real)
  }

  package init(
    in folder: String, fileSystem: FileSystem, clock: @escaping @Sendable () -> Date = { Date() }
  ) {
    var path = folder
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    home =
      StoreSet.lastComponent(of: path) == QuarantineFolder.parentName
      ? StoreSet.folder(of: path) : path
    self.fileSystem = fileSystem
    self.clock = clock
  }

  private var mover: SetMover { SetMover(fileSystem: fileSystem) }
  private var incompatible: String { home + "/" + QuarantineFolder.parentName }

  /// All quarantines, oldest first. One with a damaged record is listed with its problem.
  ///
  /// - Throws: ``StoreRecoveryError`` when the folder is there and cannot be read.
  public func list() throws -> [Entry] {
    do {
      guard let status = try fileSystem.status(incompatible), status.kind == .folder else {
        return []
      }
      return try fileSystem.entries(incompatible).names
        .filter { Timestamp.isFolderName($0) }
        .filter { try fileSystem.status(incompatible + "/" + $0)?.kind == .folder }
        .map { entry($0) }
        .sorted { Self.order($0) < Self.order($1) }
    } catch let error as SystemCallError {
      throw StoreRecoveryError(
        .noSuchIncident, "the folder of the incidents cannot be read", path: incompatible,
        errno: error.errno)
    }
  }

  /// One quarantine.
  ///
  /// - Throws: ``StoreRecoveryError`` when no incident has that id.
  public func show(_ id: String) throws -> Entry {
    let path = incompatible + "/" + id
    guard StoreSet.isPlainName(id), Timestamp.isFolderName(id),
      try fileSystem.status(path)?.kind == .folder
    else {
      throw StoreRecoveryError(.noSuchIncident, "there is no incident named \(id)", path: path)
    }
    return entry(id)
  }

  /// Brings a kept set back under its own names. The store that is there now is set aside first, in a
  /// quarantine of its own. Nothing is overwritten. No program may have the store open.
  ///
  /// - Parameters:
  ///   - id: The incident's id.
  ///   - force: Restores a set whose bytes are not those that were kept, too.
  /// - Returns: What was done.
  /// - Throws: ``StoreRecoveryError`` when the incident cannot be read, when the set differs from its seal,
  ///   when another process has the store open, or when a file cannot be moved.
  public func restore(_ id: String, force: Bool = false) throws -> Restoration {
    _ = try show(id)
    return try mover.leased(home) { try restoreHoldingLease(id, force: force) }
  }

  private func restoreHoldingLease(_ id: String, force: Bool) throws -> Restoration {
    _ = try PendingMoves(mover: mover, home: home, storeName: nil, only: id)
      .endHoldingLease(now: clock())
    let entry = try show(id)
    guard let incident = entry.incident else {
      throw StoreRecoveryError(
        .unreadableIncident, entry.problem ?? "the record cannot be read", path: entry.folder)
    }
    _ = try PendingMoves(mover: mover, home: home, storeName: incident.storeName)
      .endHoldingLease(now: clock())
    let folder = QuarantineFolder(home: home, storeName: incident.storeName, id: id)
    let kept = StoreSet(at: folder.keptMainPath)
    guard !kept.members.isEmpty else {
      throw StoreRecoveryError(
        .nothingKept, "the incident holds no store any more", path: folder.storeFolder)
    }
    let differences = try broken(incident, kept, force: force)
    let replaced = try replace(folder)
    let record = try mover.beginBack(folder, reason: .restore)
    try mover.advanceBack(folder, record, now: clock())
    return Restoration(
      restored: record.members.map { folder.original($0.name) }, replaced: replaced,
      differences: differences)
  }

  private func broken(
    _ incident: Incident, _ kept: StoreSet, force: Bool
  ) throws -> [StoreSeal.Difference] {
    let differences: [StoreSeal.Difference]
    do {
      guard let seal = incident.seal else { throw SealMissing() }
      differences = seal.differences(from: try StoreSeal(sealing: kept)).filter(\.affectsContent)
    } catch {
      if force { return [] }
      throw StoreRecoveryError(
        .sealBroken, "the kept files cannot be compared with their seal", path: kept.mainPath,
        underlying: error)
    }
    guard differences.isEmpty || force else {
      throw StoreRecoveryError(
        .sealBroken,
        "the kept files are not as they were set aside: "
          + differences.prefix(5).map(\.text).joined(separator: "; "),
        path: kept.mainPath)
    }
    return differences
  }

  private struct SealMissing: Error {}

  /// Sets aside what is at the store's names now.
  private func replace(_ folder: QuarantineFolder) throws -> Incident? {
    let present = StoreSet(at: folder.mainPath)
    guard !present.members.isEmpty else { return nil }
    let now = Timestamp.wholeSeconds(clock())
    let app = try mover.records.incident(in: folder.path)?.app
    let verdict = Verdict(
      finding: .healthy, action: .quarantine, reason: "an earlier store is restored in its place",
      rule: "restore.replaced")
    let judgement = Judgement(evidence: FileEvidence.read(folder.mainPath), verdict: verdict)
    try mover.check(folder.mainPath, minimumFreeBytes: 1024 * 1024)
    let (target, record) = try mover.begin(
      folder.mainPath, name: Timestamp.folderName(now) + "-replaced"
    ) { id, path in
      Incident(
        judgement, app: app ?? .init(name: "", version: ""), storeName: folder.storeName, id: id,
        folder: path, created: now, kind: .replaced, texts: IncidentTexts())
    }
    let incident = try mover.advanceOrUndo(target, record, now: now)
    try mover.close(target)
    return incident
  }

  private func entry(_ id: String) -> Entry {
    let folder = incompatible + "/" + id
    var incident: Incident?
    var problem: String?
    do {
      incident = try mover.records.incident(in: folder)
      if incident == nil { problem = "the folder holds no record of an incident" }
    } catch let error as StoreRecoveryError {
      problem = error.message
    } catch {
      problem = "the record cannot be read"
    }
    let outcome = try? mover.records.read(
      IncidentOutcome.self, from: folder + "/" + QuarantineFolder.outcomeName)
    return Entry(
      id: id, folder: folder, incident: incident, problem: problem, outcome: outcome,
      isUnfinished: isUnfinished(folder, isCommitted: incident != nil))
  }

  private func isUnfinished(_ folder: String, isCommitted: Bool) -> Bool {
    if (try? fileSystem.status(folder + "/" + QuarantineFolder.backName)) != nil { return true }
    do {
      return try mover.records.move(at: folder + "/" + QuarantineFolder.intentName) != nil
    } catch {
      // Beside a record of the incident a damaged intent says nothing any more.
      return !(isCommitted && RecordFile.isDamage(error))
    }
  }

  /// The time of the name, then the number after it, so that -10 follows -9.
  private static func order(_ entry: Entry) -> (String, Int, String) {
    let number = entry.id.split(separator: "-").last.flatMap { Int($0) } ?? 1
    return (String(entry.id.prefix(20)), number, entry.id)
  }
}
