import CLibrary

/// Wrappers of system calls. Each wrapper does its whole task or fails. Most return nil on success, and otherwise the
/// `errno` of the failed call. The wrappers that open a file return a descriptor, which the caller must close, or -1
/// with `errno` set.
package enum SystemCalls {
  /// Calls `call` again as long as a signal interrupts it (`EINTR`), and returns the last result.
  package static func retrying<Number: SignedInteger>(_ call: () -> Number) -> Number {
    while true {
      let result = call()
      if result >= 0 || errno != EINTR { return result }
    }
  }

  /// Opens `name` in the open folder `folder`. Without `folder`, `name` is a path. Programs that this process starts do
  /// not inherit the descriptor.
  package static func open(
    _ name: String, in folder: Int32 = AT_FDCWD, _ flags: Int32, mode: UInt32 = 0o600
  ) -> Int32 {
    retrying { unsafe openat(folder, name, flags | O_CLOEXEC, mode_t(truncatingIfNeeded: mode)) }
  }

  /// Returns `descriptor`, which one of the wrappers has returned for `path`; throws the error of `call` if it is -1.
  package static func opened(
    _ descriptor: Int32, _ path: String, by call: String = "open"
  ) throws(SystemCallError) -> Int32 {
    guard descriptor >= 0 else { throw SystemCallError(call: call, path: path, errno: errno) }
    return descriptor
  }

  /// Like ``open(_:in:_:mode:)``, for a name given as bytes, which may not be UTF-8.
  package static func open(bytes name: [UInt8], in folder: Int32, _ flags: Int32) -> Int32 {
    retrying { unsafe withCString(name) { unsafe openat(folder, $0, flags | O_CLOEXEC) } }
  }

  /// Calls `body` with a pointer to a copy of `bytes` that is followed by a zero byte.
  package static func withCString<Result>(
    _ bytes: [UInt8], _ body: (UnsafePointer<CChar>) -> Result
  ) -> Result {
    unsafe (bytes.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { buffer in
      // The array holds at least the zero byte.
      guard let start = buffer.baseAddress else { return unsafe body("") }
      return unsafe body(start)
    }
  }

  /// Opens a file for reading. Fails for a symbolic link, and does not block on a pipe.
  package static func openForReading(_ name: String, in folder: Int32 = AT_FDCWD) -> Int32 {
    open(name, in: folder, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  }

  /// Returns `path` with all symbolic links resolved; nil, with `errno` set, when the path leads to nothing.
  package static func realPath(_ path: String) -> String? {
    guard let real = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(real) }
    return unsafe String(validatingCString: real)
  }

  package static func openFolder(following path: String) -> Int32 {
    open(path, O_RDONLY | O_DIRECTORY)
  }

  /// Opens the folder `name` in the open folder `folder`. Fails if `name` is a symbolic link.
  package static func openFolder(_ name: String, in folder: Int32) -> Int32 {
    open(name, in: folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  }

  /// Creates and opens the file `name`; fails if the name is taken. By default only this user may read the file.
  package static func create(
    _ name: String, in folder: Int32 = AT_FDCWD, _ access: Int32 = O_WRONLY, mode: UInt32 = 0o600
  ) -> Int32 {
    open(name, in: folder, access | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode)
  }

  /// Creates and opens, for reading and writing, a file without a name in the open folder `folder`. Returns -1 where the
  /// system or the file system does not offer this.
  package static func createUnnamed(in folder: Int32) -> Int32 {
    #if canImport(Darwin)
      return -1
    #else
      return retrying { lifeboat_open_unnamed(folder) }
    #endif
  }

  /// Reads bytes from `offset` on, until the buffer `bytes` is full or the file ends.
  ///
  /// - Returns: The number of bytes read, and the `errno` of the call that ended the reading early; nil if no call
  ///   failed.
  package static func read(
    _ descriptor: Int32, at offset: Int64, into bytes: UnsafeMutableRawBufferPointer
  ) -> (count: Int, error: Int32?) {
    var done = 0
    while done < bytes.count {
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[done...])
      let count = retrying {
        unsafe pread(descriptor, rest.baseAddress, rest.count, off_t(offset + Int64(done)))
      }
      if count < 0 { return (done, errno) }
      if count == 0 { break }
      done += count
    }
    return (done, nil)
  }

  /// Reads `count` bytes from `offset` on, or fewer if the file ends earlier.
  ///
  /// - Returns: The bytes read, and the `errno` of the call that ended the reading early; nil if no call failed.
  package static func read(
    _ descriptor: Int32, at offset: Int64, count: Int
  ) -> (bytes: [UInt8], error: Int32?) {
    var error: Int32?
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      (filled, error) = unsafe read(
        descriptor, at: offset, into: UnsafeMutableRawBufferPointer(buffer))
    }
    return (bytes, error)
  }

  /// Writes all of `bytes` at the descriptor's position.
  package static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Int32? {
    var rest = bytes
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { raw in
        retrying { unsafe CLibrary.write(descriptor, raw.baseAddress, raw.count) }
      }
      guard count > 0 else { return count < 0 ? errno : ENOSPC }
      rest = rest.dropFirst(count)
    }
    return nil
  }

  /// Makes the content of an open file, or the entries of an open folder, durable. A volume that does not support this
  /// (`EINVAL`, `ENOTSUP`) counts as success, because nothing more can be done.
  package static func synchronize(_ descriptor: Int32) -> Int32? {
    #if canImport(Darwin)
      // fsync leaves bytes in the drive's cache. Not every volume supports F_FULLFSYNC.
      if retrying({ fcntl(descriptor, F_FULLFSYNC) }) >= 0 { return nil }
    #endif
    guard retrying({ fsync(descriptor) }) != 0 else { return nil }
    return errno == EINVAL || errno == ENOTSUP ? nil : errno
  }

  /// Renames `from` in the open folder `source` to `to` in the open folder `target`. Fails if the new name is taken.
  package static func rename(
    _ from: String, in source: Int32, to: String, in target: Int32
  ) -> Int32? {
    #if canImport(Darwin)
      let result = retrying {
        unsafe renameatx_np(source, from, target, to, UInt32(RENAME_EXCL))
      }
    #else
      let result = retrying { unsafe lifeboat_rename_exclusively(source, from, target, to) }
    #endif
    guard result != 0 else { return nil }
    let code = errno
    // The volume does not support the call.
    guard [ENOSYS, EINVAL, ENOTSUP, EOPNOTSUPP].contains(code) else { return code }
    return renameByLink(from, in: source, to: to, in: target)
  }

  /// Does the work of ``rename(_:in:to:in:)`` on a volume that has no exclusive rename. The file first gets the new
  /// name as a hard link, and then loses the old name. If hard links are not possible, as for a folder, the function
  /// checks that the new name is free and then renames.
  ///
  /// `between` is for tests: it is called between the link and the removal of the old name.
  static func renameByLink(
    _ from: String, in source: Int32, to: String, in target: Int32, between: (() -> Void)? = nil
  ) -> Int32? {
    if unsafe linkat(source, from, target, to, 0) == 0 {
      guard let made = FileStatus.found(to, in: target) else { return errno }
      between?()
      let end = SafeRemoval.remove(from, in: source, of: made)
      // The file has its new name. If the old name exists now, it belongs to another file.
      if case .failed(let code) = end { return code }
      return nil
    }
    let code = errno
    guard [EPERM, ENOSYS, ENOTSUP, EOPNOTSUPP, EMLINK].contains(code) else { return code }
    if FileStatus.found(to, in: target) != nil { return EEXIST }
    guard errno == ENOENT else { return errno }
    return unsafe renameat(source, from, target, to) == 0 ? nil : errno
  }
}
