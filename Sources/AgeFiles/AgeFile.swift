/// Encrypts files in the format of age, version 1 (<https://age-encryption.org/v1>), and opens those that `age` wrote.
/// Memory is a few chunks of 64 KiB, whatever the size.
package enum AgeFile {
  /// Reads the next bytes of a source: as many as asked, fewer only at its end.
  package typealias Read = (_ count: Int) throws -> [UInt8]
  /// Takes the next bytes of the result.
  package typealias Write = (_ bytes: [UInt8]) throws -> Void

  /// How many first bytes tell whether a file is encrypted.
  package static let leadBytes = 64

  /// Whether a file begins as one in this format, in binary or in armor.
  package static func isEncrypted(_ lead: [UInt8]) -> Bool {
    lead.starts(with: AgeHeader.versionLine) || AgeArmor.begins(lead)
  }

  /// Encrypts.
  ///
  /// - Parameters:
  ///   - recipients: who can open the result.
  ///   - isArmored: whether the result is text, which is a third longer.
  ///   - workFactor: how much work a passphrase takes: 2^n KiB of memory.
  ///   - read: gives the content.
  ///   - write: takes the result.
  /// - Returns: what opens the result, for a check of it.
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

  /// Opens a file.
  ///
  /// - Parameters:
  ///   - secrets: what it may be opened with.
  ///   - read: gives the file, in binary or in armor.
  ///   - write: takes the content. Each piece was checked; that there is no more after it is checked at the end.
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

  /// The bytes of a file, without armor.
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

/// Opens what has just been encrypted, with the key that it was encrypted with. The writer of a file has no secret key of
/// its recipients.
package struct AgeCheck: Sendable {
  let fileKey: FileKey

  /// Opens the file.
  ///
  /// - Parameters:
  ///   - read: gives the file.
  ///   - write: takes the content.
  /// - Throws: ``AgeError``, and what the closures throw.
  package func decrypt(read: AgeFile.Read, write: AgeFile.Write) throws {
    try AgeFile.open(read: read, write: write) { _ in fileKey }
  }
}
