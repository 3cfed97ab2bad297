package import SafeFiles

/// The file status of a store's main file, write-ahead log, wal-index and rollback journal at one moment. The store's
/// folder is not listed, so the cost does not depend on how many files the folder has.
package struct DatabaseFiles: Sendable, Equatable {
  /// The status of the main file; nil when the file does not exist or its status cannot be read.
  package let main: FileStatus?
  package let log: FileStatus?
  /// The status of the wal-index, `-shm`.
  package let index: FileStatus?
  package let journal: FileStatus?
  /// Whether the status of all files could be read. If true, a nil in ``main``, ``log`` or ``index`` means that the
  /// file does not exist.
  package let isLogKnown: Bool

  package init(at mainPath: String) {
    var isLogKnown = true
    func status(_ path: String) -> FileStatus? {
      do { return try FileStatus.of(path) } catch {
        isLogKnown = false
        return nil
      }
    }
    main = status(mainPath)
    log = status(mainPath + "-wal")
    index = status(mainPath + "-shm")
    journal = FileStatus.found(mainPath + "-journal")
    self.isLogKnown = isLogKnown
  }
}
