#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

extension SQLiteWriter {
  /// Closes the database, makes all of it durable and gives it its name, which nothing must have yet.
  ///
  /// - Parameter path: the name, in the folder of ``path``.
  /// - Throws: what ``close()`` throws; `exists` when something has the name, `cannotCreate`, `inputOutput`.
  ///   The file is still under its first name then.
  public func publish(as path: String) throws(SQLiteWriterError) {
    try close()
    try file.synchronize()
    try file.link(as: path)
  }

  /// Whether anything is at a path or beside it that would be in the way of a database of that name.
  ///
  /// - Throws: `exists`.
  public static func checkFree(_ path: String) throws(SQLiteWriterError) {
    for suffix in [""] + NewFile.sidecarSuffixes {
      var state = stat()
      guard unsafe lstat(path + suffix, &state) == 0 else { continue }
      throw SQLiteWriterError(
        .exists,
        suffix.isEmpty
          ? "already exists; choose another name"
          : "a \(suffix) file of that name is in the way; choose another name or set it aside",
        path: path)
    }
  }
}

extension NewFile {
  /// Makes the content durable.
  func synchronize() throws(SQLiteWriterError) {
    let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw SQLiteWriterError(
        .inputOutput, "the new file cannot be opened", path: path, systemError: errno)
    }
    defer { _ = close(descriptor) }
    #if canImport(Darwin)
      // fsync on Apple platforms does not reach the medium.
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
    #endif
    guard fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP else {
      throw SQLiteWriterError(
        .inputOutput, "the new file cannot be synced", path: path, systemError: errno)
    }
  }

  /// Gives the file another name, and takes its own away.
  func link(as target: String) throws(SQLiteWriterError) {
    try SQLiteWriter.checkFree(target)
    guard isInPlace else {
      throw SQLiteWriterError(
        .replaced, "another file has taken the place of the new one", path: path)
    }
    // A link never replaces anything; where the volume has none, a rename after a look is what there is.
    if Self.makeLink(path, target) == 0 {
      _ = unsafe unlink(path)
    } else if errno == EEXIST {
      throw SQLiteWriterError(
        .exists, "already exists; choose another name", path: target, systemError: EEXIST)
    } else if unsafe rename(path, target) != 0 {
      throw SQLiteWriterError(
        .cannotCreate, "the finished file cannot be given its name", path: target,
        systemError: errno)
    }
    if let error = synchronizeFolder() {
      throw SQLiteWriterError(
        .inputOutput, "the folder cannot be synced", path: target, systemError: error)
    }
  }

  private static func makeLink(_ from: String, _ to: String) -> Int32 {
    #if canImport(Darwin)
      unsafe Darwin.link(from, to)
    #elseif canImport(Musl)
      unsafe Musl.link(from, to)
    #else
      unsafe Glibc.link(from, to)
    #endif
  }
}
