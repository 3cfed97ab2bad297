import CSQLite

extension SQLiteWriter {
  /// Runs `body` while SQL can use the finished file of another writer under a schema name. No other file can be
  /// attached (<https://sqlite.org/lang_attach.html>).
  ///
  /// `body` may write to that file, without a journal that survives: it is for files that are thrown away afterwards.
  ///
  /// - Throws: `transactionOpen`, `replaced`, `closed`, what `body` throws, or what SQLite reports.
  package func attaching<R>(_ other: SQLiteWriter, as schema: String, _ body: () throws -> R) throws
    -> R
  {
    guard let handle = unsafe handle else { throw closedError }
    guard !isInTransaction, !other.isOpen else {
      throw SQLiteWriterError(
        .transactionOpen, "a file is attached when both are at rest", path: other.path)
    }
    guard other.file.isInPlace else {
      throw SQLiteWriterError(
        .replaced, "another file has taken the place of the new one", path: other.path)
    }
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
