import CLibrary
import Crypto
public import Foundation
import ObjectModel
import SQLiteFile
import SafeFiles
import SafeText
import StoreFiles
public import StoreRecovery

/// The result of taking in a store that support has repaired.
public struct AcceptedReturn: Sendable {
  /// The new incident, made for the returned store. That store is in use now.
  public let incident: Incident
  /// What the restoration did. `restoration.replaced` is the incident of the store that was in use before. To undo,
  /// restore that incident.
  public let restoration: Incidents.Restoration
}

extension Incidents {
  /// Takes in a store that support has repaired. First proves that the store belongs to an incident and fits the app's
  /// model. Then sets the present store aside and puts the repaired one in its place. Call this before you open the
  /// store.
  ///
  /// After a kill at any moment, the present store or the repaired one is in place and complete. The next open finishes
  /// a move that has begun. To undo, restore the incident of the store that was replaced.
  ///
  /// - Parameters:
  ///   - file: the `.lifeboat-return` file from support.
  ///   - id: the id of the incident that the store was repaired for.
  ///   - model: the model that the app opens its store with; nil for an app without one.
  ///   - texts: the words that the records use.
  /// - Returns: the new incident and what the restoration did.
  /// - Throws: ``StoreReturnError`` when the file is damaged, belongs to another incident or does not fit the app's
  ///   model; `SQLiteFileError` when it cannot be opened or read. Nothing is changed then. `StoreRecoveryError` for the
  ///   reasons that ``Incidents/restore(_:force:app:texts:)`` has. The present store or the repaired one is in place
  ///   then.
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
    let made = try takeIn(returned: original, texts: texts) { folder in
      try returned.unpack(into: folder)
      let main = folder + "/" + original.storeName
      var obstacles = Self.obstacles(to: main, with: model)
      if try !returned.isAsSaid(main) {
        obstacles.append("it is not the store that the manifest describes")
      }
      guard obstacles.isEmpty else {
        throw StoreReturnError(
          .unfit, "the store cannot be used: \(obstacles.joined(separator: "; "))", path: file.path)
      }
    }
    return AcceptedReturn(incident: made, restoration: try restore(made.id, texts: texts))
  }

  /// The reasons why a store cannot be used with a model, as sentences. Empty when the store is sound and fits.
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
    else { return ["its version hashes are not those of the app's model"] }
    return []
  }
}

extension StoreReturn {
  /// Writes the files of the set into an empty folder that only this user can reach. Throws `return.damaged` when a
  /// file differs from its SHA-256 in the manifest.
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

  /// Whether an unpacked store has the UUID and the version hashes that the manifest gives.
  func isAsSaid(_ main: String) throws -> Bool {
    var findings = FindingList()
    let metadata = try StoreMetadata.read(from: SQLiteDatabase(path: main), &findings)
    return metadata?.uuid == manifest.storeUUID
      && (metadata?.versionHashes ?? [:]).mapValues { Hex.string($0.bytes) }
        == manifest.versionHashes
  }
}
