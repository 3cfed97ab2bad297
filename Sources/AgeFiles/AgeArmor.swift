/// An age file as text: base64 between a first and a last line (age-encryption.org/v1, "ASCII armor", after RFC 7468).
enum AgeArmor {
  private static let first = Array("-----BEGIN AGE ENCRYPTED FILE-----".utf8)
  private static let last = Array("-----END AGE ENCRYPTED FILE-----".utf8)
  private static let columns = 64
  private static let lineBytes = 48

  /// The number of leading bytes that ``begins(_:)`` examines. At most 1,024 blank bytes may precede the armor, as in
  /// the Go library of age.
  static let leadBytes = 1_024 + first.count

  /// Whether `lead`, the first bytes of a file, begins with armor. White space may precede the armor.
  static func begins(_ lead: [UInt8]) -> Bool {
    lead.prefix(leadBytes).drop(while: isBlank).starts(with: first)
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d
  }

  /// Returns the size in bytes of the armor for a content of `bytes` bytes, including the first and last line of the
  /// armor.
  static func size(of bytes: UInt64) -> UInt64 {
    let lines = bytes / UInt64(lineBytes) + (bytes % UInt64(lineBytes) == 0 ? 0 : 1)
    let groups = bytes / 3 + (bytes % 3 == 0 ? 0 : 1)
    return groups * 4 + lines + UInt64(first.count + last.count + 2)
  }

  /// Encodes bytes as armored text. `text` takes the next bytes and returns the lines that are complete; `end` returns
  /// the rest and the last line.
  struct Writer {
    private var waiting: [UInt8] = []
    private var hasBegun = false

    mutating func text(_ bytes: [UInt8]) -> [UInt8] {
      var text = begin()
      waiting += bytes
      var start = 0
      while waiting.count - start >= lineBytes {
        text += Base64.text(waiting[start..<start + lineBytes]) + [0x0a]
        start += lineBytes
      }
      waiting.removeFirst(start)
      return text
    }

    mutating func end() -> [UInt8] {
      let rest = waiting.isEmpty ? [] : Base64.text(waiting, isPadded: true) + [0x0a]
      return begin() + rest + last + [0x0a]
    }

    private mutating func begin() -> [UInt8] {
      defer { hasBegun = true }
      return hasBegun ? [] : first + [0x0a]
    }
  }

  /// Decodes the text form of an age file (armor), piece by piece.
  struct Reader {
    private enum Place { case before, within, lastLine, after }

    private var place = Place.before
    private var line: [UInt8] = []

    /// Decodes the next part of the text, and returns the bytes of the lines that are complete.
    ///
    /// - Throws: `age.badHeader` for text that is not armor; `age.truncated` when the text ends without the last line
    ///   of the armor.
    mutating func bytes(of text: [UInt8], isLast: Bool) throws(AgeError) -> [UInt8] {
      var bytes: [UInt8] = []
      for byte in text {
        guard byte == 0x0a else {
          // Blank bytes before and after the armor do not count.
          if line.isEmpty, place == .before || place == .after, isBlank(byte) { continue }
          line.append(byte)
          guard line.count <= columns + 1 else { throw Self.malformed }
          continue
        }
        try take(&bytes)
      }
      guard isLast else { return bytes }
      if !line.isEmpty { try take(&bytes) }
      guard place == .after else {
        throw AgeError(
          .truncated, "the armored text ends without the line -----END AGE ENCRYPTED FILE-----")
      }
      return bytes
    }

    private mutating func take(_ bytes: inout [UInt8]) throws(AgeError) {
      if line.last == 0x0d { line.removeLast() }
      defer { line.removeAll(keepingCapacity: true) }
      switch place {
      case .before where line.isEmpty, .after where line.isEmpty: break
      case .before:
        guard line == first else { throw Self.malformed }
        place = .within
      case .within where line == last, .lastLine where line == last: place = .after
      case .within:
        guard !line.isEmpty, line.count <= columns,
          let decoded = Base64.bytes(line, isPadded: true)
        else { throw Self.malformed }
        bytes += decoded
        // A short line or padding ends the base64.
        if line.count < columns || line.last == UInt8(ascii: "=") { place = .lastLine }
      case .lastLine, .after: throw Self.malformed
      }
    }

    private static let malformed = AgeError(
      .badHeader,
      "between its first and last line, the armored text is not base64 in lines of 64 characters")
  }
}
