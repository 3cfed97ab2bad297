import CLibrary
import Crypto
public import Foundation
import ObjectModel
import SQLiteFile
import SafeFiles
import SafeText
import StoreFiles
public import StoreRecovery

/// The result of putting a store that support has repaired back into use.
public struct AcceptedReturn: Sendable {
  /// The new incident that was made for the returned store. The returned store is now in use.
  public let incident: Incident
  /// The result of the restoration. `restoration.replaced` is the incident of the store that was in use before. To undo
  /// the restoration, restore that incident.
  public let restoration: Incidents.Restoration
}

extension Incidents {
  /// Puts a store that support has repaired back into use. First checks that the store was repaired for the incident
  /// `id`, and that it fits the app's model. Then sets the present store aside, and puts the repaired store in its
  /// place. Call this function before you open the store.
  ///
  /// If the process is killed at any time, either the present store or the repaired store is in place and complete. If
  /// a move had begun, the next open finishes it. To undo the whole change, restore the incident of the store that was
  /// replaced.
  ///
  /// A returned store that is in its place already is not accepted again. A store that an earlier call could not put in
  /// its place, for example because the present store was in use, is put there without a second incident.
  ///
  /// - Parameters:
  ///   - file: the `.lifeboat-return` file from support.
  ///   - id: the id of the incident for which the store was repaired.
  ///   - model: the model with which the app opens its store; nil for an app without a model.
  ///   - texts: the words that are used in the records.
  /// - Returns: the new incident, and the result of the restoration.
  /// - Throws: ``StoreReturnError`` when the file is damaged, belongs to another incident, does not fit the app's model
  ///   or is in its place already (`return.alreadyAccepted`); `SQLiteFileError` when the file cannot be opened or read.
  ///   After these errors, nothing has changed, except that a move that an earlier call had begun may be finished.
  ///   `StoreRecoveryError` for the reasons for which ``Incidents/restore(_:force:app:texts:)`` throws it. After this
  ///   error, either the present store or the repaired store is in place.
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
    let entries = try list()
    let earlier = entries.filter { returned.isRecorded(by: $0, for: original) }
    if let done = earlier.last(where: { Self.isInUse($0, among: entries) }) {
      throw Self.alreadyAccepted(done, file)
    }
    let made: Incident
    if let begun = try earlier.last(where: { try isToBeContinued($0) }),
      let incident = begun.incident
    {
      if !begun.isUnfinished {
        try expectFit(
          of: begun.folder + "/store/" + original.storeName, returned, model, file)
      }
      made = incident
    } else {
      made = try takeIn(returned: original, texts: texts) { folder in
        try returned.unpack(into: folder)
        try expectFit(of: folder + "/" + original.storeName, returned, model, file)
      }
    }
    do {
      return AcceptedReturn(incident: made, restoration: try restore(made.id, texts: texts))
    } catch let error as StoreRecoveryError where error.code == .nothingKept {
      // The restoration has finished a move that an earlier call had begun.
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

  /// Whether the store of a returned incident was put in its place and is still there: since then, no store was set
  /// aside, and the store that it replaced was not restored. An incident does not record what it replaced, so the times
  /// of the incidents decide.
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

  /// Whether an earlier call has taken in the store of a returned incident, but has not put it in its place.
  private func isToBeContinued(_ entry: Entry) throws -> Bool {
    guard entry.outcome == nil else { return false }
    return try entry.isUnfinished || verify(entry.id).finding == .intact
  }

  /// Throws `return.unfit` unless the unpacked store `main` is the one that the manifest describes, is sound, and fits
  /// a model.
  private func expectFit(
    of main: String, _ returned: StoreReturn, _ model: (any ModelExpectation)?, _ file: URL
  ) throws {
    var obstacles = Self.obstacles(to: main, with: model)
    if try !returned.isAsSaid(main) {
      obstacles.append("it is not the store that the manifest describes")
    }
    guard obstacles.isEmpty else {
      throw StoreReturnError(
        .unfit, "the store cannot be used: \(obstacles.joined(separator: "; "))", path: file.path)
    }
  }

  /// The reasons why the store at `mainPath` cannot be used with a model, as sentences. Empty when the store is sound
  /// and fits the model.
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
  /// Writes the files of the returned store into an empty folder that only this user can access. Throws
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

  /// Whether an incident was made of this returned store. `original` is the incident for which the store was repaired.
  func isRecorded(by entry: Incidents.Entry, for original: Incident) -> Bool {
    guard let incident = entry.incident, incident.kind == .returned,
      PathText.isSame(incident.storeName, original.storeName), let seal = incident.seal
    else { return false }
    let sealed = Dictionary(
      seal.files.filter { $0.kind == .file }.map { (FileName($0.name), $0.sha256 ?? "") },
      uniquingKeysWith: { first, _ in first })
    let sent = Dictionary(
      manifest.files.map { (FileName($0.name), $0.sha256) },
      uniquingKeysWith: { first, _ in first })
    return sealed == sent
  }

  /// Whether an unpacked store has the UUID and the version hashes that the manifest records.
  func isAsSaid(_ main: String) throws -> Bool {
    var findings = FindingList()
    let metadata = try StoreMetadata.read(from: SQLiteDatabase(path: main), &findings)
    return metadata?.uuid == manifest.storeUUID
      && (metadata?.versionHashes ?? [:]).mapValues { Hex.string($0.bytes) }
        == manifest.versionHashes
  }
}
