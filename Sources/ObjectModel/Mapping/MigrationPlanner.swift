/// Finds the way from a store's model to a version.
///
/// A step is a mapping model that fits or an inferred one. The fewest steps win, after three things:
/// a step that is certain goes before one that is not; a mapping model that someone made for a step
/// on the way is not passed over; and less is left behind, where all objects of one entity weigh more
/// than any number of properties.
public struct MigrationPlanner: Sendable {
  /// Asks for the inferred step between two models.
  public typealias Inference =
    @Sendable (_ from: ManagedObjectModel, _ to: ManagedObjectModel) -> InferredStep

  private let versions: [ModelCollection.Version]
  private let mappings: MappingModelSet
  private let inference: Inference

  /// Makes a planner for the versions of some collections, in their order. The inferred steps are
  /// those by Apple's documented rules, unless another way to ask is given.
  public init(
    _ collections: [ModelCollection], mappings: MappingModelSet = MappingModelSet(),
    inference: @escaping Inference = { InferredStep(from: $0, to: $1) }
  ) {
    versions = collections.flatMap(\.versions)
    self.mappings = mappings
    self.inference = inference
  }

  /// Plans the way to a version.
  ///
  /// - Parameters:
  ///   - hashes: What the store recorded.
  ///   - model: The model that the store carries, if it does.
  ///   - target: One of the versions.
  /// - Returns: The plan; its ``MigrationPlan/steps`` are nil when there is no way.
  public func plan(
    from hashes: [String: VersionHash], model: ManagedObjectModel?,
    to target: ModelCollection.Version
  ) -> MigrationPlan {
    var search = PlanSearch(
      versions: versions, mappings: mappings, inference: inference, hashes: hashes, model: model,
      target: target)
    return search.plan()
  }
}

/// One search.
private struct PlanSearch {
  typealias Place = MigrationPlan.Place
  typealias Attempt = MigrationPlan.Attempt

  /// Beyond this many places, those between are tried only with their neighbours and with the
  /// target.
  static let maximumComplete = 20
  /// The most places that are looked at.
  static let maximumPlaces = 300

  /// What a way costs; the parts weigh in their order.
  struct Cost: Comparable {
    var uncertain = 0
    var passedOver = 0
    var lostEntities = 0
    var lostProperties = 0
    var steps = 0
    var inferred = 0

    static func < (left: Cost, right: Cost) -> Bool {
      left.parts.lexicographicallyPrecedes(right.parts)
    }

    private var parts: [Int] {
      [uncertain, passedOver, lostEntities, lostProperties, steps, inferred]
    }

    static func + (left: Cost, right: Cost) -> Cost {
      Cost(
        uncertain: left.uncertain + right.uncertain,
        passedOver: left.passedOver + right.passedOver,
        lostEntities: left.lostEntities + right.lostEntities,
        lostProperties: left.lostProperties + right.lostProperties,
        steps: left.steps + right.steps, inferred: left.inferred + right.inferred)
    }
  }

  private let inference: MigrationPlanner.Inference
  private let mappings: MappingModelSet
  private var places: [Place] = []
  private var start = 0
  private var target = 0
  /// The places that a mapping model leads from and to, by its place in the set.
  private var ends: [(from: Set<Int>, to: Set<Int>)] = []
  private var attempts: [Int: Attempt] = [:]
  private let unread: [ModelCollection.Version]
  /// The version nearest to the store, when none fits.
  private var nearest: MigrationPlan.Nearest?

  init(
    versions: [ModelCollection.Version], mappings: MappingModelSet,
    inference: @escaping MigrationPlanner.Inference, hashes: [String: VersionHash],
    model: ManagedObjectModel?, target: ModelCollection.Version
  ) {
    self.inference = inference
    self.mappings = mappings
    unread = versions.filter(\.isUnread)
    gather(versions, target: target)
    findStart(versions, hashes: hashes, model: model)
    ends = mappings.items.map { item in
      guard let compiled = item.compiled else { return ([], []) }
      var from: Set<Int> = []
      var to: Set<Int> = []
      for (index, place) in places.enumerated() {
        if compiled.isFor(place.hashed, on: .source) { from.insert(index) }
        if compiled.isFor(place.hashed, on: .destination) { to.insert(index) }
      }
      return (from, to)
    }
  }

  // MARK: Places

  /// The versions beside the target, those with equal hashes together.
  private mutating func gather(
    _ versions: [ModelCollection.Version], target: ModelCollection.Version
  ) {
    let folder = Self.folder(target)
    let family = versions.filter { Self.folder($0) == folder }
    var groups: [(hashes: [String: VersionHash], versions: [ModelCollection.Version])] = []
    for version in family.prefix(Self.maximumPlaces) + [target] {
      if groups.contains(where: { $0.versions.contains { Self.isSame($0, version) } }) { continue }
      let known = version.knownHashes
      let isWhole = !known.isEmpty && known.count == (version.model?.entities.count ?? known.count)
      if isWhole, let index = groups.firstIndex(where: { $0.hashes == known }) {
        groups[index].versions.append(version)
      } else {
        groups.append((isWhole ? known : [:], [version]))
      }
    }
    for (index, group) in groups.enumerated() {
      let first = group.versions.first { $0.model != nil } ?? group.versions[0]
      places.append(
        Place(
          versionNames: group.versions.map(\.name), path: first.path, model: first.model,
          hashed: HashedModel(first), position: index))
      if group.versions.contains(where: { Self.isSame($0, target) }) { self.target = index }
    }
  }

  private mutating func findStart(
    _ versions: [ModelCollection.Version], hashes: [String: VersionHash],
    model: ManagedObjectModel?
  ) {
    let fitting = versions.filter { $0.matches(hashes) }
    let found = places.firstIndex { place in
      fitting.contains { place.path == $0.path && place.versionNames.contains($0.name) }
    }
    if let found {
      start = found
      return
    }
    // Of versions elsewhere, their model helps; else the store's own.
    let elsewhere = fitting.first { $0.model != nil } ?? fitting.first
    let hashed = HashedModel(model: elsewhere?.model ?? model, recorded: hashes)
    let closest = places.max { left, right in
      Self.agreement(left, hashes) < Self.agreement(right, hashes)
    }
    if fitting.isEmpty, let closest, Self.agreement(closest, hashes) > 0 {
      nearest = MigrationPlan.Nearest(
        versionName: closest.name, agreeing: Self.agreement(closest, hashes), of: hashes.count,
        differing: ByteOrder.sorted(
          hashes.filter { closest.hashed.candidates[$0.key]?.contains($0.value) != true }.keys))
    }
    start = places.count
    places.append(
      Place(
        versionNames: fitting.map(\.name), path: elsewhere?.path, model: elsewhere?.model ?? model,
        hashed: hashed, position: closest?.position ?? 0))
  }

  private static func agreement(_ place: Place, _ hashes: [String: VersionHash]) -> Int {
    hashes.count { place.hashed.candidates[$0.key]?.contains($0.value) == true }
  }

  private static func folder(_ version: ModelCollection.Version) -> String {
    guard let slash = version.path.lastIndex(of: "/") else { return "" }
    return String(version.path[..<slash])
  }

  private static func isSame(
    _ left: ModelCollection.Version, _ right: ModelCollection.Version
  ) -> Bool {
    left.path == right.path && left.name == right.name
  }

  // MARK: Search

  mutating func plan() -> MigrationPlan {
    let isForeign = isForeign
    let direct = isForeign ? foreignAttempt : attempt(start, target)
    var steps: [MigrationPlan.Step]?
    var obstacle: Attempt?
    if start == target {
      steps = []
    } else if isForeign {
      obstacle = direct
    } else {
      let (way, reached) = search()
      steps = way
      if way == nil { obstacle = nearestFailure(reached) }
    }
    return MigrationPlan(
      start: places[start], nearest: nearest, unread: unread, target: places[target], steps: steps,
      direct: direct,
      obstacle: obstacle, standings: standings(), goesBack: goesBack)
  }

  /// Whether the store has nothing to do with the versions: nothing of it would be left.
  private var isForeign: Bool {
    let known = places[start].hashed.candidates.keys
    guard places[start].path == nil, let model = places[target].model else { return false }
    let names =
      places.flatMap { $0.path == nil ? [] : Array($0.hashed.candidates.keys) }
      + model.entities.values.compactMap(\.renamingIdentifier)
    return Set(names).isDisjoint(with: known)
  }

  private var foreignAttempt: Attempt {
    Attempt(
      from: places[start], to: places[target], step: nil,
      refusals: [
        unread.isEmpty
          ? "the two have no entity in common: this is the store of another model"
          : "the two have no entity in common: this is the store of another model, or of a version "
            + "that could not be read"
      ])
  }

  private var goesBack: Bool { places[start].position > places[target].position }

  /// Whether a step from one place to another leads from the start towards the target.
  private func isForward(_ from: Int, _ to: Int) -> Bool {
    if from == to || to == start || from == target { return false }
    if to == target { return true }
    let (low, high) = (places[from].position, places[to].position)
    let last = places[target].position
    if goesBack { return high < low && high > last }
    return (from == start && start >= target && high >= low || high > low) && high < last
  }

  /// The cheapest way; without one the places that can be reached.
  private mutating func search() -> (way: [MigrationPlan.Step]?, reached: Set<Int>) {
    var costs: [Int: Cost] = [start: Cost()]
    var steps: [Int: MigrationPlan.Step] = [:]
    var previous: [Int: Int] = [:]
    var done: Set<Int> = []
    while let next = costs.filter({ !done.contains($0.key) }).min(by: { left, right in
      left.value == right.value ? left.key < right.key : left.value < right.value
    }) {
      done.insert(next.key)
      if next.key == target { break }
      for other in places.indices where isTried(next.key, other) && !done.contains(other) {
        guard let step = attempt(next.key, other).step else { continue }
        let cost = next.value + self.cost(of: step, next.key, other)
        if let known = costs[other], known <= cost { continue }
        costs[other] = cost
        steps[other] = step
        previous[other] = next.key
      }
    }
    guard costs[target] != nil else { return (nil, done) }
    var way: [MigrationPlan.Step] = []
    var place = target
    while place != start, let step = steps[place], let before = previous[place] {
      way.append(step)
      place = before
    }
    return (way.reversed(), done)
  }

  private func isTried(_ from: Int, _ to: Int) -> Bool {
    guard isForward(from, to) else { return false }
    if places.count <= Self.maximumComplete || to == target { return true }
    if abs(places[from].position - places[to].position) <= 1 { return true }
    // A mapping model's own step, and the way to where one begins.
    return ends.contains { $0.from.contains(to) || ($0.from.contains(from) && $0.to.contains(to)) }
  }

  private func cost(of step: MigrationPlan.Step, _ from: Int, _ to: Int) -> Cost {
    var cost = Cost(steps: 1)
    switch step.way {
    case .mapping: return cost
    case .inferred: cost.inferred = 1
    case .uncertain:
      cost.inferred = 1
      cost.uncertain = 1
    }
    for loss in step.losses {
      if loss.propertyName != nil {
        cost.lostProperties += 1
        continue
      }
      cost.lostEntities += 1
      guard let model = step.from.model else { continue }
      cost.lostProperties +=
        model.allAttributes(of: loss.entityName).count
        + model.allRelationships(of: loss.entityName).count
    }
    // Mapping models between the two, which this step goes past.
    let low = places[from].position
    let high = places[to].position
    for end in ends {
      let isPassed = end.from.contains { left in
        end.to.contains { right in
          let (a, b) = (places[left].position, places[right].position)
          return low < high ? a >= low && b > a && b <= high : a <= low && b < a && b >= high
        }
      }
      if isPassed { cost.passedOver += 1 }
    }
    return cost
  }

  /// What one step comes to; each is looked at once.
  private mutating func attempt(_ from: Int, _ to: Int) -> Attempt {
    let key = from * (Self.maximumPlaces + 2) + to
    if let known = attempts[key] { return known }
    let made = makeAttempt(from, to)
    attempts[key] = made
    return made
  }

  private func makeAttempt(_ from: Int, _ to: Int) -> Attempt {
    let (source, destination) = (places[from], places[to])
    func attempt(_ way: MigrationPlan.Way?, _ losses: [MappingLoss], _ refusals: [String])
      -> Attempt
    {
      let step = way.map {
        MigrationPlan.Step(from: source, to: destination, way: $0, losses: losses)
      }
      return Attempt(from: source, to: destination, step: step, refusals: refusals)
    }
    for (item, end) in zip(mappings.items, ends)
    where end.from.contains(from) && end.to.contains(to) {
      guard let mapping = item.compiled else { continue }
      return attempt(.mapping(item), source.model.map { mapping.losses(of: $0) } ?? [], [])
    }
    guard let before = source.model else {
      return attempt(nil, [], ["the model of \(source.name) is not known, only its hashes"])
    }
    guard let after = destination.model else {
      return attempt(nil, [], ["the model of \(destination.name) is not known, only its hashes"])
    }
    if from == to { return attempt(nil, [], []) }
    switch inference(before, after) {
    case .possible(let mapping, let conditions):
      return attempt(
        .inferred(mapping, unless: conditions), mapping?.losses(of: before) ?? [], [])
    case .impossible(let reasons): return attempt(nil, [], reasons)
    case .unknown(let mapping, let reasons):
      return attempt(.uncertain(mapping, reasons), mapping?.losses(of: before) ?? [], [])
    }
  }

  /// Among the places that can be reached, the one nearest to the target, with what forbids the
  /// rest of the way.
  private mutating func nearestFailure(_ reached: Set<Int>) -> Attempt {
    let last = places[target].position
    let nearest = reached.sorted().min {
      abs(places[$0].position - last) < abs(places[$1].position - last)
    }
    return attempt(nearest ?? start, target)
  }

  // MARK: Mapping models

  private func standings() -> [MigrationPlan.Standing] {
    zip(mappings.items, ends).map { item, end in
      var fits: [(from: String, to: String)] = []
      for from in end.from.sorted() {
        for to in end.to.sorted() where from != to {
          fits.append((places[from].name, places[to].name))
        }
      }
      return MigrationPlan.Standing(
        item: item, fits: fits, nearestSource: nearest(item, .source),
        nearestDestination: nearest(item, .destination))
    }
  }

  private func nearest(
    _ item: MappingModelSet.Item, _ side: MappingFit.Side
  ) -> MigrationPlan.Nearest? {
    guard let mapping = item.compiled else { return nil }
    var best: MigrationPlan.Nearest?
    for place in places {
      let (mismatches, unverified, agreeing) = mapping.agreement(with: place.hashed, on: side)
      guard agreeing > best?.agreeing ?? 0 else { continue }
      best = MigrationPlan.Nearest(
        versionName: place.name, agreeing: agreeing,
        of: agreeing + mismatches.count + unverified.count,
        differing: ByteOrder.sorted(mismatches.map(\.entityName)))
    }
    return best
  }
}

extension MappingModel {
  /// Whether every entity that it names on a side has its hash in a model.
  fileprivate func isFor(_ model: HashedModel, on side: MappingFit.Side) -> Bool {
    let (mismatches, unverified, agreeing) = agreement(with: model, on: side)
    // A mapping that only adds has no source to speak of.
    return mismatches.isEmpty && unverified.isEmpty && agreeing > 0
  }
}
