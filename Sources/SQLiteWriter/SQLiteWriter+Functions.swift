import CSQLite

extension SQLiteWriter {
  /// The minimum of ``Options/maxValueBytes`` in bytes. A lower value is raised to this minimum, which is high enough
  /// for every CREATE statement.
  static let minValueBytes = 1 << 16

  static let functionList = "SELECT name, builtin, flags FROM pragma_function_list"

  /// The JSON functions (<https://sqlite.org/json1.html>). They are deterministic and have no side effects, but SQLite
  /// up to 3.41 does not mark them as innocuous.
  private static let json: Set<String> = [
    "->", "->>", "json", "json_array", "json_array_length", "json_error_position", "json_extract",
    "json_insert", "json_object", "json_patch", "json_pretty", "json_quote", "json_remove",
    "json_replace", "json_set", "json_type", "json_valid", "jsonb", "jsonb_array", "jsonb_extract",
    "jsonb_insert", "jsonb_object", "jsonb_patch", "jsonb_remove", "jsonb_replace", "jsonb_set",
  ]

  /// Returns the names, in lower case, of the functions that a definition from a file may call: the built-in functions
  /// that SQLite marks as innocuous (<https://sqlite.org/c3ref/c_deterministic.html>), and the JSON functions. If
  /// several functions have the same name, all of them must be harmless.
  ///
  /// `list`: the rows of ``functionList``.
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
