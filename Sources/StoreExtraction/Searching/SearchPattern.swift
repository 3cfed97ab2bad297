import CoreDataStore
import Foundation
import SQLiteFile

/// What is searched for: a text anywhere in values, or a regular expression between slashes.
package struct SearchPattern: Sendable {
  /// The most bytes of one value that a regular expression is held against, the first ones: 64 KiB.
  static let maxExpressionBytes = 1 << 16

  private let expression: TextExpression?
  private let needles: [TextNeedle]
  private let wideNeedles: [TextNeedle]
  private let integer: Int64?
  private let real: Double?
  private let uuid: [UInt8]?
  /// The seconds since 2001 that a text in the form of a date stands for.
  private let seconds: Range<Double>?

  /// The most bytes that a match of a text has, which parts of a long value have in common.
  var overlap: Int {
    max(needles.map(\.maxBytes).max() ?? 0, wideNeedles.map(\.maxBytes).max() ?? 0)
  }
  var isExpression: Bool { expression != nil }

  /// A pattern.
  ///
  /// - Parameters:
  ///   - text: the text, or a regular expression between two slashes.
  ///   - isCaseSensitive: whether `a` and `A` differ.
  /// - Throws: ``ExtractionError`` with `usage.badPattern` for an empty text and for what is no regular expression.
  package init(_ text: String, isCaseSensitive: Bool = false) throws(ExtractionError) {
    let bytes = text.utf8
    guard !bytes.isEmpty else {
      throw ExtractionError(.badPattern, "the text to search for is empty")
    }
    if bytes.count > 2, bytes.first == UInt8(ascii: "/"), bytes.last == UInt8(ascii: "/") {
      let source = String(decoding: bytes.dropFirst().dropLast(), as: UTF8.self)
      guard let read = TextExpression(source, isCaseSensitive: isCaseSensitive) else {
        throw ExtractionError(
          .badPattern, "not a regular expression that can be read: \(source)")
      }
      expression = read
      (needles, wideNeedles, integer, real, uuid, seconds) = ([], [], nil, nil, nil, nil)
      return
    }
    expression = nil
    // A text may be stored composed or decomposed, as names of files on Apple's systems are.
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

  /// A match in UTF-8.
  func match(inText bytes: RawSpan) -> Range<Int>? {
    guard let expression else {
      for needle in needles { if let match = needle.firstMatch(in: bytes) { return match } }
      return nil
    }
    // A cut letter at the end becomes a replacement character, which matches nothing that was there.
    let lead = bytes.part(0, min(bytes.byteCount, Self.maxExpressionBytes))
    return expression.match(in: String(decoding: lead.array(), as: UTF8.self)).flatMap {
      $0.upperBound <= bytes.byteCount ? $0 : nil
    }
  }

  /// A match of the text in bytes that are no text, as UTF-8 or UTF-16, or of a UUID.
  func match(inBytes bytes: RawSpan) -> Range<Int>? {
    if let uuid, bytes.byteCount == 16, (0..<16).allSatisfy({ bytes.byte(at: $0) == uuid[$0] }) {
      return 0..<16
    }
    for needle in needles { if let match = needle.firstMatch(in: bytes) { return match } }
    // Letters of ASCII are found in both orders of bytes, a byte apart: text mostly begins at an even place.
    let wide = wideNeedles.compactMap { $0.firstMatch(in: bytes) }
    return wide.first { $0.lowerBound.isMultiple(of: 2) } ?? wide.first
  }

  /// Whether an integer is what is searched for.
  func matches(_ value: Int64) -> Bool {
    if let expression { return expression.match(in: String(value)) != nil }
    return integer.map { $0 == value } ?? (real != nil && Double(exactly: value) == real)
  }

  /// Whether a number is what is searched for.
  func matches(_ value: Double) -> Bool {
    if let expression { return expression.match(in: value.description) != nil }
    return integer.map { Double(exactly: $0) == value } ?? (real == value)
  }

  /// Whether a number could be a date that is searched for, if it is a date.
  func couldMatch(dateAt value: Double) -> Bool { seconds?.contains(value) ?? isExpression }

  /// Whether a date is what is searched for.
  func matches(_ date: ReferenceDate) -> Bool {
    guard let expression else { return seconds?.contains(date.seconds) ?? false }
    return date.iso8601.map { expression.match(in: $0) != nil } ?? false
  }
}

/// A date as people write it.
package enum DateText {
  /// The time that a text stands for, in seconds since 2001 in UTC: a year, month, day, minute or second in the form of
  /// ISO 8601, such as `2026-11`, `2026-11-20` or `2026-11-20T21:53Z`. Nil for any other text.
  package static func seconds(in text: String) -> Range<Double>? {
    let expression = #/(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2}))?Z?)?)?)?/#
    guard let match = text.wholeMatch(of: expression)?.output, let year = Int(match.1) else {
      return nil
    }
    func number(_ part: Substring?) -> Int? { part.flatMap { Int($0) } }
    // A year alone is a number like any other.
    guard let month = number(match.2), (1...12).contains(month) else { return nil }
    let day = number(match.3)
    guard day.map((1...31).contains) ?? true,
      let start = days(year, month, day ?? 1).map({ Double($0) * 86_400 })
    else { return nil }
    guard let day else {
      let next = month == 12 ? days(year + 1, 1, 1) : days(year, month + 1, 1)
      return next.map { start..<Double($0) * 86_400 }
    }
    // 31 February is in March.
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

  /// The days from 2001-01-01 to a date of the Gregorian calendar; the inverse of `ReferenceDate.moment`.
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int? {
    guard (0...10_000).contains(year) else { return nil }
    let shifted = month > 2 ? year : year - 1
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let ofEra = shifted - era * 400
    let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 730_791
  }
}
