import CLibrary
import StoreFiles
import SafeFiles
import Foundation

/// Saves a launch from reading the folder of each incident. When a check finds nothing unfinished, the lease file gets
/// the modification time of the folder of incidents. While both times are equal, no move has begun since the check.
///
/// Everything that may be left unfinished begins by changing a name in the folder of incidents, which changes the
/// folder's time. The one exception, a set that goes back out of its quarantine, calls ``forget(_:_:)`` first.
enum SettledMoves {
  /// The coarsest resolution of file times, two seconds (FAT), in nanoseconds. When a folder changes twice within this
  /// time, both changes have the same time.
  private static let step: Int64 = 2_000_000_000

  /// Whether it is certain that no move, trial or removal in `home` is unfinished. Needs at most two system calls.
  static func isNothingPending(
    in home: String, _ status: (String) throws -> FileStatus?
  ) throws -> Bool {
    let incompatible = QuarantineFolder.parent(in: home)
    guard let folder = try status(incompatible), folder.kind == .folder else { return true }
    guard let lease = try status(incompatible + "/" + QuarantineFolder.leaseName),
      lease.kind == .file, lease.modified == folder.modified
    else { return false }
    // The lease's status change time says when the note was made, by the same clock as the folder's time.
    let (age, overflow) = lease.changed.subtractingReportingOverflow(folder.modified)
    return !overflow && age > step
  }

  /// Gives the lease file the folder's time, unless the folder changed a moment ago, another process holds the lease or
  /// `isAnyLeft` finds something. The note is optional, so failures are ignored.
  static func note(
    in incompatible: String, now: Date, _ fileSystem: FileSystem, isAnyLeft: () throws -> Bool
  ) {
    let path = incompatible + "/" + QuarantineFolder.leaseName
    func time() -> Int64? { (try? fileSystem.status(incompatible))??.modified }
    guard let seen = time(), now.timeIntervalSince1970 - Double(seen) / 1e9 > Double(step) / 1e9,
      let lease = (try? fileSystem.lock(path)) ?? nil
    else { return }
    defer { close(lease) }
    // The time is read before the check: a move that begins in between changes it.
    guard let time = time(), (try? isAnyLeft()) == false else { return }
    try? fileSystem.setModified(path, time)
  }

  /// Invalidates the note by changing the folder's time.
  static func forget(_ incompatible: String, _ fileSystem: FileSystem) throws {
    let name = incompatible + "/.unsettled"
    do { try fileSystem.makeFolder(name, 0o700) } catch let error as SystemCallError
      where error.errno == EEXIST
    {
      // The folder was left by a run that was killed here.
    }
    try fileSystem.removeFolder(name)
    try fileSystem.syncFolder(incompatible)
  }
}
