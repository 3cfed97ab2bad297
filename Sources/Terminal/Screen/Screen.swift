import SafeText

/// What a terminal shows, as a value that can be compared and printed without a terminal.
///
/// Control characters in text are escaped when the text is put on the screen (`VisibleText.visible`), so that no text
/// from an examined file reaches the terminal as a control sequence.
package struct Screen: Sendable, Equatable {
  /// The tone of a cell, and whether the cell is reversed. Colour never carries information that the text does not
  /// have.
  package struct Look: Sendable, Hashable {
    /// The tone; nil for plain.
    package var tone: Style.Tone?
    package var isReversed = false

    package init(_ tone: Style.Tone? = nil, isReversed: Bool = false) {
      self.tone = tone
      self.isReversed = isReversed
    }

    package static let plain = Look()
    /// Bold, for titles and for what is most important.
    package static let bold = Look(.bold)
    /// Faint, for what is less important.
    package static let dim = Look(.dim)
    /// Text and background colours are exchanged, for the line that is chosen.
    package static let reversed = Look(isReversed: true)
  }

  private struct Cell: Sendable, Equatable {
    /// The character of the cell; empty in the second column of a wide character.
    var text = " "
    var look = Look.plain
  }

  /// A place on the screen; rows and columns count from 0.
  package struct Place: Sendable, Equatable {
    package var row: Int
    package var column: Int

    package init(row: Int, column: Int) {
      self.row = row
      self.column = column
    }
  }

  package let rows: Int
  package let columns: Int
  /// The place of the terminal's cursor, which screen readers and magnifiers follow; nil to hide the cursor.
  package var cursor: Place?
  private var cells: [Cell]

  /// The maximum numbers of rows and of columns of a screen. They limit the memory, because a terminal may report any
  /// size.
  private static let maxRows = 300
  private static let maxColumns = 500

  /// Makes an empty screen of this size. The screen has at least one cell, and at most 300 lines of 500 columns.
  package init(rows: Int, columns: Int) {
    self.rows = min(max(rows, 1), Self.maxRows)
    self.columns = min(max(columns, 1), Self.maxColumns)
    cells = Array(repeating: Cell(), count: self.rows * self.columns)
  }

  /// Puts text on a line. Text that does not fit into the allowed columns is cut, with `…` in the last of these
  /// columns.
  ///
  /// - Parameters:
  ///   - text: the text; characters that a terminal would obey are shown as escapes.
  ///   - row: the line, from 0; nothing is put on a line that does not exist.
  ///   - column: the first column, from 0.
  ///   - width: the maximum number of columns; nil for all columns up to the end of the line.
  ///   - look: the look of the text.
  /// - Returns: the column after the text.
  @discardableResult
  package mutating func put(
    _ text: String, _ row: Int, _ column: Int, width: Int? = nil, _ look: Look = .plain
  ) -> Int {
    guard row >= 0, row < rows, column >= 0, column < columns else { return column }
    let room = min(width ?? columns, columns - column)
    // A line of ordinary text has fewer than four scalars for each column.
    let visible = VisibleText.visible(text, limit: 4 * max(room, 0) + 16)
    var place = column
    for character in DisplayText.truncated(visible, to: room) {  // characters: each has its columns
      let count = DisplayWidth.columns(of: character)
      guard count > 0 else {
        // A character without a column of its own joins the character before it.
        if place > column { cells[row * columns + place - 1].text.append(character) }
        continue
      }
      guard place + count <= column + room else { break }
      set(row, place, Cell(text: String(character), look: look))
      for next in 1..<max(count, 1) { set(row, place + next, Cell(text: "", look: look)) }
      place += count
    }
    return place
  }

  private mutating func set(_ row: Int, _ column: Int, _ cell: Cell) {
    cells[row * columns + column] = cell
  }

  /// Gives all cells of a line the same look. The text of the line stays.
  package mutating func paint(_ row: Int, _ look: Look) {
    guard row >= 0, row < rows else { return }
    for column in 0..<columns { cells[row * columns + column].look = look }
  }

  /// The lines as plain text, without spaces at their ends.
  package var lines: [String] {
    (0..<rows).map { row in
      var line = (0..<columns).map { cells[row * columns + $0].text }.joined()
      while line.utf8.last == UInt8(ascii: " ") { line.removeLast() }
      return line
    }
  }

  // MARK: - Output

  /// Returns the text that makes a terminal show this screen. `old` is the screen that the terminal shows now; nil when
  /// it is not known. The text contains only the lines that differ from `old`. If `isColored` is false, cells may still
  /// be bold, faint or reversed.
  package func update(from old: Screen?, isColored: Bool) -> String {
    let known = old.flatMap { $0.rows == rows && $0.columns == columns ? $0 : nil }
    var text = "\u{1B}[?25l"
    if known == nil { text += "\u{1B}[0m\u{1B}[2J" }
    for row in 0..<rows {
      let line = cells[row * columns..<(row + 1) * columns]
      if let known, known.cells[row * columns..<(row + 1) * columns] == line { continue }
      text += "\u{1B}[\(row + 1);1H\u{1B}[0m"
      var look = Look.plain
      // Blank cells at the end of a line are erased by one sequence, instead of being sent as spaces.
      let end = line.lastIndex { $0 != Cell() }.map { $0 + 1 } ?? line.startIndex
      for cell in line[..<end] {
        if cell.look != look {
          look = cell.look
          text += Self.sequence(look, isColored)
        }
        text += cell.text
      }
      if look != .plain { text += "\u{1B}[0m" }
      if end < line.endIndex { text += "\u{1B}[K" }
    }
    if let cursor { text += "\u{1B}[\(cursor.row + 1);\(cursor.column + 1)H\u{1B}[?25h" }
    return text
  }

  /// Returns the control sequence that sets a look: SELECT GRAPHIC RENDITION (ECMA-48, 8.3.117).
  private static func sequence(_ look: Look, _ isColored: Bool) -> String {
    var codes = ["0"]
    if let tone = look.tone, isColored || tone == .bold || tone == .dim {
      codes.append(String(tone.rawValue))
    }
    if look.isReversed { codes.append("7") }
    return "\u{1B}[" + codes.joined(separator: ";") + "m"
  }
}
