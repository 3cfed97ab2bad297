package import SQLiteFile

extension LogStates {
  /// Pages that a checkpoint has carried from the log into the main file, where the log still has them too.
  ///
  /// The main file no longer holds them as they were before the log. So a state before the first commit that wrote such
  /// a page cannot be put together: it would have this one page as it was later.
  package struct CheckpointedPages: Sendable {
    /// The pages and the first commit that wrote each.
    fileprivate var carried: [UInt32: Int] = [:]
    /// The same for pages that a commit seems to have written without a change.
    fileprivate var unchanged: [UInt32: Int] = [:]
    /// The commits in ``carried``.
    fileprivate var commits: Set<Int> = []
    /// Whether each page of the log has its newest committed content in the main file, too.
    package fileprivate(set) var isComplete = false

    /// How many pages the main file has in a later version than the state after `commit`.
    ///
    /// - Parameters:
    ///   - commit: the number of the commit; 0 for the state without the log.
    ///   - pageCount: size of the database in pages after it.
    /// - Returns: 0 when the state can be put together.
    package func laterPageCount(after commit: Int, pageCount: UInt32) -> Int {
      carried.count { $0.value > commit && $0.key <= pageCount }
    }

    /// How many pages the main file has in a later version than the state after `commit`, but only if a checkpoint was
    /// interrupted.
    ///
    /// - Parameters:
    ///   - commit: the number of the commit; 0 for the state without the log.
    ///   - pageCount: size of the database in pages after it.
    /// - Returns: 0 when not even that is possible.
    package func doubtfulPageCount(after commit: Int, pageCount: UInt32) -> Int {
      unchanged.count { $0.value > commit && $0.key <= pageCount }
    }

    /// Whether it is not known what a commit changed, because it was the first in the log to write one of the pages.
    package func hidesChange(of commit: Int) -> Bool { commits.contains(commit) }
  }

  /// What is known of a page in the log.
  private struct LoggedPage {
    /// The first commit that wrote it.
    let firstCommit: Int
    /// The first frame that is the same as the main file's page; nil when none is.
    var sameFrame: Int?
    /// Its last frame.
    var lastFrame = 0
    /// Whether its last frame is the same as the main file's page.
    var isNewest = false
  }

  /// Compares each committed frame with the same page of the main file.
  ///
  /// Equal pages alone prove nothing: SQLite writes pages that it frees into the log as they are. But a checkpoint that
  /// copied a frame has copied all pages that were last written before it, in the order of their numbers. So where one
  /// of those is not in the main file, there was no such checkpoint, or it was interrupted before that page.
  ///
  /// - Throws: ``SQLiteFileError`` when a device fails.
  package func checkpointedPages() throws(SQLiteFileError) -> CheckpointedPages {
    let pages = try loggedPages()
    var found = CheckpointedPages()
    // A checkpoint copies no page past the end that the database had then.
    let size = commits.reduce(UInt32.max) { min($0, $1.databasePageCount) }
    let numbers = pages.keys.sorted()
    let others = numbers.filter { $0 <= size && pages[$0]?.sameFrame == nil }
    let earliest = others.reduce(Int.max) { min($0, pages[$1]?.lastFrame ?? .max) }
    // The first last frame among the pages so far that are not in the main file.
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
