import ObjectModel

/// A key as SQLCipher's `PRAGMA key` takes it.
package enum CipherKey: Sendable, Equatable, Codable {
  /// The bytes of a passphrase; the key is derived from them and the salt of the file.
  case passphrase([UInt8])
  /// The 32 bytes of the key itself, and the 16 bytes of the salt if they are not in the file.
  case raw(key: [UInt8], salt: [UInt8]?)

  /// Reads a key. `x'…'` with 64 or 96 hexadecimal digits is a key without or with its salt, as in SQLCipher; anything
  /// else is a passphrase.
  ///
  /// - Throws: ``CipherError/Code/badKey`` for no bytes, and for `x'…'` with another number of digits: SQLCipher would
  ///   take it for a passphrase, but hardly anybody means that.
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
        "a key in the form x'…' has 64 hexadecimal digits, or 96 with its salt; this one has \(digits.utf8.count) characters"
      )
    }
    self = .raw(
      key: Array(bytes.prefix(32)), salt: bytes.count == 48 ? Array(bytes.suffix(16)) : nil)
  }
}
