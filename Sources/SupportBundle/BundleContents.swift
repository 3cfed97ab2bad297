import SafeText

/// The entries of a bundle, read from the central directory of the archive and compared with the manifest.
package struct BundleContents: Sendable {
  package let manifest: BundleManifest
  /// The entries in the order of the archive, including the manifest's own entry. `listed` is what the manifest says
  /// about an entry; nil when the manifest does not list the entry. The manifest never lists `manifest.json`, its own
  /// entry.
  package let entries: [(entry: ZipReader.Entry, listed: BundleManifest.Entry?)]
  /// The differences between the manifest and the central directory: an entry that only one of them lists, or an entry
  /// for which they give different sizes. The bytes of the entries are not read here; ``BundleVerification`` checks the
  /// bytes.
  package let problems: [BundleVerification.Problem]

  /// Reads the manifest of a bundle, and compares the manifest with the central directory of the archive.
  ///
  /// - Throws: `bundle.manifestMissing` when the archive has no manifest; `bundle.badManifest` when the manifest cannot
  ///   be read; the errors of reading the archive.
  package init(of reader: ZipReader) throws(BundleError) {
    guard let own = reader.entry(named: BundleManifest.entryName) else {
      throw BundleError(
        .manifestMissing, "the archive holds no manifest.json: it is not a bundle",
        path: reader.path)
    }
    do throws(BundleError) {
      manifest = try BundleManifest(json: reader.bytes(of: own, limit: BundleManifest.maxBytes))
    } catch {
      throw error.inside(path: reader.path, entry: own.name)
    }
    let pairs = BundlePairs(manifest, reader.entries)
    var listed = pairs.found.map(\.listed)[...]
    entries = reader.entries.map { entry in
      let isManifest = PathText.isSame(entry.name, BundleManifest.entryName)
      return (entry, isManifest ? nil : listed.popFirst() ?? nil)
    }
    problems =
      pairs.found.compactMap { entry, listed in
        listed?.sizeBytes == entry.size ? nil : BundlePairs.problem(entry, listed)
      } + pairs.missing.map(BundlePairs.problem)
  }
}

/// Pairs each entry of an archive with the entry of the same name in the manifest. Names are compared by their bytes.
struct BundlePairs {
  /// All entries of the archive except `manifest.json`, in the order of the archive. `listed` is the manifest's entry
  /// of the same name; nil when the manifest does not list the name.
  private(set) var found: [(entry: ZipReader.Entry, listed: BundleManifest.Entry?)] = []
  /// The entries that the manifest lists, but that are not in the archive.
  private(set) var missing: [BundleManifest.Entry] = []
  /// Whether the archive has exactly the entries that the manifest lists, in the same order. The entry `manifest.json`
  /// is ignored.
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
