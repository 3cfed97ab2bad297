/// Where the pages of a log are, up to any of its frames: one entry for each committed frame, sorted by page.
package struct LogIndex {
  /// Page number in the upper half, number of the frame in the lower; ascending.
  private let keys: ContiguousArray<UInt64>
  private let firstOffset: Int64
  private let stride: Int64
  /// Frames with this number or a higher one do not count.
  package var frameLimit: UInt32 = 0

  /// The index of a log whose first frame starts at `firstOffset`, and whose frames have `stride` bytes.
  package init(firstOffset: Int64, stride: Int64, keys: ContiguousArray<UInt64>) {
    self.keys = keys
    self.firstOffset = firstOffset
    self.stride = stride
  }

  package var count: Int { keys.count }
  package var highestPage: UInt32 { UInt32(truncatingIfNeeded: (keys.last ?? 0) >> 32) }

  /// Where the newest content of a page is; nil when no frame that counts has the page.
  package func offset(of page: UInt32) -> Int64? {
    // The first key that is past the page or past the limit.
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
