import SQLiteFile
package import SQLiteWriter
import SafeText

/// The lines of many runs in one SQLite file. Several runs may write to it at once.
package final class Catalog {
  private let database: SharedDatabase
  /// Lines that are not written yet.
  private var pending: [(line: TriageLine, json: [UInt8], identity: String?)] = []

  /// How many lines are written at once.
  private static let batch = 500

  /// Opens a catalogue.
  ///
  /// - Parameters:
  ///   - path: the file.
  ///   - mayMake: whether it is made if nothing is there; otherwise nothing is written to it.
  /// - Throws: ``CatalogError``, or `SQLiteWriterError`.
  package init(_ path: String, mayMake: Bool) throws {
    if !ByteFile.exists(path) {
      guard mayMake else { throw CatalogError(.missing, path) }
      try Self.make(path)
    }
    // Before SQLite sees it, because SQLite may write to what it opens.
    try Self.check(path)
    database = try SharedDatabase(opening: path, isReadOnly: !mayMake)
  }

  /// Makes an empty catalogue, unless another process is faster.
  private static func make(_ path: String) throws {
    let writer = try SQLiteWriter(creating: SQLiteWriter.privatePath(for: path))
    do throws(SQLiteWriterError) {
      for statement in CatalogSchema.statements { try writer.execute(statement) }
      try writer.execute("PRAGMA application_id = \(CatalogSchema.applicationID)")
      try writer.execute("PRAGMA user_version = \(CatalogSchema.version)")
      try writer.publish(as: path)
    } catch {
      writer.discard()
      // The other process has made the same.
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

  /// The identity of an input when it was read last; nil when it has to be read.
  package func identity(of path: String) throws -> String? {
    let rows = try database.rows(
      "SELECT identity FROM input WHERE path = ? AND failed_code IS NULL", [.string(path)])
    guard case .text(let bytes)? = rows.first?.first else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The line of an input; nil when it has none.
  package func line(of path: String) throws -> [UInt8]? {
    let rows = try database.rows("SELECT line FROM input WHERE path = ?", [.string(path)])
    guard case .text(let bytes)? = rows.first?.first else { return nil }
    return bytes
  }

  /// Adds a line, in place of an earlier one of its path.
  package func add(_ line: TriageLine, _ json: [UInt8], identity: String?) throws {
    pending.append((line, json, identity))
    if pending.count >= Self.batch { try write() }
  }

  /// Writes what was added.
  package func write() throws {
    guard !pending.isEmpty else { return }
    try database.transaction {
      for (line, json, identity) in pending { try write(line, json, identity) }
    }
    pending.removeAll(keepingCapacity: true)
  }

  private static let insert: String = {
    let names = CatalogSchema.columns.map(\.name) + ["identity", "line"]
    return "INSERT OR REPLACE INTO input (\(names.joined(separator: ", "))) VALUES ("
      + names.map { _ in "?" }.joined(separator: ", ") + ")"
  }()

  private func write(_ line: TriageLine, _ json: [UInt8], _ identity: String?) throws {
    let path = SQLiteValue.string(line.path)
    for table in ["place", "analyser"] {
      try database.rows("DELETE FROM \(table) WHERE path = ?", [path])
    }
    let values = CatalogSchema.columns.map { column -> SQLiteValue in
      switch column.value(line) {
      case .text(let text): text.map { .string($0) } ?? .null
      case .number(let number): number.map { .integer($0) } ?? .null
      case .flag(let flag): flag.map { .integer($0 ? 1 : 0) } ?? .null
      }
    }
    try database.rows(
      Self.insert, values + [identity.map { .string($0) } ?? .null, .text(json)])
    for place in line.findings?.places ?? [] {
      try database.rows(
        "INSERT INTO place (path, id, place, table_name, count) VALUES (?, ?, ?, ?, ?)",
        [
          path, .string(place.id), .string(place.place),
          place.table.map { .string($0) } ?? .null, .integer(Int64(place.count)),
        ])
    }
    for id in line.signature.analysers {
      try database.rows("INSERT INTO analyser (path, id) VALUES (?, ?)", [path, .string(id)])
    }
  }

  // MARK: - Questions

  /// The answer to a question.
  package struct Answer: Sendable {
    package let columns: [String]
    package let rows: [[SQLiteValue]]
  }

  /// Answers a question.
  package func answer(_ query: CatalogQuery, _ bounds: CatalogQuery.Bounds) throws -> Answer {
    let (sql, values) = query.statement(bounds)
    return Answer(columns: try database.columns(of: sql), rows: try database.rows(sql, values))
  }
}

/// Why a file is not used as a catalogue.
package struct CatalogError: Error, Sendable, Equatable {
  /// The kind of reason.
  package enum Code: String, Sendable {
    case missing = "triage.noCatalog"
    case notACatalog = "triage.notACatalog"
    case otherVersion = "triage.otherVersion"
    case unreadable = "triage.catalogUnread"
  }

  package let code: Code
  package let path: String

  init(_ code: Code, _ path: String) {
    self.code = code
    self.path = path
  }

  /// What it is, in a sentence without a full stop.
  package var message: String {
    switch code {
    case .missing: "there is no catalogue at this path"
    case .notACatalog: "not a catalogue of triage; nothing was written to it"
    case .otherVersion: "a catalogue of another version of lifeboat"
    case .unreadable: "this user may not read the catalogue"
    }
  }
}
