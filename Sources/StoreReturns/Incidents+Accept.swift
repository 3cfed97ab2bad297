import CLibrary
import Crypto
public import Foundation
import ObjectModel
import SQLiteFile
import SafeFiles
import SafeText
import StoreFiles
public import StoreRecovery

/// The result of ``Incidents/accept(return:for:fitting:texts:)``, which puts a repaired store from support into use.
public struct AcceptedReturn: Sendable {
  /// The incident that the call made for the repaired store from support. The repaired store is in use now.
  public let incident: Incident
  /// The result of the restoration. `restoration.replaced` is the incident of the store that was in use before. To undo
  /// the restoration, restore that incident.
  public let restoration: Incidents.Restoration
}

extension Incidents {
  /// Puts a repaired store from support into use. First checks that the store was repaired for the incident `id`, and
  /// that the store fits the app's model. Then sets the app's present store aside, and moves the repaired store to the
  /// present store's path. Call this function before you open the store.
  ///
  /// Nothing is deleted. If the process is killed during the call, the present store or the repaired store is at the
  /// store's path, or, between the two, no store is there. The next open with Lifeboat, or the next call, then finishes
  /// the move or undoes it. To undo the whole change, restore the incident of the store that was replaced.
  ///
  /// If an earlier call has put this repaired store into use, the call throws `return.alreadyAccepted`. If an earlier
  /// call has made the new incident but could not move the store, for example because the present store was in use, or
  /// was killed during the move, this call continues with that incident. If several processes make the call at the same
  /// time, only one of them makes the incident.
  ///
  /// - Parameters:
  ///   - file: the `.lifeboat-return` file from support.
  ///   - id: the id of the incident for which the store was repaired.
  ///   - model: the model with which the app opens its store; nil for an app without a model.
  ///   - texts: the texts for the records of the incidents.
  /// - Returns: the new incident, and the result of the restoration.
  /// - Throws: ``StoreReturnError`` when the file is damaged, belongs to another incident, does not fit the app's
  ///   model, or is in use already (`return.alreadyAccepted`); `SQLiteFileError` when the file cannot be opened or
  ///   read. After these errors, nothing has changed, except that the call may have finished a move of an earlier call.
  ///   `StoreRecoveryError` for the same reasons as ``Incidents/restore(_:force:app:texts:)``. After a
  ///   `StoreRecoveryError`, either the present store or the repaired store is at the store's path, or the next open
  ///   with Lifeboat finishes the move.
  public func accept(
    return file: URL, for id: String, fitting model: (any ModelExpectation)?,
    texts: IncidentTexts = IncidentTexts()
  ) throws -> AcceptedReturn {
    let returned = try StoreReturn(verifying: file.path)
    guard let original = try show(id).incident else {
      throw StoreReturnError(
        .otherIncident, "the record of the incident \(id) cannot be read", path: file.path)
    }
    guard returned.isFor(original) else {
      throw StoreReturnError(
        .otherIncident, "the store was repaired for another incident: \(returned.incidentID)",
        path: file.path)
    }
    func begun() throws -> Incident? {
      let entries = try list()
      let earlier = entries.filter { returned.isRecorded(by: $0, for: original) }
      let isDone = { (entry: Entry) in Self.isInUse(entry, among: entries) }
      if let done = earlier.last(where: { isDone($0) && !$0.isUnfinished }) {
        throw Self.alreadyAccepted(done, file)
      }
      guard let entry = try earlier.last(where: { try isToBeContinued($0, isDone: isDone($0)) }),
        let incident = entry.incident
      else { return nil }
      if !entry.isUnfinished {
        try expectFit(
          of: incident.keptMainPath(in: entry.folder), returned, original, model, file)
      }
      return incident
    }
    let made = try takeIn(returned: original, texts: texts, unlessBegun: begun) { folder in
      try returned.unpack(into: folder)
      try expectFit(of: folder + "/" + original.storeName, returned, original, model, file)
    }
    do {
      return AcceptedReturn(incident: made, restoration: try restore(made.id, texts: texts))
    } catch let error as StoreRecoveryError where error.code == .nothingKept {
      // Another call has restored the incident.
      guard let entry = try? show(made.id), entry.outcome != nil else { throw error }
      throw Self.alreadyAccepted(entry, file)
    }
  }

  private static func alreadyAccepted(_ entry: Entry, _ file: URL) -> StoreReturnError {
    let date = entry.outcome.map { " on \($0.date.ISO8601Format())" } ?? ""
    return StoreReturnError(
      .alreadyAccepted,
      "the store is in its place already; it was put there\(date), as incident \(entry.id)",
      path: file.path)
  }

  /// Whether the repaired store of the incident `entry` was put into use and is still in use. It is no longer in use if
  /// another store was set aside later and is still kept, or if the store that it replaced was restored. An incident
  /// does not record which store it replaced, so this method compares the times of the incidents.
  private static func isInUse(_ entry: Entry, among entries: [Entry]) -> Bool {
    guard let incident = entry.incident, let outcome = entry.outcome else { return false }
    let store = PathText.joined(
      PathText.folder(of: PathText.folder(of: entry.folder)), incident.storeName)
    guard ByteFile.exists(store) else { return false }
    return !entries.contains { other in
      guard let later = other.incident, PathText.isSame(later.storeName, incident.storeName) else {
        return false
      }
      switch later.kind {
      case .replaced where later.created >= incident.created && later.created <= outcome.date:
        return other.outcome?.kind == .restored
      case .replaced, .setAside: return later.created > outcome.date && other.outcome == nil
      case .returned, .copied: return false
      }
    }
  }

  /// Whether an earlier call was interrupted between two steps: it made the incident `entry` for a returned store, but
  /// did not put this store into use, or did not finish.
  ///
  /// `isDone`: whether the store is in use.
  private func isToBeContinued(_ entry: Entry, isDone: Bool) throws -> Bool {
    if entry.isUnfinished { return entry.outcome == nil || isDone }
    return try entry.outcome == nil && verify(entry.id).finding == .intact
  }

  /// Throws `return.unfit` unless the unpacked store `main` is undamaged, fits `model`, and has the UUID and version
  /// hashes in the manifest. Without a model, the store must have an entity in common with the incident `original`.
  private func expectFit(
    of main: String, _ returned: StoreReturn, _ original: Incident,
    _ model: (any ModelExpectation)?, _ file: URL
  ) throws {
    var obstacles = Self.obstacles(to: main, with: model)
    if model == nil,
      let misfit = StoreReturn.misfit(returned.manifest.versionHashes.keys, original)
    {
      obstacles.append(misfit)
    }
    if try !returned.isAsSaid(main) {
      obstacles.append("it is not the store that the manifest describes")
    }
    guard obstacles.isEmpty else {
      throw StoreReturnError(
        .unfit, "the store cannot be used: \(obstacles.joined(separator: "; "))", path: file.path)
    }
  }

  /// Returns the reasons why the store at `mainPath` cannot be used with `model`, as clauses of a message. Empty when
  /// the store is undamaged and fits the model.
  private static func obstacles(
    to mainPath: String, with model: (any ModelExpectation)?
  ) -> [String] {
    var evidence = FileEvidence.read(mainPath)
    FileStructure.read(mainPath, &evidence)
    guard let structure = evidence.structure else { return ["it cannot be read"] }
    if structure.findingCount > 0 {
      return ["it is damaged: \(structure.findings.joined(separator: ", "))"]
    }
    guard let model else { return [] }
    guard case .current? = model.expectedModel.fit(evidence, evidence.recordedHashes ?? [:])?.0
    else { return ["its version hashes differ from those of the app's model"] }
    return []
  }
}

extension StoreReturn {
  /// Writes the files of the returned store into `folder`, which must be empty and accessible only to this user. Throws
  /// `return.damaged` when the SHA-256 of a file is not the one in the manifest.
  func unpack(into folder: String) throws {
    let archive = try ByteFile(path)
    for (file, offset) in zip(manifest.files, offsets) {
      let target = folder + "/" + file.name
      try Self.makeFolders(above: file.name, in: folder)
      let descriptor = SystemCalls.create(target)
      guard descriptor >= 0 else {
        throw StoreReturnError(.cannotCreate, "a file cannot be made", path: target, errno: errno)
      }
      defer { close(descriptor) }
      var hasher = SHA256()
      try Self.forEachPart(of: archive, from: offset, count: file.sizeBytes) { bytes in
        hasher.update(data: bytes)
        if let code = SystemCalls.write(bytes[...], to: descriptor) {
          throw StoreReturnError(
            .cannotCreate, "a file cannot be written", path: target, errno: code)
        }
      }
      guard Hex.string(hasher.finalize()) == file.sha256 else {
        throw StoreReturnError(.damaged, "the archive changed while it was read", path: path)
      }
    }
  }

  private static func makeFolders(above name: String, in folder: String) throws {
    var path = folder
    for part in PathText.components(of: name).dropLast() {
      path += "/" + part
      guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else {
        throw StoreReturnError(.cannotCreate, "a folder cannot be made", path: path, errno: errno)
      }
    }
  }

  /// Whether `entry` is the incident of this returned store: an incident of the kind `returned`, with the file hashes
  /// of the manifest in its seal.
  ///
  /// `original`: the incident for which the store was repaired.
  func isRecorded(by entry: Incidents.Entry, for original: Incident) -> Bool {
    guard let incident = entry.incident, incident.kind == .returned,
      PathText.isSame(incident.storeName, original.storeName), let seal = incident.seal
    else { return false }
    let sealed = Dictionary(
      firstOf: seal.files.filter { $0.kind == .file }.map { (FileName($0.name), $0.sha256 ?? "") })
    let sent = Dictionary(firstOf: manifest.files.map { (FileName($0.name), $0.sha256) })
    return sealed == sent
  }

  /// Whether the unpacked store `main` has the UUID and the version hashes in the manifest.
  func isAsSaid(_ main: String) throws -> Bool {
    var findings = FindingList()
    let metadata = try StoreMetadata.read(from: SQLiteDatabase(path: main), &findings)
    return metadata?.uuid == manifest.storeUUID
      && (metadata?.versionHashes ?? [:]).mapValues(\.hex) == manifest.versionHashes
  }
}
