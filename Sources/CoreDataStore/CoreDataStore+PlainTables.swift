package import SQLiteFile

// An app may create tables of its own in the file of its store. Core Data does not touch such tables.
extension CoreDataStore {
  /// Tables whose rows are not objects of the model. In a plain SQLite file, these are all tables. In any other file,
  /// these are the tables that the app created, and the tables of entities that Z_PRIMARYKEY no longer names. Tables
  /// whose names Core Data or SQLite reserves are left out.
  package var plainTables: [Table] {
    guard kind != .sqlite else { return database.schema.tables }
    let ofEntities = Set(entityTables.map { SQLName($0.name) })
    return database.schema.tables.filter {
      !ofEntities.contains(SQLName($0.name)) && !Self.isOwn(table: $0.name)
    }
  }

  /// Whether Core Data or SQLite gives this name to a table of its own, for example for metadata, persistent history, a
  /// many-to-many relationship or CloudKit mirroring, or a table `sqlite_…`. Case is ignored.
  package static func isOwn(table name: String) -> Bool {
    let folded = name.uppercased()
    return ownNames.contains(folded) || isJoinTable(folded)
      || ownPrefixes.contains { folded.utf8.starts(with: $0.utf8) }
  }

  private static let ownNames: Set = [
    "Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE", "ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING",
  ]

  /// `SQLITE_` for SQLite's own tables, and `ANSCK` for the tables of NSPersistentCloudKitContainer, which mirrors rows
  /// to CloudKit.
  private static let ownPrefixes = ["SQLITE_", "ANSCK"]

  /// Whether the name, in upper case, begins with `Z_` and a digit of an entity number. A join table holds the pairs of
  /// a many-to-many relationship.
  private static func isJoinTable(_ folded: String) -> Bool {
    let bytes = folded.utf8
    return bytes.starts(with: "Z_".utf8)
      && bytes.dropFirst(2).first.map { (0x30...0x39).contains($0) } ?? false
  }
}
