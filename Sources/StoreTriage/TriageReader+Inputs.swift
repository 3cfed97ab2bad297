import AgeFiles
import Foundation
import SQLiteFile
import SafeFiles
import SafeText
import StoreExtraction
import StoreFiles
import StoreRecovery
import SupportBundle

// Reads each kind of input: folders, incidents, stores, archives and bundles.
extension TriageReader {
  private static let recordName = "incident.json"
  /// The file in an incident's folder that records whether the store was restored or put back.
  private static let outcomeName = "outcome.json"
  /// The maximum size of a JSON record, in bytes.
  private static let recordBytes = 16 << 20
  private static let unreadable = "incident.unreadable"
  /// The file in a bundle that records why the bundle's store could not be read.
  private static let problemName = "problem.json"

  // MARK: - Folders

  /// Reads a folder. For the folder of an incident, returns the incident's line; for any other folder, returns the
  /// inputs that the folder holds.
  func folder(_ path: String, _ known: String?) throws -> Answer {
    let bare = PathText.withoutTrailingSlashes(path)
    if (try FileStatus.of(PathText.joined(bare, Self.recordName)))?.kind == .file {
      return try incident(path, known)
    }
    if PhoneBackup.isBackup(bare) {
      let backup = try PhoneBackup(bare)
      let (stores, others) = backup.contents()
      // A lost file of a store is not listed separately, because the line of the store reports it.
      let told = Set(stores.flatMap { backup.lostFiles(of: $0) }.map { ExactText($0.path) })
      let untold = others.filter { !told.contains(ExactText($0.path)) }
      return .inputs(
        stores.map { .path(PathText.joined(bare, $0.name)) } + untold.map { .line(line(of: $0)) })
    }
    let found = try StoreFinder.find(
      at: path,
      taking: .init(folderWith: Self.recordName, file: UnpackedArchive.mayHoldStore))
    var items = (found.stores + found.taken).map { ($0, Item.path($0)) }
    for other in found.passedOver {
      items.append(
        (other.path, Self.isRead(other) ? .path(other.path) : .line(line(of: other))))
    }
    items.sort { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
    return .inputs(items.map(\.1))
  }

  /// Whether triage reads a file that ``StoreFinder`` has passed over. True if the file is empty, looks encrypted or
  /// has no database header, because the file may still be a store. False if no file exists at the path of `other`
  /// (``isEscaped(_:)``).
  private static func isRead(_ other: StoreFinder.PassedOver) -> Bool {
    ["file.empty", "file.notADatabase", "file.looksEncrypted"].contains(other.code)
      && !isEscaped(other.path)
  }

  /// Whether `path`, which a search of a folder has found, is not the real path of the file because bytes that are not
  /// UTF-8 are escaped, for example as `\xE9`. No file exists at such a path.
  private static func isEscaped(_ path: String) -> Bool { !ByteFile.exists(path) }

  private func line(of other: StoreFinder.PassedOver, at path: String? = nil) -> TriageLine {
    TriageLine(path: path ?? other.path, failed: .init(code: other.code, message: other.message))
  }

  // MARK: - Incidents

  private func incident(_ path: String, _ known: String?) throws -> Answer {
    let bare = PathText.withoutTrailingSlashes(path)
    let record = PathText.joined(bare, Self.recordName)
    let folder = PathText.joined(bare, "store")
    var line = TriageLine(path: path, kind: .incident)
    var identity: String?
    do {
      let bytes = try Self.record(record)
      let incident = try Self.incident(bytes)
      guard PathText.isPlainName(incident.storeName) else {
        throw TriageLine.Failed(
          code: Self.unreadable,
          message: "the name of the store in the record is not a plain file name")
      }
      let store = PathText.joined(folder, incident.storeName)
      identity = identityOfIncident(record, store)
      if let identity, identity == known { return .known }
      line.tell(incident)
      if try FileStatus.of(store) != nil {
        try tellOfProblem(&line) { try read(storeAt: store, incident: bytes, into: &$0) }
      } else {
        line.signature.problem = Self.problem(withoutStoreIn: bare)
        line.tell(nil, AnalyserFacts(incident: Data(bytes)), analysers)
      }
    } catch let error as TriageLine.Failed where error.code == Self.unreadable {
      if let store = storeWithoutRecord(in: folder) {
        identity = identityOfIncident(record, store)
        if let identity, identity == known { return .known }
        do { try read(storeWithoutRecord: store, into: &line) } catch let inner {
          line = TriageLine(path: path, kind: .incident)
          fail(&line, inner)
          if !line.mayDiffer { fail(&line, error) }
        }
      } else {
        fail(&line, error)
      }
    } catch {
      fail(&line, error)
    }
    line.signature = line.signature.hashed()
    return .line(line, identity: line.failed == nil && !line.isToBeReadAgain ? identity : nil)
  }

  /// Returns the problem to report for an incident's folder without a store. The problem says whether the store was
  /// restored, was put back, or is missing.
  private static func problem(withoutStoreIn folder: String) -> String {
    let outcome = try? decoder.decode(
      IncidentOutcome.self, from: Data(record(PathText.joined(folder, outcomeName))))
    return switch outcome?.kind {
    case .restored: TriageSignature.restored
    case .putBack: TriageSignature.putBack
    case nil: TriageSignature.noStore
    }
  }

  private func identityOfIncident(_ record: String, _ store: String) -> String? {
    let outcome = PathText.joined(PathText.folder(of: record), Self.outcomeName)
    return identityOfFiles([record, outcome] + FileIdentities.files(ofSetAt: store))
  }

  /// Returns the path of the only store in `folder`, which belongs to an incident whose record cannot be read. Nil when
  /// the folder contains no store or several stores.
  private func storeWithoutRecord(in folder: String) -> String? {
    guard FileStatus.found(folder)?.kind == .folder else { return nil }
    return try? only(in: folder)
  }

  /// Reads the store of an incident whose record cannot be read. An undamaged store gets the verdict `unread` instead
  /// of `healthy`, because the app must have had a reason to set the store aside.
  private func read(storeWithoutRecord store: String, into line: inout TriageLine) throws {
    try read(storeAt: store, incident: nil, into: &line)
    line.signature.problem = Self.unreadable
    if line.signature.verdict == TriageSignature.healthy {
      line.signature.verdict = TriageSignature.unread
    }
  }

  /// Calls `read`, which adds facts about the store of an incident or bundle to `line`. If `read` throws, `line` gets
  /// its previous contents back, and the error's code is recorded in ``TriageSignature/problem``.
  private func tellOfProblem(
    _ line: inout TriageLine, _ read: (inout TriageLine) throws -> Void
  ) throws {
    let before = line
    do { try read(&line) } catch {
      var failed = before
      fail(&failed, error)
      line = before
      line.signature.problem = failed.signature.problem
      line.fix = Fix(of: line, analyses: [])
    }
  }

  private static func record(_ path: String) throws -> [UInt8] {
    let file = try ByteFile(path)
    guard file.size <= Int64(recordBytes) else {
      throw TriageLine.Failed(code: unreadable, message: "the record is too large")
    }
    return try file.bytes(at: 0, count: Int(file.size))
  }

  private static func incident(_ bytes: [UInt8]) throws -> Incident {
    guard let incident = try? decoder.decode(Incident.self, from: Data(bytes)),
      incident.schema == Incident.schemaName, incident.version <= Incident.currentVersion
    else {
      /// A type that can be decoded from any JSON value.
      struct Anything: Decodable { init(from decoder: any Decoder) throws {} }
      let isJSON = (try? decoder.decode(Anything.self, from: Data(bytes))) != nil
      let reason =
        bytes.isEmpty
        ? "is empty"
        : isJSON ? "is not a record of an incident that this version can read" : "is not JSON"
      throw TriageLine.Failed(code: unreadable, message: "\(recordName) \(reason)")
    }
    return incident
  }

  private static var decoder: JSONDecoder {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    return decoder
  }

  // MARK: - Stores

  /// Reads a store, and adds the results of the check and of the analysers to `line`. `incident` is the record of the
  /// store's incident, as JSON; nil without an incident.
  ///
  /// - Throws: An error that says why the store cannot be read.
  func read(storeAt path: String, incident: [UInt8]?, into line: inout TriageLine) throws {
    let decrypted = try key.flatMap { try DecryptedStore.ifEncrypted(path, $0) }
    try withExtendedLifetime(decrypted) {
      try read(storeAt: path, decrypted, incident: incident, into: &line)
    }
  }

  private func read(
    storeAt path: String, _ decrypted: DecryptedStore?, incident: [UInt8]?,
    into line: inout TriageLine
  ) throws {
    let place = decrypted?.storePath ?? path
    var inspection = try StoreInspection(path: place, takesHashes: false)
    if let decrypted { try inspection.setEncrypted(decrypted, takesHashes: false) }
    guard inspection.changedDuringRead.isEmpty else {
      throw TriageLine.Failed(
        code: "evidence.changedDuringRead", message: "the store changed while it was read")
    }
    line.tell(
      inspection, AnalyserFacts(inspection, at: place, incident: incident.map { Data($0) }),
      analysers)
    if line.kind == .store || line.kind == .incident {
      line.sizes?.inputBytes = StoreSet(at: path).sizeBytes
    }
    if line.date == nil, let status = try FileStatus.of(path) {
      line.date = ShortText.second(
        Date(timeIntervalSince1970: Double(status.modified) / 1_000_000_000))
      line.dateSource = .file
    }
    if options.surveys, inspection.damageCount > 0 {
      line.rows.recoverable = try Self.recoverable(place)
    }
  }

  /// Returns the number of rows that a recovery would save, including rows whose table is unknown.
  private static func recoverable(_ path: String) throws -> Int {
    let found = try StoreRebuild().survey(DamagedStore(path: path))
    return found.rowCount + found.unattributedCount
  }

  func read(backup: String, _ name: String, into line: inout TriageLine) throws {
    let backup = try PhoneBackup(backup)
    guard let store = backup.store(named: name) else {
      throw TriageLine.Failed(
        code: "input.unknownName", message: "the backup has no store of this name")
    }
    let unpacked = try UnpackedBackup(store)
    try withExtendedLifetime(unpacked) {
      try read(storeAt: unpacked.storePath, incident: nil, into: &line)
    }
    // `read` has set the date to the modification time of the unpacked copy, which is not that of the store.
    line.date = nil
    line.dateSource = nil
    // If the write-ahead log is lost, its rows are missing, but the check finds no damage.
    if let lost = backup.lostFiles(of: store).first {
      line.signature.verdict = TriageSignature.corrupt
      line.signature.problem = ShortText.word(lost.code)
      line.rows.lost = nil
      line.rows.recoverable = nil
      line.fix = .resend
    }
  }

  // MARK: - Bundles

  /// Reads a bundle or an archive with one store into `line`, and returns nil. For an archive with several stores, or
  /// with none, returns the answer.
  func read(archive path: String, _ isFound: Bool, into line: inout TriageLine) throws -> Answer? {
    let file = try BundleFile(path, secrets)
    guard let reader = try UnpackedArchive.bundle(in: file) else {
      return try read(plain: file, isFound, into: &line)
    }
    try read(bundle: file, reader, from: path, into: &line)
    return nil
  }

  /// Reads a support bundle into `line`. `path` is the path of the bundle, or of the archive that contains it.
  private func read(
    bundle file: BundleFile, _ reader: ZipReader, from path: String, into line: inout TriageLine
  ) throws {
    line.kind = .bundle
    line.sizes = .init(inputBytes: FileStatus.following(path)?.sizeBytes)
    let contents: BundleContents
    do throws(BundleError) {
      contents = try BundleContents(of: reader)
    } catch {
      if error.code == .isReturn { line.kind = .archive }
      throw error
    }
    line.contents = contents.manifest.contents.rawValue
    let records = Records(reader, contents)
    let bytes = try records.bytes(Self.recordName, Self.recordBytes)
    if let bytes { line.tell(try Self.incident(bytes)) }
    if line.date == nil, let made = ShortText.second(contents.manifest.created) {
      line.date = made
      line.dateSource = .bundle
    }
    try tell(of: file, records, bytes, &line)
  }

  /// Adds what a bundle says about its store to `line`: the inspection in the bundle or, without an inspection, the
  /// result of checking the store in the bundle. If the bundle contains neither, adds the recorded reason why the store
  /// is missing.
  private func tell(
    of file: BundleFile, _ records: Records, _ incident: [UInt8]?, _ line: inout TriageLine
  ) throws {
    let facts = incident.map { Data($0) }
    if let bytes = try records.bytes(StoreBundle.inspectionName, Self.recordBytes) {
      guard let inspection = try? Self.decoder.decode(StoreInspection.self, from: Data(bytes)),
        inspection.schema == "lifeboat.inspection", inspection.version == 1
      else {
        throw TriageLine.Failed(
          code: "bundle.badRecord",
          message: "inspection.json is not an inspection that this version can read")
      }
      line.tell(inspection, AnalyserFacts(inspection, incident: facts), analysers)
      guard options.surveys, inspection.damageCount > 0, records.holdsStore else { return }
      let unpacked = try UnpackedBundle(file, making: { _ = $1() })
      line.rows.recoverable = try withExtendedLifetime(unpacked) {
        try only(in: PathText.joined(unpacked.path, "store")).map(Self.recoverable)
      }
    } else if records.holdsStore {
      let date = (line.date, line.dateSource)
      try tellOfProblem(&line) { line in
        let unpacked = try UnpackedBundle(file, making: { _ = $1() })
        try withExtendedLifetime(unpacked) {
          guard let store = try only(in: PathText.joined(unpacked.path, "store")) else {
            throw TriageLine.Failed(
              code: "input.noStores", message: "the bundle's folder store/ holds no store")
          }
          try read(storeAt: store, incident: incident, into: &line)
        }
      }
      (line.date, line.dateSource) = date
    } else {
      struct Problem: Decodable { let code: String }
      let problem = try records.bytes(Self.problemName, Self.recordBytes).flatMap {
        try? Self.decoder.decode(Problem.self, from: Data($0)).code
      }
      line.signature.problem = problem.map(ShortText.word) ?? TriageSignature.noStoreInBundle
      if incident == nil {
        line.signature.verdict = TriageSignature.unread
        line.fix = Fix(of: line, analyses: [])
      } else {
        line.tell(nil, AnalyserFacts(incident: facts), analysers)
      }
    }
  }

  private func read(
    plain file: BundleFile, _ isFound: Bool, into line: inout TriageLine
  ) throws -> Answer? {
    let unpacked = try UnpackedArchive(file)
    return try withExtendedLifetime(unpacked) { () throws -> Answer? in
      let folder = unpacked.folder.path
      var found = try Self.found(in: folder, of: unpacked) ?? StoreFinder.Found()
      found.passedOver += unpacked.passedOver.map { $0.at(PathText.joined(folder, $0.path)) }
      let all = found.stores + found.passedOver.map(\.path)
      if all.isEmpty {
        if isFound { return .nothing }
        throw TriageLine.Failed(code: "input.noStores", message: "the archive holds no store")
      }
      if all.count == 1, unpacked.passedOver.isEmpty {
        try read(unpacked: all[0], in: unpacked, of: file, into: &line)
        return nil
      }
      return .lines(try lines(of: found, in: unpacked, file, like: line))
    }
  }

  /// The maximum number of stores in one archive that get a line in the output. The limit saves memory, because the
  /// lines of thousands of archives may wait for output at the same time.
  private static let maxPacked = 100

  /// Returns a line for each store and bundle in an archive, sorted by path. If the archive contains more than
  /// ``maxPacked`` of them, an additional last line says so.
  private func lines(
    of found: StoreFinder.Found, in unpacked: UnpackedArchive, _ file: BundleFile,
    like archive: TriageLine
  ) throws -> [TriageLine] {
    let folder = unpacked.folder.path
    let passedOver = found.passedOver.filter { !Self.isRead($0) }
    let stores = found.stores + found.passedOver.filter(Self.isRead).map(\.path)
    func named(_ place: String) -> String {
      PathText.joined(file.path, PathText.dropping(prefix: folder + "/", from: place) ?? place)
    }
    let all = stores.map { ($0, nil) } + passedOver.map { ($0.path, $0) }
    let shown = all.sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
      .prefix(Self.maxPacked)
    var lines = shown.map { place, other in
      if let other { return line(of: other, at: named(place)) }
      var line = archive
      line.path = named(place)
      do { try read(unpacked: place, in: unpacked, of: file, into: &line) } catch {
        fail(&line, error)
      }
      line.signature = line.signature.hashed()
      return line
    }
    if shown.count < all.count {
      var line = archive
      fail(
        &line,
        TriageLine.Failed(
          code: "input.severalStores",
          message:
            "the archive holds \(all.count) files that are or may be stores; unpack the archive to "
            + "read more than \(Self.maxPacked)"
        ))
      line.signature = line.signature.hashed()
      lines.append(line)
    }
    return lines
  }

  func read(archive: String, _ name: String, into line: inout TriageLine) throws {
    let file = try BundleFile(archive, secrets)
    line.isEncrypted = file.isEncrypted
    let unpacked = try UnpackedArchive(file, only: name)
    try withExtendedLifetime(unpacked) {
      let place = PathText.joined(unpacked.folder.path, UnpackedArchive.escaped(name))
      // If `name` is the name of an archive inside the archive, the only store in the inner archive is read.
      let isFolder = try FileStatus.of(place)?.kind == .folder
      guard let store = try isFolder ? only(in: place, of: unpacked) : place,
        ByteFile.exists(store)
      else {
        throw TriageLine.Failed(
          code: "input.unknownName", message: "the archive has no store of this name")
      }
      try read(unpacked: store, in: unpacked, of: file, into: &line)
    }
  }

  /// Reads a store or support bundle in an archive into `line`. `store` is the path of the unpacked copy, and `file` is
  /// the archive.
  private func read(
    unpacked store: String, in archive: UnpackedArchive, of file: BundleFile,
    into line: inout TriageLine
  ) throws {
    if let bundle = try archive.bundle(at: store, named: line.path) {
      return try read(bundle: bundle, ZipReader(bundle), from: file.path, into: &line)
    }
    try read(storeAt: store, incident: nil, into: &line)
    line.sizes?.inputBytes = FileStatus.following(file.path)?.sizeBytes
    // `read` has set the date to the modification time of the unpacked copy, which is not that of the store.
    line.date = nil
    line.dateSource = nil
  }

  /// Returns the path of the only store in a folder; nil when the folder contains no store. If the folder is that of
  /// an unpacked archive, a bundle counts as a store. Throws `input.severalStores` when the folder contains several
  /// stores.
  private func only(in folder: String, of archive: UnpackedArchive? = nil) throws -> String? {
    guard let found = try Self.found(in: folder, of: archive) else { return nil }
    let all = found.stores + found.passedOver.map(\.path)
    guard all.count == 1 else {
      throw TriageLine.Failed(
        code: "input.severalStores",
        message:
          "the input holds \(all.count) files that are or may be stores, but only one is expected")
    }
    return all[0]
  }

  /// Returns the stores in a folder, the files that may be stores, and the bundles of the unpacked archive that the
  /// folder belongs to; nil when the folder contains none of them.
  private static func found(
    in folder: String, of archive: UnpackedArchive? = nil
  ) throws -> StoreFinder.Found? {
    let bundles = archive?.bundles(in: folder) ?? []
    do {
      var found = try StoreFinder.find(at: folder)
      found.stores += bundles
      return found
    } catch let error as ExtractionError where error.code == .noStores {
      return bundles.isEmpty ? nil : StoreFinder.Found(stores: bundles)
    }
  }
}

/// The JSON records of a bundle. Each record that is read is checked against its hash in the bundle's manifest.
private struct Records {
  private let reader: ZipReader
  private let listed: [String: BundleManifest.Entry]
  let holdsStore: Bool

  init(_ reader: ZipReader, _ contents: BundleContents) {
    self.reader = reader
    listed = Dictionary(firstOf: contents.manifest.entries.map { ($0.name, $0) })
    holdsStore = reader.entries.contains { PathText.starts($0.name, with: "store/") }
  }

  /// Returns the bytes of a record; nil when neither the archive nor the manifest lists the record. `limit` is the
  /// maximum size of the record, in bytes.
  ///
  /// - Throws: `bundle.entryChanged` when the record was changed after it was packed.
  func bytes(_ name: String, _ limit: Int) throws -> [UInt8]? {
    let changed = BundleError(
      .entryChanged, "\(name) was changed after it was packed", path: reader.path, entry: name)
    guard let entry = reader.entry(named: name) else {
      if listed[name] != nil { throw changed }
      return nil
    }
    guard entry.size <= UInt64(limit) else {
      throw BundleError(
        .tooLarge, "the record is too large: the limit is \(limit) bytes", path: reader.path,
        entry: name)
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Int(clamping: min(entry.size, 1 << 20)))
    let sha256 = try reader.read(entry) { bytes += $0 }
    guard listed[name]?.sha256 == sha256 else { throw changed }
    return bytes
  }
}
