import Crypto
import Fixtures
import Foundation
import _CryptoExtras

/// Encrypts databases as SQLCipher's design document says, without any code of the reader.
struct EncryptedFile {
  let passphrase: String
  let usesSHA1: Bool
  let rounds: Int
  let pageSize: Int
  let clearLength: Int
  let salt: [UInt8]
  private let key: SymmetricKey
  private let codeKey: SymmetricKey

  static let reservedOfVersion4: Int32 = 80

  static let usualPassphrase = "the sea is calm"
  private static let fixedSalt = (0..<16).map { UInt8($0 * 13 + 5) }

  /// The key of the usual passphrase: most tests need it, and it takes a while.
  private static let usualKey: Result<[UInt8], any Error> = Result {
    try derivedKey(usualPassphrase, .sha512, rounds: 256_000)
  }

  private static func derivedKey(
    _ passphrase: String, _ hash: KDF.Insecure.PBKDF2.HashFunction, rounds: Int
  ) throws -> [UInt8] {
    let key = try KDF.Insecure.PBKDF2.deriveKey(
      from: Array(passphrase.utf8), salt: fixedSalt, using: hash, outputByteCount: 32,
      unsafeUncheckedRounds: rounds)
    return unsafe key.withUnsafeBytes { unsafe Array($0) }
  }

  /// The defaults of SQLCipher 4, or those of SQLCipher 3 with `usesSHA1`.
  init(
    passphrase: String = EncryptedFile.usualPassphrase, usesSHA1: Bool = false,
    pageSize: Int = 4096, clearLength: Int = 16
  ) throws {
    self.passphrase = passphrase
    self.usesSHA1 = usesSHA1
    self.pageSize = pageSize
    self.clearLength = clearLength
    rounds = usesSHA1 ? 64_000 : 256_000
    salt = Self.fixedSalt
    let hash: KDF.Insecure.PBKDF2.HashFunction = usesSHA1 ? .insecureSHA1 : .sha512
    let isUsual = passphrase == Self.usualPassphrase && !usesSHA1
    let bytes =
      try isUsual ? Self.usualKey.get() : Self.derivedKey(passphrase, hash, rounds: rounds)
    key = SymmetricKey(data: bytes)
    codeKey = try KDF.Insecure.PBKDF2.deriveKey(
      from: bytes, salt: salt.map { $0 ^ 0x3a }, using: hash, outputByteCount: 32,
      unsafeUncheckedRounds: 2)
  }

  /// The key and the salt, as `PRAGMA key` takes them.
  var rawKey: String {
    let bytes = unsafe key.withUnsafeBytes { unsafe Array($0) } + salt
    return "x'" + bytes.map { String(format: "%02x", $0) }.joined() + "'"
  }

  /// A page of a database with the same number of reserved bytes.
  func page(_ plain: [UInt8], _ number: UInt32) throws -> [UInt8] {
    let reserved = usesSHA1 ? 48 : 80
    let start = number == 1 ? clearLength : 0
    let vector = (0..<16).map { UInt8(truncatingIfNeeded: Int(number) * 31 + $0 * 7) }
    let content = plain[start..<(pageSize - reserved)]
    let hidden = try AES._CBC.encrypt(
      content, using: key, iv: AES._CBC.IV(ivBytes: vector), noPadding: true)
    let place = (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    let signed = Array(hidden) + vector + place
    let code =
      usesSHA1
      ? Array(HMAC<Insecure.SHA1>.authenticationCode(for: signed, using: codeKey))
        + [UInt8](repeating: 9, count: 12)
      : Array(HMAC<SHA512>.authenticationCode(for: signed, using: codeKey))
    let lead = start == 0 ? [] : start == 16 ? salt : Array(plain[..<start])
    return lead + hidden + vector + code
  }

  /// A whole database file.
  func database(_ plain: [UInt8]) throws -> [UInt8] {
    try stride(from: 0, to: plain.count, by: pageSize).flatMap { offset in
      try page(Array(plain[offset..<(offset + pageSize)]), UInt32(offset / pageSize + 1))
    }
  }
}
