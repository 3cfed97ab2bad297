import CSQLite

/// What SQL may do, decided as SQLite compiles it (<https://sqlite.org/c3ref/set_authorizer.html>).
@safe final class SchemaGate {
  /// Ordinary SQL may do anything but the few things that could harm the process or the schema.
  /// While a definition from a file is compiled, it may only define.
  private let definesOnly: UnsafeMutablePointer<Bool>
  /// Whether the schema table itself may be written, beside `definesOnly` in memory.
  private let opensSchema: UnsafeMutablePointer<Bool>

  init() {
    unsafe definesOnly = .allocate(capacity: 2)
    unsafe definesOnly.initialize(repeating: false, count: 2)
    unsafe opensSchema = definesOnly + 1
  }

  deinit {
    unsafe definesOnly.deallocate()
  }

  /// The gate must outlive the connection: `SQLiteWriter` holds both and closes before it lets go.
  func install(on handle: OpaquePointer) {
    _ = unsafe sqlite3_set_authorizer(
      handle,
      { context, action, first, second, _, _ in
        let flags = unsafe context?.assumingMemoryBound(to: Bool.self)
        let definesOnly = unsafe flags?[0] ?? true
        let opensSchema = unsafe flags?[1] ?? false
        let name = unsafe first.map { unsafe String(cString: $0) } ?? ""
        let detail = unsafe second.map { unsafe String(cString: $0) } ?? ""
        let allowed = SchemaGate.allows(
          action, name: name, detail: detail, definesOnly: definesOnly, opensSchema: opensSchema)
        return allowed ? SQLITE_OK : SQLITE_DENY
      }, definesOnly)
  }

  /// Runs a compilation during which only definitions pass.
  func definingOnly<R>(_ body: () throws(SQLiteWriterError) -> R) throws(SQLiteWriterError) -> R {
    unsafe definesOnly.pointee = true
    defer { unsafe definesOnly.pointee = false }
    return try body()
  }

  /// Runs SQL of the program's own that writes to the schema table.
  func openingSchema<R>(_ body: () throws(SQLiteWriterError) -> R) throws(SQLiteWriterError) -> R {
    unsafe opensSchema.pointee = true
    defer { unsafe opensSchema.pointee = false }
    return try body()
  }

  private static func allows(
    _ action: Int32, name: String, detail: String, definesOnly: Bool, opensSchema: Bool
  ) -> Bool {
    switch action {
    case SQLITE_ATTACH, SQLITE_DETACH: false
    case SQLITE_FUNCTION: detail.lowercased() != "load_extension"
    case SQLITE_PRAGMA where !definesOnly: opensSchema || name.lowercased() != "writable_schema"
    case _ where !definesOnly: true
    case SQLITE_CREATE_TABLE, SQLITE_CREATE_INDEX, SQLITE_CREATE_VIEW, SQLITE_CREATE_TRIGGER,
      SQLITE_READ, SQLITE_REINDEX:
      true
    case SQLITE_INSERT, SQLITE_UPDATE:
      // The row that a definition adds to the schema. SQLITE_SELECT is left out on purpose:
      // CREATE TABLE … AS SELECT could run for ever.
      name == "sqlite_master" || name == "sqlite_schema"
    default: false
    }
  }
}
