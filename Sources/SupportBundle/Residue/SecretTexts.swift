import SQLiteFile

/// Finds known strings in the bytes of a bundle. There may be millions of known strings, so the search has two passes.
/// The first pass hashes the first seven bytes of each known string, and sets the bit of this hash. A position in the
/// bundle becomes a candidate if the bit for its next seven bytes is set. The second pass reads the known strings
/// again, and compares them with the candidates.
final class SecretTexts {
  /// A position in the bundle that was found because a known string may begin there. The string itself has not been
  /// compared yet.
  struct Candidate: Hashable {
    let entry: String
    let form: TextForm
    /// The bytes of the bundle at which a known string may begin. At most ``SecretTexts/comparedBytes`` of them are
    /// compared with known strings. One more byte shows whether a word ends there.
    let bytes: [UInt8]
    /// The byte before the position; nil at the start of the searched bytes.
    let before: UInt8?
  }

  /// The minimum length, in bytes, of a known string that is searched for.
  static let leastBytes = 7
  /// A known string is compared with the bytes of a bundle only up to this length, in bytes.
  static let comparedBytes = 48
  /// The maximum number of positions in the bundle at which a known string may begin. A bundle with more such positions
  /// is refused.
  private static let maxCandidates = 200_000

  /// A bit for each hash of seven bytes. The bit is set if a known string begins with seven bytes that have this hash.
  /// If a million strings are known, 1.5 percent of all bits are set, so 1.5 percent of the positions at which no known
  /// string begins pass this test.
  private var bits = ContiguousArray<UInt64>(repeating: 0, count: 1 << 20)
  /// The candidates, grouped by their first seven bytes. The key is the number that ``start(of:)`` returns for these
  /// bytes.
  private(set) var candidates: [UInt64: Set<Candidate>] = [:]
  private var count = 0
  /// Whether the maximum number of candidates, `maxCandidates`, was exceeded, so that some candidates are missing.
  private(set) var isFull = false

  /// Returns the first seven bytes of a string as a big-endian number.
  static func start(of bytes: some Collection<UInt8>) -> UInt64 {
    bytes.prefix(leastBytes).reduce(0) { $0 << 8 | UInt64($1) }
  }

  private static func bit(_ start: UInt64) -> (word: Int, mask: UInt64) {
    let mixed = (start &* 0x9e37_79b9_7f4a_7c15) >> 38
    return (Int(mixed >> 6), 1 << (mixed & 63))
  }

  /// Marks the first bytes of a known string, so that a search finds positions with these bytes. `start` is the number
  /// that ``start(of:)`` returns for the string.
  func note(_ start: UInt64) {
    let (word, mask) = Self.bit(start)
    bits[word] |= mask
  }

  /// Adds a candidate for each position in `bytes` at which a known string may begin.
  func search(_ bytes: [UInt8], _ form: TextForm, in entry: String) {
    guard bytes.count >= Self.leastBytes else { return }
    var start: UInt64 = 0
    for (index, byte) in bytes.enumerated() {
      start = (start << 8 | UInt64(byte)) & 0xff_ffff_ffff_ffff
      let first = index - Self.leastBytes + 1
      guard first >= 0 else { continue }
      let (word, mask) = Self.bit(start)
      guard bits[word] & mask != 0 else { continue }
      // Inside a word, no known string can begin that begins with a word.
      if form.hasWords, first > 0, PublicWords.isWord(bytes[first - 1]),
        PublicWords.isWord(bytes[first])
      {
        continue
      }
      guard count < Self.maxCandidates else {
        isFull = true
        return
      }
      let end = min(first + Self.comparedBytes + 1, bytes.count)
      let candidate = Candidate(
        entry: entry, form: form, bytes: Array(bytes[first..<end]),
        before: first > 0 ? bytes[first - 1] : nil)
      if candidates[start, default: []].insert(candidate).inserted { count += 1 }
    }
  }

  /// Returns the positions in the bundle at which the known string `text` really begins, selected from ``candidates``.
  func places(of text: [UInt8]) -> [Candidate] {
    guard text.count >= Self.leastBytes, let found = candidates[Self.start(of: text)] else {
      return []
    }
    let compared = Array(text.prefix(Self.comparedBytes))
    return found.filter { $0.isThere(compared, isWhole: compared.count == text.count) }
  }
}

extension SecretTexts.Candidate {
  /// Whether the bundle contains `text` at the position of this candidate. `isWhole`: true if `text` is a whole known
  /// string, false if it is only the start of one. In the forms `plain` and `escaped`, a whole string must end at the
  /// border of a word.
  fileprivate func isThere(_ text: [UInt8], isWhole: Bool) -> Bool {
    guard bytes.starts(with: text) else { return false }
    guard form.hasWords else { return true }
    if isWhole, bytes.count > text.count, PublicWords.isWord(bytes[text.count]),
      PublicWords.isWord(text[text.count - 1])
    {
      return false
    }
    // A string that consists of digits counts only after a quotation mark, because a JSON number may have the same
    // digits by chance.
    return !text.allSatisfy { (0x30...0x39).contains($0) } || before.map { $0 == 0x22 } ?? true
  }
}
