import ObjectModel

/// The pairs of corresponding entities in an old and a new model. Also finds the new names of relationships, and finds
/// which hierarchies of the old model have become one hierarchy in the new model.
final class EntityPairing {
  let oldIndex: ModelIndex
  let newIndex: ModelIndex
  /// The entities that both models have, sorted by the name in the new model. `old` is the entity's declaration in the
  /// old model, and `new` is its declaration in the new model.
  let pairs: [(old: Entity, new: Entity)]
  let added: [Entity]
  let removed: [Entity]
  private let newNames: [String: String]
  private let oldNames: [String: String]

  var old: ManagedObjectModel { oldIndex.model }
  var new: ManagedObjectModel { newIndex.model }

  convenience init(old: ManagedObjectModel, new: ManagedObjectModel) {
    self.init(old: ModelIndex(old), new: ModelIndex(new))
  }

  init(old: ModelIndex, new: ModelIndex) {
    oldIndex = old
    newIndex = new
    let pairing = Pairing(
      old: old.entities, new: new.entities, name: \.name, identifier: \.renamingIdentifier)
    pairs = pairing.pairs
    added = pairing.added
    removed = pairing.removed
    newNames = Dictionary(pairing.pairs.map { ($0.old.name, $0.new.name) }) { first, _ in first }
    oldNames = Dictionary(pairing.pairs.map { ($0.new.name, $0.old.name) }) { first, _ in first }
  }

  /// Returns the name that an entity of the old model has in the new model; nil if the new model does not have the
  /// entity.
  func newName(ofOld name: String) -> String? { newNames[name] }

  /// Returns the name that an entity of the new model has in the old model; nil if the old model does not have the
  /// entity.
  func oldName(ofNew name: String) -> String? { oldNames[name] }

  /// Returns the name of an entity whose hierarchy was merged with the hierarchy of the entity `name`: both have the
  /// same root entity in the new model, but different root entities in the old model. Nil if there is no such entity.
  /// All names are those of the new model.
  func entity(mergedWith name: String) -> String? {
    guard let root = hierarchies.oldRoots[name] else { return nil }
    return hierarchies.firstByNewRoot[Self.root(of: name, in: new)]?
      .first { hierarchies.oldRoots[$0] != root }
  }

  /// Returns the name that a relationship of an old entity has in the new model; nil if the entity or the relationship
  /// is gone.
  func newName(ofRelationship name: String, of entity: String) -> String? {
    if let known = relationshipNames[entity] { return known[name] }
    var names: [String: String] = [:]
    if let before = old.entities[entity], let after = newNames[entity].flatMap({ new.entities[$0] })
    {
      let pairing = Pairing(
        old: before.relationships, new: after.relationships, name: \.name,
        identifier: \.renamingIdentifier)
      names = Dictionary(pairing.pairs.map { ($0.old.name, $0.new.name) }) { first, _ in first }
    }
    relationshipNames[entity] = names
    return names[name]
  }

  /// The new names of relationships. The outer key is the old entity name, the inner key the old relationship name.
  /// The names for an entity are computed on first use.
  private var relationshipNames: [String: [String: String]] = [:]

  private struct Hierarchies {
    /// For each entity that both models have: the name of its topmost ancestor in the old model. The key is the
    /// entity's name in the new model.
    var oldRoots: [String: String] = [:]
    /// For each root entity of the new model: an entity of its hierarchy that is in both models. If the hierarchy
    /// combines several hierarchies of the old model, a second entity follows, which comes from a different one of
    /// them. All names are those in the new model.
    var firstByNewRoot: [String: [String]] = [:]
  }

  private lazy var hierarchies: Hierarchies = {
    var found = Hierarchies()
    for (oldEntity, newEntity) in pairs {
      let oldRoot = Self.root(of: oldEntity.name, in: old)
      found.oldRoots[newEntity.name] = oldRoot
      let root = Self.root(of: newEntity.name, in: new)
      let known = found.firstByNewRoot[root] ?? []
      if known.count < 2, !known.contains(where: { found.oldRoots[$0] == oldRoot }) {
        found.firstByNewRoot[root] = known + [newEntity.name]
      }
    }
    return found
  }()

  private static func root(of name: String, in model: ManagedObjectModel) -> String {
    model.ancestors(of: name).last?.name ?? name
  }
}
