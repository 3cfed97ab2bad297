package import AgeFiles
import Crypto

/// Whom a bundle is encrypted to, and how.
package struct BundleEncryption: Sendable {
  let recipients: AgeRecipients
  let isArmored: Bool

  /// Chooses encryption in the format of age. With `isArmored`, the result is text.
  package init(to recipients: AgeRecipients, isArmored: Bool = false) {
    self.recipients = recipients
    self.isArmored = isArmored
  }

  /// The size in bytes that an archive of `plainBytes` has once it is encrypted.
  func size(of plainBytes: UInt64) -> UInt64 {
    AgeFile.size(of: plainBytes, to: recipients, isArmored: isArmored)
  }

  /// Encrypts a finished archive. The result is opened again and compared with the archive before it gets its name.
  ///
  /// - Returns: the size of the result in bytes, and the temporary name if it could not be removed.
  /// - Throws: ``BundleError``; nothing is left behind then.
  func write(
    _ plain: InputFile, to path: String, calls: OutputCalls, isCancelled: () -> Bool,
    making: (String, () -> Bool) -> Void
  ) throws(BundleError) -> (size: UInt64, leftoverPath: String?) {
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
        .writeFailed, "the encrypted bundle does not open as it was written", path: path)
    }
    return (output.size, try output.commit())
  }
}
