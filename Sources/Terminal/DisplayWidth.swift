/// Computes the number of columns that text takes on a terminal.
///
/// Terminals do not always agree on the width; the result is what most terminals use. Wide characters, emoji and joined
/// emoji sequences take two columns. Combining marks take none, and all other characters take one.
package enum DisplayWidth {
  /// Returns the number of columns that text takes. Control characters count as 0 columns, so the caller must escape
  /// them first.
  package static func columns(of text: some StringProtocol) -> Int {
    if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text.utf8.count }
    var sum = 0
    for character in text { sum += columns(of: character) }  // characters: each has columns
    return sum
  }

  /// Returns the number of columns that one character takes with all of its scalars.
  package static func columns(of character: Character) -> Int {
    var sum = 0
    var isFirst = true
    for scalar in character.unicodeScalars {
      // An emoji takes two columns, whatever is joined to it. So does a character that a variation selector turns into
      // an emoji.
      if isFirst, scalar.properties.isEmojiPresentation { return 2 }
      if scalar.value == 0xFE0F, sum == 1 { return 2 }
      isFirst = false
      sum += columns(of: scalar)
    }
    return sum
  }

  private static func columns(of scalar: Unicode.Scalar) -> Int {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: return 0
    default: break
    }
    // Hangul vowels and final consonants join the leading consonant.
    if (0x1160...0x11FF).contains(scalar.value) { return 0 }
    return wideRanges.contains { $0.contains(scalar.value) } ? 2 : 1
  }

  /// The code points of East Asian Width W and F (EastAsianWidth.txt of Unicode 16). Emoji are not listed, because
  /// `columns(of:)` finds them by their property `isEmojiPresentation`. Unassigned code points within the blocks of
  /// wide characters count as wide, as Annex 11 asks.
  private static let wideRanges: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2329...0x232A, 0x2630...0x2637, 0x268A...0x268F, 0x2E80...0x303E,
    0x3041...0x3247, 0x3250...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF,
    0xFE10...0xFE19, 0xFE30...0xFE6B, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF,
    0x1AFF0...0x1B2FF, 0x1D300...0x1D376, 0x1F200...0x1F265, 0x20000...0x2FFFD,
    0x30000...0x3FFFD,
  ]
}
