package import ObjectModel
import SafeText

/// The versions of a model, ordered from the oldest to the newest.
///
/// Neither an `.xcdatamodel` nor a compiled model carries a date. The evidence is:
/// 1. the numbers in the names: `Moody`, `Moody 2`, … `Moody 10`. Xcode proposes the next number as the name of a new
///   version, and leaves the first version without a number.
/// 2. the marker of the current version. In a released app, the current version is the newest.
/// 3. the hashes of the entities. Adjacent versions have more hashes in common than versions further apart.
///
/// The numbers determine the order. The marker and the hashes can only contradict it. If the marker or the hashes
/// contradict the order, or if the names are not numbered in the same way, then the order is unknown. An unknown order
/// does less harm than a wrong one.
package struct ModelVersionOrder: Sendable {
  /// The versions in the natural order of their names. This is the order from oldest to newest, unless there is a
  /// ``doubt``.
  package let versions: [ModelCollection.Version]

  /// A clause that says why the order of the versions by age is uncertain. Nil if the version names contain numbers
  /// that give an order, and nothing else contradicts this order: neither the marker of the current version nor the
  /// hashes.
  package let doubt: String?

  package init(_ collection: ModelCollection) {
    versions = collection.versions
    doubt = Self.doubt(collection)
  }

  func index(of version: ModelCollection.Version) -> Int? {
    versions.firstIndex { $0.path == version.path && $0.name == version.name }
  }

  private static func doubt(_ collection: ModelCollection) -> String? {
    let versions = collection.versions
    guard versions.count > 1 else { return nil }
    let folders = Set(versions.map { PathText.folder(of: $0.path) })
    if folders.count > 1 {
      return "the versions are from \(folders.count) different folders"
    }
    if let marked = versions.firstIndex(where: \.isMarkedCurrent), marked < versions.count - 1 {
      return "`\(versions[marked].name)` is marked as current, but "
        + "`\(versions[versions.count - 1].name)` comes later by name"
    }
    return numberDoubt(versions.map(\.name)) ?? similarityDoubt(versions)
  }

  // MARK: Numbers

  /// Returns why the names do not form a numbered series, as a clause; nil if they do. In a numbered series, each name
  /// is the same stem with a different number, for example `Notes 1.2`. The first name may be the stem alone.
  private static func numberDoubt(_ names: [String]) -> String? {
    guard let first = names.first else { return nil }
    // In natural order, the name without a number comes first, so the first name may be the stem.
    let stem = Array(first.utf8)
    let odd = firstOdd(names.dropFirst()) { name in
      guard name.starts(with: stem), let number = VersionNumber(name[stem.count...]),
        number.isWhole
      else { return nil }
      return number.parts
    }
    guard let odd else { return nil }
    guard let own = VersionNumber(stem[...]) else { return unlike(first, odd) }
    return firstOdd(names[...]) { name in
      guard let number = VersionNumber(name[...]), number.rest == own.rest else { return nil }
      return number.parts
    }.map { unlike(first, $0) }
  }

  private static func unlike(_ one: String, _ other: String) -> String {
    "`\(one)` and `\(other)` are not numbered in the same way"
  }

  /// Returns the first name that has no number, or the same number as an earlier name. Nil if all names have different
  /// numbers. `number` returns the number of a name.
  private static func firstOdd(
    _ names: ArraySlice<String>, number: ([UInt8]) -> [[UInt8]]?
  ) -> String? {
    var met: Set<[[UInt8]]> = []
    return names.first { name in
      guard let number = number(Array(name.utf8)) else { return true }
      return !met.insert(number).inserted
    }
  }

  /// A version number at the end of a name: digits, with dots between the parts.
  private struct VersionNumber {
    /// The parts of the version number between its dots, without leading zeros.
    let parts: [[UInt8]]
    /// The version's name without the version number at its end.
    let rest: [UInt8]
    /// Whether the name is only a version number. ``rest`` may then contain nothing but spaces, `-`, `_`, `.` and one
    /// `v`.
    var isWhole: Bool {
      let joints = Set(" -_.".utf8)
      let bare = rest.filter { !joints.contains($0) }
      return bare.isEmpty || bare == [UInt8(ascii: "v")] || bare == [UInt8(ascii: "V")]
    }

    init?(_ name: ArraySlice<UInt8>) {
      let isDigit = { (byte: UInt8) in (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
      var start = name.endIndex
      while start > name.startIndex,
        isDigit(name[start - 1]) || name[start - 1] == UInt8(ascii: ".")
      {
        start -= 1
      }
      while start < name.endIndex, !isDigit(name[start]) { start += 1 }
      guard start < name.endIndex, isDigit(name[name.endIndex - 1]) else { return nil }
      parts = name[start...].split(separator: UInt8(ascii: ".")).map {
        Array($0.drop { $0 == UInt8(ascii: "0") })
      }
      rest = Array(name[..<start])
    }
  }

  // MARK: Similarity

  /// Returns a reason to doubt the order of the versions, as a clause; nil if there is no doubt. For example, in the
  /// order 1, 2, 3 there is a doubt if versions 1 and 3 share more hashes with each other than either of them shares
  /// with version 2.
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
}

extension ModelCollection {
  /// The parts of the collection whose versions are ordered separately. Each folder with a version that is marked as
  /// current is one part. Versions in other folders are left out; ``ModelIdentification`` reports a doubt if the store
  /// fits one of them. If no version is marked, the whole collection is one part.
  var bundles: [ModelCollection] {
    var folders: [String] = []
    var members: [String: [Version]] = [:]
    for version in versions {
      let folder = PathText.folder(of: version.path)
      if members[folder] == nil { folders.append(folder) }
      members[folder, default: []].append(version)
    }
    let marked = folders.compactMap { members[$0] }.filter { $0.contains(where: \.isMarkedCurrent) }
    return marked.isEmpty ? [self] : marked.map { ModelCollection(of: $0) }
  }
}
