/// Base64 (RFC 4648, section 4) as age writes it: without padding in headers, and with padding in armor.
enum Base64 {
  private static let digits = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 0xff, count: 256)
    for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
    return values
  }()

  /// Returns the base64 text of some bytes. If `isPadded` is true, `=` fills the text to a multiple of four characters.
  static func text(_ bytes: some Sequence<UInt8>, isPadded: Bool = false) -> [UInt8] {
    var text = BitGroups(bytes, of: 8, into: 6).padded.map { digits[Int($0)] }
    if isPadded { while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) } }
    return text
  }

  /// Returns the bytes of a base64 text; nil when the text has a character outside the alphabet, a wrong length, or
  /// leftover bits that are not zero. So only one text is accepted for the same bytes.
  static func bytes(_ text: some Collection<UInt8>, isPadded: Bool = false) -> [UInt8]? {
    var digits = Array(text)
    if isPadded {
      guard digits.count % 4 == 0 else { return nil }
      for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
    }
    guard digits.count % 4 != 1 else { return nil }
    let groups = digits.map { values[Int($0)] }
    guard groups.allSatisfy({ $0 < 64 }) else { return nil }
    let bytes = BitGroups(groups, of: 6, into: 8)
    return bytes.rest == 0 ? bytes.full : nil
  }
}
