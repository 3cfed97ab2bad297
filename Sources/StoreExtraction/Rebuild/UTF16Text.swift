/// Converts text back to UTF-16 for files that use it.
enum UTF16Text {
  /// Whether UTF-8 text has U+FFFE or U+FFFF, which SQLite replaces when it converts UTF-8 (utf.c, `READ_UTF8`).
  static func holdsNoncharacter(_ bytes: ContiguousArray<UInt8>, _ range: Range<Int>) -> Bool {
    guard range.count >= 3 else { return false }
    for place in range.dropLast(2) where bytes[place] == 0xef && bytes[place + 1] == 0xbf {
      if bytes[place + 2] >= 0xbe { return true }
    }
    return false
  }

  /// Returns the UTF-16 code units of a text. The text is UTF-8, except that a lone surrogate has three bytes. Any
  /// other invalid byte becomes U+FFFD.
  static func units(of bytes: ContiguousArray<UInt8>, _ range: Range<Int>) -> [UInt16] {
    var units: [UInt16] = []
    units.reserveCapacity(range.count)
    var offset = range.lowerBound
    func next(_ place: Int) -> UInt32? {
      guard offset + place < range.upperBound, bytes[offset + place] & 0xc0 == 0x80 else {
        return nil
      }
      return UInt32(bytes[offset + place] & 0x3f)
    }
    while offset < range.upperBound {
      let byte = UInt32(bytes[offset])
      if byte < 0x80 {
        units.append(UInt16(byte))
        offset += 1
      } else if byte & 0xe0 == 0xc0, let one = next(1) {
        units.append(UInt16(truncatingIfNeeded: (byte & 0x1f) << 6 | one))
        offset += 2
      } else if byte & 0xf0 == 0xe0, let one = next(1), let two = next(2) {
        units.append(UInt16(truncatingIfNeeded: (byte & 0x0f) << 12 | one << 6 | two))
        offset += 3
      } else if byte & 0xf8 == 0xf0, let one = next(1), let two = next(2), let three = next(3),
        case let scalar = (byte & 0x07) << 18 | one << 12 | two << 6 | three, scalar >= 0x10000,
        scalar <= 0x10ffff
      {
        units.append(UInt16(truncatingIfNeeded: 0xd800 + (scalar - 0x10000) >> 10))
        units.append(UInt16(truncatingIfNeeded: 0xdc00 + (scalar - 0x10000) & 0x3ff))
        offset += 4
      } else {
        units.append(0xfffd)
        offset += 1
      }
    }
    return units
  }
}
