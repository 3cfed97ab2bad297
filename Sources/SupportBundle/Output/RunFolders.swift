import CLibrary
import SafeFiles
import SafeText

/// The folders in which runs of `lifeboat` keep private files, such as unpacked archives and decrypted stores. A run
/// that is killed cannot remove its folder, so a later run removes the folder.
///
/// A run locks its folder, and the kernel unlocks the folder when the process ends in any way. An unlocked folder of
/// this user either was left by a killed run, or is so new that its run has not locked it yet. If another run locks or
/// removes a new folder, the run that made the folder notices this and makes another folder.
enum RunFolders {
  private static let prefix = "lifeboat-"
  private static let workersPrefix = "lifeboat.triage-"
  /// The suffix of the name of each folder that a run locks. Earlier versions of Lifeboat did not lock their folders,
  /// and did not use this suffix.
  private static let suffix = "-run"
  /// The maximum depth of the subfolders that are emptied. A folder in the run's folder has depth 1.
  private static let depthLimit = 256
  /// The maximum number of names that are read from one folder.
  private static let nameLimit = 1_000_000

  /// Returns a random name for a folder in which a run keeps private files. `isForWorkers` says whether the folder is
  /// for the files of worker processes.
  static func newName(isForWorkers: Bool = false) -> String {
    let halves = (0..<2).map { _ in String(UInt64.random(in: 1 << 60 ... .max), radix: 16) }
    return (isForWorkers ? workersPrefix : prefix) + halves.joined() + suffix
  }

  private static func isName(_ name: String) -> Bool {
    guard let start = PathText.dropping(suffix: suffix, from: name),
      let token = PathText.dropping(prefix: prefix, from: start)
        ?? PathText.dropping(prefix: workersPrefix, from: start)
    else { return false }
    return token.utf8.count == 32 && token.unicodeScalars.allSatisfy(\.properties.isASCIIHexDigit)
  }

  /// Locks a folder that this run has just made. The name of the folder is `name`, its parent folder is `parent`, and
  /// `descriptor` is open on the folder itself. The lock lasts until `descriptor` and all its duplicates are closed.
  ///
  /// Some volumes do not support locks. There the folder stays unlocked, but no run removes the folder, because a run
  /// removes only folders that it can lock.
  /// - Returns: false if another run has locked the folder, or if the folder was removed or replaced.
  static func claim(_ descriptor: Int32, _ name: String, in parent: Int32) -> Bool {
    if SystemCalls.retrying({ flock(descriptor, LOCK_EX | LOCK_NB) }) != 0, errno == EWOULDBLOCK {
      return false
    }
    guard let made = FileStatus.found(descriptor) else { return false }
    return FileStatus.found(name, in: parent)?.isSameFile(as: made) == true
  }

  /// Removes the folders in `place` that killed runs of this user have left. Files and folders that cannot be removed
  /// stay.
  static func removeLeft(in place: String) {
    let folder = SystemCalls.openFolder(following: place)
    guard folder >= 0 else { return }
    defer { _ = close(folder) }
    for name in names(in: folder) where isName(name) {
      let left = SystemCalls.openFolder(name, in: folder)
      guard left >= 0 else { continue }
      defer { _ = close(left) }
      var raw = stat()
      guard unsafe fstat(left, &raw) == 0, raw.st_uid == geteuid(), raw.st_mode & 0o077 == 0,
        SystemCalls.retrying({ flock(left, LOCK_EX | LOCK_NB) }) == 0,
        let status = FileStatus.found(left),
        FileStatus.found(name, in: folder)?.isSameFile(as: status) == true
      else { continue }
      empty(left, depth: 0)
      _ = unsafe unlinkat(folder, name, AT_REMOVEDIR)
    }
  }

  private static func empty(_ folder: Int32, depth: Int) {
    for name in names(in: folder) {
      guard FileStatus.found(name, in: folder)?.kind == .folder else {
        _ = unsafe unlinkat(folder, name, 0)
        continue
      }
      let inner = SystemCalls.openFolder(name, in: folder)
      guard inner >= 0 else { continue }
      if depth < depthLimit { empty(inner, depth: depth + 1) }
      _ = close(inner)
      _ = unsafe unlinkat(folder, name, AT_REMOVEDIR)
    }
  }

  private static func names(in folder: Int32) -> [String] {
    let listed = SystemCalls.openFolder(".", in: folder)
    guard listed >= 0 else { return [] }
    return (try? FolderEntries.read(descriptor: listed, path: ".", limit: nameLimit))?.names ?? []
  }
}
