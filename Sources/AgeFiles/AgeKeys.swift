import Crypto
import Foundation

/// A public key to which files are encrypted: `age1…` (age-encryption.org/v1, "The X25519 recipient type").
package struct AgeRecipient: Sendable, Hashable {
  /// The point on the curve, 32 bytes.
  let bytes: [UInt8]

  init(bytes: [UInt8]) { self.bytes = bytes }

  /// Reads a public key.
  ///
  /// - Throws: `age.badKey`.
  package init(_ text: String) throws(AgeError) {
    guard let bytes = Bech32.bytes(text, named: "age"), bytes.count == 32,
      text.utf8.first == UInt8(ascii: "a")
    else {
      let isSecret = Bech32.bytes(text, named: AgeIdentity.name) != nil
      throw AgeError(
        .badKey,
        isSecret
          ? "the text is an age secret key; a public key is expected"
          : "the text is not an age public key; such a key begins with age1")
    }
    self.bytes = bytes
  }

  package var text: String { Bech32.text("age", bytes) }
}

/// A secret key: `AGE-SECRET-KEY-1…`. It opens the files that were encrypted to its public key, ``recipient``.
package struct AgeIdentity: Sendable {
  let key: Curve25519.KeyAgreement.PrivateKey
  static let name = "age-secret-key-"

  /// Makes a new key. To test the new key, a file key is encrypted to it and decrypted again.
  ///
  /// - Throws: `age.failed` when the new key does not open what is encrypted to it.
  package init() throws(AgeError) {
    key = Curve25519.KeyAgreement.PrivateKey()
    let fileKey = FileKey()
    let stanza = try Stanza(wrapping: fileKey, to: recipient)
    guard try stanza.fileKey(self) == fileKey else {
      throw AgeError(
        .failed,
        "the new key failed its test: the secret key does not decrypt what was encrypted to the public key"
      )
    }
  }

  /// Reads a secret key.
  ///
  /// - Throws: `age.badKey`.
  package init(_ text: String) throws(AgeError) {
    guard let bytes = Bech32.bytes(text, named: Self.name), bytes.count == 32,
      text.utf8.first == UInt8(ascii: "A"),
      let key = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: bytes)
    else {
      throw AgeError(
        .badKey, "the text is not an age secret key; such a key begins with AGE-SECRET-KEY-1")
    }
    self.key = key
  }

  package var recipient: AgeRecipient {
    AgeRecipient(bytes: Array(key.publicKey.rawRepresentation))
  }

  package var text: String { Bech32.text(Self.name, Array(key.rawRepresentation)).uppercased() }
}

/// Reads files of keys: one key on each line. Empty lines, and comments that begin with `#`, are skipped.
package enum AgeKeyFile {
  /// The maximum size, in bytes, that callers accept for a key file: 1 MiB.
  package static let maxBytes = 1 << 20

  /// Reads the public keys in the bytes of a file.
  ///
  /// - Throws: `age.badKey` for a line that is not a key, with the number of the line, and for a file without a key.
  package static func recipients(_ bytes: [UInt8]) throws(AgeError) -> [AgeRecipient] {
    try keys(bytes) { text throws(AgeError) in try AgeRecipient(text) }
  }

  /// Reads the secret keys in the bytes of a file.
  ///
  /// - Throws: `age.badKey` for a line that is not a key, with the number of the line, and for a file without a key.
  package static func identities(_ bytes: [UInt8]) throws(AgeError) -> [AgeIdentity] {
    try keys(bytes) { text throws(AgeError) in try AgeIdentity(text) }
  }

  private static func keys<Key>(_ bytes: [UInt8], _ read: (String) throws(AgeError) -> Key)
    throws(AgeError) -> [Key]
  {
    var keys: [Key] = []
    let lines = bytes.split(separator: 0x0a, omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let line = line.last == 0x0d ? line.dropLast() : line
      guard let first = line.first, first != UInt8(ascii: "#") else { continue }
      do throws(AgeError) {
        keys.append(try read(String(decoding: line, as: UTF8.self)))
      } catch {
        throw AgeError(error.code, "line \(index + 1): \(error.message)")
      }
    }
    guard !keys.isEmpty else { throw AgeError(.badKey, "the file holds no key") }
    return keys
  }
}
