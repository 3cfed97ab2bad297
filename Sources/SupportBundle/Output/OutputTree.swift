import CLibrary
import Foundation
import SafeFiles
import SafeText

/// Creates files and folders within one open folder, and can remove them later.
///
/// Each file or folder is created exclusively and relative to an open descriptor of its parent. So a link that replaces
/// a parent folder is never followed. Only files and folders that this object has created are removed, and only if
/// their names still belong to them.
package final class OutputTree {
  /// A function that is called for each file or folder to create. `path` is its path. The function must call `make`,
  /// which creates the file or folder and returns whether it exists afterwards.
  package typealias Making = (_ path: String, _ make: () -> Bool) -> Void

  private struct Made {
    let parts: [String]
    let status: FileStatus
    /// A descriptor of the file or folder, which stays open so that the system does not reuse the inode number; -1 if
    /// `heldLimit` descriptors are open already.
    let held: Int32
  }

  /// The maximum number of created files and folders whose descriptors stay open.
  private static let heldLimit = 128

  /// The path of the open folder, in which everything is created.
  package let path: String
  private let descriptor: Int32
  private let making: Making
  private var made: [Made] = []
  /// The position in `made` of each folder that was created. The key is the folder's path components, relative to the
  /// open folder.
  private var folders: [[[UInt8]]: Int] = [:]

  /// Opens `folder`, in which files and folders will be created. The path of `folder` may contain links. `making` is
  /// called for each new file or folder before it exists, so that the caller can store its path.
  package init(in folder: String, making: @escaping Making) throws(BundleError) {
    try SystemPath.check(folder)
    path = folder
    self.making = making
    descriptor = SystemCalls.openFolder(following: folder)
    guard descriptor >= 0 else {
      throw SystemPath.error(.cannotCreate, "the folder cannot be opened", errno, path: folder)
    }
  }

  deinit {
    forget()
    if descriptor >= 0 { _ = close(descriptor) }
  }

  /// Makes a folder, which must not exist yet. `parts` are the components of the folder's path, relative to the open
  /// folder. The parent folder is the open folder, or a folder that this tree has made.
  package func makeFolder(_ parts: [String], mode: UInt32) throws(BundleError) {
    let (parent, name) = try self.parent(of: parts)
    defer { release(parent) }
    let status = make(parts) {
      SystemCalls.retrying { unsafe mkdirat(parent, name, mode_t(mode)) }
    }
    guard status == 0 else { throw failure("the folder cannot be made", parts) }
    let opened = try openFolder(name, in: parent, parts)
    defer { _ = close(opened) }
    folders[parts.map { Array($0.utf8) }] = made.count
    try note(opened, parts)
  }

  /// Makes and locks a folder with a random name, and returns the name. Only this user can open the folder. First
  /// removes the folders that killed runs have left (``RunFolders``). The lock lasts until this tree is discarded or
  /// deallocated. `isForWorkers` says whether the folder is for the files of worker processes.
  package func makeRunFolder(isForWorkers: Bool = false) throws(BundleError) -> String {
    RunFolders.removeLeft(in: path)
    // Another run may remove the new folder before it is locked, because an unlocked folder looks like one that a
    // killed run has left.
    for _ in 1...16 {
      let name = RunFolders.newName(isForWorkers: isForWorkers)
      do { try makeFolder([name], mode: 0o700) } catch {
        guard error.systemError == ENOENT else { throw error }
        continue
      }
      let held = made.last?.held ?? -1
      if held < 0 || RunFolders.claim(held, name, in: descriptor) { return name }
    }
    throw BundleError(
      .cannotCreate, "other runs removed the folders that this run made", path: path)
  }

  /// Makes the parent folders of the file or folder whose path has the components `parts`. Folders that this tree has
  /// made already are skipped.
  package func makeFolders(above parts: [String], mode: UInt32) throws(BundleError) {
    for count in 1..<max(parts.count, 1) {
      let above = Array(parts[..<count])
      if folders[above.map { Array($0.utf8) }] == nil { try makeFolder(above, mode: mode) }
    }
  }

  /// Makes a file, which must not exist yet. `parts` are the components of the file's path, relative to the open
  /// folder. Returns a descriptor for writing, which the caller closes.
  package func makeFile(_ parts: [String], mode: UInt32) throws(BundleError) -> Int32 {
    let (parent, name) = try self.parent(of: parts)
    defer { release(parent) }
    let opened = make(parts) { SystemCalls.create(name, in: parent, mode: mode) }
    guard opened >= 0 else { throw failure("the file cannot be made", parts) }
    do {
      try note(opened, parts)
    } catch {
      _ = close(opened)
      throw error
    }
    return opened
  }

  /// Writes all of `bytes` to a descriptor from ``makeFile(_:mode:)``.
  package static func write(
    _ bytes: ArraySlice<UInt8>, to descriptor: Int32, path: String
  ) throws(BundleError) {
    if let error = SystemCalls.write(bytes, to: descriptor) {
      throw SystemPath.error(.writeFailed, "the file cannot be written", error, path: path)
    }
  }

  /// Removes all files and folders that this tree has made, in reverse order. A folder that also contains files of
  /// other programs stays, with these files.
  package func discard() {
    for item in made.reversed() {
      guard let (parent, name) = try? self.parent(of: item.parts) else { continue }
      defer { release(parent) }
      if item.status.kind != .folder {
        SafeRemoval.remove(name, in: parent, of: item.status)
      } else if FileStatus.found(name, in: parent)?.isSameFile(as: item.status) == true {
        _ = unsafe unlinkat(parent, name, AT_REMOVEDIR)
      }
    }
    forget()
  }

  private func forget() {
    for item in made where item.held >= 0 { _ = close(item.held) }
    made = []
    folders = [:]
  }

  // MARK: - Paths

  /// Opens the parent folder of the file or folder `parts`. Returns the descriptor of the parent folder, and the name
  /// of the file or folder, which is the last element of `parts`. All parent folders must have been made by this tree.
  private func parent(of parts: [String]) throws(BundleError) -> (Int32, String) {
    guard let last = parts.last, parts.allSatisfy({ PathText.isPlainName($0) }) else {
      throw BundleError(
        .badName, "the name leads out of the folder", path: path,
        entry: parts.joined(separator: "/"))
    }
    var folder = descriptor
    for count in 1..<parts.count {
      let above = Array(parts[..<count])
      let next: Int32
      do {
        next = try openFolder(parts[count - 1], in: folder, above)
      } catch {
        release(folder)
        throw error
      }
      release(folder)
      folder = next
      guard let place = folders[above.map { Array($0.utf8) }],
        let status = FileStatus.found(folder),
        status.isSameFile(as: made[place].status)
      else {
        release(folder)
        throw BundleError(
          .cannotCreate, "another program replaced a folder that this run had made",
          path: whole(above))
      }
    }
    return (folder, last)
  }

  private func openFolder(
    _ name: String, in parent: Int32, _ parts: [String]
  ) throws(BundleError) -> Int32 {
    let opened = SystemCalls.openFolder(name, in: parent)
    guard opened >= 0 else { throw failure("the folder cannot be opened", parts) }
    return opened
  }

  private func release(_ folder: Int32) {
    if folder != descriptor { _ = close(folder) }
  }

  private func note(_ opened: Int32, _ parts: [String]) throws(BundleError) {
    guard let status = FileStatus.found(opened) else {
      throw failure("the new file or folder cannot be examined", parts)
    }
    let held = made.count < Self.heldLimit ? fcntl(opened, F_DUPFD_CLOEXEC, 0) : -1
    made.append(Made(parts: parts, status: status, held: held))
  }

  /// Creates the file or folder `parts` with the system call in `call`, and returns its result: 0 or more on success.
  /// `errno` keeps the value that `call` has set.
  private func make(_ parts: [String], _ call: () -> Int32) -> Int32 {
    var result: Int32 = -1
    var code: Int32 = 0
    making(whole(parts)) {
      result = call()
      code = errno
      return result >= 0
    }
    errno = code
    return result
  }

  private func failure(_ what: String, _ parts: [String]) -> BundleError {
    let error = errno
    let code: BundleError.Code =
      switch error {
      case EEXIST: .outputExists
      case EACCES, EPERM: .permissionDenied
      default: .cannotCreate
      }
    return SystemPath.error(code, what, error, path: whole(parts))
  }

  private func whole(_ parts: [String]) -> String {
    parts.reduce(path) { PathText.joined($0, $1) }
  }
}

/// A folder with a random name that only this user can open. The folder and its files are removed when this object is
/// deallocated.
package final class PrivateFolder {
  package var path: String { PathText.joined(tree.path, name) }
  let tree: OutputTree
  let name: String

  /// Makes a private folder in the folder `place`; nil for the system's temporary folder.
  init(in place: String? = nil, making: @escaping OutputTree.Making) throws(BundleError) {
    let place = place ?? FileManager.default.temporaryDirectory.path
    tree = try OutputTree(in: place, making: making)
    name = try tree.makeRunFolder()
  }

  deinit { tree.discard() }

  /// Makes a file in the private folder, and the subfolders in its path. `body` gets a function that writes bytes to
  /// the file. Errors of this function contain `path`.
  func makeFile(
    _ parts: [String], path: String,
    _ body: (_ write: (ArraySlice<UInt8>) throws(BundleError) -> Void) throws -> Void
  ) throws {
    try tree.makeFolders(above: [name] + parts, mode: 0o700)
    let file = try tree.makeFile([name] + parts, mode: 0o600)
    defer { _ = close(file) }
    try body { (piece) throws(BundleError) in
      try OutputTree.write(piece, to: file, path: path)
    }
  }
}
