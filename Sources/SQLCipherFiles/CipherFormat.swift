/// How SQLCipher encrypts the pages of a file (https://www.zetetic.net/sqlcipher/design/). The file itself does not
/// record the format.
///
/// Each page is encrypted by itself with AES-256 in CBC mode. The reserved bytes at the end of the page hold the
/// initialization vector and then an authentication code (HMAC). The code is computed over the encrypted bytes, the
/// vector and the page number.
package struct CipherFormat: Sendable, Equatable {
  /// The hash function of the key derivation and of the authentication codes.
  package enum Hash: Sendable { case sha1, sha512 }

  /// The major version of SQLCipher that has these values as its defaults.
  package let version: Int
  package let hash: Hash
  /// The number of rounds of PBKDF2 by which a key is derived from a passphrase.
  package let rounds: Int
  /// The size of a page in bytes; encryption does not change it.
  package var pageSize: Int
  /// The number of bytes at the start of the file that are not encrypted. These bytes are the salt or, if
  /// `cipher_plaintext_header_size` is set, a part of SQLite's header.
  package var clearLength = 16

  /// The number of rounds of PBKDF2 by which the key of the authentication codes is derived from the encryption key
  /// (`fast_kdf_iter`).
  static let codeRounds = 2
  /// The value with which each byte of the salt is XORed to derive the key of the authentication codes.
  static let codeSaltMask: UInt8 = 0x3a
  static let vectorLength = 16

  /// The length of an authentication code in bytes.
  var codeLength: Int { hash == .sha1 ? 20 : 64 }

  /// The size in bytes of the reserved area at the end of each page: vector and code, rounded up to whole AES blocks.
  package var reservedLength: Int { (Self.vectorLength + codeLength + 15) / 16 * 16 }

  /// The defaults of the SQLCipher versions that authenticate pages, newest first. Each has the default page size of
  /// its version.
  package static let known = [
    CipherFormat(version: 4, hash: .sha512, rounds: 256_000, pageSize: 4096),
    CipherFormat(version: 3, hash: .sha1, rounds: 64_000, pageSize: 1024),
    CipherFormat(version: 2, hash: .sha1, rounds: 4000, pageSize: 1024),
  ]

  /// This format with each page size that SQLite allows, except 512 bytes; the format's own page size comes first. A
  /// page of 512 bytes would have too little usable space beside the reserved bytes (file format, section 1.3.4).
  var inAllPageSizes: [CipherFormat] {
    let others = (10...16).map { 1 << $0 }.filter { $0 != pageSize }
    return ([pageSize] + others).map { size in
      var format = self
      format.pageSize = size
      return format
    }
  }
}
