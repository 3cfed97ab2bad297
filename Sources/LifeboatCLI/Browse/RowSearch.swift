import CoreDataStore
import SQLiteFile
import StoreExtraction
import Terminal

extension RowFilter {
  /// Whether the row has the text in its key or in one of its values.
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
  /// Whether a row of a table has the text of a filter. Numbers and dates are made into text only if the filter's text
  /// can be part of one.
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

/// A search for the next or previous row with a text. It is done in steps, and continues at the other end of the rows.
struct RowSearch {
  enum Result { case goesOn, found(Int?) }

  let query: RowsQuery
  private let filter: RowFilter
  private let forward: Bool
  /// The place of the row to look at next.
  private var place: Int
  /// How many rows were looked at.
  private var looked = 0
  /// The places of all rows with the text so far, in the table's order. It is only used for sorted rows.
  private var hits: Set<Int> = []
  private static let rowsInStep = 1_000

  /// Starts a search after the row at the place `from`, or before it if `forward` is false.
  init(_ query: RowsQuery, _ text: String, from: Int, forward: Bool) {
    self.query = query
    filter = RowFilter(text)
    self.forward = forward
    place = forward ? from + 1 : from - 1
  }

  /// The progress of the search, in words.
  var words: String { "searching, \(Quantity.count(looked, "row")) so far" }

  /// Looks at the next rows, and returns the place of the first one with the text, or nil when no row has it.
  mutating func step(_ rows: BrowsedQuery) throws -> Result {
    // The search waits until more rows are known. If it goes backwards, or the rows are sorted or in sections, it waits
    // until all rows are known.
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

  /// Searches sorted rows. They are read in the table's order, because rows in the order shown are scattered over the
  /// file.
  private mutating func stepSorted(_ rows: BrowsedQuery) throws -> Result {
    let end = min(looked + Self.rowsInStep, rows.count)
    hits.formUnion(try rows.places(having: filter, in: looked..<end))
    looked = end
    guard looked >= rows.count else { return .goesOn }
    return .found(rows.position(ofAny: hits, from: place, forward: forward))
  }
}
