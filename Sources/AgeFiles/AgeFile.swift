/// Encrypts files in the format of age, version 1 (<https://age-encryption.org/v1>), and opens files that `age` wrote.
/// A few chunks of 64 KiB are in memory at a time, whatever the size of the file.
package enum AgeFile {
  /// A function that returns the next `count` bytes of a source; fewer only at the end of the source.
  package typealias Read = (_ count: Int) throws -> [UInt8]
  /// A function that receives the next bytes of a result.
  package typealias Write = (_ bytes: [UInt8]) throws -> Void

  /// The number of leading bytes of a file that ``isEncrypted(_:)`` needs.
  package static let leadBytes = AgeArmor.leadBytes

  /// Whether these first bytes of a file are those of an age file, in binary or in armor.
  package static func isEncrypted(_ lead: [UInt8]) -> Bool {
    lead.starts(with: AgeHeader.versionLine) || AgeArmor.begins(lead)
  }

  /// Encrypts a content of any size.
  ///
  /// - Parameters:
  ///   - recipients: the people who can open the result.
  ///   - isArmored: whether the result is text, which is a third longer.
  ///   - workFactor: the work factor n of scrypt for a passphrase: deriving the key takes 2^n KiB of memory. Nil for
  ///     18, as in `age`.
  ///   - read: returns the content, piece by piece.
  ///   - write: receives the result, piece by piece.
  /// - Returns: a value that can decrypt the result, so that the caller can verify the result.
  /// - Throws: ``AgeError``, and what the closures throw.
  package static func encrypt(
    to recipients: AgeRecipients, isArmored: Bool = false, workFactor: Int? = nil,
    read: Read, write: Write
  ) throws -> AgeCheck {
    let fileKey = FileKey()
    let header = try AgeHeader(
      fileKey, for: recipients, workFactor: workFactor ?? Stanza.workFactor)
    let nonce = RandomBytes.make(AgePayload.nonceBytes)
    var armor = isArmored ? AgeArmor.Writer() : nil
    func put(_ bytes: [UInt8]) throws {
      if armor == nil { try write(bytes) } else if let text = armor?.text(bytes) { try write(text) }
    }
    try put(header.text + nonce)
    var payload = AgePayload(fileKey, nonce: nonce)
    var chunk = try read(AgePayload.chunkBytes)
    while true {
      let next = chunk.count < AgePayload.chunkBytes ? [] : try read(AgePayload.chunkBytes)
      try put(try payload.seal(chunk[...], isLast: next.isEmpty))
      if next.isEmpty { break }
      chunk = next
    }
    if let end = armor?.end() { try write(end) }
    return AgeCheck(fileKey: fileKey)
  }

  /// Returns the size in bytes of the result of ``encrypt(to:isArmored:workFactor:read:write:)`` for a content of
  /// `plainBytes` bytes.
  package static func size(
    of plainBytes: UInt64, to recipients: AgeRecipients, isArmored: Bool = false
  ) -> UInt64 {
    let chunk = UInt64(AgePayload.chunkBytes)
    let chunks = max(1, plainBytes / chunk + (plainBytes % chunk == 0 ? 0 : 1))
    let size =
      UInt64(AgeHeader.size(for: recipients) + AgePayload.nonceBytes) + plainBytes
      + chunks * UInt64(AgePayload.tagBytes)
    return isArmored ? AgeArmor.size(of: size) : size
  }

  /// Decrypts a file.
  ///
  /// - Parameters:
  ///   - secrets: the keys and the passphrase to try.
  ///   - read: returns the file, in binary or in armor, piece by piece.
  ///   - write: receives the content. Each piece is authenticated before `write` receives it, but the end of the file
  ///     may be missing. The content is complete only if this function returns without an error.
  /// - Throws: ``AgeError``, and what the closures throw.
  package static func decrypt(_ secrets: AgeSecrets, read: Read, write: Write) throws {
    try open(read: read, write: write) { header in try header.fileKey(secrets) }
  }

  static func open(
    read: Read, write: Write, _ fileKey: (AgeHeader) throws -> FileKey
  ) throws {
    var source = try Source(read)
    let (header, nonce) = try source.header(read)
    var payload = AgePayload(try fileKey(header), nonce: nonce)
    let sealedBytes = AgePayload.chunkBytes + AgePayload.tagBytes
    var chunk = try source.take(sealedBytes, read)
    while true {
      let next = chunk.count < sealedBytes ? [] : try source.take(sealedBytes, read)
      try write(try payload.open(chunk[...], isLast: next.isEmpty))
      if next.isEmpty { break }
      chunk = next
    }
  }

  /// Reads the bytes of a file. If the file is armored, decodes the armor.
  private struct Source {
    private var bytes: ArraySlice<UInt8>
    private var armor: AgeArmor.Reader?
    private var hasEnded = false
    private static let pieceBytes = 64 << 10

    init(_ read: Read) throws {
      let lead = try read(Self.pieceBytes)
      hasEnded = lead.count < Self.pieceBytes
      bytes = lead[...]
      guard AgeArmor.begins(lead) else { return }
      armor = AgeArmor.Reader()
      bytes = try decoded(lead)
    }

    /// Returns the next `count` bytes of the file; fewer only at the end of the file.
    mutating func take(_ count: Int, _ read: Read) throws -> [UInt8] {
      try fill(count, read)
      let taken = bytes.prefix(count)
      bytes = bytes.dropFirst(count)
      return Array(taken)
    }

    mutating func header(_ read: Read) throws -> (AgeHeader, nonce: [UInt8]) {
      try fill(AgeHeader.maxBytes, read)
      let header = try AgeHeader(Array(bytes.prefix(AgeHeader.maxBytes)))
      bytes = bytes.dropFirst(header.byteCount)
      let nonce = try take(AgePayload.nonceBytes, read)
      guard nonce.count == AgePayload.nonceBytes else {
        throw AgeError(.truncated, "the file is cut off: it ends before the encrypted content")
      }
      return (header, nonce)
    }

    private mutating func fill(_ count: Int, _ read: Read) throws {
      guard bytes.count < count, !hasEnded else { return }
      var filled = Array(bytes)
      while filled.count < count, !hasEnded {
        let piece = try read(Self.pieceBytes)
        hasEnded = piece.count < Self.pieceBytes
        filled += armor == nil ? piece[...] : try decoded(piece)
      }
      bytes = filled[...]
    }

    private mutating func decoded(_ piece: [UInt8]) throws -> ArraySlice<UInt8> {
      try armor?.bytes(of: piece, isLast: hasEnded)[...] ?? []
    }
  }
}

/// Decrypts a file that has just been encrypted, in order to verify the file. The file key is used for this purpose,
/// because the program that encrypts has none of the recipients' secret keys.
package struct AgeCheck: Sendable {
  let fileKey: FileKey

  /// Decrypts the file that was encrypted with this file key.
  ///
  /// - Throws: ``AgeError``, and what the closures throw.
  package func decrypt(read: AgeFile.Read, write: AgeFile.Write) throws {
    try AgeFile.open(read: read, write: write) { _ in fileKey }
  }
}
