import CLibrary

/// A byte string to be sorted. Its first sixteen bytes are in the entry itself, as two numbers that sort like the
/// bytes.
struct KeyEntry: BitwiseCopyable {
  let first: UInt64
  let second: UInt64
  /// The index, in a separate array, of the bytes after the sixteenth.
  let offset: UInt32
  /// The length of the whole string in bytes.
  let count: UInt32

  /// How many bytes of a string are in the entry itself.
  static let inlineBytes = 16

  static let none = KeyEntry(first: 0, second: 0, offset: 0, count: 0)

  init(first: UInt64, second: UInt64, offset: UInt32, count: UInt32) {
    self.first = first
    self.second = second
    self.offset = offset
    self.count = count
  }

  /// An entry for the string at `range` of `bytes`. At least sixteen bytes must be in `bytes` from the string's start
  /// on, even if the string is shorter. `offset`: where the string's bytes after the sixteenth are.
  @inline(__always)
  init(_ bytes: borrowing ContiguousArray<UInt8>, _ range: Range<Int>, offset: Int) {
    var first = bytes.word(at: range.lowerBound)
    var second = bytes.word(at: range.lowerBound + 8)
    let count = range.count
    // The bytes after a short string are not part of it.
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

  /// Whether the string of this entry sorts before that of `other`. `rest` and `otherRest`: the arrays that hold the
  /// two strings' bytes after the sixteenth.
  @inline(__always)
  func isLess(
    _ other: KeyEntry, _ rest: borrowing ContiguousArray<UInt8>,
    _ otherRest: borrowing ContiguousArray<UInt8>
  ) -> Bool {
    if first != other.first { return first < other.first }
    if second != other.second { return second < other.second }
    // At least one string ends within these bytes, and the other string begins with it.
    guard count > Self.inlineBytes, other.count > Self.inlineBytes else {
      return count < other.count
    }
    return isLessBehind(other, rest, otherRest)
  }

  /// Whether the string of this entry sorts before that of `other`. Both are longer than sixteen bytes, and their first
  /// sixteen bytes are equal.
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
