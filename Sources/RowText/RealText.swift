import SQLiteFile

extension OutputBuffer {
  /// Appends a real number with the fewest digits that read back as the same number. JSON has no infinity, so infinity
  /// becomes 9e999, which every reader that supports infinity reads as infinity. NaN becomes null.
  package mutating func append(jsonReal value: Double) {
    advance(to: put(jsonReal: value, at: room(for: Self.longestReal)))
  }

  /// The room that ``put(jsonReal:at:)`` needs, in bytes.
  package static let longestReal = 32

  /// Writes at `cursor`, where ``longestReal`` bytes must be free, what ``append(jsonReal:)`` would append. Returns the
  /// position after it.
  @inlinable @inline(__always)
  package mutating func put(jsonReal value: Double, at cursor: Int) -> Int {
    let size = value.magnitude
    // Numbers outside this range are rare.
    guard size >= 0.001, size < 0x1p33 else { return put(anyReal: value, at: cursor) }
    var cursor = cursor
    if value < 0 {
      put(UInt64(UInt8(ascii: "-")), at: cursor)
      cursor &+= 1
    }
    if let end = put(shortReal: size, at: cursor) { return end }
    return put(longReal: size, at: cursor)
  }

  /// Writes `size` at `cursor` if it is below 10^9 and has at most six digits after the point, as most dates and
  /// amounts have. Returns the position after the number; nil, without writing, for any other number.
  ///
  /// Such a number has at most 15 digits. No two decimals of 15 digits read back as the same number, so this decimal is
  /// the shortest.
  @inlinable @inline(__always)
  mutating func put(shortReal size: Double, at cursor: Int) -> Int? {
    guard size < 1e9 else { return nil }
    let scaled = Int64(size * 1e6 + 0.5)
    guard Double(scaled) / 1e6 == size else { return nil }
    let (whole, part) = scaled.quotientAndRemainder(dividingBy: 1_000_000)
    return put(fraction: UInt64(part), at: put(integer: whole, at: cursor))
  }

  /// Writes a number from 0.001 to 2^33 at `cursor`, as the shortest decimal that reads back as the same number. Of
  /// several such decimals, the nearest is written. Returns the position after the decimal.
  ///
  /// A decimal reads back as the number if it is closer to the number than half the distance to the next double. All
  /// arithmetic is exact: the number is `mantissa / 2^shift`, and its fraction is counted in units of the decimal place
  /// `count`, which takes at most 118 bits.
  @inline(never)
  @usableFromInline mutating func put(longReal size: Double, at cursor: Int) -> Int {
    let bits = size.bitPattern
    let mantissa = bits & 0xf_ffff_ffff_ffff | 0x10_0000_0000_0000
    let shift = 1075 &- bits >> 52
    // Below a power of two the neighbouring double is nearer than above.
    guard shift >= 20, shift <= 62, mantissa != 0x10_0000_0000_0000 else {
      return put(anyReal: size, at: cursor)
    }
    let fraction = mantissa & ((1 &<< shift) &- 1)
    guard fraction != 0 else {
      let end = put(integer: Int64(mantissa &>> shift), at: cursor)
      put(0x302e, at: end)
      return end &+ 2
    }
    // The decimal logarithm of 2 is 0.30103.
    var count = Int((shift &* 1233) &>> 12 &+ 1)
    let unit = Self.powerOfTen(count)
    let product = fraction.multipliedFullWidth(by: unit)
    let value = product.high &<< (64 &- shift) | product.low &>> shift
    let doubled = (high: product.high &<< 1 | product.low &>> 63, low: product.low &<< 1)
    let (above, carries) = doubled.low.addingReportingOverflow(unit)
    let (below, borrows) = doubled.low.subtractingReportingOverflow(unit)
    var most =
      (doubled.high &+ (carries ? 1 : 0)) &<< (63 &- shift) | above &>> (shift &+ 1)
    var least =
      ((doubled.high &- (borrows ? 1 : 0)) &<< (63 &- shift) | below &>> (shift &+ 1)) &+ 1
    var power: UInt64 = 1
    while count > 1 {
      let shorterMost = most / 10
      let shorterLeast = (least &+ 9) / 10
      guard shorterLeast <= shorterMost else { break }
      most = shorterMost
      least = shorterLeast
      power &*= 10
      count &-= 1
    }
    // The remainder is compared with half a unit of the last digit; a tie goes to the even digit.
    let half: UInt64 = 1 &<< (shift &- 1)
    let beyond = product.low & ((half &<< 1) &- 1)
    var (nearest, rest) = value.quotientAndRemainder(dividingBy: power)
    if power == 1 {
      if beyond > half || (beyond == half && nearest & 1 == 1) { nearest &+= 1 }
    } else {
      rest &*= 2
      if rest > power || (rest == power && (beyond > 0 || nearest & 1 == 1)) { nearest &+= 1 }
    }
    nearest = min(max(nearest, least), most)
    var end = put(integer: Int64(mantissa &>> shift), at: cursor)
    put(UInt64(UInt8(ascii: ".")), at: end)
    end &+= 1
    return put(nearest, digits: count, at: end)
  }

  /// Writes the last `count` digits (1 to 19) of a number at `cursor`, leading zeros included, and returns the position
  /// after them.
  @inlinable @inline(__always)
  mutating func put(_ number: UInt64, digits count: Int, at cursor: Int) -> Int {
    var cursor = cursor
    var number = number
    var left = count
    if left > 16 {
      let (high, low) = number.quotientAndRemainder(dividingBy: 10_000_000_000_000_000)
      cursor = put(last: left &- 16, of: high, at: cursor)
      number = low
      left = 16
    }
    if left > 8 {
      let (high, low) = number.quotientAndRemainder(dividingBy: 100_000_000)
      cursor = put(last: left &- 8, of: high, at: cursor)
      number = low
      left = 8
    }
    return put(last: left, of: number, at: cursor)
  }

  /// Returns 10 to the power of `exponent`, which is 7 to 19.
  private static func powerOfTen(_ exponent: Int) -> UInt64 {
    switch exponent {
    case 7: 10_000_000
    case 8: 100_000_000
    case 9: 1_000_000_000
    case 10: 10_000_000_000
    case 11: 100_000_000_000
    case 12: 1_000_000_000_000
    case 13: 10_000_000_000_000
    case 14: 100_000_000_000_000
    case 15: 1_000_000_000_000_000
    case 16: 10_000_000_000_000_000
    case 17: 100_000_000_000_000_000
    case 18: 1_000_000_000_000_000_000
    default: 10_000_000_000_000_000_000
    }
  }

  /// Writes any number at `cursor` as the standard library formats it, but infinity as 9e999 and NaN as null. Returns
  /// the position after the number.
  @inline(never)
  @usableFromInline mutating func put(anyReal value: Double, at cursor: Int) -> Int {
    if value.isInfinite {
      // -9e999 or 9e999.
      put(value < 0 ? 0x3939_3965_392d : 0x39_3939_6539, at: cursor)
      return cursor &+ (value < 0 ? 6 : 5)
    }
    if value.isNaN {
      put(0x6c6c_756e, at: cursor)
      return cursor &+ 4
    }
    var text = DigitStream()
    value.write(to: &text)
    put(text.low, at: cursor)
    put(text.middle, at: cursor &+ 8)
    put(text.high, at: cursor &+ 16)
    return cursor &+ min(text.count, 24)
  }
}

/// Collects the text of a number, at most 24 ASCII characters, in three words, so that no string is allocated on the
/// heap.
private struct DigitStream: TextOutputStream {
  var low: UInt64 = 0
  var middle: UInt64 = 0
  var high: UInt64 = 0
  var count = 0

  private mutating func append(_ byte: UInt8) {
    let bits = UInt64(byte) << UInt64(count % 8 * 8)
    switch count / 8 {
    case 0: low |= bits
    case 1: middle |= bits
    case 2: high |= bits
    default: return
    }
    count += 1
  }

  mutating func write(_ string: String) {
    for byte in string.utf8 { append(byte) }
  }

  /// Appends ASCII text. The standard library calls this optional function of a `TextOutputStream` in place of
  /// `write(_:)`.
  mutating func _writeASCII(_ buffer: UnsafeBufferPointer<UInt8>) {
    let bytes = unsafe RawSpan(_unsafeElements: buffer)
    guard count == 0, bytes.byteCount >= 16, bytes.byteCount <= 24 else {
      for index in 0..<bytes.byteCount { append(bytes.byte(at: index)) }
      return
    }
    low = bytes.word(at: 0).littleEndian
    middle = bytes.word(at: 8).littleEndian
    count = 16
    for index in 16..<bytes.byteCount { append(bytes.byte(at: index)) }
  }
}
