import Foundation
package import ObjectModel

/// A version hash as somebody pasted it: whole, or with its middle left out.
package struct PastedHash: Sendable, Equatable {
  /// The hexadecimal digits that it begins with, in lower case; 64 of a whole hash.
  package let first: String
  /// The digits that it ends with; empty when they are not known, and in a whole hash.
  package var last = ""

  /// Whether a hash may be the one that was pasted.
  package func fits(_ hash: VersionHash) -> Bool {
    let digits = Array(hash.hex.utf8)
    return digits.starts(with: first.utf8)
      && digits.suffix(last.utf8.count).elementsEqual(last.utf8)
  }

  /// The hash itself, or, when only a part of it is known, one that has this part and zeroes: no model has it.
  var padded: VersionHash? {
    let missing = 2 * VersionHash.byteCount - first.utf8.count - last.utf8.count
    guard missing >= 0 else { return nil }
    return Hex.bytes(first + String(repeating: "0", count: missing) + last)
      .flatMap { VersionHash(bytes: $0) }
  }
}

/// Bare version hashes, as people send them: in a log, in a mail, in a property list of a store's metadata.
package enum PastedHashes {
  /// The most bytes of a file that are looked at: 1 MiB.
  package static let maximumByteCount = 1 << 20

  /// The entities whose hashes the bytes hold, sorted; nil when they hold none.
  package static func entityNames(in bytes: [UInt8]) -> [String]? {
    let names = hashes(in: bytes).keys
    return names.isEmpty ? nil : ByteOrder.sorted(names)
  }

  /// The hashes that the bytes hold, by entity. Several hashes of one entity are several sets, as in a text that shows
  /// a store's hashes and a model's.
  ///
  /// In text, a hash counts if a name precedes it on its line and it has the form used in Core Data's errors, a
  /// debugger, JSON, base64 or our own tables, which shorten it.
  package static func hashes(in bytes: [UInt8]) -> [String: [PastedHash]] {
    guard bytes.count <= maximumByteCount else { return [:] }
    if let list = try? PropertyList(bytes: bytes) { return hashes(in: list) }
    let isUTF16 = bytes.starts(with: [0xff, 0xfe]) || bytes.starts(with: [0xfe, 0xff])
    if isUTF16, let text = String(data: Data(bytes), encoding: .utf16) {
      var scan = TextScan(bytes: Array(text.utf8))
      return scan.hashes()
    }
    // Text in the encodings that people mail has no zero bytes; files of other kinds have.
    guard !bytes.contains(0) else { return [:] }
    var scan = TextScan(bytes: bytes)
    return scan.hashes()
  }

  /// Hashes of which every one is known, with the help of models: a part of a hash is taken for the hash of a model that
  /// has this part, if there is only one.
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

/// Scans text once, and looks back from each hash to the name before it.
private struct TextScan {
  let bytes: [UInt8]
  private var place = 0

  init(bytes: [UInt8]) { self.bytes = bytes }

  /// How `Data` is described since 2019, with its middle left out.
  private static let described = Array("{length = 32, bytes = 0x".utf8)
  /// What follows the first digits of a shortened hash, and the minimum number of these digits.
  private static let ellipses = [Array("…".utf8), Array("...".utf8)]
  private static let minimumDigits = 12
  /// What comes between a name and its hash.
  private static let between = Set(" \t\"'=:<".utf8)
  /// Names that precede hashes of other things.
  private static let otherHashes: Set = ["sha", "sha256", "sha-256", "digest", "checksum", "hash"]
  /// The maximum number of bytes between a name and its hash, and in a name.
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

  /// The hash that begins here; moves past the word that was looked at.
  private mutating func hash() -> PastedHash? {
    let rest = bytes[place...]
    if rest.starts(with: Self.described) {
      place += Self.described.count
      return pasted(digits(areSpaced: true))
    }
    // Old descriptions of `Data`, in angle brackets, have a space after every four bytes.
    let isSpaced = place > 0 && bytes[place - 1] == UInt8(ascii: "<")
    if place > 0, Self.isWordByte(bytes[place - 1]) { return nil }
    if rest.starts(with: [UInt8(ascii: "0"), UInt8(ascii: "x")]) { place += 2 }
    let start = place
    let first = digits(areSpaced: isSpaced)
    if isAtEndOfWord { return pasted(first) }
    // Not hexadecimal: the rest of the word may be base64.
    while place < bytes.count, Self.isWordByte(bytes[place]), bytes[place] < 0x80 || !isCutShort {
      place += 1
    }
    // 32 bytes: 43 characters and one of padding.
    guard place - start == 43 else { return nil }
    return Data(base64Encoded: Data(bytes[start..<place] + [UInt8(ascii: "=")])).map {
      PastedHash(first: Hex.string($0))
    }
  }

  /// Reads hexadecimal digits, with spaces between them if they are written so.
  private mutating func digits(areSpaced: Bool) -> [UInt8] {
    var digits: [UInt8] = []
    while place < bytes.count {
      let byte = bytes[place]
      if Self.isHexDigit(byte) {
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

  /// A whole hash, or the digits of one that is cut short here, with those after the gap; nil for other numbers of digits.
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

  /// Whether the rest of a hash is left out here.
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
    // Web pages indent with spaces that are not ASCII.
    let name = String(
      text.unicodeScalars.drop { $0.properties.isWhitespace }.map(Character.init))
    return Self.otherHashes.contains(name.lowercased()) ? nil : name
  }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20)
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20) || byte == 0x5f
      || byte >= 0x80
  }

  /// A byte of hexadecimal, base64 or a name.
  private static func isWordByte(_ byte: UInt8) -> Bool {
    isNameByte(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/")
  }
}
