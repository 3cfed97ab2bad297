import CLibrary

/// Calls of the system on plain paths. Foundation has its own idea of some of them.
enum Posix {
  @discardableResult
  static func mkdir(_ path: String, _ mode: UInt32) -> Int32 {
    unsafe CLibrary.mkdir(path, mode_t(mode))
  }

  static func rename(_ from: String, _ to: String) -> Int32 {
    unsafe renameat(AT_FDCWD, from, AT_FDCWD, to)
  }

  static func symlink(_ target: String, _ path: String) -> Int32 {
    unsafe symlinkat(target, AT_FDCWD, path)
  }

  static func link(_ from: String, _ to: String) -> Int32 {
    unsafe linkat(AT_FDCWD, from, AT_FDCWD, to, 0)
  }

  static func unlink(_ path: String) { unsafe _ = unlinkat(AT_FDCWD, path, 0) }

  @discardableResult
  static func chmod(_ path: String, _ mode: UInt32) -> Int32 {
    unsafe fchmodat(AT_FDCWD, path, mode_t(mode), 0)
  }

  static func mkfifo(_ path: String) -> Int32 { unsafe mkfifoat(AT_FDCWD, path, 0o600) }

  /// Notes an extended attribute; false where the volume keeps no such attributes.
  static func setAttribute(_ path: String, _ name: String, _ value: String) -> Bool {
    let bytes = Array(value.utf8)
    #if canImport(Darwin)
      return unsafe setxattr(path, name, bytes, bytes.count, 0, 0) == 0
    #else
      return unsafe setxattr(path, name, bytes, bytes.count, 0) == 0
    #endif
  }

  /// Makes an empty file whose name is bytes that may be no text.
  static func makeFile(_ path: [UInt8]) -> Bool {
    let name = path.map { CChar(bitPattern: $0) } + [0]
    let descriptor = unsafe openat(AT_FDCWD, name, O_CREAT | O_WRONLY, mode_t(0o600))
    if descriptor >= 0 { close(descriptor) }
    return descriptor >= 0
  }

  /// What names `path`, or what it leads to.
  static func status(_ path: String, following: Bool = false) -> stat {
    var raw = stat()
    unsafe _ = fstatat(AT_FDCWD, path, &raw, following ? 0 : AT_SYMLINK_NOFOLLOW)
    return raw
  }
}
