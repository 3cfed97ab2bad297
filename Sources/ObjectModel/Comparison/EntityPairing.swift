/// Which entity of the old model is which of the new one, and where both stand in their hierarchies.
struct EntityPairing {
  let old: ManagedObjectModel
  let new: ManagedObjectModel
  /// In the order of the new names.
  let pairs: [(old: Entity, new: Entity)]
  let added: [Entity]
  let removed: [Entity]
  private let newNames: [String: String]
  private let oldNames: [String: String]
  /// Per entity that both models have, by its new name: the old name of the topmost ancestor.
  private let oldRoots: [String: String]
  /// For the topmost ancestors in the new model: of the entities below them that the old model has too,
  /// the first one of each of the first two hierarchies that they come from.
  private let strangers: [String: [String]]
  /// Where the properties of either model are declared, by what the rule of renaming compares: an
  /// old one goes by its renaming identifier and its name, a new one by its canonical name.
  let oldAttributes: PropertyHomes<Attribute>
  let newAttributes: PropertyHomes<Attribute>
  let oldRelationships: PropertyHomes<Relationship>
  let newRelationships: PropertyHomes<Relationship>

  init(old: ManagedObjectModel, new: ManagedObjectModel) {
    self.old = old
    self.new = new
    let pairing = Pairing(
      old: old.entityNames.compactMap { old.entities[$0] },
      new: new.entityNames.compactMap { new.entities[$0] }, name: \.name,
      identifier: \.renamingIdentifier)
    pairs = pairing.pairs
    added = pairing.added
    removed = pairing.removed
    newNames = Dictionary(pairing.pairs.map { ($0.old.name, $0.new.name) }) { first, _ in first }
    oldNames = Dictionary(pairing.pairs.map { ($0.new.name, $0.old.name) }) { first, _ in first }
    var roots: [String: String] = [:]
    var strangers: [String: [String]] = [:]
    for (oldEntity, newEntity) in pairing.pairs {
      let oldRoot = Self.root(of: oldEntity.name, in: old)
      roots[newEntity.name] = oldRoot
      let root = Self.root(of: newEntity.name, in: new)
      let known = strangers[root] ?? []
      if known.count < 2, !known.contains(where: { roots[$0] == oldRoot }) {
        strangers[root] = known + [newEntity.name]
      }
    }
    self.strangers = strangers
    let before = HierarchyPositions(old, children: old.subentityNames())
    let after = HierarchyPositions(new, children: new.subentityNames())
    oldAttributes = PropertyHomes(old, before, \.attributes) {
      [$0.renamingIdentifier ?? $0.name, $0.name]
    }
    newAttributes = PropertyHomes(new, after, \.attributes) { [$0.renamingIdentifier ?? $0.name] }
    oldRelationships = PropertyHomes(old, before, \.relationships) {
      [$0.renamingIdentifier ?? $0.name, $0.name]
    }
    newRelationships = PropertyHomes(new, after, \.relationships) {
      [$0.renamingIdentifier ?? $0.name]
    }
    oldRoots = roots
  }

  /// The new name of an entity of the old model; nil when it is gone.
  func newName(ofOld name: String) -> String? { newNames[name] }

  /// The old name of an entity of the new model; nil when it is new.
  func oldName(ofNew name: String) -> String? { oldNames[name] }

  /// Another entity that was in another hierarchy before and is in the same one now; the argument is
  /// a new name. Core Data does not merge hierarchies.
  func stranger(to name: String) -> String? {
    guard let root = oldRoots[name] else { return nil }
    return strangers[Self.root(of: name, in: new)]?.first { oldRoots[$0] != root }
  }

  /// Whether one entity of the new model is the other or one of its ancestors.
  func isAncestor(_ ancestor: String, of name: String) -> Bool {
    ancestor == name || new.ancestors(of: name).contains { $0.name == ancestor }
  }

  private static func root(of name: String, in model: ManagedObjectModel) -> String {
    model.ancestors(of: name).last?.name ?? name
  }
}
