/// Finds text that SQLite's tokenizer rejects (tokenize.c). SQLite cannot parse a statement with such text.
@usableFromInline package enum SchemaLexis {
  /// Returns a description of the first invalid token of a statement; nil when all tokens are valid.
  package static func defect(in sql: [UInt8]) -> String? {
    if let defect = unfinished(sql) { return defect }
    var depth = 0
    for token in SQLToken.all(in: sql) {
      switch token.kind {
      case .number where !isNumber(token.text):
        return "\(token.text) is not a number"
      case .blob where token.text.utf8.count % 2 == 1 || !token.text.utf8.allSatisfy(isHexadecimal):
        return "x'\(token.text)' is not a blob literal"
      case .punctuation:
        if token.text == "(" { depth += 1 }
        if token.text == ")" { depth -= 1 }
        if depth < 0 { return "a closing parenthesis has no opening one" }
        let byte = sql[token.range.lowerBound]
        if byte == UInt8(ascii: "!"), sql[token.range.upperBound...].first != UInt8(ascii: "=") {
          return "a character that SQL does not allow: !"
        }
        if !known.contains(byte) {
          return byte > 0x20 && byte < 0x7f
            ? "a character that SQL does not allow: \(token.text)"
            : "a character that SQL does not allow: byte \(byte)"
        }
      default: break
      }
    }
    return depth > 0 ? "an opening parenthesis has no closing one" : nil
  }

  private static let known = Set("()+-*/%<>=!&|~,;.".utf8)

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20)
  }

  private static func isNumber(_ text: String) -> Bool {
    let digits = text.utf8.filter { $0 != UInt8(ascii: "_") }
    if digits.count > 1, digits[0] == UInt8(ascii: "0"), digits[1] | 0x20 == UInt8(ascii: "x") {
      return digits.count > 2 && digits.dropFirst(2).allSatisfy(isHexadecimal)
    }
    return SQLNumber.value(of: digits) != nil
  }

  /// Returns the message about a quoted name or string that is not closed; nil if all are closed.
  package static func unfinished(_ sql: some RandomAccessCollection<UInt8>) -> String? {
    let sql = Array(sql)
    var index = 0
    while index < sql.count {
      switch sql[index] {
      case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"), UInt8(ascii: "["):
        let piece = SQLToken.quoted(sql, from: index)
        guard piece.isClosed else { return "a quoted word is not closed" }
        index = piece.end
      default: index = SQLToken.endOfComment(sql, index) ?? index + 1
      }
    }
    return nil
  }
}
