import CLibrary
import SafeFiles
import SafeText

/// A folder that stays open, so that files are read from this folder even if the folder's path leads to another folder
/// later.
final class SourceFolder: Sendable {
  let path: String
  private let descriptor: Int32

  /// Opens a folder. The path may contain symbolic links.
  init(_ path: String) throws(BundleError) {
    try SystemPath.check(path)
    self.path = path
    descriptor = SystemCalls.openFolder(following: path)
    guard descriptor >= 0 else { throw SystemPath.openError(errno, path: path) }
  }

  deinit {
    if descriptor >= 0 { _ = close(descriptor) }
  }

  /// Opens the regular file `name`, a path relative to the folder. No component of the path may be a symbolic link or
  /// `..`.
  func file(_ name: String) throws(BundleError) -> InputFile {
    let parts = PathText.components(of: name)
    let whole = PathText.joined(path, name)
    guard let last = parts.last, parts.allSatisfy({ PathText.isPlainName($0) }) else {
      throw BundleError(.inputMissing, "the name leads out of the folder", path: whole)
    }
    var folder = descriptor
    defer { if folder != descriptor { _ = close(folder) } }
    for part in parts.dropLast() {
      let parent = folder
      let next = SystemCalls.openFolder(part, in: parent)
      guard next >= 0 else {
        // If a link replaces the folder, some systems report ENOTDIR instead of ELOOP.
        let error = errno == ENOTDIR ? ELOOP : errno
        throw SystemPath.openError(error, path: whole)
      }
      if parent != descriptor { _ = close(parent) }
      folder = next
    }
    return try InputFile(name: last, in: folder, path: whole)
  }
}
