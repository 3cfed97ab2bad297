import CLibrary
import SafeFiles

/// A file that is opened for reading only, because the file is evidence.
///
/// It is a class because it owns a file descriptor. The file is never mapped into memory, because a process that reads
/// a mapped file is killed when another process truncates the file.
package final class ByteFile: Sendable {
  package let path: String
  /// The size of the file in bytes when it was opened, at most 2^60.
  package let size: Int64
  private let descriptor: Int32

  /// Opens the regular file at `path`. A symbolic link is refused, so that only the named file is read.
  package init(_ path: String) throws(SQLiteFileError) {
    // O_NONBLOCK is set so that opening a pipe at this path does not block.
    let descriptor = SystemCalls.openForReading(path)
    guard descriptor >= 0 else {
      throw Self.failure(opening: path, errno)
    }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else {
      let number = errno
      close(descriptor)
      throw SQLiteFileError(.io, "the file cannot be examined", path: path, systemError: number)
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      let kind =
        switch status.st_mode & S_IFMT {
        case S_IFDIR: "a folder, not a file"
        case S_IFIFO: "a pipe, not an ordinary file"
        case S_IFSOCK: "a socket, not an ordinary file"
        case S_IFCHR, S_IFBLK: "a device, not an ordinary file"
        default: "not an ordinary file"
        }
      throw SQLiteFileError(.notRegular, kind, path: path)
    }
    self.path = path
    // No database is longer than 2^48 bytes, but a sparse file may have any size. The limit prevents overflow when
    // sizes are added.
    size = min(Int64(status.st_size), 1 << 60)
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  private static func failure(opening path: String, _ number: Int32) -> SQLiteFileError {
    switch number {
    // A name that is too long cannot be the name of any file.
    case ENOENT, ENOTDIR, ENAMETOOLONG:
      SQLiteFileError(.missing, "no such file", path: path, systemError: number)
    case ELOOP, EMLINK:
      SQLiteFileError(
        .notRegular, "a symbolic link, not the file that it leads to", path: path,
        systemError: number)
    // Opening a socket, or a device without a driver, fails with ENXIO on Linux and with EOPNOTSUPP on Apple's systems.
    case ENXIO, EOPNOTSUPP:
      SQLiteFileError(
        .notRegular, "a socket or a device, not an ordinary file", path: path, systemError: number)
    case EACCES, EPERM:
      SQLiteFileError(.permission, "permission denied", path: path, systemError: number)
    default:
      SQLiteFileError(.io, SystemCallError.words(number), path: path, systemError: number)
    }
  }

  /// Whether anything exists at `path`, including a symbolic link that leads nowhere.
  package static func exists(_ path: String) -> Bool { FileStatus.found(path) != nil }

  /// Whether the file begins with the magic string of a database. An empty or encrypted database does not.
  package func beginsAsDatabase() throws(SQLiteFileError) -> Bool {
    try bytes(at: 0, count: DatabaseHeader.magic.count) == DatabaseHeader.magic
  }

  /// Returns the database header that begins at `offset`; nil when no valid header begins there.
  package func databaseHeader(at offset: Int64) throws(SQLiteFileError) -> DatabaseHeader? {
    let head = ContiguousArray(try bytes(at: offset, count: DatabaseHeader.length))
    return try? DatabaseHeader(parsing: head.rawSpan)
  }

  /// Fills `buffer` with the bytes of the file from `offset` on, up to the end of the file.
  /// - Returns: the number of bytes read.
  package func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer)
    throws(SQLiteFileError) -> Int
  {
    let (count, error) = unsafe SystemCalls.read(descriptor, at: offset, into: buffer)
    if let error {
      throw SQLiteFileError(
        .io, "read failed: \(SystemCallError.words(error))", path: path,
        offset: offset + Int64(count), systemError: error)
    }
    return count
  }

  /// Returns the first offset, at or after `offset`, that is not in a hole of the file. The result is `offset` itself
  /// if the system does not report holes, and the size of the file if only a hole follows.
  package func nextData(from offset: Int64) -> Int64 {
    #if canImport(Darwin)
      let seekData: Int32 = 4
    #else
      let seekData: Int32 = 3
    #endif
    let found = lseek(descriptor, off_t(offset), seekData)
    if found < 0 { return errno == ENXIO ? size : offset }
    return max(offset, Int64(found))
  }

  /// Fills the part `part` of `buffer` with the bytes of the file from `offset` on, up to the end of the file.
  /// - Returns: the number of bytes read.
  package func read(at offset: Int64, into buffer: inout ContiguousArray<UInt8>, _ part: Range<Int>)
    throws(SQLiteFileError) -> Int
  {
    guard offset >= 0, part.lowerBound >= 0, part.upperBound <= buffer.count else { return 0 }
    let result = unsafe buffer.withUnsafeMutableBytes { bytes in
      Result { () throws(SQLiteFileError) in
        unsafe try read(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: bytes[part]))
      }
    }
    return try result.get()
  }

  /// Returns the `count` bytes of the file from `offset` on; fewer at the end of the file.
  package func bytes(at offset: Int64, count: Int) throws(SQLiteFileError) -> [UInt8] {
    guard offset >= 0, offset < size, count > 0 else { return [] }
    let wanted = Int(min(Int64(count), size - offset))
    var failure: SQLiteFileError?
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: wanted) { buffer, got in
      do throws(SQLiteFileError) {
        got = unsafe try read(at: offset, into: UnsafeMutableRawBufferPointer(buffer))
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return bytes
  }
}
