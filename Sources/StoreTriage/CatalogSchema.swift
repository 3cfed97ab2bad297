/// The tables of a triage catalogue, a database with a row for each input. They are described in
/// `man/lifeboat-triage.1`.
enum CatalogSchema {
  /// The application id in the header of the database file: "LbTr".
  static let applicationID: Int32 = 0x4C62_5472
  /// The version of the catalogue's schema. It is stored as the user version in the header of the database file.
  static let version: Int32 = 1

  /// A column: its name, its SQL type, and a function that returns the column's value for a triage line.
  typealias Column = (
    name: String, type: String, value: @Sendable (TriageLine) -> CatalogValue
  )

  /// The columns of the SQL table `input`, except its last two, `identity` and `line`. Each column has the closure that
  /// computes its value.
  static let columns: [Column] = [
    ("path", "TEXT PRIMARY KEY NOT NULL", { .text($0.path) }),
    ("kind", "TEXT NOT NULL", { .text($0.kind.rawValue) }),
    ("contents", "TEXT", { .text($0.contents) }),
    ("is_encrypted", "INTEGER", { .flag($0.isEncrypted) }),
    ("signature", "TEXT NOT NULL", { .text($0.signature.id) }),
    ("family", "TEXT NOT NULL", { .text($0.signature.family) }),
    ("words", "TEXT NOT NULL", { .text($0.signature.words) }),
    ("needs_care", "INTEGER NOT NULL", { .flag($0.needsCare) }),
    ("verdict", "TEXT NOT NULL", { .text($0.signature.verdict) }),
    ("problem", "TEXT", { .text($0.signature.problem) }),
    ("codes", "TEXT", { .text($0.signature.codes) }),
    ("model_written_by", "TEXT", { .text($0.signature.model?.writtenBy) }),
    ("model_expected", "TEXT", { .text($0.signature.model?.expected) }),
    ("build", "TEXT", { .text($0.signature.build) }),
    ("sqlite_version", "TEXT", { .text($0.signature.sqlite) }),
    ("fix", "TEXT", { .text($0.fix?.rawValue) }),
    ("app_name", "TEXT", { .text($0.app?.name) }),
    ("app_version", "TEXT", { .text($0.app?.version) }),
    ("app_build", "TEXT", { .text($0.app?.build) }),
    ("store_kind", "TEXT", { .text($0.store?.kind) }),
    ("store_uuid", "TEXT", { .text($0.store?.uuid) }),
    ("system", "TEXT", { .text($0.store?.system) }),
    ("input_bytes", "INTEGER", { .number($0.sizes?.inputBytes) }),
    ("store_bytes", "INTEGER", { .number($0.sizes?.storeBytes) }),
    ("log_bytes", "INTEGER", { .number($0.sizes?.logBytes) }),
    ("pages", "INTEGER", { .number($0.sizes?.pages) }),
    ("damage_count", "INTEGER", { .number($0.findings?.damage) }),
    ("note_count", "INTEGER", { .number($0.findings?.notes) }),
    ("rows_live", "INTEGER", { .number($0.rows.live) }),
    ("rows_lost", "INTEGER", { .number($0.rows.lost) }),
    ("rows_recoverable", "INTEGER", { .number($0.rows.recoverable) }),
    ("date", "TEXT", { .text($0.date) }),
    ("day", "TEXT", { .text($0.date.map { String(Substring($0.utf8.prefix(10))) }) }),
    ("date_source", "TEXT", { .text($0.dateSource?.rawValue) }),
    ("failed_code", "TEXT", { .text($0.failed?.code) }),
    ("failed_message", "TEXT", { .text($0.failed?.message) }),
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

/// The value of a column for one triage line. An associated value of nil is stored as NULL.
enum CatalogValue: Sendable {
  case text(String?)
  case number(Int64?)
  case flag(Bool?)

  static func number(_ number: Int?) -> CatalogValue { .number(number.map(Int64.init)) }
}
