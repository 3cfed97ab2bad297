/// Which page numbers can be meant at all.
///
/// A page number has 32 bits and costs its writer nothing, so what a reader spends on it must not go by the number but
/// by the bytes that are there. A main file that was cut off may have had several times the pages that are left.
package enum PageNumberLimit {
  /// What is believed of the smallest file: 256 MB with pages of 4 KB, for less than a megabyte of memory.
  package static let least: Int64 = 1 << 16
  /// How many times the pages that are there the lost ones may be.
  private static let mostPerPage: Int64 = 4

  /// The highest page number that is believed of a main file and a file beside it.
  ///
  /// - Parameters:
  ///   - mainSize: size of the main file in bytes.
  ///   - sideSize: size of the log or journal in bytes.
  ///   - pageSize: bytes in a page, at least 1.
  /// - Returns: a number from ``least`` on.
  package static func highest(mainSize: Int64, sideSize: Int64, pageSize: Int) -> UInt32 {
    let size = Int64(max(1, pageSize))
    let held = mainSize / size + sideSize / size + 2
    guard held < Int64(UInt32.max) / mostPerPage else { return .max - 1 }
    return UInt32(clamping: max(least, mostPerPage * held))
  }
}

/// Page numbers of a side file past ``PageNumberLimit``.
package struct ImpossiblePages: Equatable {
  package private(set) var count = 0
  package private(set) var highest: UInt32 = 0
  private var firstOffset: Int64 = 0

  package init() {}

  /// Counts a page that cannot be meant; `offset` is that of its record.
  package mutating func add(_ page: UInt32, at offset: Int64) {
    if count == 0 { firstOffset = offset }
    count += 1
    highest = max(highest, page)
  }

  /// What to say of them; nil when there are none.
  package func finding(in member: Finding.Member) -> Finding? {
    guard count > 0 else { return nil }
    let (id, name) =
      member == .wal ? ("wal.pageOutOfRange", "log") : ("journal.pageOutOfRange", "journal")
    let words =
      count == 1
      ? "an entry is for page \(highest), which is"
      : "\(count) entries are for pages up to \(highest),"
    return Finding(
      id,
      "\(words) far beyond what the main file and the \(name) can hold; not taken for \(count == 1 ? "a page" : "pages") of the database",
      member: member, offset: firstOffset)
  }
}
