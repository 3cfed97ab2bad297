package import ObjectModel

extension DecimalText {
  /// Returns the mantissa, exponent and sign with which a number is archived. Nil if the text is not a number, or if
  /// the number does not fit into a mantissa of 128 bits and an exponent of one byte.
  package static func parts(_ text: String) -> (mantissa: [UInt8], exponent: Int64, negative: Bool)?
  {
    guard let text = canonical(text) else { return nil }
    let negative = text.utf8.first == UInt8(ascii: "-")
    let pieces = text.utf8.drop { $0 == UInt8(ascii: "-") }.split(separator: UInt8(ascii: "."))
    var digits = pieces.flatMap { Array($0) }
    var exponent = pieces.count == 2 ? -Int64(pieces[1].count) : 0
    while digits.count > 1, digits.last == 48, exponent < 127 {
      digits.removeLast()
      exponent += 1
    }
    var value = [UInt8](repeating: 0, count: 16)
    for digit in digits {
      var carry = Int(digit) - 48
      for index in value.indices {
        let current = Int(value[index]) * 10 + carry
        value[index] = UInt8(current & 255)
        carry = current >> 8
      }
      if carry != 0 { return nil }
    }
    guard exponent >= -128 else { return nil }
    return (value, exponent, negative)
  }
}
