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

/// The options that name the keys or the passphrase for the encryption of a bundle.
struct EncryptionOptions: ParsableArguments {
  @Option(
    name: .long,
    help:
      "Encrypt to this public key (age1…), or to the keys in this file; may be repeated. Only the owners of these keys can open the bundle."
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

  /// The encryption that the options ask for; nil when the bundle shall not be encrypted.
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
          "--to takes a public key, but a secret key was given",
          hint:
            "others may have seen the secret key on the command line: make a new key, and give --to its public key"
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

/// The options that name the keys or the passphrase of encrypted bundles, and the key of encrypted stores.
struct SecretOptions: ParsableArguments {
  @OptionGroup var bundle: BundleSecretOptions
  @OptionGroup var cipher: CipherOptions

  var keyFile: String? { cipher.keyFile }

  func key() throws -> CipherKey? { try cipher.key() }

  /// Returns `path`, quoted for the shell, followed by the options that are needed to open it. Suggested commands
  /// contain these arguments.
  func argument(_ path: String) -> String {
    bundle.argument(path) + (keyFile.map { " --key-file " + ShellText.path($0) } ?? "")
  }
}

/// The option that names the key of an encrypted store.
struct CipherOptions: ParsableArguments {
  @Option(
    name: .customLong("key-file"),
    help:
      "A file whose first line is the key of a store that SQLCipher encrypts: a passphrase, or x'…'.",
    completion: .file())
  var keyFile: String?

  /// The key of the store; nil without `--key-file`.
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

/// The options that name the keys or the passphrase of an encrypted bundle.
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

  /// Reads the keys and the passphrase from their files. Call this only once, because the files may be pipes.
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

  /// Returns `path`, quoted for the shell, followed by the options that are needed to open it. Suggested commands
  /// contain these arguments.
  func argument(_ path: String) -> String {
    let options =
      identity.map { ("-i", $0) } + (passphraseFile.map { [("--passphrase-file", $0)] } ?? [])
    return ShellText.path(path) + options.map { " \($0) \(ShellText.path($1))" }.joined()
  }

  func open(_ path: String) throws -> BundleFile {
    try Self.bundle(
      at: path, secrets(),
      hint: "give the file of the secret key with --identity, or the file of the passphrase "
        + "with --passphrase-file")
  }

  /// Opens the bundle at a path, as ``open(_:)`` does, and calls `body` with it. If the file is an archive without a
  /// manifest, throws a failure that says how to name a bundle in the archive.
  func reading<Result>(
    _ path: String, _ body: (BundleFile) throws -> Result
  ) throws -> Result {
    let file = try open(path)
    do { return try body(file) } catch let error as BundleError
      where error.code == .manifestMissing || error.code == .notAZip
    {
      // Only now is the archive searched, because its content may have to be decompressed first.
      guard let names = file.innerBundleNames else { throw error }
      throw Failure(
        65, BundleError.Code.manifestMissing.rawValue,
        "\(path): not a support bundle: the archive has no manifest.json",
        hint: file.hint(naming: names)
          ?? ArchiveListing.hint(UnpackedArchive.split(path)?.archive ?? path))
    }
  }

  /// Opens the bundle at a path, which may lead into an archive. If `options` is nil, an encrypted bundle is refused.
  static func bundle(at path: String, _ options: BundleSecretOptions?) throws -> BundleFile {
    if let options { return try options.open(path) }
    return try bundle(
      at: path, AgeSecrets(),
      hint: "decrypt the bundle first: lifeboat bundle extract \(ShellText.path(path)) "
        + "-i KEYFILE -o DIR")
  }

  private static func bundle(at path: String, _ secrets: AgeSecrets, hint: String) throws
    -> BundleFile
  {
    do throws(BundleError) {
      return try BundleFile.open(path, secrets)
    } catch {
      guard error.code.rawValue == AgeError.Code.noKeyFits.rawValue else { throw error }
      throw Failure(65, error.code.rawValue, "\(path): \(error.message)", hint: hint)
    }
  }
}

extension BundleFile {
  /// A hint on how to write the path of a bundle that is a file in this archive. Nil if the archive is itself a bundle,
  /// or if no file in it has a name like that of a bundle.
  var innerHint: String? { innerBundleNames.flatMap(hint(naming:)) }

  /// A hint that says how to name one of the files `names` in this archive; nil when there are no names.
  func hint(naming names: [String]) -> String? {
    guard !names.isEmpty else { return nil }
    let paths = names.prefix(3).map { ShellText.path(PathText.joined(path, $0)) }
    return "if the bundle is a file in the archive, add the name of the file to the path: "
      + paths.joined(separator: " or ")
      + (names.count > paths.count
        ? " or another of the archive's \(names.count) zip and age files" : "")
  }
}

enum KeyFile {
  /// Reads the file at a path, and parses the keys in it with `keys`. `hint` tells the user what to do if the file is
  /// missing.
  static func read<Key>(
    _ path: String, ifMissing hint: String = "to make a key, run: lifeboat bundle keygen -o FILE",
    _ keys: ([UInt8]) throws(AgeError) -> [Key]
  ) throws -> [Key] {
    let bytes = try bytes(path, ifMissing: hint)
    do throws(AgeError) {
      return try keys(bytes)
    } catch {
      throw Failure(65, error.code.rawValue, "\(path): \(error.message)")
    }
  }

  /// Reads the file at a path, which is in the format of minisign, and parses the key or signature in it with `key`.
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

  /// Reads a passphrase: the first line of the file at a path, without the line end. Throws a failure when this line is
  /// empty.
  static func passphrase(_ path: String) throws -> [UInt8] {
    let line = try bytes(path, ifMissing: "name a file whose first line is the passphrase").prefix {
      $0 != 0x0a && $0 != 0x0d
    }
    guard !line.isEmpty else {
      throw Failure(
        65, AgeError.Code.badKey.rawValue,
        "\(path): the first line is empty; it must be the passphrase or key")
    }
    return Array(line)
  }

  /// Reads all bytes of a small file, which may be a pipe. `hint` tells the user what to do if the file is missing.
  private static func bytes(_ path: String, ifMissing hint: String) throws -> [UInt8] {
    let data: Data
    do {
      let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      data = try file.read(upToCount: AgeKeyFile.maxBytes + 1) ?? Data()
      try file.close()
    } catch {
      let isThere = FileStatus.found(path) != nil
      throw Failure(
        isThere ? 77 : 66, isThere ? "bundle.permissionDenied" : "bundle.inputMissing",
        isThere
          ? "the file of the key or passphrase cannot be read, \(path)"
          : "no file with a key or passphrase is at this path, \(path)",
        hint: isThere ? "check the permissions, and that the path names a file" : hint)
    }
    guard data.count <= AgeKeyFile.maxBytes else {
      throw Failure(65, AgeError.Code.badKey.rawValue, "\(path) is too large for a file of keys")
    }
    return [UInt8](data)
  }
}

/// Makes small text files.
enum NewText {
  /// Writes a text to a file that does not exist yet. If the writing fails, no part of the file remains.
  ///
  /// `mode` has the permissions of the file, for example `0o644`.
  static func write(_ text: String, to path: String, mode: UInt32, _ interruption: Interruption)
    throws
  {
    try EvidenceGuard.checkIsNoSideFile(path)
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
