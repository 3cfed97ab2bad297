import Foundation
import GRDB
import StoreRecovery

// All that an app on GRDB needs to open its database through Lifeboat. Copy this file.

extension StoreRecovery {
  /// Opens a database through Lifeboat.
  ///
  /// ```swift
  /// let opened = try recovery.open(connect: { try DatabasePool(path: $0) }) { pool in
  ///   try migrator.migrate(pool)
  /// }
  /// ```
  ///
  /// Both closures run again for a second try, and once more for the fresh database.
  ///
  /// - Parameters:
  ///   - connect: Makes the connection: a `DatabasePool` or a `DatabaseQueue`.
  ///   - prepare: Migrates, and throws when this build cannot use the database. It has to read something:
  ///     SQLite touches the file only then, so a connection alone proves nothing.
  /// - Returns: The connection, and what happened to an earlier database.
  /// - Throws: What a closure threw first, untouched, whenever the database stays where it is.
  func open<Connection: DatabaseWriter>(
    connect: (String) throws -> Connection, prepare: (Connection) throws -> Void
  ) throws -> Opened<Connection> {
    try openSynchronously { url in
      let connection = try connect(url.path)
      do {
        try prepare(connection)
      } catch {
        // Whoever fails leaves nothing open. Lifeboat may move the file next, and an open connection would
        // go on writing into the file that was moved.
        try? connection.close()
        throw error
      }
      return connection
    }
  }
}

extension Policy {
  /// What Lifeboat must be told about GRDB's errors.
  ///
  /// - Parameter finding: What the app's own errors mean: `.incompatible` when the schema is none that this
  ///   build knows, `.newer` when a newer build wrote it.
  /// - Returns: The default policy with GRDB's codes and the app's findings.
  static func grdb(finding: @escaping @Sendable (any Error) -> Verdict.Finding?) -> Policy {
    var policy = Policy()
    // The extended code, not the primary one: 10 alone does not tell a locked device from a failing disk.
    policy.sqliteCode = { ($0 as? DatabaseError)?.extendedResultCode.rawValue }
    policy.finding = finding
    return policy
  }
}
