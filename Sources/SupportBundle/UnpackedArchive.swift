public import Foundation
import SQLiteFile

/// The parts of a zip archive that hold models, in a private folder that goes again with this value.
///
/// The archive may be a support bundle, a zipped app (`.ipa`) or a zipped folder of models. Only stores with
/// their logs, models and recorded hashes are unpacked; the archive is evidence, so nothing is written near it.
public final class UnpackedArchive {
  /// The most bytes that are unpacked.
  public static let byteLimit: UInt64 = 8 << 30
  /// The most entries that are unpacked.
  public static let entryLimit = 10_000

  /// The folder with the parts, under their names in the archive.
  public let folder: URL
  /// Whether the archive is a support bundle of Lifeboat's.
  public let isBundle: Bool

  /// Whether a file starts as a zip archive does; false also when it cannot be read.
  public static func isZip(_ path: String) -> Bool {
    guard let file = try? InputFile(path: path, followsLink: true),
      let lead = try? file.bytes(at: 0, count: 4)
    else { return false }
    return lead == [0x50, 0x4B, 0x03, 0x04] || lead == [0x50, 0x4B, 0x05, 0x06]
  }

  /// Unpacks what may hold a model. `created` hears of each folder and file before it goes again.
  ///
  /// - Throws: ``BundleError`` about the archive, or an error of the file system about the private folder.
  public init(_ path: String, created: (String) -> Void = { _ in }) throws {
    let reader = try ZipReader(path: path)
    isBundle = reader.entry(named: BundleManifest.entryName) != nil
    let wanted = reader.entries.filter { !$0.isFolder && Self.isWanted($0.name) }
    guard wanted.count <= Self.entryLimit,
      wanted.reduce(UInt64(0), { $0 &+ min($1.size, Self.byteLimit) }) <= Self.byteLimit
    else {
      throw BundleError(
        .tooLarge, "more than 8 GiB of stores and models; unpack it and name the part", path: path)
    }
    // Real stores do not shrink like that; what does would fill the disk.
    if let bomb = wanted.first(where: { Self.isBomb($0) }) {
      throw BundleError(
        .tooLarge, "\(bomb.size) bytes in \(bomb.compressedSize); unpack it and name the part",
        path: path, entry: bomb.name)
    }
    folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("lifeboat-" + UUID().uuidString)
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    created(folder.path)
    do {
      for entry in wanted { try unpack(entry, of: reader, created) }
    } catch {
      try? FileManager.default.removeItem(at: folder)
      throw error
    }
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// More than 64 MiB in less than a 200th of that.
  private static func isBomb(_ entry: ZipReader.Entry) -> Bool {
    entry.size > 64 << 20 && entry.compressedSize < entry.size / 200
  }

  /// Names are checked by the reader: relative, without `..`, each once.
  private func unpack(
    _ entry: ZipReader.Entry, of reader: ZipReader, _ created: (String) -> Void
  ) throws {
    let parts = entry.name.split(separator: "/")
    var parent = folder
    for part in parts.dropLast() {
      parent.appendPathComponent(String(part))
      guard !FileManager.default.fileExists(atPath: parent.path) else { continue }
      try FileManager.default.createDirectory(
        at: parent, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      created(parent.path)
    }
    let target = folder.appendingPathComponent(entry.name)
    created(target.path)
    guard
      FileManager.default.createFile(
        atPath: target.path, contents: nil, attributes: [.posixPermissions: 0o600])
    else {
      throw BundleError(.cannotCreate, "the part cannot be unpacked", entry: entry.name)
    }
    let handle = try FileHandle(forWritingTo: target)
    defer { try? handle.close() }
    try reader.read(entry) { try handle.write(contentsOf: Data($0)) }
  }

  /// What holds a model: sources, compiled forms, hashes, and stores. A store may have any name, so in a bundle
  /// all of `store/` counts, elsewhere the usual endings.
  static func isWanted(_ name: String) -> Bool {
    let parts = name.split(separator: "/")
    guard let last = parts.last else { return false }
    if parts.first == "store" || name == "hashes.json" { return true }
    let folders = parts.dropLast()
    if folders.contains(where: { $0.hasSuffix(".xcdatamodel") }) {
      return ["contents", "elements"].contains(last)
    }
    if last == ".xccurrentversion" || last == "VersionInfo.plist" || last == "xcmapping.xml" {
      return true
    }
    let endings = [
      ".mom", ".omo", ".cdm", ".sqlite", ".sqlite3", ".db", ".store", ".sqlitedb", ".CDBStore",
    ]
    return endings.contains { ending in
      last.hasSuffix(ending) || last.hasSuffix(ending + "-wal")
        || last.hasSuffix(ending + "-journal")
    }
  }
}
