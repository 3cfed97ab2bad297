/// The name that somebody meant who wrote another one.
package enum NearestName {
  /// Longer names are not compared; nobody mistypes a page of text.
  private static let longest = 200

  /// The name that takes the fewest edits (a letter more, less, other, or two of them in each other's place), upper
  /// and lower case counting as one; nil when none is near. One that begins with what was written is near.
  package static func of(_ written: String, among names: some Sequence<String>) -> String? {
    let wanted = Array(written.lowercased().unicodeScalars)
    guard !wanted.isEmpty, wanted.count <= longest else { return nil }
    // A third of the letters may be wrong.
    var least = max(1, wanted.count / 3) + 1
    var best: String?
    var begun: String?
    for name in names {
      let other = Array(name.lowercased().unicodeScalars.prefix(longest + 1))
      if wanted.count >= 3, begun == nil, other.starts(with: wanted) { begun = name }
      guard other.count <= longest, abs(other.count - wanted.count) < least else { continue }
      let count = edits(wanted, other)
      if count < least {
        least = count
        best = name
      }
    }
    return best ?? begun
  }

  /// Edits from one to the other, two letters in each other's place counting as one.
  private static func edits(_ one: [Unicode.Scalar], _ other: [Unicode.Scalar]) -> Int {
    var before: [Int] = []
    var last = Array(0...other.count)
    for (row, letter) in one.enumerated() {
      var line = [row + 1]
      line.reserveCapacity(other.count + 1)
      for (column, wanted) in other.enumerated() {
        var count = min(
          last[column + 1] + 1, line[column] + 1, last[column] + (letter == wanted ? 0 : 1))
        if row > 0, column > 0, letter == other[column - 1], one[row - 1] == wanted {
          count = min(count, before[column - 1] + 1)
        }
        line.append(count)
      }
      before = last
      last = line
    }
    return last[other.count]
  }
}
