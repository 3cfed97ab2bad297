import ObjectModel

/// The places of a plan (models on the way) that each mapping model of a set fits. They are found by hash, in one pass
/// over all mapping models.
struct MappingMatches {
  /// The places that fit one side (source or destination) of a mapping model.
  struct Side {
    /// The indexes of the places that have the hash of every entity that the mapping names on this side.
    var places: Set<Int> = []
    /// The index of the place with the most of these hashes, the first of several; nil if no place has any.
    var nearest: Int?
  }

  /// The source sides of the mapping models, by the index of the mapping model in its set.
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
      // A mapping that only adds entities has no source, and so fits no place there.
      if number == met.count { side.places.insert(place) }
      if number > side.nearest.map({ agreeing[$0] }) ?? 0 { side.nearest = place }
    }
    return side
  }
}
