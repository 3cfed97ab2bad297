import CoreDataStore
import Foundation
import ObjectModel
import SQLiteFile

/// A value of a row or of a condition, converted so that the two can be compared.
enum ConditionValue: Hashable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  /// A UUID as text in upper case, with hyphens.
  case uuid(String)
  /// A date, as seconds since 2001.
  case date(Double)
  /// A string constant in the form of a date. It is equal to any time within the day, minute or second that the string
  /// names.
  case period(Range<Double>)
  case bytes([UInt8])
  case list([ConditionValue])

  /// Converts the value of a row. A to-one relationship becomes the key of its destination. A value in an external file
  /// becomes the file's name, as text.
  init(_ value: PropertyValue) {
    self =
      switch value {
      case .null: .null
      case .integer(let number): .integer(number)
      case .real(let number): .real(number)
      case .boolean(let flag): .integer(flag ? 1 : 0)
      case .string(let text): .text(text.string)
      case .date(let date): .date(date.seconds)
      case .uuid(let bytes): .uuid(UUIDText.string(bytes))
      case .binary(let bytes): .bytes(bytes)
      case .external(let blob): .text(blob.identifier)
      case .toOne(let reference): .integer(reference.primaryKey)
      case .toMany(let references): .list(references.map { .integer($0.primaryKey) })
      }
  }

  init?(_ constant: ExpressionConstant) {
    switch constant {
    case .null: self = .null
    case .bool(let flag): self = .integer(flag ? 1 : 0)
    case .integer(let number): self = .integer(number)
    case .real(let number): self = .real(number)
    case .decimal(let digits):
      guard let number = Double(digits) else { return nil }
      self = .real(number)
    case .string(let text), .uuid(let text), .url(let text): self = .text(text)
    case .date(let seconds): self = .date(seconds)
    case .data(let bytes): self = .bytes(bytes)
    case .type: return nil
    }
  }

  var text: String? {
    switch self {
    case .text(let text), .uuid(let text): text
    default: nil
    }
  }

  var number: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .real(let number): number
    default: nil
    }
  }

  /// Returns a number below 0 if `one` comes before `other`, 0 if they are equal, and a number above 0 otherwise.
  /// Returns nil if the values cannot be compared.
  static func order(_ one: ConditionValue, _ other: ConditionValue) -> Int? {
    func order<Value: Comparable>(_ one: Value, _ other: Value) -> Int? {
      one < other ? -1 : one == other ? 0 : one > other ? 1 : nil
    }
    switch (one, other) {
    case (.null, .null): return 0
    case (.integer(let one), .integer(let other)): return order(one, other)
    case (.text(let one), .text(let other)):
      if one.utf8.elementsEqual(other.utf8) { return 0 }
      return one.utf8.lexicographicallyPrecedes(other.utf8) ? -1 : 1
    case (.uuid(let one), .uuid(let other)): return order(one, other)
    case (.uuid(let one), .text(let other)): return order(one, other.uppercased())
    case (.text, .uuid): return self.order(other, one).map { -$0 }
    case (.date(let one), .date(let other)): return order(one, other)
    case (.date(let date), .period(let period)):
      return period.contains(date) ? 0 : date < period.lowerBound ? -1 : 1
    case (.period, .date): return self.order(other, one).map { -$0 }
    case (.bytes(let one), .bytes(let other)):
      if one == other { return 0 }
      return one.lexicographicallyPrecedes(other) ? -1 : 1
    default:
      guard let one = one.number, let other = other.number else { return nil }
      return order(one, other)
    }
  }

  /// Returns the value as `[c]` and `[d]` compare it. A text loses its case if `options` contains `[c]`, and its
  /// diacritics if `options` contains `[d]`. With `[c]`, a UUID becomes a text. In a list, each element is folded.
  func folded(_ options: ModelPredicate.Options) -> ConditionValue {
    var text: String
    switch self {
    case .text(let plain): text = plain
    case .uuid(let plain) where options.contains(.caseInsensitive): text = plain
    case .list(let elements): return .list(elements.map { $0.folded(options) })
    default: return self
    }
    if options.contains(.diacriticInsensitive) { text = Self.withoutDiacritics(text) }
    if options.contains(.caseInsensitive) { text = text.lowercased() }
    return .text(text)
  }

  /// Returns a text without its diacritics. The rest is composed again, so that a syllable of Hangul is one scalar, as
  /// in the ranges of a regular expression.
  static func withoutDiacritics(_ text: String) -> String {
    var scalars = String.UnicodeScalarView()
    for scalar in text.decomposedStringWithCanonicalMapping.unicodeScalars
    where scalar.properties.generalCategory != .nonspacingMark { scalars.append(scalar) }
    return String(scalars).precomposedStringWithCanonicalMapping
  }
}
