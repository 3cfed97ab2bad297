import StoreFiles
import SafeFiles

/// The folder that holds one quarantined store set, with the names of the files in it and around it.
struct QuarantineFolder: Sendable {
  static let parentName = "Incompatible"
  /// The name of the incident's record. Once that file exists, the store set in the subfolder `store` is complete.
  static let incidentName = "incident.json"
  static let textName = "incident.txt"
  static let outcomeName = "outcome.json"
  /// The name of the intent, a ``MoveRecord`` that is written before the first member moves. The intent of a store that
  /// was set aside is removed after the fresh store has opened.
  static let intentName = ".intent.json"
  /// The name of the ``MoveRecord`` that exists while the store set is moved from the quarantine back to its original
  /// place.
  static let backName = ".back.json"
  /// The name of the file with the seal's progress, which exists until the incident's record contains the seal.
  static let sealingName = ".seal.json"
  static let storeFolderName = "store"
  /// The name of the lease, an empty file in the `Incompatible` folder. The file is locked while a store set is moved,
  /// and is never removed. ``SettledMoves`` uses its modification time.
  static let leaseName = ".lease"

  /// The folder that the store is in.
  let home: String
  let storeName: String
  /// The folder's own name, which is the incident's id.
  let id: String

  var incompatible: String { Self.parent(in: home) }
  var path: String { incompatible + "/" + id }
  var storeFolder: String { Incidents.keptFolder(in: path) }
  var intent: String { path + "/" + Self.intentName }
  var back: String { path + "/" + Self.backName }
  var sealing: String { path + "/" + Self.sealingName }
  var incident: String { path + "/" + Self.incidentName }
  var text: String { path + "/" + Self.textName }
  var outcome: String { path + "/" + Self.outcomeName }
  /// The temporary path of a file that is copied from the quarantine to its original folder. The complete copy gets the
  /// original name.
  var copyInProgress: String { home + "/.lifeboat-" + id + ".part" }
  var mainPath: String { home + "/" + storeName }
  var keptMainPath: String { storeFolder + "/" + storeName }

  static func parent(in home: String) -> String { home + "/" + parentName }

  /// The folders that may be used for a new quarantine, in the order in which they are tried: `name`, `name-2`,
  /// `name-3` and so on. A name may already be taken.
  static func candidates(
    _ name: String, home: String, storeName: String
  ) -> some Sequence<QuarantineFolder> {
    (1...9999).lazy.map { attempt in
      QuarantineFolder(
        home: home, storeName: storeName, id: attempt == 1 ? name : "\(name)-\(attempt)")
    }
  }

  static func noneFree(in home: String) -> StoreRecoveryError {
    StoreRecoveryError(
      .unmovable, "no free name is left for a quarantine folder", path: parent(in: home))
  }

  func original(_ name: String) -> String { home + "/" + name }
  func kept(_ name: String) -> String { storeFolder + "/" + name }
}

/// The record of what a move will do, written before the move does anything.
struct MoveRecord: Codable, Sendable {
  struct Member: Codable, Sendable {
    let role: StoreSet.Role
    let name: String
    let status: FileStatus
  }

  enum Back: String, Codable, Sendable {
    case freshFailed
    case restore
  }

  var schema = Self.schemaName
  var version = 1
  let storeName: String
  /// The members to move: the main file first, each folder before its contents.
  let members: [Member]
  /// The incident that the move makes, without its seal; nil for a move out of the quarantine.
  let incident: Incident?
  /// The reason why the store set is moved back to its place; nil for a move into the quarantine.
  let back: Back?
  /// Of a move out of the quarantine: whether the main file is put in place after all other members. Nil in the records
  /// of earlier versions, which put it in place first.
  var placesMainLast: Bool?
  /// The copy of the main file that is about to get the main file's name, when the quarantine is on another volume.
  var placedMain: FileStatus?
  /// The main file of the fresh store that has failed, as the move out of the quarantine found it.
  var failed: FileStatus?
  /// The id of the incident that keeps the store that was in use before the restoration.
  var replaced: String?

  static let schemaName = "lifeboat.move"

  /// Whether this record can be used: its format is known, and each file name is possible in a store set of this store.
  /// Other names could lead out of the store's folder.
  var isValid: Bool {
    schema == Self.schemaName && version == 1
      && members.allSatisfy {
        StoreSet.role(ofMember: $0.name, mainName: storeName) == $0.role
      }
  }
}
