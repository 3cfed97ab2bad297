import ObjectModel

/// For each mapping model of a set, the models of a migration plan that fit its source, and the models that fit its
/// destination. The models of the plan are called places. They are found by their version hashes, in one pass over all
/// mapping models.
struct MappingMatches {
  /// One side of a mapping model, its source or its destination, with the places whose models fit this side.
  struct Side {
    /// The indexes of the models of the migration plan (places) that fit this side of the mapping model. A model fits
    /// if each entity that the mapping model names on this side has the recorded version hash.
    var places: Set<Int> = []
    /// The index of the place that has the recorded version hash for the largest number of entities; the first of
    /// several such places. Nil if no place has the recorded hash of any entity.
    var nearest: Int?
  }

  /// For each mapping model, the models of the migration plan that fit its source model. The elements are in the order
  /// of the mapping models.
  private(set) var sources: [Side] = []
  private(set) var destinations: [Side] = []

  /// Finds the models in `places` that fit each mapping model, as its source or as its destination. An element of
  /// `mappings` is nil for a mapping model that could not be read.
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
