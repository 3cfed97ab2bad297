import SafeText

/// Recognises a log or a journal whose path was given instead of the path of its database.
package enum MistakenFile {
  /// Returns the error for a file that is a log or a journal; nil for any other file.
  ///
  /// The first bytes of the file decide (file format, sections 3 and 4.1). A log whose header is lost is recognised by
  /// a name that ends in `-wal`, and by a frame that matches its checksum.
  package static func error(for file: ByteFile) throws(SQLiteFileError) -> SQLiteFileError? {
    let head = ContiguousArray(try file.bytes(at: 0, count: WriteAheadLog.headerLength))
    guard head.count >= 16, !head.starts(with: DatabaseHeader.magic) else { return nil }
    let bytes = head.rawSpan
    if head.starts(with: RollbackJournal.magic) {
      return SQLiteFileError(
        .isJournal, "this is the rollback journal of a database, not the database itself",
        path: file.path)
    }
    var isLog =
      bytes.uint32(at: 0) & 0xffff_fffe == LogHeader.magic
      && bytes.uint32(at: 4) == LogHeader.formatVersion
    if !isLog, PathText.ends(file.path, with: "-wal") {
      isLog = try LogBasis(guessing: file, pageSize: nil) != nil
    }
    guard isLog else { return nil }
    return SQLiteFileError(
      .isLog, "this is the write-ahead log of a database, not the database itself", path: file.path)
  }
}
