import AgeFiles
import ArgumentParser
import CLibrary
import Foundation
import Quoting
import SafeFiles
import SafeText
import SQLCipherFiles
import StoreExtraction
import SupportBundle

/// The options for the keys or the passphrase that a bundle is encrypted with.
struct EncryptionOptions: ParsableArguments {
  @Option(
    name: .long,
    help:
      "Encrypt to this public key, age1…, or to those in this file; may be repeated. Only their owners can open the bundle."
  )
  var to: [String] = []

  @Option(
    name: .customLong("passphrase-file"),
    help: "Encrypt with the passphrase in the first line of this file.", completion: .file())
  var passphraseFile: String?

  @Flag(name: .long, help: "Write the encrypted bundle as text.")
  var armor = false

  func validate() throws {
    guard to.isEmpty || passphraseFile == nil else {
      throw ValidationError("A bundle is encrypted to keys or with a passphrase, not both.")
    }
    guard !armor || !to.isEmpty || passphraseFile != nil else {
      throw ValidationError("--armor is for encrypted bundles; add --to or --passphrase-file.")
    }
  }

  /// The encryption that the options ask for; nil for a bundle that is not encrypted.
  func encryption() throws -> BundleEncryption? {
    if let passphraseFile {
      return BundleEncryption(
        to: .passphrase(try KeyFile.passphrase(passphraseFile)), isArmored: armor)
    }
    guard !to.isEmpty else { return nil }
    var keys: [AgeRecipient] = []
    for name in to {
      // A secret key is refused, so that it is neither shown nor taken for a file name.
      if PathText.dropping(prefix: "AGE-SECRET-KEY-", from: name.uppercased()) != nil {
        throw Failure(
          64, AgeError.Code.badKey.rawValue,
          "--to: a secret key stands where a public one is expected",
          hint:
            "make a new key, because this one was on a command line, and give the public key that its file names"
        )
      }
      if PathText.dropping(prefix: "age1", from: name) != nil {
        do { keys.append(try AgeRecipient(name)) } catch {
          throw Failure(64, error.code.rawValue, "--to: \(error.message)")
        }
      } else {
        keys += try KeyFile.read(name, AgeKeyFile.recipients)
      }
    }
    return BundleEncryption(to: .keys(keys), isArmored: armor)
  }
}

/// The options that open encrypted bundles and encrypted stores.
struct SecretOptions: ParsableArguments {
  @OptionGroup var bundle: BundleSecretOptions
  @OptionGroup var cipher: CipherOptions

  var keyFile: String? { cipher.keyFile }

  /// The key of the store; nil when none is given.
  func key() throws -> CipherKey? { try cipher.key() }
}

/// The option that opens an encrypted store.
struct CipherOptions: ParsableArguments {
  @Option(
    name: .customLong("key-file"),
    help:
      "A file whose first line is the key of a store that SQLCipher encrypts: a passphrase, or x'…'.",
    completion: .file())
  var keyFile: String?

  /// The key of the store; nil when none is given.
  func key() throws -> CipherKey? {
    guard let keyFile else { return nil }
    let line: [UInt8]
    do { line = try KeyFile.passphrase(keyFile) } catch let failure as Failure {
      throw Failure(
        failure.exitCode,
        failure.code == AgeError.Code.badKey.rawValue
          ? CipherError.Code.badKey.rawValue : failure.code, failure.message,
        hint: "name a file whose first line is the key of the store")
    }
    do { return try CipherKey(line) } catch {
      throw Failure(
        65, error.code.rawValue, "\(keyFile): \(error.message)",
        hint: "write the key as the app gives it to PRAGMA key, without the quotes around it")
    }
  }
}

/// The options that open an encrypted bundle.
struct BundleSecretOptions: ParsableArguments {
  @Option(
    name: .shortAndLong,
    help: "A file with the secret key that opens an encrypted bundle; may be repeated.",
    completion: .file())
  var identity: [String] = []

  @Option(
    name: .customLong("passphrase-file"),
    help: "A file whose first line is the passphrase of an encrypted bundle.",
    completion: .file())
  var passphraseFile: String?

  /// Reads the keys and the passphrase from their files. The files may be pipes, so call this once.
  func secrets() throws -> AgeSecrets {
    var secrets = AgeSecrets()
    for file in identity {
      secrets.identities += try KeyFile.read(
        file, ifMissing: "name the file of the secret key that opens the bundle",
        AgeKeyFile.identities)
    }
    secrets.passphrase = try passphraseFile.map(KeyFile.passphrase)
    return secrets
  }

  /// Opens the bundle at a path, and decrypts it if it is encrypted.
  func open(_ path: String) throws -> BundleFile {
    try Self.bundle(
      at: path, secrets(),
      hint: "name the secret key with --identity, or the passphrase with --passphrase-file")
  }

  /// Opens the bundle at a path. Without options, an encrypted bundle is refused.
  static func bundle(at path: String, _ options: BundleSecretOptions?) throws -> BundleFile {
    if let options { return try options.open(path) }
    return try bundle(
      at: path, AgeSecrets(),
      hint: "decrypt it first: lifeboat bundle extract \(ShellText.path(path)) -i KEYFILE -o DIR")
  }

  private static func bundle(at path: String, _ secrets: AgeSecrets, hint: String) throws
    -> BundleFile
  {
    do throws(BundleError) {
      return try BundleFile(path, secrets)
    } catch {
      guard error.code.rawValue == AgeError.Code.noKeyFits.rawValue else { throw error }
      throw Failure(65, error.code.rawValue, "\(path): \(error.message)", hint: hint)
    }
  }
}

/// Reads files that hold keys or passphrases.
enum KeyFile {
  /// Reads a file, and parses its keys with `keys`. `hint` says what to do when there is no file.
  static func read<Key>(
    _ path: String, ifMissing hint: String = "make a key with: lifeboat bundle keygen -o FILE",
    _ keys: ([UInt8]) throws(AgeError) -> [Key]
  ) throws -> [Key] {
    let bytes = try bytes(path, ifMissing: hint)
    do throws(AgeError) {
      return try keys(bytes)
    } catch {
      throw Failure(65, error.code.rawValue, "\(path): \(error.message)")
    }
  }

  /// Reads a file of minisign, and parses its key or signature with `key`.
  static func read<Key>(_ path: String, _ key: (String) throws(BundleError) -> Key) throws -> Key {
    let text = String(
      decoding: try bytes(path, ifMissing: "check the path of the key or of the signature"),
      as: UTF8.self)
    do throws(BundleError) {
      return try key(text)
    } catch {
      throw Failure(65, error.code.rawValue, "\(path): \(error.message)")
    }
  }

  /// The first line of a file, without its line end. An empty line is a failure.
  static func passphrase(_ path: String) throws -> [UInt8] {
    let line = try bytes(path, ifMissing: "name a file whose first line is the passphrase").prefix {
      $0 != 0x0a && $0 != 0x0d
    }
    guard !line.isEmpty else {
      throw Failure(65, AgeError.Code.badKey.rawValue, "\(path): the first line is empty")
    }
    return Array(line)
  }

  /// All bytes of a small file, which may be a pipe. `hint` says what to do when there is no file.
  private static func bytes(_ path: String, ifMissing hint: String) throws -> [UInt8] {
    let data: Data
    do {
      let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      data = try file.read(upToCount: AgeKeyFile.maxBytes + 1) ?? Data()
      try file.close()
    } catch {
      let isThere = (try? FileStatus.of(path)) ?? nil != nil
      throw Failure(
        isThere ? 77 : 66, isThere ? "bundle.permissionDenied" : "bundle.inputMissing",
        isThere
          ? "the file of the key or passphrase cannot be read, \(path)"
          : "there is no file of a key or passphrase at this path, \(path)",
        hint: isThere ? "check its permissions, and that it is a file" : hint)
    }
    guard data.count <= AgeKeyFile.maxBytes else {
      throw Failure(65, AgeError.Code.badKey.rawValue, "\(path) is too large for a file of keys")
    }
    return [UInt8](data)
  }
}

/// Writes small new files of text.
enum NewText {
  /// Writes a file that does not exist yet. If that fails, nothing is left behind.
  ///
  /// `mode` has the permissions of the file.
  static func write(_ text: String, to path: String, mode: UInt32, _ interruption: Interruption)
    throws
  {
    let tree = try OutputTree(in: PathText.folder(of: path), making: interruption.files.making)
    do {
      let file = try tree.makeFile([PathText.lastComponent(of: path)], mode: mode)
      defer { _ = close(file) }
      try OutputTree.write(Array(text.utf8)[...], to: file, path: path)
    } catch {
      tree.discard()
      throw error
    }
  }
}
