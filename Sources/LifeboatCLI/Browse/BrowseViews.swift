import SafeText
import Terminal

/// A list to choose from: entities, the properties of a row, findings, pages, key paths.
struct ListView: Sendable {
  /// What the list shows. The kind tells which list an answer belongs to.
  enum Kind: Sendable, Equatable {
    case contents
    case row(RowReference)
    case findings
    case pages
    /// Key paths by which the rows of a query can be sorted.
    case sorting(RowsQuery)
    /// Key paths by which the rows of a query can be grouped into sections.
    case sections(RowsQuery)
  }

  var kind: Kind
  var title: String
  var items: [ListItem] = []
  var cursor = 0
  var top = 0
  var note: String?
  /// Whether the items have come; false while they are being read.
  var isLoaded = false
  /// The text of the last search in the list; nil before the first.
  var search: String?

  init(_ kind: Kind, title: String) {
    self.kind = kind
    self.title = title
  }
}

/// The rows of a query, of which a window is known and shown.
struct RowsView: Sendable {
  var query: RowsQuery
  var window: RowsWindow?
  var cursor = 0
  var top = 0
  var firstColumn = 0
  /// Whether the cursor goes to the last row as soon as all rows are known.
  var followsEnd = false
  var search: String?
  /// The key that was looked for last; nil if a text was looked for after it.
  var soughtKey: Int64?
  /// The rows that were shown before the filter or the order was asked for: one view or none.
  var previous: [RowsView] = []
  /// The request for rows that has not been answered in full; nil when no answer is awaited.
  var asked: BrowseRequest?
  /// How many rows the screen has room for.
  var height = 20

  init(_ query: RowsQuery) { self.query = query }

  /// How many rows of the query are known so far.
  var count: Int { window?.count ?? 0 }

  /// The row at a place, from 0; nil when the window does not hold the row.
  func row(_ place: Int) -> ShownRow? {
    guard let window, place >= window.start, place - window.start < window.rows.count else {
      return nil
    }
    return window.rows[place - window.start]
  }

  /// The title of the view: subject, state, filter, sections and order, in words.
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

/// A text that the user scrolls through, wrapped to the window or as a hex dump.
struct TextView: Sendable {
  /// What the text shows. The kind tells which text view an answer belongs to; `fixed` is for a text that needs no
  /// answer.
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
  /// The lines of the text, as ``wrap(to:)`` has wrapped them.
  private(set) var wrapped: [String] = []
  /// The width for which ``wrapped`` was made, in columns; 0 when the text is new.
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

  /// Wraps the text to a width in columns, unless it already is.
  mutating func wrap(to columns: Int) {
    guard columns != width else { return }
    width = columns
    wrapped = text.lines.flatMap { Self.wrapped(VisibleText.visible($0), to: columns) }
  }

  /// Wraps one line. Each line of the result has the indentation of the original line.
  private static func wrapped(_ line: String, to columns: Int) -> [String] {
    let indent = line.utf8.prefix { $0 == UInt8(ascii: " ") }.count
    guard indent > 0, indent < columns / 2 else { return DisplayText.wrapped(line, to: columns) }
    let space = String(repeating: " ", count: indent)
    return DisplayText.wrapped(String(Substring(line.utf8.dropFirst(indent))), to: columns - indent)
      .map { space + $0 }
  }

  /// The number of lines to scroll through: wrapped lines, or lines of the hex dump.
  var lineCount: Int {
    guard showsBytes, let bytes = text.bytes else { return wrapped.count }
    return (bytes.count + 15) / 16
  }

  /// The line at a place, from 0; empty beyond the end.
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

/// The view that fills the screen between title and foot.
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
