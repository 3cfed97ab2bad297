/// Makes untrusted text safe to print, for example text from a damaged file: a reader sees every character, and a
/// terminal obeys none of them.
package enum VisibleText {
  /// The maximum number of scalars of one character that are shown as they are. Further scalars of the character are
  /// escaped, because a character with a thousand accents would cover the text around it.
  package static let maxScalarsPerCharacter = 16

  /// Returns `text` with an escape such as `\n`, `\t` or `\u{202E}` in place of each scalar that a terminal or browser
  /// would execute or hide, and of each scalar that reorders text. These are control characters, bidirectional
  /// controls, zero-width and other ignorable characters, line separators, tags and code points that Unicode does not
  /// assign. Joiners and variation selectors stay, because emoji and several scripts need them. The result is not meant
  /// to be parsed.
  package static func visible(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
    var result = ""
    for character in text {  // characters: scalars are limited per character
      for (index, scalar) in character.unicodeScalars.enumerated() {
        if index < maxScalarsPerCharacter, !isHidden(scalar) {
          result.unicodeScalars.append(scalar)
        } else {
          result += escape(scalar)
        }
      }
    }
    return result
  }

  /// Returns the first `limit` Unicode scalars of `text`, made safe by ``visible(_:)``. If `text` is longer, `…`
  /// follows.
  package static func visible(_ text: String, limit: Int) -> String {
    let cut = text.unicodeScalars.prefix(limit)
    let isWhole = cut.endIndex == text.unicodeScalars.endIndex
    return visible(String(cut)) + (isWhole ? "" : "…")
  }

  package static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x20...0x7E: return false
    // Zero-width non-joiner and joiner, combining grapheme joiner, variation selectors, old Hangul fillers.
    case 0x200C, 0x200D, 0x034F, 0xFE00...0xFE0F, 0xE0100...0xE01EF, 0x115F, 0x1160: return false
    // Format characters that are drawn: Arabic, Syriac and Kaithi number and verse signs.
    case 0x0600...0x0605, 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD: return false
    default: break
    }
    let properties = scalar.properties
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned:
      return true
    default: return properties.isDefaultIgnorableCodePoint
    }
  }

  private static func escape(_ scalar: Unicode.Scalar) -> String {
    switch scalar {
    case "\n": "\\n"
    case "\r": "\\r"
    case "\t": "\\t"
    default: "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
    }
  }
}
