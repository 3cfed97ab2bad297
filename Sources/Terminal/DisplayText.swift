/// Text from evidence or a command line, as a terminal can show it without being steered by it.
public enum DisplayText {
  /// A character of more scalars than this is shown with the rest escaped: a stack of a thousand accents is
  /// one character and would cover its neighbours.
  static let maxScalarsPerCharacter = 16

  /// `text` with everything made visible that a terminal would obey, hide or reorder by: control characters,
  /// bidirectional controls, zero-width and other ignorable characters, line separators, tags and code points
  /// that Unicode does not assign. They appear as `\n`, `\r`, `\t` or `\u{202E}`. Joiners and variation
  /// selectors stay, since emoji and several scripts need them. The result is for reading, not for parsing.
  public static func visible(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
    var result = ""
    for character in text {
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

  /// `text` cut to at most `columns` columns, with `…` as the last one where something was cut.
  public static func truncated(_ text: String, to columns: Int) -> String {
    guard columns > 0 else { return "" }
    var used = 0
    var result = ""
    // What fits together with the mark.
    var fitting = ""
    for character in text {
      used += DisplayWidth.columns(of: character)
      if used > columns { return fitting + "…" }
      result.append(character)
      if used < columns { fitting = result }
    }
    return result
  }

  /// `text` followed or preceded by spaces up to `columns` columns; longer text stays as it is.
  static func padded(_ text: String, to columns: Int, leading: Bool = false) -> String {
    let missing = columns - DisplayWidth.columns(of: text)
    guard missing > 0 else { return text }
    let space = String(repeating: " ", count: missing)
    return leading ? space + text : text + space
  }

  /// `text` broken at spaces into lines of at most `columns` columns; a longer word is cut.
  public static func wrapped(_ text: String, to columns: Int) -> [String] {
    let columns = max(columns, 1)
    var lines: [String] = []
    var line = ""
    var used = 0
    for word in text.split(separator: " ", omittingEmptySubsequences: false) {
      let width = DisplayWidth.columns(of: word)
      if used + 1 + width <= columns, !(line.isEmpty && lines.isEmpty && used == 0) {
        line += " " + word
        used += 1 + width
        continue
      }
      if used > 0 { lines.append(line) }
      line = ""
      used = 0
      for character in word {
        let width = DisplayWidth.columns(of: character)
        if used + width > columns, used > 0 {
          lines.append(line)
          line = ""
          used = 0
        }
        line.append(character)
        used += width
      }
    }
    if used > 0 || lines.isEmpty { lines.append(line) }
    return lines
  }

  private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
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
