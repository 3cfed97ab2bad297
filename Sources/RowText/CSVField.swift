import Quoting
import SQLiteFile

extension OutputBuffer {
  /// Appends text as a CSV field. The field is quoted if the text is empty or contains a comma, a quote or a line end
  /// (RFC 4180, section 2).
  ///
  /// All text in CSV is written by this function. If `isSafe` is true, an apostrophe is put before text that a
  /// spreadsheet could take for a formula. Text with semicolons or tabs is then quoted too, because some spreadsheets
  /// split fields at these characters.
  package mutating func append(csvField bytes: RawSpan, safeForSpreadsheets isSafe: Bool) {
    let isFormula =
      isSafe
      && CSVText.isFormula(count: bytes.byteCount) {
        bytes.byte(at: $0)
      } separator: {
        CSVSpecialBytes.first(in: bytes, from: $0, CSVSpecialBytes.controls)
      }
    guard needsQuotes(bytes, isSafe) else {
      if isFormula { append(UInt8(ascii: "'")) }
      return append(bytes)
    }
    append(UInt8(ascii: "\""))
    if isFormula { append(UInt8(ascii: "'")) }
    var offset = 0
    while offset < bytes.byteCount {
      let quote = CSVSpecialBytes.first(in: bytes, from: offset, CSVSpecialBytes.quotes)
      append(bytes.part(offset, quote &- offset))
      if quote < bytes.byteCount { append(word: 0x2222, length: 2) }
      offset = quote &+ 1
    }
    append(UInt8(ascii: "\""))
  }

  private func needsQuotes(_ bytes: RawSpan, _ isSafe: Bool) -> Bool {
    guard bytes.byteCount > 0 else { return true }
    var offset = 0
    while true {
      offset = CSVSpecialBytes.first(in: bytes, from: offset, CSVSpecialBytes.all)
      guard offset < bytes.byteCount else { return false }
      let byte = bytes.byte(at: offset)
      if byte == 0x22 || byte == 0x2c || byte == 0x0a || byte == 0x0d { return true }
      if isSafe, CSVText.isOtherSeparator(byte) { return true }
      offset &+= 1
    }
  }

  /// Appends a string as a CSV field, in UTF-8. Quotes and apostrophes are added as in the function for a `RawSpan`.
  package mutating func append(csvField text: String, safeForSpreadsheets isSafe: Bool) {
    append(csvField: Array(text.utf8), safeForSpreadsheets: isSafe)
  }

  /// Appends a text as a CSV field. The text is given as UTF-8 bytes, which need not be valid. See the function that
  /// takes a `RawSpan`.
  package mutating func append(csvField text: [UInt8], safeForSpreadsheets isSafe: Bool) {
    let bytes = ContiguousArray(text)
    append(csvField: bytes.rawSpan, safeForSpreadsheets: isSafe)
  }
}

/// Finds the bytes of a text that matter in CSV, 32 bytes at a time.
private enum CSVSpecialBytes {
  /// A function that marks the bytes of a block that it looks for, by setting the top bit of each. In each 64-bit word,
  /// only the lowest mark is certain: bytes after it may be marked by mistake.
  typealias Marks = (SIMD4<UInt64>) -> SIMD4<UInt64>

  /// Returns a block in which the top bit of each control character and semicolon is set.
  @inline(__always)
  static func controls(_ block: SIMD4<UInt64>) -> SIMD4<UInt64> {
    // The subtraction sets the top bit of a byte that is less than 0x20.
    ((block &- 0x2020_2020_2020_2020) & ~block) | equal(block, 0x3b3b_3b3b_3b3b_3b3b)
  }

  @inline(__always)
  static func quotes(_ block: SIMD4<UInt64>) -> SIMD4<UInt64> {
    equal(block, 0x2222_2222_2222_2222)
  }

  /// Marks the bytes that can make quotes around a CSV field necessary: control characters, semicolons, quotes and
  /// commas.
  @inline(__always)
  static func all(_ block: SIMD4<UInt64>) -> SIMD4<UInt64> {
    controls(block) | quotes(block) | equal(block, 0x2c2c_2c2c_2c2c_2c2c)
  }

  @inline(__always)
  private static func equal(_ block: SIMD4<UInt64>, _ word: UInt64) -> SIMD4<UInt64> {
    let rest = block ^ SIMD4(repeating: word)
    return (rest &- ones) & ~rest
  }

  private static var ones: SIMD4<UInt64> { SIMD4(repeating: 0x0101_0101_0101_0101) }
  private static var tops: UInt64 { 0x8080_8080_8080_8080 }

  /// Returns the offset of the first byte, from `start` on, that `marks` marks; the length of the text when `marks`
  /// marks no byte.
  @inline(__always)
  static func first(in bytes: RawSpan, from start: Int, _ marks: Marks) -> Int {
    var offset = start
    let end = bytes.byteCount
    while offset &+ 32 <= end {
      let hits = marks(bytes.block(at: offset)) & SIMD4(repeating: tops)
      if hits.x | hits.y | hits.z | hits.w != 0 { break }
      offset &+= 32
    }
    while offset < end {
      var word: UInt64 = 0x7e7e_7e7e_7e7e_7e7e
      var count = end &- offset
      if count >= 8 {
        word = bytes.word(at: offset).littleEndian
        count = 8
      } else if end >= 8 {
        // The last bytes are read as part of a whole word; bytes that are not special fill the rest of it.
        let missing = UInt64(truncatingIfNeeded: (8 &- count) &* 8)
        word = bytes.word(at: end &- 8).littleEndian >> missing | word << (64 &- missing)
      } else {
        for place in 0..<count {
          let shift = UInt64(truncatingIfNeeded: place &* 8)
          word = word & ~(0xff << shift) | UInt64(bytes.byte(at: offset &+ place)) << shift
        }
      }
      let hits = marks(SIMD4(word, 0x7e7e_7e7e_7e7e_7e7e, 0, 0)).x & tops
      if hits != 0 { return offset &+ hits.trailingZeroBitCount >> 3 }
      offset &+= count
    }
    return end
  }
}
