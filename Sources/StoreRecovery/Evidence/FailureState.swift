import StoreFiles
import Foundation
import SafeText

/// The record `Incompatible/.state.json`, which says for which failures each build of the app set a store aside, and
/// how often. Without this record, a fault that also affects each fresh store would fill the disk with stores.
///
/// The record outlives the incidents, which may be restored, pruned or put back.
struct FailureState: Codable, Sendable, Equatable {
  struct Entry: Codable, Sendable, Equatable {
    let storeName: String
    let app: Recovery.App
    /// The string that identifies the failure; see ``StoreEvidence/Repetition/fingerprint(_:_:)``.
    let fingerprint: String
    var count: Int
    var last: Date
    /// The ids of the latest incidents in which this failure caused the store to be set aside, the newest last.
    var incidents: [String]
  }

  var schema = Self.schemaName
  var version = 1
  /// The failures, the most recent last.
  var failures: [Entry] = []

  static let name = ".state.json"
  private static let schemaName = "lifeboat.state"
  /// The maximum number of failures in the file `.state.json`. The failures that occurred longest ago are dropped.
  private static let entryLimit = 64
  private static let incidentLimit = 8

  mutating func add(
    _ storeName: String, _ app: Recovery.App, _ fingerprint: String, incident: String,
    on date: Date
  ) {
    var entry = Entry(
      storeName: storeName, app: app, fingerprint: fingerprint, count: 0, last: date, incidents: [])
    if let known = failures.firstIndex(where: {
      PathText.isSame($0.storeName, storeName) && $0.app == app && $0.fingerprint == fingerprint
    }) {
      entry = failures.remove(at: known)
    }
    entry.count = max(0, entry.count).addingClamped(1)
    entry.last = date
    entry.incidents = entry.incidents.suffix(Self.incidentLimit - 1) + [incident]
    failures = failures.suffix(Self.entryLimit - 1) + [entry]
  }

  // MARK: On disk

  private struct Form: Decodable {
    let schema: String
    let version: Int
  }

  /// Reads the record of earlier failures in the folder `incompatible`. Returns an empty record when the file is
  /// missing or damaged; then only the incidents show earlier failures.
  ///
  /// - Throws: An error when the record exists but cannot be read now, or was written by a newer Lifeboat. The caller
  ///   must not replace such a record, because its counts are unknown, not zero.
  static func read(_ incompatible: String, _ records: RecordFile) throws -> FailureState {
    for path in [incompatible + "/" + name, incompatible + "/" + name + RecordFile.partSuffix] {
      do {
        let form = try records.read(Form.self, from: path)
        if let form, form.schema == schemaName, form.version > 1 {
          throw StoreRecoveryError(
            .unmovable, "a newer version of Lifeboat wrote this record", path: path)
        }
        if let state = try records.read(FailureState.self, from: path),
          state.schema == schemaName, state.version == 1
        {
          return state
        }
      } catch  where RecordFile.isDamage(error) {
        continue
      }
    }
    return FailureState()
  }

  /// Writes this record and replaces the old one in one step. If the process is killed before that step, the new record
  /// is in a file whose name ends in `.part`. ``read(_:_:)`` uses that file only when the old record is missing or
  /// damaged.
  func write(_ incompatible: String, _ records: RecordFile) throws {
    try records.write(self, to: incompatible + "/" + Self.name, replacing: true)
  }
}

extension Recovery {
  /// How often this build has set the store aside before; nil when the evidence does not call for a quarantine.
  func repetition(of evidence: StoreEvidence, at path: String) -> StoreEvidence.Repetition? {
    let verdict = classify(evidence, policy: policy)
    guard verdict.action == .quarantine else { return nil }
    let fingerprint = StoreEvidence.Repetition.fingerprint(verdict, evidence)
    let home = PathText.folder(of: path)
    let storeName = PathText.lastComponent(of: path)
    var repetition = StoreEvidence.Repetition(fingerprint: fingerprint)
    let state = try? FailureState.read(
      QuarantineFolder.parent(in: home), RecordFile(fileSystem: fileSystem))
    // The incidents of stores that were put back are left out here. If such an incident counts as a failure, the record
    // contains it.
    let kept = try? Incidents(home: home, fileSystem: fileSystem).list()
      .filter { $0.outcome?.kind != .putBack }.compactMap(\.incident)
      .filter { $0.kind == .setAside && $0.app == app && PathText.isSame($0.storeName, storeName) }
    guard let state, let kept else {
      repetition.isKnown = false
      return repetition
    }
    let noted = state.failures.filter {
      $0.app == app && PathText.isSame($0.storeName, storeName)
    }
    // The larger count is used: a restored backup may lack the record, and the user may have deleted incidents.
    let same = noted.first { $0.fingerprint == fingerprint }
    let keptSame = kept.filter {
      StoreEvidence.Repetition.fingerprint($0.verdict, $0.evidence) == fingerprint
    }
    repetition.same = max(same?.count ?? 0, keptSame.count)
    repetition.all = max(
      noted.reduce(0) { $0.addingClamped($1.count) }, kept.count)
    repetition.incidents = same?.incidents ?? keptSame.map(\.id)
    return repetition
  }

  /// Adds the incident to the record of failures. If the record cannot be written, a later launch still counts the
  /// incident's folder.
  func note(_ incident: Incident, in incompatible: String) {
    let records = RecordFile(fileSystem: fileSystem)
    do {
      try mover.leased(PathText.folder(of: incompatible)) {
        var state = try FailureState.read(incompatible, records)
        state.add(
          incident.storeName, app,
          StoreEvidence.Repetition.fingerprint(incident.verdict, incident.evidence),
          incident: incident.id, on: incident.created)
        try state.write(incompatible, records)
      }
    } catch {
      tell(.notNoted(error))
    }
  }
}
