import CLibrary

/// Removes a file by its name, safely even if another process may give that name to another file at any moment.
///
/// Between the check of a name and its removal another file can be renamed over it, and would be removed. So the file
/// is first renamed to a name that nobody else knows. Then it is checked, and removed or given its name back.
package enum SafeRemoval {
  /// What became of a name that was to be removed.
  package enum End: Equatable {
    /// The name and its file are removed.
    case removed
    /// No file has the name.
    case missing
    /// Another file has the name, and still has it.
    case another
    /// Another file had the name, and a third file has taken it since; the other file now has this name.
    case displaced(String)
    /// Nothing changed, because of this `errno`.
    case failed(Int32)
  }

  private static let prefix = ".lifeboat-gone-"

  /// Removes the name of a file in an open folder if `isOurs` returns true, which is called with the name, and then
  /// with the temporary name of the file.
  package static func remove(
    _ name: String, in folder: Int32, isOurs: (_ name: String) -> Bool
  ) -> End {
    guard let there = FileStatus.found(name, in: folder) else {
      return errno == ENOENT ? .missing : .failed(errno)
    }
    guard isOurs(name) else { return .another }
    let aside = prefix + identity(there) + String(UInt64.random(in: .min ... .max), radix: 16)
    // The new name is random, so it is free.
    guard SystemCalls.retrying({ unsafe renameat(folder, name, folder, aside) }) == 0 else {
      return errno == ENOENT ? .missing : .failed(errno)
    }
    var end = End.another
    if isOurs(aside) {
      if SystemCalls.retrying({ unsafe unlinkat(folder, aside, 0) }) == 0 { return .removed }
      end = .failed(errno)
    }
    return SystemCalls.rename(aside, in: folder, to: name, in: folder) == nil
      ? end : .displaced(aside)
  }

  /// Removes the name of a file in an open folder if it is `file`.
  @discardableResult
  package static func remove(_ name: String, in folder: Int32, of file: FileStatus) -> End {
    remove(name, in: folder) { FileStatus.found($0, in: folder)?.isSameFile(as: file) == true }
  }

  /// Whether a name has the form of the temporary names that ``sweep(_:in:)`` removes.
  package static func isAside(_ name: String) -> Bool { name.utf8.starts(with: prefix.utf8) }

  /// Removes a file that a killed run was removing, by its temporary name. The name says which file was to be removed;
  /// any other file stays, because it was to get its own name back.
  package static func sweep(_ name: String, in folder: Int32) {
    guard isAside(name), let there = FileStatus.found(name, in: folder),
      name.utf8.starts(with: (prefix + identity(there)).utf8)
    else { return }
    _ = unsafe unlinkat(folder, name, 0)
  }

  /// The identity of a file, as a part of a name.
  private static func identity(_ file: FileStatus) -> String {
    [UInt64(bitPattern: file.device), file.inode].map { String($0, radix: 16) + "-" }.joined()
  }
}
