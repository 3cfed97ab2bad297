import CLibrary
import StoreFiles
package import SafeFiles
import SafeText

/// An open folder. Names refer to entries of this folder, even if the path leads to another folder later.
package final class OpenFolder: Sendable {
  /// The path by which the folder was opened, for messages.
  let path: String
  package let descriptor: Int32

  /// Opens the folder at a path that the user chose. The path may contain symbolic links.
  package convenience init(_ path: String) throws(SystemCallError) {
    let descriptor = try SystemCalls.opened(SystemCalls.openFolder(following: path), path)
    self.init(descriptor: descriptor, path: path)
  }

  private init(descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit { close(descriptor) }

  /// Opens the subfolder with this name; a symbolic link is refused.
  func folder(_ name: some StringProtocol) throws(SystemCallError) -> OpenFolder {
    try folder(named: Array(name.utf8))
  }

  /// Opens the subfolder whose name has these bytes, which need not be UTF-8; a symbolic link is refused.
  func folder(named name: [UInt8]) throws(SystemCallError) -> OpenFolder {
    let path = path(of: name)
    let descriptor = try entry(named: name, O_RDONLY | O_DIRECTORY)
    return OpenFolder(descriptor: descriptor, path: path)
  }

  /// Opens the file with this name in the folder for reading and returns its descriptor, which the caller closes. A
  /// symbolic link is refused, and a pipe does not block.
  func file(_ name: String) throws(SystemCallError) -> Int32 { try file(named: Array(name.utf8)) }

  /// Opens the file whose name has these bytes; otherwise like ``file(_:)``.
  func file(named name: [UInt8]) throws(SystemCallError) -> Int32 {
    try entry(named: name, O_RDONLY)
  }

  private func entry(named name: [UInt8], _ flags: Int32) throws(SystemCallError) -> Int32 {
    let opened = SystemCalls.open(bytes: name, in: descriptor, flags | O_NOFOLLOW | O_NONBLOCK)
    guard opened >= 0 else {
      throw SystemCallError(call: "openat", path: path(of: name), errno: errno)
    }
    return opened
  }

  /// Returns the status of the entry with this name; nil when it does not exist or cannot be examined. A symbolic
  /// link is not followed.
  func status(of name: String) -> FileStatus? { FileStatus.found(name, in: descriptor) }

  /// Returns the status of the entry whose name has these bytes; nil when it does not exist. A symbolic link is not
  /// followed.
  func status(named name: [UInt8]) throws(SystemCallError) -> FileStatus? {
    try FileStatus.of(bytes: name, in: descriptor, path: path(of: name))
  }

  /// Removes the file or empty folder `name`. Does nothing if the name now refers to something else than `thing`.
  func remove(_ name: String, of thing: FileStatus) {
    if thing.kind != .folder {
      SafeRemoval.remove(name, in: descriptor, of: thing)
    } else if status(of: name)?.isSameFile(as: thing) == true {
      unsafe _ = unlinkat(descriptor, name, AT_REMOVEDIR)
    }
  }

  /// Returns at most `limit` names of entries in the folder, as bytes, and whether the folder has more entries. The
  /// names are not sorted; "." and ".." are left out.
  func names(limit: Int) throws(SystemCallError) -> (names: [[UInt8]], isCut: Bool) {
    let copy = try entry(named: [UInt8(ascii: ".")], O_RDONLY | O_DIRECTORY)
    var names: [[UInt8]] = []
    var isCut = false
    try FolderEntries.forEachName(descriptor: copy, path: path) { name in
      isCut = names.count == limit
      if !isCut { names.append(name) }
      return !isCut
    }
    return (names, isCut)
  }

  package func synchronize() throws(SystemCallError) {
    try SystemCallError.check("fsync", path, SystemCalls.synchronize(descriptor))
  }

  private func path(of name: [UInt8]) -> String {
    PathText.joined(path, String(decoding: name, as: UTF8.self))
  }
}

enum FileBytes {
  /// Returns up to `count` bytes from `offset` on; fewer at the end of the file.
  static func read(
    _ descriptor: Int32, _ path: String, at offset: Int64, _ count: Int
  ) throws(SystemCallError) -> [UInt8] {
    let (bytes, error) = SystemCalls.read(descriptor, at: offset, count: count)
    if let error { throw SystemCallError(call: "read", path: path, errno: error) }
    return bytes
  }
}
