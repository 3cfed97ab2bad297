import CLibrary

/// Names that go although somebody else may give them to another file at any moment.
///
/// Between a look at a name and its removal another file can be renamed over it, and that one would go. So the name
/// is taken away by giving the file one that nobody knows. Then it is looked at, and removed or given its name back.
package enum OwnName {
  /// What became of a name that was to go.
  package enum End: Equatable {
    /// It is gone.
    case removed
    /// Nothing has it.
    case missing
    /// It is that of another file, which still has it.
    case another
    /// It was that of another file, and is already taken by a third one: the other has this name now.
    case displaced(String)
    /// It is as it was, for the `errno` that is given.
    case failed(Int32)
  }

  private static let prefix = ".lifeboat-gone-"

  /// Removes the name of a file in an open folder as long as `isOurs`, which is asked about the name and then about
  /// the one that the file has meanwhile.
  package static func remove(
    _ name: String, in folder: Int32, isOurs: (_ name: String) -> Bool
  ) -> End {
    guard let raw = status(name, folder) else { return errno == ENOENT ? .missing : .failed(errno) }
    guard isOurs(name) else { return .another }
    let aside = prefix + identity(raw) + hex(UInt64.random(in: .min ... .max))
    // Whether the new name is free need not be asked: nobody else knows it.
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

  /// Whether a name may be one that ``sweep(_:in:)`` removes.
  package static func isAside(_ name: String) -> Bool { name.utf8.starts(with: prefix.utf8) }

  /// Removes the name that a file got whose removal a kill has stopped. It says which file was to go; another one,
  /// that was about to get its own name back, stays.
  package static func sweep(_ name: String, in folder: Int32) {
    guard isAside(name), let raw = status(name, folder),
      name.utf8.starts(with: (prefix + identity(raw)).utf8)
    else { return }
    _ = unsafe unlinkat(folder, name, 0)
  }

  private static func status(_ name: String, _ folder: Int32) -> stat? {
    var raw = stat()
    return unsafe fstatat(folder, name, &raw, AT_SYMLINK_NOFOLLOW) == 0 ? raw : nil
  }

  /// What tells a file from all others, as a part of a name.
  private static func identity(_ raw: stat) -> String {
    hex(UInt64(truncatingIfNeeded: raw.st_dev)) + "-" + hex(UInt64(raw.st_ino)) + "-"
  }

  private static func hex(_ number: UInt64) -> String { String(number, radix: 16) }
}
