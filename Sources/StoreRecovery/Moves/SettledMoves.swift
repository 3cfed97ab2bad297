import CLibrary
import CoreDataStore
import Foundation

/// What spares a launch the look into the folder of each incident: when a look has found nothing unfinished, the
/// lease gets the time of the folder of all incidents. As long as both times are the same, nothing has begun since.
///
/// Whatever may be left unfinished begins with a name that comes, goes or changes in that folder, which gives it
/// another time. The one exception, a set that goes back out of its quarantine, calls ``forget(_:_:)`` first.
enum SettledMoves {
  /// Times of files are counted in steps of up to two seconds (FAT), so a folder that changes twice in one step has
  /// one time for both. In nanoseconds.
  private static let step: Int64 = 2_000_000_000

  /// Whether it is certain that no move, trial or removal in `home` is unfinished, by two looks at most.
  static func areAll(
    in home: String, _ status: (String) throws -> FileStatus?
  ) throws -> Bool {
    let incompatible = QuarantineFolder.parent(in: home)
    guard let folder = try status(incompatible), folder.kind == .folder else { return true }
    guard let lease = try status(incompatible + "/" + QuarantineFolder.leaseName),
      lease.kind == .file, lease.modified == folder.modified
    else { return false }
    // When the note was taken, by the same clock as the folder's time.
    let (age, overflow) = lease.changed.subtractingReportingOverflow(folder.modified)
    return !overflow && age > step
  }

  /// Takes the note, unless the folder changed a moment ago, another process is at work or `isAnyLeft` finds
  /// something. It is a help, so what fails here stays without it.
  static func note(
    in incompatible: String, now: Date, _ fileSystem: FileSystem, isAnyLeft: () throws -> Bool
  ) {
    let path = incompatible + "/" + QuarantineFolder.leaseName
    func time() -> Int64? { (try? fileSystem.status(incompatible))??.modified }
    guard let seen = time(), now.timeIntervalSince1970 - Double(seen) / 1e9 > Double(step) / 1e9,
      let lease = (try? fileSystem.lock(path)) ?? nil
    else { return }
    defer { close(lease) }
    // From before the look: what begins meanwhile gives the folder another time.
    guard let time = time(), (try? isAnyLeft()) == false else { return }
    try? fileSystem.setModified(path, time)
  }

  /// Takes the note back, for good: the folder gets another time.
  static func forget(_ incompatible: String, _ fileSystem: FileSystem) throws {
    let name = incompatible + "/.unsettled"
    do { try fileSystem.makeFolder(name, 0o700) } catch let error as SystemCallError
      where error.errno == EEXIST
    {
      // Left by a run that was killed here.
    }
    try fileSystem.removeFolder(name)
    try fileSystem.syncFolder(incompatible)
  }
}
