import Foundation

/// A regular expression in ICU's syntax, which `NSPredicate` uses too.
///
/// An expression with nested repetitions can take very long even for a short text. So expressions are applied only to
/// texts of limited length.
struct TextExpression: @unchecked Sendable {
  // `@unchecked` because NSRegularExpression is safe to share, but is not declared Sendable on every system.
  private let expression: NSRegularExpression
  /// The expression anchored at both ends, so that it matches only an entire text.
  private let whole: NSRegularExpression

  init?(_ text: String, isCaseSensitive: Bool = true) {
    var options: NSRegularExpression.Options = [.anchorsMatchLines]
    if !isCaseSensitive { options.insert(.caseInsensitive) }
    guard let expression = try? NSRegularExpression(pattern: text, options: options),
      let whole = try? NSRegularExpression(
        pattern: "\\A(?:" + text + ")\\z", options: options.subtracting(.anchorsMatchLines))
    else { return nil }
    self.expression = expression
    self.whole = whole
  }

  /// Returns the range of the first match, in bytes of UTF-8; nil without a match.
  func match(in text: String) -> Range<Int>? {
    let whole = NSRange(location: 0, length: text.utf16.count)
    guard let found = expression.firstMatch(in: text, range: whole),
      let range = Range(found.range, in: text)
    else { return nil }
    let start = text.utf8.distance(from: text.startIndex, to: range.lowerBound)
    return start..<start + text.utf8.distance(from: range.lowerBound, to: range.upperBound)
  }

  func matchesWhole(_ text: String) -> Bool {
    whole.firstMatch(in: text, range: NSRange(location: 0, length: text.utf16.count)) != nil
  }
}
