import ObjectModel
import SafeText

/// The models that a migration plan can lead through, and what is known of their order. Each of these models is called
/// a place.
struct PlanMap {
  typealias Place = MigrationPlan.Place

  static let maximumPlaces = 300

  private(set) var places: [Place] = []
  private(set) var start = 0
  private(set) var target = 0
  /// Whether the model of the store is one of the versions in the folder that contains the target version.
  private(set) var isStartAmongVersions = true
  let unread: [ModelCollection.Version]
  /// The version nearest to the store. Nil if a version fits the store, or if no version has the recorded hash of any
  /// entity of the store.
  private(set) var nearest: MigrationPlan.Nearest?
  /// Why the order of the versions may be wrong, as a clause; nil if nothing contradicts the order.
  private(set) var doubt: String?

  init(
    versions: [ModelCollection.Version], hashes: [String: VersionHash], model: ManagedObjectModel?,
    target: ModelCollection.Version
  ) {
    unread = versions.filter(\.isUnread)
    gather(versions, target: target)
    findStart(versions, hashes: hashes, model: model)
  }

  /// Whether the version names say that the target is older than the store's model.
  var namesGoBack: Bool { places[start].position > places[target].position }

  /// Makes the places of the plan from the versions in the target's folder. Versions with equal hashes share one place.
  private mutating func gather(
    _ versions: [ModelCollection.Version], target: ModelCollection.Version
  ) {
    let folder = PathText.folder(of: target.path)
    let family = versions.filter { PathText.isSame(PathText.folder(of: $0.path), folder) }
    doubt = ModelVersionOrder(ModelCollection(of: family)).doubt
    var groups: [[ModelCollection.Version]] = []
    var byHashes: [[String: VersionHash]: Int] = [:]
    var met: Set<[UInt8]> = []
    for version in family.prefix(Self.maximumPlaces) + [target] {
      guard met.insert(Array((version.path + "\0" + version.name).utf8)).inserted else { continue }
      let known = version.knownHashes
      let isWhole = !known.isEmpty && known.count == (version.model?.entities.count ?? known.count)
      if isWhole, let index = byHashes[known] {
        groups[index].append(version)
      } else {
        if isWhole { byHashes[known] = groups.count }
        groups.append([version])
      }
    }
    for (index, group) in groups.enumerated() {
      let first = group.first { $0.model != nil } ?? group[0]
      places.append(
        Place(
          versionNames: group.map(\.name), path: first.path, model: first.model,
          hashed: HashedModel(first), computed: first.hashes, position: index))
      if group.contains(where: { $0.path == target.path && $0.name == target.name }) {
        self.target = index
      }
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
    isStartAmongVersions = false
    doubt = "the store's model is not one of the versions in the folder of the target model"
    // If a version in another folder fits the store, then that version's model is used, otherwise the store's own
    // model.
    let elsewhere = fitting.first { $0.model != nil } ?? fitting.first
    let known = elsewhere?.model ?? model
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
        versionNames: fitting.map(\.name), path: elsewhere?.path, model: known,
        hashed: HashedModel(model: known, recorded: hashes), computed: elsewhere?.hashes,
        position: closest?.position ?? 0))
  }

  private static func agreement(_ place: Place, _ hashes: [String: VersionHash]) -> Int {
    hashes.count { place.hashed.candidates[$0.key]?.contains($0.value) == true }
  }

  /// Makes equal entities of different models share one value in memory, so that comparing such entities costs next to
  /// nothing. Adjacent versions have nearly all entities in common.
  mutating func shareEntities() {
    var pool: Set<Entity> = []
    for index in places.indices {
      guard var model = places[index].model else { continue }
      for (name, entity) in model.entities {
        model.entities[name] = pool.insert(entity).memberAfterInsert
      }
      places[index].model = model
    }
  }

  /// Whether the store has no entity in common with any version, so that a migration would keep nothing of the store.
  var isForeign: Bool {
    let known = places[start].hashed.candidates.keys
    guard places[start].path == nil, let model = places[target].model else { return false }
    var names = Set(model.entities.values.compactMap(\.renamingIdentifier))
    for place in places where place.path != nil { names.formUnion(place.hashed.candidates.keys) }
    return names.isDisjoint(with: known)
  }
}
