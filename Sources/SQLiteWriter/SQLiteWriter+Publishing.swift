import CLibrary
import SafeFiles
import SafeText

extension SQLiteWriter {
  /// Closes the database, makes it durable and gives it its final name, which must be free.
  ///
  /// - Parameter path: the final name, in the folder of ``path``.
  /// - Throws: what ``close()`` throws; `exists` when something already has the name, `cannotCreate`, `inputOutput`.
  ///   The file then keeps its first name, or is gone.
  package func publish(as path: String) throws(SQLiteWriterError) {
    if isOpen { try complete() }
    try file.link(as: path)
  }

  /// Closes the database and makes it durable, so that ``publish(as:)`` only has to give it its name.
  ///
  /// - Throws: what ``close()`` throws; `inputOutput`.
  package func complete() throws(SQLiteWriterError) {
    try close()
    try file.synchronize()
  }

  /// A path beside another one, with a random name, for a file that gets its final name when it is finished
  /// (``publish(as:)``).
  package static func privatePath(for path: String) -> String {
    var random = SystemRandomNumberGenerator()
    let suffix = String(UInt32.random(in: .min ... .max, using: &random), radix: 36)
    let name = ".\(PathText.lastComponent(of: path)).\(suffix)"
    return PathText.lastComponent(of: path).utf8.count == path.utf8.count
      ? name : PathText.joined(PathText.folder(of: path), name)
  }

  /// Checks that nothing exists at a path, nor beside it with one of SQLite's suffixes.
  ///
  /// - Throws: `exists`.
  package static func checkFree(_ path: String) throws(SQLiteWriterError) {
    for suffix in [""] + NewFile.sidecarSuffixes where FileStatus.found(path + suffix) != nil {
      throw taken(path, suffix)
    }
  }

  static func taken(_ path: String, _ suffix: String) -> SQLiteWriterError {
    SQLiteWriterError(
      .exists,
      suffix.isEmpty
        ? "already exists; choose another name"
        : "a \(suffix) file of that name is in the way; choose another name or set it aside",
      path: path)
  }
}

extension NewFile {
  /// Makes the content durable.
  func synchronize() throws(SQLiteWriterError) {
    let (descriptor, _) = try opened(O_RDONLY)
    defer { _ = close(descriptor) }
    if let code = SystemCalls.synchronize(descriptor) {
      throw SQLiteWriterError(
        .inputOutput, "the new file cannot be synced", path: path, systemError: code)
    }
  }
}
