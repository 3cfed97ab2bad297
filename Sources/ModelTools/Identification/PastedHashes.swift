import Foundation
package import ObjectModel

/// A version hash that was read from pasted text: either a whole hash, or a shortened hash, which lacks digits in the
/// middle or at the end.
package struct PastedHash: Sendable, Equatable {
  /// The lowercase hexadecimal digits at the start of a shortened hash; all 64 digits of a whole hash.
  package let first: String
  /// The lowercase hexadecimal digits at the end of a shortened hash. Empty for a whole hash, and if the end is not
  /// known.
  package var last = ""

  package func fits(_ hash: VersionHash) -> Bool {
    let digits = Array(hash.hex.utf8)
    return digits.starts(with: first.utf8)
      && digits.suffix(last.utf8.count).elementsEqual(last.utf8)
  }

  /// The hash with zeros in place of the digits that a shortened hash lacks, so that no model has this hash. A whole
  /// hash is unchanged. Nil if there are too many digits, or if they are not hexadecimal.
  var padded: VersionHash? {
    let missing = 2 * VersionHash.byteCount - first.utf8.count - last.utf8.count
    guard missing >= 0 else { return nil }
    return Hex.bytes(first + String(repeating: "0", count: missing) + last)
      .flatMap { VersionHash(bytes: $0) }
  }
}

/// Reads version hashes from files that people send instead of the store: a log, a mail, or a property list with a
/// store's metadata.
package enum PastedHashes {
  /// The maximum size in bytes of a file that is read: 1 MiB. Larger files are treated as files without hashes.
  package static let maximumByteCount = 1 << 20

  /// Returns the names of the entities for which `bytes` contains hashes, sorted; nil if `bytes` contains no hashes.
  package static func entityNames(in bytes: [UInt8]) -> [String]? {
    let names = hashes(in: bytes).keys
    return names.isEmpty ? nil : ByteOrder.sorted(names)
  }

  /// Returns the hashes in `bytes`, by entity name; empty if `bytes` contains no hashes. Text may show the hashes of
  /// both a store and a model, so an entity may have several hashes.
  ///
  /// In a text, a hash counts only if a name precedes it on the same line. It must have a form that Core Data's errors,
  /// a debugger, JSON, base64 or Lifeboat's tables use. Lifeboat's tables shorten hashes.
  package static func hashes(in bytes: [UInt8]) -> [String: [PastedHash]] {
    guard bytes.count <= maximumByteCount else { return [:] }
    if let list = try? PropertyList(bytes: bytes) { return hashes(in: list) }
    let isUTF16 = bytes.starts(with: [0xff, 0xfe]) || bytes.starts(with: [0xfe, 0xff])
    if isUTF16, let text = String(data: Data(bytes), encoding: .utf16) {
      var scan = TextScan(bytes: Array(text.utf8))
      return scan.hashes()
    }
    // Text in the encodings used in mails has no zero bytes. A file with a zero byte is of another kind.
    guard !bytes.contains(0) else { return [:] }
    var scan = TextScan(bytes: bytes)
    return scan.hashes()
  }

  /// Replaces shortened hashes by complete hashes. For each entity, the complete hash is looked up among the hashes of
  /// the models by the first and last digits. If the models do not have exactly one such hash, zeros replace the
  /// missing digits, so that no model matches.
  package static func completed(
    _ hashes: [String: PastedHash], by collections: [ModelCollection]
  ) -> [String: VersionHash] {
    var known: [String: Set<VersionHash>] = [:]
    for version in collections.flatMap(\.versions) {
      let made = [version.hashes, version.model?.versionHashes(honouringTombstones: true)]
      for hashes in made.compactMap({ $0 }).flatMap({ [$0.hashes, $0.unconfirmed] })
        + [version.recorded?.hashes ?? [:]]
      {
        for (name, hash) in hashes { known[name, default: []].insert(hash) }
      }
    }
    var completed: [String: VersionHash] = [:]
    for (name, pasted) in hashes {
      let fitting = (known[name] ?? []).filter(pasted.fits)
      completed[name] = fitting.count == 1 ? fitting.first : pasted.padded
    }
    return completed
  }

  private static func hashes(in list: PropertyList) -> [String: [PastedHash]] {
    let entries = list["NSStoreModelVersionHashes"]?.entries ?? list.entries ?? [:]
    var hashes: [String: [PastedHash]] = [:]
    for (name, value) in entries {
      guard let bytes = value.dataValue, bytes.count == VersionHash.byteCount else { return [:] }
      hashes[name] = [PastedHash(first: Hex.string(bytes))]
    }
    return hashes
  }
}

/// Scans text once for hashes. Where it finds a hash, it looks backwards for the name that precedes the hash.
private struct TextScan {
  let bytes: [UInt8]
  private var place = 0

  init(bytes: [UInt8]) { self.bytes = bytes }

  /// The start of the text that `Data.description` has returned since 2019. This text does not contain all bytes.
  private static let described = Array("{length = 32, bytes = 0x".utf8)
  /// The strings that stand for the omitted digits of a shortened hash.
  private static let ellipses = [Array("…".utf8), Array("...".utf8)]
  private static let minimumDigits = 12
  /// The bytes that may separate the name of an entity from its hash in pasted text.
  private static let between = Set(" \t\"'=:<".utf8)
  /// Words, in lower case, that may stand before a hash of something other than an entity.
  private static let otherHashes: Set = ["sha", "sha256", "sha-256", "digest", "checksum", "hash"]
  /// The maximum number of bytes between the name of an entity and its hash in pasted text.
  private static let reach = 64
  private static let maximumNameLength = 256

  mutating func hashes() -> [String: [PastedHash]] {
    var hashes: [String: [PastedHash]] = [:]
    while place < bytes.count {
      let start = place
      guard let hash = hash() else {
        place = max(place, start + 1)
        continue
      }
      guard let name = name(before: start), !(hashes[name] ?? []).contains(hash) else { continue }
      hashes[name, default: []].append(hash)
    }
    return hashes
  }

  /// Reads the hash that begins at the current position of the text; nil if no hash begins there. Moves the position
  /// past the word that was examined.
  private mutating func hash() -> PastedHash? {
    let rest = bytes[place...]
    if rest.starts(with: Self.described) {
      place += Self.described.count
      return pasted(digits(areSpaced: true))
    }
    // In its old form, the description of `Data` is in angle brackets and has a space after every four bytes.
    let isSpaced = place > 0 && bytes[place - 1] == UInt8(ascii: "<")
    if place > 0, Self.isWordByte(bytes[place - 1]) { return nil }
    if rest.starts(with: [UInt8(ascii: "0"), UInt8(ascii: "x")]) { place += 2 }
    let start = place
    let first = digits(areSpaced: isSpaced)
    if isAtEndOfWord { return pasted(first) }
    // The word is not hexadecimal. Its rest may be base64.
    while place < bytes.count, Self.isWordByte(bytes[place]), bytes[place] < 0x80 || !isCutShort {
      place += 1
    }
    // In base64, 32 bytes are 43 characters and one character of padding.
    guard place - start == 43 else { return nil }
    return Data(base64Encoded: Data(bytes[start..<place] + [UInt8(ascii: "=")])).map {
      PastedHash(first: Hex.string($0))
    }
  }

  /// Reads hexadecimal digits and returns them in lower case. If `areSpaced` is true, then spaces between the digits
  /// are skipped.
  private mutating func digits(areSpaced: Bool) -> [UInt8] {
    var digits: [UInt8] = []
    while place < bytes.count {
      let byte = bytes[place]
      if Hex.digit(byte) != nil {
        digits.append(byte | 0x20)
      } else if !areSpaced || byte != UInt8(ascii: " ") {
        break
      }
      place += 1
    }
    return digits
  }

  private var isAtEndOfWord: Bool {
    place == bytes.count || isCutShort
      || !Self.isWordByte(bytes[place]) && bytes[place] != UInt8(ascii: "=")
  }

  /// Makes a hash from its first digits. If an ellipsis follows, then the digits after the ellipsis are read too.
  /// Returns nil if the number of digits fits neither a whole nor a shortened hash.
  private mutating func pasted(_ first: [UInt8]) -> PastedHash? {
    let length = 2 * VersionHash.byteCount
    let text = String(decoding: first, as: UTF8.self)
    if first.count == length { return PastedHash(first: text) }
    guard first.count >= Self.minimumDigits, first.count < length,
      let gap = Self.ellipses.first(where: { bytes[place...].starts(with: $0) })
    else { return nil }
    place += gap.count
    let last = digits(areSpaced: true)
    guard first.count + last.count <= length else { return nil }
    return PastedHash(first: text, last: String(decoding: last, as: UTF8.self))
  }

  private var isCutShort: Bool {
    Self.ellipses.contains { bytes[place...].starts(with: $0) }
  }

  private func name(before start: Int) -> String? {
    var end = start
    let limit = max(0, start - Self.reach)
    while end > limit, Self.between.contains(bytes[end - 1]) { end -= 1 }
    guard end < start, end > limit else { return nil }
    var first = end
    while first > 0, end - first <= Self.maximumNameLength, Self.isNameByte(bytes[first - 1]) {
      first -= 1
    }
    guard first < end, end - first <= Self.maximumNameLength,
      !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[first])
    else { return nil }
    let text = String(decoding: bytes[first..<end], as: UTF8.self)
    // Text that was copied from a web page may be indented with spaces that are not ASCII.
    let name = String(
      text.unicodeScalars.drop { $0.properties.isWhitespace }.map(Character.init))
    return Self.otherHashes.contains(name.lowercased()) ? nil : name
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20) || byte == 0x5f
      || byte >= 0x80
  }

  private static func isWordByte(_ byte: UInt8) -> Bool {
    isNameByte(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/")
  }
}
