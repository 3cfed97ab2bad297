import SafeText
import Terminal

/// A view that lists items to choose from, for example entities, the properties of a row, findings, pages or key paths.
struct ListView: Sendable {
  /// The content of the list. The items come later, and go to the list that has the same kind.
  enum Kind: Sendable, Equatable {
    case contents
    case row(RowReference)
    case findings
    case pages
    /// A list of key paths by which the rows of a query can be sorted.
    case sorting(RowsQuery)
    /// A list of key paths by which the rows of a query can be grouped into sections.
    case sections(RowsQuery)
  }

  var kind: Kind
  var title: String
  var items: [ListItem] = []
  var cursor = 0
  var top = 0
  var note: String?
  /// Whether the items of the list have been read.
  var isLoaded = false
  /// The text of the last search in the list; nil before the first search.
  var search: String?

  init(_ kind: Kind, title: String) {
    self.kind = kind
    self.title = title
  }
}

/// A view that lists the rows of a query. Only the rows in ``window`` are known.
struct RowsView: Sendable {
  var query: RowsQuery
  var window: RowsWindow?
  var cursor = 0
  var top = 0
  var firstColumn = 0
  /// Whether the cursor moves to the last row as soon as all rows are counted.
  var followsEnd = false
  var search: String?
  /// The primary key or row id that the last search looked for; nil if the last search was for a text.
  var soughtKey: Int64?
  /// The view as it was before its query changed. It is shown again if the user stops the present query. An array with
  /// at most one element, because a struct cannot contain a value of its own type.
  var previous: [RowsView] = []
  /// The last request for rows; nil when ``window`` contains all rows that the screen needs.
  var asked: BrowseRequest?
  var height = 20

  init(_ query: RowsQuery) { self.query = query }

  /// The number of rows of the query that are known so far.
  var count: Int { window?.count ?? 0 }

  /// Returns the row with the 0-based index `place` among the rows of the query; nil when ``window`` does not contain
  /// this row.
  func row(_ place: Int) -> ShownRow? {
    guard let window, place >= window.start, place - window.start < window.rows.count else {
      return nil
    }
    return window.rows[place - window.start]
  }

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

/// A view of a text that the user can scroll. It shows either the text, wrapped to the window's width, or a hex dump of
/// the text's bytes.
struct TextView: Sendable {
  /// What the view shows. A text that arrives goes to the view with the matching kind. A view with the kind `fixed` has
  /// its text from the start.
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
  private(set) var wrapped: [String] = []
  /// The width of ``wrapped``, in columns; 0 if the text is not wrapped yet.
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

  /// Wraps the lines of the text to this width, unless they are wrapped to it already.
  mutating func wrap(to columns: Int) {
    guard columns != width else { return }
    width = columns
    wrapped = text.lines.flatMap { Self.wrapped(VisibleText.visible($0), to: columns) }
  }

  /// Wraps one line. Each resulting line has the indentation of `line`.
  private static func wrapped(_ line: String, to columns: Int) -> [String] {
    let indent = line.utf8.prefix { $0 == UInt8(ascii: " ") }.count
    guard indent > 0, indent < columns / 2 else { return DisplayText.wrapped(line, to: columns) }
    let space = String(repeating: " ", count: indent)
    return DisplayText.wrapped(String(Substring(line.utf8.dropFirst(indent))), to: columns - indent)
      .map { space + $0 }
  }

  /// The number of lines that can be scrolled: the wrapped lines, or the lines of the hex dump.
  var lineCount: Int {
    guard showsBytes, let bytes = text.bytes else { return wrapped.count }
    return (bytes.count + 15) / 16
  }

  /// Returns the line with the 0-based index `place`; an empty string if the index is beyond the last line.
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

/// A view of the browser. It fills the screen between the title line and the lines at the foot.
enum BrowseView: Sendable {
  case list(ListView)
  case rows(RowsView)
  case text(TextView)
}

/// A prompt at the foot of the screen, and the line that the user types into it.
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
