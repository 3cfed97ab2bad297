/// Finds the name that a user probably meant.
package enum NearestName {
  /// Names with more Unicode scalars than this are not compared; nobody mistypes a page of text.
  private static let maxLength = 200

  /// Returns the name with the fewest edits from `written`: a letter added, removed or changed, or two neighbouring
  /// letters exchanged. Case is ignored. At most a third of the letters may differ, but one always may. When no name is
  /// that near, returns the first name that begins with `written`, provided that `written` has three letters or more.
  /// Nil when no name begins so.
  package static func of(_ written: String, among names: some Sequence<String>) -> String? {
    let wanted = Array(written.lowercased().unicodeScalars)
    guard !wanted.isEmpty, wanted.count <= maxLength else { return nil }
    // A third of the letters may be wrong.
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

  /// Returns how many edits turn one text into the other. Exchanging two neighbouring letters is one edit.
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
