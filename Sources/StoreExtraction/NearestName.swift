/// Finds the name that a user probably meant.
package enum NearestName {
  /// The maximum length of a name in Unicode scalars. Longer names are not compared.
  private static let maxLength = 200

  /// Returns the name that differs from `written` by the fewest edits. An edit adds, removes or changes one letter, or
  /// exchanges two neighbouring letters. Case is ignored. The number of edits may be at most a third of the letters of
  /// `written`, but one edit is always allowed. If no name is so near and `written` has at least three letters, returns
  /// the first name that begins with `written`. Otherwise returns nil.
  package static func of(_ written: String, among names: some Sequence<String>) -> String? {
    let wanted = Array(written.lowercased().unicodeScalars)
    guard !wanted.isEmpty, wanted.count <= maxLength else { return nil }
    var fewest = max(1, wanted.count / 3) + 1
    var best: String?
    var begun: String?
    for name in names {
      let other = Array(name.lowercased().unicodeScalars.prefix(maxLength + 1))
      if wanted.count >= 3, begun == nil, other.starts(with: wanted) { begun = name }
      guard other.count <= maxLength, abs(other.count - wanted.count) < fewest else { continue }
      let count = edits(wanted, other)
      if count < fewest {
        fewest = count
        best = name
      }
    }
    return best ?? begun
  }

  /// Returns the number of edits that turn one text into the other. An exchange of two neighbouring letters is one
  /// edit.
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
