import AgeFiles
import CLibrary
import Foundation
import SQLiteFile
import SafeText
import StoreExtraction
import StoreFiles

/// One run through an archive, and the archives in it, that unpacks what may hold stores and models.
///
/// The archives in it count toward the same limits, and become folders of their names.
struct ArchiveUnpacking {
  /// Archives that were not looked into: their paths in the outermost one, and why.
  private(set) var passedOver: [StoreFinder.PassedOver] = []
  private let making: OutputTree.Making
  private var folder: PrivateFolder?
  private let sizeLimit: UInt64
  private var total: UInt64 = 0
  private var fileCount = 0
  /// How many entries may still be looked into, whatever their names are: each costs a first piece of its bytes.
  private var leadsLeft = UnpackedArchive.entryLimit

  /// Archives in archives deeper than this are not looked into; the outermost one has depth 0.
  private static let deepest = 3
  /// An archive without entries is no shorter (APPNOTE 4.3.16; RFC 1952 has 18).
  private static let minArchiveBytes: UInt64 = 18

  /// - Parameters:
  ///   - file: the outermost archive, by whose size the output is limited.
  ///   - making: is called for each file and folder, as in ``OutputTree``.
  init(of file: InputFile, _ making: @escaping OutputTree.Making) {
    self.making = making
    let (grown, overflow) = file.size.multipliedReportingOverflow(by: UnpackedArchive.growthLimit)
    sizeLimit = min(
      UnpackedArchive.byteLimit, overflow ? .max : max(grown, UnpackedArchive.freeBytes))
  }

  /// The folder with what was unpacked; an empty one if that is nothing.
  mutating func madeFolder() throws(BundleError) -> PrivateFolder {
    if let folder { return folder }
    let made = try PrivateFolder(in: FileManager.default.temporaryDirectory.path, making: making)
    folder = made
    return made
  }

  /// Unpacks an archive; nothing is made before all of its stores and models are found good.
  ///
  /// - Parameters:
  ///   - file: the archive.
  ///   - store: the path of the one store that is wanted; nil for all of them.
  ///   - isDecrypted: whether the file was encrypted, so that it may be a store itself.
  ///   - place: the path of this archive in the outermost one; empty for that itself.
  ///   - depth: how many archives it is in.
  /// - Returns: false for a gzip file of something else.
  /// - Throws: what is wrong with it.
  mutating func unpack(
    _ file: InputFile, only store: String? = nil, isDecrypted: Bool = false,
    at place: [String] = [], depth: Int = 0
  ) throws -> Bool {
    var input = file
    var lead = try UnpackedArchive.lead(of: input)
    if let foreign = ForeignArchive(lead: lead) { throw foreign.error.inside(path: input.path) }
    if isDecrypted, lead.starts(with: DatabaseHeader.magic) {
      return try unpack(single: input, lead, at: place)
    }
    let isGzip = GunzippedFile.isGzip(lead)
    if isGzip {
      input = try GunzippedFile.open(input, limit: sizeLimit - total)
      lead = try UnpackedArchive.lead(of: input)
    }
    if TarReader.isTar(lead) {
      try unpack(TarReader(input), only: store, at: place, depth: depth)
    } else if isGzip {
      return try unpack(single: input, lead, at: place)
    } else {
      try unpack(ZipReader(input, escapesNames: true), only: store, at: place, depth: depth)
    }
    return true
  }

  /// A store that was compressed alone keeps its name without the ending.
  private mutating func unpack(
    single store: InputFile, _ lead: [UInt8], at place: [String]
  ) throws -> Bool {
    let name = PathText.lastComponent(of: place.last ?? store.path)
    let stem =
      [".gz", ".age"].lazy.compactMap { PathText.dropping(suffix: $0, from: name) }.first ?? name
    // One that is encrypted or damaged has its name.
    guard lead.starts(with: DatabaseHeader.magic) || StoreFinder.isNamedAsStore(stem) else {
      return false
    }
    try count(1, [store.size], of: store.path)
    let file = try madeFolder().makeFile(place + [PathText.isPlainName(stem) ? stem : "store"])
    defer { _ = close(file) }
    try store.forEachPiece { piece throws(BundleError) in
      try OutputTree.write(piece, to: file, path: stem)
    }
    return true
  }

  private mutating func unpack<Reader: ArchiveReader>(
    _ reader: Reader, only store: String?, at place: [String], depth: Int
  ) throws {
    let leads = Leads(of: reader, only: store, limit: leadsLeft)
    leadsLeft -= leads.count
    if leads.isCut {
      tell(
        place, "input.notEntered",
        "of its entries \(UnpackedArchive.entryLimit) are looked into, and the others are known by their names"
      )
    }
    let wanted = reader.entries.filter { entry in
      guard !entry.isFolder else { return false }
      if let store { return leads.archives.isEmpty && Self.isMember(entry.name, of: store) }
      return UnpackedArchive.isWanted(entry.name) || leads.stores.contains(Array(entry.name.utf8))
    }
    // The text of a link is not the file that it leads to, and nothing outside of an archive is read for it.
    if let link = wanted.first(where: \.isLink) {
      throw BundleError(
        .unsupported, "a link or a sparse file stands where a file of a store or model is expected",
        path: reader.path, entry: link.name)
    }
    for entry in wanted {
      let limit = UnpackedArchive.limit(of: entry.name)
      guard entry.size <= limit else {
        throw BundleError(
          .tooLarge, "the entry would unpack to \(entry.size) bytes, and the limit is \(limit)",
          path: reader.path, entry: entry.name)
      }
    }
    try count(wanted.count, wanted.map(\.size), of: reader.path)
    for entry in wanted {
      let file = try madeFolder().makeFile(place + ZipNames.components(of: entry.name))
      defer { _ = close(file) }
      try reader.unpack(entry) { try OutputTree.write($0, to: file, path: entry.name) }
    }
    let isBundle = reader.entries.contains {
      PathText.isSame($0.name, BundleManifest.entryName)
    }
    if depth > 0, store == nil, isBundle,
      !reader.entries.contains(where: { PathText.starts($0.name, with: "store/") })
    {
      tell(
        place, "bundle.noStore",
        "a support bundle without the store; unpack the archive to read what it records")
    }
    for (entry, isEncrypted) in leads.archives {
      try unpack(
        entry, isEncrypted, in: reader, only: store,
        at: place + ZipNames.components(of: entry.name), depth: depth + 1)
    }
  }

  // MARK: - Archives in archives

  /// Unpacks an archive in an archive. That it is not an archive or not a good one is told, unless files of it are made.
  private mutating func unpack<Reader: ArchiveReader>(
    _ entry: Reader.Entry, _ isEncrypted: Bool, in reader: Reader, only store: String?,
    at place: [String], depth: Int
  ) throws {
    guard !isEncrypted else {
      return passOver(
        place, BundleError.Code.encrypted.rawValue,
        "it is encrypted; unpack the outer one, and name it with its key")
    }
    guard depth <= Self.deepest else {
      return passOver(
        place, "input.notEntered", "archives in more than \(Self.deepest) archives are not opened")
    }
    let made = fileCount
    do {
      try count(0, [entry.size], of: reader.path)
      let output = try ExclusiveOutput(unnamed: "archive")
      try reader.unpack(entry) { try output.append($0) }
      let inner = store.flatMap { PathText.dropping(prefix: entry.name + "/", from: $0) }
      // A text that was compressed is no archive.
      _ = try unpack(
        output.input(named: PathText.joined(reader.path, entry.name)), only: inner, at: place,
        depth: depth)
    } catch let error as BundleError where fileCount == made && store == nil {
      passOver(place, error.code.rawValue, error.message)
    }
  }

  private mutating func passOver(_ place: [String], _ code: String, _ message: String) {
    tell(place, code, "an archive that was not opened: \(message)")
  }

  private mutating func tell(_ place: [String], _ code: String, _ message: String) {
    passedOver.append(.init(path: place.joined(separator: "/"), code: code, message: message))
  }

  // MARK: - Limits

  /// Holds announced sizes against the limits, before the first byte is written.
  private mutating func count(
    _ files: Int, _ sizes: [UInt64], of path: String
  ) throws(BundleError) {
    guard fileCount + files <= UnpackedArchive.entryLimit else {
      throw BundleError(
        .tooLarge,
        "the archive has \(fileCount + files) files of stores and models, and the limit is \(UnpackedArchive.entryLimit)",
        path: path)
    }
    var sum = total
    for size in sizes {
      // An overflow is beyond any limit.
      let (next, overflow) = sum.addingReportingOverflow(size)
      sum = overflow ? .max : next
    }
    guard sum <= UnpackedArchive.byteLimit else {
      throw BundleError(
        .tooLarge,
        "the stores and models would unpack to \(sum) bytes, and the limit is \(UnpackedArchive.byteLimit)",
        path: path)
    }
    guard sum <= sizeLimit else {
      throw BundleError(
        .tooLarge,
        "the stores and models would unpack to \(sum) bytes, more than \(UnpackedArchive.growthLimit) times the size of the archive",
        path: path)
    }
    total = sum
    fileCount += files
  }

  // MARK: - What entries are

  /// Whether a file belongs to the set of a store, both by their names in the archive.
  private static func isMember(_ name: String, of store: String) -> Bool {
    let parts = PathText.components(of: store)
    let inner =
      parts.count == 1
      ? name : PathText.dropping(prefix: PathText.folder(of: store) + "/", from: name)
    return inner.flatMap { StoreSet.role(ofMember: $0, mainName: parts[parts.count - 1]) } != nil
  }

  /// What entries are by their first bytes, whatever their names are.
  private struct Leads<Reader: ArchiveReader> {
    /// The names of stores, and of the logs and journals beside them.
    private(set) var stores: Set<[UInt8]> = []
    /// The archives, and whether they are encrypted.
    private(set) var archives: [(entry: Reader.Entry, isEncrypted: Bool)] = []
    /// How many entries were looked into, and whether there are more.
    private(set) var count = 0
    private(set) var isCut = false

    /// - Parameters:
    ///   - reader: the archive.
    ///   - store: the path of the one store that is wanted, or of an archive that holds it; nil for all.
    ///   - limit: the most entries that are looked into.
    init(of reader: Reader, only store: String?, limit: Int) {
      for entry in reader.entries
      where !entry.isFolder && !entry.isLink && entry.size >= minArchiveBytes
        && !UnpackedArchive.isWanted(entry.name)
      {
        if let store, !PathText.starts(store + "/", with: entry.name + "/") { continue }
        guard count < limit else {
          isCut = true
          return
        }
        count += 1
        // What cannot be unpacked is neither.
        let lead = (try? reader.lead(of: entry, count: UnpackedArchive.leadBytes)) ?? []
        if lead.starts(with: DatabaseHeader.magic), entry.size >= 512 {
          for suffix in ["", "-wal", "-journal"] {
            stores.insert(Array((entry.name + suffix).utf8))
          }
        } else if UnpackedArchive.mayHoldStore(lead: lead) {
          archives.append((entry, AgeFile.isEncrypted(lead)))
        }
      }
    }
  }
}
