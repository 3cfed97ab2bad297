/// Decimal numbers as text, in a canonical form, so that equal default values have equal texts.
package enum DecimalText {
  /// The maximum length, in bytes, of a text that ``canonical(_:)`` reads. The text of an `NSDecimal` is always short
  /// enough: an `NSDecimal` has 38 digits and an exponent of one byte.
  private static let maximumLength = 600

  /// Returns the number in `text` without a plus sign or superfluous zeros. Nil unless `text` consists of an optional
  /// sign and digits with at most one point.
  package static func canonical(_ text: String) -> String? {
    var units = Array(text.utf8)
    guard units.count <= maximumLength else { return nil }
    var negative = false
    if let first = units.first, first == UInt8(ascii: "-") || first == UInt8(ascii: "+") {
      negative = first == UInt8(ascii: "-")
      units.removeFirst()
    }
    let parts = units.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), units.count >= parts.count else { return nil }
    for part in parts where !part.allSatisfy({ (48...57).contains($0) }) { return nil }
    let whole = parts[0].drop { $0 == 48 }
    var fraction = parts.count == 2 ? parts[1] : []
    while fraction.last == 48 { fraction.removeLast() }
    if whole.isEmpty && fraction.isEmpty { return "0" }
    var result = negative ? "-" : ""
    result += whole.isEmpty ? "0" : String(decoding: whole, as: UTF8.self)
    if !fraction.isEmpty { result += "." + String(decoding: fraction, as: UTF8.self) }
    return result
  }

  /// Returns the text of mantissa × 10^exponent. The mantissa is little-endian (`NS.mantissa` of an archived decimal).
  /// Nil if the mantissa has more than 16 bytes or the exponent does not fit into one byte.
  package static func text(mantissa: [UInt8], exponent: Int64, negative: Bool) -> String? {
    guard mantissa.count <= 16, (-128...127).contains(exponent) else { return nil }
    var value = Array(mantissa.reversed())
    var digits: [UInt8] = []
    // Divides by ten repeatedly. A number of 128 bits has at most 39 digits.
    while value.contains(where: { $0 != 0 }) {
      var remainder = 0
      for index in value.indices {
        let current = remainder * 256 + Int(value[index])
        value[index] = UInt8(current / 10)
        remainder = current % 10
      }
      digits.append(UInt8(48 + remainder))
    }
    digits.reverse()
    if exponent >= 0 {
      digits += Array(repeating: 48, count: Int(exponent))
    } else {
      let places = Int(-exponent)
      if digits.count <= places {
        digits.insert(contentsOf: Array(repeating: 48, count: places - digits.count + 1), at: 0)
      }
      digits.insert(UInt8(ascii: "."), at: digits.count - places)
    }
    if digits.isEmpty { return "0" }
    return canonical((negative ? "-" : "") + String(decoding: digits, as: UTF8.self))
  }
}
