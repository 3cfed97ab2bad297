import CLibrary

/// Removes a file by its name, but never another file that has taken the name in the meantime.
///
/// A check before the removal is not enough, because another process may replace the file after the check. Therefore
/// the file is first renamed to a random name. Under that name it is checked, and then removed or renamed back.
package enum SafeRemoval {
  package enum End: Equatable {
    case removed
    case missing
    /// The name belongs to a file other than the one to remove. That file keeps the name.
    case another
    /// The file was not removed and could not get its original name back, for example because another file has taken
    /// this name. The file keeps the given temporary name.
    case displaced(String)
    /// A system call failed with this `errno`. The file still has its original name.
    case failed(Int32)
  }

  private static let prefix = ".lifeboat-gone-"

  /// Removes `name` from the open folder `folder` if `isOurs` returns true twice: first for `name`, and then, after the
  /// file was renamed, for its temporary name.
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

  /// Removes `name` from the open folder `folder`, but only if the name refers to `file`.
  @discardableResult
  package static func remove(_ name: String, in folder: Int32, of file: FileStatus) -> End {
    remove(name, in: folder) { FileStatus.found($0, in: folder)?.isSameFile(as: file) == true }
  }

  /// Whether `name` has the prefix of the temporary names that this type gives to files.
  package static func isAside(_ name: String) -> Bool { name.utf8.starts(with: prefix.utf8) }

  /// Removes a file with a temporary name that a killed run has left. A removal first renames the file to such a name,
  /// which contains the file's device and inode numbers. If the numbers of the file at `name` are different, the file
  /// stays, because it is not the file that was to be removed.
  package static func sweep(_ name: String, in folder: Int32) {
    guard isAside(name), let there = FileStatus.found(name, in: folder),
      name.utf8.starts(with: (prefix + identity(there)).utf8)
    else { return }
    _ = unsafe unlinkat(folder, name, 0)
  }

  /// Returns the device and inode numbers of `file` in hexadecimal, each followed by `-`.
  private static func identity(_ file: FileStatus) -> String {
    [UInt64(bitPattern: file.device), file.inode].map { String($0, radix: 16) + "-" }.joined()
  }
}
