import CLibrary
import SafeFiles

/// A regular file that is open for reading only. Each read has its own offset, so several threads can read the file at
/// the same time.
final class InputFile: Sendable {
  let path: String
  /// The size of the file in bytes at the time when it was opened.
  let size: UInt64
  private let descriptor: Int32

  // O_NONBLOCK prevents the opening of a pipe from blocking. The flag has no effect on regular files.
  private static let flags = O_RDONLY | O_NONBLOCK

  /// Opens `path`. If `followsLink` is false, a symbolic link at `path` is refused. Errors contain `shown`, or `path` if
  /// `shown` is nil.
  convenience init(
    path: String, followsLink: Bool, shown: String? = nil
  ) throws(BundleError) {
    try SystemPath.check(path)
    let flags = Self.flags | (followsLink ? 0 : O_NOFOLLOW)
    try self.init(path: shown ?? path) { SystemCalls.open(path, flags) }
  }

  /// Opens the file `name` in the folder with the descriptor `folder`. A symbolic link is refused. Errors contain
  /// `path`.
  convenience init(name: String, in folder: Int32, path: String) throws(BundleError) {
    try self.init(path: path) { SystemCalls.openForReading(name, in: folder) }
  }

  /// Duplicates an open descriptor. The caller still closes the original descriptor. Errors contain `path`.
  convenience init(descriptor: Int32, path: String) throws(BundleError) {
    try self.init(path: path) { fcntl(descriptor, F_DUPFD_CLOEXEC, 0) }
  }

  private init(path: String, opening: () -> Int32) throws(BundleError) {
    self.path = path
    let opened = SystemCalls.retrying(opening)
    if opened < 0 {
      throw SystemPath.openError(errno, path: path)
    }
    let status = FileStatus.found(opened)
    let error = errno
    guard let status, status.kind == .file, let size = UInt64(exactly: status.sizeBytes) else {
      _ = close(opened)
      if status == nil {
        throw SystemPath.error(.readFailed, "the file cannot be examined", error, path: path)
      }
      throw BundleError(.notAFile, "the path does not name a regular file", path: path)
    }
    descriptor = opened
    self.size = size
  }

  deinit {
    _ = close(descriptor)
  }

  /// Reads up to `count` bytes at `offset` into the start of `buffer`. Returns the number of bytes that were read,
  /// which is smaller than `count` only at the end of the file.
  func read(at offset: UInt64, into buffer: inout [UInt8], count: Int) throws(BundleError) -> Int {
    let wanted = min(count, buffer.count)
    guard let position = Int64(exactly: offset), position <= .max - Int64(wanted) else { return 0 }
    let (done, error) = unsafe buffer.withUnsafeMutableBytes { raw in
      unsafe SystemCalls.read(
        descriptor, at: position, into: UnsafeMutableRawBufferPointer(rebasing: raw[..<wanted]))
    }
    if let error {
      throw SystemPath.error(
        .readFailed, "the file cannot be read", error, path: path, offset: offset + UInt64(done))
    }
    return done
  }

  /// Returns exactly `count` bytes, starting at `offset`. Throws `bundle.truncated` if the file ends earlier.
  func bytes(at offset: UInt64, count: Int) throws(BundleError) -> [UInt8] {
    let available = size > offset ? size - offset : 0
    guard count >= 0, UInt64(count) <= available else {
      throw BundleError(
        .truncated,
        "\(count) bytes are expected at this offset, but the file has only \(available)",
        path: path,
        offset: offset)
    }
    var buffer = [UInt8](repeating: 0, count: count)
    let done = try read(at: offset, into: &buffer, count: count)
    guard done == count else {
      throw BundleError(
        .truncated, "the file became shorter while it was read", path: path,
        offset: offset &+ UInt64(done))
    }
    return buffer
  }

  /// Calls `body` with the bytes of the whole file, in pieces of at most 256 KiB.
  func forEachPiece(_ body: (ArraySlice<UInt8>) throws(BundleError) -> Void) throws(BundleError) {
    var buffer = [UInt8](repeating: 0, count: ZipFormat.window)
    var offset: UInt64 = 0
    while offset < size {
      let count = try read(at: offset, into: &buffer, count: buffer.count)
      guard count > 0 else {
        throw BundleError(
          .truncated, "the file became shorter while it was read", path: path, offset: offset)
      }
      try body(buffer[..<count])
      offset += UInt64(count)
    }
  }
}

/// Checks paths, and makes a `BundleError` from the `errno` of a failed system call.
enum SystemPath {
  /// Throws for an empty path, and for a path with a NUL byte, because system calls would cut off the path there.
  static func check(_ path: String) throws(BundleError) {
    if path.isEmpty { throw BundleError(.inputMissing, "the path is empty", path: path) }
    if path.utf8.contains(0) {
      throw BundleError(.inputMissing, "the path holds a NUL byte", path: path)
    }
  }

  static func openError(_ error: Int32, path: String) -> BundleError {
    switch error {
    case ENOENT, ENOTDIR:
      Self.error(.inputMissing, "there is no such file", error, path: path)
    case EACCES, EPERM:
      Self.error(
        .permissionDenied, "the current user has no permission to read the file", error, path: path)
    case ELOOP:
      Self.error(
        .notAFile, "the path names a symbolic link, which is not followed", error, path: path)
    // The errors for sockets and for devices without a driver: ENXIO on Linux, EOPNOTSUPP on Apple's systems.
    case ENXIO, EOPNOTSUPP:
      Self.error(
        .notAFile, "the path names a socket or a device, not a regular file", error, path: path)
    default:
      Self.error(.readFailed, "the file cannot be opened", error, path: path)
    }
  }

  static func error(
    _ code: BundleError.Code, _ what: String, _ error: Int32, path: String, offset: UInt64? = nil
  ) -> BundleError {
    BundleError(
      code, "\(what): \(SystemCallError.words(error))", path: path, offset: offset,
      systemError: error)
  }
}
