/// Escapes text, scalar by scalar, for formats that give some characters a meaning.
package enum MarkupText {
  /// For element content and for attribute values in either kind of quotation marks, in HTML and XML.
  package static func html(_ text: String) -> String {
    replacing(text) { scalar in
      switch scalar {
      case "&": "&amp;"
      case "<": "&lt;"
      case ">": "&gt;"
      case "\"": "&quot;"
      case "'": "&#39;"
      default: nil
      }
    }
  }

  /// For a quoted string of the DOT language, where a backslash starts an escape.
  package static func dot(_ text: String) -> String {
    replacing(text) { $0 == "\"" || $0 == "\\" ? "\\" + String($0) : nil }
  }

  /// For labels and members in Mermaid: letters, digits and plain punctuation stay, everything else is written as a
  /// code point (`#60;`), which Mermaid shows as the character.
  package static func mermaid(_ text: String) -> String {
    replacing(text) { scalar in
      let isPlain =
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil
        || " _.,+/→−-".unicodeScalars.contains(scalar)
      return isPlain ? nil : "#\(scalar.value);"
    }
  }

  private static func replacing(
    _ text: String, by replacement: (Unicode.Scalar) -> String?
  ) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      if let other = replacement(scalar) {
        result += other
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
