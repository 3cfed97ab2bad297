import CLibrary
import StoreFiles
import SafeFiles
import Foundation

/// Lets a launch skip the search for unfinished moves.
///
/// When a search finds no unfinished move, the lease file gets the modification time of the folder `Incompatible`. Each
/// move, trial or removal begins by changing a name in `Incompatible`, which changes the folder's modification time. So
/// if both times are equal, nothing has begun since the search. The only exception is a move out of a quarantine, which
/// calls ``forget(_:_:)`` first.
enum SettledMoves {
  /// Two changes of a folder within this time, in nanoseconds, may give the folder the same time.
  private static let step = HealthyOpen.settlingTime

  /// Whether it is certain that no move, trial or removal in `home` is unfinished, so that the search for them can be
  /// skipped. If false, nothing is known. Needs at most two system calls.
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

  /// Notes that no move is unfinished: gives the lease file the modification time of the folder `incompatible`. Does
  /// nothing if the folder changed a moment ago, another process holds the lease, or `isAnyLeft` returns true. Errors
  /// are ignored, because the note is optional.
  static func note(
    in incompatible: String, now: Date, _ fileSystem: FileSystem, isAnyLeft: () throws -> Bool
  ) {
    let path = incompatible + "/" + QuarantineFolder.leaseName
    func time() -> Int64? { (try? fileSystem.status(incompatible))?.modified }
    guard let seen = time(), now.timeIntervalSince1970 - Double(seen) / 1e9 > Double(step) / 1e9,
      let lease = try? fileSystem.lock(path)
    else { return }
    defer { close(lease) }
    // The folder's time is read before the check, because a move that begins in between changes that time.
    guard let time = time(), (try? isAnyLeft()) == false else { return }
    try? fileSystem.setModified(path, time)
  }

  /// Makes the next launch search for unfinished moves again. Changes the modification time of the folder
  /// `incompatible`, so that the lease file no longer has the same modification time.
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
