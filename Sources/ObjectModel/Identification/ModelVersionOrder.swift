/// Which versions of a model are older and which newer.
///
/// Neither a source nor a compiled model carries a date. What there is:
/// 1. the names, in natural order: `Moody`, `Moody 2`, … `Moody 10`. Xcode proposes such names.
/// 2. the marker of the current version, which is the newest one in an app that was released.
/// 3. the entities' hashes: neighbours have more of them in common than versions further apart.
///
/// The names give the order. The other two can only speak against it, and then the order is uncertain;
/// who names versions by anything else than their age gets no answer rather than a wrong one.
public struct ModelVersionOrder: Sendable {
  /// The versions, the oldest first.
  public let versions: [ModelCollection.Version]

  /// Why the order may be wrong, as a clause; nil when names, marker and similarity agree.
  public let doubt: String?

  /// Orders the versions of one bundle or folder.
  public init(_ collection: ModelCollection) {
    versions = collection.versions
    doubt = Self.doubt(collection)
  }

  /// Where a version stands in the order; nil when it is of another collection.
  func index(of version: ModelCollection.Version) -> Int? {
    versions.firstIndex { $0.path == version.path && $0.name == version.name }
  }

  private static func doubt(_ collection: ModelCollection) -> String? {
    let versions = collection.versions
    guard versions.count > 1 else { return nil }
    let folders = Set(versions.map { folder(of: $0.path) })
    if folders.count > 1 {
      return "the versions are from \(folders.count) different places"
    }
    if let marked = versions.firstIndex(where: \.isMarkedCurrent), marked < versions.count - 1 {
      return "`\(versions[marked].name)` is marked as current, but "
        + "`\(versions[versions.count - 1].name)` comes later by name"
    }
    return similarityDoubt(versions)
  }

  /// Of three successive versions, the outer ones must not have more in common than both have with
  /// the middle one.
  private static func similarityDoubt(_ versions: [ModelCollection.Version]) -> String? {
    let hashes = versions.map(\.knownHashes)
    for middle in hashes.indices.dropFirst().dropLast() {
      let (before, after) = (hashes[middle - 1], hashes[middle + 1])
      let outer = common(before, after)
      if outer > common(before, hashes[middle]), outer > common(hashes[middle], after) {
        return "`\(versions[middle - 1].name)` and `\(versions[middle + 1].name)` have more in "
          + "common with each other than with `\(versions[middle].name)` between them"
      }
    }
    return nil
  }

  private static func common(_ one: [String: VersionHash], _ other: [String: VersionHash]) -> Int {
    one.count { other[$0.key] == $0.value }
  }

  fileprivate static func folder(of path: String) -> String {
    path.split(separator: "/").dropLast().joined(separator: "/")
  }
}

extension ModelCollection {
  /// The bundles in it, each with its own order and marker: what lies in a folder with a version that
  /// is marked as current. The collection as a whole, where no version is.
  var bundles: [ModelCollection] {
    var folders: [String] = []
    var members: [String: [Version]] = [:]
    for version in versions {
      let folder = ModelVersionOrder.folder(of: version.path)
      if members[folder] == nil { folders.append(folder) }
      members[folder, default: []].append(version)
    }
    let marked = folders.compactMap { members[$0] }.filter { $0.contains(where: \.isMarkedCurrent) }
    return marked.isEmpty ? [self] : marked.map { ModelCollection(versions: $0) }
  }
}
