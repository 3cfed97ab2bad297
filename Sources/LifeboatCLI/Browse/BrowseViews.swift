import SafeText
import Terminal

/// A list to choose from: entities, the properties of a row, findings, pages, key paths.
struct ListView: Sendable {
  /// What the list is of, so that an answer finds its view.
  enum Kind: Sendable, Equatable {
    case contents
    case row(RowReference)
    case findings
    case pages
    /// Key paths to sort a query's rows by, or to make sections of.
    case sorting(RowsQuery)
    case sections(RowsQuery)
  }

  var kind: Kind
  var title: String
  var items: [ListItem] = []
  var cursor = 0
  var top = 0
  var note: String?
  /// Whether the items are there.
  var isLoaded = false
  /// The text looked for last.
  var search: String?

  init(_ kind: Kind, title: String) {
    self.kind = kind
    self.title = title
  }
}

/// A window on rows.
struct RowsView: Sendable {
  var query: RowsQuery
  var window: RowsWindow?
  var cursor = 0
  var top = 0
  var firstColumn = 0
  /// Whether the cursor is to go to the last row once all are known.
  var followsEnd = false
  var search: String?
  /// The key that was asked for last; nil when a text was.
  var soughtKey: Int64?
  /// What was shown before a filter or an order was asked for; at most one.
  var previous: [RowsView] = []
  /// What was asked for and has not come yet.
  var asked: BrowseRequest?
  /// How many rows the screen has room for.
  var height = 20

  init(_ query: RowsQuery) { self.query = query }

  /// How many rows are known.
  var count: Int { window?.count ?? 0 }

  /// The row at a place; nil when it is not in the window.
  func row(_ place: Int) -> ShownRow? {
    guard let window, place >= window.start, place - window.start < window.rows.count else {
      return nil
    }
    return window.rows[place - window.start]
  }

  /// What the rows are, in words.
  var title: String {
    var text = query.subject.name
    if query.subject.isRaw { text += " (table)" }
    if query.isPast { text += ": deleted rows and older versions" }
    if query.condition != .all { text += ", related rows" }
    if let filter = query.filter { text += ", with \"\(filter)\"" }
    if let section = query.section { text += ", sections by \(section)" }
    if let sort = query.sort {
      text += ", by \(sort)\(query.isDescending ? " (descending)" : "")"
    }
    return text
  }
}

/// Text to read.
struct TextView: Sendable {
  /// What the text is of; nil for one that is there from the start.
  enum Kind: Sendable, Equatable {
    case value(RowReference, property: String)
    case page(UInt32)
    case fixed
  }

  var kind: Kind
  var text: BrowseText
  var top = 0
  var showsBytes = false
  var isLoaded: Bool
  var search: String?
  /// The lines as they were wrapped last, and the width that was for.
  private(set) var wrapped: [String] = []
  private var width = 0

  init(_ kind: Kind, _ text: BrowseText, isLoaded: Bool = true) {
    self.kind = kind
    self.text = text
    self.isLoaded = isLoaded
  }

  static func loading(_ kind: Kind, _ title: String) -> TextView {
    TextView(kind, BrowseText(title: title, lines: []), isLoaded: false)
  }

  mutating func set(_ text: BrowseText) {
    self.text = text
    isLoaded = true
    width = 0
  }

  /// Wraps the text for a width, unless it is already.
  mutating func wrap(to columns: Int) {
    guard columns != width else { return }
    width = columns
    wrapped = text.lines.flatMap { Self.wrapped(VisibleText.visible($0), to: columns) }
  }

  /// A line in lines that begin as it does: with its indentation.
  private static func wrapped(_ line: String, to columns: Int) -> [String] {
    let indent = line.utf8.prefix { $0 == UInt8(ascii: " ") }.count
    guard indent > 0, indent < columns / 2 else { return DisplayText.wrapped(line, to: columns) }
    let space = String(repeating: " ", count: indent)
    return DisplayText.wrapped(String(Substring(line.utf8.dropFirst(indent))), to: columns - indent)
      .map { space + $0 }
  }

  /// How many lines there are to scroll through.
  var lineCount: Int {
    guard showsBytes, let bytes = text.bytes else { return wrapped.count }
    return (bytes.count + 15) / 16
  }

  /// A line of what is shown.
  func line(_ place: Int) -> String {
    guard showsBytes, let bytes = text.bytes else {
      return place < wrapped.count ? wrapped[place] : ""
    }
    let start = place * 16
    guard start < bytes.count else { return "" }
    let dump = PageText.dump(
      Array(bytes[start..<min(start + 16, bytes.count)]), from: Int64(start))
    return String(Substring(dump.utf8.dropLast()))
  }
}

/// What fills the screen.
enum BrowseView: Sendable {
  case list(ListView)
  case rows(RowsView)
  case text(TextView)
}

/// A line that the user types.
struct BrowsePrompt: Sendable, Equatable {
  enum Kind: Sendable, Equatable { case search, filter, key }

  var kind: Kind
  var text = ""

  var label: String {
    switch kind {
    case .search: "search: "
    case .filter: "filter (empty for all): "
    case .key: "key: "
    }
  }
}
