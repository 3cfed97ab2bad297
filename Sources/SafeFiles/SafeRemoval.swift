import CLibrary

/// Removes a file by its name, although another process may give the name to another file at any moment.
///
/// Between a check of the file and its removal, another file may get the name and would be removed by mistake. So the
/// file is first renamed to a random name. Then it is checked, and removed or given its name back.
package enum SafeRemoval {
  /// How the removal of a name ended.
  package enum End: Equatable {
    /// The name was removed.
    case removed
    /// No file has the name.
    case missing
    /// The name belongs to a file that is not the expected one; that file keeps the name.
    case another
    /// The file could not get its name back, for example because a third file took the name. It now has this name.
    case displaced(String)
    /// A system call failed with this `errno`; the file has its name.
    case failed(Int32)
  }

  private static let prefix = ".lifeboat-gone-"

  /// Removes a name in an open folder if `isOurs` returns true for the name and, after the file is renamed, for its
  /// temporary name.
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

  /// Removes `name` in an open folder if it belongs to `file`.
  @discardableResult
  package static func remove(_ name: String, in folder: Int32, of file: FileStatus) -> End {
    remove(name, in: folder) { FileStatus.found($0, in: folder)?.isSameFile(as: file) == true }
  }

  /// Whether a name has the form of the temporary names that ``sweep(_:in:)`` removes.
  package static func isAside(_ name: String) -> Bool { name.utf8.starts(with: prefix.utf8) }

  /// Removes a file under the temporary name that a killed run gave it. The name holds the device and inode of the
  /// file to remove. A file with other numbers stays: the killed run meant to rename it back.
  package static func sweep(_ name: String, in folder: Int32) {
    guard isAside(name), let there = FileStatus.found(name, in: folder),
      name.utf8.starts(with: (prefix + identity(there)).utf8)
    else { return }
    _ = unsafe unlinkat(folder, name, 0)
  }

  /// Device and inode in hexadecimal, each followed by `-`.
  private static func identity(_ file: FileStatus) -> String {
    [UInt64(bitPattern: file.device), file.inode].map { String($0, radix: 16) + "-" }.joined()
  }
}
