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
      !ofEntities.contains(SQLName($0.name))
        && !Self.isOwn(table: $0.name, columns: $0.columnNames)
    }
  }

  /// Whether a table is one of the tables that Core Data or SQLite makes for itself. Core Data makes tables for
  /// metadata, persistent history, many-to-many relationships and CloudKit mirroring. SQLite makes tables named
  /// `sqlite_…`. Case is ignored. `columns` has the names of the table's columns; empty when they are not known.
  package static func isOwn(table name: String, columns: [String]) -> Bool {
    let folded = name.uppercased()
    return ownNames.contains(folded) || isJoinTable(folded, columns)
      || ownPrefixes.contains { folded.utf8.starts(with: $0.utf8) }
  }

  private static let ownNames: Set = [
    "Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE", "ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING",
  ]

  /// The prefixes of reserved table names: `SQLITE_` for SQLite's own tables, and `ANSCK` for the tables of
  /// NSPersistentCloudKitContainer, which mirrors rows to CloudKit.
  private static let ownPrefixes = ["SQLITE_", "ANSCK"]

  /// Whether a table looks like a join table, which contains the pairs of a many-to-many relationship. The name of a
  /// join table begins with `Z_` and a digit of an entity number. The name of a column begins in the same way, or
  /// begins with `Z_FOK_` (a column of positions), or is `REFLEXIVE` (a column of a relationship that is its own
  /// inverse). If `columns` is empty, the name of the table decides. `name` is in upper case.
  private static func isJoinTable(_ name: String, _ columns: [String]) -> Bool {
    isNumbered(name) && columns.count != 1
      && columns.allSatisfy { column in
        let folded = column.uppercased()
        return isNumbered(folded) || folded.utf8.starts(with: "Z_FOK_".utf8)
          || folded == "REFLEXIVE"
      }
  }

  /// Whether `name`, which must be in upper case, begins with `Z_` and a digit.
  private static func isNumbered(_ name: String) -> Bool {
    let bytes = name.utf8
    return bytes.starts(with: "Z_".utf8)
      && bytes.dropFirst(2).first.map { (0x30...0x39).contains($0) } ?? false
  }
}
