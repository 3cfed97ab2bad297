import SQLiteWriter

/// The tables of a triage catalogue, a database with a row for each input. They are described in
/// `man/lifeboat-triage.1`.
enum CatalogSchema {
  /// The application id in the header of the database file: "LbTr".
  static let applicationID: Int32 = 0x4C62_5472
  /// The version of the catalogue's schema. It is stored as the user version in the header of the database file.
  static let version: Int32 = 1

  /// A column: its name, its SQL type, and a function that returns the column's value for a triage line.
  typealias Column = (
    name: String, type: String, value: @Sendable (TriageLine) -> SQLiteValue
  )

  /// The columns of the SQL table `input`, except its last two, `identity` and `line`. Each column has the closure that
  /// computes its value.
  static let columns: [Column] = [
    ("path", "TEXT PRIMARY KEY NOT NULL", { .string($0.path) }),
    ("kind", "TEXT NOT NULL", { .string($0.kind.rawValue) }),
    ("contents", "TEXT", { .string($0.contents) }),
    ("is_encrypted", "INTEGER", { .flag($0.isEncrypted) }),
    ("signature", "TEXT NOT NULL", { .string($0.signature.id) }),
    ("family", "TEXT NOT NULL", { .string($0.signature.family) }),
    ("words", "TEXT NOT NULL", { .string($0.signature.words) }),
    ("needs_care", "INTEGER NOT NULL", { .flag($0.needsCare) }),
    ("verdict", "TEXT NOT NULL", { .string($0.signature.verdict) }),
    ("problem", "TEXT", { .string($0.signature.problem) }),
    ("codes", "TEXT", { .string($0.signature.codes) }),
    ("model_written_by", "TEXT", { .string($0.signature.model?.writtenBy) }),
    ("model_expected", "TEXT", { .string($0.signature.model?.expected) }),
    ("build", "TEXT", { .string($0.signature.build) }),
    ("sqlite_version", "TEXT", { .string($0.signature.sqlite) }),
    ("fix", "TEXT", { .string($0.fix?.rawValue) }),
    ("app_name", "TEXT", { .string($0.app?.name) }),
    ("app_version", "TEXT", { .string($0.app?.version) }),
    ("app_build", "TEXT", { .string($0.app?.build) }),
    ("store_kind", "TEXT", { .string($0.store?.kind) }),
    ("store_uuid", "TEXT", { .string($0.store?.uuid) }),
    ("system", "TEXT", { .string($0.store?.system) }),
    ("input_bytes", "INTEGER", { .number($0.sizes?.inputBytes) }),
    ("store_bytes", "INTEGER", { .number($0.sizes?.storeBytes) }),
    ("log_bytes", "INTEGER", { .number($0.sizes?.logBytes) }),
    ("pages", "INTEGER", { .number($0.sizes?.pages) }),
    ("damage_count", "INTEGER", { .number($0.findings?.damage) }),
    ("note_count", "INTEGER", { .number($0.findings?.notes) }),
    ("rows_live", "INTEGER", { .number($0.rows.live) }),
    ("rows_lost", "INTEGER", { .number($0.rows.lost) }),
    ("rows_recoverable", "INTEGER", { .number($0.rows.recoverable) }),
    ("date", "TEXT", { .string($0.date) }),
    ("day", "TEXT", { .string($0.date.map(TriageGroups.day)) }),
    ("date_source", "TEXT", { .string($0.dateSource?.rawValue) }),
    ("failed_code", "TEXT", { .string($0.failed?.code) }),
    ("failed_message", "TEXT", { .string($0.failed?.message) }),
  ]

  static var statements: [String] {
    let listed = columns.map { "  \($0.name) \($0.type)" }.joined(separator: ",\n")
    return [
      "CREATE TABLE input (\n\(listed),\n  identity TEXT,\n  line TEXT NOT NULL\n)",
      """
      CREATE TABLE place (
        path TEXT NOT NULL REFERENCES input (path) ON DELETE CASCADE,
        id TEXT NOT NULL,
        place TEXT NOT NULL,
        table_name TEXT,
        count INTEGER NOT NULL
      )
      """,
      """
      CREATE TABLE analyser (
        path TEXT NOT NULL REFERENCES input (path) ON DELETE CASCADE,
        id TEXT NOT NULL
      )
      """,
      "CREATE INDEX input_by_family ON input (family, day)",
      "CREATE INDEX input_by_store ON input (store_uuid)",
      "CREATE INDEX place_by_path ON place (path)",
      "CREATE INDEX analyser_by_path ON analyser (path)",
      """
      CREATE VIEW family AS
        SELECT family, min(words) AS words, count(*) AS inputs, min(date) AS first_seen,
          max(date) AS last_seen, count(DISTINCT build) AS builds, min(path) AS example
        FROM input GROUP BY family
      """,
    ]
  }
}

extension SQLiteValue {
  fileprivate static func number(_ number: Int64?) -> SQLiteValue {
    number.map { .integer($0) } ?? .null
  }

  fileprivate static func number(_ number: Int?) -> SQLiteValue { .number(number.map(Int64.init)) }

  fileprivate static func flag(_ flag: Bool?) -> SQLiteValue {
    flag.map { .integer($0 ? 1 : 0) } ?? .null
  }
}
