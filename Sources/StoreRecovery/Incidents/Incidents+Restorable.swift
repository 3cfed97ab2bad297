import SafeFiles
import StoreFiles
public import Foundation
package import ObjectModel
import SQLiteFile
import SafeText

/// A kept store that the app may offer to bring back.
public struct RestorableStore: Sendable, Equatable, Identifiable {
  /// How a kept store fits the app, which decides what can be done with the store.
  public enum Fit: Sendable, Equatable {
    /// The store records the hashes of the model that this build of the app uses.
    case current
    /// The store records the hashes of one or more older model versions, whose names are given in sorted order. The
    /// store opens if the app can migrate from one of these versions.
    case version([String])
    /// The closure `canOpen` has opened a copy of the store.
    case opens
    /// The store is damaged. Do not open it; recover its rows from a copy. A damaged store has this value even if it
    /// fits a model.
    case damaged
  }

  /// The id of the incident.
  public let id: String
  /// The main file's name.
  public let storeName: String
  /// When the store was set aside, by a clock that may have been wrong.
  public let created: Date
  /// Why the store was set aside. If the kind is ``Incident/Kind/replaced``, the store usually works, but the user
  /// wanted an earlier store in its place. Offer such a store only when the user asks.
  public let kind: Incident.Kind
  /// How the store fits the app.
  public let fit: Fit
  /// The names of the entities whose hashes could not be compared with certainty, sorted. Because of these entities,
  /// the store may not fit after all.
  public let undecided: [String]
  /// Whether the kept files match their seal; nil when not checked. A restoration checks the files before it moves
  /// anything.
  public let isIntact: Bool?
}

extension Incidents {
  /// The kept stores that this build may be able to open, oldest first. Call this at each launch, because an update of
  /// the app may have brought a model that fits.
  ///
  /// Without a folder of incidents, this call costs one `lstat`. Otherwise the version hashes of each store are taken
  /// from the record of its incident. If a record holds no hashes, Lifeboat's own reader reads a few pages of the kept
  /// file. Nothing is changed.
  ///
  /// - Parameters:
  ///   - model: The model with which the app opens its store. If this is a `ModelCollection`, stores that fit another
  ///     version than the current one are returned too. nil for an app without a model.
  ///   - storeName: The main file's name, to return only stores with this name; nil for all stores in the folder.
  ///   - checksSeals: Whether to read every file and compare it with its seal.
  ///   - canOpen: Called for each store whose hashes cannot be compared, with the URL of a private copy of the store.
  ///     Returns whether the app can open the copy, judged for example by `PRAGMA user_version`. Close the copy before
  ///     you return; Lifeboat then removes it. An error counts as false. If `canOpen` is nil, these stores are left
  ///     out.
  /// - Returns: The stores that fit; a store is left out when nothing shows that it fits.
  /// - Throws: ``StoreRecoveryError`` when the incidents' folder exists but cannot be read.
  public func restorable(
    with model: (any ModelExpectation)?, storeName: String? = nil, checksSeals: Bool = false,
    canOpen: ((URL) throws -> Bool)? = nil
  ) throws -> [RestorableStore] {
    let ids = try ids()
    guard !ids.isEmpty else { return [] }
    let expected = model?.expectedModel
    return ids.compactMap { id in
      let entry = entry(id)
      guard let incident = entry.incident, !entry.isUnfinished, entry.outcome == nil,
        incident.seal != nil, storeName.map({ PathText.isSame($0, incident.storeName) }) ?? true,
        isKept(entry, incident)
      else { return nil }
      guard let (fit, undecided) = fit(entry, incident, expected, canOpen) else { return nil }
      return RestorableStore(
        id: id, storeName: incident.storeName, created: incident.created, kind: incident.kind,
        fit: fit, undecided: undecided, isIntact: checksSeals ? check(entry).isSound : nil)
    }
  }

  /// Whether the quarantine still has the main file of the incident's store, in the size that the seal states. False if
  /// a link has replaced the store's folder in the quarantine.
  private func isKept(_ entry: Entry, _ incident: Incident) -> Bool {
    let store = Incidents.keptFolder(in: entry.folder)
    guard
      let sealed = incident.seal?.files.first(where: {
        PathText.isSame($0.name, incident.storeName)
      }),
      (try? fileSystem.status(store))?.kind == .folder,
      let status = try? fileSystem.status(store + "/" + incident.storeName)
    else { return false }
    return status.kind == .file && status.sizeBytes == sealed.sizeBytes
  }

  private func fit(
    _ entry: Entry, _ incident: Incident, _ expected: ExpectedModel?,
    _ canOpen: ((URL) throws -> Bool)?
  ) -> (RestorableStore.Fit, [String])? {
    // If the record reports damage, the store counts as damaged, whatever else the record says.
    if incident.isDamaged { return (.damaged, []) }
    let main = incident.keptMainPath(in: entry.folder)
    var evidence = incident.evidence
    if evidence.recordedHashes?.isEmpty != false, expected != nil {
      guard let isSound = Self.addHashes(of: main, to: &evidence) else { return nil }
      if !isSound { return (.damaged, []) }
    }
    if let expected, let recorded = evidence.recordedHashes, !recorded.isEmpty {
      return expected.fit(evidence, recorded)
    }
    guard let canOpen, isOpened(main, by: canOpen) else { return nil }
    return (.opens, [])
  }

  /// Adds the version hashes in the metadata of a kept store to `evidence`. `path` is the path of the store's main
  /// file.
  ///
  /// - Returns: Whether no damage was found in the main file; nil when the file is not a database that can be read.
  private static func addHashes(of path: String, to evidence: inout StoreEvidence) -> Bool? {
    do throws(SQLiteFileError) {
      let database = try SQLiteDatabase(path: path)
      var findings = FindingList()
      if let metadata = try StoreMetadata.read(from: database, &findings) {
        evidence.frameworkVersion = metadata.frameworkVersion
        evidence.hashesVersion = metadata.versionHashesVersion
        evidence.recordedHashes = metadata.versionHashes
      }
      for name in ["Z_PRIMARYKEY", "Z_MODELCACHE"] {
        if let table = database.schema.table(named: name) { _ = try database.rowCount(of: table) }
      }
      findings.add(database.findings)
      return !findings.kept.contains {
        $0.severity == .damage && !FileStructure.harmless.contains($0.id)
      }
    } catch {
      return error.code == .looksEncrypted || error.code == .notADatabase ? true : nil
    }
  }

  /// Calls `canOpen` with a private copy of the store, made on the store's volume. The copy is removed afterwards.
  private func isOpened(_ main: String, by canOpen: (URL) throws -> Bool) -> Bool {
    let set = StoreSet(at: main)
    let needed = set.sizeBytes.addingClamped(1024 * 1024)
    // A symbolic link's target does not belong to the set.
    guard set.isComplete, set.members.allSatisfy({ $0.kind == .file || $0.kind == .folder }),
      let free = try? fileSystem.freeSpace(home), free >= needed,
      let trial = try? TrialFolder(in: home, mover)
    else { return false }
    defer { try? trial.remove() }
    do {
      let copy = try trial.copy(set, TrialFolder.withoutIndex, to: "copy")
      return try canOpen(URL(fileURLWithPath: copy.mainPath))
    } catch {
      return false
    }
  }
}

extension Incident {
  fileprivate var isDamaged: Bool {
    verdict.finding == .corrupt || evidence.structure?.findings.isEmpty == false
      || evidence.structure?.isUnopenable == true || (evidence.wal?.lostFrames ?? 0) > 0
  }
}

extension ExpectedModel {
  /// Compares the hashes that a store records with the versions of the expected model. Returns the version that fits,
  /// and the entities whose hashes cannot be compared. Nil when no version fits.
  package func fit(
    _ evidence: StoreEvidence, _ recorded: [String: VersionHash]
  ) -> (RestorableStore.Fit, [String])? {
    var evidence = evidence
    evidence.comparison = nil
    evidence.undecided = nil
    compare(&evidence)
    let undecided = evidence.undecided ?? []
    let isEqual = evidence.comparison?.isEqual == true
    if isEqual, undecided.isEmpty { return (.current, []) }
    let versions = versions.filter { version in version.forms.contains { $0.matches(recorded) } }
    if !versions.isEmpty { return (.version(Set(versions.map(\.name)).sorted()), []) }
    return isEqual ? (.current, undecided) : nil
  }
}
