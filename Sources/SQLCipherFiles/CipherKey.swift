import ObjectModel

/// A key as SQLCipher's `PRAGMA key` takes it.
package enum CipherKey: Sendable, Equatable, Codable {
  /// The bytes of a passphrase. The key is derived from the passphrase and the salt of the file.
  case passphrase([UInt8])
  /// The 32 bytes of the key itself, and the 16 bytes of the salt if they are not in the file.
  case raw(key: [UInt8], salt: [UInt8]?)

  /// Reads a key. `x'…'` with 64 hexadecimal digits is a key, and with 96 digits a key and its salt, as in SQLCipher.
  /// Anything else is a passphrase.
  ///
  /// - Throws: ``CipherError/Code/badKey`` for an empty key, and for `x'…'` that does not hold 64 or 96 hexadecimal
  ///   digits. SQLCipher would take such an `x'…'` for a passphrase, but it is most likely a mistyped key.
  package init(_ text: [UInt8]) throws(CipherError) {
    guard !text.isEmpty else { throw CipherError(.badKey, "the key is empty") }
    guard text.count >= 3, text[0] == UInt8(ascii: "x") || text[0] == UInt8(ascii: "X"),
      text[1] == UInt8(ascii: "'"), text.last == UInt8(ascii: "'")
    else {
      self = .passphrase(text)
      return
    }
    let digits = String(decoding: text[2..<(text.count - 1)], as: UTF8.self)
    guard let bytes = Hex.bytes(digits), bytes.count == 32 || bytes.count == 48 else {
      throw CipherError(
        .badKey,
        "a key in the form x'…' has 64 hexadecimal digits, or 96 with its salt; the given key has \(digits.utf8.count) characters between the quotes"
      )
    }
    self = .raw(
      key: Array(bytes.prefix(32)), salt: bytes.count == 48 ? Array(bytes.suffix(16)) : nil)
  }
}
