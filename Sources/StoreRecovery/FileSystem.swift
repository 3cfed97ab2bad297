package import CoreDataStore
import SafeText

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Every call that changes the file system or makes a change durable, so that tests can watch, fail and stop
/// each of them. Paths are plain, and no call follows a symbolic link in the last component.
package struct FileSystem: Sendable {
  /// A second name for a file: `link(from, to)`. Fails when `to` exists.
  package var link: @Sendable (String, String) throws -> Void
  /// Another name for a file: `rename(from, to)`. Fails when `to` exists.
  package var rename: @Sendable (String, String) throws -> Void
  /// Removes one name of a file.
  package var unlink: @Sendable (String) throws -> Void
  /// Makes a folder with these permissions. Fails when the name is taken.
  package var makeFolder: @Sendable (String, UInt32) throws -> Void
  /// Removes an empty folder.
  package var removeFolder: @Sendable (String) throws -> Void
  /// Brings a file's bytes to the device.
  package var syncFile: @Sendable (String) throws -> Void
  /// Brings a folder's entries to the device.
  package var syncFolder: @Sendable (String) throws -> Void
  /// Copies a file or a link: `copy(from, to)`, with permissions and times, and syncs it. Fails when `to`
  /// exists.
  package var copy: @Sendable (String, String) throws -> Void
  /// Writes a new file that only this user may read, and syncs it. Fails when the name is taken.
  package var write: @Sendable (String, [UInt8]) throws -> Void
  /// Locks a file of our own, making it when it is missing, and does not wait: a descriptor that holds the lock
  /// until it is closed or the process ends; nil while another process holds it.
  package var lock: @Sendable (String) throws -> Int32?
  /// Gives a file of our own another time of change, in nanoseconds since 1970. Nothing relies on it reaching the
  /// device.
  package var setModified: @Sendable (String, Int64) throws -> Void
  /// What a path names; nil when nothing.
  package var status: @Sendable (String) throws -> FileStatus?
  /// The names in a folder.
  package var entries: @Sendable (String) throws -> FolderEntries
  /// Bytes that this user may still write on the volume of a folder.
  package var freeSpace: @Sendable (String) throws -> Int64

  /// How many names of one folder are read.
  static let entryLimit = 100_000

  /// The real file system.
  package static let real = FileSystem(
    link: { try call("link", $1, unsafe linkat(AT_FDCWD, $0, AT_FDCWD, $1, 0)) },
    rename: { try move($0, $1) },
    unlink: { try call("unlink", $0, unsafe unlinkat(AT_FDCWD, $0, 0)) },
    makeFolder: { path, mode in
      try call("mkdir", path, unsafe mkdir(path, mode_t(mode)))
      // mkdir takes the process's mask off; the permissions of a member are to be kept.
      try call("chmod", path, unsafe chmod(path, mode_t(mode)))
      try giveToOwner(of: path)
    },
    removeFolder: { try call("rmdir", $0, unsafe rmdir($0)) },
    syncFile: { try sync($0, flags: O_RDONLY | O_NONBLOCK) },
    syncFolder: { try sync($0, flags: O_RDONLY | O_DIRECTORY) },
    copy: { try copyFile($0, $1) },
    write: { try writeFile($0, $1) },
    lock: { try lockFile($0) },
    setModified: { path, time in
      let times = times(time)
      try call(
        "utimensat", path, unsafe utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW))
    },
    status: { try FileStatus.of($0) },
    entries: { try FolderEntries.read($0, limit: entryLimit) },
    freeSpace: { try freeBytes(at: $0) })

  private static func call(
    _ name: String, _ path: String, _ result: @autoclosure () -> Int32
  ) throws {
    guard retrying(result) == 0 else {
      throw SystemCallError(call: name, path: path, errno: errno)
    }
  }

  private static func move(_ from: String, _ to: String) throws {
    #if canImport(Darwin)
      try call("rename", to, unsafe renamex_np(from, to, UInt32(RENAME_EXCL)))
    #else
      // Without an atomic form that refuses to overwrite, the name is checked just before.
      if try FileStatus.of(to) != nil {
        throw SystemCallError(call: "rename", path: to, errno: EEXIST)
      }
      try call("rename", to, unsafe renameat(AT_FDCWD, from, AT_FDCWD, to))
    #endif
  }

  private static func sync(_ path: String, flags: Int32) throws {
    let descriptor = retrying { unsafe open(path, flags | O_NOFOLLOW | O_CLOEXEC) }
    guard descriptor >= 0 else { throw SystemCallError(call: "open", path: path, errno: errno) }
    defer { close(descriptor) }
    try flush(descriptor, path)
  }

  private static func flush(_ descriptor: Int32, _ path: String) throws {
    #if canImport(Darwin)
      // fsync on Darwin leaves bytes in the device's cache; some volumes know nothing better.
      if retrying({ fcntl(descriptor, F_FULLFSYNC) }) == 0 { return }
    #endif
    if retrying({ fsync(descriptor) }) == 0 { return }
    // Some volumes cannot sync a folder; nothing more can be done there.
    let code = errno
    if code == EINVAL || code == ENOTSUP { return }
    throw SystemCallError(call: "fsync", path: path, errno: code)
  }

  private static func writeFile(_ path: String, _ bytes: [UInt8]) throws {
    let descriptor = retrying {
      unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    }
    guard descriptor >= 0 else { throw SystemCallError(call: "create", path: path, errno: errno) }
    defer { close(descriptor) }
    try giveToOwner(of: path)
    try writeAll(bytes[...], to: descriptor, path)
    try flush(descriptor, path)
  }

  private static func lockFile(_ path: String) throws -> Int32? {
    let isNew = try FileStatus.of(path) == nil
    let descriptor = retrying {
      unsafe open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
    }
    guard descriptor >= 0 else { throw SystemCallError(call: "lock", path: path, errno: errno) }
    do {
      if isNew { try giveToOwner(of: path) }
      let status = try FileStatus.of(descriptor: descriptor, path: path)
      guard status.kind == .file else {
        throw SystemCallError(call: "lock", path: path, errno: EINVAL)
      }
      if retrying({ flock(descriptor, LOCK_EX | LOCK_NB) }) == 0 {
        // Whoever holds the lock of a file that has lost its name keeps nobody out.
        if try FileStatus.of(path)?.isSameFile(as: status) == true { return descriptor }
      } else if errno != EWOULDBLOCK {
        throw SystemCallError(call: "lock", path: path, errno: errno)
      }
    } catch {
      close(descriptor)
      throw error
    }
    close(descriptor)
    return nil
  }

  /// What root makes in a user's folder belongs to that user, whose app has to read it later.
  private static func giveToOwner(of path: String) throws {
    guard geteuid() == 0 else { return }
    let folder = PathText.folder(of: path)
    var raw = stat()
    guard unsafe lstat(folder, &raw) == 0, raw.st_uid != 0 else { return }
    try call("chown", path, unsafe lchown(path, raw.st_uid, raw.st_gid))
  }

  private static func writeAll(
    _ bytes: ArraySlice<UInt8>, to descriptor: Int32, _ path: String
  ) throws {
    var rest = bytes
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe Self.put(descriptor, $0) }
      if count < 0 {
        if errno == EINTR { continue }
        throw SystemCallError(call: "write", path: path, errno: errno)
      }
      rest = rest.dropFirst(count)
    }
  }

  private static func put(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Darwin)
      unsafe Darwin.write(descriptor, bytes.baseAddress, bytes.count)
    #elseif canImport(Musl)
      unsafe Musl.write(descriptor, bytes.baseAddress, bytes.count)
    #else
      unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count)
    #endif
  }

  private static func copyFile(_ from: String, _ to: String) throws {
    guard let status = try FileStatus.of(from) else {
      throw SystemCallError(call: "copy", path: from, errno: ENOENT)
    }
    switch status.kind {
    case .symbolicLink: try copyLink(from, to)
    case .file: try copyBytes(from, to, status)
    case .folder, .other: throw SystemCallError(call: "copy", path: from, errno: ENOTSUP)
    }
  }

  private static func copyLink(_ from: String, _ to: String) throws {
    var buffer = [CChar](repeating: 0, count: 4097)
    let count = unsafe readlink(from, &buffer, 4096)
    guard count >= 0 else { throw SystemCallError(call: "readlink", path: from, errno: errno) }
    try call("symlink", to, unsafe symlink(buffer, to))
  }

  private static func copyBytes(_ from: String, _ to: String, _ listed: FileStatus) throws {
    let source = retrying { unsafe open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK) }
    guard source >= 0 else { throw SystemCallError(call: "open", path: from, errno: errno) }
    defer { close(source) }
    let target = retrying {
      unsafe open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    }
    guard target >= 0 else { throw SystemCallError(call: "create", path: to, errno: errno) }
    defer { close(target) }
    #if canImport(Darwin)
      // Before the first byte: a copy that could be read while the device is locked would be a leak. Volumes
      // without such classes know none to take over.
      let protection = fcntl(source, F_GETPROTECTIONCLASS)
      if protection > 0 {
        try call("protect", to, fcntl(target, F_SETPROTECTIONCLASS, protection))
      }
    #endif
    var owner = stat()
    if geteuid() == 0, unsafe fstat(source, &owner) == 0 {
      try call("fchown", to, fchown(target, owner.st_uid, owner.st_gid))
    }
    var buffer = [UInt8](repeating: 0, count: 256 * 1024)
    var total: Int64 = 0
    while true {
      let count = unsafe buffer.withUnsafeMutableBytes {
        unsafe read(source, $0.baseAddress, $0.count)
      }
      if count < 0 {
        if errno == EINTR { continue }
        throw SystemCallError(call: "read", path: from, errno: errno)
      }
      if count == 0 { break }
      try writeAll(buffer[..<count], to: target, to)
      total += Int64(count)
      guard total <= listed.sizeBytes else {
        throw SystemCallError(call: "copy", path: from, errno: EBUSY)
      }
    }
    guard try FileStatus.of(descriptor: source, path: from) == listed, total == listed.sizeBytes
    else { throw SystemCallError(call: "copy", path: from, errno: EBUSY) }
    try call("fchmod", to, fchmod(target, mode_t(listed.mode)))
    let times = times(listed.modified)
    try call("futimens", to, unsafe futimens(target, times))
    try flush(target, to)
  }

  /// The times of access and of change, both `nanoseconds` since 1970.
  private static func times(_ nanoseconds: Int64) -> [timespec] {
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    var time = timespec()
    time.tv_sec = time_t(rest < 0 ? seconds - 1 : seconds)
    time.tv_nsec = Int(rest < 0 ? rest + 1_000_000_000 : rest)
    return [time, time]
  }

  package static func freeBytes(at folder: String) throws -> Int64 {
    var raw = statvfs()
    guard unsafe statvfs(folder, &raw) == 0 else {
      throw SystemCallError(call: "statvfs", path: folder, errno: errno)
    }
    let (bytes, overflow) = UInt64(raw.f_bavail).multipliedReportingOverflow(
      by: UInt64(raw.f_frsize))
    return overflow ? Int64.max : Int64(clamping: bytes)
  }
}
