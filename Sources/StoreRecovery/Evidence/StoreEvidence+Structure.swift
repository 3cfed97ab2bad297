import StoreFiles
import SafeFiles
import SQLiteFile

/// A closure that reads the file at `path` and adds what it finds to the evidence: structure, metadata, version hashes
/// and log frames. It is called only when such facts can change the verdict, because it reads the whole file. A fact
/// that cannot be established stays nil.
package typealias StructureReader =
  @Sendable (_ path: String, _ evidence: inout StoreEvidence) -> Void

/// The default ``StructureReader``: Lifeboat's own reader of SQLite's format, which takes no lock and writes nothing.
package enum FileStructure {
  /// The time after which no further table is read. Apple's systems kill a launch that takes about 20 seconds.
  static let budget: Duration = .seconds(10)

  package static func read(_ path: String, _ evidence: inout StoreEvidence) {
    // No lock is taken. If another process has written to the file in the meantime, the facts may mix two states of the
    // file, so they are discarded.
    guard let before = state(of: path) else { return }
    var found = evidence
    found.isUsedElsewhere = FileEvidence.isUsedElsewhere(path)
    do throws(SQLiteFileError) {
      try add(path, to: &found)
    } catch {
      refuse(error, &found)
    }
    if let after = state(of: path), after == before { evidence = found }
  }

  private static func state(of path: String) -> [FileStatus?]? {
    try? ["", "-wal", "-journal"].map { try FileStatus.of(path + $0) }
  }

  private static func add(_ path: String, to evidence: inout StoreEvidence) throws(SQLiteFileError)
  {
    let database = try SQLiteDatabase(path: path)
    var findings = FindingList()
    if let metadata = try StoreMetadata.read(from: database, &findings) {
      evidence.storeUUID = metadata.uuid
      evidence.frameworkVersion = metadata.frameworkVersion
      evidence.hashesVersion = metadata.versionHashesVersion
      if !metadata.versionHashes.isEmpty { evidence.recordedHashes = metadata.versionHashes }
    }
    if let log = database.writeAheadLog {
      evidence.wal?.committedFrames = log.committedFrameCount
      if log.defect == nil, log.staleFrameCount > 0 {
        evidence.wal?.lostFrames = try LostFrames.count(
          inLogOf: path, pageSize: log.pageSize,
          validFrames: log.committedFrameCount + log.uncommittedFrameCount)
        if let lost = evidence.wal?.lostFrames, lost > 0, evidence.wal?.loss == nil {
          evidence.wal?.loss = .init(kind: .frameDamaged, witness: .log, keptPages: lost)
        }
      }
    }
    // Only tables are read; damage in an index is not found.
    let start = ContinuousClock.now
    var isComplete = true
    for table in database.schema.tables {
      guard ContinuousClock.now - start < budget else {
        isComplete = false
        break
      }
      _ = try database.rowCount(of: table)
    }
    findings.add(database.findings)
    evidence.structure = structure(findings, isComplete: isComplete)
  }

  /// The findings about damage with which a store can still be opened: SQLite ignores a log with a bad header, and Core
  /// Data does not need its model cache.
  static let harmless: Set<Finding.ID> = [
    .walBadHeader, .walBrokenChain, .fileMainEmpty, .coredataModelCacheUnreadable,
  ]

  /// The kinds of damage in the schema's pages that do not keep SQLite from reading the schema.
  private static let readable: Set<Finding.ID> = [
    .pageBadFragments, .treeKeyOrder, .recordTrailingBytes,
  ]

  private static func structure(
    _ list: FindingList, isComplete: Bool
  ) -> StoreEvidence.Structure {
    let kept = list.kept.filter { $0.severity == .damage }
    let damage = kept.filter { !harmless.contains($0.id) }
    return StoreEvidence.Structure(
      findings: Set(damage.map(\.id.rawValue)).sorted(),
      findingCount: damage.count + list.damageCount - kept.count,
      isUnopenable: damage.contains {
        ($0.table == "sqlite_schema" && !readable.contains($0.id)) || $0.id == .fileTruncated
      },
      isComplete: isComplete)
  }

  private static func refuse(_ error: SQLiteFileError, _ evidence: inout StoreEvidence) {
    switch error.code {
    case .looksEncrypted:
      evidence.looksEncrypted = true
    case .notADatabase: break
    case .isLog, .isJournal:
      evidence.structure = .init(
        findings: [SQLiteFileError.Code.notADatabase.rawValue], findingCount: 1, isUnopenable: true)
      return
    case .badHeader:
      // A file for a newer SQLite is not damaged.
      if let version = evidence.header?.readVersion, version > 2 { return }
    default: return
    }
    evidence.structure = .init(
      findings: [error.code.rawValue], findingCount: 1, isUnopenable: true)
  }
}
