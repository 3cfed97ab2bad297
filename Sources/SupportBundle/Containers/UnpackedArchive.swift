import AgeFiles
package import Foundation
import SafeFiles
import SafeText
package import StoreExtraction
import StoreFiles

/// The stores and models in an archive, unpacked into a private folder. The folder is removed when this object is
/// deallocated.
///
/// The archive is a zip or tar file: a support bundle, a zipped app (`.ipa`), the packed container of an app, or a
/// packed folder of models. A gzip file may contain a tar archive or one store. An encrypted file may contain an
/// archive or one store. Three things are unpacked: stores with their logs and external data, models, and version
/// hashes (``hashesName``). The archive is evidence, so nothing is written to its folder.
package final class UnpackedArchive {
  /// The maximum number of bytes that are unpacked: 8 GiB.
  package static let byteLimit: UInt64 = 8 << 30
  package static let entryLimit = 10_000

  /// The folder with the unpacked files. The files have the same paths in this folder as in the archive.
  package var folder: URL { URL(fileURLWithPath: privateFolder.path, isDirectory: true) }

  /// Whether a file is a zip, tar or gzip file, or has the format of an archive that cannot be unpacked
  /// (`ForeignArchive`). `lead` is the start of the file: at least ``leadBytes``, or all of a shorter file.
  package static func isArchive(lead: [UInt8]) -> Bool {
    isZip(lead: lead) || TarReader.isTar(lead) || GunzippedFile.isGzip(lead)
      || ForeignArchive(lead: lead) != nil
  }

  /// The number of bytes at the start of a file that are enough to recognize an archive or an encrypted file.
  package static let leadBytes = max(TarReader.blockLength, AgeFile.leadBytes)

  /// Returns the name that an entry of an archive has in ``folder``. In this name, bytes that are not allowed are
  /// escaped (`ZipNames.escaped`).
  package static func escaped(_ name: String) -> String {
    String(decoding: ZipNames.escaped(Array(name.utf8)), as: UTF8.self)
  }

  /// Whether a file is an archive, or is encrypted. An encrypted file may contain an archive or a store. The result is
  /// false if the file cannot be read.
  package static func mayHoldStore(_ path: String) -> Bool {
    (try? BundleFile.lead(of: path)).map(mayHoldStore(lead:)) ?? false
  }

  /// Whether a file is an archive or is encrypted. `lead` is the start of the file: at least ``leadBytes``, or all of a
  /// shorter file.
  @Sendable package static func mayHoldStore(lead: [UInt8]) -> Bool {
    AgeFile.isEncrypted(lead) || isArchive(lead: lead)
  }

  /// Splits the path of a file or folder in an archive, for example `Crew.zip/Documents/Notes.sqlite`. Returns the path
  /// of the archive, and the name of the store, model or folder in the archive. Returns nil for any other path.
  package static func split(_ path: String) -> (archive: String, name: String)? {
    let whole = PathText.withoutTrailingSlashes(path)
    guard FileStatus.found(whole) == nil else { return nil }
    var archive = whole
    // The path of an entry in an archive has at most 32 components (`ZipNames.maxDepth`).
    for _ in 0..<32 {
      archive = PathText.folder(of: archive)
      guard let status = FileStatus.found(archive) else { continue }
      guard status.kind != .folder, mayHoldStore(archive),
        let name = PathText.dropping(prefix: archive + "/", from: whole)
      else { return nil }
      return (archive, name)
    }
    return nil
  }

  package static func isZip(_ file: BundleFile) throws(BundleError) -> Bool {
    isZip(lead: try lead(of: file.file))
  }

  /// Opens a support bundle; returns nil for any other file.
  ///
  /// - Throws: ``BundleError`` for a damaged zip archive, and for a bundle in which an entry has a name that is not
  ///   allowed.
  package static func bundle(in file: BundleFile) throws(BundleError) -> ZipReader? {
    func opened(_ reader: ZipReader) -> ZipReader? {
      reader.entry(named: BundleManifest.entryName) == nil ? nil : reader
    }
    guard try isZip(file) else { return nil }
    do {
      return opened(try ZipReader(file))
    } catch  where error.code == .badName || error.code == .duplicateName {
      // An entry name that is not allowed is an error only in a bundle. Any other archive may have such a name.
      guard try opened(ZipReader(file.file, escapesNames: true)) == nil else { throw error }
      return nil
    }
  }

  /// Whether a file is a support bundle whose manifest can be read. False for any other zip archive, although some
  /// contain a `manifest.json` of another program.
  package static func isBundle(_ file: BundleFile) -> Bool { isBundle(file.file) }

  static func isBundle(_ file: InputFile) -> Bool {
    guard let lead = try? UnpackedArchive.lead(of: file), isZip(lead: lead),
      let reader = try? ZipReader(file, escapesNames: true)
    else { return false }
    return (try? BundleContents(of: reader)) != nil
  }

  package static func isZip(lead: [UInt8]) -> Bool {
    lead.starts(with: [0x50, 0x4B, 0x03, 0x04]) || lead.starts(with: [0x50, 0x4B, 0x05, 0x06])
  }

  static func lead(of file: InputFile) throws(BundleError) -> [UInt8] {
    try file.bytes(at: 0, count: Int(min(file.size, UInt64(TarReader.blockLength))))
  }

  /// The entries that were not unpacked, for example nested archives that cannot be opened. The `path` of each is the
  /// path in the archive.
  package let passedOver: [StoreFinder.PassedOver]
  /// The support bundles in the archive. Each element is the path of a bundle in the archive and, in ``folder``, of its
  /// copy. The copy of an encrypted bundle is decrypted.
  package let bundles: [String]

  /// Returns the paths of the copies of those ``bundles`` that are in the folder at `place`, at any depth. `place` is
  /// ``folder`` or a folder inside it.
  package func bundles(in place: String) -> [String] {
    bundles.map { PathText.joined(folder.path, $0) }.filter {
      PathText.starts($0, with: place + "/")
    }
  }

  /// Opens the copy of a bundle at `place`. Returns nil if `place` is not the path of a copy of one of the ``bundles``.
  /// Errors contain `path` in place of the path of the copy.
  package func bundle(at place: String, named path: String) throws(BundleError) -> BundleFile? {
    guard bundles.contains(where: { PathText.isSame(PathText.joined(folder.path, $0), place) })
    else { return nil }
    return try BundleFile(InputFile(path: place, followsLink: false, shown: path), AgeSecrets())
  }

  /// Whether `place` is the path of a copy of one of the ``bundles``, and this bundle does not contain the store.
  package func isBundleWithoutStore(_ place: String) -> Bool {
    guard let file = try? bundle(at: place, named: place), let reader = try? ZipReader(file) else {
      return false
    }
    return !reader.entries.contains { PathText.starts($0.name, with: "store/") }
  }

  /// Unpacks the entries of an archive that may be stores or models. If `name` is not nil, only the store, model or
  /// folder with this name is unpacked. A store has the name of its main file. An archive inside the archive is
  /// unpacked into a folder with its name, but a support bundle is copied as a whole (``bundles``). `making` is
  /// called for each new file and folder (``OutputTree/Making``).
  /// - Throws: ``BundleError`` about the archive or the private folder.
  package init(
    _ file: BundleFile, only name: String? = nil,
    making: @escaping (String, () -> Bool) -> Void = { _ = $1() }
  ) throws {
    var unpacking = ArchiveUnpacking(of: file.file, file.secrets, making)
    let escaped = name.map(Self.escaped)
    guard try unpacking.unpack(file.file, only: escaped, isDecrypted: file.isEncrypted) else {
      throw BundleError(
        .notAZip, "the gzip file holds neither a tar archive nor a store", path: file.path)
    }
    privateFolder = try unpacking.madeFolder()
    passedOver = unpacking.passedOver
    bundles = unpacking.bundles
  }

  private let privateFolder: PrivateFolder

  // MARK: - Limits

  /// The maximum size, in bytes, of a JSON file or a property list. Such a file is read into memory as a whole.
  static let recordLimit: UInt64 = 4 << 20
  /// The maximum size, in bytes, of one model. A model is read into memory as a whole. Real models have less than a
  /// quarter of this size.
  static let modelLimit: UInt64 = 16 << 20
  /// The maximum number of bytes that are unpacked for each byte of the archive. Only a store that is almost empty
  /// would grow by a larger factor.
  static let growthLimit: UInt64 = 20
  /// The number of bytes that may always be unpacked: 1 MiB. For a small archive, ``growthLimit`` alone would allow
  /// fewer bytes.
  static let freeBytes: UInt64 = 1 << 20

  /// Returns the number of bytes that may be unpacked from an archive: ``growthLimit`` times its size, but at least
  /// ``freeBytes`` and at most ``byteLimit``.
  static func sizeLimit(of archive: InputFile) -> UInt64 {
    let (grown, overflow) = archive.size.multipliedReportingOverflow(by: growthLimit)
    return min(byteLimit, overflow ? .max : max(grown, freeBytes))
  }

  /// Returns the maximum size, in bytes, of an entry with this name.
  static func limit(of name: String) -> UInt64 {
    let last = PathText.lastComponent(of: name)
    if PathText.isSame(name, hashesName) || isIn(last, [".xccurrentversion", "VersionInfo.plist"]) {
      return recordLimit
    }
    let isModel =
      isIn(last, ["contents", "elements", "xcmapping.xml"])
      || isIn(PathText.ending(of: last), ["mom", "omo", "cdm"])
    return isModel ? modelLimit : byteLimit
  }

  // MARK: - Parts

  /// The name of the bundle entry that contains the version hashes.
  package static let hashesName = "hashes.json"

  /// Whether an entry, judged by its name, is a store, a part of a store, a model or version hashes. Every entry in
  /// `store/` counts, because the store in a bundle may have any name. In other folders, only entries with the usual
  /// names and extensions count.
  static func isWanted(_ name: String) -> Bool {
    let parts = PathText.components(of: name)
    guard let first = parts.first, let last = parts.last else { return false }
    if parts.count > 1, PathText.isSame(first, "store") { return true }
    if parts.dropLast().contains(where: { PathText.isSame($0, "_EXTERNAL_DATA") }) { return true }
    if PathText.isSame(name, hashesName) { return true }
    if parts.dropLast().contains(where: { PathText.ends($0, with: ".xcdatamodel") }) {
      return isIn(last, ["contents", "elements"])
    }
    if isIn(last, [".xccurrentversion", "VersionInfo.plist", "xcmapping.xml"]) { return true }
    if isIn(PathText.ending(of: last), ["mom", "omo", "cdm"]) { return true }
    let main =
      ["-wal", "-journal"].lazy.compactMap {
        PathText.dropping(suffix: $0, from: last)
      }.first ?? last
    return StoreFinder.isNamedAsStore(main) || PathText.ends(main, with: ".CDBStore")
  }

  private static func isIn(_ name: String, _ names: [String]) -> Bool {
    names.contains { PathText.isSame(name, $0) }
  }
}
