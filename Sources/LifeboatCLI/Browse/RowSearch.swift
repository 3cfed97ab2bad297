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
  /// Whether a row of a table contains the text of a filter. Numbers and dates are converted to text only if the
  /// filter's text can be part of a number or date.
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

/// A search, done in steps, for the next or the previous row that contains a text. After the last row, a forward search
/// continues with the first row. After the first row, a backward search continues with the last row.
struct RowSearch {
  enum Result { case goesOn, found(Int?) }

  let query: RowsQuery
  private let filter: RowFilter
  private let forward: Bool
  /// The place of the row that the next step looks at first.
  private var place: Int
  private var looked = 0
  /// The places, in the table's order, of the rows with the text that have been found so far. Used only for sorted
  /// rows.
  private var hits: Set<Int> = []
  private static let rowsInStep = 1_000

  /// Creates a search that starts with the row after the place `from`, or with the row before that place if `forward`
  /// is false.
  init(_ query: RowsQuery, _ text: String, from: Int, forward: Bool) {
    self.query = query
    filter = RowFilter(text)
    self.forward = forward
    place = forward ? from + 1 : from - 1
  }

  var words: String { "searching, \(Quantity.count(looked, "row")) so far" }

  /// Searches the next rows. The result is `found` with the place of the first row with the text, `found(nil)` if no
  /// row has the text, or `goesOn` if more steps are needed.
  mutating func step(_ rows: BrowsedQuery) throws -> Result {
    // If the next row is not known yet, the search waits. A backward search, or a search of sorted rows or of sections,
    // waits until all rows are known.
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

  /// Searches sorted rows. The rows are read in the table's order, because rows that are neighbours in the order shown
  /// are scattered over the file.
  private mutating func stepSorted(_ rows: BrowsedQuery) throws -> Result {
    let end = min(looked + Self.rowsInStep, rows.count)
    hits.formUnion(try rows.places(having: filter, in: looked..<end))
    looked = end
    guard looked >= rows.count else { return .goesOn }
    return .found(rows.position(ofAny: hits, from: place, forward: forward))
  }
}
