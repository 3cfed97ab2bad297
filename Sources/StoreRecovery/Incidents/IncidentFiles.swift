import StoreFiles
import SafeFiles
import SafeText

/// The files and folders in an incident's folder, listed without following links.
struct IncidentFiles: Sendable {
  struct File: Sendable, Codable, Equatable {
    /// The path relative to the incident's folder.
    let name: String
    let status: FileStatus

    var isKept: Bool { PathText.starts(name, with: QuarantineFolder.storeFolderName + "/") }

    /// Whether `other` is the status of the same file, and the two statuses show no change of its content. For a
    /// folder, only the identity is compared.
    func isUnchanged(_ other: FileStatus) -> Bool {
      status.kind == .folder ? status.isSameFile(as: other) : status.isUnchanged(other)
    }
  }

  /// All files and folders that were found; each folder comes before its contents.
  private(set) var files: [File] = []
  /// Whether the list is incomplete, because something could not be listed or there are more than ``limit`` files.
  private(set) var isCut = false

  /// The maximum number of listed files; a store set has fewer.
  static let limit = 250_000
  /// The maximum depth of folders; no member of a set is that deep.
  static let depthLimit = 40

  var linked: [LinkedBytes.File] {
    files.filter { $0.status.kind == .file }.map { .init($0.status) }
  }

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
          let status = try? fileSystem.status(folder + "/" + name)
        else {
          isCut = true
          continue
        }
        files.append(File(name: name, status: status))
        if status.kind == .folder { pending.append((name, next.depth + 1)) }
      }
    }
  }

  /// The files in the folder of the kept store set, with their paths relative to that folder.
  var kept: [File] {
    files.filter(\.isKept).map { file in
      File(
        name: PathText.dropping(prefix: QuarantineFolder.storeFolderName + "/", from: file.name)
          ?? file.name,
        status: file.status)
    }
  }

  var unexpected: [File] {
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

  static let records = [
    QuarantineFolder.incidentName, QuarantineFolder.textName, QuarantineFolder.outcomeName,
    QuarantineFolder.intentName, QuarantineFolder.backName, QuarantineFolder.sealingName,
    Removal.recordName,
  ]
}
