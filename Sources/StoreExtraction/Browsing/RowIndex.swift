package import SQLiteFile
import SQLiteForensics

/// An index of the rows of a table that meet a condition. The rows are numbered from 0 in the order of the table. The
/// index is built part by part, so that a caller can show the first rows at once and stop at any time. Memory holds one
/// number for each part, and the rows of a few parts that were shown last.
package final class RowIndex {
  package let rows: LeafRows
  /// Whether all parts of the table were read, so that ``count`` is final.
  package var isComplete: Bool { ends.count == rows.count }
  /// The number of rows in the index so far. These rows meet the condition of the index.
  package var count: Int { ends.last ?? 0 }
  /// The fraction of the table's parts that were read, from 0 to 1.
  package var share: Double { rows.count == 0 ? 1 : Double(ends.count) / Double(rows.count) }

  private let longest: Int
  private let fits: (BrowsedRow) -> Bool
  /// For each part of the table that was read, the number of rows that meet the condition up to the end of this part.
  private var ends: [Int] = []
  /// The parts of the index that were displayed last, each with its rows that meet the condition. At most
  /// ``cachedParts`` parts are cached.
  private var cache: [(part: Int, rows: [BrowsedRow])] = []

  /// The maximum number of bytes of a text or blob in the rows that ``window(_:)`` returns.
  package static let shownBytes = 2048
  private static let cachedParts = 4

  /// Creates an index of the rows that `fits` accepts. The index is empty until parts of the table are read. `longest`:
  /// the maximum number of bytes of a value that is passed to `fits`. `fits`: must give the same answer for the same
  /// row each time.
  package init(
    _ rows: LeafRows, longest: Int = 0, where fits: @escaping (BrowsedRow) -> Bool = { _ in true }
  ) {
    self.rows = rows
    self.longest = longest
    self.fits = fits
  }

  /// Reads the next parts of the table, at most `parts` of them, and adds their rows to the index. Throws when the
  /// device fails.
  package func advance(_ parts: Int) throws(SQLiteFileError) {
    var left = parts
    while left > 0, !isComplete {
      var found = 0
      try rows.read(ends.count, longest: longest) { row in
        if fits(row) { found += 1 }
        return true
      }
      ends.append(count + found)
      left -= 1
    }
  }

  /// Calls `receive` with the number and the content of each row of the index, from the row number `place` on. Ends
  /// with the last row that ``advance(_:)`` has read, or when `receive` returns false. Texts and blobs are cut to
  /// `longest` bytes. Throws when the device fails.
  package func forEachRow(
    from place: Int, longest: Int = RowIndex.shownBytes, _ receive: (Int, BrowsedRow) -> Bool
  ) throws(SQLiteFileError) {
    guard place >= 0, place < count else { return }
    var part = ends.firstPlace { $0 > place }
    var goesOn = true
    while goesOn, part < ends.count {
      let start = part == 0 ? 0 : ends[part - 1]
      for (offset, row) in try fitting(part, longest).enumerated()
      where goesOn && start + offset >= place {
        goesOn = receive(start + offset, row)
      }
      part += 1
    }
  }

  /// Returns the rows with these numbers, counted from 0 among the rows that meet the condition. Numbers that are not
  /// below ``count`` are left out.
  package func window(_ places: Range<Int>) throws(SQLiteFileError) -> [BrowsedRow] {
    var window: [BrowsedRow] = []
    try forEachRow(from: places.lowerBound) { place, row in
      guard place < places.upperBound else { return false }
      window.append(row)
      return place + 1 < places.upperBound
    }
    return window
  }

  /// Finds the first row whose row id is `rowID` or higher, and returns its number in the index. Returns nil if there
  /// is no such row, or if the part that would hold `rowID` was not read yet.
  package func place(of rowID: Int64) throws(SQLiteFileError) -> Int? {
    guard let part = rows.part(of: rowID), part < ends.count else { return nil }
    var found: Int?
    try forEachRow(from: part == 0 ? 0 : ends[part - 1], longest: 0) { place, row in
      if let id = row.rowID, id >= rowID { found = place }
      return found == nil
    }
    return found
  }

  private func fitting(_ part: Int, _ longest: Int) throws(SQLiteFileError) -> [BrowsedRow] {
    let isShown = longest == Self.shownBytes
    if isShown, let known = cache.first(where: { $0.part == part }) { return known.rows }
    var found: [BrowsedRow] = []
    // The condition must be given the same bytes as when ``advance(_:)`` counted the rows of this part.
    let read = max(longest, self.longest)
    try rows.read(part, longest: read) { row in
      if fits(row) { found.append(read > longest ? row.cut(to: longest) : row) }
      return true
    }
    if isShown {
      cache.append((part, found))
      if cache.count > Self.cachedParts { cache.removeFirst() }
    }
    return found
  }
}

extension BrowsedRow {
  /// Returns the row with its texts and blobs cut to at most `limit` bytes. If a value was cut before, its known full
  /// size is kept.
  package func cut(to limit: Int) -> BrowsedRow {
    var row = self
    for column in values.indices {
      let (value, size) = Self.cut(values[column], to: limit)
      row.values[column] = value
      if let size { row.sizes[column] = row.sizes[column] ?? size }
    }
    return row
  }
}
