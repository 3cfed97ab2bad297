import ObjectModel

/// Finds the mapping models between two places, which a step from one to the other skips.
struct MappingSpans {
  private let positions: [Int]
  private let goesBack: Bool
  /// For each mapping model and each position: the nearest end of its spans that begin at this position or later; nil
  /// if none begins there. On the way back, positions are counted from the last one.
  private let ends: [[Int?]]

  /// `positions` are those of the places, by index.
  init(_ matches: MappingMatches, _ positions: [Int], goesBack: Bool) {
    self.positions = positions
    self.goesBack = goesBack
    let count = (positions.max() ?? 0) + 1
    func along(_ place: Int) -> Int { goesBack ? count - 1 - positions[place] : positions[place] }
    ends = zip(matches.sources, matches.destinations).map { source, destination in
      let begins = Set(source.places.map(along))
      let stops = Set(destination.places.map(along))
      // From the last position down: the next stop after each position, and the nearest stop of all spans
      // that begin there or later.
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

  /// How many mapping models a step from one place to another skips.
  func passed(_ from: Int, _ to: Int) -> Int {
    let last = (ends.first?.count ?? 1) - 1
    let low = goesBack ? last - positions[from] : positions[from]
    let high = goesBack ? last - positions[to] : positions[to]
    guard low <= high else { return 0 }
    return ends.count { $0[low].map { $0 <= high } ?? false }
  }
}
