import CoreDataStore
import SQLiteFile
import StoreExtraction
import Terminal

/// The rows that can be browsed together: those of an entity, or of a table.
struct BrowseSubject: Sendable, Hashable {
  /// The name of the table that holds the rows.
  var table: String
  /// The numbers of the entity and its descendants; nil for all rows of the table.
  var entities: Set<Int64>?
  /// The name to show: that of the entity or of the table.
  var name: String
  /// Whether the rows are shown as SQLite stores them, without the model.
  var isRaw = false

  static func == (one: Self, other: Self) -> Bool {
    ExactText.isSame(one.table, other.table) && ExactText.isSame(one.name, other.name)
      && one.entities == other.entities && one.isRaw == other.isRaw
  }
}

/// Which rows are shown, and in which order.
struct RowsQuery: Sendable, Hashable {
  /// A condition that rows must meet, in addition to the filter.
  enum Condition: Sendable, Hashable {
    case all
    /// Rows whose column, counted from 0, has this key: the destinations of a one-to-many relationship.
    case pointing(column: Int, at: Int64)
    /// Rows with these keys: the destinations of a many-to-many relationship.
    case keys([Int64])
  }

  var subject: BrowseSubject
  var condition = Condition.all
  /// Whether the rows are deleted rows and older versions.
  var isPast = false
  /// Text that one of the row's values must contain; nil for all rows.
  var filter: String?
  /// The key path by which rows are sorted; nil for the order of the table.
  var sort: String?
  var isDescending = false
  /// The key path by whose values rows are grouped into sections; nil for no sections.
  var section: String?

  /// Whether all rows must be known before the first is shown.
  var needsOrder: Bool { sort != nil || section != nil }
}

/// Identifies a row.
enum RowReference: Sendable, Hashable {
  /// The live row of a table with this row id.
  case live(table: String, key: Int64, isRaw: Bool)
  /// A row by its place in a query, from 0. It is for rows without a row id, and for deleted rows and older versions.
  case place(RowsQuery, Int)
}

/// The state of a row: live, or the reason why SQLite does not read it.
enum RowMark: String, Sendable, Hashable {
  case live = ""
  case deleted
  case older
  case uncommitted
  case stale
  case before
  case doubtful

  /// What the state means, in a sentence without a full stop.
  var words: String {
    switch self {
    case .live: "live"
    case .deleted: "deleted: the store has no row with this key any more"
    case .older: "an older version: the store has a newer row with this key"
    case .uncommitted: "from a transaction that was never committed"
    case .stale: "from a frame left over in the log from an earlier generation"
    case .before: "as it was before the last transaction, from the rollback journal"
    case .doubtful: "SQLite would read this row, but the rest of the page contradicts it"
    }
  }
}

/// A row with its values, whatever it was read from.
struct RowContent: Sendable {
  struct Property: Sendable {
    var name: String
    var value: PropertyValue
    /// The full size in bytes of a value that is cut; nil for a whole value.
    var size: Int?
    /// The text that is shown in place of an incomplete value; nil for a complete one.
    var partial: String?
  }

  var entity: String?
  var entityNumber: Int64?
  /// The primary key or row id; nil when it was lost.
  var key: Int64?
  var saves: Int64?
  var mark = RowMark.live
  /// Where the row was found, in words; empty when that is not known.
  var origin: String
  var properties: [Property]

  func property(_ name: String) -> Property? {
    ExactText.place(of: name, in: properties, \.name).map { properties[$0] }
  }
}

/// A row of a window, as text.
struct ShownRow: Sendable, Equatable {
  var reference: RowReference
  var key: String
  /// The name of the entity; nil for a row that is shown without the model.
  var entity: String?
  var mark: RowMark
  var cells: [String]
  /// The section that the row is in, with the number of rows of the section; nil without sections.
  var section: String?
  /// Whether the row is the first of its section.
  var beginsSection = false
}

/// A window on the rows of a query: those that the screen needs, as text.
struct RowsWindow: Sendable, Equatable {
  var columns: [String]
  /// The indexes of the columns that hold numbers.
  var numeric: Set<Int> = []
  /// The place of the window's first row among all rows of the query, from 0.
  var start: Int
  var rows: [ShownRow]
  /// How many rows of the query are known so far.
  var count: Int
  /// What is still being done, such as "counting, 12%"; nil when all rows are known.
  var work: String?
  /// What the user must know about the rows, such as that only the first are here; nil when there is nothing to say.
  var note: String?
  /// The places at which sections start, ascending, at most a thousand. The keys `]` and `[`, for the next and the
  /// previous section, use these places.
  var sectionStarts: [Int] = []
}

/// What happens when an item of a list is chosen.
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

/// An item of a list: a label, and a text that may be wrapped.
struct ListItem: Sendable, Equatable {
  var label: String
  var text: String
  var action = BrowseAction.none
  var tone: Style.Tone?
  /// Whether Enter leads to another row or to rows.
  var isLink = false
}

/// A text to read, and the bytes that it was made from.
struct BrowseText: Sendable, Equatable {
  var title: String
  var lines: [String]
  /// The bytes that can be shown as a hex dump: those of a blob, an external file, a UUID or an invalid text. Nil for a
  /// valid text, a number, a date or a relationship.
  var bytes: [UInt8]?
  var note: String?
}

/// What the model of the browser asks the source for.
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
  /// Stops the work that is in progress. Checks and the reading of pages go on.
  case cancel
}

/// What the model of the browser gets from the source.
enum BrowseAnswer: Sendable {
  /// The list of entities and tables.
  case contents([ListItem], note: String?)
  case rows(RowsQuery, RowsWindow)
  case row(RowReference, title: String, [ListItem])
  case value(RowReference, property: String, BrowseText)
  /// The place of the row that was searched for, from 0; nil when no row was found.
  case found(RowsQuery, Int?)
  case keyPaths(RowsQuery, [String])
  case findings([ListItem], note: String)
  case pages([ListItem], note: String)
  case page(UInt32, BrowseText)
  /// The work that is in progress, in words, and whether ``BrowseRequest/cancel`` stops it; no words when it has ended.
  case working(String, isStoppable: Bool = true)
  case failed(String)
  /// Deleted rows and older versions of a table. This answer goes to ``BrowseSource``, not to the model.
  case past(BrowseSubject, [RowContent], note: String?)
}
