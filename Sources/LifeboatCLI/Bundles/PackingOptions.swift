import ArgumentParser
import Foundation
import SafeText
import StoreExtraction
import SupportBundle
import Terminal

/// How a bundle is packed: what `bundle create` and `bundle redact` have in common.
struct PackingOptions: ParsableArguments {
  @Option(name: .shortAndLong, help: "The bundle to make.", completion: .file())
  var output: String?

  @Option(
    name: .long,
    help:
      "A file whose first line is lifeboat-allow 1, and whose others name what stays readable: ENTITY.ATTRIBUTE.",
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
      "The most bytes that the bundle may have, such as 20MB. Of rows the first of each entity go in, and the largest external files stay out."
  )
  var maxSize: ByteCount?

  @Option(
    name: .long,
    help: "Sign the bundle with this secret key of minisign, beside it in OUTPUT.minisig.",
    completion: .file())
  var sign: String?

  /// The files that a run makes.
  var outputPaths: [String] {
    let paths = [output].compactMap { $0 }
    return sign == nil ? paths : paths + paths.map { MinisignSignature.path(for: $0) }
  }

  /// Where the bundle goes; nil for a dry run.
  var target: String? { dryRun ? nil : output }

  func validate() throws {
    guard CompressionLevel(level) != nil else {
      throw ValidationError("The level is a number from 1 to 9.")
    }
    guard dryRun || output != nil else {
      throw ValidationError("Name the bundle with --output, or say --dry-run.")
    }
  }

  /// What stands for values that are not shown.
  func redaction() throws -> Redaction {
    guard let allow else { return .values(except: .nothing) }
    return .values(except: try AllowList(contentsOf: allow))
  }

  /// A request for a bundle with these options.
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

  /// The key to sign with; read before the work, so that a key that cannot be read is said at once.
  func signingKey() throws -> MinisignSecretKey? {
    try sign.map {
      try KeyFile.read($0) { text throws(BundleError) in try MinisignSecretKey(text) }
    }
  }

  /// Signs the finished bundle.
  func sign(with key: MinisignSecretKey?, _ interruption: Interruption) throws {
    guard let key, let target else { return }
    let signature = try MinisignSignature(of: target, with: key, at: Date())
    try NewText.write(
      signature.file, to: MinisignSignature.path(for: target), mode: 0o644, interruption)
  }

  /// What was packed, or what would leave the machine, as text.
  func text(
    _ receipt: BundleRequest.Receipt, isEncrypted: Bool, _ key: MinisignSecretKey?,
    _ display: DisplayOptions
  ) -> String {
    guard let target else {
      return "This would leave the machine, in \(Quantity.bytes(receipt.sizeBytes)):\n"
        + BundleText.lines(receipt.manifest, display)
    }
    let how =
      (isEncrypted ? "packed and encrypted" : "packed")
      + (key == nil ? "" : ", signed by the key \(key?.publicKey.name ?? "")")
    return BundleText.table(receipt.manifest, display)
      + "\(how):  \(VisibleText.visible(target)), \(Quantity.bytes(receipt.sizeBytes))\n"
  }
}
