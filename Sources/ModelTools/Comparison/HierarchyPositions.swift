import ObjectModel

/// The entities of a model in pre-order: each entity is directly followed by all of its descendants. If parents form a
/// cycle, then the entity of the cycle whose name comes first counts as the topmost one.
struct HierarchyPositions {
  private(set) var order: [String] = []
  /// For each entity name, the range in ``order`` that starts with the entity and ends with its last descendant.
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

extension ManagedObjectModel {
  /// Returns the sorted names of each entity's direct subentities, by entity name. Entities without subentities are
  /// left out.
  func subentityNames() -> [String: [String]] {
    var children: [String: [String]] = [:]
    for entity in entities.values {
      if let parent = entity.superentityName { children[parent, default: []].append(entity.name) }
    }
    return children.mapValues { ByteOrder.sorted($0) }
  }
}
