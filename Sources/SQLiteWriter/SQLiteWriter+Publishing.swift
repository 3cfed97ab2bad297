import CLibrary
import SafeFiles
import SafeText

extension SQLiteWriter {
  /// Closes the database, syncs it to the storage medium, and gives the file its final name. Nothing may exist at that
  /// name, nor at that name with one of SQLite's suffixes.
  ///
  /// - Parameter path: the final path. Only the last component is used: the file remains in the folder in which it was
  ///   created.
  /// - Throws: what ``close()`` throws; `exists` when the name is taken; `replaced`, `cannotCreate`, `inputOutput`.
  ///   After an error the file either has its first name or has been removed.
  package func publish(as path: String) throws(SQLiteWriterError) {
    if isOpen { try complete() }
    try file.link(as: path)
  }

  /// Closes the database and syncs the file to the storage medium, so that ``publish(as:)`` only needs to give the file
  /// its name.
  ///
  /// - Throws: what ``close()`` throws; `inputOutput` or `replaced` when the file cannot be synced.
  package func complete() throws(SQLiteWriterError) {
    try close()
    try file.synchronize()
  }

  /// Returns a path in the folder of `path`, with a random name that begins with a dot. A new file can be written at
  /// this path until ``publish(as:)`` gives the finished file the name of `path`.
  package static func privatePath(for path: String) -> String {
    let name = privateName(for: path)
    return PathText.lastComponent(of: path).utf8.count == path.utf8.count
      ? name : PathText.joined(PathText.folder(of: path), name)
  }

  /// Returns a random file name: a dot, the beginning of the last component of `path`, a dot and a random number.
  package static func privateName(for path: String) -> String {
    let last = PathText.lastComponent(of: path)
    // A file name can have at most 255 bytes, including the suffixes that SQLite appends to it.
    return ".\(String(decoding: last.utf8.prefix(200), as: UTF8.self))."
      + String(UInt32.random(in: .min ... .max), radix: 36)
  }

  /// Checks that a path is free. Throws `exists` when something exists at the path, or at this path with the suffix
  /// `-journal`, `-wal` or `-shm`.
  package static func checkFree(_ path: String) throws(SQLiteWriterError) {
    for suffix in [""] + NewFile.sidecarSuffixes where FileStatus.found(path + suffix) != nil {
      throw taken(path, suffix)
    }
  }

  static func taken(_ path: String, _ suffix: String) -> SQLiteWriterError {
    SQLiteWriterError(
      .exists,
      suffix.isEmpty
        ? "this path already exists; choose another name"
        : "a file with this name and the suffix \(suffix) is in the way; choose another name or set that file aside",
      path: path)
  }
}

extension NewFile {
  func synchronize() throws(SQLiteWriterError) {
    let (descriptor, _) = try opened(O_RDONLY)
    defer { _ = close(descriptor) }
    if let code = SystemCalls.synchronize(descriptor) {
      throw SQLiteWriterError(
        .inputOutput, "the new file cannot be synced to the disk", path: path, systemError: code)
    }
  }
}
