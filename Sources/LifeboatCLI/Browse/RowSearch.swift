import CoreDataStore
import SQLiteFile
import StoreExtraction
import Terminal

extension RowFilter {
  /// Whether a row has the text in one of its values, or is the row with this key.
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
  /// Whether a row of a table has a text. Only where numbers and dates may have it are they made into text.
  func fits(_ row: BrowsedRow, _ filter: RowFilter, _ subject: BrowseSubject) -> Bool {
    if filter.fitsText(of: row) { return true }
    guard filter.mayBeNumber else { return false }
    guard subject.isRaw || plans[subject.table] == nil else {
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

/// A search for the next or previous row with a text, in steps.
struct RowSearch {
  enum Result { case goesOn, found(Int?) }

  let query: RowsQuery
  private let filter: RowFilter
  private let forward: Bool
  /// The next place to look at, and how many were looked at.
  private var place: Int
  private var looked = 0
  /// The rows found so far, where they are shown in another order than they are read in.
  private var hits: Set<Int> = []
  private static let rowsInStep = 1_000

  /// A search that begins behind the row at the place `from`, or before it.
  init(_ query: RowsQuery, _ text: String, from: Int, forward: Bool) {
    self.query = query
    filter = RowFilter(text)
    self.forward = forward
    place = forward ? from + 1 : from - 1
  }

  /// What is being done.
  var words: String { "searching, \(Quantity.count(looked)) rows so far" }

  mutating func step(_ rows: BrowsedQuery) throws -> Result {
    // Backwards, and behind the last row, all rows must be known.
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

  /// Sorted rows are read in the table's order, because one by one they would be all over the file.
  private mutating func stepSorted(_ rows: BrowsedQuery) throws -> Result {
    let end = min(looked + Self.rowsInStep, rows.count)
    hits.formUnion(try rows.places(having: filter, in: looked..<end))
    looked = end
    guard looked >= rows.count else { return .goesOn }
    return .found(rows.position(ofAny: hits, from: place, forward: forward))
  }
}
