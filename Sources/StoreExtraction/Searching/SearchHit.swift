import SQLiteFile
package import SQLiteForensics

/// A value in which the search pattern was found.
package struct SearchHit: Sendable {
  /// The entity of the row, or the table if the row belongs to no entity. Nil for a row whose table is not known, and
  /// for an external file that no row names.
  package var part: String?
  package var isEntity = false
  /// The primary key or row id of the row; nil if the key is lost.
  package var key: Int64?
  /// The name of the attribute or column; nil when the column has no name.
  package var attribute: String?
  /// Where the row was found; nil for an external file that no row names.
  package var origin: RowOrigin?
  /// The part of the value that contains the match, such as `property list, theme.name`; nil if the match is in the
  /// value itself.
  package var inside: String?
  package var excerpt: SearchExcerpt
}

/// A match with the text before and after it.
package struct SearchExcerpt: Sendable, Equatable {
  package let before: String
  /// The text that matched, of which at most 80 scalars are kept.
  package let match: String
  package let after: String
  package let isCutBefore: Bool
  package let isCutAfter: Bool

  /// The maximum numbers of scalars that are kept: of the text before the match, of the match, and of the text after
  /// it.
  private static let reach = (before: 24, match: 80, after: 48)

  /// Creates an excerpt of a value that matches as a whole: `text` is the match, with nothing before and after it.
  init(whole text: String) {
    (before, match, after, isCutBefore, isCutAfter) = ("", text, "", false, false)
  }

  /// Creates an excerpt around a match in UTF-8 text. `range` is the byte range of the match.
  init(_ range: Range<Int>, of bytes: RawSpan) {
    func text(_ range: Range<Int>) -> String {
      String(decoding: bytes.part(range.lowerBound, range.count).array(), as: UTF8.self)
    }
    // A scalar has at most four bytes.
    var start = max(0, range.lowerBound - 4 * Self.reach.before)
    while start < range.lowerBound, start > 0, bytes.byte(at: start) & 0xc0 == 0x80 { start += 1 }
    let end = min(bytes.byteCount, range.upperBound + 4 * Self.reach.after)
    let lead = text(start..<range.lowerBound).unicodeScalars
    let tail = text(range.upperBound..<end).unicodeScalars
    let matchEnd = min(range.upperBound, range.lowerBound + 4 * Self.reach.match)
    let found = text(range.lowerBound..<matchEnd).unicodeScalars
    before = String(lead.suffix(Self.reach.before))
    after = String(tail.prefix(Self.reach.after))
    match = String(found.prefix(Self.reach.match))
    isCutBefore = start > 0 || lead.count > Self.reach.before
    isCutAfter = end < bytes.byteCount || tail.count > Self.reach.after
  }

  /// Creates an excerpt around a match in a text. `range` is the range of the match in the text's UTF-8 bytes.
  init(_ range: Range<Int>, of text: String) {
    let bytes = ContiguousArray(text.utf8)
    self.init(range, of: bytes.rawSpan)
  }
}
