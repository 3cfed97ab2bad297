/// A form that a string can have in a file: the plain string, or an encoding that hides the string from a search of the
/// plain bytes.
enum TextForm: String, Sendable, CaseIterable {
  case plain = "as it is"
  case escaped = "with escapes"
  case utf16 = "as UTF-16"
  case base64 = "as base64"
  case hexadecimal = "as hexadecimal digits"

  /// Whether a match in this form counts only if it begins and ends at the border of a word.
  var hasWords: Bool { self == .plain || self == .escaped }

  /// Finds the parts of `bytes` that may be text in this form, and returns each part decoded. Empty when there is no
  /// such part.
  func decoded(_ bytes: ArraySlice<UInt8>) -> [[UInt8]] {
    switch self {
    case .plain: [Array(bytes)]
    case .escaped: Self.unescaped(bytes).map { [$0] } ?? []
    case .utf16: Self.narrowed(bytes)
    case .base64: Self.runs(bytes, 10, Self.base64Value).flatMap { Self.joined($0, bits: 6) }
    case .hexadecimal: Self.runs(bytes, 14, Self.hexValue).flatMap { Self.joined($0, bits: 4) }
    }
  }

  // MARK: - Escapes

  /// Returns the bytes with the escapes of JSON, of URLs and of XML decoded; nil when the bytes have no such escapes.
  private static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
    var result: [UInt8] = []
    var hasEscapes = false
    var place = bytes.startIndex
    while place < bytes.endIndex {
      let byte = bytes[place]
      let rest = bytes[(place + 1)...]
      let found: (bytes: [UInt8], length: Int)? =
        switch byte {
        case UInt8(ascii: "\\"): backslash(rest)
        case UInt8(ascii: "%"): hexPair(rest).map { ([$0], 2) }
        case UInt8(ascii: "&"): entity(rest)
        default: nil
        }
      if let found {
        hasEscapes = true
        result += found.bytes
        place += 1 + found.length
      } else {
        result.append(byte)
        place += 1
      }
    }
    return hasEscapes ? result : nil
  }

  /// Decodes an escape of JSON (RFC 8259, section 7). `rest` begins after the backslash. `length` is the number of
  /// bytes of `rest` that belong to the escape.
  private static func backslash(_ rest: ArraySlice<UInt8>) -> (bytes: [UInt8], length: Int)? {
    switch rest.first {
    case UInt8(ascii: "u")?:
      guard let unit = number(rest.dropFirst().prefix(4), digits: 4) else { return nil }
      let after = rest.dropFirst(5)
      if (0xd800...0xdbff).contains(unit), after.starts(with: Array("\\u".utf8)),
        let low = number(after.dropFirst(2).prefix(4), digits: 4), (0xdc00...0xdfff).contains(low)
      {
        return (Array(String(decoding: [UInt16(unit), UInt16(low)], as: UTF16.self).utf8), 11)
      }
      return (utf8(unit), 5)
    case UInt8(ascii: "n")?: return ([0x0a], 1)
    case UInt8(ascii: "r")?: return ([0x0d], 1)
    case UInt8(ascii: "t")?: return ([0x09], 1)
    case let byte?: return ([byte], 1)
    case nil: return nil
    }
  }

  private static func entity(_ rest: ArraySlice<UInt8>) -> (bytes: [UInt8], length: Int)? {
    guard let end = rest.prefix(10).firstIndex(of: UInt8(ascii: ";")) else { return nil }
    let name = Array(rest[rest.startIndex..<end])
    let length = name.count + 1
    if name.first == UInt8(ascii: "#") {
      let isHex = name.count > 1 && name[1] | 0x20 == UInt8(ascii: "x")
      let digits = String(decoding: name.dropFirst(isHex ? 2 : 1), as: UTF8.self)
      return UInt32(digits, radix: isHex ? 16 : 10).map { (utf8($0), length) }
    }
    let known: [String: String] = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]
    return known[String(decoding: name, as: UTF8.self)].map { (Array($0.utf8), length) }
  }

  private static func hexPair(_ rest: ArraySlice<UInt8>) -> UInt8? {
    number(rest.prefix(2), digits: 2).map { UInt8($0) }
  }

  private static func number(_ digits: ArraySlice<UInt8>, digits count: Int) -> UInt32? {
    guard digits.count == count else { return nil }
    return digits.reduce(UInt32?(0)) { sum, digit in
      guard let sum, let value = hexValue(digit) else { return nil }
      return sum << 4 | UInt32(value)
    }
  }

  private static func utf8(_ value: UInt32) -> [UInt8] {
    Array(String(Unicode.Scalar(value).map(Character.init) ?? "\u{fffd}").utf8)
  }

  // MARK: - UTF-16

  /// Returns the bytes decoded as UTF-16 in four ways: in both byte orders, starting at the first or at the second
  /// byte. Returns an empty array for valid UTF-8 without NUL bytes, because such bytes are probably not UTF-16.
  private static func narrowed(_ bytes: ArraySlice<UInt8>) -> [[UInt8]] {
    guard bytes.contains(0) || String(validating: bytes, as: UTF8.self) == nil else { return [] }
    var texts: [[UInt8]] = []
    for start in 0..<2 {
      for isBig in [false, true] {
        var units: [UInt16] = []
        for place in stride(from: bytes.startIndex + start, to: bytes.endIndex - 1, by: 2) {
          let (one, other) = (UInt16(bytes[place]), UInt16(bytes[place + 1]))
          units.append(isBig ? one << 8 | other : other << 8 | one)
        }
        texts.append(Array(String(decoding: units, as: UTF16.self).utf8))
      }
    }
    return texts
  }

  // MARK: - Digits

  /// Finds the sequences of at least `least` digits in `bytes`, and returns the values of the digits of each sequence.
  /// `value` returns the value of a digit, and nil for any other byte.
  private static func runs(
    _ bytes: ArraySlice<UInt8>, _ least: Int, _ value: (UInt8) -> UInt8?
  ) -> [[UInt8]] {
    var runs: [[UInt8]] = []
    var run: [UInt8] = []
    for byte in bytes {
      if let value = value(byte) {
        run.append(value)
        continue
      }
      if run.count >= least { runs.append(run) }
      run.removeAll(keepingCapacity: true)
    }
    if run.count >= least { runs.append(run) }
    return runs
  }

  /// Returns the bytes that digits of base64 (6 bits) or hexadecimal (4 bits) encode. A byte may begin at any digit, so
  /// the digits are decoded several times: starting at each of the first four digits of base64, or of the first two
  /// hexadecimal digits.
  private static func joined(_ digits: [UInt8], bits: UInt32) -> [[UInt8]] {
    let places = bits == 6 ? 4 : 2
    return (0..<places).map { start in
      var result: [UInt8] = []
      var waiting: UInt32 = 0
      var count: UInt32 = 0
      for digit in digits.dropFirst(start) {
        waiting = (waiting << bits | UInt32(digit)) & 0xffff
        count += bits
        if count >= 8 {
          count -= 8
          result.append(UInt8(truncatingIfNeeded: waiting >> count))
        }
      }
      return result
    }
  }

  private static func base64Value(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x41...0x5a: byte - 0x41
    case 0x61...0x7a: byte - 0x61 + 26
    case 0x30...0x39: byte - 0x30 + 52
    case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
    case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
    default: nil
    }
  }

  private static func hexValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x61...0x66: byte - 0x61 + 10
    case 0x41...0x46: byte - 0x41 + 10
    default: nil
    }
  }
}
