import CLibrary

/// A byte string that is to be sorted. Its first sixteen bytes are stored in the entry as two numbers, which sort in
/// the same order as the bytes.
struct KeyEntry: BitwiseCopyable {
  let first: UInt64
  let second: UInt64
  /// The index of the rest of the string in a separate array. The rest begins with the seventeenth byte.
  let offset: UInt32
  /// The length of the whole string in bytes, including the bytes that are not stored in the entry.
  let count: UInt32

  /// The number of bytes at the start of each string that the entry itself stores, in ``first`` and ``second``.
  static let inlineBytes = 16

  static let none = KeyEntry(first: 0, second: 0, offset: 0, count: 0)
}

extension KeyEntry {
  /// Creates an entry for the string in `range` of `bytes`. The entry contains the first sixteen bytes of the string.
  /// `offset` is the index, in a separate array, of the byte after these sixteen. `bytes` must have at least sixteen
  /// bytes from the start of the string on, even for a shorter string.
  @inline(__always)
  init(_ bytes: borrowing ContiguousArray<UInt8>, _ range: Range<Int>, offset: Int) {
    var first = bytes.word(at: range.lowerBound)
    var second = bytes.word(at: range.lowerBound + 8)
    let count = range.count
    // Bytes that follow a short string are not part of the string.
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

  /// Whether the string of this entry sorts before the string of `other`. `rest` has the bytes of this string after the
  /// sixteenth, and `otherRest` has those of the string of `other`.
  @inline(__always)
  func isLess(
    _ other: KeyEntry, _ rest: borrowing ContiguousArray<UInt8>,
    _ otherRest: borrowing ContiguousArray<UInt8>
  ) -> Bool {
    if first != other.first { return first < other.first }
    if second != other.second { return second < other.second }
    // At least one of the strings has at most sixteen bytes, and the other string begins with these bytes.
    guard count > Self.inlineBytes, other.count > Self.inlineBytes else {
      return count < other.count
    }
    return isLessBehind(other, rest, otherRest)
  }

  /// Whether the string of this entry sorts before the string of `other`. Both strings must be longer than sixteen
  /// bytes, and their first sixteen bytes must be equal.
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
