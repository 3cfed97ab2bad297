import Foundation

/// A regular expression in ICU's syntax, as `NSPredicate` has it.
///
/// Its time is not bounded by the text: repetitions within repetitions can take very long. So it is held against texts
/// of limited length only.
struct TextExpression: @unchecked Sendable {
  // Unchecked because Foundation's class is safe to share, and not marked so everywhere.
  private let expression: NSRegularExpression
  /// The same for a whole text.
  private let whole: NSRegularExpression

  /// Reads an expression; nil for a text that is none.
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

  /// The first match, in bytes of the text as UTF-8.
  func match(in text: String) -> Range<Int>? {
    let whole = NSRange(location: 0, length: text.utf16.count)
    guard let found = expression.firstMatch(in: text, range: whole),
      let range = Range(found.range, in: text)
    else { return nil }
    let start = text.utf8.distance(from: text.startIndex, to: range.lowerBound)
    return start..<start + text.utf8.distance(from: range.lowerBound, to: range.upperBound)
  }

  /// Whether the whole text matches.
  func matchesWhole(_ text: String) -> Bool {
    whole.firstMatch(in: text, range: NSRange(location: 0, length: text.utf16.count)) != nil
  }
}
