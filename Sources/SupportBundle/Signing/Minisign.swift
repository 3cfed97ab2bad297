import Crypto
package import Foundation
import SafeText
import _CryptoExtras

/// A public key of minisign (<https://jedisct1.github.io/minisign/>): an Ed25519 key and a key number. Each signature
/// that is made with the key contains this number.
package struct MinisignPublicKey: Sendable, Equatable {
  let number: [UInt8]
  let bytes: [UInt8]

  init(number: [UInt8], bytes: [UInt8]) {
    self.number = number
    self.bytes = bytes
  }

  /// Reads a public key in minisign's text form. The comment line that minisign writes before the key may be missing.
  ///
  /// - Throws: `bundle.badKey`.
  package init(_ text: String) throws(BundleError) {
    let lines = MinisignText.lines(text)
    guard let line = lines.prefix(2).last(where: { !$0.isEmpty }),
      let bytes = MinisignText.bytes(line), bytes.count == 42,
      bytes.starts(with: MinisignText.ed25519)
    else { throw BundleError(.badKey, "the text is not a minisign public key") }
    number = Array(bytes[2..<10])
    self.bytes = Array(bytes[10...])
  }

  package var text: String { MinisignText.text(MinisignText.ed25519 + number + bytes) }
  /// The key number as minisign shows it, 16 hexadecimal digits.
  package var name: String { MinisignText.name(of: number) }
}

/// A secret key of minisign that no passphrase protects.
package struct MinisignSecretKey: Sendable {
  let number: [UInt8]
  let key: Curve25519.Signing.PrivateKey

  private static let checksumBytes = 32
  private static let fileBytes = 158

  package init() {
    var random = SystemRandomNumberGenerator()
    number = (0..<8).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    key = Curve25519.Signing.PrivateKey()
  }

  /// Reads the content of a secret key file.
  ///
  /// - Throws: `bundle.badKey` for a string that is not a secret key, and for a key that a passphrase protects.
  package init(_ text: String) throws(BundleError) {
    let lines = MinisignText.lines(text)
    guard lines.count > 1, let bytes = MinisignText.bytes(lines[1]),
      bytes.count == Self.fileBytes, bytes.starts(with: MinisignText.ed25519)
    else { throw BundleError(.badKey, "the file is not a minisign secret key") }
    guard bytes[2...3].elementsEqual([0, 0]) else {
      throw BundleError(
        .badKey,
        "the secret key has a passphrase; copy the key file, and remove the passphrase from the "
          + "copy with: minisign -C -W -s COPY"
      )
    }
    let number = Array(bytes[54..<62])
    let pair = Array(bytes[62..<126])
    // A key without a passphrase has no checksum. Instead, the public half of the key pair must belong to the secret
    // half.
    guard
      let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: pair.prefix(32)),
      Array(key.publicKey.rawRepresentation) == Array(pair.suffix(32))
    else {
      throw BundleError(
        .badKey, "the secret key is damaged: its public part does not belong to its secret part")
    }
    self.number = number
    self.key = key
  }

  /// The content of the secret key file, as `minisign -G -W` writes such a file.
  package var file: String {
    let pair = Array(key.rawRepresentation) + Array(key.publicKey.rawRepresentation)
    let bytes =
      MinisignText.ed25519 + [0, 0] + Array("B2".utf8) + [UInt8](repeating: 0, count: 48) + number
      + pair + [UInt8](repeating: 0, count: Self.checksumBytes)
    return "untrusted comment: minisign encrypted secret key\n\(MinisignText.text(bytes))\n"
  }

  package var publicKey: MinisignPublicKey {
    MinisignPublicKey(number: number, bytes: Array(key.publicKey.rawRepresentation))
  }
}

/// A minisign signature of a file. The signature is stored beside the signed file, in a file with the extension
/// `.minisig`. The signature has two parts. The first part signs the BLAKE2b hash of the file, or in minisign's old
/// form the file itself. The second part signs the first part and the trusted comment.
package struct MinisignSignature: Sendable, Equatable {
  let number: [UInt8]
  private let isHashed: Bool
  private let signature: [UInt8]
  /// The trusted comment, for example the time of signing and the name of the file. The second part of the signature
  /// covers this comment.
  package let comment: String
  private let commentSignature: [UInt8]

  package static func path(for file: String) -> String { file + ".minisig" }

  private static let lead = "trusted comment: "

  /// Signs the file at `path`.
  ///
  /// - Throws: the errors of reading, `bundle.failed`.
  package init(of path: String, with key: MinisignSecretKey, at date: Date) throws(BundleError) {
    let hash = try Self.hash(of: InputFile(path: path, followsLink: true))
    let name = VisibleText.visible(PathText.lastComponent(of: path))
    comment = "timestamp:\(Int(date.timeIntervalSince1970))\tfile:\(name)\thashed"
    number = key.number
    isHashed = true
    do {
      signature = Array(try key.key.signature(for: hash))
      commentSignature = Array(try key.key.signature(for: signature + Array(comment.utf8)))
    } catch {
      throw BundleError(.failed, "the bundle could not be signed", path: path)
    }
  }

  /// Reads the content of a signature file.
  ///
  /// - Throws: `bundle.badSignature`.
  package init(_ text: String) throws(BundleError) {
    let lines = MinisignText.lines(text)
    guard lines.count >= 4, let bytes = MinisignText.bytes(lines[1]), bytes.count == 74,
      let comment = PathText.dropping(prefix: Self.lead, from: lines[2]),
      let global = MinisignText.bytes(lines[3]), global.count == 64
    else { throw BundleError(.badSignature, "the file is not a minisign signature") }
    switch Array(bytes.prefix(2)) {
    case Array("ED".utf8): isHashed = true
    case MinisignText.ed25519: isHashed = false
    default: throw BundleError(.badSignature, "the signature is of an unknown kind")
    }
    number = Array(bytes[2..<10])
    signature = Array(bytes[10...])
    self.comment = comment
    commentSignature = global
  }

  package var file: String {
    let bytes = Array((isHashed ? "ED" : "Ed").utf8) + number + signature
    return """
      untrusted comment: signature from lifeboat
      \(MinisignText.text(bytes))
      \(Self.lead)\(comment)
      \(MinisignText.text(commentSignature))

      """
  }

  /// Checks that the file at `path` and the trusted comment were signed with `key`.
  ///
  /// - Throws: `bundle.wrongKey` when another key has signed the file; `bundle.badSignature` when the file or the
  ///   comment was changed after signing; `bundle.badKey` for a key that is not a point of the curve; the errors of
  ///   reading.
  package func check(_ path: String, by key: MinisignPublicKey) throws(BundleError) {
    guard number == key.number else {
      throw BundleError(
        .wrongKey,
        "the signature is by the key \(MinisignText.name(of: number)), not by \(key.name)",
        path: path)
    }
    guard let signer = try? Curve25519.Signing.PublicKey(rawRepresentation: key.bytes) else {
      throw BundleError(
        .badKey, "the public key is damaged: it is not a point of the Ed25519 curve")
    }
    let input = try InputFile(path: path, followsLink: true)
    let message: [UInt8]
    if isHashed {
      message = try Self.hash(of: input)
    } else {
      // In minisign's old form, the signature is of the file itself, not of its hash. To check such a signature, the
      // whole file must be in memory.
      guard input.size <= 64 << 20 else {
        throw BundleError(
          .badSignature,
          "the signature is in minisign's old form, which can be checked only for files of at "
            + "most 64 MiB",
          path: path)
      }
      message = try input.bytes(at: 0, count: Int(input.size))
    }
    guard signer.isValidSignature(signature, for: message),
      signer.isValidSignature(commentSignature, for: signature + Array(comment.utf8))
    else {
      throw BundleError(
        .badSignature,
        "the signature does not belong to this file: the file or the signature was changed",
        path: path)
    }
  }

  private static func hash(of file: InputFile) throws(BundleError) -> [UInt8] {
    var hash = BLAKE2b()
    try file.forEachPiece { hash.update($0) }
    return hash.finalize()
  }
}

private enum MinisignText {
  static let ed25519 = Array("Ed".utf8)

  static func lines(_ text: String) -> [String] {
    text.utf8.split(separator: 0x0a, omittingEmptySubsequences: false).map {
      String(decoding: $0.last == 0x0d ? $0.dropLast() : $0, as: UTF8.self)
    }
  }

  /// Decodes the base64 in `text`. Returns nil when `text` is not the canonical base64 of the decoded bytes.
  static func bytes(_ text: String) -> [UInt8]? {
    guard let data = Data(base64Encoded: text), data.base64EncodedString() == text else {
      return nil
    }
    return [UInt8](data)
  }

  static func text(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

  /// Returns a key number as minisign shows it: in hexadecimal digits, the last byte first.
  static func name(of number: [UInt8]) -> String {
    number.reversed().map { byte in
      let digits = String(byte, radix: 16, uppercase: true)
      return digits.utf8.count == 1 ? "0" + digits : digits
    }.joined()
  }
}
