import CLibrary
import StoreFiles
import SafeFiles
import SafeText

package struct FileTraits: Sendable, Equatable {
  /// The permissions without the set-user-id, set-group-id and sticky bits.
  package let mode: UInt32
  let user: UInt32
  package let group: UInt32

  /// The permissions of a copy whose group differs from the original's group. The copy gives a permission to its group
  /// and to others only if the original gives this permission to both its group and others.
  package var modeInAnotherGroup: UInt32 {
    let shared = mode >> 3 & mode & 0o7
    return mode & 0o700 | shared << 3 | shared
  }

  /// The traits of the regular file at `path`, with read and write permission for its owner added; nil when `path` does
  /// not name a regular file.
  package static func ofFile(at path: String) -> FileTraits? {
    var raw = stat()
    guard unsafe lstat(path, &raw) == 0, raw.st_mode & S_IFMT == S_IFREG else { return nil }
    return FileTraits(
      mode: UInt32(raw.st_mode) & 0o777 | 0o600, user: UInt32(raw.st_uid), group: UInt32(raw.st_gid)
    )
  }
}

/// Implements ``FileSystem`` with calls of the real file system.
///
/// Each call works in an open folder that was reached without following a link, and sets owners and permissions by
/// descriptor. If another process replaces a name with a link between two calls, the second call fails.
struct RealFiles: Sendable {
  /// For tests: called between the system calls of one operation, so that a test can change the files at that moment.
  var between: (@Sendable (_ step: String, _ path: String) -> Void)?

  // MARK: Names

  func link(_ from: String, _ to: String) throws {
    try inFolder(of: from) { source, old in
      try inFolder(of: to) { target, new in
        try Self.call("link", to, unsafe linkat(source, old, target, new, 0))
      }
    }
  }

  func rename(_ from: String, _ to: String) throws {
    try inFolder(of: from) { source, old in
      try inFolder(of: to) { target, new in
        try SystemCallError.check(
          "rename", to, SystemCalls.rename(old, in: source, to: new, in: target))
      }
    }
  }

  func replace(_ from: String, _ to: String) throws {
    try inFolder(of: from) { source, old in
      try inFolder(of: to) { target, new in
        try Self.call("rename", to, unsafe renameat(source, old, target, new))
      }
    }
  }

  func unlink(_ path: String, _ expected: FileStatus?) throws {
    try inFolder(of: path) { folder, name in
      guard let expected else {
        return try Self.call("unlink", path, unsafe unlinkat(folder, name, 0))
      }
      try remove(name, in: folder, path, expected)
    }
  }

  /// Removes `name` from the open folder `folder`, but only if the name still refers to the file `expected`.
  private func remove(
    _ name: String, in folder: Int32, _ path: String, _ expected: FileStatus
  ) throws {
    func error(_ code: Int32, _ path: String) -> SystemCallError {
      SystemCallError(call: "unlink", path: path, errno: code)
    }
    let end = SafeRemoval.remove(name, in: folder) { now in
      let there = FileStatus.found(now, in: folder)
      if PathText.isSame(now, name) { between?("removing", path) }
      return there?.isSameFile(as: expected) == true
    }
    switch end {
    case .removed: return
    case .missing: throw error(ENOENT, path)
    case .another: throw error(EBUSY, path)
    case .displaced(let name): throw error(EBUSY, PathText.joined(PathText.folder(of: path), name))
    case .failed(let code): throw error(code, path)
    }
  }

  /// Removes the files that interrupted removals left in the folder at `path`.
  func sweep(_ path: String) throws {
    for name in try entries(path, limit: FileSystem.entryLimit).names
    where SafeRemoval.isAside(name) {
      try inFolder(of: path + "/" + name) { folder, name in SafeRemoval.sweep(name, in: folder) }
    }
  }

  func removeFolder(_ path: String) throws {
    try inFolder(of: path) { folder, name in
      try Self.call("rmdir", path, unsafe unlinkat(folder, name, AT_REMOVEDIR))
    }
  }

  func entries(_ path: String, limit: Int) throws -> FolderEntries {
    try FolderEntries.read(descriptor: openFolder(path), path: path, limit: limit)
  }

  // MARK: New files and folders

  func makeFolder(_ path: String, _ mode: UInt32) throws {
    try makeFolder(path, mode_t(mode & 0o777)) { folder, made in
      try giveToOwner(of: folder, made, path)
    }
  }

  /// Makes an empty copy of a folder. Extended attributes are copied as far as both folders allow.
  func copyFolder(_ from: String, _ to: String) throws {
    // The folder is examined by name, because even its owner may not be able to open it.
    let model = try inFolder(of: from) { folder, name -> stat in
      var raw = stat()
      try Self.call("fstatat", from, unsafe fstatat(folder, name, &raw, AT_SYMLINK_NOFOLLOW))
      return raw
    }
    guard model.st_mode & S_IFMT == S_IFDIR else {
      throw SystemCallError(call: "mkdir", path: from, errno: ENOTDIR)
    }
    // The sticky bit keeps users who share a folder from removing each other's files; the owner needs access.
    let permissions = model.st_mode & 0o1777 | 0o700
    let attributes = (try? openFolder(from)).map { source in
      defer { _ = close(source) }
      return ExtendedAttributes(of: source)
    }
    try makeFolder(to, permissions) { _, made in
      if geteuid() == 0 {
        try Self.call("fchown", to, fchown(made, model.st_uid, model.st_gid))
      }
      // The attributes are set before the permissions, which an access control list would change.
      attributes?.give(to: made)
    }
  }

  /// Makes a folder, calls `give` to set its owner, and then sets its permissions. Until then, only this user has
  /// access to the folder.
  private func makeFolder(
    _ path: String, _ permissions: mode_t, _ give: (_ folder: Int32, _ made: Int32) throws -> Void
  ) throws {
    try inFolder(of: path) { folder, name in
      try Self.call("mkdir", path, unsafe mkdirat(folder, name, 0o700))
      between?("made", path)
      let made = try SystemCalls.opened(SystemCalls.openFolder(name, in: folder), path)
      defer { _ = close(made) }
      var raw = stat()
      try Self.call("fstat", path, unsafe fstat(made, &raw))
      // Another user's folder with this name is not changed.
      guard raw.st_uid == geteuid() else {
        throw SystemCallError(call: "mkdir", path: path, errno: EBUSY)
      }
      try give(folder, made)
      // mkdir applies the process's umask, but a member has to keep its permissions.
      if raw.st_mode & 0o7777 != permissions {
        try Self.call("fchmod", path, fchmod(made, permissions))
      }
    }
  }

  func write(_ path: String, _ bytes: [UInt8]) throws {
    try making(path) { descriptor, folder in
      try giveToOwner(of: folder, descriptor, path)
      try SystemCallError.check("write", path, SystemCalls.write(bytes[...], to: descriptor))
      try flush(descriptor, path)
    }
  }

  func copy(_ from: String, _ to: String) throws {
    try inFolder(of: from) { folder, name in
      guard let status = try FileStatus.of(name, in: folder, path: from) else {
        throw SystemCallError(call: "copy", path: from, errno: ENOENT)
      }
      between?("looked", from)
      switch status.kind {
      case .symbolicLink: try copyLink(folder, name, from, to)
      case .file: try copyBytes(folder, name, from, to, status)
      case .folder, .other: throw SystemCallError(call: "copy", path: from, errno: ENOTSUP)
      }
    }
  }

  private func copyLink(_ folder: Int32, _ name: String, _ from: String, _ to: String) throws {
    var buffer = [CChar](repeating: 0, count: 4097)
    let count = unsafe readlinkat(folder, name, &buffer, 4096)
    guard count >= 0 else { throw SystemCallError(call: "readlink", path: from, errno: errno) }
    try inFolder(of: to) { target, new in
      try Self.call("symlink", to, unsafe symlinkat(buffer, target, new))
    }
  }

  private func copyBytes(
    _ folder: Int32, _ name: String, _ from: String, _ to: String, _ listed: FileStatus
  ) throws {
    let source = try SystemCalls.opened(SystemCalls.openForReading(name, in: folder), from)
    defer { _ = close(source) }
    // Another file has replaced the one that was examined.
    guard try FileStatus.of(descriptor: source, path: from) == listed else {
      throw SystemCallError(call: "copy", path: from, errno: EBUSY)
    }
    try making(to) { target, _ in
      #if canImport(Darwin)
        // The class is set before the first byte is written: a copy that can be read while the device is locked would
        // be a leak. Volumes without protection classes report none.
        let protection = fcntl(source, F_GETPROTECTIONCLASS)
        if protection > 0 {
          try Self.call("protect", to, fcntl(target, F_SETPROTECTIONCLASS, protection))
        }
      #endif
      var owner = stat()
      if geteuid() == 0, unsafe fstat(source, &owner) == 0 {
        try Self.call("fchown", to, fchown(target, owner.st_uid, owner.st_gid))
      }
      try copyAll(source, target, from, to, listed)
      ExtendedAttributes(of: source).give(to: target)
      try Self.call("fchmod", to, fchmod(target, mode_t(listed.mode & 0o777)))
      let times = Self.times(listed.modified)
      try Self.call("futimens", to, unsafe futimens(target, times))
      try flush(target, to)
    }
  }

  private func copyAll(
    _ source: Int32, _ target: Int32, _ from: String, _ to: String, _ listed: FileStatus
  ) throws {
    var buffer = [UInt8](repeating: 0, count: 256 * 1024)
    var total: Int64 = 0
    while true {
      let (count, error) = unsafe buffer.withUnsafeMutableBytes {
        unsafe SystemCalls.read(source, at: total, into: $0)
      }
      try SystemCallError.check("read", from, error)
      if count == 0 { break }
      try SystemCallError.check("write", to, SystemCalls.write(buffer[..<count], to: target))
      total += Int64(count)
      guard total <= listed.sizeBytes else {
        throw SystemCallError(call: "copy", path: from, errno: EBUSY)
      }
    }
    guard try FileStatus.of(descriptor: source, path: from) == listed, total == listed.sizeBytes
    else { throw SystemCallError(call: "copy", path: from, errno: EBUSY) }
  }

  /// Creates a file that only this user may read, and calls `body` to fill it. When `body` throws, the file is removed.
  private func making(_ path: String, _ body: (_ file: Int32, _ folder: Int32) throws -> Void)
    throws
  {
    try inFolder(of: path) { folder, name in
      let created = SystemCalls.create(name, in: folder)
      let descriptor = try SystemCalls.opened(created, path, by: "create")
      defer { _ = close(descriptor) }
      between?("made", path)
      do { try body(descriptor, folder) } catch {
        // On a full volume the partial file would take the last space.
        if let made = FileStatus.found(descriptor) {
          try? remove(name, in: folder, path, made)
        }
        throw error
      }
    }
  }

  // MARK: Existing files

  func syncFile(_ path: String) throws {
    try open(path, O_RDONLY | O_NONBLOCK) { try flush($0, path) }
  }

  func syncFolder(_ path: String) throws {
    try open(path, O_RDONLY | O_DIRECTORY) { try flush($0, path) }
  }

  func lock(_ path: String) throws -> Int32? {
    try inFolder(of: path) { folder, name in
      var descriptor = SystemCalls.create(name, in: folder, O_RDWR | O_NONBLOCK)
      let isNew = descriptor >= 0
      if !isNew, errno == EEXIST {
        descriptor = SystemCalls.open(name, in: folder, O_RDWR | O_NOFOLLOW | O_NONBLOCK)
      }
      guard descriptor >= 0 else { throw SystemCallError(call: "lock", path: path, errno: errno) }
      do {
        between?("made", path)
        if isNew { try giveToOwner(of: folder, descriptor, path) }
        let status = try FileStatus.of(descriptor: descriptor, path: path)
        guard status.kind == .file else {
          throw SystemCallError(call: "lock", path: path, errno: EINVAL)
        }
        if SystemCalls.retrying({ flock(descriptor, LOCK_EX | LOCK_NB) }) == 0 {
          // A lock on a file that has lost its name excludes no other process.
          if try FileStatus.of(name, in: folder, path: path)?.isSameFile(as: status) == true {
            return descriptor
          }
        } else if errno != EWOULDBLOCK {
          throw SystemCallError(call: "lock", path: path, errno: errno)
        }
      } catch {
        _ = close(descriptor)
        throw error
      }
      _ = close(descriptor)
      return nil
    }
  }

  func setModified(_ path: String, _ time: Int64) throws {
    try open(path, O_RDONLY | O_NONBLOCK) { descriptor in
      try expectOurs(descriptor, path) { $0.st_size == 0 }
      let times = Self.times(time)
      try Self.call("futimens", path, unsafe futimens(descriptor, times))
    }
  }

  func setTraits(_ path: String, _ traits: FileTraits) throws {
    try open(path, O_RDONLY | O_NONBLOCK) { descriptor in
      between?("opened", path)
      try expectOurs(descriptor, path) { $0.st_uid == geteuid() }
      var raw = stat()
      try Self.call("fstat", path, unsafe fstat(descriptor, &raw))
      var mode = traits.mode & 0o777
      if raw.st_uid != traits.user || raw.st_gid != traits.group {
        do {
          try Self.call("fchown", path, fchown(descriptor, traits.user, traits.group))
        } catch let error as SystemCallError where error.errno == EPERM && raw.st_uid == traits.user
        {
          // Only a member of a group may give a file to that group.
          mode = traits.modeInAnotherGroup
        }
      }
      try Self.call("fchmod", path, fchmod(descriptor, mode_t(mode)))
    }
  }

  /// Throws unless the open file is a regular file with one hard link, and `isRight` accepts its status. A file with a
  /// second hard link could be another user's file.
  private func expectOurs(
    _ descriptor: Int32, _ path: String, _ isRight: (stat) -> Bool
  ) throws {
    var raw = stat()
    try Self.call("fstat", path, unsafe fstat(descriptor, &raw))
    guard raw.st_mode & S_IFMT == S_IFREG, raw.st_nlink == 1, isRight(raw) else {
      throw SystemCallError(call: "fstat", path: path, errno: EBUSY)
    }
  }

  // MARK: Open folders

  private func inFolder<Result>(
    of path: String, _ body: (_ folder: Int32, _ name: String) throws -> Result
  ) throws -> Result {
    let folder = try Self.open(folder: PathText.folder(of: path))
    defer { _ = close(folder) }
    let name = PathText.lastComponent(of: path)
    return try body(folder, name.utf8.isEmpty ? "." : name)
  }

  private func open<Result>(
    _ path: String, _ flags: Int32, _ body: (Int32) throws -> Result
  ) throws -> Result {
    try inFolder(of: path) { folder, name in
      let opened = SystemCalls.open(name, in: folder, flags | O_NOFOLLOW)
      let descriptor = try SystemCalls.opened(opened, path)
      defer { _ = close(descriptor) }
      return try body(descriptor)
    }
  }

  private func openFolder(_ path: String) throws -> Int32 {
    try inFolder(of: path) { folder, name in
      try SystemCalls.opened(SystemCalls.openFolder(name, in: folder), path)
    }
  }

  /// Opens a folder without following a link in any part of its path.
  private static func open(folder path: String) throws -> Int32 {
    #if canImport(Darwin)
      let folder = SystemCalls.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW_ANY)
    #else
      // O_PATH, which needs no permission to read the folder. glibc hides the constant.
      let flags = 0x20_0000 | O_DIRECTORY | O_NOFOLLOW
      var folder = SystemCalls.open(path.utf8.first == UInt8(ascii: "/") ? "/" : ".", flags)
      for part in PathText.components(of: path) where folder >= 0 && !part.utf8.isEmpty {
        let next = SystemCalls.open(part, in: folder, flags)
        let code = errno
        close(folder)
        errno = code
        folder = next
      }
    #endif
    return try SystemCalls.opened(folder, path)
  }

  /// Gives the file or folder `made` to the owner of the open folder `folder`, if this process is root. The owner's app
  /// has to read it later.
  private func giveToOwner(of folder: Int32, _ made: Int32, _ path: String) throws {
    guard geteuid() == 0 else { return }
    var raw = stat()
    guard unsafe fstat(folder, &raw) == 0, raw.st_uid != 0 else { return }
    try Self.call("fchown", path, fchown(made, raw.st_uid, raw.st_gid))
  }

  // MARK: Calls

  private static func call(
    _ name: String, _ path: String, _ result: @autoclosure () -> Int32
  ) throws {
    guard SystemCalls.retrying(result) == 0 else {
      throw SystemCallError(call: name, path: path, errno: errno)
    }
  }

  private func flush(_ descriptor: Int32, _ path: String) throws {
    try SystemCallError.check("fsync", path, SystemCalls.synchronize(descriptor))
  }

  private static func times(_ nanoseconds: Int64) -> [timespec] {
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    var time = timespec()
    time.tv_sec = time_t(rest < 0 ? seconds - 1 : seconds)
    time.tv_nsec = Int(rest < 0 ? rest + 1_000_000_000 : rest)
    return [time, time]
  }

  static func freeBytes(at folder: String) throws -> Int64 {
    var raw = statvfs()
    try call("statvfs", folder, unsafe statvfs(folder, &raw))
    let (bytes, overflow) = UInt64(raw.f_bavail).multipliedReportingOverflow(
      by: UInt64(raw.f_frsize))
    return overflow ? Int64.max : Int64(clamping: bytes)
  }
}
