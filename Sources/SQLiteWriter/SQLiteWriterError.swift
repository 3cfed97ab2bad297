import CSQLite

/// The reason why a database could not be created, opened or written.
///
/// Neither ``message`` nor ``sql`` contains a value of the database: literals are masked, and bound values are never
/// part of the SQL.
package struct SQLiteWriterError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of a failure. It is not an enumeration, so that further kinds can be added.
  package struct Code: RawRepresentable, Sendable, Hashable {
    /// A stable, dotted name, for example `writer.exists`.
    package let rawValue: String

    package init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// Something already exists at the path, or at the path with the suffix `-journal`, `-wal` or `-shm`.
    package static let exists = Code(rawValue: "writer.exists")
    /// The folder is missing, or the system does not allow the new file in it; `systemError` is the reason.
    package static let cannotCreate = Code(rawValue: "writer.cannotCreate")
    /// SQLite cannot open the database, or its folder cannot be reached.
    package static let cannotOpen = Code(rawValue: "writer.cannotOpen")
    /// Another file has taken the place of the file that the writer created.
    package static let replaced = Code(rawValue: "writer.replaced")
    /// The value of an option is outside the range that SQLite allows, or SQLite did not accept it.
    package static let badOption = Code(rawValue: "writer.badOption")
    package static let closed = Code(rawValue: "writer.closed")
    package static let transactionOpen = Code(rawValue: "writer.transactionOpen")
    /// The number of values differs from the number of the statement's parameters, or there is no parameter with the
    /// given number.
    package static let parameters = Code(rawValue: "writer.parameters")
    /// A name, a path or the SQL contains a NUL.
    package static let embeddedNUL = Code(rawValue: "writer.embeddedNUL")
    /// The SQL asks for something that the writer does not allow.
    package static let refused = Code(rawValue: "writer.refused")
    /// A constraint was violated (SQLITE_CONSTRAINT and its extended codes).
    package static let constraint = Code(rawValue: "writer.constraint")
    /// A value or the SQL is longer than SQLite accepts (SQLITE_TOOBIG). The limit is 1,000,000,000 bytes unless SQLite
    /// was built with another limit.
    package static let tooBig = Code(rawValue: "writer.tooBig")
    /// Computing the expressions of a table or an index takes too long (SQLITE_INTERRUPT).
    package static let tooLong = Code(rawValue: "writer.tooLong")
    /// The volume is full, or the database has reached its maximum size (SQLITE_FULL).
    package static let full = Code(rawValue: "writer.full")
    /// Reading or writing failed (SQLITE_IOERR). `systemError` is the system's error number, if SQLite has stored it.
    package static let inputOutput = Code(rawValue: "writer.io")
    /// An SQLite error for which this type has no other code. `resultCode` is SQLite's own code.
    package static let sqlite = Code(rawValue: "writer.sqlite")

    init(result: Int32) {
      self =
        switch result & 0xff {
        case SQLITE_CONSTRAINT: .constraint
        case SQLITE_TOOBIG: .tooBig
        case SQLITE_FULL: .full
        case SQLITE_INTERRUPT: .tooLong
        case SQLITE_IOERR: .inputOutput
        case SQLITE_AUTH: .refused
        case SQLITE_RANGE: .parameters
        default: .sqlite
        }
    }
  }

  package let code: Code
  /// SQLite's extended result code (<https://sqlite.org/rescode.html>); nil when the failure was not reported by
  /// SQLite.
  package let resultCode: Int32?
  /// The system's error number for the failure; nil when the system reported no error.
  package let systemError: Int32?
  /// A description of the failure: a phrase without a full stop.
  package let message: String
  /// The beginning of the SQL, with its literals masked; nil when the failure does not concern any SQL.
  package let sql: String?
  package let path: String

  init(
    _ code: Code, _ message: String, path: String, resultCode: Int32? = nil,
    systemError: Int32? = nil, sql: String? = nil
  ) {
    self.code = code
    self.resultCode = resultCode
    self.systemError = systemError
    self.message = message
    self.sql = sql
    self.path = path
  }

  package var primaryResultCode: Int32? {
    resultCode.map { $0 & 0xff }
  }

  package var description: String {
    var text = "\(code.rawValue): \(message)"
    if let resultCode { text += " (SQLite \(resultCode))" }
    if let systemError { text += " (errno \(systemError))" }
    if let sql { text += " in: \(sql)" }
    return text + " [\(path)]"
  }
}
