import CLibrary
internal import Crypto
internal import Foundation
import SafeFiles
import SafeText

/// A new file that gets its final name only when the file is complete. It never replaces another file.
///
/// The bytes go to a temporary file in the same folder, created exclusively with mode 0600. `commit` syncs the file,
/// gives it the final name with a hard link, and syncs the folder. Before that, no file has the final name. If the
/// object is deallocated before `commit`, the temporary file is removed.
final class ExclusiveOutput {
  let path: String
  let temporaryPath: String
  /// A descriptor of the output's folder. The folder stays open, so that the output stays in this folder even if the
  /// folder's path leads to another folder later.
  private let folder: Int32
  private let name: String
  private let temporaryName: String
  private let calls: OutputCalls
  /// The descriptor of the open file; -1 after the file was closed.
  private(set) var descriptor: Int32
  /// The number of bytes appended so far. The next `append` writes at this offset.
  private(set) var size: UInt64 = 0
  private let isUnnamed: Bool
  /// Whether ``discard()`` must remove the temporary name. False if the file has its final name, was discarded already,
  /// or has no name at all.
  private var hasTemporaryName = true
  /// The status of the temporary file when it was created. It identifies the file, so that the temporary name is
  /// removed only if it still belongs to this file.
  private var identity: FileStatus?

  /// Creates the temporary file for the output. `making` is called with the path of the file, and with a closure that
  /// creates the file and returns whether it exists. A caller that stores the path can remove the file later if this
  /// process is killed.
  ///
  /// If `isUnnamed` is true, the file loses its name at once. Only this object can then use the file, and the system
  /// deletes it when the process ends. Such a file cannot be committed.
  init(
    path: String, isUnnamed: Bool = false, calls: OutputCalls,
    making: (String, () -> Bool) -> Void
  ) throws(BundleError) {
    self.path = path
    self.isUnnamed = isUnnamed
    self.calls = calls
    try SystemPath.check(path)
    name = PathText.lastComponent(of: path)
    guard PathText.isPlainName(name) else {
      throw BundleError(.cannotCreate, "the output path names a folder", path: path)
    }
    let folderPath = PathText.folder(of: path)
    let folder = Self.openFolder(folderPath)
    self.folder = folder
    guard folder >= 0 else { throw Self.creationError(errno, path) }
    if FileStatus.found(name, in: folder) != nil {
      _ = close(folder)
      throw BundleError(.outputExists, "the output already exists", path: path)
    }
    var temporary = ""
    var opened: Int32 = -1
    var error: Int32 = 0
    var hasTemporaryName = true
    // Names with sixteen random hexadecimal digits are never equal by chance. The retries are for cloned virtual
    // machines, which may get the same random numbers.
    for _ in 0..<4 {
      let random = String(UInt64.random(in: .min ... .max), radix: 16)
      temporary = ".lifeboat-" + random + ".partial"
      making(PathText.joined(folderPath, temporary)) {
        opened = SystemCalls.retrying { calls.create(folder, temporary) }
        error = errno
        guard opened >= 0, isUnnamed else { return opened >= 0 }
        hasTemporaryName = unsafe unlinkat(folder, temporary, 0) != 0
        return hasTemporaryName
      }
      if opened >= 0 || error != EEXIST { break }
    }
    guard opened >= 0 else {
      _ = close(folder)
      throw Self.creationError(error, path)
    }
    temporaryName = temporary
    temporaryPath = PathText.joined(folderPath, temporary)
    descriptor = opened
    self.hasTemporaryName = hasTemporaryName
    do { identity = try FileStatus.of(descriptor: opened, path: path) } catch {
      throw SystemPath.error(
        .cannotCreate, "the output cannot be examined", error.errno, path: path)
    }
  }

  /// Makes a file without a name in the system's temporary folder. Errors show a path that ends with `what`.
  convenience init(unnamed what: String) throws(BundleError) {
    let place = FileManager.default.temporaryDirectory.path
    let name = "lifeboat-" + String(UInt64.random(in: 1 << 60 ... .max), radix: 16) + "-" + what
    try self.init(
      path: PathText.joined(place, name), isUnnamed: true, calls: OutputCalls(),
      making: { _ = $1() })
  }

  private static func openFolder(_ path: String) -> Int32 {
    let opened = SystemCalls.openFolder(following: path)
    #if os(Linux)
      // A folder without read permission is opened with O_PATH (0x200000), a constant that Swift does not import.
      if opened < 0, errno == EACCES { return SystemCalls.open(path, 0x20_0000 | O_DIRECTORY) }
    #endif
    return opened
  }

  private static func creationError(_ error: Int32, _ path: String) -> BundleError {
    SystemPath.error(
      error == EACCES || error == EPERM ? .permissionDenied : .cannotCreate,
      "the output cannot be created in its folder", error, path: path)
  }

  deinit {
    discard()
    _ = close(folder)
  }

  // MARK: - Bytes

  func append(_ bytes: ArraySlice<UInt8>) throws(BundleError) {
    try write(bytes, at: size)
    size += UInt64(bytes.count)
  }

  func overwrite(_ bytes: [UInt8], at offset: UInt64) throws(BundleError) {
    try write(bytes[...], at: offset)
  }

  private func write(_ bytes: ArraySlice<UInt8>, at offset: UInt64) throws(BundleError) {
    guard descriptor >= 0 else {
      throw BundleError(.misuse, "the output was closed before this write", path: path)
    }
    var done = 0
    while done < bytes.count {
      guard let position = off_t(exactly: offset &+ UInt64(done)) else {
        throw BundleError(
          .writeFailed, "the output is larger than this system allows a file to be", path: path)
      }
      let rest = bytes.dropFirst(done)
      let written = unsafe rest.withUnsafeBytes { raw in
        SystemCalls.retrying { unsafe calls.write(descriptor, raw, position) }
      }
      guard written > 0 else {
        throw SystemPath.error(
          .writeFailed, "the output cannot be written", written < 0 ? errno : ENOSPC, path: path,
          offset: offset &+ UInt64(done))
      }
      done += written
    }
  }

  /// Opens the file to read back what was written so far. Errors contain `path`; if `path` is nil, they contain the
  /// path of the output.
  func input(named path: String? = nil) throws(BundleError) -> InputFile {
    guard descriptor >= 0 else {
      throw BundleError(.misuse, "the output was closed before it was read back", path: self.path)
    }
    return try InputFile(descriptor: descriptor, path: path ?? self.path)
  }

  /// Reads back everything that was written so far, and returns its SHA-256 as hexadecimal text.
  func digest() throws(BundleError) -> String {
    var hash = SHA256()
    try input().forEachPiece { hash.update(data: $0) }
    return hash.finalize().hex
  }

  // MARK: - End

  /// Syncs the file to the disk and gives the file its final name. Returns the temporary path if the temporary name
  /// could not be removed, otherwise nil. A remaining temporary name is a second hard link to the complete file, and
  /// can be deleted.
  func commit() throws(BundleError) -> String? {
    guard descriptor >= 0, !isUnnamed else {
      throw BundleError(.misuse, "the output was closed before it was complete", path: path)
    }
    guard SystemCalls.retrying({ calls.sync(descriptor) }) == 0 else {
      throw SystemPath.error(.writeFailed, "the output cannot be synced", errno, path: path)
    }
    let isLinked = try giveName()
    hasTemporaryName = false
    closeOutput()
    let leftover = isLinked && !removeTemporaryName()
    try syncFolder()
    return leftover ? temporaryPath : nil
  }

  /// Removes the unfinished file. Does nothing after `commit`.
  func discard() {
    closeOutput()
    if hasTemporaryName {
      hasTemporaryName = false
      _ = removeTemporaryName()
    }
  }

  /// Removes the temporary name if the name still belongs to the file that this object made. Returns false if the name
  /// could not be removed.
  private func removeTemporaryName() -> Bool {
    let end = calls.remove(folder, temporaryName) { name in
      identity.map { FileStatus.found(name, in: folder)?.isSameFile(as: $0) == true } == true
    }
    if case .failed = end { return false }
    return true
  }

  private func closeOutput() {
    guard descriptor >= 0 else { return }
    _ = close(descriptor)
    descriptor = -1
  }

  /// Gives the file its final name. Returns true if the file was linked, so that its temporary name still exists; false
  /// if the file was renamed.
  private func giveName() throws(BundleError) -> Bool {
    if SystemCalls.retrying({ calls.link(folder, temporaryName, name) }) == 0 { return true }
    let error = errno
    guard [EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS, EMLINK, EACCES].contains(error) else {
      throw namingError(error)
    }
    // The volume does not support hard links, as FAT and some network shares do not. So the file is renamed.
    guard SystemCalls.retrying({ calls.rename(folder, temporaryName, name) }) == 0 else {
      throw namingError(errno)
    }
    return false
  }

  private func namingError(_ error: Int32) -> BundleError {
    error == EEXIST
      ? BundleError(
        .outputExists,
        "another program made a file of the same name while the output was written; nothing was "
          + "replaced",
        path: path,
        systemError: error)
      : SystemPath.error(
        .writeFailed, "the output cannot be given its final name", error, path: path)
  }

  private func syncFolder() throws(BundleError) {
    let result = SystemCalls.retrying { calls.sync(folder) }
    let error = errno
    // EBADF means that the folder was opened without read access, so it cannot be synced.
    guard result == 0 || error == EBADF else {
      throw SystemPath.error(
        .writeFailed, "the output is complete but its folder cannot be synced", error, path: path)
    }
  }
}
