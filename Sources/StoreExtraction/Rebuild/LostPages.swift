import SQLiteFile
import SQLiteForensics

/// Collects the unreadable pages whose content is lost. Index pages are not counted, because indexes are rebuilt from
/// rows. Pages from which rows were read are not counted either.
struct LostPages {
  private let candidates: Set<UInt32>
  /// The number of unreadable pages that are not in `candidates`, because there are more than `maxPages`.
  private let uncounted: Int
  private var saved: Set<UInt32> = []
  private var last: UInt32 = 0
  private let missing: Int

  private static let maxPages = 100_000

  init(_ database: DamagedDatabase) {
    let (pages, count) = database.unreadablePages(limit: Self.maxPages)
    candidates = Set(pages)
    uncounted = count - pages.count
    let counted = database.layout.statedPageCount
    // If log frames are not checkpointed yet, the page count in the header may exceed the size of the file. The file is
    // not truncated in that case.
    let isCut = database.findings.kept.contains { $0.id == .fileTruncated }
    missing = isCut && counted > database.pageCount ? Int(counted - database.pageCount) : 0
  }

  /// Notes that a row was read from a page, so that the page does not count as lost.
  @inline(__always)
  mutating func read(_ page: UInt32) {
    guard page != last else { return }
    last = page
    if !candidates.isEmpty, candidates.contains(page) { saved.insert(page) }
  }

  var lost: [UInt32] { candidates.subtracting(saved).sorted() }

  func count(into result: inout RebuildResult) {
    result.unreadablePageCount = candidates.count - saved.count + uncounted
    result.missingPageCount = missing
  }
}
