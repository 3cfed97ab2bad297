import ObjectModel

/// Finds out how a store can be migrated in one step from one model version to another, if at all. Each result is kept.
struct StepFinder {
  typealias Place = MigrationPlan.Place
  typealias Attempt = MigrationPlan.Attempt

  let places: [Place]
  let mappings: MappingModelSet
  let matches: MappingMatches
  /// For each pair of places, whether a mapping model leads from the first place to the second. ``key(_:_:)`` gives the
  /// index of a pair.
  private var mapped: [Bool]
  private var indexes: [Int: ModelIndex] = [:]
  private var attempts: [Int: Attempt] = [:]
  /// The hashes of the two models that a mapping model contains, by the index of the mapping model in the set.
  private var embedded: [Int: (source: HashedModel, destination: HashedModel)] = [:]
  /// The number of pairs of models that were compared.
  private(set) var comparisonCount = 0

  init(_ places: [Place], _ mappings: MappingModelSet) {
    self.places = places
    self.mappings = mappings
    matches = MappingMatches(mappings.items.map(\.compiled), among: places.map(\.hashed))
    mapped = Array(repeating: false, count: places.count * places.count)
    for (source, destination) in zip(matches.sources, matches.destinations) {
      for from in source.places {
        for to in destination.places { mapped[from * places.count + to] = true }
      }
    }
  }

  func hasMapping(_ from: Int, _ to: Int) -> Bool { mapped[key(from, to)] }

  /// Whether a migration step can be judged without comparing two models, because the step was judged before, or
  /// because a mapping model does it.
  func isCheap(_ from: Int, _ to: Int) -> Bool {
    attempts[key(from, to)] != nil || hasMapping(from, to)
  }

  private func fits(_ item: Int, _ from: Int, _ to: Int) -> Bool {
    matches.sources[item].places.contains(from) && matches.destinations[item].places.contains(to)
  }

  private func key(_ from: Int, _ to: Int) -> Int { from * places.count + to }

  // MARK: Steps

  /// Returns whether and how the step from `from` to `to` can be done.
  mutating func attempt(_ from: Int, _ to: Int) -> Attempt {
    if let known = attempts[key(from, to)] { return known }
    let made = makeAttempt(from, to)
    attempts[key(from, to)] = made
    return made
  }

  private mutating func makeAttempt(_ from: Int, _ to: Int) -> Attempt {
    let (source, destination) = (places[from], places[to])
    func attempt(_ way: MigrationPlan.Way?, _ losses: [MappingLoss], _ refusals: [String])
      -> Attempt
    {
      let step = way.map {
        MigrationPlan.Step(from: source, to: destination, way: $0, losses: losses)
      }
      return Attempt(from: source, to: destination, step: step, refusals: refusals)
    }
    let chosen = chosenMappings(from, to)
    if !chosen.isEmpty {
      let joined = MappingModel(
        entityMappings: chosen.flatMap { $0.compiled?.entityMappings ?? [] })
      let losses = source.model.map { joined.losses(of: $0, to: destination.model) }
      return attempt(.mappings(chosen), losses ?? [], [])
    }
    if from == to { return attempt(nil, [], []) }
    guard let old = index(from) else {
      return attempt(nil, [], ["only the hashes of \(source.name) are known, not its model"])
    }
    guard let new = index(to) else {
      return attempt(nil, [], ["only the hashes of \(destination.name) are known, not its model"])
    }
    comparisonCount += 1
    let inference = MappingInference(EntityPairing(old: old, new: new))
    let (way, refusals) = Self.judged(inference.changes)
    return attempt(way, way == nil ? [] : inference.losses(), refusals)
  }

  /// Judges a step by the verdicts on its changes, see ``LightweightVerdict``. If no mapping can be inferred, `way` is
  /// nil, and `refusals` has the reasons.
  private static func judged(
    _ changes: [ModelChange]
  ) -> (way: MigrationPlan.Way?, refusals: [String]) {
    var obstacles: [String] = []
    var doubts: [String] = []
    var conditions: [String] = []
    for change in changes {
      switch change.verdict {
      case .notHandled(let reason): obstacles.append("\(change.summary): \(reason)")
      case .unknown(let reason): doubts.append("\(change.summary): \(reason)")
      case .handledIfDataAllows(let reason):
        // Most reasons name the entity. If a reason does not, then the change is written after the reason.
        let isPlaced = change.entityName.map { reason.contains("`\($0)`") } ?? true
        conditions.append(isPlaced ? reason : "\(reason) (\(change.summary))")
      case .handled, .nothingToDo: break
      }
    }
    if !obstacles.isEmpty { return (nil, obstacles) }
    return (doubts.isEmpty ? .inferred(unless: conditions) : .uncertain(doubts), [])
  }

  private mutating func index(_ place: Int) -> ModelIndex? {
    if let known = indexes[place] { return known }
    let made = places[place].model.map { ModelIndex($0, hashes: places[place].computed) }
    indexes[place] = made
    return made
  }

  // MARK: Mapping models

  /// Returns the developer's mapping models that together do a migration step; empty if no mapping model fits the step.
  /// If a fitting mapping model contains exactly the two models of the step, all other mapping models are ignored. The
  /// mapping model that names the most entities of the two models is chosen first. Each further mapping model is chosen
  /// only if it shares no entity with those that are already chosen.
  private mutating func chosenMappings(_ from: Int, _ to: Int) -> [MappingModelSet.Item] {
    let fitting = mappings.items.indices.filter { fits($0, from, to) }
    guard let first = fitting.first else { return [] }
    let whole = names(of: from, to)
    if fitting.count == 1 || parts(of: first) == whole && isExact(first, from, to) {
      return [mappings.items[first]]
    }
    let ranked = fitting.map { item in
      (item: item, isExact: isExact(item, from, to), parts: parts(of: item).intersection(whole))
    }.sorted { left, right in
      if left.isExact != right.isExact { return left.isExact }
      return left.parts.count == right.parts.count
        ? left.item < right.item : left.parts.count > right.parts.count
    }
    var taken: Set<Part> = []
    var chosen: [Int] = []
    for candidate in ranked where candidate.isExact == ranked[0].isExact {
      guard !candidate.parts.isEmpty, taken.isDisjoint(with: candidate.parts) else { continue }
      chosen.append(candidate.item)
      taken.formUnion(candidate.parts)
    }
    let items = chosen.sorted().map { mappings.items[$0] }
    func needsClass(_ item: MappingModelSet.Item) -> Bool {
      item.compiled?.entityMappings.contains { $0.migrationPolicyClassName != nil } == true
    }
    return items.filter { !needsClass($0) } + items.filter(needsClass)
  }

  private struct Part: Hashable {
    let side: MappingSide
    let entityName: String
  }

  private func names(of from: Int, _ to: Int) -> Set<Part> {
    Set(
      places[from].hashed.candidates.keys.map { Part(side: .source, entityName: $0) }
        + places[to].hashed.candidates.keys.map { Part(side: .destination, entityName: $0) })
  }

  private func parts(of item: Int) -> Set<Part> {
    var parts: Set<Part> = []
    for mapping in mappings.items[item].compiled?.entityMappings ?? [] {
      if let name = mapping.sourceEntityName { parts.insert(Part(side: .source, entityName: name)) }
      if let name = mapping.destinationEntityName {
        parts.insert(Part(side: .destination, entityName: name))
      }
    }
    return parts
  }

  private mutating func isExact(_ item: Int, _ from: Int, _ to: Int) -> Bool {
    if embedded[item] == nil, let mapping = mappings.items[item].mapping {
      embedded[item] = (
        HashedModel(model: mapping.sourceModel, recorded: nil),
        HashedModel(model: mapping.destinationModel, recorded: nil)
      )
    }
    guard let (source, destination) = embedded[item] else { return false }
    return source.isSame(as: places[from].hashed) && destination.isSame(as: places[to].hashed)
  }
}
