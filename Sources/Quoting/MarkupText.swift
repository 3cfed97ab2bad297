/// Escapes text for HTML and XML, for DOT, and for Mermaid, one Unicode scalar at a time.
package enum MarkupText {
  /// Escapes text for element content, and for attribute values in either kind of quotation marks, in HTML and XML.
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

  /// Escapes text for a quoted string of the DOT language, where a backslash starts an escape.
  package static func dot(_ text: String) -> String {
    replacing(text) { $0 == "\"" || $0 == "\\" ? "\\" + String($0) : nil }
  }

  /// Escapes text for labels and members in Mermaid. Letters, digits and plain punctuation stay. Each other character
  /// becomes a code such as `#60;`, which Mermaid shows as the character.
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
