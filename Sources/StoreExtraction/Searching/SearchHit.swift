import SQLiteFile
package import SQLiteForensics

/// A value that holds what was searched for.
package struct SearchHit: Sendable {
  /// The entity, or the table of a row that belongs to none; nil for an external file that no row names and for a row
  /// whose table is not known.
  package var part: String?
  /// Whether ``part`` is an entity.
  package var isEntity = false
  /// The primary key or row id; nil when it was lost.
  package var key: Int64?
  /// The attribute or column; nil when it has no name.
  package var attribute: String?
  /// Where the row comes from; nil for an external file that no row names.
  package var origin: RowOrigin?
  /// What within the value holds it: `property list, theme.name`; nil for the value itself.
  package var inside: String?
  /// The match with what is beside it.
  package var excerpt: SearchExcerpt
}

/// A match with the text beside it.
package struct SearchExcerpt: Sendable, Equatable {
  /// The text before the match, after it, and the match.
  package let before: String
  package let match: String
  package let after: String
  /// Whether more text precedes or follows.
  package let isCutBefore: Bool
  package let isCutAfter: Bool

  /// The most scalars before and after a match, and of it.
  private static let reach = (before: 24, match: 80, after: 48)

  /// A value that matches as a whole.
  init(whole text: String) {
    (before, match, after, isCutBefore, isCutAfter) = ("", text, "", false, false)
  }

  /// A match in UTF-8.
  init(_ range: Range<Int>, of bytes: RawSpan) {
    func text(_ range: Range<Int>) -> String {
      String(decoding: bytes.part(range.lowerBound, range.count).array(), as: UTF8.self)
    }
    // Four bytes are the most of a scalar.
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

  /// A match in a text.
  init(_ range: Range<Int>, of text: String) {
    let bytes = ContiguousArray(text.utf8)
    self.init(range, of: bytes.rawSpan)
  }
}
