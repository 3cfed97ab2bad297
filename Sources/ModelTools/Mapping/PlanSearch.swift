import ObjectModel

/// Searches for the cheapest sequence of migration steps. Steps are tried in the order of their minimum cost. The two
/// models of a step are compared only when the step is tried, because a comparison is slow.
struct PlanSearch {
  typealias Place = MigrationPlan.Place
  typealias Attempt = MigrationPlan.Attempt

  /// The maximum number of places in a plan for which every step from one place to a later one is tried. In a larger
  /// plan, a step is tried only if a mapping model does it, or if it leads to a neighbour, to the target or to a place
  /// where a mapping model begins.
  static let maximumComplete = 20
  /// The number of comparisons of two models after which the search for steps is restricted. From then on, two models
  /// are compared only if they are neighbours, or if the second model is the target.
  static let maximumComparisons = 400

  /// The cost of a step or of a sequence of steps. Each property outweighs all properties declared after it.
  struct Cost: Comparable {
    var uncertain = 0
    var passedOver = 0
    var lostEntities = 0
    var lostProperties = 0
    var steps = 0
    var inferred = 0

    private var ranked: (Int, Int, Int, Int, Int, Int) {
      (uncertain, passedOver, lostEntities, lostProperties, steps, inferred)
    }

    static func < (left: Cost, right: Cost) -> Bool { left.ranked < right.ranked }

    static func + (left: Cost, right: Cost) -> Cost {
      Cost(
        uncertain: left.uncertain + right.uncertain,
        passedOver: left.passedOver + right.passedOver,
        lostEntities: left.lostEntities + right.lostEntities,
        lostProperties: left.lostProperties + right.lostProperties,
        steps: left.steps + right.steps, inferred: left.inferred + right.inferred)
    }
  }

  private let map: PlanMap
  private var finder: StepFinder
  private let spans: MappingSpans

  init(_ map: PlanMap, _ finder: StepFinder) {
    self.map = map
    self.finder = finder
    let positions = map.places.map(\.position)
    spans = MappingSpans(finder.matches, positions, goesBack: map.namesGoBack)
    begins = finder.matches.sources.reduce(into: []) { $0.formUnion($1.places) }
  }

  /// The indexes of the places from which a mapping model can start: their models fit the source of at least one
  /// mapping model.
  private let begins: Set<Int>

  private var places: [Place] { map.places }
  private var start: Int { map.start }
  private var target: Int { map.target }

  mutating func plan() -> MigrationPlan {
    let direct = map.isForeign ? foreignAttempt : finder.attempt(start, target)
    var steps: [MigrationPlan.Step]?
    var obstacle: Attempt?
    if start == target {
      steps = []
    } else if map.isForeign {
      obstacle = direct
    } else {
      let (way, reached) = search()
      steps = way?.compactMap { finder.attempt($0.from, $0.to).step }
      // A single step back to an older version is better than several steps, one of which loses something.
      if map.namesGoBack, let step = direct.step, let several = steps, several.count > 1,
        several.contains(where: { !$0.losses.isEmpty })
      {
        steps = [step]
      }
      if way == nil { obstacle = nearestFailure(reached) }
    }
    return MigrationPlan(
      start: places[start], nearest: map.nearest, unread: map.unread, target: places[target],
      steps: steps, direct: direct, obstacle: obstacle, standings: standings(),
      goesBack: map.namesGoBack && map.doubt == nil,
      orderDoubt: map.namesGoBack ? map.doubt : nil, comparisonCount: finder.comparisonCount)
  }

  private var foreignAttempt: Attempt {
    Attempt(
      from: places[start], to: places[target], step: nil,
      refusals: [
        map.unread.isEmpty
          ? "store and target have no entity in common: the store belongs to another model"
          : "store and target have no entity in common: the store belongs to another model, or to "
            + "a version that could not be read"
      ])
  }

  // MARK: Search

  /// A step that waits in the priority queue of the search. `cost` is the minimum cost of all steps up to and including
  /// this one.
  private struct Waiting: Comparable {
    let cost: Cost
    let number: Int
    let from: Int
    let to: Int
    /// The cost of all steps that come before this step in the sequence.
    let before: Cost
    let isExact: Bool

    static func < (left: Waiting, right: Waiting) -> Bool {
      left.cost == right.cost ? left.number < right.number : left.cost < right.cost
    }
  }

  /// Searches for the cheapest sequence of migration steps to the target. A place is a model of the migration plan.
  ///
  /// - Returns: the sequence (`way`), which is nil if no sequence leads to the target, and the indexes of the places
  ///   that can be reached (`reached`).
  private mutating func search() -> (way: [(from: Int, to: Int)]?, reached: Set<Int>) {
    var previous: [Int: Int] = [:]
    var done: Set<Int> = []
    var queue = MinHeap<Waiting>()
    var number = 0
    func wait(_ from: Int, _ to: Int, _ before: Cost, _ step: Cost, isExact: Bool) {
      number += 1
      queue.insert(
        Waiting(
          cost: before + step, number: number, from: from, to: to, before: before,
          isExact: isExact))
    }
    wait(start, start, Cost(), Cost(), isExact: true)
    while let next = queue.popFirst() {
      if done.contains(next.to) { continue }
      guard next.isExact else {
        if finder.comparisonCount >= Self.maximumComparisons, !finder.isCheap(next.from, next.to),
          !isNear(next.from, next.to)
        {
          continue
        }
        if let step = finder.attempt(next.from, next.to).step {
          let cost = cost(of: step, next.from, next.to)
          wait(next.from, next.to, next.before, cost, isExact: true)
        }
        continue
      }
      done.insert(next.to)
      if next.to != start { previous[next.to] = next.from }
      if next.to == target { break }
      for other in places.indices where isTried(next.to, other) && !done.contains(other) {
        wait(next.to, other, next.cost, minimumCost(next.to, other), isExact: false)
      }
    }
    guard done.contains(target) else { return (nil, done) }
    var way: [(from: Int, to: Int)] = []
    var place = target
    while place != start, let before = previous[place] {
      way.append((before, place))
      place = before
    }
    return (way.reversed(), done)
  }

  private func isNear(_ from: Int, _ to: Int) -> Bool {
    to == target || abs(places[from].position - places[to].position) <= 1
  }

  private func isTried(_ from: Int, _ to: Int) -> Bool {
    if from == to || to == start || from == target { return false }
    if to == target { return true }
    let isMapped = begins.contains(to) || finder.hasMapping(from, to)
    // If the order of the places may be reversed, then the order does not show which places lie between two others.
    if map.namesGoBack, map.doubt != nil { return isMapped }
    guard isForward(from, to) else { return false }
    return isMapped || places.count <= Self.maximumComplete || isNear(from, to)
  }

  /// Whether a migration step leads towards the target in the order of versions, and ends before the target. `from` and
  /// `to` are the places at its ends.
  private func isForward(_ from: Int, _ to: Int) -> Bool {
    let (low, high) = (places[from].position, places[to].position)
    let last = places[target].position
    if map.namesGoBack { return high < low && high > last }
    // A model that only the store has is placed at the position of the nearest version, but may be older than that
    // version.
    let isOwn = from == start && !map.isStartAmongVersions
    return (isOwn ? high >= low : high > low) && high < last
  }

  // MARK: Costs

  /// Returns a lower bound for the cost of the migration step between two places. The two models are not compared.
  private func minimumCost(_ from: Int, _ to: Int) -> Cost {
    if finder.hasMapping(from, to) { return Cost(steps: 1) }
    return Cost(passedOver: spans.passed(from, to), steps: 1, inferred: 1)
  }

  private func cost(of step: MigrationPlan.Step, _ from: Int, _ to: Int) -> Cost {
    var cost = minimumCost(from, to)
    switch step.way {
    case .mappings: return cost
    case .inferred: break
    case .uncertain: cost.uncertain = 1
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
    return cost
  }

  /// Returns an attempt that says why the target cannot be reached: the attempt at a single step to the target from a
  /// place in `reached`. Of these places, the one nearest to the target is used.
  private mutating func nearestFailure(_ reached: Set<Int>) -> Attempt {
    let last = places[target].position
    let nearest = reached.sorted().min {
      abs(places[$0].position - last) < abs(places[$1].position - last)
    }
    return finder.attempt(nearest ?? start, target)
  }

  // MARK: Mapping models

  private func standings() -> [MigrationPlan.Standing] {
    finder.mappings.items.indices.map { index in
      let item = finder.mappings.items[index]
      let (sources, destinations) = (
        finder.matches.sources[index], finder.matches.destinations[index]
      )
      var fits: [(from: String, to: String)] = []
      for from in sources.places.sorted() {
        for to in destinations.places.sorted() where from != to {
          fits.append((places[from].name, places[to].name))
        }
      }
      return MigrationPlan.Standing(
        item: item, fits: fits, nearestSource: nearest(item, sources.nearest, .source),
        nearestDestination: nearest(item, destinations.nearest, .destination))
    }
  }

  private func nearest(
    _ item: MappingModelSet.Item, _ index: Int?, _ side: MappingSide
  ) -> MigrationPlan.Nearest? {
    guard let mapping = item.compiled, let place = index.map({ places[$0] }) else { return nil }
    let (mismatches, unverified, agreeing) = mapping.agreement(with: place.hashed, on: side)
    return MigrationPlan.Nearest(
      versionName: place.name, agreeing: agreeing,
      of: agreeing + mismatches.count + unverified.count,
      differing: ByteOrder.sorted(mismatches))
  }
}

/// A binary heap, which returns its elements in ascending order.
private struct MinHeap<Element: Comparable> {
  private var heap: [Element] = []

  init() {}

  mutating func insert(_ element: Element) {
    heap.append(element)
    var place = heap.count - 1
    while place > 0, heap[place] < heap[(place - 1) / 2] {
      heap.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  mutating func popFirst() -> Element? {
    guard let first = heap.first else { return nil }
    let last = heap.removeLast()
    guard !heap.isEmpty else { return first }
    heap[0] = last
    var place = 0
    while true {
      var smallest = place
      for child in [2 * place + 1, 2 * place + 2]
      where child < heap.count && heap[child] < heap[smallest] {
        smallest = child
      }
      if smallest == place { return first }
      heap.swapAt(place, smallest)
      place = smallest
    }
  }
}
