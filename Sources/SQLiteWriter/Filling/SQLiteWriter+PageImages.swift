import CLibrary
import CSQLite

extension SQLiteWriter {
  /// Replaces the content of the file by the pages of another database, and opens the file again for reading only.
  ///
  /// The pages must be a whole database that needs no log or journal. Whether they are is not checked here: run
  /// SQLite's own check afterwards.
  ///
  /// - Parameters:
  ///   - pageCount: the number of pages, at least 1. Each page has the page size of ``options``.
  ///   - write: writes the page with the given number into the empty buffer, and returns the number of the next page
  ///     that it wants to write. Pages that it leaves out or empty become zeros, and take no space if the volume
  ///     supports holes. It stops by returning a number that is not higher.
  /// - Throws: `transactionOpen`, `full`, `inputOutput`, `replaced`, `cannotOpen`; `badOption` when a page has another
  ///   size; what `write` throws.
  package func replacePages(
    _ pageCount: UInt32, _ write: (UInt32, inout ContiguousArray<UInt8>) throws -> UInt32
  ) throws {
    guard !isInTransaction else {
      throw SQLiteWriterError(.transactionOpen, "a transaction is open", path: path)
    }
    // SQLite's connection is closed first: SQLite must not read a file that changes, and closing another descriptor of
    // the file drops SQLite's locks.
    release()
    let pageSize = Int64(options.pageSize)
    let (descriptor, _) = try file.opened(O_RDWR)
    do {
      defer { _ = CLibrary.close(descriptor) }
      try setSize(0, of: descriptor)
      try setSize(Int64(pageCount) * pageSize, of: descriptor)
      var run = ContiguousArray<UInt8>()
      var start: Int64 = 0
      var page = ContiguousArray<UInt8>()
      var number: UInt32 = 1
      while number <= pageCount {
        page.removeAll(keepingCapacity: true)
        let next = try write(number, &page)
        guard page.isEmpty || page.count == options.pageSize else {
          throw SQLiteWriterError(.badOption, "a page does not have the page size", path: path)
        }
        if !page.isEmpty {
          if run.isEmpty { start = Int64(number - 1) * pageSize }
          run.append(contentsOf: page)
        }
        if run.count >= Self.runBytes || page.isEmpty || next != number &+ 1 {
          try NewFile.put(run, to: descriptor, at: start, path)
          run.removeAll(keepingCapacity: true)
        }
        guard next > number else { break }
        number = next
      }
      try NewFile.put(run, to: descriptor, at: start, path)
    }
    try reopen()
  }

  /// How many bytes of neighbouring pages are gathered before they are written.
  private static let runBytes = 1 << 20

  private func setSize(_ size: Int64, of descriptor: Int32) throws(SQLiteWriterError) {
    guard ftruncate(descriptor, off_t(size)) == 0 else {
      let isFull = errno == ENOSPC || errno == EDQUOT || errno == EFBIG
      throw SQLiteWriterError(
        isFull ? .full : .inputOutput, "the new file cannot be written", path: path,
        systemError: errno)
    }
  }

  /// Opens the finished file for reading. Its schema is of unknown origin: values are limited in size, and nothing
  /// can be written.
  private func reopen() throws(SQLiteWriterError) {
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
    let result = unsafe sqlite3_open_v2(path, &opened, flags, nil)
    unsafe handle = opened
    guard result == SQLITE_OK, let handle = unsafe opened else {
      throw SQLiteWriterError(
        .cannotOpen, "SQLite cannot open the new file", path: path, resultCode: result)
    }
    guard file.isInPlace else { throw file.replaced }
    _ = unsafe sqlite3_extended_result_codes(handle, 1)
    #if !canImport(Darwin)
      _ = unsafe sqlite3_enable_load_extension(handle, 0)
    #endif
    _ = unsafe sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0)
    if let most = options.maxValueBytes {
      _ = unsafe sqlite3_limit(
        handle, SQLITE_LIMIT_LENGTH, Int32(clamping: max(Self.minValueBytes, most)))
    }
    unsafe gate.install(on: handle)
  }
}
