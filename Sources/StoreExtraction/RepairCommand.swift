import CoreDataForensics
package import CoreDataStore
import ObjectModel
package import SQLiteFile
import SQLiteForensics

/// The command that makes a sound file of a damaged one. Whatever gives advice on a damaged file asks here.
///
/// A Core Data store needs `lifeboat salvage`: the new store follows the rules of its model. `lifeboat recover` keeps
/// what it finds, so references may still lead to rows that are gone, and a check finds them again.
package enum RepairCommand: Sendable, Equatable {
  /// `lifeboat recover`, for a plain SQLite file.
  case recover
  /// `lifeboat salvage`, for a Core Data store that carries its model.
  case salvage
  /// `lifeboat salvage --model MODEL`, for a Core Data store without a model of which a new store can be made.
  case salvageWithModel

  /// Chooses the command. `carriesModel` says whether `salvage` can use the model in the store.
  package init(kind: CoreDataStore.Kind, carriesModel: Bool) {
    self = kind == .sqlite ? .recover : carriesModel ? .salvage : .salvageWithModel
  }

  /// Chooses the command for an open store. A model that was given for the store counts as one that it carries.
  package init(of store: DamagedStore) {
    let isStore =
      store.kind != .sqlite
      || store.database.tables.contains {
        CoreDataStore.hasShape($0.definition.columns.map(\.name))
      }
    self.init(kind: isStore ? .coreData : .sqlite, carriesModel: Self.isUsable(store.model))
  }

  /// Chooses the command for the file at `path`. If the schema or the model of the file cannot be read, the file is
  /// searched page by page, as `salvage` does. A file that cannot be opened gets `recover`.
  package init(forFileAt path: String, logView: SQLiteDatabase.LogView = .committed) {
    let store = try? CoreDataStore(path: path, logView: logView)
    let carriesModel = Self.isUsable(store?.cachedModel)
    // Without damage in what was read on opening, a search of all pages would find no other schema or model.
    if let store, store.findings.damageCount == 0 || carriesModel && store.kind != .sqlite {
      self.init(kind: store.kind, carriesModel: carriesModel)
    } else if let store = try? DamagedStore(path: path, logView: logView) {
      self.init(of: store)
    } else {
      self = .recover
    }
  }

  /// Whether a new store can be made of `model`.
  private static func isUsable(_ model: ManagedObjectModel?) -> Bool {
    model.map { (try? FreshStoreSchema($0)) != nil } ?? false
  }

  /// Whether all damage among `findings` is missing external files. No command can make a sound store then, because
  /// only a backup has these files.
  package static func lacksOnlyFiles(_ findings: [Finding]) -> Bool {
    let damage = findings.filter { $0.severity == .damage }
    return !damage.isEmpty && damage.allSatisfy { $0.id == .coredataExternalFileMissing }
  }

  /// Writes the command as text for a shell.
  ///
  /// - Parameters:
  ///   - store: the argument that names the store, quoted, with the options that open the store.
  ///   - options: further options, followed by a space; empty for none.
  ///   - model: the argument that names the app's model, quoted.
  /// - Returns: the command, whose output is `NEW.sqlite`.
  package func text(_ store: String, options: String = "", model: String = "MODEL") -> String {
    switch self {
    case .recover: "lifeboat recover \(options)\(store) -o NEW.sqlite"
    case .salvage: "lifeboat salvage \(options)\(store) -o NEW.sqlite"
    case .salvageWithModel:
      "lifeboat salvage \(options)\(store) --model \(model) -o NEW.sqlite"
    }
  }

  /// What the command does, in words that follow the command.
  package var purpose: String {
    switch self {
    case .recover: "write what can be saved to a fresh file"
    case .salvage: "put the rows into a new store that the app opens"
    case .salvageWithModel:
      "put the rows into a new store that the app opens; MODEL is the app's model"
    }
  }
}
