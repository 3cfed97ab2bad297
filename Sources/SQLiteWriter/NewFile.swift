#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A file that this process has just made, known by device and inode, so that nothing else is ever
/// removed in its name.
struct NewFile {
  /// What SQLite puts beside a database of this name.
  static let sidecarSuffixes = ["-journal", "-wal", "-shm"]

  /// The folder, with every symbolic link resolved.
  let folder: String
  /// The last component of the path.
  let name: String
  private let device: dev_t
  private let inode: ino_t

  /// The path without symbolic links, which SQLITE_OPEN_NOFOLLOW insists on for every component. It
  /// is absolute, so SQLite never takes it for a URI.
  var path: String {
    folder == "/" ? "/" + name : folder + "/" + name
  }

  /// Makes an empty file where nothing is yet, not even a dangling link.
  init(creating path: String, permissions: UInt16) throws(SQLiteWriterError) {
    guard !path.unicodeScalars.contains("\0") else {
      throw SQLiteWriterError(.embeddedNUL, "a path cannot hold a NUL", path: path)
    }
    let (parent, name) = Self.split(path)
    guard !name.isEmpty, name != ".", name != ".." else {
      throw SQLiteWriterError(.cannotCreate, "the path names no file", path: path)
    }
    guard let folder = Self.resolved(parent) else {
      throw SQLiteWriterError(
        .cannotCreate, "the folder cannot be reached; make it first", path: path,
        systemError: errno)
    }
    self.name = name
    self.folder = folder

    let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw SQLiteWriterError(
        .cannotCreate, "the folder cannot be opened", path: path, systemError: errno)
    }
    defer { _ = close(descriptor) }

    // A journal or log left by an earlier file of this name would be replayed into the new one.
    for suffix in Self.sidecarSuffixes where Self.state(name + suffix, in: descriptor) != nil {
      throw SQLiteWriterError(
        .exists, "\(name + suffix) is in the way; choose another name or set it aside", path: path)
    }
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let file = unsafe openat(descriptor, name, flags, mode_t(permissions & 0o777))
    guard file >= 0 else {
      let error = errno
      let taken = error == EEXIST || error == ELOOP
      throw SQLiteWriterError(
        taken ? .exists : .cannotCreate,
        taken ? "\(name) already exists; choose another name" : "the file cannot be made",
        path: path, systemError: error)
    }
    // Closed before SQLite opens the file: closing later would drop SQLite's locks.
    defer { _ = close(file) }
    var state = stat()
    guard unsafe fstat(file, &state) == 0 else {
      throw SQLiteWriterError(
        .cannotCreate, "the new file cannot be examined", path: path, systemError: errno)
    }
    device = state.st_dev
    inode = state.st_ino
  }

  /// Whether the path still leads to the file that was made.
  var isInPlace: Bool {
    var state = stat()
    guard unsafe lstat(path, &state) == 0 else { return false }
    return isSame(as: state)
  }

  /// Whether this is the file that was made.
  func isSame(as state: stat) -> Bool { state.st_dev == device && state.st_ino == inode }

  /// Removes the file and its sidecars; false when another file has taken its place, and nothing is
  /// removed then.
  func remove() -> Bool {
    guard isInPlace else { return false }
    // Sidecars first: a kill in between leaves no journal that could meet a later file of this name.
    for suffix in Self.sidecarSuffixes {
      var state = stat()
      guard unsafe lstat(path + suffix, &state) == 0, state.st_mode & S_IFMT == S_IFREG else {
        continue
      }
      _ = unsafe unlink(path + suffix)
    }
    return unsafe unlink(path) == 0
  }

  /// Makes the folder's entry for the file durable; returns the errno of a failure.
  func synchronizeFolder() -> Int32? {
    let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return errno }
    defer { _ = close(descriptor) }
    guard fsync(descriptor) != 0 else { return nil }
    // Some file systems cannot sync a folder and say so; their entries are durable another way.
    return errno == EINVAL || errno == ENOTSUP ? nil : errno
  }

  private static func split(_ path: String) -> (parent: String, name: String) {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (".", path) }
    let parent = path[..<slash]
    return (parent.isEmpty ? "/" : String(parent), String(path[path.utf8.index(after: slash)...]))
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
