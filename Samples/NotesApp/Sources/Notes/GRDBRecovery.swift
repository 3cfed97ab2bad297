import Foundation
import GRDB
import StoreRecovery

/// Opens a GRDB database through Lifeboat. Copy this file into an app that uses GRDB.
///
/// ```swift
/// let recovery = GRDBRecovery(
///   url: url, app: .init(name: "Notes", version: "3.0"),
///   connect: { try DatabasePool(path: $0) }, prepare: { try migrator.migrate($0) })
/// switch recovery.open() {
/// case .opened(let opened): use(opened.handle); if let incident = opened.incident { show(incident.notice) }
/// case .failed(let failed): show(failed.verdict)
/// }
/// ```
struct GRDBRecovery<Connection: DatabaseWriter> {
  let url: URL
  let app: Recovery.App
  /// What the app decides; what Lifeboat must know about GRDB is added to it.
  var policy = Policy()
  /// Makes the connection: a `DatabasePool` or a `DatabaseQueue`.
  let connect: @Sendable (String) throws -> Connection
  /// Migrates, and throws when this build cannot use the database. It has to read something: SQLite touches the
  /// file only then, so a connection alone proves nothing.
  let prepare: @Sendable (Connection) throws -> Void

  /// Opens the database; where it can never be opened, sets it aside and opens a fresh one.
  func open() -> Outcome<Connection> {
    var policy = policy
    // The extended code, not the primary one: 10 alone does not tell a locked device from a failing disk.
    policy.sqliteCode = { ($0 as? DatabaseError)?.extendedResultCode.rawValue }
    // Before the database moves, a private copy has to fail like the original.
    policy.check = { [self] url in try connection(url).close() }
    return Recovery(url, app: app, policy: policy).attemptSynchronously { try connection($0) }
  }

  private func connection(_ url: URL) throws -> Connection {
    let connection = try connect(url.path)
    do {
      try prepare(connection)
    } catch {
      // A failed opener must leave nothing open. Lifeboat may move the file next, and an open connection would still
      // write into the moved file.
      try? connection.close()
      throw error
    }
    return connection
  }
}
