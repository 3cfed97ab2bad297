import CLibrary

/// System calls that succeed only when all of their work is done. Most return nil when they succeed, else `errno`.
/// Calls that open return a descriptor, which the caller closes, or -1 with `errno` set.
package enum SystemCalls {
  /// Repeats `call` while a signal interrupts it, and returns the last result.
  package static func retrying<Number: SignedInteger>(_ call: () -> Number) -> Number {
    while true {
      let result = call()
      if result >= 0 || errno != EINTR { return result }
    }
  }

  /// Opens a name in an open folder, or a path. Programs that this process starts do not inherit the descriptor.
  package static func open(
    _ name: String, in folder: Int32 = AT_FDCWD, _ flags: Int32, mode: UInt32 = 0o600
  ) -> Int32 {
    retrying { unsafe openat(folder, name, flags | O_CLOEXEC, mode_t(truncatingIfNeeded: mode)) }
  }

  /// Like ``open(_:in:_:mode:)``, for a name whose bytes may not be UTF-8.
  package static func open(bytes name: [UInt8], in folder: Int32, _ flags: Int32) -> Int32 {
    retrying { unsafe withCString(name) { unsafe openat(folder, $0, flags | O_CLOEXEC) } }
  }

  /// Calls `body` with a pointer to `bytes` and a zero byte after them.
  package static func withCString<Result>(
    _ bytes: [UInt8], _ body: (UnsafePointer<CChar>) -> Result
  ) -> Result {
    unsafe (bytes.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { buffer in
      // The array holds at least the zero byte.
      guard let start = buffer.baseAddress else { return unsafe body("") }
      return unsafe body(start)
    }
  }

  /// Opens a name for reading. A symbolic link is refused, and a pipe does not block.
  package static func openForReading(_ name: String, in folder: Int32 = AT_FDCWD) -> Int32 {
    open(name, in: folder, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  }

  /// Opens the folder at `path`, which may lead through links.
  package static func openFolder(following path: String) -> Int32 {
    open(path, O_RDONLY | O_DIRECTORY)
  }

  /// Opens the folder with this name in an open folder. A link is refused.
  package static func openFolder(_ name: String, in folder: Int32) -> Int32 {
    open(name, in: folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  }

  /// Creates a file and opens it. With the default `mode` only this user may read the file. The name must be free.
  package static func create(
    _ name: String, in folder: Int32 = AT_FDCWD, _ access: Int32 = O_WRONLY, mode: UInt32 = 0o600
  ) -> Int32 {
    open(name, in: folder, access | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode)
  }

  /// Fills `bytes` with the content of a file at `offset`, up to the end of the file.
  ///
  /// - Returns: the number of bytes read, and the `errno` of the call that failed after them; nil when none failed.
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

  /// `count` bytes of a file at `offset`; fewer at the end of the file.
  ///
  /// - Returns: the bytes read, and the `errno` of the call that failed after them; nil when none failed.
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

  /// Makes the content of an open file, or the entries of an open folder, durable. A volume that cannot do this
  /// (`EINVAL`, `ENOTSUP`) counts as a success, because nothing more can be done.
  package static func synchronize(_ descriptor: Int32) -> Int32? {
    #if canImport(Darwin)
      // fsync leaves bytes in the drive's cache. Not every volume supports F_FULLFSYNC.
      if retrying({ fcntl(descriptor, F_FULLFSYNC) }) >= 0 { return nil }
    #endif
    guard retrying({ fsync(descriptor) }) != 0 else { return nil }
    return errno == EINVAL || errno == ENOTSUP ? nil : errno
  }

  /// Renames `from` in the open folder `source` to `to` in the open folder `target`. The new name must be free.
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

  /// Renames like ``rename(_:in:to:in:)`` on a volume that does not support that call. A hard link fails if the new
  /// name is taken. For a folder, or without hard links, the new name is only checked before the rename.
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
