import ObjectModel

/// Counts the mapping models that a migration step skips. The models of a migration plan are called places.
///
/// A mapping model has a span from each place that fits its source to the next place that fits its destination. A step
/// skips a mapping model if the step covers one of its spans.
struct MappingSpans {
  private let positions: [Int]
  private let goesBack: Bool
  /// For each mapping model, an array with one element for each position. The element is the nearest end of all spans
  /// that begin at this position or later; nil if no span begins there. If the plan goes back to an older version,
  /// positions are counted from the end.
  private let ends: [[Int?]]

  /// Finds the spans of all mapping models. `positions` gives, for each place (model) of the plan, its position in the
  /// order of versions. `goesBack` is true if the plan leads to an older version.
  init(_ matches: MappingMatches, _ positions: [Int], goesBack: Bool) {
    self.positions = positions
    self.goesBack = goesBack
    let count = (positions.max() ?? 0) + 1
    func along(_ place: Int) -> Int { goesBack ? count - 1 - positions[place] : positions[place] }
    ends = zip(matches.sources, matches.destinations).map { source, destination in
      let begins = Set(source.places.map(along))
      let stops = Set(destination.places.map(along))
      // The positions are visited in descending order. After each visit, `nextStop` is the nearest position, from the
      // visited one on, that fits the destination. `nearestStop` is the nearest end of all spans that begin at the
      // visited position or later.
      var nextStop: Int?
      var nearestStop: Int?
      var ends: [Int?] = Array(repeating: nil, count: count)
      for position in (0..<count).reversed() {
        if begins.contains(position), let stop = nextStop {
          nearestStop = min(nearestStop ?? stop, stop)
        }
        ends[position] = nearestStop
        if stops.contains(position) { nextStop = position }
      }
      return ends
    }
  }

  /// Returns the number of mapping models that a migration step skips. `from` and `to`: the indexes of the places
  /// between which the step leads.
  func passed(_ from: Int, _ to: Int) -> Int {
    let last = (ends.first?.count ?? 1) - 1
    let low = goesBack ? last - positions[from] : positions[from]
    let high = goesBack ? last - positions[to] : positions[to]
    guard low <= high else { return 0 }
    return ends.count { $0[low].map { $0 <= high } ?? false }
  }
}
