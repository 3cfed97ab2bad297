import GRDB
import StoreRecovery

/// The three releases whose story this sample tells, in one program. An app of your own has only the newest.
enum Release: String, CaseIterable {
  /// Writes notes with a body.
  case one = "1.0"
  /// Calls the body a text. Its author changed the first migration instead of adding a second one. The author's own
  /// database was erased and made again, so the author never saw what happens to everybody else's.
  case two = "2.0"
  /// Fixes that: it supports the databases of both.
  case three = "3.0"

  /// Rises with each change of the schema, and is recorded in the database as `user_version`. GRDB's migrator
  /// sees that a database is not one of its own, but not whether it is too new or merely unknown.
  var schemaNumber: Int {
    switch self {
    case .one: 1
    case .two: 2
    case .three: 3
    }
  }

  var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    switch self {
    case .one:
      migrator.registerMigration("notes 1") { try Self.create($0, text: "body", number: 1) }
    case .two:
      migrator.registerMigration("notes 2") { try Self.create($0, text: "text", number: 2) }
    case .three:
      migrator.registerMigration("notes 1") { db in
        // A database that 2.0 made has these tables already.
        guard try !db.tableExists("note") else { return }
        try Self.create(db, text: "body", number: 1)
      }
      // The migration that 2.0 should have had, under the name that 2.0 gave to its own.
      migrator.registerMigration("notes 2") { db in
        try db.alter(table: "note") { $0.rename(column: "body", to: "text") }
        try db.execute(sql: "PRAGMA user_version = 2")
      }
      migrator.registerMigration("notes 3") { db in
        try db.alter(table: "note") {
          $0.add(column: "isPinned", .boolean).notNull().defaults(to: false)
        }
        try db.execute(sql: "PRAGMA user_version = 3")
      }
    }
    return migrator
  }

  /// Brings a database to this release's schema.
  ///
  /// - Throws: ``SchemaError`` when this release cannot migrate it; it is unchanged then.
  func prepare(_ connection: some DatabaseWriter) throws {
    let migrator = migrator
    try connection.writeWithoutTransaction { db in
      let found = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
      guard found <= schemaNumber else { throw SchemaError.newer(found: found) }
      guard try !migrator.hasBeenSuperseded(db) else { throw SchemaError.unknown(found: found) }
    }
    try migrator.migrate(connection)
  }

  private static func create(_ db: Database, text: String, number: Int) throws {
    try db.create(table: "note") { table in
      table.autoIncrementedPrimaryKey("id")
      table.column("title", .text).notNull()
      table.column(text, .text).notNull()
      table.column("created", .datetime).notNull()
    }
    try db.create(table: "tag") { table in
      table.belongsTo("note", onDelete: .cascade).notNull()
      table.column("name", .text).notNull()
    }
    try db.create(table: "attachment") { table in
      table.belongsTo("note", onDelete: .cascade).notNull()
      table.column("name", .text).notNull()
      table.column("file", .text).notNull()
    }
    try db.execute(sql: "PRAGMA user_version = \(number)")
  }
}

/// Why this release cannot use a database that is sound.
enum SchemaError: Error {
  case newer(found: Int)
  case unknown(found: Int)

  /// What the error means for Lifeboat: a newer database stays where it is, an unknown one is set aside.
  static func meaning(of error: any Error) -> FailureMeaning? {
    switch error as? SchemaError {
    case .newer: .newerStore
    case .unknown: .otherVersion
    case nil: nil
    }
  }
}
