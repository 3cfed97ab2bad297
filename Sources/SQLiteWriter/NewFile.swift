import CLibrary
import SafeFiles
import SafeText

/// A file that this process has just made, identified by device and inode, so that no other file is ever removed in its
/// place.
///
/// All names are looked up in the folder that was opened at the start. When the folder is replaced meanwhile, for
/// example by a symbolic link, nothing elsewhere is touched.
final class NewFile {
  /// The suffixes of the files that SQLite puts beside a database.
  static let sidecarSuffixes = ["-journal", "-wal", "-shm"]

  /// The folder, with every symbolic link resolved.
  let folder: String
  /// The last component of the path.
  let name: String
  /// The folder, open.
  private let descriptor: Int32
  /// The file itself, held open so that no other file gets its inode when it is removed. It is closed last, because
  /// closing a descriptor drops the locks that SQLite has on the file.
  private let held: Int32
  private let device: dev_t
  private let inode: ino_t

  /// The path without symbolic links, as SQLITE_OPEN_NOFOLLOW requires for every component. It is absolute, so that
  /// SQLite never takes it for a URI.
  var path: String { PathText.joined(folder, name) }

  /// Makes an empty file where nothing exists, not even a dangling link.
  init(creating path: String, permissions: UInt16) throws(SQLiteWriterError) {
    guard !path.utf8.contains(0) else {
      throw SQLiteWriterError(.embeddedNUL, "a path cannot hold a NUL", path: path)
    }
    let name = PathText.lastComponent(of: path)
    guard PathText.isPlainName(name) else {
      throw SQLiteWriterError(.cannotCreate, "the path names no file", path: path)
    }
    guard let folder = Self.resolved(PathText.folder(of: path)) else {
      throw SQLiteWriterError(
        .cannotCreate, "the folder cannot be reached; make it first", path: path,
        systemError: errno)
    }
    self.name = name
    self.folder = folder

    let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw SQLiteWriterError(
        .cannotCreate, "the folder cannot be opened", path: path, systemError: errno)
    }
    do {
      let state: stat
      (held, state) = try Self.make(name, in: descriptor, mode: permissions & 0o777, path)
      device = state.st_dev
      inode = state.st_ino
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

  /// Makes an empty file; returns it open, with its identity.
  private static func make(_ name: String, in folder: Int32, mode: UInt16, _ path: String)
    throws(SQLiteWriterError) -> (descriptor: Int32, stat)
  {
    // A journal or log that an earlier file of this name left would be replayed into the new one.
    for suffix in sidecarSuffixes where Self.state(name + suffix, in: folder) != nil {
      throw SQLiteWriterError(
        .exists, "\(name + suffix) is in the way; choose another name or set it aside", path: path)
    }
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let file = unsafe openat(folder, name, flags, mode_t(mode))
    guard file >= 0 else {
      let error = errno
      let taken = error == EEXIST || error == ELOOP
      throw SQLiteWriterError(
        taken ? .exists : .cannotCreate,
        taken ? "\(name) already exists; choose another name" : "the file cannot be made",
        path: path, systemError: error)
    }
    var state = stat()
    guard unsafe fstat(file, &state) == 0 else {
      let error = errno
      _ = close(file)
      throw SQLiteWriterError(
        .cannotCreate, "the new file cannot be examined", path: path, systemError: error)
    }
    return (file, state)
  }

  /// Whether the path still leads to the file that was made.
  ///
  /// SQLite opens the file by its path, so the path is checked and not the open folder.
  var isInPlace: Bool {
    var state = stat()
    guard unsafe lstat(path, &state) == 0 else { return false }
    return isSame(as: state)
  }

  /// Whether this is the file that was made.
  func isSame(as state: stat) -> Bool { state.st_dev == device && state.st_ino == inode }

  /// Whether a name in the folder is the file that was made.
  private func isOurs(_ name: String) -> Bool {
    Self.state(name, in: descriptor).map(isSame) == true
  }

  /// Opens the file again, bypassing SQLite. It must be closed before SQLite takes a lock on the file again.
  func opened(_ access: Int32) throws(SQLiteWriterError) -> (descriptor: Int32, sizeBytes: Int64) {
    let file = unsafe openat(descriptor, name, access | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else {
      throw SQLiteWriterError(
        .inputOutput, "the new file cannot be opened", path: path, systemError: errno)
    }
    var state = stat()
    guard unsafe fstat(file, &state) == 0, isSame(as: state) else {
      _ = close(file)
      throw replaced
    }
    return (file, Int64(state.st_size))
  }

  var replaced: SQLiteWriterError {
    SQLiteWriterError(.replaced, "another file has taken the place of the new one", path: path)
  }

  /// Gives the file another name in its folder and removes its first one. An existing file of that name is not
  /// replaced.
  ///
  /// - Throws: `exists`, `replaced`, `cannotCreate`; `inputOutput`, and then the file is gone.
  func link(as target: String) throws(SQLiteWriterError) {
    let other = PathText.lastComponent(of: target)
    for suffix in [""] + Self.sidecarSuffixes
    where Self.state(other + suffix, in: descriptor) != nil {
      throw SQLiteWriter.taken(target, suffix)
    }
    guard isOurs(name) else { throw replaced }
    if unsafe linkat(descriptor, name, descriptor, other, 0) == 0 {
      // Another file may have taken the name since it was checked.
      guard isOurs(other) else {
        // Only the link that was made here is removed, never a file that may have replaced it.
        if let linked = Self.state(name, in: descriptor) {
          remove(other) { $0.st_dev == linked.st_dev && $0.st_ino == linked.st_ino }
        }
        throw replaced
      }
      remove(name, where: isSame)
    } else {
      // For a volume without hard links.
      switch SystemCalls.rename(name, in: descriptor, to: other, in: descriptor) {
      case nil: break
      case EEXIST?: throw SQLiteWriter.taken(target, "")
      case let error?:
        throw SQLiteWriterError(
          .cannotCreate, "the finished file cannot be given its name", path: target,
          systemError: error)
      }
    }
    if let error = synchronizeFolder() {
      remove(other, where: isSame)
      throw SQLiteWriterError(
        .inputOutput, "the folder cannot be synced", path: target, systemError: error)
    }
  }

  /// Removes the file and the files beside it; false when another file has taken its place, and then nothing is
  /// removed.
  func remove() -> Bool {
    guard isOurs(name) else { return false }
    // The files beside it first: a kill in between must not leave a journal that a later file of this name would pick
    // up.
    for suffix in Self.sidecarSuffixes {
      guard let state = Self.state(name + suffix, in: descriptor),
        state.st_mode & S_IFMT == S_IFREG
      else { continue }
      remove(name + suffix) { $0.st_dev == state.st_dev && $0.st_ino == state.st_ino }
    }
    return remove(name, where: isSame)
  }

  /// Removes a name if it belongs to a file for which `isMeant` is true; returns whether it is gone.
  @discardableResult
  private func remove(_ name: String, where isMeant: (stat) -> Bool) -> Bool {
    SafeRemoval.remove(name, in: descriptor) { Self.state($0, in: descriptor).map(isMeant) == true }
      == .removed
  }

  /// Makes the folder's entries durable; returns the errno of a failure.
  func synchronizeFolder() -> Int32? {
    guard fsync(descriptor) != 0 else { return nil }
    // Some file systems cannot sync a folder and say so; their entries are made durable in another way.
    return errno == EINVAL || errno == ENOTSUP ? nil : errno
  }

  private static func resolved(_ folder: String) -> String? {
    guard let resolved = unsafe realpath(folder, nil) else { return nil }
    defer { unsafe free(resolved) }
    return unsafe String(validatingCString: resolved)
  }

  private static func state(_ name: String, in folder: Int32) -> stat? {
    var state = stat()
    guard unsafe fstatat(folder, name, &state, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
    return state
  }
}
