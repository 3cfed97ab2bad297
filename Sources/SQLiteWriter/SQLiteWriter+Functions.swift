import CSQLite

extension SQLiteWriter {
  /// Least of all limits that SQLite takes for a value's length, with room for a CREATE statement.
  static let leastValueBytes = 1 << 16

  static let functionList = "SELECT name, builtin, flags FROM pragma_function_list"

  /// The functions of JSON (<https://sqlite.org/json1.html>): deterministic, and without any effect. Up to 3.41 they
  /// did not have the flag that says so.
  private static let json: Set<String> = [
    "->", "->>", "json", "json_array", "json_array_length", "json_error_position", "json_extract",
    "json_insert", "json_object", "json_patch", "json_pretty", "json_quote", "json_remove",
    "json_replace", "json_set", "json_type", "json_valid", "jsonb", "jsonb_array", "jsonb_extract",
    "jsonb_insert", "jsonb_object", "jsonb_patch", "jsonb_remove", "jsonb_replace", "jsonb_set",
  ]

  /// The functions that a definition from a file may call: those which SQLite brings along and calls harmless itself
  /// (<https://sqlite.org/c3ref/c_deterministic.html>), and those of JSON. With several of a name all have to be.
  static func harmlessFunctions(_ list: [[SQLiteValue]]) -> Set<String> {
    var harmless: Set<String> = []
    var harmful: Set<String> = []
    for row in list {
      guard row.count == 3, case .text(let bytes) = row[0], case .integer(let isBuiltIn) = row[1],
        case .integer(let flags) = row[2]
      else { continue }
      let name = String(decoding: bytes, as: UTF8.self).lowercased()
      let isHarmless =
        isBuiltIn == 1 && flags & Int64(SQLITE_DIRECTONLY) == 0
        && (flags & Int64(SQLITE_INNOCUOUS) != 0 || json.contains(name))
      if isHarmless { harmless.insert(name) } else { harmful.insert(name) }
    }
    return harmless.subtracting(harmful)
  }
}
