import RowText
import SQLiteFile

/// Statistics about the sound rows of a page, field by field: serial types, lengths, first and last characters of
/// texts, and ranges of numbers.
///
/// The statistics give the surprise of a value in another row, a number that says how unusual the value is. The most
/// common kind of value has the surprise 0. A kind of value that is half as common has the surprise 16, which is one
/// bit.
struct FieldHabits {
  /// The number that stands for one bit in surprises and costs, which are given in sixteenths of a bit.
  static let bit = 16
  /// A cost, in sixteenths of a bit, that is higher than that of any accepted way to divide a record into values.
  static let impossible = 1 << 20

  /// A summary of the characters of a TEXT value.
  struct Look: BitwiseCopyable {
    /// `first` and `last`: the classes of the first and the last character, for example ``capital``; 0 for an empty
    /// string.
    var first: UInt8 = 0
    var last: UInt8 = 0
    /// A bit mask: 1 if a capital letter directly follows a small letter, 2 if the string contains digits, 4 if it
    /// contains spaces, 8 if it contains characters beyond ASCII.
    var marks: UInt8 = 0

    static let capital: UInt8 = 1
    private static let small: UInt8 = 2
    private static let digit: UInt8 = 3
    private static let space: UInt8 = 4
    private static let sign: UInt8 = 5
    private static let other: UInt8 = 6

    /// Adds a character. Any number above 127 stands for a character beyond ASCII.
    mutating func append(_ scalar: UInt16) {
      let kind: UInt8 =
        switch scalar {
        case 0x41...0x5a: Self.capital
        case 0x61...0x7a: Self.small
        case 0x30...0x39: Self.digit
        case 9, 10, 13, 32: Self.space
        case 0x80...: Self.other
        default: Self.sign
        }
      if first == 0 { first = kind }
      if kind == Self.capital, last == Self.small { marks |= 1 }
      if kind == Self.digit { marks |= 2 }
      if kind == Self.space { marks |= 4 }
      if kind == Self.other { marks |= 8 }
      last = kind
    }
  }

  private struct Field: BitwiseCopyable {
    /// The number of rows for each serial type. The index is the serial type for types 0 to 9, 10 for all strings, and
    /// 11 for all BLOBs.
    var types = SIMD16<UInt32>()
    var commonest: UInt32 = 0
    var lengths = (least: Int.max, most: 0)
    var blobLengths = (least: Int.max, most: 0)
    var integers = (least: Int64.max, most: Int64.min)
    var exponents = (least: Int.max, most: 0)
    var firsts = SIMD8<UInt32>()
    var lasts = SIMD8<UInt32>()
    /// For each of the four bits of ``Look/marks``, the number of strings that have this bit set.
    var marks = SIMD4<UInt32>()
  }

  private var fields: ContiguousArray<Field> = []
  private(set) var rowCount = 0
  private let shape: RowShape
  private let encoding: DatabaseHeader.TextEncoding

  init(_ shape: RowShape, _ encoding: DatabaseHeader.TextEncoding) {
    self.shape = shape
    self.encoding = encoding
    fields = ContiguousArray(repeating: Field(), count: shape.fields.count)
  }

  /// The storage classes that the table's shape allows in a field; `.any` for a field that the shape does not contain.
  func classes(_ field: Int) -> StorageClasses {
    field < shape.fields.count ? shape.fields[field].classes : .any
  }

  /// Returns the maximum length, in bytes, that ``HeaderDeduction`` tries for a string or BLOB in this field.
  func maxLength(_ field: Int) -> Int {
    max(64, 4 * max(fields[field].lengths.most, fields[field].blobLengths.most))
  }

  // MARK: - Learning

  /// Adds the values of a sound row to the statistics.
  ///
  /// `body`: the page offset of the row's first value.
  /// `end`: the page offset directly after the part of the row that is on the page.
  mutating func learn(_ types: borrowing RecordTypes, _ page: RawSpan, body: Int, end: Int) {
    rowCount += 1
    var offset = body
    var index = 0
    while index < types.types.count, index < fields.count {
      let type = types.types[index]
      let length = RecordDecoder.length(ofType: type)
      guard offset + length <= end else { return }
      learn(index, type, page, offset, length)
      offset += length
      index += 1
    }
  }

  private mutating func learn(
    _ index: Int, _ type: UInt64, _ page: RawSpan, _ offset: Int, _ length: Int
  ) {
    let kind = Self.kind(of: type)
    fields[index].types[kind] &+= 1
    fields[index].commonest = max(fields[index].commonest, fields[index].types[kind])
    switch kind {
    case 1...6, 8, 9:
      let value = Self.integer(type, page, offset, length)
      fields[index].integers.least = min(fields[index].integers.least, value)
      fields[index].integers.most = max(fields[index].integers.most, value)
    case 7:
      let exponent = Int(page.uint64(at: offset) >> 52 & 0x7ff)
      fields[index].exponents.least = min(fields[index].exponents.least, exponent)
      fields[index].exponents.most = max(fields[index].exponents.most, exponent)
    case 10:
      fields[index].lengths.least = min(fields[index].lengths.least, length)
      fields[index].lengths.most = max(fields[index].lengths.most, length)
      var look = Look()
      var place = offset
      while place < offset + length, let next = next(page, place, offset + length) {
        look.append(next.scalar)
        place += next.length
      }
      fields[index].firsts[Int(look.first)] &+= 1
      fields[index].lasts[Int(look.last)] &+= 1
      for mark in 0..<4 where look.marks & (1 << UInt8(mark)) != 0 {
        fields[index].marks[mark] &+= 1
      }
    case 11:
      fields[index].blobLengths.least = min(fields[index].blobLengths.least, length)
      fields[index].blobLengths.most = max(fields[index].blobLengths.most, length)
    default: break
    }
  }

  // MARK: - Surprise

  /// Returns how unusual a value is for its field, in sixteenths of a bit (see ``FieldHabits``). For a string, unusual
  /// characters count, too.
  func surprise(
    _ field: Int, _ type: UInt64, _ page: RawSpan, _ offset: Int, _ length: Int
  ) -> Int {
    guard type >= 13, type & 1 == 1 else {
      return surpriseOfOther(field, type, page, offset, length)
    }
    var look = Look()
    var place = offset
    while place < offset + length {
      // SQLite stores any bytes as text, so a string may contain invalid characters. But such strings are rare.
      guard let next = next(page, place, offset + length) else {
        return surprise(field, length, look) + 10 * Self.bit
      }
      look.append(next.scalar)
      place += next.length
    }
    return surprise(field, length, look)
  }

  /// Returns how unusual a string is in a field: its surprise, in sixteenths of a bit. `length` is the string's length
  /// in bytes, and `look` the summary of its characters.
  func surprise(_ field: Int, _ length: Int, _ look: Look) -> Int {
    let habits = fields[field]
    var cost = Self.surprise(habits.types[10], habits.commonest) + forbidden(field, .text)
    let count = habits.types[10]
    guard count > 0 else { return cost }
    cost += Self.surprise(ofLength: length, habits.lengths, count)
    cost += Self.surprise(habits.firsts[Int(look.first)], habits.firsts.max())
    // The marks depend on each other and on the last character, so only the highest of these surprises counts.
    var most = Self.surprise(habits.lasts[Int(look.last)], habits.lasts.max())
    for mark in 0..<4 {
      let with = habits.marks[mark]
      let without = count &- with
      most = max(
        most,
        look.marks & (1 << UInt8(mark)) != 0
          ? Self.surprise(with, max(with, without)) : Self.surprise(without, max(with, without)))
    }
    return cost + most
  }

  /// Returns how unusual a NULL, number or BLOB is in a field: its surprise, in sixteenths of a bit.
  func surpriseOfOther(
    _ field: Int, _ type: UInt64, _ page: RawSpan, _ offset: Int, _ length: Int
  ) -> Int {
    let habits = fields[field]
    let kind = Self.kind(of: type)
    var cost =
      Self.surprise(habits.types[kind], habits.commonest)
      + forbidden(field, StorageClasses(serialType: type))
    switch kind {
    case 1...6, 8, 9:
      let value = Self.integer(type, page, offset, length)
      // SQLite uses the shortest serial type that can store the integer.
      if !Self.isShortest(type, value) { cost += 8 * Self.bit }
      let known = shape.fields[field]
      if value < known.minInteger || value > known.maxInteger { cost += 8 * Self.bit }
      let (least, most) = habits.integers
      if least <= most {
        let span = most.subtractingReportingOverflow(least)
        let slack = span.overflow ? Int64.max : max(span.partialValue, 16)
        let low = least.subtractingReportingOverflow(slack)
        let high = most.addingReportingOverflow(slack)
        if !low.overflow && value < low.partialValue || !high.overflow && value > high.partialValue
        {
          cost += Self.bit + Self.logarithm(habits.commonest &+ 1) / 2
        }
      }
    case 7:
      let bits = page.uint64(at: offset)
      let exponent = Int(bits >> 52 & 0x7ff)
      // SQLite stores NULL instead of NaN.
      if exponent == 0x7ff { return bits << 12 == 0 ? cost + 10 * Self.bit : Self.impossible }
      if habits.exponents.least <= habits.exponents.most, exponent != 0 {
        let away = max(
          habits.exponents.least - exponent, exponent - habits.exponents.most)
        if away > 4 { cost += min(10, 1 + away / 8) * Self.bit }
      } else if abs(exponent - 1023) > 64, exponent != 0 {
        cost += 6 * Self.bit
      }
    case 11:
      if habits.types[11] > 0 {
        cost += Self.surprise(ofLength: length, habits.blobLengths, habits.types[11])
      }
    default: break
    }
    return cost
  }

  private func forbidden(_ field: Int, _ storage: StorageClasses) -> Int {
    classes(field).contains(storage) ? 0 : 8 * Self.bit
  }

  private static func surprise(_ count: UInt32, _ commonest: UInt32) -> Int {
    logarithm(commonest &+ 1) - logarithm(min(count, commonest) &+ 1)
  }

  private static func surprise(
    ofLength length: Int, _ known: (least: Int, most: Int), _ count: UInt32
  ) -> Int {
    if length >= known.least, length <= known.most { return 0 }
    let away = max(known.least - length, length - known.most)
    if known.least == known.most, count >= 4 { return logarithm(count &+ 2) + bit }
    return logarithm(count &+ 1) / 2 + min(6 * bit, logarithm(UInt32(clamping: away)))
  }

  /// Returns the base-2 logarithm of `count` in sixteenths, interpolated linearly between powers of two; 0 if `count`
  /// is 0.
  static func logarithm(_ count: UInt32) -> Int {
    guard count > 1 else { return 0 }
    let whole = 31 - count.leadingZeroBitCount
    let shifted = whole >= 4 ? count >> UInt32(whole - 4) : count << UInt32(4 - whole)
    return whole * bit + Int(shifted & 15)
  }

  // MARK: - Values

  private static func kind(of type: UInt64) -> Int {
    type >= 12 ? (type & 1 == 1 ? 10 : 11) : type > 9 ? 0 : Int(type)
  }

  private static func integer(_ type: UInt64, _ page: RawSpan, _ offset: Int, _ length: Int)
    -> Int64
  {
    type >= 8 ? Int64(type & 1) : RecordDecoder.integer(page, offset, length)
  }

  private static func isShortest(_ type: UInt64, _ value: Int64) -> Bool {
    let bits =
      switch type {
      case 2: 8
      case 3: 16
      case 4: 24
      case 5: 32
      case 6: 48
      default: 0
      }
    guard bits > 0 else { return true }
    let least = -(Int64(1) << Int64(bits - 1))
    return value < least || value > -(least + 1)
  }

  /// Returns the character at `offset` of a text and its length in bytes. Nil for an invalid sequence, and for control
  /// characters other than tab, line feed and carriage return.
  ///
  /// `scalar`: in UTF-16, the code unit; in UTF-8, the code of an ASCII character, and 0x80 for every other character.
  @inline(__always)
  func next(_ page: RawSpan, _ offset: Int, _ end: Int) -> (scalar: UInt16, length: Int)? {
    guard encoding == .utf8 else {
      guard offset + 2 <= end else { return nil }
      let stored = page.uint16(at: offset)
      let unit = encoding == .utf16BigEndian ? stored : stored.byteSwapped
      if unit < 32, unit != 9, unit != 10, unit != 13 { return nil }
      return (unit, 2)
    }
    let byte = page.byte(at: offset)
    if byte < 0x80 {
      if byte < 32 && byte != 9 && byte != 10 && byte != 13 || byte == 0x7f { return nil }
      return (UInt16(byte), 1)
    }
    let length = UTF8Scan.sequenceLength(page, at: offset)
    guard length > 0, offset + length <= end else { return nil }
    return (0x80, length)
  }
}
