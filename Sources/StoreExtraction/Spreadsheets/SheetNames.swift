/// Makes names for the sheets of a workbook. A name has at most 31 UTF-16 units and none of the characters that have a
/// meaning in cell references. No two names differ only in case.
struct SheetNames {
  private static let maxUnits = 31
  /// The names in use, in lower case. "History" is reserved by Excel.
  private var taken: Set<String> = ["history"]
  /// For each name that was requested before: the number that is tried next as its ending. Without these numbers, the
  /// search for an unused name would be slow in a file that repeats a name very often.
  private var numbers: [String: Int] = [:]

  /// Returns an unused name: `name` itself or a similar name. Marks the returned name as in use.
  mutating func unique(_ name: String) -> String {
    let plain = Self.plain(name)
    return free(plain, from: 1) { $0 == 1 ? "" : "_\($0)" }
  }

  /// Returns an unused name for a further sheet with rows of the same entity or table, such as `Note (2)`. Marks the
  /// name as in use.
  ///
  /// `number`: the number of the sheet among the sheets of that entity or table; at least 2.
  mutating func further(_ name: String, _ number: Int) -> String {
    free(Self.plain(name), from: number) { " (\($0))" }
  }

  private mutating func free(
    _ plain: String, from first: Int, _ ending: (Int) -> String
  ) -> String {
    let key = plain + ending(0)
    var number = max(first, numbers[key] ?? first)
    while true {
      let end = ending(number)
      let candidate = Self.fitting(plain, Self.maxUnits - end.utf16.count) + end
      number += 1
      guard taken.insert(candidate.lowercased()).inserted else { continue }
      numbers[key] = number
      return candidate
    }
  }

  /// Returns a name in which `_` replaces control characters and all characters that have a meaning in cell references.
  private static func plain(_ name: String) -> String {
    var plain = ""
    for scalar in name.unicodeScalars.prefix(maxUnits) {
      let isKept =
        switch scalar {
        case "[", "]", ":", "*", "?", "/", "\\": false
        default: scalar.properties.generalCategory != .control && scalar.value & 0xfffe != 0xfffe
        }
      plain.unicodeScalars.append(isKept ? scalar : "_")
    }
    return plain.utf8.isEmpty ? "_unnamed" : plain
  }

  /// Returns the start of a name: at most `maxUnits` UTF-16 units. An apostrophe at either end is replaced by `_`,
  /// because Excel refuses it.
  private static func fitting(_ name: String, _ maxUnits: Int) -> String {
    var scalars: [Unicode.Scalar] = []
    var units = 0
    for scalar in name.unicodeScalars {
      units += UTF16.width(scalar)
      if units > maxUnits { break }
      scalars.append(scalar)
    }
    for place in [0, scalars.count - 1] where scalars.indices.contains(place) {
      if scalars[place] == "'" { scalars[place] = "_" }
    }
    var result = ""
    result.unicodeScalars.append(contentsOf: scalars)
    return result
  }
}
