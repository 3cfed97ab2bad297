/// Judges calls of the SQL functions `printf` and `format` in a definition.
///
/// When the result would be longer than the length limit, these two functions return NULL without an error. An index on
/// such a call would then hold keys that differ from those that a reader with another limit computes, and the reader
/// would find the index corrupt.
enum FormatCalls {
  static let names: Set<String> = ["printf", "format"]

  /// Whether each call of `printf` and `format` in `sql` has a literal format whose numbers have at most three digits
  /// and which has no `*`. Then padding has fewer than a thousand characters and does not depend on data.
  static func areBounded(in sql: String) -> Bool {
    let bytes = Array(sql.lowercased().utf8)
    for name in names {
      let name = Array(name.utf8)
      var place = 0
      while place + name.count <= bytes.count {
        guard bytes[place] == name[0], bytes[place..<place + name.count].elementsEqual(name) else {
          place += 1
          continue
        }
        place += name.count
        guard isBounded(bytes[place...]) else { return false }
      }
    }
    return true
  }

  /// Whether the text after a name is not a call, or is a call with a harmless format.
  private static func isBounded(_ rest: ArraySlice<UInt8>) -> Bool {
    func isSpace(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }
    var rest = rest.drop(while: isSpace)
    guard let next = rest.first else { return true }
    // A quote or a comment after the name may hide a call, so both are refused.
    let odd: [UInt8] = [0x22, 0x60, 0x5d, 0x2f, 0x2d]
    if odd.contains(next) { return false }
    guard next == 0x28 else { return true }
    rest = rest.dropFirst().drop(while: isSpace)
    guard rest.first == 0x27 else { return false }
    rest = rest.dropFirst()
    var digits = 0
    while let byte = rest.popFirst() {
      if byte == 0x27 {
        guard rest.first == 0x27 else {
          // The format must be this text alone, not the start of an expression.
          let after = rest.drop(while: isSpace).first
          return after == 0x2c || after == 0x29
        }
        rest.removeFirst()
      }
      digits = (0x30...0x39).contains(byte) ? digits + 1 : 0
      if byte == 0x2a || digits > 3 { return false }
    }
    return false
  }
}
