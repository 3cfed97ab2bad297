import CLibrary
import Crypto
import Foundation
package import ObjectModel
import SQLiteFile
import SafeFiles
import SafeText
import StoreFiles
package import StoreRecovery

/// A store that support has repaired or migrated, packed for the app in a `.lifeboat-return` file. The file is a zip
/// archive with a manifest, the store's files, and an optional report.
package struct StoreReturn: Sendable {
  /// The path of the `.lifeboat-return` archive.
  package let path: String
  let manifest: ReturnManifest
  /// The offset in the archive of the first byte of each file, in the order of the manifest's files.
  let offsets: [Int64]

  /// The id of the incident for which the store was repaired.
  package var incidentID: String { manifest.incident.id }
  /// The name that the store's main file has in the app.
  package var storeName: String { manifest.incident.storeName }
  package var sizeBytes: Int64 { manifest.files.reduce(0) { $0 + $1.sizeBytes } }

  // MARK: - Making

  /// A function that is called for the file to create, under its private name until it is complete. The function must
  /// call `make`, which creates the file and returns whether it exists afterwards.
  package typealias Making = (_ path: String, _ make: () -> Bool) -> Void

  /// Packs a repaired store into an archive.
  ///
  /// - Parameters:
  ///   - store: the path of the repaired store's main file. The store's write-ahead log and external files are packed,
  ///     too. No program may have the store open.
  ///   - incident: the incident for which the store was repaired. Its record must have a seal with the SHA-256 of the
  ///     main file.
  ///   - report: the bytes of a file for the app, for example a migration report as JSON; nil for no report.
  ///   - path: the path of the archive. No file may exist at this path.
  ///   - making: called when the file is created, so that the caller can remove it if the process is interrupted.
  /// - Returns: the version hashes of the repaired store; empty if it records none.
  /// - Throws: ``StoreReturnError``, also when the store has more files than ``init(verifying:)`` accepts;
  ///   `SQLiteFileError` when a file of the store cannot be opened or read.
  @discardableResult
  package static func make(
    of store: String, for incident: Incident, report: [UInt8]? = nil, at path: String,
    making: Making = { _ = $1() }
  ) throws -> [String: VersionHash] {
    try make(
      of: store, for: incident, report: report, at: path, making: making,
      maxEntries: StoredZip.maxEntries)
  }

  /// Packs a repaired store into an archive with at most `maxEntries` entries, and a manifest of at most
  /// `maxManifestBytes` bytes.
  @discardableResult
  static func make(
    of store: String, for incident: Incident, report: [UInt8]? = nil, at path: String,
    making: Making = { _ = $1() }, maxEntries: Int,
    maxManifestBytes: Int64 = ReturnManifest.maxBytes
  ) throws -> [String: VersionHash] {
    guard let sealed = incident.seal?.files.first(where: { $0.role == .main })?.sha256 else {
      throw StoreReturnError(
        .otherIncident,
        "the record of the incident \(incident.id) has no checksum of the main file; without the "
          + "checksum, the app cannot check that a returned store is for this incident",
        path: store)
    }
    let set = StoreSet(at: store)
    if let problem = set.unread { throw StoreReturnError(.unreadable, problem, path: store) }
    let members = set.members.filter { $0.role != .sharedMemory && $0.kind != .folder }
    // The manifest and the report also count as entries.
    let maxFiles = maxEntries - (report == nil ? 1 : 2)
    guard members.count <= maxFiles else {
      throw StoreReturnError(
        .unreadable,
        "the store has \(members.count) files, and a returned store may have at most \(maxFiles)",
        path: store)
    }
    if let other = members.first(where: { $0.kind != .file || $0.role == .migrationDestination }) {
      throw StoreReturnError(
        .unreadable, "only ordinary files can be packed into a returned store", path: other.path)
    }
    guard set.first(.main) != nil else {
      throw StoreReturnError(.unreadable, "there is no store at this path", path: store)
    }
    let metadata = try Self.metadata(of: store)
    let versionHashes = metadata?.versionHashes ?? [:]
    if let problem = misfit(versionHashes.keys, incident) {
      throw StoreReturnError(.unfit, "the store cannot be sent back: \(problem)", path: store)
    }
    var files: [(file: ReturnManifest.File, path: String, checksum: UInt32)] = []
    for member in members {
      let source = try ByteFile(member.path)
      let (sha256, checksum) = try Self.hashes(
        of: source, from: 0, count: source.size, orThrow: .unreadable)
      let name = Self.name(of: member, in: set, for: incident.storeName)
      files.append(
        (.init(name: name, sizeBytes: source.size, sha256: sha256), member.path, checksum))
    }
    let manifest = ReturnManifest(
      toolVersion: Tool.version,
      incident: .init(id: incident.id, storeName: incident.storeName, sha256: sealed),
      storeUUID: metadata?.uuid,
      versionHashes: versionHashes.mapValues(\.hex),
      files: files.map(\.file), reportSHA256: report.map { Digest.sha256($0) })
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let head = [UInt8](try encoder.encode(manifest))
    guard head.count <= maxManifestBytes else {
      throw StoreReturnError(
        .unreadable,
        "the names of the store's files are too long for a returned store: the manifest would have "
          + "\(head.count) bytes, and the limit is \(maxManifestBytes)", path: store)
    }
    try write(
      head, manifest, report, files.map { ($0.path, $0.checksum) }, to: path, making: making)
    return versionHashes
  }

  /// Returns the reason why a store with the entities `names` cannot be one of the app, as a clause of a message. Nil if
  /// it has an entity of the store that was set aside, or of the model that the app had then. Also nil if the incident
  /// records no entities, as that of a store without a model.
  static func misfit(_ names: some Collection<String>, _ incident: Incident) -> String? {
    let model = incident.model.map { $0.onlyInModel + $0.differing } ?? []
    let known = Set((incident.evidence.recordedHashes ?? [:]).keys).union(model)
    guard !known.isEmpty, !names.contains(where: known.contains) else { return nil }
    return names.isEmpty
      ? "it has no version hashes, so that the app would not open it: it may be a copy without its -wal file"
      : "it has no entity in common with the store that was set aside: it is the store of another app"
  }

  private static func metadata(of store: String) throws -> StoreMetadata? {
    do throws(SQLiteFileError) {
      var findings = FindingList()
      return try StoreMetadata.read(from: SQLiteDatabase(path: store), &findings)
    } catch {
      throw StoreReturnError(.unreadable, error.message, path: store)
    }
  }

  /// Returns the name of `member` in the app's store set, where the main file is named `storeName`.
  private static func name(
    of member: StoreSet.Member, in set: StoreSet, for storeName: String
  ) -> String {
    let own = member.role == .support ? StoreSet.supportName(for: set.storeName) : set.storeName
    let new = member.role == .support ? StoreSet.supportName(for: storeName) : storeName
    return new + (PathText.dropping(prefix: own, from: member.name) ?? "")
  }

  /// Returns the hashes of `count` bytes of `file`, from the offset `start` on.
  private static func hashes(
    of file: ByteFile, from start: Int64, count: Int64, orThrow code: StoreReturnError.Code
  ) throws -> (sha256: String, checksum: UInt32) {
    var hasher = SHA256()
    var checksum = Checksum()
    try forEachPart(of: file, from: start, count: count, orThrow: code) { bytes in
      hasher.update(data: bytes)
      checksum.update(bytes)
    }
    return (Hex.string(hasher.finalize()), checksum.value)
  }

  /// Passes `count` bytes of `file`, from the offset `start` on, to `body` in parts of at most 1 MiB. Throws an error
  /// with the code `code` if the file ends earlier.
  static func forEachPart(
    of file: ByteFile, from start: Int64, count: Int64,
    orThrow code: StoreReturnError.Code = .damaged, _ body: ([UInt8]) throws -> Void
  ) throws {
    var done: Int64 = 0
    while done < count {
      let part = try file.bytes(at: start + done, count: Int(min(count - done, 1 << 20)))
      guard !part.isEmpty else {
        throw StoreReturnError(code, "the file ends early", path: file.path)
      }
      try body(part)
      done += Int64(part.count)
    }
  }

  /// Writes the archive under a private name, syncs the file, and then renames it to its final name. `head` is the
  /// manifest as JSON.
  private static func write(
    _ head: [UInt8], _ manifest: ReturnManifest, _ report: [UInt8]?,
    _ files: [(path: String, checksum: UInt32)], to path: String, making: Making
  ) throws {
    let output = try NewArchive(at: path, making: making)
    do {
      var archive = StoredZip()
      func add(_ bytes: [UInt8], _ name: String) throws {
        var checksum = Checksum()
        checksum.update(bytes)
        try output.write(
          archive.add(.init(name: name, size: Int64(bytes.count), checksum: checksum.value)))
        try output.write(bytes)
      }
      try add(head, ReturnManifest.name)
      if let report { try add(report, ReturnManifest.reportName) }
      for (file, (source, checksum)) in zip(manifest.files, files) {
        try output.write(
          archive.add(
            .init(
              name: ReturnManifest.storeFolder + file.name, size: file.sizeBytes,
              checksum: checksum)))
        let input = try ByteFile(source)
        var hasher = SHA256()
        try forEachPart(of: input, from: 0, count: file.sizeBytes, orThrow: .unreadable) { bytes in
          hasher.update(data: bytes)
          try output.write(bytes)
        }
        guard Hex.string(hasher.finalize()) == file.sha256, input.size == file.sizeBytes else {
          throw StoreReturnError(.unreadable, "the store changed while it was read", path: source)
        }
      }
      try output.write(archive.directory)
      try output.publish()
    } catch {
      output.discard()
      throw error
    }
  }

  // MARK: - Reading

  /// Reads an archive and checks all of its bytes: the zip structure, the checksums, and the hashes in the manifest.
  ///
  /// - Throws: ``StoreReturnError`` when the archive is damaged; `SQLiteFileError` when the file cannot be opened or
  ///   read.
  package init(verifying path: String) throws {
    self.path = path
    let file = try ByteFile(path)
    func damaged(_ what: String) -> StoreReturnError {
      StoreReturnError(.damaged, what, path: path)
    }
    var archive = StoredZip()
    var places: [(entry: StoredZip.Entry, offset: Int64)] = []
    var place: Int64 = 0
    while let entry = try Self.entry(in: file, at: place) {
      guard places.count < StoredZip.maxEntries else {
        throw damaged("the archive has too many entries")
      }
      let length = Int64(archive.add(entry).count)
      guard entry.size <= file.size - place - length else {
        throw damaged(
          "the entry \(VisibleText.visible(entry.name)) is longer than the rest of the archive")
      }
      places.append((entry, place + length))
      place += length + entry.size
    }
    let directory = archive.directory
    guard !places.isEmpty, file.size - place == Int64(directory.count),
      try file.bytes(at: place, count: directory.count) == directory
    else {
      throw damaged(
        "the file is not an archive of a returned store, or the archive's directory was changed")
    }

    var digests: [String] = []
    for (entry, offset) in places {
      let (sha256, checksum) = try Self.hashes(
        of: file, from: offset, count: entry.size, orThrow: .damaged)
      guard checksum == entry.checksum else {
        throw damaged("the bytes of \(VisibleText.visible(entry.name)) do not match their checksum")
      }
      digests.append(sha256)
    }
    guard let first = places.first, first.entry.name == ReturnManifest.name,
      first.entry.size <= ReturnManifest.maxBytes
    else { throw damaged("the archive has no manifest") }
    let head = try file.bytes(at: first.offset, count: Int(first.entry.size))
    guard let manifest = try? JSONDecoder().decode(ReturnManifest.self, from: Data(head)),
      manifest.schema == ReturnManifest.schemaName, manifest.version == 1
    else {
      throw damaged("the manifest cannot be read; a newer Lifeboat may have made the archive")
    }
    var rest = Array(zip(places, digests).dropFirst())
    if let report = manifest.reportSHA256 {
      guard let found = rest.first, found.0.entry.name == ReturnManifest.reportName,
        found.1 == report
      else { throw damaged("the report does not match its hash in the manifest") }
      rest.removeFirst()
    }
    guard rest.count == manifest.files.count,
      PathText.isPlainName(manifest.incident.storeName)
    else { throw damaged("the files in the archive are not those that its manifest lists") }
    var met: Set<FileName> = []
    for (file, (entry, digest)) in zip(manifest.files, rest.map { ($0.0.entry, $0.1) }) {
      guard PathText.isSame(entry.name, ReturnManifest.storeFolder + file.name),
        entry.size == file.sizeBytes, digest == file.sha256,
        met.insert(FileName(file.name)).inserted,
        let role = StoreSet.role(ofMember: file.name, mainName: manifest.incident.storeName),
        role != .sharedMemory, role != .migrationDestination
      else {
        throw damaged(
          "\(VisibleText.visible(file.name)) does not match its description in the manifest")
      }
    }
    guard met.contains(FileName(manifest.incident.storeName)) else {
      throw damaged("the archive does not hold the store's main file")
    }
    self.manifest = manifest
    offsets = rest.map(\.0.offset)
  }

  private static func entry(in file: ByteFile, at place: Int64) throws -> StoredZip.Entry? {
    guard file.size - place >= 30,
      let length = StoredZip.nameLength(in: try file.bytes(at: place, count: 30)),
      file.size - place >= StoredZip.headerLength(nameLength: length)
    else { return nil }
    return StoredZip.entry(
      of: try file.bytes(at: place, count: StoredZip.headerLength(nameLength: length)))
  }

  /// Whether the store was repaired for `incident`. True if the manifest and the incident have the same id, the same
  /// store name, and the same SHA-256 of the main file that was set aside.
  package func isFor(_ incident: Incident) -> Bool {
    incident.id == manifest.incident.id
      && PathText.isSame(incident.storeName, manifest.incident.storeName)
      && incident.seal?.files.first { $0.role == .main }?.sha256 == manifest.incident.sha256
  }
}
