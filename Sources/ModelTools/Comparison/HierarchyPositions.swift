import ObjectModel

/// The entities of a model in pre-order: all descendants of an entity follow it without a gap. A
/// cycle is entered at its first entity by name.
struct HierarchyPositions {
  /// The entity names by position.
  private(set) var order: [String] = []
  /// For each entity, the range from its own position to the end of its descendants.
  private(set) var ranges: [String: Range<Int>] = [:]

  init(_ model: ManagedObjectModel, children: [String: [String]]) {
    var met: Set<String> = []
    let names = model.entityNames
    let roots = names.filter { name in
      guard let parent = model.entities[name]?.superentityName else { return true }
      return model.entities[parent] == nil
    }
    for root in roots + names where !met.contains(root) {
      var pending: [(name: String, start: Int?)] = [(root, nil)]
      while let (name, start) = pending.popLast() {
        if let start {
          ranges[name] = start..<order.count
          continue
        }
        guard met.insert(name).inserted else { continue }
        pending.append((name, order.count))
        order.append(name)
        for child in children[name] ?? [] { pending.append((child, nil)) }
      }
    }
  }
}
