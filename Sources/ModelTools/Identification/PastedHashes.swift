import ObjectModel

/// Bare version hashes, as people send them: in a log, in a mail, in a property list of a store's metadata.
///
/// Used to explain such a file when a store or model is expected.
package enum PastedHashes {
  /// The most bytes of a file that are looked at: 1 MiB.
  package static let maximumByteCount = 1 << 20

  /// The entities whose hashes the bytes hold, sorted; nil when they hold none.
  ///
  /// In text, a hash counts if a name precedes it on its line and it has the form used in Core Data's errors, a
  /// debugger, JSON, base64 or our own tables, which shorten it.
  package static func entityNames(in bytes: [UInt8]) -> [String]? {
    guard bytes.count <= maximumByteCount else { return nil }
    let names: Set<String>
    if let list = try? PropertyList(bytes: bytes) {
      names = entityNames(in: list)
    } else {
      // Text in the encodings that people mail has no zero bytes; files of other kinds have.
      guard !bytes.contains(0) else { return nil }
      var scan = TextScan(bytes: bytes)
      names = scan.entityNames()
    }
    return names.isEmpty ? nil : ByteOrder.sorted(names)
  }

  private static func entityNames(in list: PropertyList) -> Set<String> {
    let entries = list["NSStoreModelVersionHashes"]?.entries ?? list.entries ?? [:]
    let areHashes = entries.values.allSatisfy { $0.dataValue?.count == VersionHash.byteCount }
    return areHashes ? Set(entries.keys) : []
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

  mutating func entityNames() -> Set<String> {
    var names: Set<String> = []
    while place < bytes.count {
      let start = place
      guard isHash() else {
        place = max(place, start + 1)
        continue
      }
      if let name = name(before: start) { names.insert(name) }
    }
    return names
  }

  /// Whether a hash begins here; moves past the word that was looked at.
  private mutating func isHash() -> Bool {
    let rest = bytes[place...]
    if rest.starts(with: Self.described) {
      place += Self.described.count
      return true
    }
    // Old descriptions of `Data`, in angle brackets, have a space after every four bytes.
    let isSpaced = place > 0 && bytes[place - 1] == UInt8(ascii: "<")
    if place > 0, Self.isWordByte(bytes[place - 1]) { return false }
    var digits = 0
    var length = 0
    var isHexadecimal = true
    if rest.starts(with: [UInt8(ascii: "0"), UInt8(ascii: "x")]) { place += 2 }
    while place < bytes.count {
      let byte = bytes[place]
      if isSpaced, byte == UInt8(ascii: " "), isHexadecimal {
        place += 1
        continue
      }
      guard Self.isWordByte(byte), byte < 0x80 || !isCutShort else { break }
      length += 1
      if Self.isHexDigit(byte) { digits += 1 } else { isHexadecimal = false }
      place += 1
    }
    // Base64 of 32 bytes: 43 characters and one of padding.
    if length == 43, place < bytes.count, bytes[place] == UInt8(ascii: "=") { return true }
    guard isHexadecimal else { return false }
    return digits == 2 * VersionHash.byteCount
      || digits >= Self.minimumDigits && isCutShort
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
    let name = String(decoding: bytes[first..<end], as: UTF8.self)
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
