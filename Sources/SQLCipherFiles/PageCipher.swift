import Crypto
package import SQLiteFile
import _CryptoExtras

/// Decrypts the pages of one file.
package struct PageCipher: Sendable {
  package struct Page: Sendable {
    /// The decrypted page. The reserved bytes at its end are unchanged.
    package let bytes: [UInt8]
    /// Whether the page matches its authentication code. If it does, the page is as SQLCipher wrote it. If not, some
    /// bytes are wrong. For example, one changed bit in the file makes the 16 bytes of its AES block wrong, and one bit
    /// of the next block.
    package let isAuthentic: Bool
  }

  /// How the file is encrypted.
  package private(set) var format: CipherFormat
  private let key: SymmetricKey
  private let codeKey: SymmetricKey

  /// Finds the format and the page size of the file: the first known format in which a page of the file matches its
  /// authentication code under the key. At most twelve pages of the file are tried in each format and page size.
  ///
  /// - Throws: ``CipherError``, such as ``CipherError/Code/noKeyFits``, ``CipherError/Code/tooShort``, or
  ///   ``CipherError/Code/badKey`` when the salt is neither in the file nor in the key; `SQLiteFileError` when the file
  ///   cannot be read.
  package init(_ key: CipherKey, opening file: ByteFile) throws {
    let lead = try file.bytes(at: 0, count: 16)
    guard lead.count == 16, file.size >= 1024 else {
      throw CipherError(.tooShort, "the file has only \(file.size) bytes, less than one page")
    }
    // With a header that is not encrypted, the file begins with SQLite's magic text in place of the salt.
    let isClear = lead == DatabaseHeader.magic
    let salt: [UInt8]
    switch key {
    case .raw(_, let given?): salt = given
    case _ where isClear:
      throw CipherError(
        .badKey,
        "the file begins with a header that is not encrypted, so the salt is not in the file; give the key as x'…' with 96 digits, of which the last 32 are the salt"
      )
    default: salt = lead
    }
    for known in CipherFormat.known {
      let derived = try Self.derived(key, salt, known)
      let codeKey = try Self.codeKey(derived, salt, known)
      for var format in known.inAllPageSizes {
        format.clearLength = isClear ? 32 : 16
        var cipher = PageCipher(format: format, key: derived, codeKey: codeKey)
        // Page 1 may be the only page that shows that the key is right.
        let isFound = isClear ? try cipher.findClearLength(in: file) : false
        if try isFound || cipher.fits(file) {
          self = cipher
          return
        }
      }
    }
    throw CipherError(
      .noKeyFits,
      "the key decrypts no page of the file with the default settings of SQLCipher 2, 3 or 4, in any page size: the key is wrong, or the app uses other settings"
    )
  }

  private init(format: CipherFormat, key: SymmetricKey, codeKey: SymmetricKey) {
    self.format = format
    self.key = key
    self.codeKey = codeKey
  }

  // MARK: - Keys

  private static func derived(_ key: CipherKey, _ salt: [UInt8], _ format: CipherFormat)
    throws(CipherError) -> SymmetricKey
  {
    switch key {
    case .raw(let bytes, _): SymmetricKey(data: bytes)
    case .passphrase(let bytes): try stretched(bytes, salt, format, rounds: format.rounds)
    }
  }

  private static func codeKey(_ key: SymmetricKey, _ salt: [UInt8], _ format: CipherFormat)
    throws(CipherError) -> SymmetricKey
  {
    let bytes = unsafe key.withUnsafeBytes { unsafe [UInt8]($0) }
    return try stretched(
      bytes, salt.map { $0 ^ CipherFormat.codeSaltMask }, format, rounds: CipherFormat.codeRounds)
  }

  private static func stretched(
    _ bytes: [UInt8], _ salt: [UInt8], _ format: CipherFormat, rounds: Int
  ) throws(CipherError) -> SymmetricKey {
    do {
      return try KDF.Insecure.PBKDF2.deriveKey(
        from: bytes, salt: salt, using: format.hash == .sha1 ? .insecureSHA1 : .sha512,
        outputByteCount: 32, unsafeUncheckedRounds: rounds)
    } catch {
      throw CipherError(.failed, "the key cannot be derived from the passphrase")
    }
  }

  // MARK: - Pages

  /// Whether at least one page of the file matches its authentication code. The pages that are tried are spread over
  /// the file, because the first ones may be damaged.
  private func fits(_ file: ByteFile) throws(SQLiteFileError) -> Bool {
    let size = Int64(format.pageSize)
    let count = min(file.size / size, Int64(UInt32.max))
    guard count > 0 else { return false }
    let places = (0...8).map { $0 * (count - 1) / 8 } + [1, 2, 3].filter { $0 < count }
    for place in Set(places).sorted() {
      let page = try file.bytes(at: place * size, count: format.pageSize)
      // A page of zeroes proves nothing: it may never have been written.
      if page.contains(where: { $0 != 0 }), isAuthentic(page[...], number: UInt32(place + 1)) {
        return true
      }
    }
    return false
  }

  /// Finds the number of bytes at the start of the file that are not encrypted (`cipher_plaintext_header_size`). Tries
  /// all multiples of 16, the length of an AES block. With the right number, page 1 matches its authentication code.
  /// Returns false, and changes nothing, if page 1 matches with no number.
  private mutating func findClearLength(in file: ByteFile) throws(SQLiteFileError) -> Bool {
    let page = try file.bytes(at: 0, count: format.pageSize)
    guard page.count == format.pageSize else { return false }
    let usual = format.clearLength
    for length in [usual] + stride(from: 16, to: usableLength, by: 16) {
      format.clearLength = length
      if isAuthentic(page[...], number: 1) { return true }
    }
    format.clearLength = usual
    return false
  }

  /// The number of bytes of a page before its reserved area.
  private var usableLength: Int { format.pageSize - format.reservedLength }

  /// Returns the offset in a page at which its encrypted part begins.
  private func start(of number: UInt32) -> Int { number == 1 ? format.clearLength : 0 }

  private func isAuthentic(_ page: ArraySlice<UInt8>, number: UInt32) -> Bool {
    let vectorEnd = page.startIndex + usableLength + CipherFormat.vectorLength
    let signed = page[(page.startIndex + start(of: number))..<vectorEnd]
    let code = page[vectorEnd..<(vectorEnd + format.codeLength)]
    // The page number comes last, its lowest byte first.
    let place = (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    switch format.hash {
    case .sha1: return Self.matches(HMAC<Insecure.SHA1>(key: codeKey), signed, place, code)
    case .sha512: return Self.matches(HMAC<SHA512>(key: codeKey), signed, place, code)
    }
  }

  private static func matches<Hash: HashFunction>(
    _ hmac: HMAC<Hash>, _ signed: ArraySlice<UInt8>, _ place: [UInt8], _ code: ArraySlice<UInt8>
  ) -> Bool {
    var hmac = hmac
    hmac.update(data: signed)
    hmac.update(data: place)
    return hmac.finalize().elementsEqual(code)
  }

  /// Decrypts a page, whether or not it matches its authentication code. `page` has ``CipherFormat/pageSize`` bytes.
  package func decrypted(_ page: ArraySlice<UInt8>, number: UInt32) -> Page {
    // To make a file longer, SQLite writes pages of zeroes that do not pass through SQLCipher.
    if page.allSatisfy({ $0 == 0 }) { return Page(bytes: Array(page), isAuthentic: true) }
    let start = start(of: number)
    let content = page[(page.startIndex + start)..<(page.startIndex + usableLength)]
    let reserved = page[content.endIndex..<page.endIndex]
    guard
      let vector = try? AES._CBC.IV(ivBytes: reserved.prefix(CipherFormat.vectorLength)),
      let clear = try? AES._CBC.decrypt(content, using: key, iv: vector, noPadding: true)
    else { return Page(bytes: Array(page), isAuthentic: false) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(page.count)
    if number == 1 {
      // The salt takes the place of the magic text at the start of SQLite's header. Here the text is put back.
      bytes += start == 16 ? DatabaseHeader.magic : Array(page.prefix(start))
    }
    bytes += clear
    bytes += reserved
    return Page(bytes: bytes, isAuthentic: isAuthentic(page, number: number))
  }
}
