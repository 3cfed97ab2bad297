/// Where the pages of a log are, as it was after any of its frames: every committed frame once, in order of its page.
struct LogIndex {
  /// Page number in the upper half, number of the frame in the lower.
  private let keys: ContiguousArray<UInt64>
  private let firstOffset: Int64
  private let stride: Int64
  /// Frames from this one on do not count.
  var frameLimit: UInt32 = 0

  /// The index of a log's committed frames.
  init(_ log: LogSalvage) {
    var keys = ContiguousArray<UInt64>()
    for frame in log where frame.status.isCommitted && frame.page <= log.pageLimit {
      guard let index = UInt32(exactly: frame.index) else { break }
      keys.append(UInt64(frame.page) << 32 | UInt64(index))
    }
    keys.sort()
    self.keys = keys
    firstOffset = log.first?.offset ?? 0
    stride = Int64(log.pageSize + WriteAheadLog.frameHeaderLength)
  }

  var count: Int { keys.count }
  var highestPage: UInt32 { UInt32(truncatingIfNeeded: (keys.last ?? 0) >> 32) }

  /// Where the newest content of a page is; nil when none of the frames that count has it.
  func offset(of page: UInt32) -> Int64? {
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
