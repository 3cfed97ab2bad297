/// Encrypts files in the format of age, version 1 (<https://age-encryption.org/v1>), and opens those that `age` wrote.
/// The memory used is a few chunks of 64 KiB, whatever the size of the file.
package enum AgeFile {
  /// Reads the next bytes of a source: as many as asked, fewer only at its end.
  package typealias Read = (_ count: Int) throws -> [UInt8]
  /// Takes the next bytes of the result.
  package typealias Write = (_ bytes: [UInt8]) throws -> Void

  /// How many first bytes tell whether a file is encrypted.
  package static let leadBytes = 64

  /// Whether these first bytes of a file are those of an age file, in binary or in armor.
  package static func isEncrypted(_ lead: [UInt8]) -> Bool {
    lead.starts(with: AgeHeader.versionLine) || AgeArmor.begins(lead)
  }

  /// Encrypts a content of any size.
  ///
  /// - Parameters:
  ///   - recipients: who can open the result.
  ///   - isArmored: whether the result is text, which is a third longer.
  ///   - workFactor: the work that a passphrase takes: 2^n KiB of memory. Nil for the same work as in `age`, 2^18 KiB.
  ///   - read: gives the content.
  ///   - write: takes the result.
  /// - Returns: a value that can decrypt the result, so that the caller can verify it.
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

  /// The size in bytes of what ``encrypt(to:isArmored:workFactor:read:write:)`` makes of a content.
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
  ///   - read: gives the file, in binary or in armor.
  ///   - write: takes the content. Each piece is authenticated before it is handed over. Only when the call returns is
  ///     it certain that the end of the file is not missing.
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

  /// Reads the bytes of a file, without its armor if it has one.
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

    /// The next bytes: as many as asked, fewer only at the end.
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
        throw AgeError(.truncated, "the file ends before its content")
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

/// Decrypts a file that has just been encrypted, to verify it. It uses the file key, because the writer of a file has
/// no secret key of its recipients.
package struct AgeCheck: Sendable {
  let fileKey: FileKey

  /// Decrypts the file that this value was made for.
  ///
  /// - Parameters:
  ///   - read: gives the file.
  ///   - write: takes the content.
  /// - Throws: ``AgeError``, and what the closures throw.
  package func decrypt(read: AgeFile.Read, write: AgeFile.Write) throws {
    try AgeFile.open(read: read, write: write) { _ in fileKey }
  }
}
