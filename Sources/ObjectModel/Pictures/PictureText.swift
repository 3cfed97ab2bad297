/// Text from a model, made fit for a picture: what would be obeyed, hidden or reordered by is made
/// visible, and what the format gives a meaning to is escaped.
enum PictureText {
  /// Text with control characters, bidirectional controls and other invisible code points as
  /// `\u{202E}`, cut after a number of characters.
  static func visible(_ text: String, limit: Int = 300) -> String {
    var result = ""
    for (index, scalar) in text.unicodeScalars.enumerated() {
      guard index < limit else { return result + "…" }
      if isHidden(scalar) {
        result += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate,
      .unassigned:
      // The joiner of emoji and of several scripts stays.
      return scalar.value != 0x200D
    default: return false
    }
  }

  /// For element content and for attribute values in either kind of quotation marks.
  static func html(_ text: String, limit: Int = 300) -> String {
    var result = ""
    for character in visible(text, limit: limit) {
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      default: result.append(character)
      }
    }
    return result
  }

  /// For a quoted string of the DOT language, where a backslash starts an escape.
  static func dot(_ text: String) -> String {
    var result = ""
    for character in visible(text) {
      if character == "\"" || character == "\\" { result += "\\" }
      result.append(character)
    }
    return result
  }

  /// For labels and members in Mermaid: letters, digits and plain punctuation stay, all else is
  /// written as a code point (`#60;`), which Mermaid turns back where it shows text.
  static func mermaid(_ text: String) -> String {
    var result = ""
    for scalar in visible(text).unicodeScalars {
      let isPlain =
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil
        || " _.,+/→−-".unicodeScalars.contains(scalar)
      if isPlain {
        result.unicodeScalars.append(scalar)
      } else {
        result += "#\(scalar.value);"
      }
    }
    return result
  }

  /// Text in its words, broken where a line would be longer than a number of characters.
  static func clipped(_ text: String, to count: Int) -> String {
    let shown = visible(text)
    return shown.count <= count ? shown : String(shown.prefix(max(1, count - 1))) + "…"
  }
}
