import SafeText

/// Quotes words for a POSIX shell, in commands that a person copies from the screen.
package enum ShellText {
  /// Quotes `text` as one word of a shell. Quotes in `text` are found by bytes, because a `'` ends a quotation even if
  /// a combining mark follows. If a terminal cannot show the text unchanged, the word has the form `$'…'` with escaped
  /// bytes, so that the user sees what is run.
  package static func quoted(_ text: String) -> String {
    if text.utf8.isEmpty { return "''" }
    if text.utf8.allSatisfy(isPlain) { return text }
    let word = single(text)
    if isShownAsItIs(word) { return word }
    let escaped = escaped(text) { VisibleText.isHidden($0) }
    // Escaping hidden scalars is not enough for a long stack of combining marks. In that case all scalars outside ASCII
    // are escaped.
    return isShownAsItIs(escaped) ? escaped : Self.escaped(text) { !$0.isASCII }
  }

  private static func isShownAsItIs(_ word: String) -> Bool {
    PathText.isSame(VisibleText.visible(word), word)
  }

  /// Quotes a path as one word that no command takes for an option: `-x` becomes `./-x`.
  package static func path(_ path: String) -> String {
    quoted(path.utf8.first == UInt8(ascii: "-") ? "./" + path : path)
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "/.-_+:@%,".utf8.contains(byte)
    }
  }

  private static func single(_ text: String) -> String {
    var result = "'"
    for scalar in text.unicodeScalars {
      if scalar == "'" { result += "'\\''" } else { result.unicodeScalars.append(scalar) }
    }
    return result + "'"
  }

  /// Quotes `text` in the form `$'…'` (POSIX.1-2024, 2.2.4), which bash, zsh and ksh have long supported. Escaped bytes
  /// have three octal digits, because `\x` would take hexadecimal digits that follow as part of the escape.
  private static func escaped(
    _ text: String, _ isEscaped: (Unicode.Scalar) -> Bool
  ) -> String {
    var result = "$'"
    for scalar in text.unicodeScalars {
      switch scalar {
      case "'", "\\": result += "\\" + String(scalar)
      case "\n": result += "\\n"
      case "\t": result += "\\t"
      case "\r": result += "\\r"
      case _ where isEscaped(scalar) || VisibleText.isHidden(scalar):
        for byte in String(scalar).utf8 {
          let digits = String(byte, radix: 8)
          result += "\\" + String(repeating: "0", count: 3 - digits.utf8.count) + digits
        }
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "'"
  }
}
