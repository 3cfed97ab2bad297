import SQLiteFile

/// Finds known texts in the bytes of a bundle. There may be millions of known texts, so only one bit is kept for the
/// start of each. A place that begins like a known text is kept as a candidate, and compared when the texts are read a
/// second time.
final class SecretTexts {
  /// A place that begins like a known text.
  struct Candidate: Hashable {
    let entry: String
    let form: TextForm
    /// The bytes from the place on: at most ``SecretTexts/comparedBytes`` and one more.
    let bytes: [UInt8]
    /// The byte before the place; nil at the start of the searched bytes.
    let before: UInt8?
  }

  /// The length in bytes of the shortest text that is looked for.
  static let leastBytes = 7
  /// How many bytes of a long text are compared.
  static let comparedBytes = 48
  /// The most candidates that are kept. If there are more, something is wrong with the bundle.
  private static let maxCandidates = 200_000

  /// 2^26 bits, 8 MiB, one for each hash of a start. With a million known texts, 15 of 1,000 places where none of them
  /// begins are still kept as candidates.
  private var bits = ContiguousArray<UInt64>(repeating: 0, count: 1 << 20)
  /// The candidates by the number of their start (``start(of:)``).
  private(set) var candidates: [UInt64: Set<Candidate>] = [:]
  private var count = 0
  /// Whether there are more candidates than are kept.
  private(set) var isFull = false

  /// The first seven bytes as a number, the first byte highest.
  static func start(of bytes: some Collection<UInt8>) -> UInt64 {
    bytes.prefix(leastBytes).reduce(0) { $0 << 8 | UInt64($1) }
  }

  private static func bit(_ start: UInt64) -> (word: Int, mask: UInt64) {
    let mixed = (start &* 0x9e37_79b9_7f4a_7c15) >> 38
    return (Int(mixed >> 6), 1 << (mixed & 63))
  }

  /// Remembers that a known text has this start.
  func note(_ start: UInt64) {
    let (word, mask) = Self.bit(start)
    bits[word] |= mask
  }

  /// Adds a candidate for each place in `bytes` at which a known text may begin.
  func search(_ bytes: [UInt8], _ form: TextForm, in entry: String) {
    guard bytes.count >= Self.leastBytes else { return }
    var start: UInt64 = 0
    for (index, byte) in bytes.enumerated() {
      start = (start << 8 | UInt64(byte)) & 0xff_ffff_ffff_ffff
      let first = index - Self.leastBytes + 1
      guard first >= 0 else { continue }
      let (word, mask) = Self.bit(start)
      guard bits[word] & mask != 0 else { continue }
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

  /// The candidates at which this text stands.
  func places(of text: [UInt8]) -> [Candidate] {
    guard text.count >= Self.leastBytes, let found = candidates[Self.start(of: text)] else {
      return []
    }
    let compared = Array(text.prefix(Self.comparedBytes))
    return found.filter { $0.isThere(compared, isWhole: compared.count == text.count) }
  }
}

extension SecretTexts.Candidate {
  /// Whether the text stands at this candidate. In plain and escaped form, it has to stand there as whole words.
  /// `isWhole` says that `text` is not cut.
  fileprivate func isThere(_ text: [UInt8], isWhole: Bool) -> Bool {
    guard bytes.starts(with: text) else { return false }
    guard form == .plain || form == .escaped else { return true }
    if let before, PublicWords.isWord(before), PublicWords.isWord(text[0]) { return false }
    if isWhole, bytes.count > text.count, PublicWords.isWord(bytes[text.count]),
      PublicWords.isWord(text[text.count - 1])
    {
      return false
    }
    // Digits alone count as a text only in quotes, because JSON has numbers of its own.
    return !text.allSatisfy { (0x30...0x39).contains($0) } || before.map { $0 == 0x22 } ?? true
  }
}
