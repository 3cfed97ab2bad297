import CLibrary
import CoreDataStore
package import SafeFiles
import Foundation
package import SQLiteWriter
import SafeText

/// Records the files and folders that a run makes, and removes them when the run fails. Another thread that interrupts
/// the run can remove them, too.
///
/// A recorded file or folder is called noted. It is identified by its name, its inode and the folder in which it was
/// made. Nothing else is ever removed. A lock prevents the run from making anything while items are removed.
package final class MadeFiles: @unchecked Sendable {
  private struct Thing {
    let folder: OpenFolder
    let name: String
    /// The status of the file or folder at the time when it was made. Nil for an item that may not exist yet, because
    /// SQLite or the caller is about to make it.
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
  /// The open parent folders of the files and folders that were noted by their path. Each parent folder is opened only
  /// once.
  private var folders: [Place: OpenFolder] = [:]

  package init() {}

  // MARK: - Making

  func makeFolder(_ name: String, in parent: OpenFolder) throws(SystemCallError) -> OpenFolder {
    lock.lock()
    defer { lock.unlock() }
    guard unsafe mkdirat(parent.descriptor, name, 0o700) == 0 else {
      throw SystemCallError(
        call: "mkdirat", path: PathText.joined(parent.path, name), errno: errno)
    }
    // The folder is noted before it is opened, because opening may fail. A folder whose identity cannot be learnt is not
    // noted: what has its name later may be another's.
    if let status = parent.status(of: name) {
      things.append(Thing(folder: parent, name: name, status: status))
    }
    return try parent.folder(name)
  }

  /// Makes a file and opens it for reading and writing. The caller closes it.
  package func makeFile(_ name: String, in parent: OpenFolder) throws(SystemCallError) -> Int32 {
    lock.lock()
    defer { lock.unlock() }
    let descriptor = SystemCalls.create(name, in: parent.descriptor, O_RDWR, mode: 0o600)
    guard descriptor >= 0 else {
      throw SystemCallError(
        call: "openat", path: PathText.joined(parent.path, name), errno: errno)
    }
    if let status = FileStatus.found(descriptor) {
      things.append(Thing(folder: parent, name: name, status: status))
    }
    return descriptor
  }

  /// Runs `body`, which makes a file or folder, and records the path that `body` returns. Returns the other value that
  /// `body` returns, `made`.
  package func making<T>(_ body: () throws -> (made: T, path: String)) rethrows -> T {
    lock.lock()
    defer { lock.unlock() }
    let (made, path) = try body()
    add(path)
    return made
  }

  /// Runs `make`, which makes a file or folder at `path`. Notes `path` if `make` returns true, which means that
  /// something exists at `path` afterwards.
  package func making(_ path: String, _ make: () -> Bool) {
    lock.lock()
    defer { lock.unlock() }
    if make() { add(path) }
  }

  /// Makes a database, which gets the name `path` only when it is finished. `fill` writes its content and completes the
  /// file. If anything fails, removes the file, and everything else that was made since the call.
  package func makeDatabase<T>(
    at path: String, _ options: SQLiteWriter.Options, _ fill: (SQLiteWriter) throws -> T
  ) throws -> T {
    let count = self.count
    let writer = try making {
      let writer = try SQLiteWriter(creating: SQLiteWriter.privatePath(for: path), options: options)
      return (writer, writer.path)
    }
    do {
      let filled = try fill(writer)
      // The file gets its name, and everything made for it becomes permanent, in one step.
      try keep(to: count) { try writer.publish(as: path) }
      return filled
    } catch {
      writer.discard()
      takeBack(to: count)
      throw error
    }
  }

  /// Adds to the list a file or folder that the caller makes. If nothing exists at `path` yet, the path is added only
  /// if this run has made the folder that contains it.
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

  /// Whether this run has made the file that is now at `path`. The file is recognised by its inode, not by its name.
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

  /// The number of files and folders noted so far. Pass this number to ``takeBack(to:)`` to remove what was noted
  /// later, or to ``keep(to:while:)``.
  package var count: Int { lock.withLock { things.count } }

  /// Removes the files and folders that this run has made, except the first `count`. Begins with the last one. A folder
  /// that contains anything else is not removed.
  package func takeBack(to count: Int) { lock.withLock { remove(to: count) } }

  /// Runs `body`, which completes the work. Then shortens the list of made files and folders to its first `count`
  /// items. Files and folders that are no longer in the list are never removed.
  package func keep(to count: Int, while body: () throws -> Void) rethrows {
    lock.lock()
    defer { lock.unlock() }
    try body()
    things.removeSubrange(min(count, things.count)...)
    if things.isEmpty { folders = [:] }
  }

  /// Runs `body`, and then forgets all files and folders noted so far, so that they are never removed. If
  /// ``takeBackForGood()`` was called before, this method waits forever.
  package func keepAll(while body: () -> Void) { keep(to: 0, while: body) }

  package func takeBack() { takeBack(to: 0) }

  /// Removes all noted items and keeps the lock. A thread that tries to make something then waits forever, so call this
  /// only in a process that is about to end.
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
