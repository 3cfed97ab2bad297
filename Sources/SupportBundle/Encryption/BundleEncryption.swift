package import AgeFiles
import Crypto

/// The recipients of an encrypted bundle, and whether the encrypted file is armored (text) or binary.
package struct BundleEncryption: Sendable {
  let recipients: AgeRecipients
  let isArmored: Bool

  /// Describes encryption in the age format. If `isArmored` is true, the encrypted file is text, otherwise binary.
  package init(to recipients: AgeRecipients, isArmored: Bool = false) {
    self.recipients = recipients
    self.isArmored = isArmored
  }

  /// Returns the size in bytes of the encrypted file, if the archive has `plainBytes` bytes.
  func size(of plainBytes: UInt64) -> UInt64 {
    AgeFile.size(of: plainBytes, to: recipients, isArmored: isArmored)
  }

  /// Encrypts a finished archive into the new file `path`. The file has a temporary name until it was decrypted again
  /// and compared with the archive.
  ///
  /// - Returns: the size of the encrypted file in bytes.
  /// - Throws: ``BundleError``. After an error, no file is left behind.
  func write(
    _ plain: InputFile, to path: String, calls: OutputCalls, isCancelled: () -> Bool,
    making: (String, () -> Bool) -> Void
  ) throws(BundleError) -> UInt64 {
    let output = try ExclusiveOutput(path: path, calls: calls, making: making)
    let source = SequentialInput(plain)
    var hash = SHA256()
    let check = try BundleError.catching(path) {
      try AgeFile.encrypt(
        to: recipients, isArmored: isArmored,
        read: { count in
          if isCancelled() { throw MeasuredBundle.cancelled }
          let bytes = try source.next(count)
          hash.update(data: bytes)
          return bytes
        }, write: { try output.append($0[...]) })
    }
    let written = SequentialInput(try output.input())
    var again = SHA256()
    try BundleError.catching(path) {
      try check.decrypt(read: written.next) { again.update(data: $0) }
    }
    guard again.finalize() == hash.finalize() else {
      throw BundleError(
        .writeFailed, "the encrypted bundle was read back and differs from what was written",
        path: path)
    }
    _ = try output.commit()
    return output.size
  }
}
