import CLibrary
import SafeFiles
import SafeText

/// An archive that is being written. Until the archive is complete, it has a private name in the folder of its final
/// path.
final class NewArchive {
  private let path: String
  private let folder: Int32
  private let name: String
  private let descriptor: Int32

  init(at path: String) throws {
    self.path = path
    folder = SystemCalls.openFolder(following: PathText.folder(of: path))
    guard folder >= 0 else {
      throw StoreReturnError(.cannotCreate, "the folder cannot be opened", path: path, errno: errno)
    }
    name = ".lifeboat-return-" + String(UInt64.random(in: 1 << 60 ... .max), radix: 16)
    descriptor = SystemCalls.create(name, in: folder)
    guard descriptor >= 0 else {
      // All properties are initialized, so `deinit` runs and closes the folder.
      throw StoreReturnError(.cannotCreate, "the file cannot be made", path: path, errno: errno)
    }
  }

  deinit {
    close(descriptor)
    close(folder)
  }

  func write(_ bytes: [UInt8]) throws {
    if let code = SystemCalls.write(bytes[...], to: descriptor) { throw failure(code) }
  }

  /// Syncs the archive and renames it to its final name. Throws when a file with this name already exists.
  func publish() throws {
    if let code = SystemCalls.synchronize(descriptor) { throw failure(code) }
    if let code = SystemCalls.rename(
      name, in: folder, to: PathText.lastComponent(of: path), in: folder)
    {
      throw code == EEXIST
        ? StoreReturnError(
          .cannotCreate, "a file with that name already exists", path: path, errno: code)
        : failure(code)
    }
    _ = SystemCalls.synchronize(folder)
  }

  /// Deletes the unfinished archive. If another file now has the archive's temporary name, that file is kept.
  func discard() {
    guard let made = FileStatus.found(descriptor) else { return }
    SafeRemoval.remove(name, in: folder, of: made)
  }

  private func failure(_ code: Int32) -> StoreReturnError {
    StoreReturnError(.cannotCreate, "the archive cannot be written", path: path, errno: code)
  }
}
