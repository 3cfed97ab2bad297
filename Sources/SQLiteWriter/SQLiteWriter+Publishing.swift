import CLibrary
import SafeFiles
import SafeText

extension SQLiteWriter {
  /// Closes the database, makes it durable and gives the file its final name. Nothing may exist at that name or beside
  /// it with one of SQLite's suffixes.
  ///
  /// - Parameter path: the final path. Only its last component counts: the file stays in the folder of ``path``.
  /// - Throws: what ``close()`` throws; `exists` when the name is taken; `replaced`, `cannotCreate`, `inputOutput`. The
  ///   file then keeps its first name, or is removed.
  package func publish(as path: String) throws(SQLiteWriterError) {
    if isOpen { try complete() }
    try file.link(as: path)
  }

  /// Closes the database and makes the file durable, so that ``publish(as:)`` only has to give the file its name.
  ///
  /// - Throws: what ``close()`` throws; `inputOutput` or `replaced` when the file cannot be synced.
  package func complete() throws(SQLiteWriterError) {
    try close()
    try file.synchronize()
  }

  /// A path with a random name that begins with a dot, in the folder of `path`, for a file that gets the name `path`
  /// when it is finished (``publish(as:)``).
  package static func privatePath(for path: String) -> String {
    var random = SystemRandomNumberGenerator()
    let suffix = String(UInt32.random(in: .min ... .max, using: &random), radix: 36)
    let name = ".\(PathText.lastComponent(of: path)).\(suffix)"
    return PathText.lastComponent(of: path).utf8.count == path.utf8.count
      ? name : PathText.joined(PathText.folder(of: path), name)
  }

  /// Checks that nothing exists at a path or at the path with one of SQLite's suffixes `-journal`, `-wal` and `-shm`.
  ///
  /// - Throws: `exists` when one of these paths is taken.
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
  /// Syncs the content of the file to the storage medium.
  func synchronize() throws(SQLiteWriterError) {
    let (descriptor, _) = try opened(O_RDONLY)
    defer { _ = close(descriptor) }
    if let code = SystemCalls.synchronize(descriptor) {
      throw SQLiteWriterError(
        .inputOutput, "the new file cannot be synced", path: path, systemError: code)
    }
  }
}
