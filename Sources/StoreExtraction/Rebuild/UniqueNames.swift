/// Names that SQL tells apart.
struct UniqueNames {
  private var taken: Set<String> = []

  /// Notes names that are not to be given.
  mutating func take(_ names: some Sequence<String>) {
    for name in names { taken.insert(name.lowercased()) }
  }

  func has(_ name: String) -> Bool { taken.contains(name.lowercased()) }

  /// The name, with a number where it is taken. SQL does not tell upper and lower case apart.
  mutating func unique(_ name: String) -> String {
    let plain = name.isEmpty || name.utf8.contains(0) ? "_unnamed" : name
    // Names that begin like this are SQLite's own.
    let base = plain.lowercased().hasPrefix("sqlite_") ? "_" + plain : plain
    var candidate = base
    var number = 2
    while !taken.insert(candidate.lowercased()).inserted {
      candidate = base + "_\(number)"
      number += 1
    }
    return candidate
  }
}
