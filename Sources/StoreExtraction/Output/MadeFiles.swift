import CLibrary
import CoreDataStore
import Foundation
import SafeText

/// The files and folders that a run has made so far, so that they can be taken back: by the run that fails, or from
/// another thread by whoever interrupts it.
///
/// Things are known by the folder that they were made in, their name and their inode, and nothing else is ever
/// removed. Making and taking back exclude each other.
public final class MadeFiles: @unchecked Sendable {
  private struct Thing {
    let folder: OpenFolder
    let name: String
    /// nil for what was only announced, in a folder of ours.
    let identity: FileIdentity?
  }

  /// Guards `things`, which is what makes this sendable.
  private let lock = NSLock()
  private var things: [Thing] = []
  /// Folders that were noted or made in, so that each is open once.
  private var folders: [FileIdentity.Key: OpenFolder] = [:]

  /// Nothing is made yet.
  public init() {}

  // MARK: - Making

  /// Makes a folder and opens it.
  func makeFolder(
    _ name: String, in parent: OpenFolder, mode: mode_t = 0o700
  ) throws(SystemCallError) -> OpenFolder {
    lock.lock()
    defer { lock.unlock() }
    guard unsafe mkdirat(parent.descriptor, name, mode) == 0 else {
      throw SystemCallError(
        call: "mkdirat", path: PathText.joined(parent.path, name), errno: errno)
    }
    let folder = try parent.folder(name)
    things.append(
      Thing(folder: parent, name: name, identity: FileIdentity(descriptor: folder.descriptor)))
    return folder
  }

  /// Makes a file and opens it for reading and writing; the caller closes it.
  func makeFile(
    _ name: String, in parent: OpenFolder, mode: mode_t = 0o600
  ) throws(SystemCallError) -> Int32 {
    lock.lock()
    defer { lock.unlock() }
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let descriptor = unsafe openat(parent.descriptor, name, flags, mode)
    guard descriptor >= 0 else {
      throw SystemCallError(
        call: "openat", path: PathText.joined(parent.path, name), errno: errno)
    }
    things.append(
      Thing(folder: parent, name: name, identity: FileIdentity(descriptor: descriptor)))
    return descriptor
  }

  /// Has something made by `body`, which returns it with the path of the file.
  func making<T>(_ body: () throws -> (made: T, path: String)) rethrows -> T {
    lock.lock()
    defer { lock.unlock() }
    let (made, path) = try body()
    add(path)
    return made
  }

  /// Has something made at a path by `make`, which tells whether it is there then.
  public func making(_ path: String, _ make: () -> Bool) {
    lock.lock()
    defer { lock.unlock() }
    if make() { add(path) }
  }

  /// Notes a file or folder that the caller has made, or is about to make in a folder noted before.
  public func note(_ path: String) {
    lock.lock()
    defer { lock.unlock() }
    add(path)
  }

  /// Whether what has a name now was made, and noted so far.
  public func hasMade(_ path: String) -> Bool {
    guard let folder = try? OpenFolder(PathText.folder(of: path)),
      let now = folder.identity(of: PathText.lastComponent(of: path))
    else { return false }
    return lock.withLock { things.contains { $0.identity?.isSame(as: now) == true } }
  }

  private func add(_ path: String) {
    let path = PathText.withoutTrailingSlashes(path)
    let name = PathText.lastComponent(of: path)
    guard PathText.isPlainName(name), let opened = try? OpenFolder(PathText.folder(of: path)),
      let key = FileIdentity(descriptor: opened.descriptor)?.key
    else { return }
    let folder = folders[key] ?? opened
    let identity = folder.identity(of: name)
    guard identity != nil || things.contains(where: { $0.identity?.key == key }) else { return }
    folders[key] = folder
    things.append(Thing(folder: folder, name: name, identity: identity))
  }

  // MARK: - Taking back

  /// How much there is by now, for ``takeBack(to:)`` and ``keep(to:while:)``.
  var count: Int { lock.withLock { things.count } }

  /// Removes what was made since there was so much of it, the last first. A folder in which something else is by now
  /// stays.
  func takeBack(to count: Int) { lock.withLock { remove(to: count) } }

  /// Does what completes the work, after which what was made since there was so much of it is to stay.
  func keep(to count: Int, while body: () throws -> Void) rethrows {
    lock.lock()
    defer { lock.unlock() }
    try body()
    things.removeSubrange(min(count, things.count)...)
    if things.isEmpty { folders = [:] }
  }

  /// Notes by `body` that all of it is to stay. Waits for ever where it was taken back for good.
  public func keepAll(while body: () -> Void) { keep(to: 0, while: body) }

  /// Removes all of it.
  public func takeBack() { takeBack(to: 0) }

  /// Removes all of it, and lets nothing more be made: who tries waits for ever. For a process that is about to end.
  public func takeBackForGood() {
    lock.lock()
    remove(to: 0)
  }

  private func remove(to count: Int) {
    while things.count > count {
      let thing = things.removeLast()
      guard let made = thing.identity ?? thing.folder.identity(of: thing.name) else { continue }
      thing.folder.remove(thing.name, of: made)
    }
  }
}
