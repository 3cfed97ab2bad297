/// Checks calls of the SQL functions `printf` and `format` in the SQL of a schema.
///
/// If the result of such a call would be longer than the length limit, the call returns NULL without an error. So the
/// keys of an index on such a call depend on the length limit. A reader with another limit would compute other keys and
/// consider the index corrupt.
enum FormatCalls {
  static let names: Set<String> = ["printf", "format"]

  /// Whether, in each call of `printf` and `format` in `sql`, the format string is a literal that contains neither `*`
  /// nor a number of more than three digits. If so, each padding has fewer than a thousand characters and does not
  /// depend on data.
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

  /// Whether `rest`, the SQL after the word `printf` or `format`, is certainly harmless. Either it does not continue a
  /// call of the function, or the format of the call is harmless.
  private static func isBounded(_ rest: ArraySlice<UInt8>) -> Bool {
    func isSpace(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }
    var rest = rest.drop(while: isSpace)
    guard let next = rest.first else { return true }
    // A quote or a comment after the name may hide a call, so neither is accepted.
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
          // The format must be this literal alone, not the start of an expression.
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
