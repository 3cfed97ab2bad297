/// A bundle that is packed but has no name yet. The caller checks the bundle, and then publishes it under its name,
/// encrypted or not. If this object is deallocated before the bundle is published, the temporary file is removed.
package final class PackedBundle {
  private let writer: ZipWriter
  private let encryption: BundleEncryption?
  let file: InputFile

  init(_ writer: ZipWriter, _ file: InputFile, _ encryption: BundleEncryption?) {
    self.writer = writer
    self.file = file
    self.encryption = encryption
  }

  deinit { writer.cancel() }

  /// The size, in bytes, of the file that ``publish(isCancelled:making:)`` will write: the encrypted size if the bundle
  /// will be encrypted.
  var sizeBytes: UInt64 { encryption?.size(of: file.size) ?? file.size }

  /// Reads the bundle back and checks it. Throws `bundle.notIntact` when the bundle is not intact.
  package func check() throws(BundleError) { try Self.check(file, writer.threshold) }

  static func check(_ file: InputFile, _ threshold: Zip64Threshold) throws(BundleError) {
    let found = try BundleVerification.verify(file, threshold: threshold)
    guard found.outcome == .intact else {
      throw BundleError(
        .notIntact,
        "the bundle was read back and is not intact: \(found.problems.first?.message ?? "")",
        path: file.path)
    }
  }

  /// Gives the bundle its name, or writes an encrypted copy of the bundle under that name.
  ///
  /// - Returns: the size of the published file in bytes.
  /// - Throws: the errors of ``ZipWriter/finish(comment:)``.
  package func publish(
    isCancelled: () -> Bool = { false }, making: (String, () -> Bool) -> Void = { _ = $1() }
  ) throws(BundleError) -> UInt64 {
    guard let encryption else { return try writer.publish().size }
    return try encryption.write(
      file, to: writer.path, calls: OutputCalls(), isCancelled: isCancelled, making: making)
  }
}
