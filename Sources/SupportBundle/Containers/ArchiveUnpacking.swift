import AgeFiles
import SQLiteFile
import SafeText
import StoreExtraction
import StoreFiles

/// Unpacks the entries of an archive that may be stores or models, also from archives that are nested in it. A nested
/// archive becomes a folder with the archive's name. A nested support bundle is copied as a whole, so that its entries
/// can be compared with its manifest.
///
/// The limits apply to the archive and its nested archives together. One limit applies to the bytes of stores and
/// models. A second limit of the same size applies to the bytes of nested archives, gzip files and encrypted files,
/// which are unpacked only to look into them.
struct ArchiveUnpacking {
  /// The entries that were not unpacked, for example nested archives that cannot be opened. The `path` of each is the
  /// path in the outermost archive.
  private(set) var passedOver: [StoreFinder.PassedOver] = []
  /// The paths of the nested support bundles in the outermost archive, which are also the paths of their copies in the
  /// folder.
  private(set) var bundles: [String] = []
  private let making: OutputTree.Making
  private let secrets: AgeSecrets
  private var folder: PrivateFolder?
  private let sizeLimit: UInt64
  private var total: UInt64 = 0
  /// The number of bytes that may still be unpacked from nested archives, gzip files and encrypted files. These files
  /// are unpacked only to look into them, so their contents are written to temporary files without names.
  private var innerLeft: UInt64
  private var fileCount = 0
  /// The number of further entries whose first bytes may be read in order to recognize their kind. It is limited
  /// because each entry needs a read.
  private var leadsLeft = UnpackedArchive.entryLimit
  /// The number of encrypted files that may still be opened. This number is limited because a passphrase takes seconds
  /// for each file.
  private var encryptedLeft = Self.maxEncrypted

  /// The maximum depth at which a nested archive is opened. The outermost archive has depth 0.
  private static let deepest = 3
  /// The minimum size of an archive in bytes. An empty zip archive has 22 bytes (APPNOTE 4.3.16), a gzip file has at
  /// least 18 (RFC 1952).
  private static let minArchiveBytes: UInt64 = 18
  /// The maximum number of encrypted files that are opened in an archive.
  private static let maxEncrypted = 100

  /// Prepares to unpack an archive.
  ///
  /// - Parameters:
  ///   - file: the outermost archive. The size of this file determines how many bytes may be unpacked.
  ///   - secrets: the keys and the passphrase to try on encrypted files in the archives.
  ///   - making: called for each new file and folder (``OutputTree/Making``).
  init(of file: InputFile, _ secrets: AgeSecrets, _ making: @escaping OutputTree.Making) {
    self.making = making
    self.secrets = secrets
    sizeLimit = UnpackedArchive.sizeLimit(of: file)
    innerLeft = sizeLimit
  }

  /// Returns the folder with the unpacked files. The first call makes the folder, which is empty if nothing was
  /// unpacked.
  mutating func madeFolder() throws(BundleError) -> PrivateFolder {
    if let folder { return folder }
    let made = try PrivateFolder(making: making)
    folder = made
    return made
  }

  /// Unpacks an archive. Before the first file is written, the announced sizes and the kinds of all wanted entries are
  /// checked.
  ///
  /// - Parameters:
  ///   - file: the archive.
  ///   - store: the path of the only store, model or folder that is wanted; nil for all.
  ///   - isDecrypted: whether `file` is the decrypted content of an encrypted file. If so, `file` may be a store itself
  ///     instead of an archive.
  ///   - place: the path of this archive in the outermost archive; empty for the outermost archive itself.
  ///   - depth: the number of archives in which this archive is nested.
  /// - Returns: false if the file is a gzip file that contains neither a tar archive nor a store, otherwise true.
  /// - Throws: an error that says what is wrong with the archive.
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
      input = try GunzippedFile.open(input, left: &innerLeft)
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

  /// Unpacks a store that was compressed or encrypted as a single file, without an archive. The unpacked file has the
  /// name without `.gz` or `.age`. Returns false when the content is not a store.
  private mutating func unpack(
    single store: InputFile, _ lead: [UInt8], at place: [String]
  ) throws -> Bool {
    let name = PathText.lastComponent(of: place.last ?? store.path)
    let stem =
      [".gz", ".age"].lazy.compactMap { PathText.dropping(suffix: $0, from: name) }.first ?? name
    // An encrypted or damaged store can be recognized only by its name.
    guard lead.starts(with: DatabaseHeader.magic) || StoreFinder.isNamedAsStore(stem) else {
      return false
    }
    try count(1, [store.size], of: store.path)
    let parts = place + [PathText.isPlainName(stem) ? stem : "store"]
    try madeFolder().makeFile(parts, path: stem) { try store.forEachPiece($0) }
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
        "the content of at most \(UnpackedArchive.entryLimit) entries is looked at; the other "
          + "entries are judged by name"
      )
    }
    let wanted = reader.entries.filter { entry in
      guard !entry.isFolder else { return false }
      if let store, !Self.isBelow(entry.name, store) {
        return leads.archives.isEmpty && Self.isMember(entry.name, of: store)
      }
      return UnpackedArchive.isWanted(entry.name) || leads.stores.contains(Array(entry.name.utf8))
    }
    // The bytes of a link are not the bytes of its target, and the target may be outside of the archive.
    if let link = wanted.first(where: \.isLink) {
      throw BundleError(
        .unsupported,
        "the entry is a link or a sparse file, but must be a regular file of a store or model",
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
      let parts = place + ZipNames.components(of: entry.name)
      try madeFolder().makeFile(parts, path: entry.name) { try reader.unpack(entry, into: $0) }
    }
    let hasManifest = reader.entries.contains {
      PathText.isSame($0.name, BundleManifest.entryName)
    }
    if depth > 0, store == nil, hasManifest,
      !reader.entries.contains(where: { PathText.starts($0.name, with: "store/") })
    {
      tell(
        place, BundleError.Code.badManifest.rawValue,
        "its manifest.json is not the manifest of a support bundle, or cannot be read")
    }
    for (entry, isEncrypted) in leads.archives {
      try unpack(
        entry, isEncrypted, in: reader, only: store,
        at: place + ZipNames.components(of: entry.name), depth: depth + 1)
    }
  }

  // MARK: - Archives in archives

  /// Unpacks `entry`, a nested archive or an encrypted file. If this fails, adds `entry` to ``passedOver`` with the
  /// reason. Throws the error instead if `store` is in `entry`, or if some files of `entry` were created already.
  private mutating func unpack<Reader: ArchiveReader>(
    _ entry: Reader.Entry, _ isEncrypted: Bool, in reader: Reader, only store: String?,
    at place: [String], depth: Int
  ) throws {
    let isOneOfAll = store.map { Self.isBelow(entry.name, $0) } ?? true
    guard !isEncrypted || !secrets.isEmpty || !isOneOfAll else {
      return passOver(
        place, BundleError.Code.encrypted.rawValue,
        "it is encrypted; name it to a command that has the options -i and --passphrase-file")
    }
    if isEncrypted, isOneOfAll {
      guard encryptedLeft > 0 else {
        return passOver(
          place, BundleError.Code.tooLarge.rawValue,
          "at most \(Self.maxEncrypted) encrypted files of an archive are opened")
      }
      encryptedLeft -= 1
    }
    guard depth <= Self.deepest else {
      return passOver(
        place, "input.notEntered",
        "archives that are nested more than \(Self.deepest) deep are not opened")
    }
    let made = fileCount
    do {
      try takeInner(entry.size, of: reader.path, entry.name)
      let output = try ExclusiveOutput(unnamed: "archive")
      try reader.unpack(entry) { try output.append($0) }
      var input = try output.input(named: PathText.joined(reader.path, entry.name))
      if isEncrypted {
        try takeInner(input.size, of: reader.path, entry.name)
        input = try BundleFile.decrypted(input, secrets)
      }
      let inner = store.flatMap { PathText.dropping(prefix: entry.name + "/", from: $0) }
      // A path that leads into the bundle names a file in it, which is unpacked as from any other archive.
      if inner == nil, UnpackedArchive.isBundle(input) {
        try count(1, [input.size], of: input.path)
        try madeFolder().makeFile(place, path: input.path) { try input.forEachPiece($0) }
        bundles.append(place.joined(separator: "/"))
        return
      }
      // The result is ignored: a gzip file of something else, such as a text file, is not worth a message.
      _ = try unpack(input, only: inner, isDecrypted: isEncrypted, at: place, depth: depth)
    } catch let error as BundleError where fileCount == made && isOneOfAll {
      passOver(place, error.code.rawValue, error.message)
    }
  }

  private mutating func passOver(_ place: [String], _ code: String, _ message: String) {
    tell(place, code, "the inner archive was not opened: \(message)")
  }

  private mutating func tell(_ place: [String], _ code: String, _ message: String) {
    passedOver.append(.init(path: place.joined(separator: "/"), code: code, message: message))
  }

  // MARK: - Limits

  /// Adds the number of files to be unpacked to `fileCount`, and their announced sizes to `total`. Throws if
  /// `fileCount` or `total` exceeds its limit, before any of these files is written.
  private mutating func count(
    _ files: Int, _ sizes: [UInt64], of path: String
  ) throws(BundleError) {
    guard fileCount + files <= UnpackedArchive.entryLimit else {
      throw BundleError(
        .tooLarge,
        "the archive has \(fileCount + files) files of stores and models, and the limit is \(UnpackedArchive.entryLimit)",
        path: path)
    }
    let sum = sizes.reduce(total) { $0.addingClamped($1) }
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

  /// Subtracts `size`, the unpacked size of a nested archive, from ``innerLeft``. Throws if `size` is larger than
  /// ``innerLeft``. Called before the nested archive is unpacked.
  private mutating func takeInner(
    _ size: UInt64, of path: String, _ entry: String
  ) throws(BundleError) {
    guard size <= innerLeft else {
      throw BundleError(
        .tooLarge,
        "the archives in the archive would unpack to more than \(sizeLimit) bytes in all",
        path: path, entry: entry)
    }
    innerLeft -= size
  }

  // MARK: - What entries are

  /// Whether the file `name` is the main file `store`, or a file that belongs to the same store, for example its log.
  /// Both parameters are paths in the archive.
  private static func isMember(_ name: String, of store: String) -> Bool {
    let parts = PathText.components(of: store)
    let inner =
      parts.count == 1
      ? name : PathText.dropping(prefix: PathText.folder(of: store) + "/", from: name)
    return inner.flatMap { StoreSet.role(ofMember: $0, mainName: parts[parts.count - 1]) } != nil
  }

  /// Whether an entry is in the folder `folder` of the archive, at any depth.
  private static func isBelow(_ name: String, _ folder: String) -> Bool {
    PathText.starts(name, with: folder + "/")
  }

  /// The stores and archives that were found among the entries by their first bytes, because their names do not show
  /// what they are.
  private struct Leads<Reader: ArchiveReader> {
    /// The names of the stores that were found, and the names that logs and journals of these stores would have.
    private(set) var stores: Set<[UInt8]> = []
    private(set) var archives: [(entry: Reader.Entry, isEncrypted: Bool)] = []
    /// The number of entries whose first bytes were read.
    private(set) var count = 0
    /// Whether the first bytes of some entries were not read because the limit was reached.
    private(set) var isCut = false

    /// Finds stores and archives by the first bytes of those entries whose names do not show what they are.
    ///
    /// - Parameters:
    ///   - reader: the archive.
    ///   - store: the path of the only wanted store, or of an archive or folder that contains it; nil for all stores.
    ///   - limit: the maximum number of entries whose first bytes are read.
    init(of reader: Reader, only store: String?, limit: Int) {
      for entry in reader.entries
      where !entry.isFolder && !entry.isLink && entry.size >= minArchiveBytes
        && !UnpackedArchive.isWanted(entry.name)
      {
        if let store, !isBelow(entry.name, store),
          !PathText.starts(store + "/", with: entry.name + "/")
        {
          continue
        }
        guard count < limit else {
          isCut = true
          return
        }
        count += 1
        // An entry whose first bytes cannot be unpacked is treated as neither a store nor an archive.
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
