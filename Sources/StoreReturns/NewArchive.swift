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

  /// Creates the file under its private name. `making` is called with the private path, and with a closure that creates
  /// the file and returns whether it exists. So a caller that stores the path can remove the file if the process is
  /// interrupted.
  init(at path: String, making: StoreReturn.Making) throws {
    self.path = path
    let folderPath = PathText.folder(of: path)
    let folder = SystemCalls.openFolder(following: folderPath)
    self.folder = folder
    guard folder >= 0 else {
      throw StoreReturnError(.cannotCreate, "the folder cannot be opened", path: path, errno: errno)
    }
    let name = ".lifeboat-return-" + String(UInt64.random(in: 1 << 60 ... .max), radix: 16)
    self.name = name
    var opened: Int32 = -1
    var code: Int32 = 0
    making(PathText.joined(folderPath, name)) {
      opened = SystemCalls.create(name, in: folder)
      code = errno
      return opened >= 0
    }
    descriptor = opened
    guard opened >= 0 else {
      // All properties are initialized, so `deinit` runs and closes the folder.
      throw StoreReturnError(.cannotCreate, "the file cannot be made", path: path, errno: code)
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
