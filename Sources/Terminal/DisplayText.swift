/// Text in the columns of a terminal.
package enum DisplayText {
  /// `text` cut to at most `columns` columns, with `…` in the last one if something was cut.
  package static func truncated(_ text: String, to columns: Int) -> String {
    guard columns > 0 else { return "" }
    var used = 0
    var result = ""
    // The text that fits together with the `…`.
    var fitting = ""
    for character in text {  // characters: each has its columns
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

  /// `text` as a line that ends with a line feed, broken at spaces to fit into a width.
  ///
  /// - Parameters:
  ///   - text: the text.
  ///   - width: the columns of the terminal.
  ///   - indent: the spaces before the first line.
  ///   - rest: the spaces before the lines after it.
  /// - Returns: the lines.
  package static func hanging(_ text: String, width: Int, indent: Int = 0, rest: Int) -> String {
    wrapped(text, to: max(20, width - rest)).enumerated().map { place, line in
      String(repeating: " ", count: place == 0 ? indent : rest) + line + "\n"
    }.joined()
  }

  /// `text` broken at spaces into lines of at most `columns` columns; a longer word is cut.
  package static func wrapped(_ text: String, to columns: Int) -> [String] {
    let columns = max(columns, 1)
    var lines: [String] = []
    var line = ""
    var used = 0
    // Split by bytes: a space that a combining mark follows is still a space.
    for part in text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false) {
      let word = Substring(part)
      let width = DisplayWidth.columns(of: word)
      if used + 1 + width <= columns, !(line.isEmpty && lines.isEmpty && used == 0) {
        line += " " + word
        used += 1 + width
        continue
      }
      if used > 0 { lines.append(line) }
      line = ""
      used = 0
      for character in word {  // characters: each has its columns
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
}
