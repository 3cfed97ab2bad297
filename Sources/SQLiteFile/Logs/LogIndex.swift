/// An index of the committed frames of a write-ahead log, sorted by page number. Finds the newest content of a page
/// among the frames before ``frameLimit``.
package struct LogIndex {
  /// A number for each committed frame, in ascending order. The upper 32 bits are the page number, the lower 32 bits
  /// the index of the frame.
  private let keys: ContiguousArray<UInt64>
  private let firstOffset: Int64
  private let stride: Int64
  /// Only frames with an index below this limit are considered.
  package var frameLimit: UInt32 = 0

  /// Creates an index. `firstOffset`: the offset in the log of the page content of the first frame. `stride`: the
  /// length of a frame in bytes, including its header.
  package init(firstOffset: Int64, stride: Int64, keys: ContiguousArray<UInt64>) {
    self.keys = keys
    self.firstOffset = firstOffset
    self.stride = stride
  }

  package var count: Int { keys.count }
  package var highestPage: UInt32 { UInt32(truncatingIfNeeded: (keys.last ?? 0) >> 32) }

  /// Returns the offset in the log of a page's newest content; nil when no frame before ``frameLimit`` contains the
  /// page.
  package func offset(of page: UInt32) -> Int64? {
    let wanted = UInt64(page) << 32 | UInt64(frameLimit)
    var low = 0
    var high = keys.count
    while low < high {
      let middle = (low + high) / 2
      if keys[middle] < wanted { low = middle + 1 } else { high = middle }
    }
    guard low > 0, keys[low - 1] >> 32 == UInt64(page) else { return nil }
    let frame = keys[low - 1] & 0xffff_ffff
    return firstOffset + Int64(frame) * stride
  }
}
