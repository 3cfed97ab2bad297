package import SQLiteFile

// An app may make tables of its own in the file of its store. Core Data leaves them alone.
extension CoreDataStore {
  /// The tables whose rows are no objects of the model: every table of a plain SQLite file; in a Core Data store, those
  /// that it has no use for, such as tables that the app has made, or one of an entity that Z_PRIMARYKEY no longer names.
  package var plainTables: [Table] {
    guard kind != .sqlite else { return database.schema.tables }
    let ofEntities = Set(entityTables.map(\.name))
    return database.schema.tables.filter {
      !ofEntities.contains($0.name) && !Self.isOwn(table: $0.name)
    }
  }

  /// Whether a table has a name of those that Core Data or SQLite makes beside the tables of entities.
  package static func isOwn(table name: String) -> Bool {
    let folded = name.uppercased()
    return ownNames.contains(folded) || isJoinTable(folded)
      || ownPrefixes.contains { folded.utf8.starts(with: $0.utf8) }
  }

  private static let ownNames: Set = [
    "Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE", "ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING",
  ]

  /// Of SQLite itself, and of NSPersistentCloudKitContainer, which mirrors rows to CloudKit.
  private static let ownPrefixes = ["SQLITE_", "ANSCK"]

  /// `Z_`, the number of an entity and the name of a relationship: the pairs of a many-to-many relationship.
  private static func isJoinTable(_ folded: String) -> Bool {
    let bytes = folded.utf8
    return bytes.starts(with: "Z_".utf8)
      && bytes.dropFirst(2).first.map { (0x30...0x39).contains($0) } ?? false
  }
}
