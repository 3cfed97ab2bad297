import CLibrary
import SafeText

/// Unpacks a bundle into a new folder. The names of the entries were checked when the bundle was opened: no name leads
/// out of the folder, and no two names denote the same file on any system. No existing file is written to.
package struct BundleExtraction {
  /// An entry of the archive, and the manifest's entry of the same name. `listed` is nil for `manifest.json`, which the
  /// manifest does not list.
  private typealias Item = (entry: ZipReader.Entry, listed: BundleManifest.Entry?)

  /// An entry that was not unpacked, and why.
  package struct Skipped: Sendable, Equatable, Encodable {
    package let name: String
    package let reason: String
  }

  package let manifest: BundleManifest
  /// The number of entries that will be unpacked.
  package var entryCount: Int { items.count }
  /// The total uncompressed size, in bytes, of the entries that will be unpacked.
  package private(set) var totalBytes: UInt64 = 0
  private var items: [Item] = []
  /// The entries that are not unpacked because they are in the archive but not in the manifest, or in the manifest but
  /// not in the archive.
  private var unlisted: [Skipped] = []
  private let reader: ZipReader

  /// The maximum number of bytes that are unpacked for each byte of the archive, unless the caller sets another limit.
  /// Deflate can reach a ratio of about 1,000. In bundles of real stores, the ratio is only about 20.
  package static let growthLimit: UInt64 = 100
  /// The number of bytes that may always be unpacked: 64 MiB. For a small archive, ``growthLimit`` alone would allow
  /// fewer bytes.
  package static let freeBytes: UInt64 = 64 << 20

  /// Plans to unpack a bundle, but writes nothing yet. `maxBytes` limits the total size of the unpacked entries. If
  /// `maxBytes` is nil, the limit depends on the archive's size (``growthLimit``, ``freeBytes``).
  ///
  /// - Throws: `bundle.tooLarge` when the entries together exceed the limit; the errors of ``ZipReader`` and
  ///   ``BundleContents``.
  package init(_ bundle: BundleFile, maxBytes: UInt64? = nil) throws(BundleError) {
    reader = try ZipReader(bundle)
    let contents = try BundleContents(of: reader)
    manifest = contents.manifest
    unlisted = contents.problems.filter { $0.id == .entryMissing }.map {
      Skipped(
        name: $0.entry ?? "", reason: "it is not in the archive, although the manifest lists it")
    }
    for (entry, listed) in contents.entries {
      let isManifest = PathText.isSame(entry.name, BundleManifest.entryName)
      guard isManifest || listed != nil else {
        unlisted.append(Skipped(name: entry.name, reason: "the manifest does not list it"))
        continue
      }
      items.append((entry, listed))
      // This sum cannot overflow, because `ZipReader` has added up all sizes already.
      totalBytes += entry.size
    }
    let (grown, overflows) = reader.size.multipliedReportingOverflow(by: Self.growthLimit)
    let limit = maxBytes ?? (overflows ? .max : max(grown, Self.freeBytes))
    guard totalBytes <= limit else {
      throw BundleError(
        .tooLarge,
        "the bundle of \(reader.size) bytes would unpack to \(totalBytes) bytes, and the limit is \(limit)",
        path: reader.path)
    }
  }

  /// Unpacks the bundle into a folder that does not exist yet. After an error, no file or folder is left behind.
  ///
  /// - Parameters:
  ///   - folder: the path of the folder.
  ///   - isCancelled: called about once per 256 KiB. If it returns true, the work ends with `bundle.cancelled`.
  ///   - making: called for each new file and folder (``OutputTree/Making``).
  /// - Returns: the entries that were not unpacked because they do not match the manifest, with the reason for each.
  /// - Throws: `bundle.outputExists`, `bundle.cannotCreate`, `bundle.writeFailed`, `bundle.cancelled`.
  package func write(
    to folder: String, isCancelled: () -> Bool, making: @escaping OutputTree.Making
  ) throws -> [Skipped] {
    let bare = PathText.withoutTrailingSlashes(folder)
    let name = PathText.lastComponent(of: bare)
    guard PathText.isPlainName(name) else {
      throw BundleError(
        .cannotCreate, "the output path does not end with a name for a new folder", path: folder)
    }
    let tree = try OutputTree(in: PathText.folder(of: bare), making: making)
    do {
      try tree.makeFolder([name], mode: 0o700)
      return try write(to: tree, name, isCancelled)
    } catch {
      tree.discard()
      throw error
    }
  }

  /// Unpacks the bundle into the folder `name`, which `tree` has made. Returns the entries that were not unpacked.
  fileprivate func write(
    to tree: OutputTree, _ name: String, _ isCancelled: () -> Bool
  ) throws -> [Skipped] {
    var skipped = unlisted
    for item in items where !item.entry.isFolder {
      if let reason = try unpack(item, to: tree, [name], isCancelled) {
        skipped.append(Skipped(name: item.entry.name, reason: reason))
      }
    }
    return skipped
  }

  /// Unpacks an entry if the entry's bytes match the manifest. Returns the reason if the entry was not unpacked,
  /// otherwise nil.
  private func unpack(
    _ item: Item, to tree: OutputTree, _ folder: [String], _ isCancelled: () -> Bool
  ) throws -> String? {
    // The entry is read twice. The first reading checks the bytes, so that a file is made only for bytes that match the
    // manifest.
    do {
      let sha256 = try reader.read(item.entry) { _ in
        if isCancelled() { throw MeasuredBundle.cancelled }
      }
      guard item.listed.map({ $0.sha256 == sha256 }) ?? true else {
        return "its SHA-256 is not what the manifest says"
      }
    } catch let error as BundleError where error.code != .cancelled && error.code != .readFailed {
      return error.message
    }
    let parts = folder + ZipNames.components(of: item.entry.name)
    try tree.makeFolders(above: parts, mode: 0o700)
    let file = try tree.makeFile(parts, mode: 0o600)
    defer { _ = close(file) }
    try reader.read(item.entry) { try OutputTree.write($0, to: file, path: item.entry.name) }
    return nil
  }
}

/// A bundle that was unpacked into a private folder for reading. The folder is removed when this object is deallocated.
package final class UnpackedBundle {
  package var path: String { folder.path }
  package let manifest: BundleManifest
  package let skipped: [BundleExtraction.Skipped]
  private let folder: PrivateFolder

  /// Unpacks a bundle into a new folder in the system's temporary folder. `making` is called for each new file and
  /// folder (``OutputTree/Making``). After an error, no file or folder is left behind.
  package init(_ bundle: BundleFile, making: @escaping OutputTree.Making) throws {
    let extraction = try BundleExtraction(bundle)
    manifest = extraction.manifest
    folder = try PrivateFolder(making: making)
    skipped = try extraction.write(to: folder.tree, folder.name, { false })
  }
}
