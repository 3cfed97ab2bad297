/// Regroups bits from groups of one width into groups of another width, most significant bit first. Base64 groups the
/// bits of bytes by six, Bech32 by five.
struct BitGroups {
  let full: [UInt8]
  /// The bits that remain after the last full group, as a number. ``restCount`` says how many bits remain.
  let rest: UInt32
  let restCount: Int
  private let width: Int

  /// Turns groups of `given` bits into groups of `width` bits. Both numbers are from 1 to 8. Each element of `groups`
  /// must fit into `given` bits.
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

  /// All groups of ``width`` bits, including the last one. If the last group is incomplete, it is filled with zero bits
  /// at its end.
  var padded: [UInt8] {
    restCount == 0 ? full : full + [UInt8(rest << UInt32(width - restCount))]
  }
}
