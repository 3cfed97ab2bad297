import ObjectModel

/// The pairs of corresponding entities in an old and a new model, and what is known of the two hierarchies.
final class EntityPairing {
  let oldIndex: ModelIndex
  let newIndex: ModelIndex
  /// The entities that both models have, sorted by the new name.
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

  /// The new name of an entity of the old model; nil if the new model does not have the entity.
  func newName(ofOld name: String) -> String? { newNames[name] }

  /// The old name of an entity of the new model; nil if the old model does not have the entity.
  func oldName(ofNew name: String) -> String? { oldNames[name] }

  /// The new name of an entity that has a common ancestor with the entity `name` in the new model but not in the old
  /// one; nil if there is no such entity. `name` is a new name too. Core Data does not merge two hierarchies in this
  /// way.
  func entity(mergedWith name: String) -> String? {
    guard let root = hierarchies.oldRoots[name] else { return nil }
    return hierarchies.firstByNewRoot[Self.root(of: name, in: new)]?
      .first { hierarchies.oldRoots[$0] != root }
  }

  private struct Hierarchies {
    /// The old name of the topmost ancestor of each entity that both models have, by the entity's new name.
    var oldRoots: [String: String] = [:]
    /// For each topmost ancestor in the new model, by name: at most two entities below it that both models have. They
    /// come from two different hierarchies of the old model.
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
