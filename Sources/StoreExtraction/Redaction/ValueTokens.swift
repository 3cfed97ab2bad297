package import CoreDataStore
import Crypto
import Foundation
package import RowText
import SQLiteFile

/// Turns values into tokens. A token hides its value, but support can still see which values are equal.
///
/// A token is the first 8 bytes of an HMAC-SHA-256. The key is made for one bundle and never leaves the process, so
/// nobody else can test a guess, and tokens of two bundles cannot be compared. Equal texts, UUIDs and data have equal
/// tokens, so rows can still be joined and duplicates seen. Tokens of numbers can be compared only within one column.
/// Otherwise, a column that counts 1, 2, 3 would be a dictionary for all other columns. One secret offset is added to
/// all dates, so their order and the intervals between them are preserved.
package final class ValueTokens: Sendable {
  /// A type of values that tokens replace. Values of different types have different tokens, even if their bytes are
  /// equal.
  private struct Kind {
    /// The state of the HMAC after hashing the key and the name of the type.
    let code: KeyedCode
    /// The JSON text with which a token of this type begins, for example `{"uuid":"`.
    let lead: [UInt8]

    init(_ name: String, _ key: SymmetricKey) {
      var code = KeyedCode(key)
      code.update(Array(name.utf8) + [0])
      self.code = code
      lead = Array("{\"\(name)\":\"".utf8)
    }
  }

  private let text, integer, real, boolean, uuid, data, file: Kind
  private let key: SymmetricKey
  /// The offset that is added to dates, in seconds.
  private let shift: Double
  /// The ranks that are appended to the tokens of numbers; nil to append a range that contains the number.
  package let ranks: NumberRanks?

  /// The length of a token in bytes. With fewer than 10^9 values, it is unlikely that any two different values have
  /// equal tokens.
  private static let tokenBytes = 8
  /// The range of the absolute value of ``shift`` in seconds: one to ten years. ``shift`` may be positive or negative.
  private static let shiftRange = 365 * 86_400...3_650 * 86_400

  /// Creates tokens with a new random key. If `ranks` is not nil, the token of each number is followed by the number's
  /// rank in its column; `ranks` must be sorted. If `ranks` is nil, the token is followed by a range that contains the
  /// number.
  package convenience init(ranks: NumberRanks? = nil) {
    var random = SystemRandomNumberGenerator()
    let distance = Double(Int.random(in: Self.shiftRange, using: &random))
    self.init(
      key: SymmetricKey(size: .bits256), shift: Bool.random(using: &random) ? distance : -distance,
      ranks: ranks)
  }

  init(key: SymmetricKey, shift: Double, ranks: NumberRanks? = nil) {
    text = Kind("text", key)
    integer = Kind("integer", key)
    real = Kind("real", key)
    boolean = Kind("boolean", key)
    uuid = Kind("uuid", key)
    data = Kind("data", key)
    file = Kind("file", key)
    self.key = key
    self.shift = shift
    self.ranks = ranks
  }

  /// Returns another instance that makes the same tokens, for use on another thread. Two threads that share an instance
  /// would slow each other down.
  func another() -> ValueTokens { ValueTokens(key: key, shift: shift, ranks: ranks) }

  // MARK: - Values

  /// Appends a JSON object with the token of a value, in place of the value itself. `column` is the
  /// ``HiddenColumn/key`` of the value's column.
  package func append(
    _ value: PropertyValue, of column: [UInt8], to output: inout OutputBuffer
  ) {
    switch value {
    case .null, .toOne, .toMany: output.append("null")
    case .integer(let number): append(integer: number, of: column, to: &output)
    case .real(let number): append(real: number, of: column, to: &output)
    case .boolean(let flag): append(boolean: flag, of: column, to: &output)
    case .string(let text): append(text: ContiguousArray(text.utf8).rawSpan, to: &output)
    case .date(let date): append(date: date, to: &output)
    case .uuid(let bytes): append(uuid: ContiguousArray(bytes).rawSpan, to: &output)
    case .binary(let bytes): append(data: ContiguousArray(bytes).rawSpan, to: &output)
    case .external(let blob): append(file: blob, to: &output)
    }
  }

  func append(integer number: Int64, of column: [UInt8], to output: inout OutputBuffer) {
    begin(integer, column, UInt64(bitPattern: number), &output)
    if let ranks {
      append(rank: ranks.rank(number, of: column), to: &output)
    } else {
      output.append(",\"range\":\"")
      output.append(Self.rangeText(number))
      output.append("\"}")
    }
  }

  func append(real number: Double, of column: [UInt8], to output: inout OutputBuffer) {
    begin(real, column, number.bitPattern, &output)
    if let ranks {
      append(rank: ranks.rank(number, of: column), to: &output)
    } else {
      output.append(",\"range\":\"\(Self.range(number))\"}")
    }
  }

  private func append(rank: Int?, to output: inout OutputBuffer) {
    output.append(rank.map { ",\"rank\":\($0)}" } ?? "}")
  }

  func append(boolean flag: Bool, of column: [UInt8], to output: inout OutputBuffer) {
    begin(boolean, ContiguousArray(column + [flag ? 1 : 0]).rawSpan, &output)
    output.append("}")
  }

  func append(uuid bytes: RawSpan, to output: inout OutputBuffer) {
    begin(uuid, bytes, &output)
    output.append("}")
  }

  func append(data bytes: RawSpan, to output: inout OutputBuffer) {
    begin(data, bytes, &output)
    output.append(",\"bytes\":\"")
    output.append(Self.sizeText(bytes.byteCount))
    output.append("\"}")
  }

  /// Appends a token for the name of an external file, and the size class of the file. The name is a UUID that no other
  /// value has.
  func append(file blob: ExternalBlob, to output: inout OutputBuffer) {
    begin(file, ContiguousArray(blob.identifier.utf8).rawSpan, &output)
    let size = blob.sizeBytes.map { "\"\(Self.sizeClass(Int($0)))\"" } ?? "null"
    output.append(",\"bytes\":\(size)}")
  }

  /// Appends a token for a text, with the size class of its length and the script of its letters. `bytes` is the text
  /// as UTF-8, which may be invalid.
  func append(text bytes: RawSpan, to output: inout OutputBuffer) {
    begin(text, bytes, &output)
    var (all, hasLetter) = (UInt8(0), false)
    for offset in 0..<bytes.byteCount {
      let byte = bytes.byte(at: offset)
      all |= byte
      hasLetter = hasLetter || Script.isLetter(byte)
    }
    let length: Int
    let script: String
    if all < 0x80 {
      // Most texts are ASCII, which needs no decoding.
      length = bytes.byteCount
      script = (hasLetter ? Script.latin : .none).rawValue
    } else {
      let text = StoredText(utf8: bytes.array())
      let scalars = text.string.unicodeScalars
      length = scalars.count
      script = text.isValid ? Script(of: scalars).rawValue : "invalid"
    }
    output.append(",\"length\":\"")
    output.append(Self.sizeText(length))
    output.append("\",\"script\":\"")
    output.append(script)
    output.append("\"}")
  }

  /// Appends a date with the offset added. For a date that apps use as a marker, appends `marks something` instead,
  /// because a shifted marker would reveal the offset.
  func append(date: ReferenceDate, to output: inout OutputBuffer) {
    if Self.marks.contains(date.seconds) {
      output.append("{\"date\":\"marks something\"}")
    } else if let shifted = ReferenceDate(seconds: date.seconds + shift).moment {
      output.append("{\"date\":\"")
      output.append(iso8601: shifted)
      output.append("\"}")
    } else {
      output.append("{\"date\":\"out of range\"}")
    }
  }

  /// Dates that apps use as markers, in seconds since 2001: the reference dates of Foundation and of Unix, and
  /// Foundation's distant past and future.
  private static let marks: Set<Double> = [0, -978_307_200, -63_114_076_800, 63_113_904_000]

  private func begin(_ kind: Kind, _ bytes: RawSpan, _ output: inout OutputBuffer) {
    var code = kind.code
    code.update(bytes)
    finish(kind, code, &output)
  }

  private func begin(_ kind: Kind, _ column: [UInt8], _ word: UInt64, _ output: inout OutputBuffer)
  {
    var code = kind.code
    code.update(column)
    code.update(word)
    finish(kind, code, &output)
  }

  private func finish(_ kind: Kind, _ code: KeyedCode, _ output: inout OutputBuffer) {
    output.append(kind.lead)
    unsafe code.finalize().withUnsafeBytes { raw in
      let token = unsafe RawSpan(_unsafeBytes: raw)
      output.append(hexadecimal: token.extracting(first: Self.tokenBytes))
    }
    output.append(UInt8(ascii: "\""))
  }

  // MARK: - Classes

  /// Returns the two powers of two between which a size lies, in the form `0`, `1`, `2-3`, `4-7`, …
  static func sizeClass(_ count: Int) -> String {
    guard count > 1 else { return "\(max(0, count))" }
    let low = 1 << (Int.bitWidth - 1 - count.leadingZeroBitCount)
    return "\(low)-\(low - 1 + low)"
  }

  /// The result of ``sizeClass(_:)`` as UTF-8 for each possible number of bits of a size.
  private static let sizeTexts = (0..<Int.bitWidth).map { bits in
    Array(sizeClass(bits == 0 ? 0 : 1 << (bits - 1)).utf8)
  }

  private static func sizeText(_ count: Int) -> [UInt8] {
    sizeTexts[Int.bitWidth - max(0, count).leadingZeroBitCount]
  }

  /// The results of ``range(_:)-(Int64)`` as UTF-8, made once for speed. The first inner array is for 0 and positive
  /// numbers, the second for negative numbers. The index in an inner array is the number of decimal digits.
  private static let rangeTexts = [Int64(1), -1].map { sign in
    (0...19).map { digits in
      let low = (0..<max(0, digits - 1)).reduce(Int64(1)) { low, _ in low * 10 }
      return Array(range(sign * low).utf8)
    }
  }

  private static func rangeText(_ number: Int64) -> [UInt8] {
    var digits = 0
    var rest = number.magnitude
    while rest > 0 {
      rest /= 10
      digits += 1
    }
    return rangeTexts[number < 0 ? 1 : 0][digits]
  }

  /// Returns the range of integers with the same sign and the same number of digits as `number`, for example `0..9`,
  /// `10..99` or `-9..-1`. SQLite keeps Booleans as 0 and 1, so these two share a range.
  static func range(_ number: Int64) -> String {
    var low: UInt64 = 1
    while low <= number.magnitude / 10 { low *= 10 }
    let (product, overflows) = low.multipliedReportingOverflow(by: 10)
    let high = overflows ? UInt64.max : product - 1
    if number < 0 { return "-\(high)..-\(low)" }
    return "\(low == 1 ? 0 : low)..\(high)"
  }

  /// Returns the two powers of ten between which a real lies, in the form `1e2..1e3` or `-1e2..-1e3`. Reals below 10
  /// share a range, `0..1e1` or `0..-1e1`, because 0 and 1 may be Booleans. The last range contains infinity, too.
  static func range(_ number: Double) -> String {
    let sign = number < 0 ? "-" : ""
    guard number.magnitude >= 10 else { return "0..\(sign)1e1" }
    guard number.magnitude < 1e308 else { return "\(sign)1e308..\(sign)infinite" }
    let exponent = min(max(1, Int(log10(number.magnitude).rounded(.down))), 307)
    return "\(sign)1e\(exponent)..\(sign)1e\(exponent + 1)"
  }
}

/// The script that a text is written in.
package enum Script: String {
  case latin = "Latin"
  case greek = "Greek"
  case cyrillic = "Cyrillic"
  case armenian = "Armenian"
  case hebrew = "Hebrew"
  case arabic = "Arabic"
  case devanagari = "Devanagari"
  case thai = "Thai"
  case hangul = "Hangul"
  case kana = "Kana"
  case han = "Han"
  case other
  case mixed
  /// A text without letters.
  case none

  init(of scalars: String.UnicodeScalarView) {
    self = .none
    for scalar in scalars {
      guard let script = Self.script(of: scalar) else { continue }
      if self != .none, self != script {
        self = .mixed
        return
      }
      self = script
    }
  }

  /// The last code point and the script of each Unicode block (Unicode, Blocks.txt). The script is nil for blocks
  /// without letters.
  private static let blocks: [(last: UInt32, script: Script?)] = [
    (0x00bf, nil), (0x024f, .latin), (0x036f, nil), (0x03ff, .greek), (0x052f, .cyrillic),
    (0x058f, .armenian), (0x05ff, .hebrew), (0x077f, .arabic), (0x08ff, .other),
    (0x097f, .devanagari), (0x0dff, .other), (0x0e7f, .thai), (0x10ff, .other),
    (0x11ff, .hangul), (0x1dff, .other), (0x1eff, .latin), (0x1fff, .greek), (0x2fff, nil),
    (0x303f, nil), (0x30ff, .kana), (0x33ff, .other), (0x9fff, .han), (0xabff, .other),
    (0xd7ff, .hangul), (0xfaff, .han), (0x1efff, .other), (0x1faff, nil), (0x3ffff, .han),
    (0x10ffff, nil),
  ]

  private static func script(of scalar: Unicode.Scalar) -> Script? {
    let value = scalar.value
    if value < 0x80 { return isLetter(UInt8(truncatingIfNeeded: value)) ? .latin : nil }
    return blocks.first { value <= $0.last }?.script
  }

  /// Whether a byte is an ASCII letter.
  package static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }
}
