/// Makes SQL and the messages of SQLite safe for a log. Values are masked; names are not.
enum SQLExcerpt {
  /// The maximum length of an excerpt, in Unicode scalars.
  static let maximumLength = 160

  /// Returns the beginning of a statement, with `?` in place of each string, blob and number literal. The result has at
  /// most ``maximumLength`` scalars, followed by an ellipsis if the statement is longer.
  static func masked(_ sql: some StringProtocol) -> String {
    mask(sql, isSQL: true)
  }

  /// Returns a message of SQLite, with `?` in place of each string in single quotes and of each number directly after a
  /// double quote. Other numbers are not masked: they are counts, for example of columns.
  static func maskedMessage(_ message: String) -> String {
    mask(message, isSQL: false)
  }

  private static func mask(_ text: some StringProtocol, isSQL: Bool) -> String {
    let scalars = Array(text.unicodeScalars)
    var result = String.UnicodeScalarView()
    var index = 0
    func end(_ close: Unicode.Scalar, from start: Int) -> Int {
      (scalars[start...].firstIndex(of: close) ?? scalars.count - 1) + 1
    }
    func add(_ scalar: Unicode.Scalar) {
      result.append(scalar.value < 0x20 || scalar.value == 0x7f ? " " : scalar)
    }
    func addMask() {
      if result.last.map({ $0 != "?" }) ?? true { result.append("?") }
    }
    while index < scalars.count, result.count <= maximumLength {
      let scalar = scalars[index]
      let previous: Unicode.Scalar = index > 0 ? scalars[index - 1] : " "
      let next: Unicode.Scalar = index + 1 < scalars.count ? scalars[index + 1] : " "
      switch scalar {
      case "'":
        // A doubled quote inside a literal is taken for the end of one literal and the start of another. The masked
        // result is the same.
        index = end("'", from: index + 1)
        if previous == "x" || previous == "X" { result.removeLast() }
        addMask()
      case "\"" where isSQL, "`" where isSQL, "[" where isSQL:
        // An apostrophe within a quoted name or a comment does not begin a literal.
        let name = scalars[index..<end(scalar == "[" ? "]" : scalar, from: index + 1)]
        name.prefix(maximumLength).forEach(add)
        index = name.endIndex
      case "-" where isSQL && next == "-":
        index = end("\n", from: index + 2)
      case "/" where isSQL && next == "*":
        index += 3
        while index < scalars.count, scalars[index - 1] != "*" || scalars[index] != "/" {
          index += 1
        }
        index += 1
      case _ where isDigit(scalar) && !isNamePart(previous) && (isSQL || previous == "\""):
        while index < scalars.count, isNamePart(scalars[index]) || scalars[index] == "." {
          index += 1
        }
        addMask()
      default:
        add(scalar)
        index += 1
      }
    }
    guard result.count > maximumLength else { return String(result) }
    return String(String.UnicodeScalarView(result.prefix(maximumLength))) + "…"
  }

  private static func isDigit(_ scalar: Unicode.Scalar) -> Bool {
    ("0"..."9").contains(scalar)
  }

  private static func isNamePart(_ scalar: Unicode.Scalar) -> Bool {
    isDigit(scalar) || ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
      || scalar == "_" || scalar == "$" || scalar.value >= 0x80
  }
}
