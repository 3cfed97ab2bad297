/// Determines which page numbers are plausible.
///
/// A hostile file may contain any page number of 32 bits, so the reader's effort must depend on the bytes that exist,
/// not on the page number. The limit is higher than the number of existing pages, because a truncated main file may
/// once have had several times that number of pages.
package enum PageNumberLimit {
  /// The minimum of the limit on page numbers, used for small files. With pages of 4 KB, it allows a database of 256
  /// MB. The reader then needs less than 1 MB of memory.
  package static let minimum: Int64 = 1 << 16
  /// The maximum plausible ratio of a file's former page count to its present page count.
  private static let maxPerPage: Int64 = 4

  /// Returns the highest page number that is accepted for a main file and its log or journal.
  ///
  /// - Parameters:
  ///   - mainSize: the size of the main file in bytes.
  ///   - sideSize: the size of the log or journal in bytes.
  ///   - pageSize: the page size in bytes, at least 1.
  /// - Returns: the limit, which is at least ``minimum``.
  package static func highest(mainSize: Int64, sideSize: Int64, pageSize: Int) -> UInt32 {
    let size = Int64(max(1, pageSize))
    let held = mainSize / size + sideSize / size + 2
    guard held < Int64(UInt32.max) / maxPerPage else { return .max - 1 }
    return UInt32(clamping: max(minimum, maxPerPage * held))
  }
}

/// Counts the entries of a log or journal whose page numbers exceed the limit given by ``PageNumberLimit``.
package struct ImpossiblePages: Equatable {
  package private(set) var count = 0
  package private(set) var highest: UInt32 = 0
  private var firstOffset: Int64 = 0

  package init() {}

  /// Counts an entry whose page number is too high. `offset`: the offset of the frame or record with this page number.
  package mutating func add(_ page: UInt32, at offset: Int64) {
    if count == 0 { firstOffset = offset }
    count += 1
    highest = max(highest, page)
  }

  /// Returns the finding about the counted entries, whose page numbers are impossibly high; nil if no entry was
  /// counted. `member`: the file that contains the entries, which is the log or the journal.
  package func finding(in member: Finding.Member) -> Finding? {
    guard count > 0 else { return nil }
    let (id, name): (Finding.ID, String) =
      member == .wal ? (.walPageOutOfRange, "log") : (.journalPageOutOfRange, "journal")
    let words =
      count == 1
      ? "an entry is for page \(highest), which is"
      : "\(count) entries are for pages up to \(highest),"
    return Finding(
      id,
      "\(words) far beyond what the main file and the \(name) can hold; \(count == 1 ? "the entry is" : "the entries are") ignored",
      member: member, offset: firstOffset)
  }
}
