import SQLiteFile
import SQLiteForensics

/// Pages of which something is really lost: no index, which is built anew from its rows, and none from which rows came
/// all the same.
struct LostPages {
  private let candidates: Set<UInt32>
  /// Candidates that were not kept one by one, because there are so many.
  private let uncounted: Int
  private var saved: Set<UInt32> = []
  private var last: UInt32 = 0
  private let missing: Int

  private static let maxPages = 100_000

  init(_ database: DamagedDatabase) {
    let (pages, count) = database.unreadablePages(limit: Self.maxPages)
    candidates = Set(pages)
    uncounted = count - pages.count
    let counted = database.layout.header.map { $0.isPageCountValid ? $0.pageCount : 0 } ?? 0
    // A header that counts too many because frames of the log are yet to come is not a file cut short.
    let isCut = database.findings.kept.contains { $0.id == .fileTruncated }
    missing = isCut && counted > database.pageCount ? Int(counted - database.pageCount) : 0
  }

  /// Notes that a row came from a page.
  @inline(__always)
  mutating func read(_ page: UInt32) {
    guard page != last else { return }
    last = page
    if !candidates.isEmpty, candidates.contains(page) { saved.insert(page) }
  }

  /// The pages, in order.
  var lost: [UInt32] { candidates.subtracting(saved).sorted() }

  func count(into result: inout RebuildResult) {
    result.unreadablePageCount = candidates.count - saved.count + uncounted
    result.missingPageCount = missing
  }
}
