package import SQLiteFile

/// The rows of a table that fit a condition, numbered from 0 in the order of the table. The index is made part by part,
/// so that a caller can show the first rows at once and stop at any time. It keeps a number for each leaf, and the rows
/// of only the last few parts that were shown.
package final class RowIndex {
  /// Reads the table's rows.
  package let rows: LeafRows
  /// Whether all parts of the table were read, so that ``count`` is final.
  package var isComplete: Bool { ends.count == rows.count }
  /// How many rows that fit the condition were found so far.
  package var count: Int { ends.last ?? 0 }
  /// The share of the table's parts that was read, from 0 to 1.
  package var share: Double { rows.count == 0 ? 1 : Double(ends.count) / Double(rows.count) }

  private let longest: Int
  private let fits: (BrowsedRow) -> Bool
  /// For each part that was read: how many rows fit the condition in this part and all parts before it.
  private var ends: [Int] = []
  /// The fitting rows of the parts that were read last for display, at most ``cachedParts`` of them.
  private var cache: [(part: Int, rows: [BrowsedRow])] = []

  /// The most bytes of a text or blob in ``window(_:)``.
  package static let shownBytes = 2048
  private static let cachedParts = 4

  /// Creates an index that has read nothing yet.
  ///
  /// - Parameters:
  ///   - rows: the table's rows.
  ///   - longest: how many bytes of a long value the condition gets to see.
  ///   - fits: the condition. It must give the same answer for the same row each time.
  package init(
    _ rows: LeafRows, longest: Int = 0, where fits: @escaping (BrowsedRow) -> Bool = { _ in true }
  ) {
    self.rows = rows
    self.longest = longest
    self.fits = fits
  }

  /// Reads the next parts of the table.
  ///
  /// - Parameter parts: the most parts to read.
  /// - Throws: `SQLiteFileError` when the device fails.
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

  /// Calls `receive` with each fitting row from `place` on, until `receive` returns false. Only the parts that
  /// ``advance(_:)`` has read are searched.
  ///
  /// - Parameters:
  ///   - place: the number of the first row, from 0.
  ///   - longest: the most bytes of a text or blob; longer ones are cut.
  ///   - receive: takes a row's number and the row, and returns whether it wants the next one.
  /// - Throws: `SQLiteFileError` when the device fails.
  package func forEachRow(
    from place: Int, longest: Int = RowIndex.shownBytes, _ receive: (Int, BrowsedRow) -> Bool
  ) throws(SQLiteFileError) {
    guard place >= 0, place < count else { return }
    var part = self.part(of: place)
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

  /// Returns the fitting rows with these numbers. Numbers from ``count`` on are left out.
  package func window(_ places: Range<Int>) throws(SQLiteFileError) -> [BrowsedRow] {
    var window: [BrowsedRow] = []
    try forEachRow(from: places.lowerBound) { place, row in
      guard place < places.upperBound else { return false }
      window.append(row)
      return place + 1 < places.upperBound
    }
    return window
  }

  /// Returns the number of the first fitting row whose row id is `rowID` or higher. Nil when there is none, or when the
  /// part in which `rowID` belongs was not read yet.
  package func place(of rowID: Int64) throws(SQLiteFileError) -> Int? {
    guard let part = rows.part(of: rowID), part < ends.count else { return nil }
    var found: Int?
    try forEachRow(from: part == 0 ? 0 : ends[part - 1], longest: 0) { place, row in
      if let id = row.rowID, id >= rowID { found = place }
      return found == nil
    }
    return found
  }

  /// Returns the part that holds the fitting row with the number `place`.
  private func part(of place: Int) -> Int {
    var low = 0
    var high = ends.count
    while low < high {
      let middle = low + (high - low) / 2
      if ends[middle] <= place { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func fitting(_ part: Int, _ longest: Int) throws(SQLiteFileError) -> [BrowsedRow] {
    let isShown = longest == Self.shownBytes
    if isShown, let known = cache.first(where: { $0.part == part }) { return known.rows }
    var found: [BrowsedRow] = []
    // The condition must see the same bytes as when the part was counted.
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
  /// Returns the row with its texts and blobs cut to at most `limit` bytes. Full sizes that are known are kept.
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
