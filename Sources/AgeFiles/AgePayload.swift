import Crypto
import Foundation

/// The content of an age file, encrypted in chunks of 64 KiB. The nonce of each chunk consists of the chunk's number
/// and a flag that marks the last chunk (age-encryption.org/v1, "Payload").
struct AgePayload {
  /// The number of bytes of a chunk before encryption; the last chunk may have fewer.
  static let chunkBytes = 64 << 10
  /// The number of bytes that encryption adds to a chunk: its authentication tag.
  static let tagBytes = 16
  static let nonceBytes = 16

  private let key: SymmetricKey
  private var number: UInt64 = 0

  init(_ fileKey: FileKey, nonce: [UInt8]) {
    key = fileKey.derived(salt: nonce, info: "payload")
  }

  mutating func seal(_ chunk: ArraySlice<UInt8>, isLast: Bool) throws(AgeError) -> [UInt8] {
    let nonce = try next(isLast: isLast)
    do {
      let box = try ChaChaPoly.seal(chunk, using: key, nonce: nonce)
      return Array(box.ciphertext) + Array(box.tag)
    } catch {
      throw AgeError(.failed, "the content could not be encrypted")
    }
  }

  /// Decrypts the next chunk. Throws when the chunk was changed, moved or cut.
  mutating func open(_ sealed: ArraySlice<UInt8>, isLast: Bool) throws(AgeError) -> [UInt8] {
    guard sealed.count >= Self.tagBytes else {
      throw AgeError(.truncated, "the file is cut off: its encrypted content is not complete")
    }
    // Only an empty file has an empty chunk.
    guard sealed.count > Self.tagBytes || number == 0 else {
      throw AgeError(
        .contentChanged, "the content ends with an empty chunk, which age never writes")
    }
    let place = number
    let nonce = try next(isLast: isLast)
    guard
      let box = try? ChaChaPoly.SealedBox(
        nonce: nonce, ciphertext: sealed.dropLast(Self.tagBytes),
        tag: sealed.suffix(Self.tagBytes)),
      let bytes = try? ChaChaPoly.open(box, using: key)
    else {
      throw AgeError(
        .contentChanged,
        "the content was changed or cut after it was encrypted, at byte \(place * UInt64(Self.chunkBytes))"
      )
    }
    return Array(bytes)
  }

  private mutating func next(isLast: Bool) throws(AgeError) -> ChaChaPoly.Nonce {
    // The first eleven bytes are the number, the highest byte first. A file cannot have 2^64 chunks.
    var bytes = [UInt8](repeating: 0, count: 12)
    for place in 0..<8 {
      bytes[10 - place] = UInt8(truncatingIfNeeded: number >> UInt64(8 * place))
    }
    bytes[11] = isLast ? 1 : 0
    number += 1
    do { return try ChaChaPoly.Nonce(data: bytes) } catch {
      throw AgeError(.failed, "the nonce of a chunk could not be made")
    }
  }
}
