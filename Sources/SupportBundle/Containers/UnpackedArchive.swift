import CLibrary
package import Foundation
import SafeFiles
import SafeText
import StoreExtraction
import StoreFiles

/// The parts of an archive that hold stores and models, in a private folder that is removed when this object is released.
///
/// The archive is zip or tar: a support bundle, a zipped app (`.ipa`), a packed container or folder of models. A gzip file
/// holds a tar archive, or one store. Only stores with
/// their logs and external data, models and recorded hashes are unpacked; the archive is evidence, so nothing is written near it.
package final class UnpackedArchive {
  /// The most bytes that are unpacked.
  package static let byteLimit: UInt64 = 8 << 30
  /// The most entries that are unpacked.
  package static let entryLimit = 10_000

  /// The folder with the unpacked parts, under their names in the archive.
  package var folder: URL { URL(fileURLWithPath: privateFolder.path, isDirectory: true) }

  /// Whether a file starts like a zip, tar or gzip file; also false when it cannot be read.
  package static func isArchive(_ path: String) -> Bool {
    guard let file = try? InputFile(path: path, followsLink: true),
      let lead = try? lead(of: file)
    else { return false }
    return isArchive(lead: lead)
  }

  /// Whether a file with these first bytes, at least ``leadBytes`` if it has as many, is a zip, tar or gzip file.
  package static func isArchive(lead: [UInt8]) -> Bool {
    isZip(lead: lead) || TarReader.isTar(lead) || GunzippedFile.isGzip(lead)
  }

  /// How many of its first bytes tell an archive.
  package static let leadBytes = TarReader.blockLength

  /// Whether a file is an archive, or encrypted as one may be.
  package static func mayHoldStore(_ path: String) -> Bool {
    isArchive(path) || BundleFile.isEncrypted(path)
  }

  /// The archive that a path leads into, and the name of a store in it, as in `Crew.zip/Documents/Notes.sqlite`; nil for
  /// any other path.
  package static func split(_ path: String) -> (archive: String, name: String)? {
    let whole = PathText.withoutTrailingSlashes(path)
    guard ((try? FileStatus.of(whole)) ?? nil) == nil else { return nil }
    var archive = whole
    // No name in an archive has more levels.
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

  /// Whether a file with these first bytes is a zip archive.
  package static func isZip(lead: [UInt8]) -> Bool {
    lead.starts(with: [0x50, 0x4B, 0x03, 0x04]) || lead.starts(with: [0x50, 0x4B, 0x05, 0x06])
  }

  private static func lead(of file: InputFile) throws(BundleError) -> [UInt8] {
    try file.bytes(at: 0, count: Int(min(file.size, UInt64(TarReader.blockLength))))
  }

  /// Unpacks what may hold a store or a model, or the files of the one store that `name` is the main file of. `making`
  /// is called with the path of each folder and file and a closure that creates it and returns whether it exists
  /// afterwards.
  ///
  /// - Throws: ``BundleError`` about the archive or the private folder.
  package init(
    _ file: BundleFile, only name: String? = nil,
    making: @escaping (String, () -> Bool) -> Void = { _ = $1() }
  ) throws {
    var input = file.file
    var lead = try Self.lead(of: input)
    if GunzippedFile.isGzip(lead) {
      let grown = input.size.multipliedReportingOverflow(by: Self.growthLimit)
      input = try GunzippedFile.open(
        input,
        limit: min(Self.byteLimit, grown.overflow ? .max : max(grown.partialValue, Self.freeBytes)))
      lead = try Self.lead(of: input)
    }
    if TarReader.isTar(lead) {
      privateFolder = try Self.unpacked(TarReader(input), only: name, making)
    } else if input !== file.file {
      privateFolder = try Self.unpacked(store: input, lead, making)
    } else {
      privateFolder = try Self.unpacked(ZipReader(input), only: name, making)
    }
  }

  /// Unpacks the stores and models of an archive; nothing is made before all of them are found good.
  private static func unpacked<Reader: ArchiveReader>(
    _ reader: Reader, only store: String?, _ making: @escaping OutputTree.Making
  ) throws -> PrivateFolder {
    let stores = store == nil ? stores(in: reader) : []
    let wanted = reader.entries.filter { entry in
      guard !entry.isFolder else { return false }
      if let store { return isMember(entry.name, of: store) }
      return isWanted(entry.name) || stores.contains(Array(entry.name.utf8))
    }
    // The text of a link is not the file that it leads to, and nothing outside of an archive is read for it.
    if let link = wanted.first(where: \.isLink) {
      throw BundleError(
        .unsupported, "a link or a sparse file stands where a file of a store or model is expected",
        path: reader.path, entry: link.name)
    }
    try check(wanted, of: reader)
    let folder = try emptyFolder(making)
    for entry in wanted {
      let file = try folder.makeFile(ZipNames.components(of: entry.name))
      defer { _ = close(file) }
      try reader.unpack(entry) { try OutputTree.write($0, to: file, path: entry.name) }
    }
    return folder
  }

  private static func emptyFolder(
    _ making: @escaping OutputTree.Making
  ) throws(BundleError) -> PrivateFolder {
    try PrivateFolder(in: FileManager.default.temporaryDirectory.path, making: making)
  }

  /// A store that was compressed alone keeps its name without the ending.
  private static func unpacked(
    store: InputFile, _ lead: [UInt8], _ making: @escaping OutputTree.Making
  ) throws -> PrivateFolder {
    let name = PathText.lastComponent(of: store.path)
    let stem = PathText.dropping(suffix: ".gz", from: name) ?? name
    // One that is encrypted or damaged has its name.
    guard lead.starts(with: magic) || StoreFinder.isNamedAsStore(stem) else {
      throw BundleError(
        .notAZip, "the gzip file holds neither a tar archive nor a store", path: store.path)
    }
    let folder = try emptyFolder(making)
    let file = try folder.makeFile([PathText.isPlainName(stem) ? stem : "store"])
    defer { _ = close(file) }
    try store.forEachPiece { piece throws(BundleError) in
      try OutputTree.write(piece, to: file, path: stem)
    }
    return folder
  }

  private let privateFolder: PrivateFolder

  /// Whether a file belongs to the set of a store, both by their names in the archive.
  private static func isMember(_ name: String, of store: String) -> Bool {
    let parts = PathText.components(of: store)
    let inner =
      parts.count == 1
      ? name : PathText.dropping(prefix: PathText.folder(of: store) + "/", from: name)
    return inner.flatMap { StoreSet.role(ofMember: $0, mainName: parts[parts.count - 1]) } != nil
  }

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
  private static func check<Reader: ArchiveReader>(
    _ wanted: [Reader.Entry], of reader: Reader
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
      // An overflow is beyond any limit.
      let (sum, overflow) = total.addingReportingOverflow(entry.size)
      total = overflow ? .max : sum
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

  /// Ends the reading of an entry whose first bytes are known.
  private struct Enough: Error {}

  /// The names of entries that begin like a store, whatever their extension is, and of the logs and journals beside them.
  private static func stores(in reader: some ArchiveReader) -> Set<[UInt8]> {
    var names: Set<[UInt8]> = []
    for entry in reader.entries.prefix(entryLimit)
    where !entry.isFolder && entry.size >= 512 && !isWanted(entry.name) {
      var lead: [UInt8] = []
      // What cannot be unpacked is no store.
      _ = try? reader.unpack(entry) { bytes in
        lead += bytes.prefix(magic.count - lead.count)
        if lead.count == magic.count { throw Enough() }
      }
      guard lead == magic else { continue }
      for suffix in ["", "-wal", "-journal"] { names.insert(Array((entry.name + suffix).utf8)) }
    }
    return names
  }

  // MARK: - Parts

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
