/// Calls of `printf` and `format` in a definition.
///
/// Beyond the limit of a value's length these two give NULL and report nothing. An index over such a call would then
/// hold other keys than those that a reader with another limit computes, and be corrupt for it.
enum FormatCalls {
  static let names: Set<String> = ["printf", "format"]

  /// Whether each call has a format of its own in the text that pads nothing to a length which the data decides, or to
  /// a thousand characters and more.
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

  /// Whether what follows a name is no call, or one with a harmless format.
  private static func isBounded(_ rest: ArraySlice<UInt8>) -> Bool {
    func isSpace(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }
    var rest = rest.drop(while: isSpace)
    guard let next = rest.first else { return true }
    // Quotes around the name, and comments: whoever writes so may have a reason.
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
          // The format has to be this text alone, and not the beginning of an expression.
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
