#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Reading and writing the file past SQLite.
extension NewFile {
  /// Opens the file once more to write to it. To be closed before SQLite takes a lock on the file again.
  func reopened(_ size: inout Int64) throws(SQLiteWriterError) -> Int32 {
    let descriptor = unsafe open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw SQLiteWriterError(
        .inputOutput, "the new file cannot be opened", path: path, systemError: errno)
    }
    var state = stat()
    guard unsafe fstat(descriptor, &state) == 0, isSame(as: state) else {
      _ = close(descriptor)
      throw SQLiteWriterError(
        .replaced, "another file has taken the place of the new one", path: path)
    }
    size = Int64(state.st_size)
    return descriptor
  }

  static func put(
    _ bytes: ContiguousArray<UInt8>, to descriptor: Int32, at offset: Int64, _ path: String
  ) throws(SQLiteWriterError) {
    var done = 0
    while done < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { bytes in
        unsafe pwrite(
          descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done,
          off_t(offset) + off_t(done))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        let isFull = count == 0 || errno == ENOSPC || errno == EDQUOT
        throw SQLiteWriterError(
          isFull ? .full : .inputOutput, "the new file cannot be written", path: path,
          systemError: count < 0 ? errno : nil)
      }
      done += count
    }
  }

  static func bytes(
    _ count: Int, of descriptor: Int32, at offset: Int64, _ path: String
  ) throws(SQLiteWriterError) -> ContiguousArray<UInt8> {
    var bytes = ContiguousArray<UInt8>(repeating: 0, count: count)
    var done = 0
    while done < count {
      let got = unsafe bytes.withUnsafeMutableBytes { bytes in
        unsafe pread(
          descriptor, bytes.baseAddress?.advanced(by: done), count - done,
          off_t(offset) + off_t(done))
      }
      if got < 0, errno == EINTR { continue }
      guard got > 0 else {
        throw SQLiteWriterError(
          .inputOutput, "the new file cannot be read back", path: path,
          systemError: got < 0 ? errno : nil)
      }
      done += got
    }
    return bytes
  }
}
