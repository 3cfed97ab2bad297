import CLibrary
import SafeFiles
import SafeText

/// A file that this process has just created. The file is identified by device and inode, so that another file of the
/// same name is never removed.
///
/// All names are looked up in the folder that was opened when the file was created. If another process replaces the
/// folder, for example by a symbolic link, files in the new folder are not touched.
final class NewFile {
  static let sidecarSuffixes = ["-journal", "-wal", "-shm"]

  /// The path of the folder, with every symbolic link resolved.
  let folder: String
  let name: String
  /// The descriptor of the open folder.
  private let descriptor: Int32
  /// A descriptor of the file, which is kept open so that no other file can receive the same inode after a removal. It
  /// is closed last, because closing a descriptor releases the locks that SQLite has on the file.
  private let held: Int32
  private let status: FileStatus

  /// The absolute path of the file, without symbolic links. SQLITE_OPEN_NOFOLLOW requires that no component of the path
  /// is a symbolic link. SQLite never takes an absolute path for a URI.
  var path: String { PathText.joined(folder, name) }

  /// Creates an empty file at a path where nothing exists, not even a symbolic link that leads nowhere. `permissions`:
  /// the file's permissions before the umask is applied.
  init(creating path: String, permissions: UInt16) throws(SQLiteWriterError) {
    guard !path.utf8.contains(0) else {
      throw SQLiteWriterError(.embeddedNUL, "a path cannot contain a NUL", path: path)
    }
    let name = PathText.lastComponent(of: path)
    guard PathText.isPlainName(name) else {
      throw SQLiteWriterError(.cannotCreate, "the path does not name a file", path: path)
    }
    guard let folder = SystemCalls.realPath(PathText.folder(of: path)) else {
      throw SQLiteWriterError(
        .cannotCreate, "the folder for the new file cannot be reached; create it first", path: path,
        systemError: errno)
    }
    self.name = name
    self.folder = folder

    let descriptor = SystemCalls.openFolder(folder, in: AT_FDCWD)
    guard descriptor >= 0 else {
      throw SQLiteWriterError(
        .cannotCreate, "the folder cannot be opened", path: path, systemError: errno)
    }
    do {
      (held, status) = try Self.make(name, in: descriptor, mode: permissions & 0o777, path)
    } catch {
      _ = close(descriptor)
      throw error
    }
    self.descriptor = descriptor
  }

  deinit {
    _ = close(held)
    _ = close(descriptor)
  }

  private static func make(_ name: String, in folder: Int32, mode: UInt16, _ path: String)
    throws(SQLiteWriterError) -> (descriptor: Int32, FileStatus)
  {
    // If an earlier file of this name has left a journal or log, SQLite would replay it into the new file.
    for suffix in sidecarSuffixes where FileStatus.found(name + suffix, in: folder) != nil {
      throw SQLiteWriterError(
        .exists, "\(name + suffix) is in the way; choose another name or set that file aside",
        path: path)
    }
    let file = SystemCalls.create(name, in: folder, O_RDWR, mode: UInt32(mode))
    guard file >= 0 else {
      let error = errno
      let taken = error == EEXIST || error == ELOOP
      throw SQLiteWriterError(
        taken ? .exists : .cannotCreate,
        taken
          ? "\(name) already exists; choose another name"
          : "the file cannot be created: \(SystemCallError.words(error))",
        path: path, systemError: error)
    }
    guard let status = FileStatus.found(file) else {
      let error = errno
      _ = close(file)
      throw SQLiteWriterError(
        .cannotCreate, "the new file cannot be examined", path: path, systemError: error)
    }
    return (file, status)
  }

  /// Whether ``path`` still leads to the file that was created. SQLite opens the file by this path.
  var isInPlace: Bool {
    FileStatus.found(path)?.isSameFile(as: status) == true
  }

  private func isOurs(_ name: String) -> Bool {
    FileStatus.found(name, in: descriptor)?.isSameFile(as: status) == true
  }

  /// Opens the file again without SQLite. The caller must close the descriptor before SQLite locks the file again,
  /// because closing the descriptor releases SQLite's locks.
  func opened(_ access: Int32) throws(SQLiteWriterError) -> (descriptor: Int32, sizeBytes: Int64) {
    let file = SystemCalls.open(name, in: descriptor, access | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else {
      throw SQLiteWriterError(
        .inputOutput, "the new file cannot be opened", path: path, systemError: errno)
    }
    guard let now = FileStatus.found(file), now.isSameFile(as: status) else {
      _ = close(file)
      throw replaced
    }
    return (file, now.sizeBytes)
  }

  var replaced: SQLiteWriterError {
    SQLiteWriterError(.replaced, "another file has taken the place of the new file", path: path)
  }

  /// Gives the file another name in its folder, and removes its first name. If a file with the new name exists, that
  /// file is not replaced. `target`: the new path, of which only the last component is used.
  ///
  /// - Throws: `exists`, `replaced` or `cannotCreate`; `inputOutput` when the folder cannot be synced, in which case
  ///   the file is removed.
  func link(as target: String) throws(SQLiteWriterError) {
    let other = PathText.lastComponent(of: target)
    for suffix in [""] + Self.sidecarSuffixes
    where FileStatus.found(other + suffix, in: descriptor) != nil {
      throw SQLiteWriter.taken(target, suffix)
    }
    guard isOurs(name) else { throw replaced }
    if unsafe linkat(descriptor, name, descriptor, other, 0) == 0 {
      // The name may have been taken by another file since the check.
      guard isOurs(other) else {
        // This removes only the link that was just made, never a file that has replaced it.
        if let linked = FileStatus.found(name, in: descriptor) {
          SafeRemoval.remove(other, in: descriptor, of: linked)
        }
        throw replaced
      }
      SafeRemoval.remove(name, in: descriptor, of: status)
    } else {
      // A volume without hard links needs a rename.
      switch SystemCalls.rename(name, in: descriptor, to: other, in: descriptor) {
      case nil: break
      case EEXIST?: throw SQLiteWriter.taken(target, "")
      case let error?:
        throw SQLiteWriterError(
          .cannotCreate, "the new file is complete but cannot be given its final name",
          path: target,
          systemError: error)
      }
    }
    if let error = synchronizeFolder() {
      SafeRemoval.remove(other, in: descriptor, of: status)
      throw SQLiteWriterError(
        .inputOutput, "the folder cannot be synced", path: target, systemError: error)
    }
  }

  /// Removes the file and its `-journal`, `-wal` and `-shm`. If the file no longer exists, or another file has taken
  /// its place, nothing is removed and the result is false.
  func remove() -> Bool {
    guard isOurs(name) else { return false }
    // The files beside the database are removed first. If the process is killed in between, no journal may remain that
    // SQLite would apply to a later file of this name.
    for suffix in Self.sidecarSuffixes {
      if let file = FileStatus.found(name + suffix, in: descriptor), file.kind == .file {
        SafeRemoval.remove(name + suffix, in: descriptor, of: file)
      }
    }
    return SafeRemoval.remove(name, in: descriptor, of: status) == .removed
  }

  /// Syncs the folder, so that its entries are durable. Returns the error number of a failure, or nil.
  func synchronizeFolder() -> Int32? { SystemCalls.synchronize(descriptor) }
}
