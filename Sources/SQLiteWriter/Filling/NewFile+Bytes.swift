import CLibrary
import SafeFiles

/// Reads and writes the bytes of a new file without SQLite.
extension NewFile {
  static func put(
    _ bytes: ContiguousArray<UInt8>, to descriptor: Int32, at offset: Int64, _ path: String
  ) throws(SQLiteWriterError) {
    try put(bytes, bytes.count, to: descriptor, at: offset, path)
  }

  /// Writes the first `count` bytes of `bytes` to the file with the given descriptor, from `offset` on. `path` is only
  /// used in errors.
  static func put(
    _ bytes: ContiguousArray<UInt8>, _ count: Int, to descriptor: Int32, at offset: Int64,
    _ path: String
  ) throws(SQLiteWriterError) {
    precondition(count <= bytes.count)
    var done = 0
    while done < count {
      let put = unsafe bytes.withUnsafeBytes { bytes in
        unsafe pwrite(
          descriptor, bytes.baseAddress?.advanced(by: done), count - done,
          off_t(offset) + off_t(done))
      }
      if put < 0, errno == EINTR { continue }
      guard put > 0 else {
        let isFull = put == 0 || errno == ENOSPC || errno == EDQUOT
        throw SQLiteWriterError(
          isFull ? .full : .inputOutput, "the new file cannot be written", path: path,
          systemError: put < 0 ? errno : nil)
      }
      done += put
    }
  }

  static func bytes(
    _ count: Int, of descriptor: Int32, at offset: Int64, _ path: String
  ) throws(SQLiteWriterError) -> ContiguousArray<UInt8> {
    var bytes = ContiguousArray<UInt8>(repeating: 0, count: count)
    try read(into: &bytes, 0..<count, of: descriptor, at: offset, path)
    return bytes
  }

  /// Fills `range` of `bytes` from the file with the given descriptor, from `offset` on. Throws if the file ends before
  /// the range is filled. `path` is only used in errors.
  static func read(
    into bytes: inout ContiguousArray<UInt8>, _ range: Range<Int>, of descriptor: Int32,
    at offset: Int64, _ path: String
  ) throws(SQLiteWriterError) {
    let (count, error) = unsafe bytes.withUnsafeMutableBytes { bytes in
      unsafe SystemCalls.read(
        descriptor, at: offset, into: UnsafeMutableRawBufferPointer(rebasing: bytes[range]))
    }
    guard count == range.count else {
      throw SQLiteWriterError(
        .inputOutput, "the new file cannot be read back", path: path, systemError: error)
    }
  }
}
