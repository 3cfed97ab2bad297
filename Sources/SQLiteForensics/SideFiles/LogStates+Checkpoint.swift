package import SQLiteFile

extension LogStates {
  /// Pages that a checkpoint has carried from the log into the main file, and that are still in the log, too.
  ///
  /// The main file no longer holds these pages as they were before the log. So a state before the first commit that
  /// wrote such a page cannot be put together: this page would be in a later version.
  package struct CheckpointedPages: Sendable {
    /// By page number: the first commit that wrote a page that was carried over.
    fileprivate var carried: [UInt32: Int] = [:]
    /// By page number: the first commit that wrote a page which equals a frame of the log, although no complete
    /// checkpoint can have carried it over. A commit seems to have written such a page without a change.
    fileprivate var unchanged: [UInt32: Int] = [:]
    /// The commits in ``carried``.
    fileprivate var commits: Set<Int> = []
    /// Whether the main file has the newest committed content of each page of the log, so that a checkpoint was
    /// complete.
    package fileprivate(set) var isComplete = false

    /// How many pages the main file has in a later version than the state after `commit`.
    ///
    /// - Parameters:
    ///   - commit: the number of the commit; 0 for the state without the log.
    ///   - pageCount: size of the database in pages after the commit.
    /// - Returns: the number of pages; 0 when the state can be put together.
    package func laterPageCount(after commit: Int, pageCount: UInt32) -> Int {
      carried.count { $0.value > commit && $0.key <= pageCount }
    }

    /// How many pages the main file may have in a later version than the state after `commit`. Whether it does is not
    /// known: these pages were either copied by an interrupted checkpoint, or written by a commit without a change.
    ///
    /// - Parameters:
    ///   - commit: the number of the commit; 0 for the state without the log.
    ///   - pageCount: size of the database in pages after the commit.
    /// - Returns: the number of pages; 0 when there are no doubtful pages.
    package func doubtfulPageCount(after commit: Int, pageCount: UInt32) -> Int {
      unchanged.count { $0.value > commit && $0.key <= pageCount }
    }

    /// Whether it is not known what a commit changed: it was the first in the log to write one of the checkpointed
    /// pages, so the content before it is lost.
    package func hidesChange(of commit: Int) -> Bool { commits.contains(commit) }
  }

  /// What a comparison of the log with the main file shows of one page.
  private struct LoggedPage {
    /// The number of the first commit that wrote the page.
    let firstCommit: Int
    /// The index of the first frame whose content equals the main file's page; nil when no frame does.
    var sameFrame: Int?
    /// The index of the page's last committed frame.
    var lastFrame = 0
    /// Whether the content of the page's last frame equals the main file's page.
    var isNewest = false
  }

  /// Compares each committed frame with the same page of the main file to find the pages that a checkpoint carried
  /// over.
  ///
  /// Equal pages alone prove nothing: SQLite writes pages that it frees into the log as they are. But a checkpoint that
  /// copied a frame has also copied all pages that were last written before that frame, in the order of their page
  /// numbers. So when one of these pages is not in the main file, there was no checkpoint that copied the frame, or the
  /// checkpoint was interrupted before that page.
  ///
  /// - Throws: ``SQLiteFileError`` when a device fails.
  package func checkpointedPages() throws(SQLiteFileError) -> CheckpointedPages {
    let pages = try loggedPages()
    var found = CheckpointedPages()
    // A checkpoint copies no page past the database's end at that time.
    let size = commits.reduce(UInt32.max) { min($0, $1.databasePageCount) }
    let numbers = pages.keys.sorted()
    let others = numbers.filter { $0 <= size && pages[$0]?.sameFrame == nil }
    let earliest = others.reduce(Int.max) { min($0, pages[$1]?.lastFrame ?? .max) }
    // Of the pages so far, those that have no frame equal to the main file's page: the lowest `lastFrame` of these
    // pages.
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
    // A page has a multiple of eight bytes.
    while offset < page.byteCount {
      guard page.word(at: offset) == bytes.word(at: start + offset) else { return false }
      offset += 8
    }
    return true
  }
}
