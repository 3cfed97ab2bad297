import CoreDataStore
import Foundation
import SQLiteFile

/// What a search looks for: a text that may occur anywhere in a value, or a regular expression, which is written
/// between slashes.
package struct SearchPattern: Sendable {
  /// The number of bytes at the start of a value to which a regular expression is applied.
  static let maxExpressionBytes = 1 << 16

  private let expression: TextExpression?
  private let needles: [TextNeedle]
  private let wideNeedles: [TextNeedle]
  private let integer: Int64?
  private let real: Double?
  private let uuid: [UInt8]?
  /// The period that the text names if it has the form of a date, in seconds since 2001; nil for any other text.
  private let seconds: Range<Double>?

  /// The maximum number of bytes that a match of the text can have. If a long value is searched in parts, consecutive
  /// parts must overlap by this number of bytes.
  var overlap: Int {
    max(needles.map(\.maxBytes).max() ?? 0, wideNeedles.map(\.maxBytes).max() ?? 0)
  }
  package var isExpression: Bool { expression != nil }
  /// Whether the searched text can also be read as a number, a date or a UUID.
  var isNumberDateOrUUID: Bool { integer != nil || real != nil || seconds != nil || uuid != nil }

  /// Creates a pattern from a text. If `text` is between two slashes, it is a regular expression. Throws
  /// ``ExtractionError`` with `usage.badPattern` for an empty text and for an invalid regular expression.
  package init(_ text: String, isCaseSensitive: Bool = false) throws(ExtractionError) {
    let bytes = text.utf8
    guard !bytes.isEmpty else {
      throw ExtractionError(.badPattern, "the text to search for is empty")
    }
    if bytes.count > 2, bytes.first == UInt8(ascii: "/"), bytes.last == UInt8(ascii: "/") {
      let source = String(decoding: bytes.dropFirst().dropLast(), as: UTF8.self)
      guard let read = TextExpression(source, isCaseSensitive: isCaseSensitive) else {
        throw ExtractionError(
          .badPattern, "not a valid regular expression: \(source)")
      }
      expression = read
      (needles, wideNeedles, integer, real, uuid, seconds) = ([], [], nil, nil, nil, nil)
      return
    }
    expression = nil
    // A value may contain the text composed or decomposed. Apple's systems store file names decomposed.
    let forms = [
      Array(text.unicodeScalars), Array(text.precomposedStringWithCanonicalMapping.unicodeScalars),
      Array(text.decomposedStringWithCanonicalMapping.unicodeScalars),
    ]
    let different = forms.enumerated().filter { place, form in !forms[..<place].contains(form) }
    func made(_ encoding: TextNeedle.Encoding) -> [TextNeedle] {
      different.map { TextNeedle($0.element, in: encoding, isCaseSensitive: isCaseSensitive) }
    }
    needles = made(.utf8)
    wideNeedles = made(.utf16BigEndian) + made(.utf16LittleEndian)
    integer = Int64(text)
    real = Double(text)
    uuid = UUID(uuidString: text).map { unsafe withUnsafeBytes(of: $0.uuid) { unsafe Array($0) } }
    seconds = DateText.seconds(in: text)
  }

  /// Whether ``match(inText:)`` leaves the end of a text unsearched, if the text has `byteCount` bytes.
  func leavesOut(textOf byteCount: Int) -> Bool {
    isExpression && byteCount > Self.maxExpressionBytes
  }

  /// Returns the byte range of the first match in a UTF-8 text; nil without a match. A regular expression is applied
  /// to the first ``maxExpressionBytes``.
  func match(inText bytes: RawSpan) -> Range<Int>? {
    guard let expression else {
      for needle in needles { if let match = needle.firstMatch(in: bytes) { return match } }
      return nil
    }
    let lead = bytes.part(0, min(bytes.byteCount, Self.maxExpressionBytes)).array()
    return expression.match(in: String(decoding: lead, as: UTF8.self)).map {
      Self.place(of: $0.lowerBound, in: lead)..<Self.place(of: $0.upperBound, in: lead)
    }
  }

  /// Converts an offset in decoded text to an offset in `bytes`, the bytes from which the text was decoded. In the
  /// decoded text, a replacement character of three bytes stands for each invalid sequence.
  private static func place(of offset: Int, in bytes: [UInt8]) -> Int {
    var parser = Unicode.UTF8.ForwardParser()
    var rest = bytes.makeIterator()
    var (place, decoded) = (0, 0)
    while decoded < offset {
      switch parser.parseScalar(from: &rest) {
      case .valid(let scalar):
        place += scalar.count
        decoded += scalar.count
      case .error(let length):
        place += length
        decoded += 3
      case .emptyInput: return place
      }
    }
    return place
  }

  /// Searches bytes that are not text. Looks for the pattern as UTF-8, as UTF-16 and as a UUID. Returns the byte range
  /// of the match; nil without a match.
  func match(inBytes bytes: RawSpan) -> Range<Int>? {
    if let uuid, bytes.byteCount == 16, (0..<16).allSatisfy({ bytes.byte(at: $0) == uuid[$0] }) {
      return 0..<16
    }
    for needle in needles { if let match = needle.firstMatch(in: bytes) { return match } }
    // ASCII letters in UTF-16 match in both byte orders, at offsets that differ by one. Text usually begins at an even
    // offset.
    let wide = wideNeedles.compactMap { $0.firstMatch(in: bytes) }
    return wide.first { $0.lowerBound.isMultiple(of: 2) } ?? wide.first
  }

  func matches(_ value: Int64) -> Bool {
    if let expression { return expression.match(in: String(value)) != nil }
    return integer.map { $0 == value } ?? (real != nil && Double(exactly: value) == real)
  }

  func matches(_ value: Double) -> Bool {
    if let expression { return expression.match(in: value.description) != nil }
    return integer.map { Double(exactly: $0) == value } ?? (real == value)
  }

  /// Whether `value`, taken as a date in seconds since 2001, could match the pattern. The caller must find out whether
  /// `value` is a date.
  func couldMatch(dateAt value: Double) -> Bool { seconds?.contains(value) ?? isExpression }

  func matches(_ date: ReferenceDate) -> Bool {
    guard let expression else { return seconds?.contains(date.seconds) ?? false }
    return date.iso8601.map { expression.match(in: $0) != nil } ?? false
  }
}

/// Parses dates in the forms in which people write them.
package enum DateText {
  /// Returns the period that a text names, in seconds since 2001 in UTC. The text must name a month, day, minute or
  /// second in the form of ISO 8601, such as `2026-11`, `2026-11-20` or `2026-11-20T21:53Z`. Returns nil for any other
  /// text.
  package static func seconds(in text: String) -> Range<Double>? {
    let expression = #/(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2}))?Z?)?)?)?/#
    guard let match = text.wholeMatch(of: expression)?.output, let year = Int(match.1) else {
      return nil
    }
    func number(_ part: Substring?) -> Int? { part.flatMap { Int($0) } }
    // A year alone is not read as a date, because any number might look like a year.
    guard let month = number(match.2), (1...12).contains(month) else { return nil }
    let day = number(match.3)
    guard day.map((1...31).contains) ?? true,
      let start = days(year, month, day ?? 1).map({ Double($0) * 86_400 })
    else { return nil }
    guard let day else {
      let next = month == 12 ? days(year + 1, 1, 1) : days(year, month + 1, 1)
      return next.map { start..<Double($0) * 86_400 }
    }
    // A day that does not exist in its month, such as 31 February, is refused.
    guard let next = month == 12 ? days(year + 1, 1, 1) : days(year, month + 1, 1),
      let first = days(year, month, 1), first + day <= next
    else { return nil }
    guard let hour = number(match.4), let minute = number(match.5) else {
      return start..<start + 86_400
    }
    let second = number(match.6)
    guard hour < 24, minute < 60, second ?? 0 < 60 else { return nil }
    let moment = start + Double(hour * 3600 + minute * 60 + (second ?? 0))
    return moment..<moment + (second == nil ? 60 : 1)
  }

  /// Returns the number of days from 2001-01-01 to a date of the Gregorian calendar; nil outside the years 0 to 10,000.
  /// This is the inverse of `ReferenceDate.moment`.
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int? {
    guard (0...10_000).contains(year) else { return nil }
    let shifted = month > 2 ? year : year - 1
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let ofEra = shifted - era * 400
    let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 730_791
  }
}
