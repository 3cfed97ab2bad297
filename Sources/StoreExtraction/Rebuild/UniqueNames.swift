/// Names that SQL tells apart.
struct UniqueNames {
  private var taken: Set<String> = []

  /// Notes names that are not to be given.
  mutating func take(_ names: some Sequence<String>) {
    for name in names { taken.insert(name.lowercased()) }
  }

  func has(_ name: String) -> Bool { taken.contains(name.lowercased()) }

  /// A name for a column: with a number where it is taken, and without a NUL. It may begin as SQLite's own tables do.
  mutating func uniqueColumn(_ name: String) -> String {
    free(name.isEmpty || name.utf8.contains(0) ? "_unnamed" : name)
  }

  /// The name, with a number where it is taken. SQL does not tell upper and lower case apart.
  mutating func unique(_ name: String) -> String {
    let plain = name.isEmpty || name.utf8.contains(0) ? "_unnamed" : name
    // Names that begin like this are SQLite's own.
    let base = plain.lowercased().hasPrefix("sqlite_") ? "_" + plain : plain
    return free(base)
  }

  private mutating func free(_ base: String) -> String {
    var candidate = base
    var number = 2
    while !taken.insert(candidate.lowercased()).inserted {
      candidate = base + "_\(number)"
      number += 1
    }
    return candidate
  }
}
