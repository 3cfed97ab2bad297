/// Cuts, pads and wraps text. Lengths are measured in the columns that the text takes on a terminal.
package enum DisplayText {
  /// Returns `text` cut to at most `columns` columns. The last column holds `…` if something was cut; with 0 columns
  /// the result is empty.
  package static func truncated(_ text: String, to columns: Int) -> String {
    guard columns > 0 else { return "" }
    var used = 0
    var result = ""
    // The longest prefix of `text` that leaves a column free for the `…`.
    var fitting = ""
    for character in text {  // characters: each has its columns
      used += DisplayWidth.columns(of: character)
      if used > columns { return fitting + "…" }
      result.append(character)
      if used < columns { fitting = result }
    }
    return result
  }

  /// Returns `text` padded with spaces to `columns` columns. The spaces follow the text, or precede it if `leading` is
  /// true. Longer text stays as it is.
  static func padded(_ text: String, to columns: Int, leading: Bool = false) -> String {
    let missing = columns - DisplayWidth.columns(of: text)
    guard missing > 0 else { return text }
    let space = String(repeating: " ", count: missing)
    return leading ? space + text : text + space
  }

  /// Breaks `text` at spaces into lines, and ends each line with a line feed. The first line is indented by `indent`
  /// spaces, all further lines by `rest` spaces. Lines have room for at least 20 columns of text, even if the terminal
  /// is narrower.
  package static func hanging(_ text: String, width: Int, indent: Int = 0, rest: Int) -> String {
    wrapped(text, to: max(20, width - rest)).enumerated().map { place, line in
      String(repeating: " ", count: place == 0 ? indent : rest) + line + "\n"
    }.joined()
  }

  /// Returns `text` as lines of at most `columns` columns, broken at spaces and without line feeds. No line ends with a
  /// space. A word that is longer than a line is broken as well, unless it contains a slash. It may then be a path that
  /// the user wants to copy, and gets a longer line. Empty text gives one empty line.
  package static func wrapped(_ text: String, to columns: Int) -> [String] {
    let columns = max(columns, 1)
    var lines: [String] = []
    var line = ""
    var used = 0
    // Splits by bytes, because a space that a combining mark follows must count as a space too.
    for part in text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false) {
      let word = Substring(part)
      let width = DisplayWidth.columns(of: word)
      if used + 1 + width <= columns, !(line.isEmpty && lines.isEmpty && used == 0) {
        line += " " + word
        used += 1 + width
        continue
      }
      if used > 0 { lines.append(withoutTrailingSpaces(line)) }
      line = ""
      used = 0
      if width > columns, word.utf8.contains(UInt8(ascii: "/")) {
        line = String(word)
        used = width
        continue
      }
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
    let last = withoutTrailingSpaces(line)
    if !last.isEmpty || lines.isEmpty { lines.append(last) }
    return lines
  }

  private static func withoutTrailingSpaces(_ line: String) -> String {
    let bytes = line.utf8
    guard let last = bytes.lastIndex(where: { $0 != UInt8(ascii: " ") }) else { return "" }
    return String(Substring(bytes[...last]))
  }
}
