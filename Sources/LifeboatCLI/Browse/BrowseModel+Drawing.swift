import SafeText
import Terminal

extension BrowseModel {
  /// The minimum height, in lines, that the terminal window must have for the browser to be drawn.
  static let leastRows = 6
  /// The minimum width, in columns, that the terminal window must have for the browser to be drawn.
  static let leastColumns = 30
  /// The prefix of the chosen line, so that the line is recognizable without colours.
  private static let chosen = "> "
  private static let maxLabelWidth = 28
  private static let maxItemLines = 3
  private static let maxColumnWidth = 32

  func screen() -> Screen {
    var screen = Screen(rows: rows, columns: columns)
    guard rows >= Self.leastRows, columns >= Self.leastColumns else {
      screen.put("window too small; q quits", 0, 0)
      return screen
    }
    drawTitle(&screen)
    switch view {
    case .list(let list): draw(list, &screen)
    case .rows(let rows): draw(rows, &screen)
    case .text(let text): draw(text, &screen)
    }
    drawFoot(&screen)
    return screen
  }

  // MARK: - Frame

  private func drawTitle(_ screen: inout Screen) {
    let title: String
    switch view {
    case .list(let list): title = list.title
    case .rows(let rows): title = rows.title
    case .text(let text): title = text.text.title + (text.showsBytes ? " (bytes)" : "")
    }
    let path = VisibleText.visible(name)
    let depth = views.count > 1 ? " < Esc" : ""
    let end = screen.put(title, 0, 0, width: max(columns - depth.utf8.count - 2, 10), .bold)
    let tail = path + depth
    let width = DisplayWidth.columns(of: tail)
    if end + width + 2 <= columns { screen.put(tail, 0, columns - width, .dim) }
  }

  private func drawFoot(_ screen: inout Screen) {
    let line = rows - 2
    if let prompt {
      let end = screen.put(prompt.label + prompt.text, line, 0, .bold)
      screen.cursor = .init(row: line, column: min(end, columns - 1))
      screen.put("Enter accepts, Esc cancels, Ctrl-U clears the line", rows - 1, 0, .reversed)
      screen.paint(rows - 1, .reversed)
      return
    }
    let place = placeText
    let width = DisplayWidth.columns(of: place)
    screen.put(statusText, line, 0, width: max(columns - width - 2, 10), statusLook)
    if width < columns { screen.put(place, line, columns - width, .dim) }
    screen.put(keysText, rows - 1, 0)
    screen.paint(rows - 1, .reversed)
  }

  /// The text of the status line at the foot of the screen: the message, else the work in progress, else the view's
  /// note.
  var statusText: String {
    if let message { return message }
    if !working.isEmpty { return working + (isStoppable ? " (Esc stops)" : "") }
    switch view {
    case .list(let list): return list.isLoaded ? list.note ?? "" : "reading"
    case .rows(let rows):
      guard let window = rows.window else { return "reading" }
      if let note = window.note { return note }
      if window.work != nil { return "" }
      return window.count == 0 ? "no rows" : ""
    case .text(let text): return text.isLoaded ? text.text.note ?? "" : "reading"
    }
  }

  private var statusLook: Screen.Look { message == nil ? .dim : .bold }

  /// The position of the cursor in words, for example "row 3 of 120"; empty when the view has nothing to count.
  private var placeText: String {
    switch view {
    case .list(let list):
      guard !list.items.isEmpty else { return "" }
      return "\(Quantity.count(list.cursor + 1)) of \(Quantity.count(list.items.count))"
    case .rows(let rows):
      guard let window = rows.window, window.count > 0 else { return "" }
      return "row \(Quantity.count(rows.cursor + 1)) of \(Quantity.count(window.count))"
        + (window.work == nil ? "" : " or more")
    case .text(let text):
      guard text.lineCount > height else { return "" }
      let end = min(text.top + height, text.lineCount)
      return "line \(Quantity.count(end)) of \(Quantity.count(text.lineCount))"
    }
  }

  /// The last line of the screen, which lists the most useful keys of the present view.
  var keysText: String {
    var keys: [String]
    switch view {
    case .list(let list):
      switch list.kind {
      case .contents: keys = ["Enter:rows", "/:search", "F:findings", "P:pages"]
      case .row: keys = ["Enter:follow or read", "Esc:back", "/:search"]
      default: keys = ["Enter:open", "Esc:back", "/:search"]
      }
    case .rows(let rows):
      keys = ["Enter:row", "Esc:back", "/:search", "f:filter", "s:sort", "S:sections"]
      keys.append(rows.query.isPast ? "d:live" : "d:deleted")
    case .text(let text):
      keys = ["Esc:back", "Space:on", "/:search"]
      if text.text.bytes != nil { keys.append(text.showsBytes ? "x:decoded" : "x:hex") }
    }
    keys += ["?:keys", "q:quit"]
    let wide = keys.joined(separator: "  ")
    return wide.utf8.count <= columns ? wide : keys.joined(separator: " ")
  }

  // MARK: - Lists

  /// Whether an item of the list may take several lines. True for the properties of a row, and for findings.
  private func isWrapped(_ list: ListView) -> Bool {
    switch list.kind {
    case .row, .findings: true
    default: false
    }
  }

  /// The width that the labels of the list take, in columns of the terminal.
  private func labelWidth(_ list: ListView) -> Int {
    // Only the first 500 items are measured, because a list may have a hundred thousand items.
    let widest = list.items.prefix(500).map {
      DisplayWidth.columns(of: VisibleText.visible($0.label, limit: 80))
    }.max()
    return min(widest ?? 0, Self.maxLabelWidth)
  }

  /// Returns the text of the item at index `place`, wrapped into lines. Lines beyond the limit for an item of this list
  /// are cut off.
  func itemLines(_ list: ListView, _ place: Int) -> [String] {
    guard place < list.items.count else { return [] }
    let width = max(columns - labelWidth(list) - 4, 10)
    let limit = isWrapped(list) ? Self.maxItemLines : 1
    let text = VisibleText.visible(list.items[place].text, limit: width * (limit + 1))
    guard limit > 1 else { return [text] }
    var lines = DisplayText.wrapped(text, to: width)
    if lines.count > limit {
      lines = Array(lines.prefix(limit))
      lines[limit - 1] = DisplayText.truncated(lines[limit - 1] + "…", to: width)
      if DisplayWidth.columns(of: lines[limit - 1]) >= width {
        lines[limit - 1] = DisplayText.truncated(lines[limit - 1], to: width - 1) + "…"
      }
    }
    return lines
  }

  private func draw(_ list: ListView, _ screen: inout Screen) {
    let labels = labelWidth(list)
    var row = 1
    var place = list.top
    while row <= height, place < list.items.count {
      let item = list.items[place]
      let isChosen = place == list.cursor
      let look = isChosen ? Screen.Look.reversed : Screen.Look(item.tone)
      for (number, line) in itemLines(list, place).enumerated() where row <= height {
        if number == 0 {
          if isChosen {
            screen.put(Self.chosen, row, 0, look)
            screen.cursor = .init(row: row, column: 0)
          }
          screen.put(item.label, row, 2, width: labels, isChosen ? look : .bold)
        }
        screen.put(line, row, labels + 4, look)
        if isChosen { screen.paint(row, look) }
        row += 1
      }
      place += 1
    }
    if list.isLoaded, list.items.isEmpty { screen.put("nothing", 1, 2, .dim) }
  }

  // MARK: - Rows

  /// A column of the table of rows: its title, its width, and the text of its cell in each row.
  private struct Column {
    var title: String
    var width: Int
    var isNumeric: Bool
    /// Whether the column shows a property of the entity. False for other columns, for example the column of primary
    /// keys.
    var isProperty = false
    var cell: (ShownRow) -> String
  }

  private func shownColumns(_ view: RowsView, _ rows: [ShownRow]) -> [Column] {
    guard let window = view.window else { return [] }
    var all = [Column(title: "key", width: 0, isNumeric: true) { $0.key }]
    if view.query.isPast || rows.contains(where: { $0.mark != .live }) {
      all.append(Column(title: "state", width: 0, isNumeric: false) { $0.mark.rawValue })
    }
    if Set(rows.compactMap(\.entity)).count > 1 {
      all.append(Column(title: "entity", width: 0, isNumeric: false) { $0.entity ?? "" })
    }
    for (place, name) in window.columns.enumerated() where place >= view.firstColumn {
      all.append(
        Column(
          title: name, width: 0, isNumeric: window.numeric.contains(place), isProperty: true
        ) {
          place < $0.cells.count ? $0.cells[place] : ""
        })
    }
    var used = 2
    var shown: [Column] = []
    for (place, var column) in all.enumerated() where used < columns {
      let limit = Self.maxColumnWidth
      let widest = rows.reduce(DisplayWidth.columns(of: VisibleText.visible(column.title))) {
        max(
          $0, DisplayWidth.columns(of: VisibleText.visible(column.cell($1), limit: 2 * limit)))
      }
      let isLast = place == all.count - 1
      column.width = min(
        isLast ? max(min(widest, columns - used), 1) : min(widest, limit), columns - used)
      // A column whose cells would be cut to fewer than four characters is left out.
      guard column.width >= min(widest, 4) else { break }
      used += column.width + 2
      shown.append(column)
    }
    return shown
  }

  private func draw(_ view: RowsView, _ screen: inout Screen) {
    let places = view.top..<min(view.top + view.height, max(view.count, view.top))
    let shown = places.compactMap { view.row($0) }
    let columns = shownColumns(view, shown)
    var column = 2
    for item in columns {
      putCell(item.title, item, 1, column, .bold, &screen)
      column += item.width + 2
    }
    let more = (view.window?.columns.count ?? 0) - view.firstColumn
    let missing = more - columns.count { $0.isProperty }
    if missing > 0 || view.firstColumn > 0 {
      let hint = (view.firstColumn > 0 ? "<" : "") + (missing > 0 ? ">" : "")
      screen.put(hint, 1, self.columns - hint.utf8.count, .bold)
    }
    var line = 2
    for (number, place) in places.enumerated() {
      guard let row = view.row(place), line <= height else { continue }
      if let section = row.section, row.beginsSection || number == 0 {
        screen.put("-- " + section, line, 0, .bold)
        line += 1
        guard line <= height else { break }
      }
      let isChosen = place == view.cursor
      let look =
        isChosen ? Screen.Look.reversed : Screen.Look(row.mark == .live ? nil : .yellow)
      if isChosen {
        screen.put(Self.chosen, line, 0, look)
        screen.cursor = .init(row: line, column: 0)
      }
      column = 2
      for item in columns {
        putCell(item.cell(row), item, line, column, look, &screen)
        column += item.width + 2
      }
      if isChosen { screen.paint(line, look) }
      line += 1
    }
  }

  private func putCell(
    _ text: String, _ column: Column, _ row: Int, _ place: Int, _ look: Screen.Look,
    _ screen: inout Screen
  ) {
    let visible = VisibleText.visible(text, limit: 4 * column.width + 16)
    let missing = column.isNumeric ? column.width - DisplayWidth.columns(of: visible) : 0
    screen.put(visible, row, place + max(missing, 0), width: column.width - max(missing, 0), look)
  }

  // MARK: - Text

  private func draw(_ view: TextView, _ screen: inout Screen) {
    for line in 0..<height {
      let place = view.top + line
      guard place < view.lineCount else { break }
      screen.put(view.line(place), line + 1, 0)
    }
    screen.cursor = .init(row: 1, column: 0)
  }
}

/// The text that the key `?` shows.
enum BrowseHelp {
  static let lines = [
    "Up, Down, k, j      the line before, the next line",
    "PageUp, PageDown    the screen before, the next screen; also b and Space",
    "Home, End, g, G     the first line, the last line",
    "Left, Right, h, l   columns to the left, to the right (in rows)",
    "                    in lists and texts, Left and h go back",
    "Enter               open a row, follow a relationship, read a value",
    "Esc, Backspace      go back; or stop work, if the screen says \"Esc stops\"",
    "",
    "/                   search texts, numbers, dates; upper and lower case alike",
    "n, N                the next place with that text, the place before",
    "f                   filter: show only rows that contain a text",
    ":                   go to the row with the key that you type",
    "s                   sort by a property, or by one of a related row",
    "S                   sections by a property",
    "], [                the next section, the section before",
    "u                   the table's own order, without sections",
    "d                   show deleted rows and older versions; again: live rows",
    "x                   show a blob as bytes; again: its decoded content",
    "",
    "F                   findings: what is wrong with the file",
    "P                   pages: what each page is for",
    "Ctrl-Z              suspend the program; the command fg continues",
    "q, Ctrl-C           quit",
    "",
    "A row that is not live is marked \"deleted\", \"older\" (the store has a newer",
    "version), \"uncommitted\", \"stale\", \"before\" or \"doubtful\".",
    "A search looks at the first 64 KiB of each value.",
  ]
}
