import SafeText

/// The entries of a bundle as the archive's central directory lists them, compared with the manifest.
package struct BundleContents: Sendable, Equatable {
  package struct Entry: Sendable, Equatable {
    package let name: String
    /// The uncompressed size in bytes, as the archive announces it.
    package let sizeBytes: UInt64
    package let compressedBytes: UInt64
    /// The entry of the same name in the manifest; nil when the manifest does not list this entry. A manifest never
    /// lists itself.
    package let listed: BundleManifest.Entry?
  }

  package let manifest: BundleManifest
  /// The entries in the order of the archive, including the manifest's own entry.
  package let entries: [Entry]
  /// Contradictions between manifest and archive: entries that only the manifest or only the archive has, and entries
  /// whose sizes differ between the two. The bytes of entries are not compared; ``BundleVerification`` does that.
  package let problems: [BundleVerification.Problem]

  /// Compares the directory of an archive with its manifest.
  ///
  /// - Throws: `bundle.manifestMissing` when the archive has no manifest; `bundle.badManifest` when the manifest cannot
  ///   be read; the errors of reading the archive.
  package init(of reader: ZipReader) throws(BundleError) {
    guard let own = reader.entry(named: BundleManifest.entryName) else {
      throw BundleError(
        .manifestMissing, "the archive holds no manifest.json: it is not a bundle",
        path: reader.path)
    }
    manifest = try Self.manifest(own, of: reader)
    let pairs = BundlePairs(manifest, reader.entries)
    var listed = pairs.found.map(\.listed)[...]
    entries = reader.entries.map { entry in
      let isManifest = PathText.isSame(entry.name, BundleManifest.entryName)
      return Entry(
        name: entry.name, sizeBytes: entry.size, compressedBytes: entry.compressedSize,
        listed: isManifest ? nil : listed.popFirst() ?? nil)
    }
    problems =
      pairs.found.compactMap { entry, listed in
        listed?.sizeBytes == entry.size ? nil : BundlePairs.problem(entry, listed)
      } + pairs.missing.map(BundlePairs.problem)
  }

  private static func manifest(
    _ entry: ZipReader.Entry, of reader: ZipReader
  ) throws(BundleError) -> BundleManifest {
    do throws(BundleError) {
      let json = try reader.bytes(of: entry, limit: BundleManifest.maxBytes)
      return try BundleManifest(json: json)
    } catch {
      throw error.inside(path: reader.path, entry: entry.name)
    }
  }
}

/// Pairs the entries of an archive with the entries that its manifest lists. Names are compared by their bytes.
struct BundlePairs {
  /// The archive's entries except the manifest itself, each with the entry of the same name in the manifest. `listed`
  /// is nil when the manifest does not list the archive's entry.
  private(set) var found: [(entry: ZipReader.Entry, listed: BundleManifest.Entry?)] = []
  /// The entries that the manifest lists and the archive lacks.
  private(set) var missing: [BundleManifest.Entry] = []
  /// Whether the archive has exactly the entries that the manifest lists, in the same order. The manifest itself does
  /// not count.
  let isInOrder: Bool

  init(_ manifest: BundleManifest, _ entries: [ZipReader.Entry]) {
    var listed: [[UInt8]: BundleManifest.Entry] = [:]
    for entry in manifest.entries { listed[Array(entry.name.utf8)] = entry }
    for entry in entries where !PathText.isSame(entry.name, BundleManifest.entryName) {
      found.append((entry, listed.removeValue(forKey: Array(entry.name.utf8))))
    }
    missing = manifest.entries.filter { listed[Array($0.name.utf8)] != nil }
    isInOrder =
      found.count == manifest.entries.count
      && zip(found, manifest.entries).allSatisfy { PathText.isSame($0.entry.name, $1.name) }
  }

  static func problem(_ entry: ZipReader.Entry, _ listed: BundleManifest.Entry?)
    -> BundleVerification.Problem
  {
    .init(
      id: listed == nil ? .entryUnlisted : .entryChanged,
      message: listed == nil
        ? "the manifest does not list this entry" : "the size is not what the manifest says",
      entry: entry.name, offset: listed == nil ? nil : entry.headerOffset)
  }

  static func problem(_ missing: BundleManifest.Entry) -> BundleVerification.Problem {
    .init(
      id: .entryMissing, message: "the manifest lists the entry, but the archive does not have it",
      entry: missing.name, offset: nil)
  }
}
