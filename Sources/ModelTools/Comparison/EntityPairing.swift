import ObjectModel

/// Pairs the entities of an old and a new model, and knows their positions in the hierarchies.
final class EntityPairing {
  let oldIndex: ModelIndex
  let newIndex: ModelIndex
  /// The entities in both models, in the order of the new names.
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

  /// The new name of an entity of the old model; nil when it is gone.
  func newName(ofOld name: String) -> String? { newNames[name] }

  /// The old name of an entity of the new model; nil when it is new.
  func oldName(ofNew name: String) -> String? { oldNames[name] }

  /// An entity that shares a hierarchy with the entity `name` (a new name) in the new model but not in the old one.
  /// Core Data does not merge hierarchies.
  func entity(mergedWith name: String) -> String? {
    guard let root = hierarchies.oldRoots[name] else { return nil }
    return hierarchies.firstByOldRoot[Self.root(of: name, in: new)]?
      .first { hierarchies.oldRoots[$0] != root }
  }

  private struct Hierarchies {
    /// For each entity in both models, by its new name: the old name of its topmost ancestor.
    var oldRoots: [String: String] = [:]
    /// For each topmost ancestor in the new model: up to two entities below it that are also in the old model, the
    /// first from each of the first two old hierarchies.
    var firstByOldRoot: [String: [String]] = [:]
  }

  private lazy var hierarchies: Hierarchies = {
    var found = Hierarchies()
    for (oldEntity, newEntity) in pairs {
      let oldRoot = Self.root(of: oldEntity.name, in: old)
      found.oldRoots[newEntity.name] = oldRoot
      let root = Self.root(of: newEntity.name, in: new)
      let known = found.firstByOldRoot[root] ?? []
      if known.count < 2, !known.contains(where: { found.oldRoots[$0] == oldRoot }) {
        found.firstByOldRoot[root] = known + [newEntity.name]
      }
    }
    return found
  }()

  private static func root(of name: String, in model: ManagedObjectModel) -> String {
    model.ancestors(of: name).last?.name ?? name
  }
}
