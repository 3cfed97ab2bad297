import CLibrary
import SafeText

/// A folder that stays open, so that what is read below it is read there, whatever its path leads to by then.
final class SourceFolder: Sendable {
  let path: String
  private let descriptor: Int32

  /// Opens the folder; the way to it may lead over links.
  init(_ path: String) throws(BundleError) {
    try SystemPath.check(path)
    self.path = path
    descriptor = SystemPath.retrying { unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard descriptor >= 0 else { throw SystemPath.openError(errno, path: path) }
  }

  deinit {
    if descriptor >= 0 { _ = close(descriptor) }
  }

  /// Opens the regular file that is called `name` below the folder. No part of the name is followed when it is a
  /// link, and none may lead up.
  func file(_ name: String) throws(BundleError) -> InputFile {
    let parts = PathText.components(of: name)
    let whole = PathText.joined(path, name)
    guard let last = parts.last, parts.allSatisfy({ PathText.isPlainName($0) }) else {
      throw BundleError(.inputMissing, "the name does not stand below its folder", path: whole)
    }
    var folder = descriptor
    defer { if folder != descriptor { _ = close(folder) } }
    for part in parts.dropLast() {
      let parent = folder
      let next = SystemPath.retrying {
        unsafe openat(parent, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      }
      guard next >= 0 else {
        // Some systems call a link in the place of a folder no folder.
        let error = errno == ENOTDIR ? ELOOP : errno
        throw SystemPath.openError(error, path: whole)
      }
      if parent != descriptor { _ = close(parent) }
      folder = next
    }
    return try InputFile(name: last, in: folder, path: whole)
  }
}
