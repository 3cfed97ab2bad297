/// Makes SQL and SQLite's messages safe for a log: values are masked, names are kept.
enum SQLExcerpt {
  /// The longest excerpt, in Unicode scalars.
  static let maximumLength = 160

  /// The beginning of a statement, with string, blob and number literals replaced by `?`; at most ``maximumLength``
  /// scalars and an ellipsis.
  static func masked(_ sql: some StringProtocol) -> String {
    mask(sql, numbers: true)
  }

  /// A message of SQLite, with strings in single quotes, and numbers right after a double quote, replaced by `?`. Other
  /// numbers stay, because they count columns.
  static func maskedMessage(_ message: String) -> String {
    mask(message, numbers: false)
  }

  private static func mask(_ text: some StringProtocol, numbers: Bool) -> String {
    var result = String.UnicodeScalarView()
    var previous: Unicode.Scalar = " "
    var scalars = text.unicodeScalars.makeIterator()
    var pending = scalars.next()
    while let scalar = pending {
      if result.count >= maximumLength {
        result.append("…")
        break
      }
      if scalar == "'" {
        // A doubled quote inside a literal ends one literal and starts the next: the mask is the same.
        pending = scalars.next()
        while let inner = pending, inner != "'" { pending = scalars.next() }
        pending = scalars.next()
        if previous == "x" || previous == "X" { result.removeLast() }
        if result.last.map({ $0 != "?" }) ?? true { result.append("?") }
        previous = "?"
        continue
      }
      if numbers || previous == "\"", isDigit(scalar), !isNamePart(previous) {
        while let inner = pending, isNamePart(inner) || inner == "." { pending = scalars.next() }
        if result.last.map({ $0 != "?" }) ?? true { result.append("?") }
        previous = "?"
        continue
      }
      let isControl = scalar.value < 0x20 || scalar.value == 0x7f
      result.append(isControl ? " " : scalar)
      previous = scalar
      pending = scalars.next()
    }
    return String(result)
  }

  private static func isDigit(_ scalar: Unicode.Scalar) -> Bool {
    ("0"..."9").contains(scalar)
  }

  private static func isNamePart(_ scalar: Unicode.Scalar) -> Bool {
    isDigit(scalar) || ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
      || scalar == "_" || scalar == "$" || scalar.value >= 0x80
  }
}
