package import AgeFiles

/// A bundle that is open for reading. An encrypted bundle is decrypted first, into a temporary file without a name.
package final class BundleFile: Sendable {
  package let path: String
  package let isEncrypted: Bool
  let file: InputFile
  /// The keys and the passphrase to try on this file, and on encrypted files inside this file if it is an archive.
  let secrets: AgeSecrets

  /// Returns the first bytes of a file, which are enough to recognize an archive or an encrypted file.
  package static func lead(of path: String) throws(BundleError) -> [UInt8] {
    let file = try InputFile(path: path, followsLink: true)
    return try file.bytes(at: 0, count: Int(min(file.size, UInt64(UnpackedArchive.leadBytes))))
  }

  /// Opens a bundle. If the bundle is encrypted, it is decrypted with one of the keys or the passphrase in `secrets`.
  ///
  /// - Throws: the errors of reading; an error with a code that begins with `age.` when the bundle cannot be decrypted.
  package convenience init(
    _ path: String, _ secrets: AgeSecrets = AgeSecrets()
  ) throws(BundleError) {
    try self.init(InputFile(path: path, followsLink: true), secrets)
  }

  /// Uses a file that is open already. Decrypts the file first if it is encrypted.
  init(_ opened: InputFile, _ secrets: AgeSecrets) throws(BundleError) {
    path = opened.path
    self.secrets = secrets
    let lead = min(opened.size, UInt64(AgeFile.leadBytes))
    isEncrypted = AgeFile.isEncrypted(try opened.bytes(at: 0, count: Int(lead)))
    file = try isEncrypted ? Self.decrypted(opened, secrets) : opened
  }

  /// Decrypts `file` into a temporary file without a name, and returns that file.
  static func decrypted(
    _ file: InputFile, _ secrets: AgeSecrets
  ) throws(BundleError) -> InputFile {
    let output = try ExclusiveOutput(unnamed: "bundle")
    let source = SequentialInput(file)
    try BundleError.catching(file.path) {
      try AgeFile.decrypt(secrets, read: source.next) { try output.append($0[...]) }
    }
    return try output.input(named: file.path)
  }
}

/// Reads a file piece by piece, from its start to its end.
final class SequentialInput {
  private let file: InputFile
  private var offset: UInt64 = 0

  init(_ file: InputFile) { self.file = file }

  /// Returns the next `count` bytes; fewer only at the end of the file.
  func next(_ count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let read = try file.read(at: offset, into: &bytes, count: count)
    offset += UInt64(read)
    if read < count { bytes.removeLast(count - read) }
    return bytes
  }
}

extension BundleError {
  /// Runs `body`. If `body` throws an error that is not a `BundleError`, throws a `BundleError` about the file at
  /// `path` instead.
  static func catching<T>(_ path: String, _ body: () throws -> T) throws(BundleError) -> T {
    do {
      return try body()
    } catch let error as AgeError {
      throw BundleError(.init(rawValue: error.code.rawValue), error.message, path: path)
    } catch let error as BundleError {
      throw error
    } catch {
      throw BundleError(.readFailed, "the file cannot be read or written", path: path)
    }
  }
}
