import CLibrary
import StoreFiles
package import SafeFiles
import SafeText

/// An open folder. Operations by name stay in it even if its path leads elsewhere meanwhile.
package final class OpenFolder: Sendable {
  /// The path that led to it, for messages.
  let path: String
  package let descriptor: Int32

  /// Opens the folder at a path that the user chose, which may lead through links.
  package convenience init(_ path: String) throws(SystemCallError) {
    let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw SystemCallError(call: "open", path: path, errno: errno)
    }
    self.init(descriptor: descriptor, path: path)
  }

  private init(descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit { close(descriptor) }

  /// Opens the folder with this name in this one; links are refused.
  func folder(_ name: some StringProtocol) throws(SystemCallError) -> OpenFolder {
    try folder(named: Array(name.utf8))
  }

  /// Opens the folder whose name has these bytes, which may not be UTF-8; links are refused.
  func folder(named name: [UInt8]) throws(SystemCallError) -> OpenFolder {
    let path = path(of: name)
    let descriptor = try entry(named: name, O_RDONLY | O_DIRECTORY)
    return OpenFolder(descriptor: descriptor, path: path)
  }

  /// Opens the file with this name in the folder for reading; the caller closes it. Links are refused, and a pipe does
  /// not block.
  func file(_ name: String) throws(SystemCallError) -> Int32 { try file(named: Array(name.utf8)) }

  /// Opens the file whose name has these bytes, like ``file(_:)``.
  func file(named name: [UInt8]) throws(SystemCallError) -> Int32 {
    try entry(named: name, O_RDONLY)
  }

  private func entry(named name: [UInt8], _ flags: Int32) throws(SystemCallError) -> Int32 {
    let opened = unsafe Self.withCString(name) {
      unsafe openat(descriptor, $0, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    }
    guard opened >= 0 else {
      throw SystemCallError(call: "openat", path: path(of: name), errno: errno)
    }
    return opened
  }

  /// The identity of the file with this name in the folder; nil when there is none, or when it cannot be examined. A
  /// link is not followed.
  func identity(of name: String) -> FileIdentity? { identity(named: Array(name.utf8)) }

  /// The identity of the file whose name has these bytes, like ``identity(of:)``.
  func identity(named name: [UInt8]) -> FileIdentity? { (try? examined(name)) ?? nil }

  /// The identity of the file whose name has these bytes; nil when there is none. A link is not followed.
  func examined(_ name: [UInt8]) throws(SystemCallError) -> FileIdentity? {
    var raw = stat()
    let code = unsafe Self.withCString(name) {
      unsafe fstatat(descriptor, $0, &raw, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno
    }
    if code == 0 { return FileIdentity(raw) }
    guard code == ENOENT || code == ENOTDIR else {
      throw SystemCallError(call: "fstatat", path: path(of: name), errno: code)
    }
    return nil
  }

  /// Removes a file, or an empty folder, as long as its name still belongs to `thing`.
  func remove(_ name: String, of thing: FileIdentity) {
    if thing.kind == .folder {
      if identity(of: name)?.isSame(as: thing) == true {
        unsafe _ = unlinkat(descriptor, name, AT_REMOVEDIR)
      }
    } else {
      _ = SafeRemoval.remove(name, in: descriptor) { identity(of: $0)?.isSame(as: thing) == true }
    }
  }

  /// The names in the folder as bytes, without "." and "..", unsorted, and whether there are more than `limit`.
  func names(limit: Int) throws(SystemCallError) -> (names: [[UInt8]], isCut: Bool) {
    let copy = try entry(named: [UInt8(ascii: ".")], O_RDONLY | O_DIRECTORY)
    guard let stream = unsafe fdopendir(copy) else {
      let code = errno
      close(copy)
      throw SystemCallError(call: "fdopendir", path: path, errno: code)
    }
    defer { unsafe _ = closedir(stream) }
    var names: [[UInt8]] = []
    while true {
      errno = 0
      guard let entry = unsafe readdir(stream) else {
        if errno != 0 { throw SystemCallError(call: "readdir", path: path, errno: errno) }
        return (names, false)
      }
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { field in
        unsafe field.withMemoryRebound(to: CChar.self, capacity: 1) { bytes in
          unsafe Array(UnsafeBufferPointer(start: bytes, count: strlen(bytes))).map {
            UInt8(bitPattern: $0)
          }
        }
      }
      if name == [0x2e] || name == [0x2e, 0x2e] { continue }
      guard names.count < limit else { return (names, true) }
      names.append(name)
    }
  }

  /// Makes the entries of the folder durable.
  package func synchronize() throws(SystemCallError) {
    // Some file systems cannot sync a folder and say so.
    guard fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP else {
      throw SystemCallError(call: "fsync", path: path, errno: errno)
    }
  }

  private func path(of name: [UInt8]) -> String {
    PathText.joined(path, String(decoding: name, as: UTF8.self))
  }

  private static func withCString<T>(_ name: [UInt8], _ body: (UnsafePointer<CChar>) -> T) -> T {
    let bytes = name.map { CChar(bitPattern: $0) } + [0]
    return unsafe bytes.withUnsafeBufferPointer { buffer in
      // The array holds at least the NUL.
      guard let start = buffer.baseAddress else { return unsafe body("") }
      return unsafe body(start)
    }
  }
}

/// Identifies a file, whatever its name.
struct FileIdentity: Sendable {
  /// The device and the inode.
  struct Key: Sendable, Hashable {
    let device: Int64
    let inode: UInt64
  }

  let key: Key
  let kind: StoreSet.Kind
  let sizeBytes: Int64

  init(_ raw: stat) {
    key = Key(device: Int64(truncatingIfNeeded: raw.st_dev), inode: UInt64(raw.st_ino))
    sizeBytes = Int64(raw.st_size)
    kind =
      switch raw.st_mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .folder
      case S_IFLNK: .symbolicLink
      default: .other
      }
  }

  init?(descriptor: Int32) {
    var raw = stat()
    guard unsafe fstat(descriptor, &raw) == 0 else { return nil }
    self.init(raw)
  }

  func isSame(as other: FileIdentity) -> Bool {
    key == other.key && kind == other.kind
  }
}

/// Reads through an open descriptor.
enum FileBytes {
  /// Up to `count` bytes from an offset; fewer at the end of the file.
  static func read(
    _ descriptor: Int32, _ path: String, at offset: Int64, _ count: Int
  ) throws(SystemCallError) -> [UInt8] {
    let (bytes, error) = SystemCalls.read(descriptor, at: offset, count: count)
    if let error { throw SystemCallError(call: "read", path: path, errno: error) }
    return bytes
  }
}
