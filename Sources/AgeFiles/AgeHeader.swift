import Crypto
import Foundation

/// The people to whom a file is encrypted.
package enum AgeRecipients: Sendable, Hashable {
  /// The owners of the secret keys for these public keys; at least one key.
  case keys([AgeRecipient])
  case passphrase([UInt8])
}

/// The secrets with which a reader tries to open a file.
package struct AgeSecrets: Sendable {
  package var identities: [AgeIdentity] = []
  package var passphrase: [UInt8]?
  /// Whether there is neither a secret key nor a passphrase.
  package var isEmpty: Bool { identities.isEmpty && passphrase == nil }

  package init() {}
}

/// The header of an age file: a line for the version, a stanza for each recipient, and an authentication code
/// (age-encryption.org/v1, "Header").
struct AgeHeader: Sendable {
  let stanzas: [Stanza]
  /// The header up to and including `---`. The authentication code is computed over these bytes.
  private let covered: [UInt8]
  private let code: [UInt8]
  /// The length of the whole header in bytes.
  let byteCount: Int

  static let versionLine = Array("age-encryption.org/v1\n".utf8)
  /// The maximum size, in bytes, of the header of an age file. It has room for hundreds of recipients.
  static let maxBytes = 128 << 10
  private static let end = Array("---".utf8)
  private static let columns = 64

  // MARK: - Writing

  /// Makes a header that contains the file key, encrypted to each recipient.
  init(_ fileKey: FileKey, for recipients: AgeRecipients, workFactor: Int) throws(AgeError) {
    var stanzas: [Stanza] = []
    switch recipients {
    case .keys(let keys):
      guard !keys.isEmpty else { throw AgeError(.badKey, "there is no recipient to encrypt to") }
      for key in keys { stanzas.append(try Stanza(wrapping: fileKey, to: key)) }
    case .passphrase(let passphrase):
      guard !passphrase.isEmpty else { throw AgeError(.badKey, "the passphrase is empty") }
      stanzas.append(
        try Stanza(wrapping: fileKey, passphrase: passphrase, workFactor: workFactor))
    }
    let text = Self.text(stanzas)
    self.stanzas = stanzas
    covered = text
    code = Self.code(of: text, fileKey)
    byteCount = text.count + 1 + Base64.text(code).count + 1
    guard byteCount <= Self.maxBytes else {
      throw AgeError(
        .badKey, "the header of an age file has no room for \(stanzas.count) recipients")
    }
  }

  /// Returns the size in bytes of an age file's header for these recipients.
  static func size(for recipients: AgeRecipients) -> Int {
    let stanzas =
      switch recipients {
      case .keys(let keys): keys.map { _ in Stanza.x25519Sample }
      case .passphrase: [Stanza.scryptSample]
      }
    return text(stanzas).count + 1 + Base64.text([UInt8](repeating: 0, count: 32)).count + 1
  }

  /// Returns the text of a header up to and including `---`, without the authentication code.
  private static func text(_ stanzas: [Stanza]) -> [UInt8] {
    var text = versionLine
    for stanza in stanzas {
      text += "->".utf8
      for argument in stanza.arguments { text += [UInt8(ascii: " ")] + argument }
      text.append(0x0a)
      // The last line of a body is shorter than the others, and may be empty.
      let body = Base64.text(stanza.body)
      var start = 0
      repeat {
        let line = body[start..<min(start + columns, body.count)]
        text += line + [0x0a]
        start += columns
      } while start <= body.count
    }
    return text + end
  }

  var text: [UInt8] { covered + [UInt8(ascii: " ")] + Base64.text(code) + [0x0a] }

  // MARK: - Reading

  /// Reads the header at the start of a file. `lead` is the first ``maxBytes`` bytes of the file, or the whole of a
  /// shorter file.
  init(_ lead: [UInt8]) throws(AgeError) {
    guard lead.starts(with: Self.versionLine) else {
      throw AgeError(
        .notEncrypted,
        "the file is not an age file of version 1: its first line is not age-encryption.org/v1")
    }
    var place = Self.versionLine.count
    func line() throws(AgeError) -> ArraySlice<UInt8> {
      guard let end = lead[place...].firstIndex(of: 0x0a) else {
        throw lead.count < Self.maxBytes
          ? AgeError(.truncated, "the file is cut off: it ends within its header")
          : AgeError(.badHeader, "the header has more than \(Self.maxBytes) bytes")
      }
      defer { place = end + 1 }
      return lead[place..<end]
    }
    var stanzas: [Stanza] = []
    while true {
      let start = place
      let head = try line()
      if head.starts(with: Self.end) {
        let rest = head.dropFirst(Self.end.count)
        guard rest.first == UInt8(ascii: " "), let code = Base64.bytes(rest.dropFirst()),
          code.count == 32, !stanzas.isEmpty
        else { throw AgeError(.badHeader, "the last line of the header is malformed") }
        self.stanzas = stanzas
        self.code = code
        covered = Array(lead[..<(start + Self.end.count)])
        byteCount = place
        break
      }
      stanzas.append(try Self.stanza(head, line))
    }
    guard stanzas.count == 1 || !stanzas.contains(where: { $0.type == Stanza.scrypt }) else {
      throw AgeError(
        .badHeader,
        "the header has both a passphrase and other recipients; the age format forbids this"
      )
    }
  }

  private static func stanza(
    _ head: ArraySlice<UInt8>, _ line: () throws(AgeError) -> ArraySlice<UInt8>
  ) throws(AgeError) -> Stanza {
    let parts = head.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    guard parts.count >= 2, parts[0].elementsEqual("->".utf8),
      parts.dropFirst().allSatisfy({ !$0.isEmpty && $0.allSatisfy { (0x21...0x7e).contains($0) } })
    else {
      throw AgeError(.badHeader, "a stanza of the header does not begin with -> and a type")
    }
    var body: [UInt8] = []
    while true {
      let text = try line()
      guard text.count <= columns, let bytes = Base64.bytes(text) else {
        throw AgeError(.badHeader, "the body of a stanza is not base64 in lines of 64 characters")
      }
      body += bytes
      if text.count < columns { break }
    }
    return Stanza(arguments: parts.dropFirst().map(Array.init), body: body)
  }

  /// Returns the file key from the first stanza that one of the secrets opens.
  ///
  /// - Throws: `age.noKeyFits`, `age.headerChanged`, `age.tooMuchWork`, `age.badHeader`.
  func fileKey(_ secrets: AgeSecrets) throws(AgeError) -> FileKey {
    guard let fileKey = try unwrapped(secrets) else { throw noKeyFits(secrets) }
    guard
      HMAC<SHA256>.isValidAuthenticationCode(
        code, authenticating: covered, using: Self.codeKey(fileKey))
    else { throw AgeError(.headerChanged, "the header was changed after it was written") }
    return fileKey
  }

  private func unwrapped(_ secrets: AgeSecrets) throws(AgeError) -> FileKey? {
    for stanza in stanzas {
      if stanza.type == Stanza.scrypt {
        if let passphrase = secrets.passphrase,
          let fileKey = try stanza.fileKey(passphrase: passphrase)
        {
          return fileKey
        }
      } else {
        for identity in secrets.identities {
          if let fileKey = try stanza.fileKey(identity) { return fileKey }
        }
      }
    }
    return nil
  }

  private func noKeyFits(_ secrets: AgeSecrets) -> AgeError {
    if stanzas[0].type == Stanza.scrypt {
      return AgeError(
        .noKeyFits,
        secrets.passphrase == nil
          ? "the file is encrypted with a passphrase, and no passphrase was given"
          : "the passphrase does not open the file")
    }
    let count = stanzas.count == 1 ? "one key" : "\(stanzas.count) keys"
    return AgeError(
      .noKeyFits,
      "the file is encrypted to \(count), and "
        + (secrets.identities.isEmpty
          ? "no secret key was given" : "none of the given keys opens the file"))
  }

  private static func codeKey(_ fileKey: FileKey) -> SymmetricKey {
    fileKey.derived(salt: [], info: "header")
  }

  private static func code(of text: [UInt8], _ fileKey: FileKey) -> [UInt8] {
    Array(HMAC<SHA256>.authenticationCode(for: text, using: codeKey(fileKey)))
  }
}
