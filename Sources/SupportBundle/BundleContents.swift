import SafeText

/// The entries of a bundle, read from the central directory of the archive and compared with the manifest.
package struct BundleContents: Sendable {
  package let manifest: BundleManifest
  /// The entries in the order of the archive, including the manifest's own entry. `listed` is what the manifest says
  /// about an entry; nil when the manifest does not list the entry. The manifest never lists `manifest.json`, its own
  /// entry.
  package let entries: [(entry: ZipReader.Entry, listed: BundleManifest.Entry?)]
  /// The differences between the manifest and the central directory: an entry that only one of them lists, or an entry
  /// for which they give different sizes. After these, the entries whose bytes were read and do not match the manifest.
  package let problems: [BundleVerification.Problem]

  /// The number of bytes that commands read in order to compare entries with the manifest, if they need not read the
  /// entries for another reason: 16 MiB. This is enough for the records of a bundle, but not for a large store.
  package static let comparedBytes: UInt64 = 16 << 20

  /// Reads the manifest of a bundle, and compares the manifest with the central directory of the archive. Also compares
  /// the bytes of entries with the manifest, in the order of the archive, and reads less than `limit` bytes for this. An
  /// entry that is too large for the rest of the limit is skipped. By default, no entry is read; ``BundleVerification``
  /// reads all entries.
  ///
  /// - Throws: `bundle.manifestMissing` when the archive has no manifest; `bundle.badManifest` when the manifest cannot
  ///   be read; `bundle.isReturn` for a returned store; the errors of reading the archive.
  package init(of reader: ZipReader, comparing limit: UInt64 = 0) throws(BundleError) {
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
    let changes = try Self.changes(pairs, in: reader, limit)
    problems =
      pairs.found.compactMap { entry, listed in
        listed?.sizeBytes == entry.size ? nil : BundlePairs.problem(entry, listed)
      } + pairs.missing.map(BundlePairs.problem) + changes
  }

  /// The entries whose bytes do not match the manifest, or cannot be decompressed. At most `limit` bytes are read.
  private static func changes(
    _ pairs: BundlePairs, in reader: ZipReader, _ limit: UInt64
  ) throws(BundleError) -> [BundleVerification.Problem] {
    var problems: [BundleVerification.Problem] = []
    var left = limit
    for (entry, listed) in pairs.found {
      guard let listed, listed.sizeBytes == entry.size, entry.size < left else { continue }
      left -= entry.size
      do throws(BundleError) {
        let sha256 = try reader.read(whole: entry) { _ in }
        if sha256 != listed.sha256 { problems.append(BundlePairs.change(of: entry)) }
      } catch {
        guard error.code.isOfArchive else { throw error }
        problems.append(.init(error.inside(path: reader.path, entry: entry.name)))
      }
    }
    return problems
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

  static func change(of entry: ZipReader.Entry) -> BundleVerification.Problem {
    .init(
      id: .entryChanged, message: "the SHA-256 is not what the manifest says", entry: entry.name,
      offset: entry.headerOffset)
  }

  static func problem(_ missing: BundleManifest.Entry) -> BundleVerification.Problem {
    .init(
      id: .entryMissing, message: "the manifest lists the entry, but the archive does not have it",
      entry: missing.name, offset: nil)
  }
}
