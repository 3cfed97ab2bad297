import SQLiteFile
package import SQLiteWriter
import SafeText
package import StoreExtraction

/// A catalogue: an SQLite file that collects the triage lines of many runs. Several processes may write to a catalogue
/// at the same time.
package final class Catalog {
  private enum Change {
    case line(TriageLine, [UInt8], identity: String?)
    case removal(path: String)
  }

  private let path: String
  private let database: SharedDatabase
  private var pending: [Change] = []

  /// The maximum number of changes that are written in one transaction.
  private static let batch = 500

  /// Opens the catalogue at a path. If `mayMake` is true, creates the file if it is missing, and opens the file for
  /// writing. Otherwise opens the file for reading only. Each statement waits at most `patience` seconds for locks of
  /// other programs. `made` gets the new file until it is complete, so that an interruption can remove it.
  ///
  /// - Throws: ``CatalogError``, or `SQLiteWriterError`.
  package init(
    _ path: String, mayMake: Bool, patience: Int = 60, made: MadeFiles = MadeFiles()
  ) throws {
    if !ByteFile.exists(path) {
      guard mayMake else { throw CatalogError(.missing, path) }
      try Self.make(path, made)
    }
    // The header is checked before SQLite opens the file, because SQLite may write to any file that it opens.
    try Self.check(path)
    self.path = path
    database = try Self.asking(path) {
      try SharedDatabase(opening: path, isReadOnly: !mayMake, patience: patience)
    }
  }

  /// Runs `body` on the catalogue at `path`. If SQLite reports that the catalogue is damaged, locked or not writable,
  /// throws the corresponding ``CatalogError``. Any other error is thrown unchanged.
  private static func asking<Result>(
    _ path: String, _ body: () throws -> Result
  ) throws -> Result {
    do { return try body() } catch let error as SQLiteWriterError {
      switch error.primaryResultCode {
      // SQLITE_ERROR (a table or column is missing), SQLITE_CORRUPT, SQLITE_NOTADB.
      case 1, 11, 26: throw CatalogError(.damaged, path)
      // SQLITE_PERM, SQLITE_READONLY, SQLITE_CANTOPEN (the rollback journal next to the catalogue cannot be opened).
      case 3, 8, 14: throw CatalogError(.unwritable, path)
      // SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL.
      case 5, 6, 15: throw CatalogError(.locked, path)
      default: throw error
      }
    }
  }

  /// Makes an empty catalogue. If another process makes a catalogue at this path at the same time, that catalogue is
  /// kept.
  private static func make(_ path: String, _ made: MadeFiles) throws {
    // The file is removed unless it is complete, so it needs no journal on the disk.
    var options = SQLiteWriter.Options(journalMode: .memory)
    options.isSynchronous = false
    do {
      try made.makeDatabase(at: path, options) { writer in
        for statement in CatalogSchema.statements { try writer.execute(statement) }
        try writer.execute("PRAGMA application_id = \(CatalogSchema.applicationID)")
        try writer.execute("PRAGMA user_version = \(CatalogSchema.version)")
        try writer.complete()
      }
    } catch let error as SQLiteWriterError {
      // Another process has made the catalogue in the meantime.
      guard error.code == .exists, ByteFile.exists(path) else { throw error }
    }
  }

  private static func check(_ path: String) throws {
    let file: ByteFile
    do { file = try ByteFile(path) } catch {
      throw CatalogError(error.code == .permission ? .unreadable : .notACatalog, path)
    }
    let head = (try? file.bytes(at: 0, count: 100)) ?? []
    func number(_ offset: Int) -> Int32 {
      head[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int32($1) }
    }
    guard head.count == 100, head.starts(with: DatabaseHeader.magic),
      number(68) == CatalogSchema.applicationID
    else { throw CatalogError(.notACatalog, path) }
    guard number(60) == CatalogSchema.version else { throw CatalogError(.otherVersion, path) }
  }

  // MARK: - Lines

  /// Returns the identity (see ``FileIdentities``) that the catalogue has recorded for the files of the input at
  /// `path`. Returns nil if the catalogue has no line for the input, or if the line reports a failure or has no
  /// identity. The input must then be read again.
  package func identity(of path: String) throws -> String? {
    try text("SELECT identity FROM input WHERE path = ? AND failed_code IS NULL", path)
      .map { String(decoding: $0, as: UTF8.self) }
  }

  /// Returns the line of the input at `path`, as JSON; nil when the catalogue has no line for the input.
  package func line(of path: String) throws -> [UInt8]? {
    try text("SELECT line FROM input WHERE path = ?", path)
  }

  private func text(_ query: String, _ path: String) throws -> [UInt8]? {
    let rows = try Self.asking(self.path) { try database.rows(query, [.string(path)]) }
    guard case .text(let bytes)? = rows.first?.first else { return nil }
    return bytes
  }

  /// Adds the line of an input to the catalogue. Replaces the earlier line of the same path. `json` is the JSON text of
  /// `line`. The line is written to the file at the latest when ``write()`` is called.
  package func add(_ line: TriageLine, _ json: [UInt8], identity: String?) throws {
    try add(.line(line, json, identity: identity))
  }

  /// Removes the line with this path from the catalogue. The change is written to the file by the next ``write()`` at
  /// the latest.
  package func remove(_ path: String) throws { try add(.removal(path: path)) }

  private func add(_ change: Change) throws {
    pending.append(change)
    if pending.count >= Self.batch { try write() }
  }

  package func write() throws {
    guard !pending.isEmpty else { return }
    try Self.asking(path) {
      try database.transaction {
        for change in pending {
          switch change {
          case .line(let line, let json, let identity): try write(line, json, identity)
          case .removal(let path):
            for table in ["place", "analyser", "input"] { try delete(path, from: table) }
          }
        }
      }
    }
    pending.removeAll(keepingCapacity: true)
  }

  private func delete(_ path: String, from table: String) throws {
    try database.rows("DELETE FROM \(table) WHERE path = ?", [.string(path)])
  }

  private static let insert: String = {
    let names = CatalogSchema.columns.map(\.name) + ["identity", "line"]
    return "INSERT OR REPLACE INTO input (\(names.joined(separator: ", "))) VALUES ("
      + names.map { _ in "?" }.joined(separator: ", ") + ")"
  }()

  private func write(_ line: TriageLine, _ json: [UInt8], _ identity: String?) throws {
    let path = SQLiteValue.string(line.path)
    for table in ["place", "analyser"] { try delete(line.path, from: table) }
    let values = CatalogSchema.columns.map { $0.value(line) }
    try database.rows(Self.insert, values + [.string(identity), .text(json)])
    for place in line.findings?.places ?? [] {
      try database.rows(
        "INSERT INTO place (path, id, place, table_name, count) VALUES (?, ?, ?, ?, ?)",
        [
          path, .string(place.id), .string(place.place), .string(place.table),
          .integer(Int64(place.count)),
        ])
    }
    for id in line.signature.analysers {
      try database.rows("INSERT INTO analyser (path, id) VALUES (?, ?)", [path, .string(id)])
    }
  }

  // MARK: - Questions

  /// The answer to a ``CatalogQuery``: the names of the columns, and the rows.
  package struct Answer: Sendable {
    package let columns: [String]
    package let rows: [[SQLiteValue]]
  }

  /// Returns the answer to `query` from the lines in the file. `bounds` restricts the lines that the query uses, and
  /// the number of rows in the answer.
  package func answer(_ query: CatalogQuery, _ bounds: CatalogQuery.Bounds) throws -> Answer {
    let (sql, values) = query.statement(bounds)
    return try Self.asking(path) {
      Answer(columns: try database.columns(of: sql), rows: try database.rows(sql, values))
    }
  }

  /// The error to throw when a line in this catalogue cannot be decoded.
  package var damaged: CatalogError { CatalogError(.damaged, path) }
}

/// An error that is thrown when a file cannot be used as a catalogue.
package struct CatalogError: Error, Sendable, Equatable {
  /// The kinds of failure. The raw value is the code that commands print.
  package enum Code: String, Sendable {
    case missing = "triage.noCatalog"
    case notACatalog = "triage.notACatalog"
    case otherVersion = "triage.otherVersion"
    case unreadable = "triage.catalogUnread"
    case damaged = "triage.catalogDamaged"
    case unwritable = "file.permission"
    case locked = "triage.catalogLocked"
  }

  package let code: Code
  package let path: String

  init(_ code: Code, _ path: String) {
    self.code = code
    self.path = path
  }

  /// What is wrong, in a sentence without a full stop. Commands print the sentence after the path.
  package var message: String {
    switch code {
    case .missing: "there is no catalogue at this path"
    case .notACatalog: "the file is not a catalogue of lifeboat triage; nothing was written to it"
    case .otherVersion: "the catalogue was made by another version of lifeboat"
    case .unreadable: "the current user has no permission to read the catalogue"
    case .damaged: "the catalogue is damaged"
    case .unwritable: "the catalogue, or the folder that it is in, cannot be written to"
    case .locked: "another program has locked the catalogue for too long"
    }
  }
}
