import CSQLite

/// Decides which actions of an SQL statement are allowed while SQLite compiles the statement
/// (<https://sqlite.org/c3ref/set_authorizer.html>).
@safe final class SchemaGate {
  /// Whether the SQL that is being compiled is a definition from another file. A definition may only define a table, an
  /// index, a view or a trigger. All other SQL is the program's own, and is hardly restricted.
  private var definesOnly = false
  /// Whether SQL may make the schema table writable.
  private var opensSchema = false
  private var attaches = false
  /// The table name in the last CREATE VIRTUAL TABLE statement that was compiled since ``forgetVirtualTable()`` was
  /// called; nil if no such statement was compiled.
  private(set) var virtualTable: String?
  /// The names, in lower case, of the SQL functions that a CREATE statement from a file may call.
  private var functions: Set<String> = []

  /// Whether the definition that is being compiled may call `printf` and `format`.
  private var allowsFormats = false

  /// Sets the names, in lower case, of the functions that definitions may call. Before the first call of this method,
  /// definitions may call no function.
  func allow(functions: Set<String>) { self.functions = functions }

  /// Makes SQLite ask this gate about all SQL that is compiled on a connection. The gate must outlive the connection.
  /// `SQLiteWriter` ensures this: a writer owns the gate and the connection, and closes the connection first.
  func install(on handle: OpaquePointer) {
    _ = unsafe sqlite3_set_authorizer(
      handle,
      { context, action, first, second, _, _ in
        guard let context = unsafe context else { return SQLITE_DENY }
        let gate = unsafe Unmanaged<SchemaGate>.fromOpaque(context).takeUnretainedValue()
        let name = unsafe first.map { unsafe String(cString: $0) } ?? ""
        let detail = unsafe second.map { unsafe String(cString: $0) } ?? ""
        return gate.allows(action, name: name, detail: detail) ? SQLITE_OK : SQLITE_DENY
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Runs `body`, which compiles `sql`, a CREATE statement from a file. During the call, statements that are not
  /// definitions are refused.
  func definingOnly<R>(_ sql: String, _ body: () throws(SQLiteWriterError) -> R)
    throws(SQLiteWriterError) -> R
  {
    definesOnly = true
    allowsFormats = FormatCalls.areBounded(in: sql)
    defer { definesOnly = false }
    return try body()
  }

  func forgetVirtualTable() { virtualTable = nil }

  /// Runs `body`. Within `body`, the program's own SQL may make the schema table writable.
  func openingSchema<R>(_ body: () throws(SQLiteWriterError) -> R) throws(SQLiteWriterError) -> R {
    opensSchema = true
    defer { opensSchema = false }
    return try body()
  }

  /// Runs `body`. Within `body`, the program's own SQL may attach and detach a file that the program has created.
  func attaching<R>(_ body: () throws(SQLiteWriterError) -> R) throws(SQLiteWriterError) -> R {
    attaches = true
    defer { attaches = false }
    return try body()
  }

  private func allows(_ action: Int32, name: String, detail: String) -> Bool {
    if action == SQLITE_CREATE_VTABLE { virtualTable = name }
    return switch action {
    case SQLITE_ATTACH, SQLITE_DETACH: attaches
    case SQLITE_FUNCTION:
      definesOnly
        ? allowsCall(of: detail.lowercased()) : detail.lowercased() != "load_extension"
    case SQLITE_PRAGMA where !definesOnly: opensSchema || name.lowercased() != "writable_schema"
    case _ where !definesOnly: true
    case SQLITE_CREATE_TABLE, SQLITE_CREATE_INDEX, SQLITE_CREATE_VIEW, SQLITE_CREATE_TRIGGER,
      SQLITE_READ, SQLITE_REINDEX:
      true
    case SQLITE_INSERT, SQLITE_UPDATE:
      // A definition inserts a row into the schema table. SQLITE_SELECT is deliberately not allowed, because CREATE
      // TABLE … AS SELECT could run for ever.
      name == "sqlite_master" || name == "sqlite_schema"
    default: false
    }
  }

  private func allowsCall(of name: String) -> Bool {
    functions.contains(name) && (allowsFormats || !FormatCalls.names.contains(name))
  }
}
