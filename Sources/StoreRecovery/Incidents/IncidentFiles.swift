import CoreDataStore
import SafeText

/// All that is in an incident's folder, by a walk that follows no link.
struct IncidentFiles: Sendable {
  struct File: Sendable, Codable, Equatable {
    /// The path relative to the incident's folder.
    let name: String
    let status: FileStatus

    /// Whether it is below the folder of the kept set.
    var isKept: Bool { PathText.starts(name, with: QuarantineFolder.storeFolderName + "/") }

    /// Whether `other` is the same file with the same content, as far as that shows from outside.
    func isUnchanged(_ other: FileStatus) -> Bool {
      status.kind == .folder ? status.isSameFile(as: other) : status.isUnchanged(other)
    }
  }

  /// Each folder before what it contains.
  private(set) var files: [File] = []
  /// Whether something could not be listed, or there is more than one walk takes.
  private(set) var isCut = false

  /// How many files are listed at most; a store set has fewer.
  static let limit = 250_000
  /// How deep the walk goes; the deepest member of a set is less deep.
  static let depthLimit = 40

  /// Nothing.
  init() {}

  init(in folder: String, _ fileSystem: FileSystem) {
    var pending = [(name: "", depth: 0)]
    while let next = pending.popLast() {
      let path = next.name.utf8.isEmpty ? folder : folder + "/" + next.name
      guard next.depth < Self.depthLimit, let entries = try? fileSystem.entries(path) else {
        isCut = true
        continue
      }
      if entries.isCut { isCut = true }
      for entry in entries.names.sortedByBytes() {
        let name = next.name.utf8.isEmpty ? entry : next.name + "/" + entry
        guard files.count < Self.limit, PathText.isPlainName(entry),
          let status = (try? fileSystem.status(folder + "/" + name)) ?? nil
        else {
          isCut = true
          continue
        }
        files.append(File(name: name, status: status))
        if status.kind == .folder { pending.append((name, next.depth + 1)) }
      }
    }
  }

  /// What is below the folder of the kept set, by its path in there.
  var kept: [File] {
    files.filter(\.isKept).map { file in
      File(
        name: PathText.dropping(prefix: QuarantineFolder.storeFolderName + "/", from: file.name)
          ?? file.name,
        status: file.status)
    }
  }

  /// What is neither a record of ours nor in the folder of the kept set.
  var strange: [File] {
    let ours = Set(
      Self.records.flatMap { [FileName($0), FileName($0 + RecordFile.partSuffix)] })
    return files.filter { file in
      if PathText.isSame(file.name, QuarantineFolder.storeFolderName) {
        return file.status.kind != .folder
      }
      if ours.contains(FileName(file.name)) { return file.status.kind != .file }
      return !file.isKept
    }
  }

  /// The names that we give to files in an incident's folder.
  static let records = [
    QuarantineFolder.incidentName, QuarantineFolder.textName, QuarantineFolder.outcomeName,
    QuarantineFolder.intentName, QuarantineFolder.backName, QuarantineFolder.sealingName,
    Removal.recordName,
  ]
}
