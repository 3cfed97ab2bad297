import SQLiteFile

/// Makes unique names. Names that SQL does not distinguish, such as `name` and `NAME`, count as equal.
struct UniqueNames {
  private var taken: Set<SQLName> = []
  /// For each name in use, the number that is appended when the name is requested again. Without it, the search would
  /// start at 1 each time, which is slow in a hostile file that repeats a name many times.
  private var numbers: [SQLName: Int] = [:]

  init(_ names: [String] = []) { take(names) }

  mutating func take(_ names: some Sequence<String>) {
    for name in names { taken.insert(SQLName(name)) }
  }

  /// Returns an unused name for a column: `name`, with a number if `name` is in use. An empty name, or a name that
  /// contains NUL, is replaced. The name of a column may begin with `sqlite_`; only the names of tables may not.
  mutating func uniqueColumn(_ name: String) -> String {
    free(name.isEmpty || name.utf8.contains(0) ? "_unnamed" : name)
  }

  /// Returns an unused name for a table: `name`, with a number if `name` is in use. As in SQL, the case of ASCII
  /// letters is ignored.
  mutating func unique(_ name: String) -> String {
    let plain = name.isEmpty || name.utf8.contains(0) ? "_unnamed" : name
    // Names with this prefix are reserved for SQLite.
    return free(SQLName(plain).hasPrefix("sqlite_") ? "_" + plain : plain)
  }

  private mutating func free(_ base: String) -> String {
    if taken.insert(SQLName(base)).inserted { return base }
    var number = numbers[SQLName(base)] ?? 2
    while true {
      let candidate = base + "_\(number)"
      number += 1
      guard taken.insert(SQLName(candidate)).inserted else { continue }
      numbers[SQLName(base)] = number
      return candidate
    }
  }
}
