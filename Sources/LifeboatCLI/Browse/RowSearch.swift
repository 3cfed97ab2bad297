import CoreDataStore
import SQLiteFile
import StoreExtraction
import Terminal

extension RowFilter {
  func fits(_ content: RowContent) -> Bool {
    if let key = content.key, fits(String(key)) { return true }
    return content.properties.contains { property in
      switch property.value {
      case .string(let text): fits(text.string)
      case .integer, .real, .date, .uuid: mayBeNumber && fits(CellText.text(property.value))
      default: false
      }
    }
  }
}

extension BrowseSource {
  /// Whether a row of the subject contains the filter's text. Numbers and dates are searched only if the text may occur
  /// in a number or date.
  func fits(_ row: BrowsedRow, _ filter: RowFilter, _ subject: BrowseSubject) -> Bool {
    if filter.fitsText(of: row) { return true }
    guard filter.mayBeNumber else { return false }
    guard subject.isRaw || plans[ExactText(subject.table)] == nil else {
      return filter.fits(content(row, table: subject.table, isRaw: false))
    }
    if let key = row.rowID, filter.fits(String(key)) { return true }
    return row.values.contains { value in
      switch value {
      case .integer, .real: filter.fits(CellText.text(value))
      default: false
      }
    }
  }
}

/// Searches for the next or the previous row that contains a text, some rows in each step. A search that reaches the
/// last row continues at the first row; a backward search that reaches the first row continues at the last row.
///
/// The place of a row is its index in the table's order, as in ``BrowsedQuery``. The position of a row is its index in
/// the order that the browser shows.
struct RowSearch {
  enum Result { case goesOn, found(Int?) }

  let query: RowsQuery
  private let filter: RowFilter
  private let forward: Bool
  /// The index, in the order that the browser shows, of the next row to examine.
  private var place: Int
  private var looked = 0
  /// The rows found so far that contain the text, as indexes in the order of the table. Used only if the browser sorts
  /// the rows.
  private var hits: Set<Int> = []
  private static let rowsInStep = 1_000

  /// Creates a search that starts with the row after `from`, or with the row before `from` if `forward` is false.
  init(_ query: RowsQuery, _ text: String, from: Int, forward: Bool) {
    self.query = query
    filter = RowFilter(text)
    self.forward = forward
    place = forward ? from + 1 : from - 1
  }

  var words: String { "searching, \(Quantity.count(looked, "row")) so far" }

  /// Continues the search for a row that contains the text. Returns `found` with the index of this row, `found(nil)` if
  /// no row contains the text, or `goesOn` if more steps are needed.
  mutating func step(_ rows: BrowsedQuery) throws -> Result {
    // While the next row is not known, this step reads more rows instead of searching. A backward search, or a search
    // of a sorted or sectioned query, needs all rows.
    if !rows.isComplete, !forward || place >= rows.count || query.needsOrder {
      _ = try rows.advance(toShow: 0..<Int.max, atOnce: false)
      return .goesOn
    }
    guard !rows.isSorted else { return try stepSorted(rows) }
    guard rows.count > 0, looked < rows.count else { return .found(nil) }
    if place >= rows.count { place = 0 }
    if place < 0 { place = rows.count - 1 }
    let room = min(Self.rowsInStep, rows.count - looked)
    let part =
      forward
      ? place..<min(place + room, rows.count) : max(place - room + 1, 0)..<place + 1
    let found = try rows.places(having: filter, in: part)
    if let hit = forward ? found.first : found.last { return .found(hit) }
    looked += part.count
    place = forward ? part.upperBound : part.lowerBound - 1
    return .goesOn
  }

  /// Searches sorted rows. Reads the rows in the table's order, because rows that are next to each other in the sorted
  /// order are scattered over the file.
  private mutating func stepSorted(_ rows: BrowsedQuery) throws -> Result {
    let end = min(looked + Self.rowsInStep, rows.count)
    hits.formUnion(try rows.places(having: filter, in: looked..<end))
    looked = end
    guard looked >= rows.count else { return .goesOn }
    return .found(rows.position(ofAny: hits, from: place, forward: forward))
  }
}
