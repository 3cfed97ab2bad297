import ArgumentParser
import Foundation
import SQLiteFile
import SafeText
import StoreExtraction
import SupportBundle
import Terminal

/// The options that `bundle create` and `bundle redact` share, which say how a bundle is packed.
struct PackingOptions: ParsableArguments {
  @Option(name: .shortAndLong, help: "The bundle to make.", completion: .file())
  var output: String?

  @Option(
    name: .long,
    help:
      "A file whose first line is lifeboat-allow 1. Each other line names what to keep readable: ENTITY.ATTRIBUTE.",
    completion: .file())
  var allow: String?

  @Flag(name: .long, help: "Leave out the model that the store carries.")
  var noModel = false

  @Flag(
    name: [.customShort("n"), .long],
    help: "Say what would leave this machine, and make no bundle.")
  var dryRun = false

  @Option(
    name: .long,
    help: "How hard to compress, from 1 (fastest) to 9 (smallest).")
  var level = 6

  @Option(
    name: .long,
    help:
      """
      The maximum size of the bundle, such as 20MB. If need be, only the first rows of each entity \
      go in, and the largest external files are left out.
      """
  )
  var maxSize: ByteCount?

  @Option(
    name: .long,
    help:
      "Sign the bundle with this secret key of minisign; the signature goes into OUTPUT.minisig.",
    completion: .file())
  var sign: String?

  var outputPaths: [String] {
    let paths = [output].compactMap { $0 }
    return sign == nil ? paths : paths + paths.map { MinisignSignature.path(for: $0) }
  }

  /// The path of the bundle to make; nil for a dry run.
  var target: String? { dryRun ? nil : output }

  func validate() throws {
    guard CompressionLevel(level) != nil else {
      throw ValidationError("--level is a number from 1 to 9.")
    }
    guard dryRun || output != nil else {
      throw ValidationError("Name the bundle to make with --output, or ask for --dry-run.")
    }
  }

  /// The redaction that the options ask for: the values that the allow-list names stay readable, and tokens replace all
  /// other values.
  func redaction() throws -> Redaction {
    guard let allow else { return .values(except: .nothing) }
    return .values(except: try AllowList(contentsOf: allow))
  }

  func request(
    _ contents: BundleManifest.Contents, _ encryption: EncryptionOptions
  ) throws -> BundleRequest {
    var request = try BundleRequest(contents)
    request.includesModel = !noModel
    request.maxBytes = maxSize.map { UInt64($0.count) }
    request.level = CompressionLevel(level) ?? .standard
    request.encryption = try encryption.encryption()
    return request
  }

  /// Reads the secret key that the bundle is signed with; nil without `--sign`. Throws when the key cannot be read, or
  /// when the file of the signature exists already. Call this before the work starts, so that the user need not wait
  /// for such a failure.
  func signingKey() throws -> MinisignSecretKey? {
    guard let sign else { return nil }
    if let target {
      let signature = MinisignSignature.path(for: target)
      guard !ByteFile.exists(signature) else {
        throw BundleError(.outputExists, "the signature already exists", path: signature)
      }
    }
    return try KeyFile.read(sign) { text throws(BundleError) in try MinisignSecretKey(text) }
  }

  /// Signs the finished bundle. Does nothing when `key` is nil, and in a dry run.
  func sign(with key: MinisignSecretKey?, _ interruption: Interruption) throws {
    guard let key, let target else { return }
    let signature = try MinisignSignature(of: target, with: key, at: Date())
    try NewText.write(
      signature.file, to: MinisignSignature.path(for: target), mode: 0o644, interruption)
  }

  /// Returns the output of the command: what was packed or, in a dry run, what would leave the machine.
  func text(
    _ receipt: BundleRequest.Receipt, isEncrypted: Bool, _ key: MinisignSecretKey?,
    _ display: DisplayOptions
  ) -> String {
    guard let target else {
      return "This would leave the machine, in a bundle of \(Quantity.bytes(receipt.sizeBytes)):\n"
        + BundleText.lines(receipt.manifest, display)
    }
    let how =
      (isEncrypted ? "packed and encrypted" : "packed")
      + (key == nil ? "" : ", signed by the key \(key?.publicKey.name ?? "")")
    return BundleText.table(receipt.manifest, display)
      + "\(how):  \(VisibleText.visible(target)), \(Quantity.bytes(receipt.sizeBytes))\n"
  }
}
