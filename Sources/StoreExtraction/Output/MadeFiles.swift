import CLibrary
import CoreDataStore
package import SafeFiles
import Foundation
import SafeText

/// The files and folders that a run has made so far, so that they can be removed again: by the run when it fails, or
/// from another thread that interrupts it.
///
/// Each is identified by the folder in which it was made, its name and its inode; nothing else is ever removed. A lock
/// keeps making and removing apart.
package final class MadeFiles: @unchecked Sendable {
  private struct Thing {
    let folder: OpenFolder
    let name: String
    /// The status of the file or folder when it was made. Nil for one that may not exist yet, which SQLite or the
    /// caller is about to make.
    let status: FileStatus?
  }

  /// A folder on disk, identified by its inode and not by its name.
  private struct Place: Hashable {
    let device: Int64
    let inode: UInt64

    init(_ status: FileStatus) {
      device = status.device
      inode = status.inode
    }
  }

  /// Guards `things` and `folders`, which makes this class sendable.
  private let lock = NSLock()
  private var things: [Thing] = []
  /// The folders that contain noted things; each is opened only once.
  private var folders: [Place: OpenFolder] = [:]

  /// Creates an empty list.
  package init() {}

  // MARK: - Making

  /// Makes a folder and opens it.
  func makeFolder(
    _ name: String, in parent: OpenFolder, mode: UInt32 = 0o700
  ) throws(SystemCallError) -> OpenFolder {
    lock.lock()
    defer { lock.unlock() }
    guard unsafe mkdirat(parent.descriptor, name, mode_t(truncatingIfNeeded: mode)) == 0 else {
      throw SystemCallError(
        call: "mkdirat", path: PathText.joined(parent.path, name), errno: errno)
    }
    // The folder is noted before it is opened, because opening may fail.
    things.append(Thing(folder: parent, name: name, status: parent.status(of: name)))
    return try parent.folder(name)
  }

  /// Makes a file and opens it for reading and writing. The caller closes it.
  package func makeFile(
    _ name: String, in parent: OpenFolder, mode: UInt32 = 0o600
  ) throws(SystemCallError) -> Int32 {
    lock.lock()
    defer { lock.unlock() }
    let descriptor = SystemCalls.create(name, in: parent.descriptor, O_RDWR, mode: mode)
    guard descriptor >= 0 else {
      throw SystemCallError(
        call: "openat", path: PathText.joined(parent.path, name), errno: errno)
    }
    things.append(
      Thing(folder: parent, name: name, status: FileStatus.found(descriptor)))
    return descriptor
  }

  /// Runs `body`, which makes a file or folder, and notes the path that `body` returns. Returns `made`, the value that
  /// `body` returns beside the path.
  package func making<T>(_ body: () throws -> (made: T, path: String)) rethrows -> T {
    lock.lock()
    defer { lock.unlock() }
    let (made, path) = try body()
    add(path)
    return made
  }

  /// Runs `make`, which makes something at `path` and returns whether it exists afterwards. If so, notes `path`.
  package func making(_ path: String, _ make: () -> Bool) {
    lock.lock()
    defer { lock.unlock() }
    if make() { add(path) }
  }

  /// Notes a file or folder that the caller has made. The caller may also be about to make it, in a folder that was
  /// noted before.
  package func note(_ path: String) {
    lock.lock()
    defer { lock.unlock() }
    add(path)
  }

  /// Notes the files that SQLite may make beside a database that this run has made under a unique name.
  package func noteSidecars(ofDatabaseAt path: String) {
    lock.lock()
    defer { lock.unlock() }
    guard let folder = try? OpenFolder(PathText.folder(of: path)) else { return }
    for suffix in ["-wal", "-shm", "-journal"] {
      things.append(
        Thing(folder: folder, name: PathText.lastComponent(of: path) + suffix, status: nil))
    }
  }

  /// Whether the file now at `path` was made in this run and noted.
  package func hasMade(_ path: String) -> Bool {
    guard let folder = try? OpenFolder(PathText.folder(of: path)),
      let now = folder.status(of: PathText.lastComponent(of: path))
    else { return false }
    return lock.withLock { things.contains { $0.status?.isSameFile(as: now) == true } }
  }

  private func add(_ path: String) {
    let path = PathText.withoutTrailingSlashes(path)
    let name = PathText.lastComponent(of: path)
    guard PathText.isPlainName(name), let opened = try? OpenFolder(PathText.folder(of: path)),
      let key = FileStatus.found(opened.descriptor).map(Place.init)
    else { return }
    let folder = folders[key] ?? opened
    let status = folder.status(of: name)
    guard status != nil || things.contains(where: { $0.status.map(Place.init) == key }) else {
      return
    }
    folders[key] = folder
    things.append(Thing(folder: folder, name: name, status: status))
  }

  // MARK: - Taking back

  /// How many files and folders are noted, for ``takeBack(to:)`` and ``keep(to:while:)``.
  package var count: Int { lock.withLock { things.count } }

  /// Removes what was noted after the first `count` items, the last one first. A folder stays if it contains anything
  /// else by then.
  package func takeBack(to count: Int) { lock.withLock { remove(to: count) } }

  /// Runs the step that completes the work. What was noted after the first `count` items then stays for good.
  package func keep(to count: Int, while body: () throws -> Void) rethrows {
    lock.lock()
    defer { lock.unlock() }
    try body()
    things.removeSubrange(min(count, things.count)...)
    if things.isEmpty { folders = [:] }
  }

  /// Runs `body`. Everything noted so far then stays for good. Waits for ever if ``takeBackForGood()`` was called.
  package func keepAll(while body: () -> Void) { keep(to: 0, while: body) }

  /// Removes everything that is noted.
  package func takeBack() { takeBack(to: 0) }

  /// Removes everything that is noted, and keeps the lock: a thread that then tries to make something waits for ever.
  /// For a process that is about to end.
  package func takeBackForGood() {
    lock.lock()
    remove(to: 0)
  }

  private func remove(to count: Int) {
    while things.count > count {
      let thing = things.removeLast()
      guard let made = thing.status ?? thing.folder.status(of: thing.name) else { continue }
      thing.folder.remove(thing.name, of: made)
    }
  }
}
