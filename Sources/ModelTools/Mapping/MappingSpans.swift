import ObjectModel

/// Counts the mapping models that a migration step skips. For example, a step from version 1 to version 4 skips a
/// mapping model that leads from version 2 to version 3.
///
/// The models of a migration plan are called places. A mapping model has a span from each place that fits its source to
/// the next place that fits its destination. A step skips the mapping model if at least one of these spans lies within
/// the step.
struct MappingSpans {
  private let positions: [Int]
  private let goesBack: Bool
  /// For each mapping model and each position: the lowest end of the mapping model's spans that begin at this position
  /// or later; nil if no span does. If the plan goes back to an older version, positions are counted from the end.
  private let ends: [[Int?]]

  /// Finds the spans of all mapping models. `positions`: the position of each model of the plan in the order of
  /// versions. `goesBack`: whether the plan leads to an older version.
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

  /// Returns the number of mapping models that a migration step skips. `from` and `to`: the indexes of the models
  /// (places) at the start and at the end of the step.
  func passed(_ from: Int, _ to: Int) -> Int {
    let last = (ends.first?.count ?? 1) - 1
    let low = goesBack ? last - positions[from] : positions[from]
    let high = goesBack ? last - positions[to] : positions[to]
    guard low <= high else { return 0 }
    return ends.count { $0[low].map { $0 <= high } ?? false }
  }
}
