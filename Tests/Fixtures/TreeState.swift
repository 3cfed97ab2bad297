import CLibrary
import Crypto
public import Foundation

/// The state of one file, folder or link, without following links.
public struct TreeEntry: Hashable, Sendable {
  /// The size in bytes; 0 for a folder, because the size of a folder has no meaning here.
  public let size: Int
  /// The SHA-256 of the content of a file or of the target of a link, in lower-case hexadecimal. Empty for any other
  /// kind of entry. `unreadable` when the file could not be read.
  public let sha256: String
  /// The time of the last modification, in nanoseconds since 1970.
  public let modified: Int64
  /// The inode number.
  public let inode: UInt64
  /// The type and permission bits.
  public let mode: UInt32
}

/// The states of a folder (as `.`) and of everything in it, including hidden files, keyed by relative path. If two
/// states are equal, nothing in the folder was changed in between.
///
/// Closing a file that was read drops all locks of this process on the file. So no SQLite connection of this process
/// should be in a transaction.
public func treeState(of folder: URL) -> [String: TreeEntry] {
  var result: [String: TreeEntry] = [".": entry(folder.path)].compactMapValues { $0 }
  guard let names = FileManager.default.enumerator(atPath: folder.path) else { return result }
  for case let name as String in names {
    result[name] = entry(folder.path + "/" + name)
  }
  return result
}

private func entry(_ path: String) -> TreeEntry? {
  var state = stat()
  guard unsafe lstat(path, &state) == 0 else { return nil }
  #if canImport(Darwin)
    let time = state.st_mtimespec
  #else
    let time = state.st_mtim
  #endif
  let kind = state.st_mode & S_IFMT
  let digest: String
  switch kind {
  case S_IFREG:
    digest =
      (try? Data(contentsOf: URL(fileURLWithPath: path), options: [])).map { hex(of: $0) }
      ?? "unreadable"
  case S_IFLNK:
    let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path)
    digest = hex(of: Data((target ?? "").utf8))
  default:
    digest = ""
  }
  return TreeEntry(
    size: kind == S_IFDIR ? 0 : Int(state.st_size), sha256: digest,
    modified: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec),
    inode: UInt64(state.st_ino), mode: UInt32(state.st_mode))
}

/// The SHA-256 of bytes, in lower-case hexadecimal.
public func hex(of data: Data) -> String {
  let digits = Array("0123456789abcdef")
  return SHA256.hash(data: data).map { "\(digits[Int($0 >> 4)])\(digits[Int($0 & 15)])" }.joined()
}
