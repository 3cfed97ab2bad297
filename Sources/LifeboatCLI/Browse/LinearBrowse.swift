import SafeText
import Terminal

/// Runs the model and the source of the browser on one thread. Each key is handled together with all answers to its
/// requests, before the next key is handled.
final class InlineBrowse {
  var model: BrowseModel
  private var source: BrowseSource?
  private var inbox: [BrowseAnswer] = []
  private var waiting: [BackgroundReading] = []

  /// Opens a store.
  ///
  /// - Throws: `SQLiteFileError` when the file is not a database.
  init(_ place: BackgroundReading.Place, name: String) throws {
    model = BrowseModel(name: name)
    source = try BrowseSource(
      place, name: name, giveOut: { [unowned self] in waiting.append($0) },
      emit: { [unowned self] in inbox.append($0) })
  }

  /// Answers all requests of the model, and does all work that the requests start.
  ///
  /// - Parameter working: called with the progress of long work, for example "counting, 12%".
  func settle(_ working: (String) -> Void = { _ in }) {
    guard let source else { return }
    while true {
      let requests = model.takeRequests()
      for request in requests { source.handle(request) }
      if let reading = waiting.first {
        waiting.removeFirst()
        reading.run {
          false
        } emit: { [self] answer in
          if case .past = answer { source.take(answer) } else { inbox.append(answer) }
        }
      } else if requests.isEmpty, inbox.isEmpty {
        guard source.hasWork else { return }
        source.step()
      }
      let answers = inbox
      inbox = []
      for answer in answers {
        if case .working(let text, _) = answer, !text.isEmpty { working(text) }
        model.take(answer)
      }
    }
  }

  func press(_ keys: Key...) {
    for key in keys {
      model.press(key)
      settle()
    }
  }
}

/// The browser for screen readers: prints each view as plain lines, and then prompts for a command. The terminal's
/// cursor never moves back, so that a screen reader reads each line once and in order.
struct LinearBrowse {
  private let browse: InlineBrowse
  private static let pageLines = 20
  /// The maximum length of a line that shows a list item or a row, in Unicode scalars. Lines of a text are not cut.
  private static let maxLine = 1_000

  init(_ place: BackgroundReading.Place, name: String) throws {
    browse = try InlineBrowse(place, name: name)
    // The width is large, because a screen reader needs no lines that are cut to fit a window.
    browse.model.resize(rows: Self.pageLines + BrowseModel.frame + 1, columns: 400)
  }

  /// Runs until the user quits or the input ends.
  func run() throws {
    let output = StandardStream(descriptor: 1)
    func say(_ line: String) throws { try output.writeLine(VisibleText.visible(line)) }
    var said = ""
    func settle() {
      browse.settle { text in
        // Each kind of work is announced once, not for every percent.
        let kind = String(Substring(text.utf8.prefix { $0 != UInt8(ascii: ",") }))
        guard kind != said else { return }
        said = kind
        try? say(kind + "…")
      }
    }
    settle()
    var shown: [String] = []
    while true {
      // If the lines of the view have not changed, they are not printed again.
      let lines = lines()
      if lines != shown { for line in lines { try say(line) } }
      shown = lines
      try output.write("command (? for all): ")
      try output.flush()
      guard let line = readLine() else { return try say("") }
      said = ""
      guard try obey(line, say) else { return }
      settle()
      if line.utf8.first == UInt8(ascii: "/") { beginWithCursor() }
      if let message = browse.model.message { try say(message) }
      browse.model.message = nil
    }
  }

  /// Scrolls so that the page begins with the line at the cursor, which a search has found.
  private func beginWithCursor() {
    switch browse.model.view {
    case .list(var list):
      list.top = list.cursor
      browse.model.view = .list(list)
    case .rows(var rows):
      rows.top = rows.cursor
      browse.model.view = .rows(rows)
    case .text: break
    }
    browse.model.settle()
    browse.settle()
  }

  // MARK: - Views

  private func lines() -> [String] {
    let model = browse.model
    switch model.view {
    case .list(let list):
      var lines = ["", list.title]
      if let note = list.note { lines.append(note) }
      let page = list.top..<min(list.top + Self.pageLines, list.items.count)
      for place in page {
        let item = list.items[place]
        let text = item.text.isEmpty ? "" : ": " + item.text
        lines.append(
          "\(place + 1). " + VisibleText.visible(item.label + text, limit: Self.maxLine))
      }
      lines.append(place(page, list.items.count, "lines"))
      return lines
    case .rows(let rows):
      var lines = ["", rows.title]
      guard let window = rows.window else { return lines + ["no rows"] }
      if let note = window.note { lines.append(note) }
      let page = rows.top..<min(rows.top + Self.pageLines, window.count)
      for place in page {
        guard let row = rows.row(place) else { continue }
        if let section = row.section, row.beginsSection || place == page.lowerBound {
          lines.append("section \(section)")
        }
        var parts = ["key \(row.key)"]
        if let entity = row.entity, !PathText.isSame(entity, rows.query.subject.name) {
          parts.append("entity \(entity)")
        }
        if row.mark != .live { parts.append("state \(row.mark.rawValue)") }
        for (name, cell) in zip(window.columns, row.cells) where !cell.isEmpty {
          parts.append("\(name): \(VisibleText.visible(cell, limit: 100))")
        }
        lines.append(
          "\(place + 1). " + VisibleText.visible(parts.joined(separator: "; "), limit: Self.maxLine)
        )
      }
      lines.append(place(page, window.count, "rows"))
      return lines
    case .text(let text):
      let page = text.top..<min(text.top + Self.pageLines, text.lineCount)
      var lines = ["", text.text.title]
      if let note = text.text.note { lines.append(note) }
      lines += page.map { text.line($0) }
      if text.lineCount > Self.pageLines { lines.append(place(page, text.lineCount, "lines")) }
      return lines
    }
  }

  private func place(_ page: Range<Int>, _ count: Int, _ noun: String) -> String {
    page.isEmpty
      ? "no \(noun)"
      : "\(noun) \(Quantity.count(page.lowerBound + 1)) to \(Quantity.count(page.upperBound)) "
        + "of \(Quantity.count(count))"
  }

  // MARK: - Commands

  private static let help = [
    "NUMBER    open the line or row with this number",
    "n, p      the next page, the page before",
    "b         back",
    "/TEXT     search for a text; / alone: the next place with the text",
    "f TEXT    show only rows that contain TEXT; f alone: all rows",
    "g KEY     go to the row with the key KEY",
    "s, S      sort by a property, make sections by a property: opens a list",
    "u         the table's own order, without sections",
    "d         show deleted rows and older versions; again: live rows",
    "x         show a blob as bytes; again: its decoded content",
    "F, P      findings, pages",
    "q         quit",
  ]

  /// Executes the command in a line that the user has typed. Returns false for the command to quit.
  private func obey(_ line: String, _ say: (String) throws -> Void) throws -> Bool {
    let bytes = line.utf8.drop { $0 == UInt8(ascii: " ") }
    let word = String(Substring(bytes.prefix { $0 != UInt8(ascii: " ") }))
    let rest = String(
      Substring(bytes.dropFirst(word.utf8.count).drop { $0 == UInt8(ascii: " ") }))
    if bytes.first == UInt8(ascii: "/") {
      let text = String(Substring(bytes.dropFirst()))
      if text.isEmpty { browse.model.press(.text("n")) } else { type("/", text) }
      return true
    }
    if let number = Int(word) {
      open(number)
      return true
    }
    switch word {
    case "q", "quit": return false
    case "", "n": move(by: Self.pageLines)
    case "p": move(by: -Self.pageLines)
    case "b": browse.model.press(.escape)
    case "?", "help": for line in Self.help { try say(line) }
    case "f": type("f", rest)
    case "g": type(":", rest)
    case "s", "S", "u", "d", "x", "F", "P": browse.model.press(.text(word))
    default: browse.model.message = "\(word) is not a command; ? shows all commands"
    }
    return true
  }

  /// Presses a key that opens a prompt, replaces the text of the prompt by `text`, and presses Enter.
  private func type(_ key: String, _ text: String) {
    browse.model.press(.text(key))
    guard browse.model.prompt != nil else { return }
    browse.model.press(.control("u"))
    for scalar in text.unicodeScalars { browse.model.press(.text(String(scalar))) }
    browse.model.press(.enter)
  }

  private func open(_ number: Int) {
    // No line has a number below 1.
    let place = max(number, 0) - 1
    switch browse.model.view {
    case .list(var list):
      guard list.items.indices.contains(place) else {
        return browse.model.message = "there is no line \(number)"
      }
      list.cursor = place
      browse.model.view = .list(list)
      browse.model.press(.enter)
    case .rows(let rows):
      guard let row = rows.row(place) else {
        return browse.model.message = "row \(number) is not on this page; n and p turn pages"
      }
      browse.model.perform(.row(row.reference))
    case .text: browse.model.message = "there is nothing to open in a text"
    }
  }

  private func move(by lines: Int) {
    switch browse.model.view {
    case .list(var list):
      list.top = Self.moved(list.top, lines, list.items.count)
      list.cursor = list.top
      browse.model.view = .list(list)
    case .rows(var rows):
      rows.top = Self.moved(rows.top, lines, rows.count)
      rows.cursor = rows.top
      browse.model.view = .rows(rows)
    case .text(var text):
      text.top = Self.moved(text.top, lines, text.lineCount)
      browse.model.view = .text(text)
    }
    browse.model.settle()
  }

  private static func moved(_ top: Int, _ lines: Int, _ count: Int) -> Int {
    let next = top + lines
    return next < 0 ? 0 : next < count ? next : top
  }
}
