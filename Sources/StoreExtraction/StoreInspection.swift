package import CoreDataForensics
package import CoreDataStore
import Foundation
import ObjectModel
import RowText
import SafeFiles
import SafeText
package import StoreFiles
public import SQLiteFile
package import SQLiteForensics

/// The result of `lifeboat inspect` for a store: its files, header, log, metadata, model, row counts and findings.
public struct StoreInspection: Sendable, Codable {
  package var schema = "lifeboat.inspection"
  /// The version of the JSON form's schema; it only increases.
  package var version = 1
  /// The path of the store's main file, as messages show the path. The initial value is the path that was passed to the
  /// initializer.
  package var path: String
  /// The kind of file: `coreData`, `coreDataShaped` or `sqlite`.
  package let kind: CoreDataStore.Kind
  package private(set) var members: [Member]
  /// The kind of encryption of the files; nil if they are not encrypted.
  package private(set) var encryption: String?
  package let file: File
  /// The write-ahead log; nil when the store has no log.
  package let writeAheadLog: Log?
  /// The rollback journal; nil when the store has no journal.
  package let journal: Journal?
  /// The content of Z_METADATA; nil if it has no readable row.
  package let metadata: Metadata?
  /// The model that is cached in the store; nil if no model is cached.
  package let model: Model?
  /// The entities and the number of rows of each, sorted by entity number.
  package let entities: [EntityCount]
  /// The number of rows in tables of entities whose entity number belongs to no entity of their table. Nil if there are
  /// no such rows. Older versions do not record this number.
  package let unknownEntityRowCount: Int?
  /// The tables and the number of rows in each, in the order of the schema.
  package let tables: [TableCount]
  /// The tables that belong to no entity of the model and have rows, for example a table that the app itself has made.
  /// Nil without such tables, and for files that are not Core Data stores.
  package let plainTables: [TableCount]?
  /// The number of readable rows. In a Core Data store, only the rows of entities and the rows in
  /// ``unknownEntityRowCount`` count; in other files, the rows of all tables.
  package let liveRowCount: Int
  /// What is wrong or noteworthy in the store and its files.
  package private(set) var findings: [Finding]
  /// The number of findings that are damage.
  package private(set) var damageCount: Int
  /// The parts of the file that the quick check in this inspection does not cover; see ``StoreCheck``.
  package let notChecked: [UncheckedPart]
  /// The names of files of the store set that changed while the store was read. Normally empty.
  package let changedDuringRead: [String]

  /// A file of the store set.
  package struct Member: Sendable, Codable {
    /// The path of the file relative to the store's folder.
    package let name: String
    package let role: StoreSet.Role
    package let sizeBytes: Int64
    /// True if ``sizeBytes`` is rounded down to a power of two, as in a support bundle; nil if the size is exact.
    package var isSizeApproximate: Bool?
    /// The SHA-256 in lower-case hex; nil if it was not computed.
    package let sha256: String?
  }

  /// Facts from the database header.
  package struct File: Sendable, Codable {
    /// The size of the main file in bytes.
    package let sizeBytes: Int64
    package let pageSizeBytes: Int
    /// The size of the database in pages after the last commit.
    package let pageCount: UInt32
    /// The number of pages on the freelist, as the header states it.
    package let freePageCount: UInt32
    /// The encoding of text: `UTF-8`, `UTF-16LE` or `UTF-16BE`.
    package let textEncoding: String
    /// The auto-vacuum mode: `none`, `full` or `incremental`.
    package let autoVacuum: String
    /// The journal mode according to the header: `wal` or `rollback`.
    package let journalMode: String
    /// The version of SQLite that last wrote the file, such as `3.43.2`.
    package let sqliteVersion: String
    /// The version number that the app can set (`PRAGMA user_version`).
    package let userVersion: Int32
  }

  package struct Log: Sendable, Codable {
    package let sizeBytes: Int64
    /// The number of frames up to and including the last commit frame.
    package let committedFrameCount: Int
    /// The number of commits in the committed frames.
    package let commitCount: Int
    /// The number of valid frames after the last commit. They belong to a transaction that was never finished.
    package let uncommittedFrameCount: Int
    /// The number of complete frames after the valid frames. They are damaged, or are left over from an earlier
    /// generation of the log.
    package let staleFrameCount: Int
    /// The number of committed frames that follow a frame with a wrong checksum. SQLite does not read these frames.
    package let committedFramesBehindBreak: Int
    /// The reason why the write-ahead log was not used; nil if it was used.
    package let problem: String?
  }

  package struct Journal: Sendable, Codable {
    package let sizeBytes: Int64
    /// The state of the journal: `hot` (must be rolled back), `finished`, `superseded` or `unreadable`.
    package let state: String
    /// The number of pages that are taken from the journal and not from the main file.
    package let pageCount: Int
  }

  /// The content of Z_METADATA.
  package struct Metadata: Sendable, Codable {
    /// The store's UUID; nil when no UUID is recorded.
    package let uuid: String?
    /// The version number of the Core Data framework that wrote the store; nil when no version number is recorded.
    package let frameworkVersion: Int64?
    /// The versions of the operating system that include this version of the framework; nil if they are not known.
    package let system: String?
    package let versionIdentifiers: [String]
    /// The version hash of each entity in hex, by entity name.
    package let versionHashes: [String: String]
    /// The recorded digest of the version hashes in base64; nil if no digest is recorded.
    package let digest: String?
    /// Whether the recorded digest matches the recorded version hashes; nil if no digest is recorded.
    package let digestHolds: Bool?
    /// The recorded checksum of the model version in base64; nil if no checksum is recorded.
    package let checksum: String?
    /// Whether the recorded checksum matches the recorded version hashes; nil if no checksum is recorded.
    package let checksumHolds: Bool?
    /// The metadata keys that are not Core Data's own. The kind and size of each value are given, but not the value.
    package let otherKeys: [StoreMetadata.OtherKey]
    /// The values of ``otherKeys``. Nil unless the caller asks for them, because apps keep tokens and other secrets in
    /// these values. A value that is too long, or that JSON cannot express, is given as an object with its size.
    package private(set) var otherValues: [String: JSONValue]?
    /// The reason why the property list in Z_METADATA cannot be read; nil if it can be read.
    package let problem: String?
  }

  package struct Model: Sendable, Codable {
    /// Where the model was found, such as `cached in the store`.
    package let source: String
    /// The number of entities in the model; 0 if the model cannot be read.
    package let entityCount: Int
    /// Whether the version hashes computed from the model match the version hashes in the metadata; nil if that is not
    /// known.
    package let hashesAgree: Bool?
    package let looksLikeSwiftData: Bool
    /// The reason why the model cannot be read; nil if it can.
    package let problem: String?
  }

  package struct EntityCount: Sendable, Codable {
    package let name: String
    /// The number of the entity. The entity's rows have this number in the column `Z_ENT`.
    package let number: Int64
    /// The number of rows of this entity. Rows of subentities are not included.
    package let rowCount: Int
  }

  package struct TableCount: Sendable, Codable {
    package let name: String
    /// The number of rows that can be read.
    package let rowCount: Int
  }

  /// The message of the finding that lists unreadable files beside the main file; nil if all files could be read.
  package var unreadFiles: String? { findings.first { $0.id == .storeFilesUnread }?.message }

  /// Inspects the store at `path`.
  ///
  /// - Parameters:
  ///   - path: the main file of the store.
  ///   - logView: which part of the write-ahead log is read.
  ///   - takesHashes: whether to compute the SHA-256 of each file of the store set. This reads every file once more.
  /// - Throws: `SQLiteFileError` when the file cannot be opened or contains no database page. A lost header does not
  ///   throw but is a finding.
  public init(path: String, logView: SQLiteDatabase.LogView = .committed, takesHashes: Bool = true)
    throws
  {
    try self.init(path: path, logView: logView, takesHashes: takesHashes, showsValues: false)
  }

  /// Inspects a store. If `showsValues` is true, also reads the values of the metadata keys that are not Core Data's
  /// own.
  package init(
    path: String, logView: SQLiteDatabase.LogView, takesHashes: Bool, showsValues: Bool
  ) throws {
    let watch = EvidenceWatch(path)
    try self.init(
      of: CoreDataStore(SQLiteDatabase.surveyed(path: path, logView: logView)), at: path, watch,
      takesHashes: takesHashes, showsValues: showsValues)
  }

  /// Inspects the store at `path`. Returns the inspection and the open store, so that the caller need not open the
  /// store again. Opening a store takes long if the schema is damaged.
  package static func withStore(
    path: String, logView: SQLiteDatabase.LogView
  ) throws -> (inspection: StoreInspection, store: CoreDataStore) {
    let watch = EvidenceWatch(path)
    let store = try CoreDataStore(SQLiteDatabase.surveyed(path: path, logView: logView))
    let inspection = try StoreInspection(
      of: store, at: path, watch, takesHashes: true, showsValues: false)
    return (inspection, store)
  }

  private init(
    of store: CoreDataStore, at path: String, _ watch: EvidenceWatch, takesHashes: Bool,
    showsValues: Bool
  ) throws {
    let database = store.database
    let set = StoreSet(at: path)
    let hashing = takesHashes ? set.hashing() : nil

    // The file is checked before its rows are read, as in ``StoreCheck``, so that both report the same findings.
    var report = try store.check()
    var tables: [TableCount] = []
    var counts: [Int64: Int] = [:]
    var rowCountOfEntities = 0
    var entityTables = Set(store.entityTables.map { SQLName($0.name) })
    for table in database.schema.tables {
      let isOfEntities = entityTables.remove(SQLName(table.name)) != nil
      let column =
        isOfEntities ? table.columnNames.firstIndex { SQLName.isSame($0, "Z_ENT") } : nil
      let rows = try database.rowCounts(of: table, byInteger: column)
      tables.append(TableCount(name: table.name, rowCount: rows.count))
      guard isOfEntities else { continue }
      rowCountOfEntities += rows.count
      for number in Set(store.records(in: table).map(\.number)) {
        counts[number, default: 0] += rows.byInteger[number] ?? 0
      }
    }
    let entities = store.entities.filter { !$0.isHistory }.map { record in
      EntityCount(
        name: store.entityName(ofNumber: record.number) ?? record.name, number: record.number,
        rowCount: counts[record.number] ?? 0)
    }

    self.path = path
    kind = store.kind
    file = File(database)
    writeAheadLog = database.writeAheadLog.map(Log.init)
    journal = database.journal.map {
      Journal(sizeBytes: $0.sizeBytes, state: $0.state.rawValue, pageCount: $0.pageCount)
    }
    var metadata = try Metadata(store)
    if showsValues { try metadata?.readValues(from: store) }
    self.metadata = metadata
    model = Model(store)
    self.entities = entities
    let unknownCount = rowCountOfEntities - counts.values.reduce(0, +)
    unknownEntityRowCount = unknownCount > 0 ? unknownCount : nil
    self.tables = tables
    let plain = Set(store.kind == .sqlite ? [] : store.plainTables.map { SQLName($0.name) })
    let holdingRows = tables.filter { $0.rowCount > 0 && plain.contains(SQLName($0.name)) }
    plainTables = holdingRows.isEmpty ? nil : holdingRows
    liveRowCount =
      store.kind == .sqlite
      ? tables.reduce(0) { $0 + $1.rowCount } : rowCountOfEntities
    members = try Self.members(of: set, hashing)
    report.add(findingsOf: store)
    var found = report.findings
    if let unread = set.unread {
      found.add(Finding(.storeFilesUnread, unread, severity: .note))
    }
    findings = found.kept
    damageCount = found.damageCount
    notChecked = report.unchecked
    changedDuringRead = watch.changes()
  }

  private static func members(
    of set: StoreSet, _ hashing: AnotherThread<MemberHashes>?
  ) throws -> [Member] {
    let hashes = try hashing?.wait() ?? [:]
    return set.members.filter { $0.kind == .file }.map {
      Member(
        name: $0.name, role: $0.role, sizeBytes: $0.sizeBytes,
        sha256: try? hashes[FileName($0.name)]?.get())
    }
  }

  /// Turns the inspection of a decrypted copy into an inspection of the encrypted files: lists the encrypted files,
  /// records the kind of their encryption, and inserts the findings of decryption before all others.
  package mutating func setEncrypted(
    _ evidence: StoreSet, _ encryption: String, _ found: FindingList, takesHashes: Bool
  ) throws {
    self.encryption = encryption
    members = try Self.members(of: evidence, takesHashes ? evidence.hashing() : nil)
    findings = found.kept + findings
    damageCount += found.damageCount
  }
}

extension StoreInspection.File {
  init(_ database: SQLiteDatabase) {
    let header = database.header
    self.init(
      sizeBytes: database.sizeBytes, pageSizeBytes: header.pageSize,
      pageCount: database.pageCount, freePageCount: header.freelistPageCount,
      textEncoding: header.textEncoding.name,
      autoVacuum: header.hasPointerMap
        ? header.isIncrementalVacuum ? "incremental" : "full" : "none",
      journalMode: header.readVersion == 2 ? "wal" : "rollback",
      sqliteVersion: header.sqliteVersionText, userVersion: header.userVersion)
  }
}

extension StoreInspection.Log {
  init(_ log: WriteAheadLog) {
    self.init(
      sizeBytes: log.sizeBytes, committedFrameCount: log.committedFrameCount,
      commitCount: log.commitCount, uncommittedFrameCount: log.uncommittedFrameCount,
      staleFrameCount: log.staleFrameCount,
      committedFramesBehindBreak: log.committedFramesBehindBreak, problem: log.defect)
  }
}

extension StoreInspection.Metadata {
  init?(_ store: CoreDataStore) throws {
    guard let metadata = store.metadata else { return nil }
    let hashes = metadata.versionHashes
    let problem: String? =
      switch metadata.plistState {
      case .present: nil
      case .null: "the property list is NULL"
      case .unreadable(let reason): reason
      }
    self.init(
      uuid: metadata.uuid, frameworkVersion: metadata.frameworkVersion,
      system: metadata.frameworkVersion.flatMap { StoreMetadata.system(ofFramework: $0) },
      versionIdentifiers: metadata.versionIdentifiers, versionHashes: hashes.mapValues(\.hex),
      digest: metadata.digest,
      digestHolds: metadata.digest.map { $0 == ModelHashes.digest(of: hashes) },
      checksum: metadata.checksum,
      checksumHolds: metadata.checksum.map { $0 == ModelHashes.checksum(of: hashes) },
      otherKeys: try store.otherKeys(), problem: problem)
  }
}

extension StoreInspection.Metadata {
  fileprivate mutating func readValues(from store: CoreDataStore) throws {
    guard store.database.schema.table(named: "Z_METADATA") != nil else { return }
    let list = try store.metadataList()
    var values: [String: JSONValue] = [:]
    for key in otherKeys {
      guard let value = list?[key.name] else { continue }
      // A byte takes two hexadecimal digits. Most texts need less space.
      var output = OutputBuffer(capacity: min(1 << 24, 1 << 16 + 3 * key.sizeBytes))
      output.append(json: value)
      var bytes: [UInt8] = []
      let isWhole = !output.isBroken
      output.drain { bytes += $0.array() }
      let read = isWhole ? try? JSONDecoder().decode(JSONValue.self, from: Data(bytes)) : nil
      values[key.name] = read ?? .object(["sizeBytes": .integer(Int64(key.sizeBytes))])
    }
    otherValues = values
  }
}

extension StoreInspection.Model {
  init?(_ store: CoreDataStore) {
    if let problem = store.cachedModelProblem {
      self.init(
        source: "cached in the store", entityCount: 0, hashesAgree: nil, looksLikeSwiftData: false,
        problem: problem)
      return
    }
    guard let model = store.cachedModel else { return nil }
    let recorded = store.metadata?.versionHashes ?? [:]
    let plain = model.versionHashes()
    let agrees: Bool? =
      recorded.isEmpty
      ? nil
      : plain.matches(recorded) || model.versionHashes(honouringTombstones: true).matches(recorded)
        ? true : plain.unknown.isEmpty ? false : nil
    // SwiftData gives its models a version identifier of three numbers, and always keeps a persistent history.
    let looksLikeSwiftData =
      store.metadata?.versionIdentifiers.first.map {
        $0.utf8.split(separator: UInt8(ascii: ".")).count == 3
      } == true
      && store.entities.contains(where: \.isHistory)
      && model.entities.values.allSatisfy {
        $0.className == nil || $0.className == $0.name || $0.className?.contains(".") == true
      }
    self.init(
      source: "cached in the store", entityCount: model.entities.count, hashesAgree: agrees,
      looksLikeSwiftData: looksLikeSwiftData, problem: nil)
  }
}

extension DatabaseHeader {
  /// The version of SQLite in the usual form, such as "3.40.1".
  var sqliteVersionText: String {
    "\(sqliteVersion / 1_000_000).\(sqliteVersion / 1000 % 1000).\(sqliteVersion % 1000)"
  }
}
