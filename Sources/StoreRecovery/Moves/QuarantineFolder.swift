import CoreDataStore

/// The names in and around the folder that holds one quarantined store set.
struct QuarantineFolder: Sendable {
  /// The folder beside the store that holds all quarantines.
  static let parentName = "Incompatible"
  /// The record of the incident. Once it is there, the set in `store` is whole.
  static let incidentName = "incident.json"
  static let textName = "incident.txt"
  static let outcomeName = "outcome.json"
  /// There from before the first member moves until the fresh store has opened.
  static let intentName = ".intent.json"
  /// There while the set goes back.
  static let backName = ".back.json"
  /// How far the seal has come, there until the record has it.
  static let sealingName = ".seal.json"
  static let storeFolderName = "store"
  /// In the folder of all quarantines; locked while a set moves. It stays, and is always empty; its time is the
  /// note of ``SettledMoves``.
  static let leaseName = ".lease"

  /// The folder of the store.
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
  /// A copy that goes back, until it is whole: only a whole file may have a name of the set.
  var copyInProgress: String { home + "/.lifeboat-" + id + ".part" }
  var mainPath: String { home + "/" + storeName }
  var keptMainPath: String { storeFolder + "/" + storeName }

  /// The folder of all quarantines beside the stores in `home`.
  static func parent(in home: String) -> String { home + "/" + parentName }

  /// The folders that a new quarantine may get, in the order in which they are tried: a name may be taken.
  static func candidates(
    _ name: String, home: String, storeName: String
  ) -> some Sequence<QuarantineFolder> {
    (1...9999).lazy.map { attempt in
      QuarantineFolder(
        home: home, storeName: storeName, id: attempt == 1 ? name : "\(name)-\(attempt)")
    }
  }

  static func noneFree(in home: String) -> StoreRecoveryError {
    StoreRecoveryError(.unmovable, "no free name for a quarantine", path: parent(in: home))
  }

  func original(_ name: String) -> String { home + "/" + name }
  func kept(_ name: String) -> String { storeFolder + "/" + name }
}

/// What a move is going to do, written before it does anything.
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
  /// Each folder before what it contains, the main file first.
  let members: [Member]
  /// The incident as far as it is known; nil in a record of a set that goes back.
  let incident: Incident?
  /// nil in a record of a set that is put aside.
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

  /// Whether every name is one of the set and leads nowhere else.
  var isValid: Bool {
    schema == Self.schemaName && version == 1
      && members.allSatisfy {
        StoreSet.role(ofMember: $0.name, mainName: storeName) == $0.role
      }
  }
}
