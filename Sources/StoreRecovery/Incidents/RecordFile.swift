import StoreFiles
import Foundation
import SafeFiles
import SafeText

/// Reads and writes small JSON files, each of which is either complete or missing.
struct RecordFile {
  let fileSystem: FileSystem

  /// The maximum size of a record, in bytes. Reading a record takes about twelve times as much memory.
  static let limit: Int64 = 16 * 1024 * 1024
  /// The default maximum size of a record that is read, in bytes. ``incident(in:)`` allows a larger record for an
  /// incident with many files.
  static let lookLimit: Int64 = 4 * 1024 * 1024
  /// For each file of an incident, the size limit of the incident's record is raised by this number of bytes.
  private static let bytesPerFile: Int64 = 2048
  /// The suffix of a record's name until the record is complete.
  static let partSuffix = ".part"

  /// Writes `value` to `path` and syncs the file. The name must be free, unless `replacing` is true. A process that is
  /// killed before the end leaves the record under its name plus `.part`.
  func write(_ value: some Encodable, to path: String, replacing: Bool = false) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    let bytes = [UInt8](try encoder.encode(value))
    // With a larger record, a move could begin that no later run could finish, because no later run could read the
    // record.
    guard bytes.count <= Self.limit else {
      throw StoreRecoveryError(
        .unmovable,
        "the store has more files than one record can list: the record would have \(bytes.count) bytes, and the limit is \(Self.limit)",
        path: path)
    }
    try write(bytes: bytes, to: path, replacing: replacing)
  }

  func write(bytes: [UInt8], to path: String, replacing: Bool = false) throws {
    let part = path + Self.partSuffix
    // A run that was killed before its record got its name has left this file.
    try fileSystem.remove(part)
    try fileSystem.write(part, bytes)
    if replacing {
      // The record is replaced in one step, because a kill between two steps would leave no record.
      if let status = try fileSystem.status(path), status.kind != .file {
        throw StoreRecoveryError(
          .unmovable, "a record cannot be written, because \(status.kind.words) has its name",
          path: path)
      }
      try fileSystem.replace(part, path)
    } else {
      try fileSystem.rename(part, path)
    }
    try fileSystem.syncFolder(PathText.folder(of: path))
  }

  /// The value in the file at `path`; nil when nothing exists there.
  func read<Value: Decodable>(
    _ type: Value.Type, from path: String, limit: Int64 = lookLimit
  ) throws -> Value? {
    guard let status = try fileSystem.status(path) else { return nil }
    guard status.kind == .file, status.sizeBytes <= limit else {
      throw StoreRecoveryError(
        .unreadableIncident, "the record is not an ordinary file, or is too large", path: path)
    }
    let start = FileEvidence.firstBytes(of: path, count: Int(status.sizeBytes))
    guard start.errno == 0 else {
      throw StoreRecoveryError(
        .unreadableIncident, "the record cannot be read", path: path, errno: start.errno)
    }
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    do { return try decoder.decode(type, from: Data(start.bytes)) } catch {
      throw StoreRecoveryError(
        .unreadableIncident, "the record is damaged or in an unknown format", path: path,
        underlying: error)
    }
  }

  /// Whether `error` says that a record was read and is damaged, so that trying again is useless.
  static func isDamage(_ error: any Error) -> Bool {
    guard let error = error as? StoreRecoveryError else { return false }
    return error.code == .unreadableIncident && error.errno == nil
  }

  /// Reads the record of a move at `path`; nil when nothing exists there. The limit allows every record that can be
  /// written, because a begun move must always be finished or undone.
  func move(at path: String) throws -> MoveRecord? {
    guard let record = try read(MoveRecord.self, from: path, limit: Self.limit) else { return nil }
    guard record.isValid else {
      throw StoreRecoveryError(
        .unreadableIncident, "the record of the move is damaged or in an unknown format",
        path: path)
    }
    return record
  }

  /// Reads the record of the incident in `folder`; nil when the folder has no such record.
  func incident(in folder: String) throws -> Incident? {
    let path = folder + "/" + QuarantineFolder.incidentName
    guard let status = try fileSystem.status(path) else { return nil }
    var limit = Self.lookLimit
    if status.sizeBytes > limit {
      // A record is large only when it lists many files, and then these files exist.
      let files = IncidentFiles(in: Incidents.keptFolder(in: folder), fileSystem).files.count
      limit = min(Self.limit, limit + Int64(files) * Self.bytesPerFile)
    }
    guard let incident = try read(Incident.self, from: path, limit: limit) else { return nil }
    guard incident.schema == Incident.schemaName, incident.version <= Incident.currentVersion,
      PathText.isPlainName(incident.storeName)
    else {
      throw StoreRecoveryError(
        .unreadableIncident,
        "the record is in an unknown format; a newer version of Lifeboat may be able to read it",
        path: path)
    }
    return incident
  }
}
