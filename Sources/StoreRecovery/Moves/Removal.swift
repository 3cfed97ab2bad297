import StoreFiles
import SafeFiles
import Foundation
import SafeText

/// Removes the folder of an incident. If the process is killed meanwhile, a later run completes the removal or makes
/// the incident whole again.
///
/// First, a record of all files to remove is written into the folder. Second, the folder is renamed, in one step, and
/// is then no longer an incident. Last, the files are removed, the record after all others. A process that finds such a
/// folder renames it first, so that no two processes work in one folder. If all files still exist, the folder gets the
/// incident's name back, because the reason for the removal may no longer hold. Otherwise the rest is removed.
struct Removal: Sendable {
  let fileSystem: FileSystem
  let incompatible: String

  /// The record of what will be removed, written before anything is removed.
  struct Record: Codable, Sendable {
    var schema = Self.schemaName
    var version = 1
    let id: String
    /// The files and folders to remove; each folder comes before its contents.
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

  enum End {
    case removed(id: String, bytes: Int64)
    /// The removal stopped before the first file was removed, and the folder is an incident again. `name` is the name
    /// that the folder had during the removal.
    case putBack(id: String, name: String)
    case stuck(name: String, any Error)
  }

  static let recordName = ".removal.json"
  static let prefix = ".removed-"

  private var records: RecordFile { RecordFile(fileSystem: fileSystem) }

  /// Removes the incident `id`. `files` lists all files in its folder.
  func remove(_ id: String, _ files: [IncidentFiles.File]) throws {
    let folder = incompatible + "/" + id
    let record = Record(
      id: id,
      files: files.filter {
        !PathText.isSame($0.name, Self.recordName)
          && !PathText.isSame($0.name, Self.recordName + RecordFile.partSuffix)
      })
    // A record may be left by a run that was stopped before it renamed the folder.
    try fileSystem.remove(folder + "/" + Self.recordName)
    let claimed: String
    do {
      try records.write(record, to: folder + "/" + Self.recordName)
      claimed = try claim(folder, id)
    } catch {
      try? fileSystem.remove(folder + "/" + Self.recordName)
      throw error
    }
    do {
      // The folder is synced first: otherwise a power cut could bring the old name back with only a part of the files.
      try fileSystem.syncFolder(incompatible)
      // No other process finds the folder now, so this check sees all earlier changes in it.
      guard try state(of: claimed, record) == .whole else {
        throw StoreRecoveryError(
          .unmovable, "a file in the folder changed, so a program still uses it", path: folder)
      }
      try delete(claimed, record)
    } catch {
      if let now = try? state(of: claimed, record), now.isUntouched {
        try putBack(claimed, record)
      }
      throw error
    }
  }

  /// Finishes or undoes the removals that an earlier run began. `names` lists the names in the folder of incidents.
  func endPending(_ names: [String]) -> [End] {
    names.filter { PathText.starts($0, with: Self.prefix) }.sortedByBytes().compactMap { name in
      do { return try end(name) } catch { return .stuck(name: name, error) }
    }
  }

  /// Returns the result that ``endPending(_:)`` would have for the folder `name`, without changing anything. Nil when
  /// the folder does not hold an incident.
  func expectedEnd(of name: String) -> End? {
    do {
      let folder = incompatible + "/" + name
      guard try fileSystem.status(folder)?.kind == .folder, let record = try record(in: folder)
      else { return nil }
      return try state(of: folder, record).isUntouched
        ? .putBack(id: record.id, name: name)
        : .removed(id: record.id, bytes: LinkedBytes(files(in: folder)).total)
    } catch {
      return .stuck(name: name, error)
    }
  }

  private func end(_ name: String) throws -> End? {
    let found = incompatible + "/" + name
    guard try fileSystem.status(found)?.kind == .folder else { return nil }
    guard let record = try record(in: found) else {
      // The run was stopped after it removed the record, and before it removed the folder.
      try fileSystem.removeFolder(found)
      return nil
    }
    let folder: String
    do { folder = try claim(found, record.id) } catch {
      // Another process has taken the folder.
      if try fileSystem.status(found) == nil { return nil }
      throw error
    }
    do {
      if try state(of: folder, record).isUntouched {
        try putBack(folder, record)
        return .putBack(id: record.id, name: name)
      }
      let bytes = LinkedBytes(files(in: folder)).total
      try delete(folder, record)
      return .removed(id: record.id, bytes: bytes)
    } catch {
      return .stuck(name: PathText.lastComponent(of: folder), error)
    }
  }

  /// The record in a folder that is being removed; nil when the folder is empty.
  private func record(in folder: String) throws -> Record? {
    let path = folder + "/" + Self.recordName
    guard let record = try records.read(Record.self, from: path, limit: RecordFile.limit)
    else {
      let entries = try fileSystem.entries(folder)
      guard entries.names.isEmpty, !entries.isCut else {
        throw StoreRecoveryError(
          .unreadableIncident, "the folder holds files, but no record of what they are",
          path: folder)
      }
      return nil
    }
    guard record.isValid else {
      throw StoreRecoveryError(
        .unreadableIncident, "the record of the removal is damaged or in an unknown format",
        path: path)
    }
    return record
  }

  /// Renames the folder to a random name that only this process knows, and returns the new path.
  private func claim(_ folder: String, _ id: String) throws -> String {
    let number = String(UInt64.random(in: .min ... .max), radix: 16)
    let claimed = "\(incompatible)/\(Self.prefix)\(id)-\(number)"
    try fileSystem.rename(folder, claimed)
    return claimed
  }

  private enum State: Equatable {
    /// The folder has exactly the files that the record lists, and all of them are unchanged.
    case whole
    /// All files that the record lists exist, but some of them have changed, or the folder also contains other files.
    case changed
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

  func files(in folder: String) -> [LinkedBytes.File] {
    IncidentFiles(in: folder, fileSystem).linked
  }

  private func putBack(_ folder: String, _ record: Record) throws {
    let home = incompatible + "/" + record.id
    try fileSystem.rename(folder, home)
    try fileSystem.remove(home + "/" + Self.recordName)
    try fileSystem.syncFolder(home)
    try fileSystem.syncFolder(incompatible)
  }

  /// Removes the files that the record lists, and then the folder. Files that an earlier run has removed are skipped.
  /// If another file has replaced a listed one, that file and the folder stay.
  private func delete(_ folder: String, _ record: Record) throws {
    // The kept files are removed before Lifeboat's records: when the first file cannot be removed, nothing is lost.
    let files = record.files.filter { $0.status.kind == .file }
    for file in files.filter(\.isKept) + files.filter({ !$0.isKept }) {
      let path = folder + "/" + file.name
      guard let status = try fileSystem.status(path) else { continue }
      guard file.isUnchanged(status) else {
        throw StoreRecoveryError(
          .unmovable, "a file in a folder that is being removed does not belong to the incident",
          path: path)
      }
      try fileSystem.remove(path, file.status)
    }
    try? fileSystem.sweep(folder)
    for file in record.files.reversed() where file.status.kind == .folder {
      try? fileSystem.sweep(folder + "/" + file.name)
      do { try fileSystem.removeFolder(folder + "/" + file.name) } catch let error
        as SystemCallError where error.errno == ENOENT
      { continue }
    }
    try fileSystem.syncFolder(folder)
    try fileSystem.remove(folder + "/" + Self.recordName + RecordFile.partSuffix)
    let rest = try fileSystem.entries(folder)
    guard rest.names.count == 1, PathText.isSame(rest.names[0], Self.recordName), !rest.isCut else {
      throw StoreRecoveryError(
        .unmovable, "a folder that is being removed holds files that do not belong to the incident",
        path: folder)
    }
    try fileSystem.remove(folder + "/" + Self.recordName)
    try fileSystem.removeFolder(folder)
    try fileSystem.syncFolder(incompatible)
  }
}

extension LinkedBytes.File {
  init(_ status: FileStatus) {
    self.init(device: status.device, inode: status.inode, sizeBytes: status.sizeBytes)
  }
}
