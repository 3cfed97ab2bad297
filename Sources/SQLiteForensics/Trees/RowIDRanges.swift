import SQLiteFile

/// The row id ranges of the leaves of one table, sorted by lower bound. In an undamaged table, these ranges do not
/// overlap.
struct RowIDRanges {
  private(set) var ranges: [ClosedRange<Int64>] = []

  init(_ ranges: [ClosedRange<Int64>] = []) { add(ranges) }

  /// Adds ranges, which can be in any order, to ``ranges``.
  mutating func add(_ others: [ClosedRange<Int64>]) {
    // Nearly always, `others` is a single range that belongs at the end of `ranges`.
    let isInOrder =
      others.count == 1 && ranges.last.map { $0.lowerBound <= others[0].lowerBound } ?? true
    ranges += others
    if !isInOrder { ranges.sort { $0.lowerBound < $1.lowerBound } }
  }

  private func place(of range: ClosedRange<Int64>) -> Int {
    ranges.firstPlace { $0.lowerBound >= range.lowerBound }
  }

  /// Whether `range` overlaps none of ``ranges``.
  func haveRoom(for range: ClosedRange<Int64>) -> Bool {
    let next = place(of: range)
    if next > 0, ranges[next - 1].upperBound >= range.lowerBound { return false }
    return next == ranges.count || ranges[next].lowerBound > range.upperBound
  }

  /// Whether `range` directly follows or directly precedes one of ``ranges``, so that no row id lies between the two
  /// ranges.
  func touch(_ range: ClosedRange<Int64>) -> Bool {
    let next = place(of: range)
    if next > 0, ranges[next - 1].upperBound < .max,
      ranges[next - 1].upperBound + 1 == range.lowerBound
    {
      return true
    }
    return next < ranges.count && range.upperBound < .max
      && range.upperBound + 1 == ranges[next].lowerBound
  }
}

extension RandomAccessCollection where Index == Int {
  /// Returns the index of the first element that meets the condition `holds`, found by binary search; `endIndex` if no
  /// element meets it. Precondition: All elements that meet the condition come after all elements that do not.
  @inlinable
  package func firstPlace(where holds: (Element) -> Bool) -> Int {
    var low = startIndex
    var high = endIndex
    while low < high {
      let middle = (low + high) / 2
      if holds(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

extension Array where Element: Comparable {
  /// Whether the array contains the element, found by binary search. Precondition: The array is in ascending order.
  func hasSorted(_ element: Element) -> Bool {
    let place = firstPlace { $0 >= element }
    return place < count && self[place] == element
  }
}
