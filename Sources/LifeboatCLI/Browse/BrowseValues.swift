import CoreDataStore
import SQLiteFile
import StoreExtraction
import Terminal

/// What rows are of: an entity, or a table.
struct BrowseSubject: Sendable, Hashable {
  /// The table's name.
  var table: String
  /// The numbers of the entity and its descendants; nil for all rows of the table.
  var entities: Set<Int64>?
  /// The name to show.
  var name: String
  /// Whether the rows are shown as SQLite stores them, without the model.
  var isRaw = false
}

/// Which rows are shown, and in which order.
struct RowsQuery: Sendable, Hashable {
  /// A condition besides the filter.
  enum Condition: Sendable, Hashable {
    case all
    /// Rows whose column has this key: the destinations of a one-to-many relationship.
    case pointing(column: Int, at: Int64)
    /// Rows with these keys: the destinations of a many-to-many relationship.
    case keys([Int64])
  }

  var subject: BrowseSubject
  var condition = Condition.all
  /// Whether the rows are deleted rows and older versions.
  var isPast = false
  /// Text that a value of the row has; nil for all rows.
  var filter: String?
  /// The key path that rows are sorted by; nil for the order of the table.
  var sort: String?
  var isDescending = false
  /// The key path that makes sections; nil for none.
  var section: String?

  /// Whether all rows must be known before the first is shown.
  var needsOrder: Bool { sort != nil || section != nil }
}

/// Which row.
enum RowReference: Sendable, Hashable {
  /// The live row of a table with this row id.
  case live(table: String, key: Int64, isRaw: Bool)
  /// A row at a place of a query: one without a row id, or of the past.
  case place(RowsQuery, Int)
}

/// What a row is: live, or what of the past.
enum RowMark: String, Sendable, Hashable {
  case live = ""
  case deleted
  case older
  case uncommitted
  case stale
  case before
  case doubtful

  /// What it means, in a sentence without a full stop.
  var words: String {
    switch self {
    case .live: "live"
    case .deleted: "deleted: the store has no row with this key any more"
    case .older: "an older version: the store has a newer row with this key"
    case .uncommitted: "from a transaction that was never committed"
    case .stale: "from a frame left over in the log from an earlier generation"
    case .before: "as it was before the last transaction, from the rollback journal"
    case .doubtful: "SQLite would read it, but the rest of its page contradicts it"
    }
  }
}

/// A row with its values, whatever it was read from.
struct RowContent: Sendable {
  struct Property: Sendable {
    var name: String
    var value: PropertyValue
    /// The size in bytes of a value that is cut; nil for a whole one.
    var size: Int?
    /// What is said in place of a value that is incomplete.
    var partial: String?
  }

  var entity: String?
  var entityNumber: Int64?
  /// The primary key or row id; nil when it was lost.
  var key: Int64?
  var saves: Int64?
  var mark = RowMark.live
  /// Where it was found, in words.
  var origin: String
  var properties: [Property]

  func property(_ name: String) -> Property? { properties.first { $0.name == name } }
}

/// A row of a window.
struct ShownRow: Sendable, Equatable {
  var reference: RowReference
  var key: String
  /// The entity; nil for a row of a table.
  var entity: String?
  var mark: RowMark
  var cells: [String]
  /// The section that it is in, and how many rows that has; nil without sections.
  var section: String?
  /// Whether it is the first of its section.
  var beginsSection = false
}

/// A part of the rows of a query.
struct RowsWindow: Sendable, Equatable {
  var columns: [String]
  /// Which columns hold numbers.
  var numeric: Set<Int> = []
  /// The place of the first row.
  var start: Int
  var rows: [ShownRow]
  /// How many rows are known.
  var count: Int
  /// What is still being done, such as "counting, 12%"; nil when all rows are known.
  var work: String?
  /// What the user must know, such as a limit that was passed.
  var note: String?
  /// The start of the section before and after the window's first row is looked up by this list, at most a thousand.
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

/// A line of a list: a label, and a text that may be wrapped.
struct ListItem: Sendable, Equatable {
  var label: String
  var text: String
  var action = BrowseAction.none
  var tone: Style.Tone?
  /// Whether Enter leads to another row or to rows.
  var isLink = false
}

/// Something long to read: text, and the bytes if it is a blob.
struct BrowseText: Sendable, Equatable {
  var title: String
  var lines: [String]
  /// The same as a hex dump; nil for what is no blob.
  var bytes: [UInt8]?
  var note: String?
}

/// What the model asks for.
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
  /// Stops the work that a view has asked for.
  case cancel
}

/// What it gets.
enum BrowseAnswer: Sendable {
  /// The list of entities and tables.
  case contents([ListItem], note: String?)
  case rows(RowsQuery, RowsWindow)
  case row(RowReference, title: String, [ListItem])
  case value(RowReference, property: String, BrowseText)
  /// Where a row is that was searched for; nil when there is none.
  case found(RowsQuery, Int?)
  case keyPaths(RowsQuery, [String])
  case findings([ListItem], note: String)
  case pages([ListItem], note: String)
  case page(UInt32, BrowseText)
  /// What is being done; an empty text when nothing is any more.
  case working(String)
  case failed(String)
  /// Deleted rows and older versions of a table: for the reader of the store, not for the model.
  case past(BrowseSubject, [RowContent], note: String?)
}
