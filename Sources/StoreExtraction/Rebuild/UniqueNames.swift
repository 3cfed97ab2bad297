import SQLiteFile

/// Makes names that SQL treats as different from each other.
struct UniqueNames {
  private var taken: Set<SQLName> = []
  /// The number to try next for a name that is in use. A hostile file may repeat a name many times.
  private var numbers: [SQLName: Int] = [:]

  /// Starts with `names` as taken.
  init(_ names: [String] = []) { take(names) }

  /// Marks names as taken.
  mutating func take(_ names: some Sequence<String>) {
    for name in names { taken.insert(SQLName(name)) }
  }

  func has(_ name: String) -> Bool { taken.contains(SQLName(name)) }

  /// Returns a free name for a column, with a number if `name` is in use. An empty name, or one with a NUL, is
  /// replaced. Unlike the name of a table, it may begin with `sqlite_`.
  mutating func uniqueColumn(_ name: String) -> String {
    free(name.isEmpty || name.utf8.contains(0) ? "_unnamed" : name)
  }

  /// Returns a free name for a table, with a number if `name` is in use. SQL ignores the case of ASCII letters.
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
