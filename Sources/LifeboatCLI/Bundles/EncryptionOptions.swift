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

/// Whom a bundle is encrypted to.
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

  /// Nil for a bundle that everybody can read.
  func encryption() throws -> BundleEncryption? {
    if let passphraseFile {
      return BundleEncryption(
        to: .passphrase(try KeyFile.passphrase(passphraseFile)), isArmored: armor)
    }
    guard !to.isEmpty else { return nil }
    var keys: [AgeRecipient] = []
    for name in to {
      // Never shown, and not taken for a file.
      if PathText.dropping(prefix: "AGE-SECRET-KEY-", from: name.uppercased()) != nil {
        throw Failure(
          64, AgeError.Code.badKey.rawValue,
          "--to: a secret key stands where a public one is expected",
          hint:
            "use the public key that its file names, and make a new key: this one was on a command line"
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

/// What encrypted bundles and encrypted stores are opened with.
struct SecretOptions: ParsableArguments {
  @OptionGroup var bundle: BundleSecretOptions
  @OptionGroup var cipher: CipherOptions

  var keyFile: String? { cipher.keyFile }

  /// The key of the store; nil when none is given.
  func key() throws -> CipherKey? { try cipher.key() }
}

/// What an encrypted store is opened with.
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
        hint: "write it as the app gives it to PRAGMA key, without the quotes around it")
    }
  }
}

/// What an encrypted bundle is opened with.
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

  /// The keys and the passphrase. Their files may be pipes, so they are read once.
  func secrets() throws -> AgeSecrets {
    var secrets = AgeSecrets()
    for file in identity { secrets.identities += try KeyFile.read(file, AgeKeyFile.identities) }
    secrets.passphrase = try passphraseFile.map(KeyFile.passphrase)
    return secrets
  }

  /// The bundle at a path, decrypted if it is encrypted.
  func open(_ path: String) throws -> BundleFile {
    try Self.bundle(
      at: path, secrets(),
      hint: "name the secret key with --identity, or the passphrase with --passphrase-file")
  }

  /// The bundle at a path; without options, one that is encrypted is refused.
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

/// Files of keys and passphrases.
enum KeyFile {
  /// Reads the keys of a file.
  static func read<Key>(_ path: String, _ keys: ([UInt8]) throws(AgeError) -> [Key]) throws -> [Key]
  {
    let bytes = try bytes(path)
    do throws(AgeError) {
      return try keys(bytes)
    } catch {
      throw Failure(65, error.code.rawValue, "\(path): \(error.message)")
    }
  }

  /// Reads a key of minisign.
  static func read<Key>(_ path: String, _ key: (String) throws(BundleError) -> Key) throws -> Key {
    let text = String(decoding: try bytes(path), as: UTF8.self)
    do throws(BundleError) {
      return try key(text)
    } catch {
      throw Failure(65, error.code.rawValue, "\(path): \(error.message)")
    }
  }

  /// The first line of a file.
  static func passphrase(_ path: String) throws -> [UInt8] {
    let line = try bytes(path).prefix { $0 != 0x0a && $0 != 0x0d }
    guard !line.isEmpty else {
      throw Failure(65, AgeError.Code.badKey.rawValue, "\(path): the first line is empty")
    }
    return Array(line)
  }

  /// All of a small file; it may be a pipe.
  private static func bytes(_ path: String) throws -> [UInt8] {
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
        hint: "make a key with: lifeboat bundle keygen -o FILE")
    }
    guard data.count <= AgeKeyFile.maxBytes else {
      throw Failure(65, AgeError.Code.badKey.rawValue, "\(path) is too large for a file of keys")
    }
    return [UInt8](data)
  }
}

/// A small new file of text.
enum NewText {
  /// Writes a file that does not exist yet; nothing is left behind when that fails.
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
