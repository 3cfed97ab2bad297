package import SafeFiles

/// The status of a store's main file, log, wal-index and journal at one moment. No folder is listed, so the cost does
/// not depend on the number of files in the store's folder.
package struct DatabaseFiles: Sendable, Equatable {
  /// Nil when the main file does not exist or cannot be examined.
  package let main: FileStatus?
  package let log: FileStatus?
  /// `-shm`.
  package let index: FileStatus?
  package let journal: FileStatus?
  /// False when it is unknown whether the main file, the log or the wal-index exists.
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
    journal = try? FileStatus.of(mainPath + "-journal")
    self.isLogKnown = isLogKnown
  }
}
