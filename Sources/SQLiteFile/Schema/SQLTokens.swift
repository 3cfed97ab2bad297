/// A token of a CREATE statement, as SQLite's tokenizer finds it.
package struct SQLToken: Equatable {
  package enum Kind: Equatable {
    /// A bare word: a keyword or an identifier.
    case word
    /// An identifier in quotes, brackets or backticks, which are not part of the token's text.
    case quotedIdentifier
    /// A string literal. The quotes are not part of the token's text.
    case string
    case number
    /// A BLOB literal, `x'…'`. The token's text contains only the digits.
    case blob
    /// A parameter: `?1`, `:name`, `@name`, `#name` or `$name`. In a schema, a parameter means NULL.
    case parameter
    case punctuation
  }

  package let kind: Kind
  package let text: String
  /// The range of the token in the UTF-8 bytes of the statement.
  package let range: Range<Int>

  /// Whether the token is the given keyword, ignoring case. A quoted word is never a keyword.
  package func isKeyword(_ keyword: String) -> Bool {
    kind == .word && SQLName.isSame(text, keyword)
  }

  package func isPunctuation(_ character: String) -> Bool {
    kind == .punctuation && text.utf8.elementsEqual(character.utf8)
  }

  /// Returns the index after the last token of a column's type. SQLite reads GENERATED ALWAYS as words of the type, and
  /// then drops these two words from the end of the type, whether AS follows or not (build.c, `sqlite3AddColumn`).
  static func endOfType(in tokens: [SQLToken], _ range: Range<Int>) -> Int {
    let end = range.upperBound
    let isGeneration =
      range.count >= 2 && tokens[end - 2].isKeyword("GENERATED")
      && tokens[end - 1].isKeyword("ALWAYS")
    return isGeneration ? end - 2 : end
  }

  /// Returns the tokens of the statement that SQLite reads from a schema entry. The statement ends at a zero byte. It
  /// also ends at a semicolon, unless it creates a trigger.
  package static func statement(in sql: [UInt8]) -> [SQLToken] {
    all(in: Array(statementBytes(of: sql)))
  }

  /// Returns the bytes of the statement that SQLite reads from a schema entry, without the semicolon.
  package static func statementBytes(of sql: [UInt8]) -> ArraySlice<UInt8> {
    let text = sql.prefix { $0 != 0 }
    guard text.contains(UInt8(ascii: ";")) else { return text }
    let tokens = all(in: Array(text))
    guard !tokens.prefix(3).contains(where: { $0.isKeyword("TRIGGER") }),
      let end = tokens.first(where: { $0.isPunctuation(";") })
    else { return text }
    return text.prefix(end.range.lowerBound)
  }

  /// Splits the tokens between a pair of parentheses at commas. `tokens` must begin with the opening parenthesis;
  /// otherwise there are no parts. `rest`: the tokens after the closing parenthesis.
  package static func arguments(_ tokens: ArraySlice<SQLToken>) -> (
    parts: [[SQLToken]], rest: ArraySlice<SQLToken>
  ) {
    guard tokens.first?.isPunctuation("(") == true else { return ([], tokens) }
    var parts: [[SQLToken]] = [[]]
    var rest = tokens.dropFirst()
    var depth = 1
    while let token = rest.popFirst() {
      if token.isPunctuation("(") { depth += 1 }
      if token.isPunctuation(")") {
        depth -= 1
        if depth == 0 { break }
      }
      if depth == 1, token.isPunctuation(",") {
        parts.append([])
      } else {
        parts[parts.count - 1].append(token)
      }
    }
    return (parts, rest)
  }

  /// Returns the index after the end of the comment that begins at `start`; nil when no comment begins there.
  static func endOfComment(_ sql: [UInt8], _ start: Int) -> Int? {
    let next = start + 1 < sql.count ? sql[start + 1] : 0
    var index = start
    if sql[start] == UInt8(ascii: "-"), next == UInt8(ascii: "-") {
      while index < sql.count, sql[index] != 0x0a { index += 1 }
      return index
    }
    guard sql[start] == UInt8(ascii: "/"), next == UInt8(ascii: "*") else { return nil }
    index += 2
    while index < sql.count,
      !(sql[index] == UInt8(ascii: "/") && sql[index - 1] == UInt8(ascii: "*")
        && index > start + 2)
    {
      index += 1
    }
    return min(index + 1, sql.count)
  }

  /// Returns the index after the closing quote of a quoted token whose opening quote is at `start`, and the content of
  /// the token with doubled quotes reduced to one. If the quote is not closed, the token ends at the end of the text.
  static func quoted(_ sql: [UInt8], from start: Int) -> (
    end: Int, content: String, isClosed: Bool
  ) {
    let isBracket = sql[start] == UInt8(ascii: "[")
    let close = isBracket ? UInt8(ascii: "]") : sql[start]
    var content: [UInt8] = []
    var position = start + 1
    while position < sql.count {
      if sql[position] == close {
        guard !isBracket, position + 1 < sql.count, sql[position + 1] == close else {
          return (position + 1, String(decoding: content, as: UTF8.self), true)
        }
        position += 1
      }
      content.append(sql[position])
      position += 1
    }
    return (position, String(decoding: content, as: UTF8.self), false)
  }

  /// Splits a statement into tokens. Comments and white space are dropped. A literal that is not closed ends at the end
  /// of the text.
  package static func all(in sql: [UInt8]) -> [SQLToken] {
    var tokens: [SQLToken] = []
    var index = 0

    func text(_ range: Range<Int>) -> String { String(decoding: sql[range], as: UTF8.self) }

    while index < sql.count {
      if let end = endOfComment(sql, index) {
        index = end
        continue
      }
      let byte = sql[index]
      let next = index + 1 < sql.count ? sql[index + 1] : 0
      let start = index
      switch byte {
      case 0x09, 0x0a, 0x0c, 0x0d, 0x20, 0:
        // A vertical tab is white space only after other white space (tokenize.c, CC_SPACE).
        repeat { index += 1 } while index < sql.count && sql[index] == 0x0b
      case 0xef where sql[index...].starts(with: [0xef, 0xbb, 0xbf]):
        // A byte order mark is white space (CC_BOM).
        index += 3
      case UInt8(ascii: "'"):
        let piece = quoted(sql, from: index)
        index = piece.end
        tokens.append(SQLToken(kind: .string, text: piece.content, range: start..<index))
      case UInt8(ascii: "\""), UInt8(ascii: "`"), UInt8(ascii: "["):
        let piece = quoted(sql, from: index)
        index = piece.end
        tokens.append(SQLToken(kind: .quotedIdentifier, text: piece.content, range: start..<index))
      case UInt8(ascii: "x"), UInt8(ascii: "X"):
        if next == UInt8(ascii: "'") {
          let piece = quoted(sql, from: index + 1)
          index = piece.end
          tokens.append(SQLToken(kind: .blob, text: piece.content, range: start..<index))
        } else {
          fallthrough
        }
      default:
        if isWordStart(byte) {
          while index < sql.count, isWordPart(sql[index]) { index += 1 }
          tokens.append(SQLToken(kind: .word, text: text(start..<index), range: start..<index))
        } else if isDigit(byte) || (byte == UInt8(ascii: ".") && isDigit(next)) {
          while index < sql.count,
            isWordPart(sql[index]) || sql[index] == UInt8(ascii: ".")
              || ("+-".utf8.contains(sql[index]) && isExponent(sql[index - 1], start, sql))
          {
            index += 1
          }
          tokens.append(SQLToken(kind: .number, text: text(start..<index), range: start..<index))
        } else if let end = parameterEnd(sql, start) {
          index = end
          tokens.append(
            SQLToken(kind: .parameter, text: text(start..<index), range: start..<index))
        } else {
          index += 1
          tokens.append(
            SQLToken(kind: .punctuation, text: text(start..<index), range: start..<index))
        }
      }
    }
    return tokens
  }

  /// Returns the index after the end of a parameter that begins at `start`; nil when no parameter begins there
  /// (tokenize.c, CC_VARNUM, CC_DOLLAR, CC_VARALPHA).
  private static func parameterEnd(_ sql: [UInt8], _ start: Int) -> Int? {
    var index = start + 1
    switch sql[start] {
    case UInt8(ascii: "?"):
      while index < sql.count, isDigit(sql[index]) { index += 1 }
      return index
    case UInt8(ascii: "$"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "#"):
      while index < sql.count, isWordPart(sql[index]) { index += 1 }
      return index > start + 1 ? index : nil
    default: return nil
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

  /// Whether `byte` is the exponent mark `e` of a decimal number such as `1e-5`. A plus or minus follows `byte`.
  /// `start`: the index in `sql` at which the number begins.
  private static func isExponent(_ byte: UInt8, _ start: Int, _ sql: [UInt8]) -> Bool {
    guard byte | 0x20 == UInt8(ascii: "e") else { return false }
    let isHexadecimal =
      sql[start] == UInt8(ascii: "0") && start + 1 < sql.count
      && sql[start + 1] | 0x20 == UInt8(ascii: "x")
    return !isHexadecimal
  }

  private static func isWordStart(_ byte: UInt8) -> Bool {
    byte >= 0x80 || byte == UInt8(ascii: "_") || (byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7a)
  }

  private static func isWordPart(_ byte: UInt8) -> Bool {
    isWordStart(byte) || isDigit(byte) || byte == UInt8(ascii: "$")
  }
}
