import SQLiteFile

/// A text to look for in bytes. If upper and lower case are not distinguished, a letter matches all its forms in
/// Unicode's simple case mappings.
struct TextNeedle: Sendable {
  enum Encoding {
    case utf8, utf16BigEndian, utf16LittleEndian

    func bytes(of scalar: Unicode.Scalar) -> [UInt8] {
      switch self {
      case .utf8: Array(String(scalar).utf8)
      case .utf16BigEndian:
        String(scalar).utf16.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] }
      case .utf16LittleEndian:
        String(scalar).utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
      }
    }
  }

  /// For each scalar of the text, the byte sequences that match it.
  private let letters: [[[UInt8]]]
  /// For each byte value, whether a match can begin with it.
  private let starts: ContiguousArray<Bool>
  /// The bytes with which a match can begin, if there are at most two such bytes. Each word repeats one of them eight
  /// times. If there is only one such byte, both words are equal. Nil if there are more than two.
  private let startWords: (UInt64, UInt64)?
  /// The maximum number of bytes that a match can have.
  let maxBytes: Int

  init(_ scalars: some Sequence<Unicode.Scalar>, in encoding: Encoding, isCaseSensitive: Bool) {
    letters = scalars.map { scalar in
      let forms = isCaseSensitive ? [scalar] : Self.forms(of: scalar)
      return Set(forms.map(encoding.bytes)).sorted { $0.lexicographicallyPrecedes($1) }
    }
    var starts = ContiguousArray(repeating: false, count: 256)
    for form in letters.first ?? [] { if let byte = form.first { starts[Int(byte)] = true } }
    self.starts = starts
    let bytes = (0..<256).filter { starts[$0] }.map { UInt64($0) &* 0x0101_0101_0101_0101 }
    startWords = (1...2).contains(bytes.count) ? (bytes[0], bytes[bytes.count - 1]) : nil
    maxBytes = letters.reduce(0) { $0 + ($1.map(\.count).max() ?? 0) }
  }

  /// Returns a letter and its lower-case, upper-case and title-case forms. Forms of more than one scalar are left out.
  private static func forms(of scalar: Unicode.Scalar) -> [Unicode.Scalar] {
    let properties = scalar.properties
    let mapped = [
      properties.lowercaseMapping, properties.uppercaseMapping, properties.titlecaseMapping,
    ]
    let single = mapped.compactMap { text in
      text.unicodeScalars.count == 1 ? text.unicodeScalars.first : nil
    }
    // The sigma at the end of a word is a separate letter. No case mapping leads from the other two forms to it.
    return [scalar] + single + (single.contains("\u{03C3}") ? ["\u{03C2}"] : [])
  }

  /// Returns the first match as a range of byte offsets; nil without a match. An empty text has no match.
  func firstMatch(in bytes: RawSpan) -> Range<Int>? {
    let count = bytes.byteCount
    guard !letters.isEmpty else { return nil }
    var place = 0
    if let startWords {
      while place &+ 8 <= count {
        // The XOR turns each byte that equals a start byte into zero, and then each zero byte is marked. Only the
        // lowest mark is certain, because bytes after it may be marked by mistake.
        let word = UInt64(littleEndian: bytes.word(at: place))
        let (one, two) = (word ^ startWords.0, word ^ startWords.1)
        let marks =
          (one &- 0x0101_0101_0101_0101) & ~one | (two &- 0x0101_0101_0101_0101) & ~two
        let found = marks & 0x8080_8080_8080_8080
        guard found != 0 else {
          place &+= 8
          continue
        }
        place &+= found.trailingZeroBitCount / 8
        if let end = end(of: place, in: bytes) { return place..<end }
        place &+= 1
      }
    }
    while place < count {
      if starts[Int(bytes.byte(at: place))], let end = end(of: place, in: bytes) {
        return place..<end
      }
      place += 1
    }
    return nil
  }

  /// Returns the offset of the end of a match that begins at `start`; nil if no match begins there.
  private func end(of start: Int, in bytes: RawSpan) -> Int? {
    var place = start
    for forms in letters {
      guard
        let form = forms.first(where: { form in
          place + form.count <= bytes.byteCount
            && form.indices.allSatisfy { bytes.byte(at: place + $0) == form[$0] }
        })
      else { return nil }
      place += form.count
    }
    return place
  }
}
