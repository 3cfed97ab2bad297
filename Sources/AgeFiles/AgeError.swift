/// Why a file cannot be encrypted or decrypted. No message contains a key.
package struct AgeError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable {
    /// The file does not begin like an age file.
    case notEncrypted = "age.notEncrypted"
    /// The header breaks a rule of the format.
    case badHeader = "age.badHeader"
    /// The header was changed after it was written.
    case headerChanged = "age.headerChanged"
    /// The content was changed after it was written.
    case contentChanged = "age.contentChanged"
    /// The file ends too early.
    case truncated = "age.truncated"
    /// None of the given keys opens the file.
    case noKeyFits = "age.noKeyFits"
    /// To derive a key from the passphrase would take more work than the limit allows.
    case tooMuchWork = "age.tooMuchWork"
    /// A key cannot be used: a string is not a key, a key file contains no key, a passphrase is empty, or there are no
    /// recipients or too many of them.
    case badKey = "age.badKey"
    /// The system could not do the computation.
    case failed = "age.failed"
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
