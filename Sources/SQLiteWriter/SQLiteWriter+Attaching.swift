import CSQLite

extension SQLiteWriter {
  /// Attaches the finished file of another writer under a schema name, runs `body`, and detaches the file
  /// (<https://sqlite.org/lang_attach.html>). The SQL in `body` cannot attach any other file.
  ///
  /// `body` may write to the attached file. The journal of this file is in memory, and the file is not synced. So
  /// attach only files that will be deleted afterwards.
  ///
  /// - Throws: `transactionOpen` when a transaction is open or `other` is not closed; `replaced`, `closed`, what `body`
  ///   throws, or what SQLite reports.
  package func attaching<R>(_ other: SQLiteWriter, as schema: String, _ body: () throws -> R) throws
    -> R
  {
    guard let handle = unsafe handle else { throw closedError }
    guard !isInTransaction, !other.isOpen else {
      throw SQLiteWriterError(
        .transactionOpen,
        "a file can be attached only when no transaction is open and its own writer is closed",
        path: other.path)
    }
    guard other.file.isInPlace else { throw other.file.replaced }
    let name = try SQLIdentifier.quoted(schema)
    _ = unsafe sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 1)
    defer { _ = unsafe sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0) }
    try gate.attaching { () throws(SQLiteWriterError) in
      let attach = try prepare("ATTACH ?1 AS \(name)")
      defer { attach.finalize() }
      try attach.run([.string(other.path)])
    }
    defer { try? gate.attaching { () throws(SQLiteWriterError) in try execute("DETACH \(name)") } }
    try execute("PRAGMA \(name).journal_mode = MEMORY")
    try execute("PRAGMA \(name).synchronous = OFF")
    if let size = options.cacheKiB {
      try execute("PRAGMA \(name).cache_size = -\(max(0, size / 4))")
    }
    return try body()
  }
}
