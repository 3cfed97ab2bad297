/// Base64 (RFC 4648, section 4) as age writes it: without padding in headers, with it in armor.
enum Base64 {
  private static let digits = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 0xff, count: 256)
    for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
    return values
  }()

  /// The text for some bytes.
  static func text(_ bytes: some Sequence<UInt8>, isPadded: Bool = false) -> [UInt8] {
    var text: [UInt8] = []
    var bits: UInt32 = 0
    var count = 0
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      count += 8
      while count >= 6 {
        count -= 6
        text.append(digits[Int(bits >> UInt32(count) & 63)])
      }
      bits &= (1 << UInt32(count)) - 1
    }
    if count > 0 { text.append(digits[Int(bits << UInt32(6 - count) & 63)]) }
    if isPadded { while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) } }
    return text
  }

  /// The bytes of a text; nil when it has another character, or bits left over that are not zero: each value has one
  /// form only.
  static func bytes(_ text: some Collection<UInt8>, isPadded: Bool = false) -> [UInt8]? {
    var digits = Array(text)
    if isPadded {
      guard digits.count % 4 == 0 else { return nil }
      for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
    }
    guard digits.count % 4 != 1 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count * 3 / 4)
    var bits: UInt32 = 0
    var count = 0
    for digit in digits {
      let value = values[Int(digit)]
      guard value < 64 else { return nil }
      bits = bits << 6 | UInt32(value)
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(bits >> UInt32(count) & 0xff))
        bits &= (1 << UInt32(count)) - 1
      }
    }
    return bits == 0 ? bytes : nil
  }
}
