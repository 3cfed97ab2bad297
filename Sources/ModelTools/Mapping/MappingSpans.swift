import ObjectModel

/// Counts the mapping models that a step from one place to another skips, because they lie between the two places. A
/// span of a mapping model leads from a place that fits its source to the next place that fits its destination.
struct MappingSpans {
  private let positions: [Int]
  private let goesBack: Bool
  /// For each mapping model and each position: the nearest end of all spans that begin at this position or later. Nil
  /// if no span begins at this position or later. On the way back, positions are counted from the last one.
  private let ends: [[Int?]]

  /// Makes the table. `positions` are the positions of the places, by the index of the place.
  init(_ matches: MappingMatches, _ positions: [Int], goesBack: Bool) {
    self.positions = positions
    self.goesBack = goesBack
    let count = (positions.max() ?? 0) + 1
    func along(_ place: Int) -> Int { goesBack ? count - 1 - positions[place] : positions[place] }
    ends = zip(matches.sources, matches.destinations).map { source, destination in
      let begins = Set(source.places.map(along))
      let stops = Set(destination.places.map(along))
      // The positions are visited from the last one down. `nextStop` is the next stop after a position, `nearestStop`
      // the nearest stop of all spans that begin at it or later.
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

  /// The number of mapping models that a step from one place to another skips.
  func passed(_ from: Int, _ to: Int) -> Int {
    let last = (ends.first?.count ?? 1) - 1
    let low = goesBack ? last - positions[from] : positions[from]
    let high = goesBack ? last - positions[to] : positions[to]
    guard low <= high else { return 0 }
    return ends.count { $0[low].map { $0 <= high } ?? false }
  }
}
