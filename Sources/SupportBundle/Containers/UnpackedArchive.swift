import AgeFiles
package import Foundation
import SafeFiles
import SafeText
package import StoreExtraction
import StoreFiles

/// The parts of an archive that hold stores and models, in a private folder that is removed when this object is released.
///
/// The archive is zip or tar: a support bundle, a zipped app (`.ipa`), a packed container or folder of models. A gzip
/// file holds a tar archive or one store. An encrypted file may also be one store. Only stores with their logs and
/// external data, models and recorded hashes are unpacked. The archive is evidence, so nothing is written near it.
package final class UnpackedArchive {
  /// The most bytes that are unpacked: 8 GiB.
  package static let byteLimit: UInt64 = 8 << 30
  /// The most entries that are unpacked: 10,000.
  package static let entryLimit = 10_000

  /// The folder with the unpacked parts, under their names in the archive.
  package var folder: URL { URL(fileURLWithPath: privateFolder.path, isDirectory: true) }

  /// Whether a file is a zip, tar or gzip file, or has a format that `ForeignArchive` recognizes, which is refused
  /// later. False when the file cannot be read.
  package static func isArchive(_ path: String) -> Bool {
    guard let file = try? InputFile(path: path, followsLink: true),
      let lead = try? lead(of: file)
    else { return false }
    return isArchive(lead: lead)
  }

  /// Whether a file is a zip, tar or gzip file, or has a format that `ForeignArchive` recognizes, which is refused
  /// later. `lead` is the start of the file: at least ``leadBytes``, or all of a shorter file.
  package static func isArchive(lead: [UInt8]) -> Bool {
    isZip(lead: lead) || TarReader.isTar(lead) || GunzippedFile.isGzip(lead)
      || ForeignArchive(lead: lead) != nil
  }

  /// How many first bytes of a file are enough to recognize an archive.
  package static let leadBytes = TarReader.blockLength

  /// The name that an entry of an archive has in ``folder``: bytes that no name may hold are escaped.
  package static func escaped(_ name: String) -> String {
    String(decoding: ZipNames.escaped(Array(name.utf8)), as: UTF8.self)
  }

  /// Whether a file is an archive, or an encrypted file, which may be an archive or a store.
  package static func mayHoldStore(_ path: String) -> Bool {
    isArchive(path) || BundleFile.isEncrypted(path)
  }

  /// Whether a file is an archive, or an encrypted file, which may be an archive or a store. `lead` is the start of the
  /// file: at least ``leadBytes``, or all of a shorter file.
  @Sendable package static func mayHoldStore(lead: [UInt8]) -> Bool {
    AgeFile.isEncrypted(lead) || isArchive(lead: lead)
  }

  /// Splits a path that leads into an archive, as in `Crew.zip/Documents/Notes.sqlite`, into the archive's path and the
  /// name of a store in it. Returns nil for any other path.
  package static func split(_ path: String) -> (archive: String, name: String)? {
    let whole = PathText.withoutTrailingSlashes(path)
    guard ((try? FileStatus.of(whole)) ?? nil) == nil else { return nil }
    var archive = whole
    // A name in an archive has no more levels than this.
    for _ in 0..<32 {
      archive = PathText.folder(of: archive)
      guard let status = (try? FileStatus.of(archive)) ?? nil else { continue }
      guard status.kind != .folder, mayHoldStore(archive),
        let name = PathText.dropping(prefix: archive + "/", from: whole)
      else { return nil }
      return (archive, name)
    }
    return nil
  }

  /// Whether a file that is open starts like a zip archive.
  package static func isZip(_ file: BundleFile) throws(BundleError) -> Bool {
    isZip(lead: try lead(of: file.file))
  }

  /// Opens a support bundle; returns nil for any other file.
  ///
  /// - Throws: ``BundleError`` for a damaged zip archive, and for a bundle with a name that is not allowed.
  package static func bundle(in file: BundleFile) throws(BundleError) -> ZipReader? {
    func opened(_ reader: ZipReader) -> ZipReader? {
      reader.entry(named: BundleManifest.entryName) == nil ? nil : reader
    }
    guard try isZip(file) else { return nil }
    do {
      return opened(try ZipReader(file))
    } catch  where error.code == .badName || error.code == .duplicateName {
      // Such a name is an error in a bundle only. Any other archive may have it.
      guard try opened(ZipReader(file.file, escapesNames: true)) == nil else { throw error }
      return nil
    }
  }

  /// Whether a file with these first bytes is a zip archive.
  package static func isZip(lead: [UInt8]) -> Bool {
    lead.starts(with: [0x50, 0x4B, 0x03, 0x04]) || lead.starts(with: [0x50, 0x4B, 0x05, 0x06])
  }

  static func lead(of file: InputFile) throws(BundleError) -> [UInt8] {
    try file.bytes(at: 0, count: Int(min(file.size, UInt64(TarReader.blockLength))))
  }

  /// What was passed over, such as nested archives that cannot be opened: the paths in the archive, and the reasons.
  package let passedOver: [StoreFinder.PassedOver]

  /// Unpacks what may hold a store or a model. With `name`, unpacks only the files of the store whose main file has
  /// this name. A nested archive becomes a folder of its name. `making` is called with the path of each folder and file
  /// and a closure that creates it and returns whether it exists afterwards.
  ///
  /// - Throws: ``BundleError`` about the archive or the private folder.
  package init(
    _ file: BundleFile, only name: String? = nil,
    making: @escaping (String, () -> Bool) -> Void = { _ = $1() }
  ) throws {
    var unpacking = ArchiveUnpacking(of: file.file, making)
    let escaped = name.map(Self.escaped)
    guard try unpacking.unpack(file.file, only: escaped, isDecrypted: file.isEncrypted) else {
      throw BundleError(
        .notAZip, "the gzip file holds neither a tar archive nor a store", path: file.path)
    }
    privateFolder = try unpacking.madeFolder()
    passedOver = unpacking.passedOver
  }

  private let privateFolder: PrivateFolder

  // MARK: - Limits

  /// The most bytes of a JSON file or a property list, which is read as a whole.
  static let recordLimit: UInt64 = 4 << 20
  /// The most bytes of one model, which is read as a whole. Real models have less than a quarter of this.
  static let modelLimit: UInt64 = 16 << 20
  /// How many bytes may be unpacked for each byte of the archive. A store that compresses better is almost empty.
  static let growthLimit: UInt64 = 20
  /// How many bytes may be unpacked from any archive, however small it is.
  static let freeBytes: UInt64 = 1 << 20

  /// The most bytes of an entry with this name.
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

  /// The name of the entry with the version hashes in a bundle.
  package static let hashesName = "hashes.json"

  /// Whether an entry's name shows a store, a part of one, a model or version hashes. A store may have any name, so
  /// everything below `store/` counts, which is where a bundle has it. In all other folders, only names with the usual
  /// extensions count.
  static func isWanted(_ name: String) -> Bool {
    let parts = PathText.components(of: name)
    guard let first = parts.first, let last = parts.last else { return false }
    if parts.count > 1, PathText.isSame(first, "store") { return true }
    // External files of a store.
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
