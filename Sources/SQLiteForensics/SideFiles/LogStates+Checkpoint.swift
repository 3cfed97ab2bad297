package import SQLiteFile

extension LogStates {
  /// Pages that a checkpoint has copied from the log into the main file, and that are still in the log.
  ///
  /// The checkpoint has overwritten the previous versions of these pages in the main file. So the database cannot be
  /// reconstructed as it was before the first commit that wrote such a page.
  package struct CheckpointedPages: Sendable {
    /// The pages that a checkpoint has copied to the main file. The key is the page number. The value is the number of
    /// the first commit in the log that wrote the page.
    fileprivate var carried: [UInt32: Int] = [:]
    /// The pages of the main file that equal one of their frames, although no complete checkpoint can have copied this
    /// frame. Either a commit has written the page unchanged, or an interrupted checkpoint has copied the frame. The
    /// key is the page number, and the value is the number of the first commit that wrote the page.
    fileprivate var unchanged: [UInt32: Int] = [:]
    /// The commit numbers that occur as values in ``carried``.
    fileprivate var commits: Set<Int> = []
    /// Whether a checkpoint was completed: the main file contains the newest committed version of each page in the log.
    package fileprivate(set) var isComplete = false

    /// Returns the number of pages whose version as of `commit` is lost, because a checkpoint has copied a later
    /// version to the main file.
    ///
    /// - Parameters:
    ///   - commit: the number of the commit; 0 for the database without the log.
    ///   - pageCount: the size of the database in pages after the commit.
    /// - Returns: 0 when the database after `commit` can be reconstructed.
    package func laterPageCount(after commit: Int, pageCount: UInt32) -> Int {
      carried.count { $0.value > commit && $0.key <= pageCount }
    }

    /// Returns the number of pages whose content after `commit` may be lost. The main file has the content that a later
    /// commit wrote to such a page. It is not known whether this later commit wrote the page unchanged, or whether an
    /// interrupted checkpoint has overwritten the earlier content.
    ///
    /// - Parameters:
    ///   - commit: the number of the commit; 0 for the database without the log.
    ///   - pageCount: the size of the database in pages after the commit.
    /// - Returns: 0 when no page is doubtful.
    package func doubtfulPageCount(after commit: Int, pageCount: UInt32) -> Int {
      unchanged.count { $0.value > commit && $0.key <= pageCount }
    }

    /// Whether the changes of `commit` cannot be determined. This is so if the commit was the first in the log to write
    /// some page, and a checkpoint has overwritten the earlier version of this page in the main file.
    package func hidesChange(of commit: Int) -> Bool { commits.contains(commit) }
  }

  /// The result of comparing the frames of one page with the page in the main file.
  private struct LoggedPage {
    /// The number of the first commit that wrote the page.
    let firstCommit: Int
    /// The index of the first frame of the page that equals the page in the main file; nil when no frame equals it.
    var sameFrame: Int?
    /// The index of the page's last committed frame.
    var lastFrame = 0
    /// Whether the page's last committed frame equals the page in the main file.
    var isNewest = false
  }

  /// Finds the pages that a checkpoint has copied, by comparing committed frames with the main file.
  ///
  /// A frame that equals its page does not prove that the frame was copied, because SQLite can write an unchanged page
  /// to the log. But a checkpoint that copies a frame also copies every page whose last frame is earlier in the log,
  /// and it copies pages in the order of their numbers. So if a page equals none of its frames, no checkpoint has
  /// copied a later frame, unless the checkpoint was interrupted before this page.
  ///
  /// - Throws: ``SQLiteFileError`` when a device fails.
  package func checkpointedPages() throws(SQLiteFileError) -> CheckpointedPages {
    let pages = try loggedPages()
    var found = CheckpointedPages()
    // A checkpoint does not copy pages whose numbers are above the size of the database at that time.
    let size = commits.reduce(UInt32.max) { min($0, $1.databasePageCount) }
    let numbers = pages.keys.sorted()
    let others = numbers.filter { $0 <= size && pages[$0]?.sameFrame == nil }
    let earliest = others.reduce(Int.max) { min($0, pages[$1]?.lastFrame ?? .max) }
    // The lowest `lastFrame` among the pages that equal none of their frames and have lower page numbers than this
    // page.
    var earliestBelow = Int.max
    for number in numbers {
      guard let page = pages[number] else { continue }
      guard let same = page.sameFrame else {
        if number <= size { earliestBelow = min(earliestBelow, page.lastFrame) }
        continue
      }
      if earliestBelow <= same { continue }
      if earliest <= same {
        found.unchanged[number] = page.firstCommit
      } else {
        found.carried[number] = page.firstCommit
      }
    }
    found.commits = Set(found.carried.values)
    let last = commits.last?.databasePageCount ?? 0
    found.isComplete = !pages.isEmpty && pages.allSatisfy { $0.key > last || $0.value.isNewest }
    return found
  }

  private func loggedPages() throws(SQLiteFileError) -> [UInt32: LoggedPage] {
    guard let log, let logFile else { return [:] }
    var reader = PageReader(
      main: main, pageSize: pageSize, usableSize: pageSize, pageLimit: mainPageCount, overlays: [])
    var window = ForwardWindow(logFile)
    var pages: [UInt32: LoggedPage] = [:]
    for frame in log {
      guard case .committed(let number) = frame.status, frame.page >= 1,
        frame.page <= log.pageLimit, let start = try window.hold(frame.offset, pageSize)
      else { continue }
      var page = pages[frame.page] ?? LoggedPage(firstCommit: number)
      page.lastFrame = frame.index
      page.isNewest = false
      if let bytes = try reader.page(frame.page) {
        page.isNewest = Self.areEqual(bytes, window.bytes.rawSpan, at: start)
      }
      if page.isNewest, page.sameFrame == nil { page.sameFrame = frame.index }
      pages[frame.page] = page
    }
    return pages
  }

  private static func areEqual(_ page: RawSpan, _ bytes: RawSpan, at start: Int) -> Bool {
    var offset = 0
    // The length of a page is a multiple of eight bytes.
    while offset < page.byteCount {
      guard page.word(at: offset) == bytes.word(at: start + offset) else { return false }
      offset += 8
    }
    return true
  }
}
