import CLibrary
import CSQLite

extension SQLiteWriter {
  /// Replaces the content of the file with the pages of another database, and opens the file again for reading only.
  ///
  /// The pages must form a complete database that needs no log or journal. This is not checked here; run SQLite's own
  /// check afterwards.
  ///
  /// - Parameters:
  ///   - pageCount: the number of pages, at least 1. Each page has the page size of ``options``.
  ///   - write: writes the page with the given number into the empty buffer, and returns the number of the next page to
  ///     be written. A page that is skipped, or for which the buffer remains empty, consists of zeros; such pages take
  ///     no space if the volume supports holes. To stop, `write` returns a number that is not higher than the given
  ///     number.
  /// - Throws: `transactionOpen`, `full`, `inputOutput`, `replaced`, `cannotOpen`; `badOption` when a page has another
  ///   size; what `write` throws.
  package func replacePages(
    _ pageCount: UInt32, _ write: (UInt32, inout ContiguousArray<UInt8>) throws -> UInt32
  ) throws {
    guard !isInTransaction else {
      throw SQLiteWriterError(.transactionOpen, "a transaction is open", path: path)
    }
    // SQLite's connection is closed first, for two reasons: SQLite must not read a file that changes, and closing
    // another descriptor of the file would release SQLite's locks.
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
          throw SQLiteWriterError(
            .badOption, "a page to be written is not as long as the page size", path: path)
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
    // The schema in the new pages is of unknown origin, so the connection is read-only, and the gate checks all SQL.
    unsafe gate.install(on: try connect(SQLITE_OPEN_READONLY))
  }

  /// The number of bytes of neighbouring pages that are collected before they are written.
  private static let runBytes = 1 << 20

  private func setSize(_ size: Int64, of descriptor: Int32) throws(SQLiteWriterError) {
    guard ftruncate(descriptor, off_t(size)) == 0 else {
      let isFull = errno == ENOSPC || errno == EDQUOT || errno == EFBIG
      throw SQLiteWriterError(
        isFull ? .full : .inputOutput, "the new file cannot be written", path: path,
        systemError: errno)
    }
  }
}
