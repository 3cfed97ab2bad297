import CLibrary

/// What `lstat(2)` or `fstat(2)` says about a file.
package struct FileStatus: Sendable, Equatable, Codable {
  /// The kind of file at a path. A symbolic link is a kind of its own and is not followed.
  package enum Kind: String, Sendable, Codable, CaseIterable {
    case file
    case folder
    case symbolicLink
    /// A device, a socket or a pipe.
    case other

    /// The kind as an English noun with its article, for use in a sentence.
    package var words: String {
      switch self {
      case .file: "a file"
      case .folder: "a folder"
      case .symbolicLink: "a symbolic link"
      case .other: "a pipe, socket or device"
      }
    }
  }

  package let kind: Kind
  package let sizeBytes: Int64
  package let device: Int64
  package let inode: UInt64
  /// The time of the last write, in nanoseconds since 1970, clamped to 64 bits.
  package let modified: Int64
  package let changed: Int64
  /// The permission bits, together with the set-user-id, set-group-id and sticky bits.
  package let mode: UInt32

  /// Returns the status of the file, folder or link at `path`; nil when nothing exists there. A link there is not
  /// followed.
  package static func of(_ path: String) throws(SystemCallError) -> FileStatus? {
    try of(path, in: AT_FDCWD, path: path)
  }

  /// Returns the status of the entry `name` in the open folder `folder`, without following a link; nil when there is no
  /// such entry. `path` is used only in an error.
  package static func of(
    _ name: String, in folder: Int32, path: String
  ) throws(SystemCallError) -> FileStatus? {
    if let status = found(name, in: folder) { return status }
    return try absent(errno, path)
  }

  /// Returns the status of an open file. `path` is used only in an error.
  package static func of(descriptor: Int32, path: String) throws(SystemCallError) -> FileStatus {
    guard let status = found(descriptor) else {
      throw SystemCallError(call: "fstat", path: path, errno: errno)
    }
    return status
  }

  /// Returns the status of an open file; nil, with `errno` set, when `fstat` fails.
  package static func found(_ descriptor: Int32) -> FileStatus? {
    var raw = stat()
    return unsafe fstat(descriptor, &raw) == 0 ? FileStatus(raw) : nil
  }

  /// Returns the status of the entry `name` of the open folder `folder`; nil, with `errno` set, on failure. A link is
  /// not followed.
  package static func found(_ name: String, in folder: Int32 = AT_FDCWD) -> FileStatus? {
    var raw = stat()
    return unsafe fstatat(folder, name, &raw, AT_SYMLINK_NOFOLLOW) == 0 ? FileStatus(raw) : nil
  }

  /// Returns the status of a file by its name in an open folder, like ``of(_:in:path:)``. `name`: the bytes of the
  /// name, which need not be UTF-8.
  package static func of(
    bytes name: [UInt8], in folder: Int32, path: String
  ) throws(SystemCallError) -> FileStatus? {
    var raw = stat()
    let code = unsafe SystemCalls.withCString(name) {
      unsafe fstatat(folder, $0, &raw, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno
    }
    return code == 0 ? FileStatus(raw) : try absent(code, path)
  }

  private static func absent(_ code: Int32, _ path: String) throws(SystemCallError) -> FileStatus? {
    if code == ENOENT || code == ENOTDIR { return nil }
    throw SystemCallError(call: "fstatat", path: path, errno: code)
  }

  /// Returns the status of the file that `path` leads to, with symbolic links followed; nil when `stat` fails.
  package static func following(_ path: String) -> FileStatus? {
    var raw = stat()
    return unsafe stat(path, &raw) == 0 ? FileStatus(raw) : nil
  }

  /// Whether both statuses belong to the same file on disk. The file may have had different names.
  package func isSameFile(as other: FileStatus) -> Bool {
    device == other.device && inode == other.inode && kind == other.kind
  }

  private init(_ raw: stat) {
    switch raw.st_mode & S_IFMT {
    case S_IFREG: kind = .file
    case S_IFDIR: kind = .folder
    case S_IFLNK: kind = .symbolicLink
    default: kind = .other
    }
    sizeBytes = Int64(raw.st_size)
    device = Int64(truncatingIfNeeded: raw.st_dev)
    inode = UInt64(raw.st_ino)
    mode = UInt32(raw.st_mode & 0o7777)
    #if canImport(Darwin)
      modified = Self.nanoseconds(raw.st_mtimespec)
      changed = Self.nanoseconds(raw.st_ctimespec)
    #else
      modified = Self.nanoseconds(raw.st_mtim)
      changed = Self.nanoseconds(raw.st_ctim)
    #endif
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    let (seconds, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return time.tv_sec < 0 ? Int64.min : Int64.max }
    let (sum, carried) = seconds.addingReportingOverflow(Int64(time.tv_nsec))
    return carried ? Int64.max : sum
  }
}
