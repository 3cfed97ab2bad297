extension ManagedObjectModel {
  /// The user info key whose value lists attribute names, separated by commas. When an object is deleted, persistent
  /// history keeps the values of these attributes.
  package static let tombstoneKey = "NSPersistentHistoryTombstoneAttributes"

  /// Computes the version hash of every entity.
  ///
  /// `honouringTombstones` matters for entities with the user info key `NSPersistentHistoryTombstoneAttributes`, which
  /// lists attributes. If true, the listed attributes are hashed as if their option to preserve values in history on
  /// deletion were set. Core Data accepts a store whose hashes match one of the two results.
  public func versionHashes(honouringTombstones: Bool = false) -> ModelHashes {
    var computation = HashComputation(
      model: self, tombstones: honouringTombstones ? tombstoneAttributes() : [:])
    for name in entityNames { computation.compute(name) }
    return computation.result
  }

  /// Whether any entity has a tombstone entry. Without one, ``versionHashes(honouringTombstones:)`` returns the same
  /// hashes for both values of its argument.
  package var hasTombstoneEntries: Bool {
    entities.values.contains { $0.userInfo[Self.tombstoneKey] != nil }
  }

  /// Returns the names of the attributes that the ``tombstoneKey`` entries of all entities list. The key is the topmost
  /// entity in the hierarchy that declares the attribute.
  private func tombstoneAttributes() -> [String: Set<String>] {
    guard hasTombstoneEntries else { return [:] }
    let names = entities.mapValues { Set($0.attributes.map(\.name)) }
    var found: [String: Set<String>] = [:]
    for entity in entities.values {
      guard case .string(let text)? = entity.userInfo[Self.tombstoneKey] else { continue }
      let lineage = [entity] + ancestors(of: entity.name)
      for part in text.utf8.split(separator: UInt8(ascii: ",")) {
        let name = String(decoding: part.filter { $0 != UInt8(ascii: " ") }, as: UTF8.self)
        let declaring = lineage.last { names[$0.name]?.contains(name) == true }
        if let declaring { found[declaring.name, default: []].insert(name) }
      }
    }
    return found
  }
}

/// Computes the hashes of one model. A parent is hashed before its children. Each property is hashed only once, for
/// the entity that declares it.
private struct HashComputation {
  /// The maximum number of property hashes that all entity hashes of a model together include. Each entity hash
  /// includes the hashes of the entity's own and inherited properties. A model of 1,000 entities with 100 properties
  /// each needs 100,000.
  private static let maximumInputs = 8_000_000

  private struct State {
    /// The entity's hash; nil if it cannot be computed at all.
    var hash: VersionHash?
    /// Why the hash is unconfirmed; nil if recorded hashes confirm every rule by which it was computed.
    var doubt: String?
    /// The reason why the hashes of all entities that inherit from this entity are unconfirmed; nil if the hash of this
    /// entity is confirmed.
    var doubtBelow: String?
    /// The hashes of the persistent properties, including inherited ones, sorted by property name.
    var properties: [VersionHashing.PropertyHash]
    var hasDerived: Bool
    /// The name of a relationship, own or inherited, that is its own inverse; nil if the entity has no such
    /// relationship.
    var selfInverseName: String?
    var depth: Int
  }

  private let model: ManagedObjectModel
  private let tombstones: [String: Set<String>]
  private var states: [String: State] = [:]
  private var inputs = 0

  init(model: ManagedObjectModel, tombstones: [String: Set<String>]) {
    self.model = model
    self.tombstones = tombstones
  }

  var result: ModelHashes {
    var hashes: [String: VersionHash] = [:]
    var unknown: [String: String] = [:]
    var unconfirmed: [String: VersionHash] = [:]
    var derived: Set<String> = []
    for (name, state) in states {
      if state.hasDerived { derived.insert(name) }
      if let doubt = state.doubt {
        unknown[name] = doubt
        unconfirmed[name] = state.hash
      } else {
        hashes[name] = state.hash
      }
    }
    return ModelHashes(
      hashes: hashes, unknown: unknown, unconfirmed: unconfirmed,
      entitiesWithDerivedAttributes: derived)
  }

  mutating func compute(_ name: String) {
    // Collects the entities from this one up to the first hashed ancestor, then hashes them from the top down.
    var pending: [Entity] = []
    var met: Set<String> = []
    var next: String? = name
    while let current = next, states[current] == nil, let entity = model.entities[current] {
      guard met.insert(current).inserted else {
        for entity in pending { fail(entity.name, "its ancestors form a cycle") }
        return
      }
      pending.append(entity)
      next = entity.superentityName
    }
    for entity in pending.reversed() { computeOne(entity) }
  }

  private mutating func fail(_ name: String, _ doubt: String, below: String? = nil) {
    states[name] = State(
      hash: nil, doubt: doubt, doubtBelow: below ?? Self.below(name, doubt), properties: [],
      hasDerived: false, depth: ManagedObjectModel.maximumInheritanceDepth)
  }

  private static func below(_ name: String, _ doubt: String) -> String {
    "its ancestor \(name) has no known hash: \(doubt)"
  }

  private mutating func computeOne(_ entity: Entity) {
    var parent: State?
    if let parentName = entity.superentityName {
      guard let state = states[parentName] else {
        return fail(entity.name, "its parent \(parentName) is not in the model")
      }
      guard state.depth < ManagedObjectModel.maximumInheritanceDepth else {
        let limit = ManagedObjectModel.maximumInheritanceDepth
        return fail(
          entity.name, state.doubtBelow ?? "it has more than \(limit) ancestors",
          below: state.doubtBelow)
      }
      parent = state
    }

    var doubt = parent?.doubtBelow ?? entity.hashDoubt
    if let inherited = parent?.selfInverseName {
      doubt = doubt ?? "it inherits relationship \(inherited), which is its own inverse"
    }

    let own = ownHashes(entity)
    let merged = merge(own, into: parent?.properties ?? [])
    if merged.repeats { doubt = doubt ?? "it declares a property that it also inherits" }
    inputs += merged.properties.count
    guard inputs <= Self.maximumInputs else {
      return fail(entity.name, "the model is too large to hash")
    }

    var hash: VersionHash?
    if parent == nil || parent?.hash != nil {
      hash = VersionHashing.entity(
        name: entity.name, isAbstract: entity.isAbstract, superentityHash: parent?.hash,
        properties: merged.properties, modifier: entity.versionHashModifier,
        uniquenessConstraints: entity.uniquenessConstraints)
    }
    let hasDerived = entity.attributes.contains { $0.isDerived && !$0.isTransient }
    states[entity.name] = State(
      hash: hash, doubt: doubt,
      doubtBelow: parent?.doubtBelow ?? doubt.map { Self.below(entity.name, $0) },
      properties: merged.properties,
      hasDerived: hasDerived || parent?.hasDerived == true,
      selfInverseName: parent?.selfInverseName ?? entity.selfInverseName,
      depth: (parent?.depth ?? -1) + 1)
  }

  /// Returns the hashes of the persistent properties that the entity declares, sorted by name.
  private func ownHashes(_ entity: Entity) -> [VersionHashing.PropertyHash] {
    var own: [VersionHashing.PropertyHash] = []
    own.reserveCapacity(entity.attributes.count + entity.relationships.count)
    let kept = tombstones[entity.name]
    for attribute in entity.attributes where !attribute.isTransient {
      let preserved = kept?.contains(attribute.name) == true ? true : nil
      own.append(
        .init(
          name: attribute.name,
          bytes: VersionHashing.attribute(attribute, preserved: preserved)))
    }
    for relationship in entity.relationships where !relationship.isTransient {
      let isSelfInverse = entity.isSelfInverse(relationship)
      own.append(
        .init(
          name: relationship.name,
          bytes: VersionHashing.relationship(relationship, isSelfInverse: isSelfInverse)))
    }
    return own.sorted { ByteOrder.precedes($0.name, $1.name) }
  }

  /// Merges two lists of property hashes, each sorted by name. If a name is in both lists, keeps the hash in `own` and
  /// sets `repeats` to true.
  private func merge(
    _ own: [VersionHashing.PropertyHash], into inherited: [VersionHashing.PropertyHash]
  ) -> (properties: [VersionHashing.PropertyHash], repeats: Bool) {
    if inherited.isEmpty { return (own, false) }
    if own.isEmpty { return (inherited, false) }
    var merged: [VersionHashing.PropertyHash] = []
    merged.reserveCapacity(own.count + inherited.count)
    var repeats = false
    var left = 0
    for property in own {
      while left < inherited.count, ByteOrder.precedes(inherited[left].name, property.name) {
        merged.append(inherited[left])
        left += 1
      }
      if left < inherited.count, inherited[left].name == property.name {
        repeats = true
        left += 1
      }
      merged.append(property)
    }
    merged += inherited[left...]
    return (merged, repeats)
  }
}
