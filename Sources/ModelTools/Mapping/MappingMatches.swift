import ObjectModel

/// For each mapping model of a set, the models of a migration plan that fit its source, and those that fit its
/// destination. These models are called places. They are found by hash, in one pass over all mapping models.
struct MappingMatches {
  /// The places whose models fit the source of a mapping model, or those whose models fit its destination.
  struct Side {
    /// The indexes of the places (model versions) in which every entity that this side of the mapping model names has
    /// the recorded version hash.
    var places: Set<Int> = []
    /// The index of the place that has the right hash for the largest number of entities. If several places have this
    /// number, the first of them. Nil if no place has a right hash.
    var nearest: Int?
  }

  /// For each mapping model, in their order, the models of the migration plan that fit its source side.
  private(set) var sources: [Side] = []
  private(set) var destinations: [Side] = []

  /// Finds the places that fit each mapping model. An element of `mappings` is nil for a mapping model that could not
  /// be read.
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
