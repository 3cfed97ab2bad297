/// Bits in groups of one width, put into groups of another, most significant bit first. Base64 and Bech32 are both this,
/// with six and with five bits for eight.
struct BitGroups {
  /// The full groups.
  let full: [UInt8]
  /// The bits after the last full group, as a number, and how many they are.
  let rest: UInt32
  let restCount: Int
  private let width: Int

  /// Widths are 1 through 8. No group has a bit above its width.
  init(_ groups: some Sequence<UInt8>, of given: Int, into width: Int) {
    var full: [UInt8] = []
    var rest: UInt32 = 0
    var restCount = 0
    full.reserveCapacity(groups.underestimatedCount * given / width + 1)
    for group in groups {
      rest = rest << UInt32(given) | UInt32(group)
      restCount += given
      while restCount >= width {
        restCount -= width
        full.append(UInt8(rest >> UInt32(restCount)))
        rest &= (1 << UInt32(restCount)) - 1
      }
    }
    (self.full, self.rest, self.restCount, self.width) = (full, rest, restCount, width)
  }

  /// The full groups, and the rest as a last one that zeros fill.
  var padded: [UInt8] {
    restCount == 0 ? full : full + [UInt8(rest << UInt32(width - restCount))]
  }
}
