import CoreDataStore
import Foundation

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Small JSON files that are there as a whole or not at all.
struct RecordFile {
  let fileSystem: FileSystem

  /// No record comes near this size, in bytes.
  static let limit: Int64 = 64 * 1024 * 1024

  /// Writes `value` under `path`, which must be free, and brings it to the device.
  func write(_ value: some Encodable, to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    try write(bytes: [UInt8](try encoder.encode(value)), to: path)
  }

  func write(bytes: [UInt8], to path: String) throws {
    let part = path + ".part"
    // Left by a run that was killed here; the record itself was never there.
    if try fileSystem.status(part) != nil { try fileSystem.unlink(part) }
    try fileSystem.write(part, bytes)
    try fileSystem.rename(part, path)
    try fileSystem.syncFolder(StoreSet.folder(of: path))
  }

  /// The value under `path`; nil when nothing has that name.
  func read<Value: Decodable>(_ type: Value.Type, from path: String) throws -> Value? {
    guard let status = try fileSystem.status(path) else { return nil }
    guard status.kind == .file, status.sizeBytes <= Self.limit else {
      throw StoreRecoveryError(
        .unreadableIncident, "the record is not a file of reasonable size", path: path)
    }
    let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw StoreRecoveryError(
        .unreadableIncident, "the record cannot be opened", path: path, errno: errno)
    }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    let data = try handle.read(upToCount: Int(status.sizeBytes)) ?? Data()
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    do { return try decoder.decode(type, from: data) } catch {
      throw StoreRecoveryError(
        .unreadableIncident, "the record is damaged or of an unknown form", path: path,
        underlying: error)
    }
  }

  /// The incident in `folder`; nil when there is no record of one.
  func incident(in folder: String) throws -> Incident? {
    let path = folder + "/" + QuarantineFolder.incidentName
    guard let incident = try read(Incident.self, from: path) else { return nil }
    guard incident.schema == Incident.schemaName, incident.version <= Incident.currentVersion,
      StoreSet.isPlainName(incident.storeName)
    else {
      throw StoreRecoveryError(
        .unreadableIncident, "the record is of an unknown form; a newer Lifeboat may read it",
        path: path)
    }
    return incident
  }
}
