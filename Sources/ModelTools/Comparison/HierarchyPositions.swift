import ObjectModel

/// The entities of a model in pre-order: an entity is followed directly by all of its descendants. In a cycle, the
/// entity that is first by name counts as the topmost one.
struct HierarchyPositions {
  /// The entity names in the order of their positions.
  private(set) var order: [String] = []
  /// The range of positions of each entity and all of its descendants, by entity name. It starts with the entity
  /// itself.
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
