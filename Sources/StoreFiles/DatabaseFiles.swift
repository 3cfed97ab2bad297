package import SafeFiles

/// The status of a store's main file, log, wal-index and journal at one moment. No folder is listed, so the cost does
/// not depend on the number of files in the store's folder.
package struct DatabaseFiles: Sendable, Equatable {
  /// The main file; nil when it does not exist or cannot be examined.
  package let main: FileStatus?
  package let log: FileStatus?
  /// The wal-index, `-shm`.
  package let index: FileStatus?
  package let journal: FileStatus?
  /// Whether it is known which of the main file, the log and the wal-index exist.
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
