/// Why a file cannot be decrypted. No message contains a key.
package struct CipherError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable {
    /// With this key, no page that was tried matches its authentication code, in any known format.
    case noKeyFits = "cipher.noKeyFits"
    /// The key is not in a form that SQLCipher takes.
    case badKey = "cipher.badKey"
    /// The file is too short to hold a page.
    case tooShort = "cipher.tooShort"
    /// The system's cryptographic functions failed, for example to derive the key from the passphrase.
    case failed = "cipher.failed"
  }

  package let code: Code
  /// What happened, in one sentence without a full stop.
  package let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { message }
}
