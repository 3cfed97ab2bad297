import CLibrary

/// A byte string that waits to be put in order. The first sixteen bytes stand in it, as numbers that sort like them.
struct KeyEntry: BitwiseCopyable {
  let first: UInt64
  let second: UInt64
  /// Where the bytes behind the sixteenth are.
  let offset: UInt32
  /// Bytes of the whole string.
  let count: UInt32

  /// So many bytes stand in the entry itself.
  static let inlineBytes = 16

  static let none = KeyEntry(first: 0, second: 0, offset: 0, count: 0)

  init(first: UInt64, second: UInt64, offset: UInt32, count: UInt32) {
    self.first = first
    self.second = second
    self.offset = offset
    self.count = count
  }

  /// A string that is followed by sixteen bytes more, or fewer if it has some of them itself. `offset`: where its bytes
  /// behind the sixteenth are.
  @inline(__always)
  init(_ bytes: borrowing ContiguousArray<UInt8>, _ range: Range<Int>, offset: Int) {
    var first = bytes.word(at: range.lowerBound)
    var second = bytes.word(at: range.lowerBound + 8)
    let count = range.count
    // What lies behind a short string is not its own.
    if count < 8 {
      first &= ~(.max >> UInt64(8 * count))
      second = 0
    } else if count < 16 {
      second &= ~(.max >> UInt64(8 * (count - 8)))
    }
    self.init(
      first: first, second: second, offset: UInt32(truncatingIfNeeded: offset),
      count: UInt32(truncatingIfNeeded: count))
  }

  /// Whether its string stands before the other; `rest` and `otherRest`: where the bytes behind the sixteenth are.
  @inline(__always)
  func isLess(
    _ other: KeyEntry, _ rest: borrowing ContiguousArray<UInt8>,
    _ otherRest: borrowing ContiguousArray<UInt8>
  ) -> Bool {
    if first != other.first { return first < other.first }
    if second != other.second { return second < other.second }
    // One of them ends here: it is how the other begins.
    guard count > Self.inlineBytes, other.count > Self.inlineBytes else {
      return count < other.count
    }
    return isLessBehind(other, rest, otherRest)
  }

  /// The same for two whose first sixteen bytes are equal.
  @inline(never)
  private func isLessBehind(
    _ other: KeyEntry, _ rest: borrowing ContiguousArray<UInt8>,
    _ otherRest: borrowing ContiguousArray<UInt8>
  ) -> Bool {
    unsafe rest.withUnsafeBytes { rest in
      unsafe otherRest.withUnsafeBytes { otherRest in
        let shorter = Int(min(count, other.count)) - Self.inlineBytes
        precondition(
          Int(offset) + shorter <= rest.count && Int(other.offset) + shorter <= otherRest.count)
        let order = unsafe memcmp(
          rest.baseAddress.unsafelyUnwrapped + Int(offset),
          otherRest.baseAddress.unsafelyUnwrapped + Int(other.offset), shorter)
        return order != 0 ? order < 0 : count < other.count
      }
    }
  }
}
