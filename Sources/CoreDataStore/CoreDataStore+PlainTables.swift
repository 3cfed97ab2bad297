package import SQLiteFile

// An app may create tables of its own in the file of its store. Core Data leaves these tables alone.
extension CoreDataStore {
  /// The tables whose rows are not objects of the model. In a plain SQLite file, this is every table. In any other
  /// file, it is each table that neither holds an entity's rows nor has a name of Core Data's or SQLite's own tables: a
  /// table that the app created, or the table of an entity that Z_PRIMARYKEY no longer names.
  package var plainTables: [Table] {
    guard kind != .sqlite else { return database.schema.tables }
    let ofEntities = Set(entityTables.map { SQLName($0.name) })
    return database.schema.tables.filter {
      !ofEntities.contains(SQLName($0.name)) && !Self.isOwn(table: $0.name)
    }
  }

  /// Whether a table has a name that Core Data or SQLite gives to a table of its own: metadata, persistent history,
  /// join tables, CloudKit mirroring and `sqlite_…`. Upper and lower case are the same.
  package static func isOwn(table name: String) -> Bool {
    let folded = name.uppercased()
    return ownNames.contains(folded) || isJoinTable(folded)
      || ownPrefixes.contains { folded.utf8.starts(with: $0.utf8) }
  }

  private static let ownNames: Set = [
    "Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE", "ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING",
  ]

  /// Prefixes of table names: `SQLITE_` of SQLite itself, and `ANSCK` of NSPersistentCloudKitContainer, which mirrors
  /// rows to CloudKit.
  private static let ownPrefixes = ["SQLITE_", "ANSCK"]

  /// Whether a name, given in upper case, is that of a join table, which holds the pairs of a many-to-many
  /// relationship: `Z_`, the number of an entity and the name of the relationship.
  private static func isJoinTable(_ folded: String) -> Bool {
    let bytes = folded.utf8
    return bytes.starts(with: "Z_".utf8)
      && bytes.dropFirst(2).first.map { (0x30...0x39).contains($0) } ?? false
  }
}
