import SQLiteFile

/// Names that SQL tells apart.
struct UniqueNames {
  private var taken: Set<SQLName> = []
  /// The number to try next for a name that is taken: a hostile file may have the same one many times.
  private var numbers: [SQLName: Int] = [:]

  /// `names`: those that are not to be given.
  init(_ names: [String] = []) { take(names) }

  /// Notes names that are not to be given.
  mutating func take(_ names: some Sequence<String>) {
    for name in names { taken.insert(SQLName(name)) }
  }

  func has(_ name: String) -> Bool { taken.contains(SQLName(name)) }

  /// A name for a column: with a number where it is taken, and without a NUL. It may begin as SQLite's own tables do.
  mutating func uniqueColumn(_ name: String) -> String {
    free(name.isEmpty || name.utf8.contains(0) ? "_unnamed" : name)
  }

  /// The name, with a number where it is taken. SQL does not tell upper and lower case of ASCII letters apart.
  mutating func unique(_ name: String) -> String {
    let plain = name.isEmpty || name.utf8.contains(0) ? "_unnamed" : name
    // Names that begin like this are SQLite's own.
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
