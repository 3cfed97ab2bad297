import CLibrary
package import Foundation
import SafeText

/// The parts of a zip archive that hold stores and models, in a private folder that is removed when this object is released.
///
/// The archive may be a support bundle, a zipped app (`.ipa`) or a zipped folder of models. Only stores with
/// their logs and external data, models and recorded hashes are unpacked; the archive is evidence, so nothing is written near it.
package final class UnpackedArchive {
  /// The most bytes that are unpacked.
  package static let byteLimit: UInt64 = 8 << 30
  /// The most entries that are unpacked.
  package static let entryLimit = 10_000

  /// The folder with the unpacked parts, under their names in the archive.
  package var folder: URL { URL(fileURLWithPath: privateFolder.path, isDirectory: true) }
  /// Whether the archive is a Lifeboat support bundle.
  package let isBundle: Bool

  /// Whether a file starts like a zip archive; also false when it cannot be read.
  package static func isZip(_ path: String) -> Bool {
    guard let file = try? InputFile(path: path, followsLink: true),
      let lead = try? file.bytes(at: 0, count: 4)
    else { return false }
    return isZip(lead: lead)
  }

  /// Whether a file with these first bytes is a zip archive.
  package static func isZip(lead: [UInt8]) -> Bool {
    lead.starts(with: [0x50, 0x4B, 0x03, 0x04]) || lead.starts(with: [0x50, 0x4B, 0x05, 0x06])
  }

  /// Unpacks what may hold a model. `making` is called with the path of each folder and file and a closure that creates
  /// it and returns whether it exists afterwards.
  ///
  /// - Throws: ``BundleError`` about the archive or the private folder.
  package init(
    _ file: BundleFile, making: @escaping (String, () -> Bool) -> Void = { _ = $1() }
  ) throws {
    let reader = try ZipReader(file)
    isBundle = reader.entry(named: BundleManifest.entryName) != nil
    let stores = Self.stores(in: reader)
    let wanted = reader.entries.filter { entry in
      !entry.isFolder && (Self.isWanted(entry.name) || stores.contains(Array(entry.name.utf8)))
    }
    // The text of a link is not the file that it leads to, and nothing outside of an archive is read for it.
    if let link = wanted.first(where: \.isLink) {
      throw BundleError(
        .unsupported, "a symbolic link stands where a file of a store or model is expected",
        path: reader.path, entry: link.name)
    }
    try Self.check(wanted, of: reader)
    privateFolder = try PrivateFolder(
      in: FileManager.default.temporaryDirectory.path, making: making)
    for entry in wanted { try unpack(entry, of: reader) }
  }

  private let privateFolder: PrivateFolder

  // MARK: - Limits

  /// The most bytes of JSON and of property lists, which are read as a whole.
  static let recordLimit: UInt64 = 4 << 20
  /// The most bytes of one model, which is read as a whole. Real models have less than a quarter of this.
  static let modelLimit: UInt64 = 16 << 20
  /// How many bytes may be unpacked for each byte of the archive. A store that compresses better is almost empty.
  static let growthLimit: UInt64 = 20
  /// How many bytes may be unpacked from any archive, however small it is.
  static let freeBytes: UInt64 = 1 << 20

  /// Checks the announced sizes before the first byte is written.
  private static func check(
    _ wanted: [ZipReader.Entry], of reader: ZipReader
  ) throws(BundleError) {
    guard wanted.count <= entryLimit else {
      throw BundleError(
        .tooLarge,
        "the archive has \(wanted.count) files of stores and models, and the limit is \(entryLimit)",
        path: reader.path)
    }
    var total: UInt64 = 0
    for entry in wanted {
      let limit = limit(of: entry.name)
      guard entry.size <= limit else {
        throw BundleError(
          .tooLarge, "the entry would unpack to \(entry.size) bytes, and the limit is \(limit)",
          path: reader.path, entry: entry.name)
      }
      // No overflow: the reader has summed all sizes already.
      total += entry.size
    }
    guard total <= byteLimit else {
      throw BundleError(
        .tooLarge,
        "the stores and models would unpack to \(total) bytes, and the limit is \(byteLimit)",
        path: reader.path)
    }
    let (grown, overflow) = reader.size.multipliedReportingOverflow(by: growthLimit)
    guard overflow || total <= max(grown, freeBytes) else {
      throw BundleError(
        .tooLarge,
        "the stores and models would unpack to \(total) bytes, more than \(growthLimit) times the size of the archive, \(reader.size) bytes",
        path: reader.path)
    }
  }

  private static func limit(of name: String) -> UInt64 {
    let last = PathText.lastComponent(of: name)
    if PathText.isSame(name, hashesName) || isIn(last, [".xccurrentversion", "VersionInfo.plist"]) {
      return recordLimit
    }
    let isModel =
      isIn(last, ["contents", "elements", "xcmapping.xml"])
      || isIn(PathText.ending(of: last), ["mom", "omo", "cdm"])
    return isModel ? modelLimit : byteLimit
  }

  // MARK: - Stores

  /// The first bytes of every SQLite database (https://sqlite.org/fileformat.html, 1.3.1).
  private static let magic = Array("SQLite format 3".utf8) + [0]

  /// The names of entries that begin like a store, whatever their extension is, and of the logs and journals beside them.
  private static func stores(in reader: ZipReader) -> Set<[UInt8]> {
    struct Enough: Error {}
    var names: Set<[UInt8]> = []
    for entry in reader.entries.prefix(entryLimit)
    where !entry.isFolder && entry.size >= 512 && !isWanted(entry.name) {
      var lead: [UInt8] = []
      // What cannot be unpacked is no store.
      _ = try? reader.read(entry) { bytes in
        lead += bytes.prefix(magic.count - lead.count)
        if lead.count == magic.count { throw Enough() }
      }
      guard lead == magic else { continue }
      for suffix in ["", "-wal", "-journal"] { names.insert(Array((entry.name + suffix).utf8)) }
    }
    return names
  }

  // MARK: - Parts

  private func unpack(_ entry: ZipReader.Entry, of reader: ZipReader) throws {
    let file = try privateFolder.makeFile(ZipNames.components(of: entry.name))
    defer { _ = close(file) }
    try reader.read(entry) { try OutputTree.write($0, to: file, path: entry.name) }
  }

  /// The version hashes in a bundle.
  package static let hashesName = "hashes.json"

  /// Whether an entry may hold a model: .xcdatamodel files, compiled models, hashes, and stores. A store may have any
  /// name, so in a bundle all of `store/` counts, elsewhere the usual extensions.
  static func isWanted(_ name: String) -> Bool {
    let parts = PathText.components(of: name)
    guard let first = parts.first, let last = parts.last else { return false }
    if parts.count > 1, PathText.isSame(first, "store") { return true }
    // Values of a store that are in files of their own.
    if parts.dropLast().contains(where: { PathText.isSame($0, "_EXTERNAL_DATA") }) { return true }
    if PathText.isSame(name, hashesName) { return true }
    if parts.dropLast().contains(where: { PathText.ends($0, with: ".xcdatamodel") }) {
      return isIn(last, ["contents", "elements"])
    }
    if isIn(last, [".xccurrentversion", "VersionInfo.plist", "xcmapping.xml"]) { return true }
    let endings = [
      ".mom", ".omo", ".cdm", ".sqlite", ".sqlite3", ".db", ".store", ".sqlitedb", ".CDBStore",
    ]
    return endings.contains { ending in
      ["", "-wal", "-journal"].contains { PathText.ends(last, with: ending + $0) }
    }
  }

  private static func isIn(_ name: String, _ names: [String]) -> Bool {
    names.contains { PathText.isSame(name, $0) }
  }
}
