import CoreDataStore
import Foundation
import SafeText

/// Removes the folder of an incident so that a kill at any point leaves it whole or gone.
///
/// A record of all that is to go is written into the folder; then the folder gets a name that is no incident's,
/// in one step; then its files go, and the record last. Whoever finds such a folder first gives it a new name of
/// their own, so that two processes never work in the same one. With all files still there it goes back under
/// its incident's name, because what made it removable may have changed; else the rest is removed.
struct Removal: Sendable {
  let fileSystem: FileSystem
  /// The folder of the incidents.
  let incompatible: String

  /// What is to go, written before anything does.
  struct Record: Codable, Sendable {
    let schema: String
    let version: Int
    /// The incident.
    let id: String
    /// Each folder before what it contains.
    let files: [IncidentFiles.File]

    static let schemaName = "lifeboat.removal"

    var isValid: Bool {
      schema == Self.schemaName && version == 1 && PathText.isPlainName(id)
        && Timestamp.isFolderName(id)
        && files.allSatisfy { file in
          PathText.components(of: file.name).allSatisfy { PathText.isPlainName($0) }
            && (file.status.kind == .file || file.status.kind == .folder)
        }
    }
  }

  /// How the removal of a folder ended.
  enum End {
    case removed(id: String, bytes: Int64)
    /// All of it was still there.
    case putBack(id: String)
    /// Something keeps it from going either way.
    case stuck(name: String, any Error)
  }

  static let recordName = ".removal.json"
  /// What the names of folders begin with that are being removed.
  static let prefix = ".removed-"

  private var mover: SetMover { SetMover(fileSystem: fileSystem) }
  private var records: RecordFile { mover.records }

  /// Removes an incident, all of whose files are `files`.
  func remove(_ id: String, _ files: [IncidentFiles.File]) throws {
    let folder = incompatible + "/" + id
    let record = Record(
      schema: Record.schemaName, version: 1, id: id,
      files: files.filter {
        !PathText.isSame($0.name, Self.recordName)
          && !PathText.isSame($0.name, Self.recordName + RecordFile.partSuffix)
      })
    // From a run that was stopped before it took the folder's name away.
    try mover.remove(folder + "/" + Self.recordName)
    let claimed: String
    do {
      try records.write(record, to: folder + "/" + Self.recordName)
      claimed = try claim(folder, id)
    } catch {
      try? mover.remove(folder + "/" + Self.recordName)
      throw error
    }
    do {
      // On the device first: else a power cut could bring the old name back over what is left.
      try fileSystem.syncFolder(incompatible)
      // Nobody finds the folder any more; what somebody did in it until now shows.
      guard try state(of: claimed, record) == .whole else {
        throw StoreRecoveryError(
          .unmovable, "something changed in the folder, so something still uses it", path: folder)
      }
      try delete(claimed, record)
    } catch {
      if let now = try? state(of: claimed, record), now.isUntouched {
        try putBack(claimed, record)
      }
      throw error
    }
  }

  /// Brings removals that an earlier run began to an end. `names` are those in the folder of the incidents.
  func endPending(_ names: [String]) -> [End] {
    names.filter { PathText.starts($0, with: Self.prefix) }.sortedByBytes().compactMap { name in
      do { return try end(name) } catch { return .stuck(name: name, error) }
    }
  }

  /// What ``endPending(_:)`` would do with a folder; nil for one in which no incident is left.
  func outlook(_ name: String) -> End? {
    do {
      let folder = incompatible + "/" + name
      guard try fileSystem.status(folder)?.kind == .folder, let record = try record(in: folder)
      else { return nil }
      return try state(of: folder, record).isUntouched
        ? .putBack(id: record.id) : .removed(id: record.id, bytes: bytes(in: folder))
    } catch {
      return .stuck(name: name, error)
    }
  }

  private func end(_ name: String) throws -> End? {
    let found = incompatible + "/" + name
    guard try fileSystem.status(found)?.kind == .folder else { return nil }
    guard let record = try record(in: found) else {
      // Stopped after the record, before the folder itself.
      try fileSystem.removeFolder(found)
      return nil
    }
    let folder: String
    do { folder = try claim(found, record.id) } catch {
      // Another process took it.
      if try fileSystem.status(found) == nil { return nil }
      throw error
    }
    if try state(of: folder, record).isUntouched {
      try putBack(folder, record)
      return .putBack(id: record.id)
    }
    let bytes = bytes(in: folder)
    try delete(folder, record)
    return .removed(id: record.id, bytes: bytes)
  }

  /// The record in a folder that is being removed; nil when the folder is empty.
  private func record(in folder: String) throws -> Record? {
    let path = folder + "/" + Self.recordName
    guard let record = try records.read(Record.self, from: path, limit: RecordFile.limit)
    else {
      let entries = try fileSystem.entries(folder)
      guard entries.names.isEmpty, !entries.isCut else {
        throw StoreRecoveryError(
          .unreadableIncident, "the folder holds files and no record of what they are",
          path: folder)
      }
      return nil
    }
    guard record.isValid else {
      throw StoreRecoveryError(
        .unreadableIncident, "the record of the removal is damaged or of an unknown form",
        path: path)
    }
    return record
  }

  /// Gives the folder a name that only this process knows.
  private func claim(_ folder: String, _ id: String) throws -> String {
    let number = String(UInt64.random(in: .min ... .max), radix: 16)
    let claimed = "\(incompatible)/\(Self.prefix)\(id)-\(number)"
    try fileSystem.rename(folder, claimed)
    return claimed
  }

  private enum State: Equatable {
    /// All is there and nothing else.
    case whole
    /// All is there, changed or with something beside it.
    case changed
    /// Something is gone.
    case begun

    var isUntouched: Bool { self != .begun }
  }

  private func state(of folder: String, _ record: Record) throws -> State {
    var isChanged = false
    for file in record.files {
      guard let status = try fileSystem.status(folder + "/" + file.name) else { return .begun }
      if !file.isUnchanged(status) { isChanged = true }
    }
    let now = IncidentFiles(in: folder, fileSystem)
    let count = now.files.count { !PathText.starts($0.name, with: Self.recordName) }
    return isChanged || now.isCut || count != record.files.count ? .changed : .whole
  }

  private func bytes(in folder: String) -> Int64 {
    let files = IncidentFiles(in: folder, fileSystem).files.filter { $0.status.kind == .file }
    let item = RetentionPlan.Item(
      id: "", created: nil, files: files.map { LinkedBytes.File($0.status) }, fate: .husk)
    return LinkedBytes([item]).total
  }

  private func putBack(_ folder: String, _ record: Record) throws {
    let home = incompatible + "/" + record.id
    try fileSystem.rename(folder, home)
    try mover.remove(home + "/" + Self.recordName)
    try fileSystem.syncFolder(home)
    try fileSystem.syncFolder(incompatible)
  }

  /// Removes what the record lists, from any point on. What is another file now stays, and the folder with it.
  private func delete(_ folder: String, _ record: Record) throws {
    // The set before the records: when its first file cannot be removed, nothing is gone.
    let files = record.files.filter { $0.status.kind == .file }
    for file in files.filter(\.isKept) + files.filter({ !$0.isKept }) {
      let path = folder + "/" + file.name
      guard let status = try fileSystem.status(path) else { continue }
      guard file.isUnchanged(status) else {
        throw StoreRecoveryError(
          .unmovable, "a file in a folder that is being removed is not ours", path: path)
      }
      try mover.remove(path, file.status)
    }
    try? fileSystem.sweep(folder)
    for file in record.files.reversed() where file.status.kind == .folder {
      try? fileSystem.sweep(folder + "/" + file.name)
      do { try fileSystem.removeFolder(folder + "/" + file.name) } catch let error
        as SystemCallError where error.errno == ENOENT
      { continue }
    }
    try fileSystem.syncFolder(folder)
    try mover.remove(folder + "/" + Self.recordName + RecordFile.partSuffix)
    let rest = try fileSystem.entries(folder)
    guard rest.names.count == 1, PathText.isSame(rest.names[0], Self.recordName), !rest.isCut else {
      throw StoreRecoveryError(
        .unmovable, "a folder that is being removed holds files that are not ours", path: folder)
    }
    try mover.remove(folder + "/" + Self.recordName)
    try fileSystem.removeFolder(folder)
    try fileSystem.syncFolder(incompatible)
  }
}

extension LinkedBytes.File {
  init(_ status: FileStatus) {
    self.init(device: status.device, inode: status.inode, sizeBytes: status.sizeBytes)
  }
}
