import Crypto
import Foundation
import _CryptoExtras

/// The key from which the keys for a file's header and content are derived: 16 random bytes. The header has a stanza
/// for each recipient, which contains the file key in encrypted ("wrapped") form.
struct FileKey: Sendable, Equatable {
  let bytes: [UInt8]
  static let byteCount = 16

  init() { self.init(bytes: RandomBytes.make(Self.byteCount)) }

  init(bytes: [UInt8]) { self.bytes = bytes }

  /// Derives a key of 32 bytes from the file key (HKDF with SHA-256, RFC 5869).
  func derived(salt: [UInt8], info: String) -> SymmetricKey {
    HKDF<SHA256>.deriveKey(
      inputKeyMaterial: SymmetricKey(data: bytes), salt: salt, info: Array(info.utf8),
      outputByteCount: 32)
  }
}

enum RandomBytes {
  /// Returns random bytes from the system's generator, which is fit for keys.
  static func make(_ count: Int) -> [UInt8] {
    var random = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
  }
}

/// A part of the header that holds the file key for one recipient (age-encryption.org/v1, "Header").
struct Stanza: Sendable, Equatable {
  /// The arguments of the stanza, in printable ASCII. The first argument is the type of the stanza, such as `X25519`.
  let arguments: [[UInt8]]
  let body: [UInt8]

  static let x25519 = Array("X25519".utf8)
  static let scrypt = Array("scrypt".utf8)
  /// The work factor of scrypt for a passphrase in new files, as the exponent of a power of two: 2^18 blocks of 1 KiB,
  /// which take 256 MiB of memory and about a second, as in `age`.
  static let workFactor = 18
  /// The maximum work factor of scrypt that is accepted when a file is opened, as the exponent of a power of two: 2^20
  /// blocks of 1 KiB, which take 1 GiB of memory and some seconds.
  static let maxWorkFactor = 20
  private static let label = "age-encryption.org/v1/"
  private static let wrappedBytes = FileKey.byteCount + 16

  /// Sample stanzas that are as long as the stanzas of new files. They are used to compute the size of a header.
  static let x25519Sample = Stanza(
    arguments: [x25519, Base64.text([UInt8](repeating: 0, count: 32))],
    body: [UInt8](repeating: 0, count: wrappedBytes))
  static let scryptSample = Stanza(
    arguments: [
      scrypt, Base64.text([UInt8](repeating: 0, count: 16)), Array(String(workFactor).utf8),
    ], body: x25519Sample.body)

  var type: [UInt8] { arguments.first ?? [] }

  init(arguments: [[UInt8]], body: [UInt8]) {
    self.arguments = arguments
    self.body = body
  }

  // MARK: - Wrapping

  init(wrapping fileKey: FileKey, to recipient: AgeRecipient) throws(AgeError) {
    let ephemeral = Curve25519.KeyAgreement.PrivateKey()
    let share = Array(ephemeral.publicKey.rawRepresentation)
    let key = try Self.key(ephemeral, with: recipient.bytes, salt: share + recipient.bytes)
    self.init(
      arguments: [Self.x25519, Base64.text(share)], body: try Self.sealed(fileKey, key))
  }

  init(wrapping fileKey: FileKey, passphrase: [UInt8], workFactor: Int) throws(AgeError) {
    let salt = RandomBytes.make(16)
    let key = try Self.key(passphrase: passphrase, salt, workFactor)
    self.init(
      arguments: [Self.scrypt, Base64.text(salt), Array(String(workFactor).utf8)],
      body: try Self.sealed(fileKey, key))
  }

  // MARK: - Unwrapping

  /// Decrypts the file key with a secret key; returns nil when the stanza is not for this secret key.
  ///
  /// - Throws: `age.badHeader` when the stanza breaks a rule of its type.
  func fileKey(_ identity: AgeIdentity) throws(AgeError) -> FileKey? {
    guard type == Self.x25519 else { return nil }
    guard arguments.count == 2, let share = Base64.bytes(arguments[1]), share.count == 32,
      body.count == Self.wrappedBytes
    else { throw Self.malformed }
    let key = try Self.key(identity.key, with: share, salt: share + identity.recipient.bytes)
    return opened(key)
  }

  /// Decrypts the file key with a passphrase; returns nil when the passphrase is wrong.
  ///
  /// - Throws: `age.badHeader` when the stanza breaks a rule of its type; `age.tooMuchWork`.
  func fileKey(passphrase: [UInt8]) throws(AgeError) -> FileKey? {
    guard arguments.count == 3, let salt = Base64.bytes(arguments[1]), salt.count == 16,
      body.count == Self.wrappedBytes, (1...2).contains(arguments[2].count),
      arguments[2].first != UInt8(ascii: "0"),
      arguments[2].allSatisfy({ (0x30...0x39).contains($0) }),
      let workFactor = Int(String(decoding: arguments[2], as: UTF8.self))
    else { throw Self.malformed }
    guard workFactor <= Self.maxWorkFactor else {
      throw AgeError(
        .tooMuchWork,
        "opening the file with its passphrase would need 2^\(workFactor) KiB of memory; the limit is 2^\(Self.maxWorkFactor) KiB"
      )
    }
    return opened(try Self.key(passphrase: passphrase, salt, workFactor))
  }

  private static let malformed = AgeError(
    .badHeader, "a stanza of the header is malformed")

  // MARK: - Keys

  private static func key(
    _ secret: Curve25519.KeyAgreement.PrivateKey, with point: [UInt8], salt: [UInt8]
  ) throws(AgeError) -> SymmetricKey {
    guard let point = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: point),
      let shared = try? secret.sharedSecretFromKeyAgreement(with: point),
      // A point of low order gives a secret of zeros, which everybody knows.
      unsafe shared.withUnsafeBytes({ unsafe $0.contains { $0 != 0 } })
    else { throw AgeError(.badHeader, "a public key cannot be used for encryption") }
    return shared.hkdfDerivedSymmetricKey(
      using: SHA256.self, salt: salt, sharedInfo: Array((label + "X25519").utf8),
      outputByteCount: 32)
  }

  private static func key(passphrase: [UInt8], _ salt: [UInt8], _ workFactor: Int)
    throws(AgeError) -> SymmetricKey
  {
    do {
      return try KDF.Scrypt.deriveKey(
        from: passphrase, salt: Array((label + "scrypt").utf8) + salt, outputByteCount: 32,
        rounds: 1 << workFactor, blockSize: 8, parallelism: 1)
    } catch {
      throw AgeError(.failed, "the passphrase could not be turned into a key")
    }
  }

  private static func sealed(_ fileKey: FileKey, _ key: SymmetricKey) throws(AgeError) -> [UInt8] {
    do {
      let box = try ChaChaPoly.seal(fileKey.bytes, using: key, nonce: zeroNonce())
      return Array(box.ciphertext + box.tag)
    } catch {
      throw AgeError(.failed, "the file key could not be encrypted")
    }
  }

  private func opened(_ key: SymmetricKey) -> FileKey? {
    guard let nonce = try? Self.zeroNonce(),
      let box = try? ChaChaPoly.SealedBox(
        nonce: nonce, ciphertext: body.dropLast(16), tag: body.suffix(16)),
      let bytes = try? ChaChaPoly.open(box, using: key)
    else { return nil }
    return FileKey(bytes: Array(bytes))
  }

  /// Returns the nonce for wrapping a file key: zeros. Each wrapping key is used only once, so a fixed nonce is safe.
  private static func zeroNonce() throws -> ChaChaPoly.Nonce {
    try ChaChaPoly.Nonce(data: [UInt8](repeating: 0, count: 12))
  }
}
