import CoreDataStore
import SQLiteFile
import SafeText
import StoreFiles
import StoreRecovery

/// Finds the names that a user may have chosen in a store and in the record of an incident. Such names do not look like
/// identifiers of a program. They must not be in the records of a bundle.
enum NamedTexts {
  /// Calls `body` with each name that a user may have chosen, until `body` returns false. Returns false if `body` has
  /// returned false, otherwise true.
  static func forEach(
    of store: CoreDataStore?, _ incident: Incident?, _ body: (String) -> Bool
  ) -> Bool {
    for name in names(of: store) + names(of: incident) where !isOrdinary(name) && !body(name) {
      return false
    }
    guard let store else { return true }
    let path = store.database.path
    // Core Data names external data files by UUIDs only, so a user may have chosen any other name.
    for member in StoreSet(at: path).members {
      let parts = PathText.components(of: member.name)
      guard parts.count > 1, let name = parts.last, !isUUID(name) else { continue }
      if !body(name) { return false }
    }
    return true
  }

  private static func names(of store: CoreDataStore?) -> [String] {
    guard let store else { return [] }
    let path = store.database.path
    var names = [PathText.lastComponent(of: path), PathText.folder(of: path)]
    let schema = store.database.schema
    names += (schema.entries + schema.repairedEntries).flatMap { [$0.name, $0.tableName] }
    names += schema.tables.flatMap(\.columnNames)
    names += store.entities.map(\.name)
    if let metadata = store.metadata {
      names += [metadata.uuid].compactMap { $0 } + metadata.versionIdentifiers
      names += metadata.versionHashes.keys.sorted() + metadata.otherKeyNames
    }
    return names
  }

  private static func names(of incident: Incident?) -> [String] {
    guard let incident else { return [] }
    return [incident.folder, incident.storeUUID].compactMap { $0 }
      + (incident.model.map { $0.differing + $0.onlyInStore + $0.onlyInModel } ?? [])
  }

  /// Whether a name looks like an identifier of a program: it consists of ASCII letters, digits and the characters
  /// `_$.+:-`. A space and a number may follow, as in the name `Notes 2` of a model version.
  private static func isOrdinary(_ name: String) -> Bool {
    var bytes = Array(name.utf8)[...]
    if let space = bytes.lastIndex(of: 0x20), space + 1 < bytes.count,
      bytes[(space + 1)...].allSatisfy({ (0x30...0x39).contains($0) })
    {
      bytes = bytes[..<space]
    }
    return bytes.allSatisfy {
      (0x30...0x39).contains($0) || (0x61...0x7a).contains($0 | 0x20) && $0 < 0x80
        || "_$.+:-".utf8.contains($0)
    }
  }

  private static func isUUID(_ name: String) -> Bool {
    name.utf8.count == 36
      && name.utf8.allSatisfy {
        (0x30...0x39).contains($0) || (0x61...0x66).contains($0 | 0x20) || $0 == 0x2d
      }
  }
}
