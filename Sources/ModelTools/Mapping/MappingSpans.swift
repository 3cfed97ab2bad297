import ObjectModel

/// Which mapping models lie between two places, so that a step from one to the other passes them over.
struct MappingSpans {
  private let positions: [Int]
  private let goesBack: Bool
  /// For each mapping model and each position, the position that a span of it ends at which begins there or
  /// later, the nearest one; nil where none does. On the way back positions count down, here negated.
  private let ends: [[Int?]]

  /// The positions are those of the places, by their numbers.
  init(_ finds: MappingFinds, _ positions: [Int], goesBack: Bool) {
    self.positions = positions
    self.goesBack = goesBack
    let count = (positions.max() ?? 0) + 1
    func along(_ place: Int) -> Int { goesBack ? count - 1 - positions[place] : positions[place] }
    ends = zip(finds.sources, finds.destinations).map { source, destination in
      let begins = Set(source.places.map(along))
      let stops = Set(destination.places.map(along))
      // From the last position down: the next stop behind each position, and the least stop of all spans
      // that begin there or later.
      var nextStop: Int?
      var least: Int?
      var ends: [Int?] = Array(repeating: nil, count: count)
      for position in (0..<count).reversed() {
        if begins.contains(position), let stop = nextStop { least = min(least ?? stop, stop) }
        ends[position] = least
        if stops.contains(position) { nextStop = position }
      }
      return ends
    }
  }

  /// How many mapping models a step from one place to another passes over.
  func passed(_ from: Int, _ to: Int) -> Int {
    let last = (ends.first?.count ?? 1) - 1
    let low = goesBack ? last - positions[from] : positions[from]
    let high = goesBack ? last - positions[to] : positions[to]
    guard low <= high else { return 0 }
    return ends.count { $0[low].map { $0 <= high } ?? false }
  }
}
