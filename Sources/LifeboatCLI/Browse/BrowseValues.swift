import CoreDataStore
import SQLiteFile
import StoreExtraction
import Terminal

/// The rows that a query selects from: all rows of an entity and its subentities, or all rows of a table.
struct BrowseSubject: Sendable, Hashable {
  var table: String
  /// The entity numbers (`Z_ENT`) of the entity and its subentities; nil for all rows of the table.
  var entities: Set<Int64>?
  /// The name that the browser shows: the name of the entity or of the table.
  var name: String
  /// Whether the rows are shown as SQLite stores them, without the model.
  var isRaw = false

  static func == (one: Self, other: Self) -> Bool {
    ExactText.isSame(one.table, other.table) && ExactText.isSame(one.name, other.name)
      && one.entities == other.entities && one.isRaw == other.isRaw
  }
}

/// A query of the browser: which rows are shown, and in which order.
struct RowsQuery: Sendable, Hashable {
  /// A condition that rows must meet, in addition to the filter.
  enum Condition: Sendable, Hashable {
    case all
    /// Only the rows that a one-to-many relationship leads to: those with the value `at` in the column with the 0-based
    /// index `column`.
    case pointing(column: Int, at: Int64)
    /// The destinations of a many-to-many relationship: the rows with these primary keys.
    case keys([Int64])
  }

  var subject: BrowseSubject
  var condition = Condition.all
  /// Whether the query selects deleted rows and older versions of rows instead of live rows.
  var isPast = false
  /// A string that the key or a value of each row must contain; nil for no filter.
  var filter: String?
  /// The key path by which rows are sorted; nil for the order of the table.
  var sort: String?
  var isDescending = false
  /// The key path whose values group the rows into sections, one section for each value; nil for no sections.
  var section: String?

  /// Whether all rows must be read before the first one can be shown.
  var needsOrder: Bool { sort != nil || section != nil }
}

enum RowReference: Sendable, Hashable {
  case live(table: String, key: Int64, isRaw: Bool)
  /// The row with this 0-based index among the rows of a query. Used for rows that have no unique row id: deleted rows,
  /// older versions, and rows of WITHOUT ROWID tables.
  case place(RowsQuery, Int)
}

/// Whether a row is live, or the reason why SQLite does not return the row.
enum RowMark: String, Sendable, Hashable {
  case live = ""
  case deleted
  case older
  case uncommitted
  case stale
  case before
  case doubtful

  /// The meaning of the mark, in a few words.
  var words: String {
    switch self {
    case .live: "live"
    case .deleted: "deleted: the store has no row with this key any more"
    case .older: "an older version: the store has a newer row with this key"
    case .uncommitted: "from a transaction that was never committed"
    case .stale: "from an outdated frame that is still in the log"
    case .before: "as it was before the last transaction, from the rollback journal"
    case .doubtful: "SQLite would read this row, but the rest of the page contradicts it"
    }
  }
}

/// A row with its values. The row may be live, deleted or an older version of a row.
struct RowContent: Sendable {
  struct Property: Sendable {
    var name: String
    var value: PropertyValue
    /// The full size, in bytes, of a value that was cut; nil for a whole value.
    var size: Int?
    /// The text that is shown instead of the value if the value is incomplete or doubtful; else nil.
    var partial: String?
  }

  var entity: String?
  var entityNumber: Int64?
  /// The primary key or row id of the row; nil when the key was lost.
  var key: Int64?
  var saves: Int64?
  var mark = RowMark.live
  /// Where the row was found, in words; empty when the place is not known.
  var origin: String
  var properties: [Property]

  func property(_ name: String) -> Property? {
    ExactText.place(of: name, in: properties, \.name).map { properties[$0] }
  }
}

/// A row as text, ready to be shown.
struct ShownRow: Sendable, Equatable {
  var reference: RowReference
  var key: String
  /// The name of the row's entity; nil if the row is shown without the model.
  var entity: String?
  var mark: RowMark
  var cells: [String]
  /// The heading of the section that the row is in, such as `folder: Work (12)`; nil without sections.
  var section: String?
  var beginsSection = false
}

/// Consecutive rows of a query, as text. A window contains only the rows that the screen needs.
struct RowsWindow: Sendable, Equatable {
  var columns: [String]
  /// The indexes, in ``columns``, of the columns with numbers.
  var numeric: Set<Int> = []
  /// The index of the window's first row among all rows of the query, from 0.
  var start: Int
  var rows: [ShownRow]
  /// The number of rows of the query that are known so far.
  var count: Int
  /// The work on the query that is in progress, for example "counting, 12%"; nil when all rows are known.
  var work: String?
  /// A note about the rows for the user, for example that only the first rows are shown; nil without a note.
  var note: String?
  /// The indexes of the first rows of the sections, in ascending order, at most 1000. The keys `]` and `[` move the
  /// cursor to the next and the previous section.
  var sectionStarts: [Int] = []
}

/// What the browser does when the user chooses an item of a list.
enum BrowseAction: Sendable, Equatable {
  case none
  case rows(RowsQuery)
  case row(RowReference)
  case value(RowReference, property: String)
  case text(title: String, lines: [String])
  case page(UInt32)
  case sort(String)
  case section(String?)
}

struct ListItem: Sendable, Equatable {
  var label: String
  var text: String
  var action = BrowseAction.none
  var tone: Style.Tone?
  /// Whether the key Enter opens another row, a list of rows, or a page.
  var isLink = false
}

/// A text to read, and the bytes that the text was made from.
struct BrowseText: Sendable, Equatable {
  var title: String
  var lines: [String]
  /// The bytes that the browser shows as a hex dump when the user presses `x`: those of a blob, an external file, a
  /// UUID or an invalid text. Nil for a valid text, a number, a date or a relationship.
  var bytes: [UInt8]?
  var note: String?
}

/// A request that ``BrowseModel`` makes to ``BrowseSource``.
enum BrowseRequest: Sendable, Equatable {
  case contents
  case rows(RowsQuery, Range<Int>)
  case row(RowReference)
  case value(RowReference, property: String)
  case find(RowsQuery, String, from: Int, forward: Bool)
  case place(RowsQuery, key: Int64)
  case keyPaths(RowsQuery)
  case findings
  case pages
  case page(UInt32)
  /// Stops the current request, and the reading of deleted rows on other threads. Other work on other threads
  /// continues.
  case cancel
}

/// An answer that ``BrowseSource`` gives to the model of the browser.
enum BrowseAnswer: Sendable {
  /// The items of the list views of a kind, and a new title of these views; nil to keep the title.
  case list(ListView.Kind, [ListItem], title: String? = nil, note: String?)
  case rows(RowsQuery, RowsWindow)
  /// The text of the text views of a kind.
  case text(TextView.Kind, BrowseText)
  /// The 0-based index of the row that a search has found; nil when no row was found.
  case found(RowsQuery, Int?)
  case keyPaths(RowsQuery, [String])
  /// The work that is in progress, in words, and whether ``BrowseRequest/cancel`` stops this work. The words are empty
  /// when the work has ended.
  case working(String, isStoppable: Bool = true)
  case failed(String)
  /// Deleted rows, and older versions of rows, that another thread has read for a subject. ``BrowseSource`` itself
  /// takes this answer. All other answers go to the model of the browser.
  case past(BrowseSubject, [RowContent], note: String?)
}
