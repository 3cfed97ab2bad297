import SQLiteFile

/// A range of row ids for each leaf of one table. In a sound table the ranges do not overlap.
struct RowIDRanges {
  private(set) var ranges: [ClosedRange<Int64>] = []

  /// Adds ranges in any order.
  mutating func add(_ others: [ClosedRange<Int64>]) {
    // Nearly always one range, which belongs at the end of the list.
    let isInOrder =
      others.count == 1 && ranges.last.map { $0.lowerBound <= others[0].lowerBound } ?? true
    ranges += others
    if !isInOrder { ranges.sort { $0.lowerBound < $1.lowerBound } }
  }

  private func place(of range: ClosedRange<Int64>) -> Int {
    ranges.firstPlace { $0.lowerBound >= range.lowerBound }
  }

  /// Whether `range` overlaps no range in the list.
  func haveRoom(for range: ClosedRange<Int64>) -> Bool {
    let next = place(of: range)
    if next > 0, ranges[next - 1].upperBound >= range.lowerBound { return false }
    return next == ranges.count || ranges[next].lowerBound > range.upperBound
  }

  /// Whether `range` directly adjoins a range in the list.
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

extension Array {
  /// The index of the first element that meets the condition, found by binary search; `count` when none does. All
  /// elements that meet the condition must come after all that do not.
  func firstPlace(where holds: (Element) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if holds(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

extension Array where Element: Comparable {
  /// Whether an array in ascending order contains the element.
  func hasSorted(_ element: Element) -> Bool {
    let place = firstPlace { $0 >= element }
    return place < count && self[place] == element
  }
}
