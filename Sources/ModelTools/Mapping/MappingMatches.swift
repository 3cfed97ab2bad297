import ObjectModel

/// For each mapping model of a set, the places that its source and its destination fit. A place is a model of a
/// migration plan. The places are found by hash, in one pass over all mapping models.
struct MappingMatches {
  /// The places that fit one side of a mapping model: its source or its destination.
  struct Side {
    /// The indexes of the places with the right hash for every entity that the mapping model names on this side.
    var places: Set<Int> = []
    /// The index of the place with the largest number of right hashes. If several places have this number, the first of
    /// them. Nil if no place has a right hash.
    var nearest: Int?
  }

  /// The places that fit the source side of each mapping model, in the order of the mapping models.
  private(set) var sources: [Side] = []
  private(set) var destinations: [Side] = []

  /// Compares each mapping model with each place. A mapping model that could not be read is nil.
  init(_ mappings: [MappingModel?], among places: [HashedModel]) {
    var holders: [String: [VersionHash: [Int]]] = [:]
    for (place, model) in places.enumerated() {
      for (name, hashes) in model.candidates {
        for hash in hashes { holders[name, default: [:]][hash, default: []].append(place) }
      }
    }
    for mapping in mappings {
      sources.append(Self.side(mapping?.demands(on: .source) ?? [], holders, places.count))
      destinations.append(
        Self.side(mapping?.demands(on: .destination) ?? [], holders, places.count))
    }
  }

  private static func side(
    _ demands: [(name: String, hash: VersionHash?)], _ holders: [String: [VersionHash: [Int]]],
    _ count: Int
  ) -> Side {
    var agreeing = Array(repeating: 0, count: count)
    var met: Set<String> = []
    for (name, hash) in demands where met.insert(name).inserted {
      guard let hash else { continue }
      for place in holders[name]?[hash] ?? [] { agreeing[place] += 1 }
    }
    var side = Side()
    for (place, number) in agreeing.enumerated() where number > 0 {
      // A mapping model that only adds entities has no source entities, so no place fits its source side.
      if number == met.count { side.places.insert(place) }
      if number > side.nearest.map({ agreeing[$0] }) ?? 0 { side.nearest = place }
    }
    return side
  }
}
