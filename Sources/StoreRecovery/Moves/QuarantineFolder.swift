import StoreFiles
import SafeFiles

/// The names in and around the folder that holds one quarantined store set.
struct QuarantineFolder: Sendable {
  /// The folder beside the store that holds all quarantines.
  static let parentName = "Incompatible"
  /// The record of the incident. Once it exists, the set in `store` is complete.
  static let incidentName = "incident.json"
  static let textName = "incident.txt"
  static let outcomeName = "outcome.json"
  /// The name of the intent. It exists from before the first member moves until the fresh store has opened.
  static let intentName = ".intent.json"
  /// The name of the record that exists while the set goes back.
  static let backName = ".back.json"
  /// The name of the seal's progress, which exists until the incident's record has the seal.
  static let sealingName = ".seal.json"
  static let storeFolderName = "store"
  /// A file in the folder of all quarantines that is locked while a set moves. It stays, and is always empty.
  /// ``SettledMoves`` uses its modification time.
  static let leaseName = ".lease"

  /// The path of the folder that the store is in.
  let home: String
  /// The name of the main file.
  let storeName: String
  /// The folder's own name, which is the incident's id.
  let id: String

  var incompatible: String { Self.parent(in: home) }
  var path: String { incompatible + "/" + id }
  var storeFolder: String { path + "/" + Self.storeFolderName }
  var intent: String { path + "/" + Self.intentName }
  var back: String { path + "/" + Self.backName }
  var sealing: String { path + "/" + Self.sealingName }
  var incident: String { path + "/" + Self.incidentName }
  var text: String { path + "/" + Self.textName }
  var outcome: String { path + "/" + Self.outcomeName }
  /// The temporary path of a copy that goes back: only a complete file may have one of the set's names.
  var copyInProgress: String { home + "/.lifeboat-" + id + ".part" }
  var mainPath: String { home + "/" + storeName }
  var keptMainPath: String { storeFolder + "/" + storeName }

  /// The folder of all quarantines beside the stores in `home`.
  static func parent(in home: String) -> String { home + "/" + parentName }

  /// The possible folders of a new quarantine, in the order in which they are tried, because a name may be taken.
  static func candidates(
    _ name: String, home: String, storeName: String
  ) -> some Sequence<QuarantineFolder> {
    (1...9999).lazy.map { attempt in
      QuarantineFolder(
        home: home, storeName: storeName, id: attempt == 1 ? name : "\(name)-\(attempt)")
    }
  }

  static func noneFree(in home: String) -> StoreRecoveryError {
    StoreRecoveryError(.unmovable, "all names for a quarantine are taken", path: parent(in: home))
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

  /// Why a set goes back.
  enum Back: String, Codable, Sendable {
    case freshFailed
    case restore
  }

  let schema: String
  let version: Int
  let storeName: String
  /// The members to move: the main file first, each folder before its contents.
  let members: [Member]
  /// The incident as far as it is known; nil in a record of a set that goes back.
  let incident: Incident?
  /// Why the set goes back; nil in the record of a set that is set aside.
  let back: Back?

  static let schemaName = "lifeboat.move"

  init(storeName: String, members: [Member], incident: Incident?, back: Back?) {
    schema = Self.schemaName
    version = 1
    self.storeName = storeName
    self.members = members
    self.incident = incident
    self.back = back
  }

  /// Whether the format is known and every name belongs to the set, so that no path leads out of the store's folder.
  var isValid: Bool {
    schema == Self.schemaName && version == 1
      && members.allSatisfy {
        StoreSet.role(ofMember: $0.name, mainName: storeName) == $0.role
      }
  }
}
