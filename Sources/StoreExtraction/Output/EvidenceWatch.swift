import StoreFiles
import SafeFiles
import SafeText

/// Detects whether the files of a store set change while the store is read.
package struct EvidenceWatch: Sendable {
  package let path: String
  private let before: [FileName: FileStatus?]

  /// Records the size, modification time and inode of each file of the store set at `path`, except `-shm`.
  package init(_ path: String) {
    self.path = path
    before = Self.states(of: StoreSet(at: path))
  }

  /// Returns the sorted names of the files that were added, removed or changed since the watch was created.
  package func changes() -> [String] {
    let after = Self.states(of: StoreSet(at: path))
    return Set(before.keys).union(after.keys)
      .filter { name in
        guard let one = before[name] ?? nil, let two = after[name] ?? nil else { return true }
        return one != two
      }
      .sorted().map(\.text)
  }

  package func requireUnchanged() throws(ExtractionError) {
    let changed = changes()
    guard !changed.isEmpty else { return }
    throw ExtractionError(
      .changedDuringRead,
      "these files of the store changed while they were read: \(changed.joined(separator: ", "))",
      path: path)
  }

  /// Returns the status of each file of the store set. The file `-shm` is left out because this file holds no data, and
  /// a reader that uses SQLite may create it at any time.
  private static func states(of set: StoreSet) -> [FileName: FileStatus?] {
    let files = set.members.filter { $0.kind == .file && $0.role != .sharedMemory }
    return Dictionary(firstOf: files.map { (FileName($0.name), FileStatus.found($0.path)) })
  }
}
