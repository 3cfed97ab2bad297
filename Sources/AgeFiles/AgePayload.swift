import Crypto
import Foundation

/// The content of an age file: chunks of 64 KiB, each sealed under the number that it has, and the last one under a mark
/// that it is the last (age-encryption.org/v1, "Payload").
struct AgePayload {
  /// Bytes of a chunk before it is sealed; the last one may have fewer.
  static let chunkBytes = 64 << 10
  /// Bytes that sealing adds.
  static let tagBytes = 16
  static let nonceBytes = 16

  private let key: SymmetricKey
  private var number: UInt64 = 0
  private var isEnded = false

  init(_ fileKey: FileKey, nonce: [UInt8]) {
    key = fileKey.derived(salt: nonce, info: "payload")
  }

  /// The next chunk, sealed.
  mutating func seal(_ chunk: ArraySlice<UInt8>, isLast: Bool) throws(AgeError) -> [UInt8] {
    let nonce = try next(isLast: isLast)
    do {
      let box = try ChaChaPoly.seal(chunk, using: key, nonce: nonce)
      return Array(box.ciphertext) + Array(box.tag)
    } catch {
      throw AgeError(.failed, "the content could not be encrypted")
    }
  }

  /// The next chunk, opened.
  mutating func open(_ sealed: ArraySlice<UInt8>, isLast: Bool) throws(AgeError) -> [UInt8] {
    guard sealed.count >= Self.tagBytes else {
      throw AgeError(.truncated, "the file ends within its content")
    }
    // Only an empty file has an empty chunk.
    guard sealed.count > Self.tagBytes || number == 0 else {
      throw AgeError(.contentChanged, "the content ends with an empty part")
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
    guard !isEnded else { throw AgeError(.failed, "the content has ended already") }
    isEnded = isLast
    // Eleven bytes for the number, the highest first: a file cannot have 2^64 chunks.
    var bytes = [UInt8](repeating: 0, count: 12)
    for place in 0..<8 {
      bytes[10 - place] = UInt8(truncatingIfNeeded: number >> UInt64(8 * place))
    }
    bytes[11] = isLast ? 1 : 0
    number += 1
    do { return try ChaChaPoly.Nonce(data: bytes) } catch {
      throw AgeError(.failed, "the content could not be numbered")
    }
  }
}
