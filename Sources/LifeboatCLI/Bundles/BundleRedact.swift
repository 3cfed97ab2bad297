import ArgumentParser
import Foundation
import Quoting
import SafeText
import StoreExtraction
import SupportBundle
import Terminal

struct BundleRedact: ParsableCommand, RecordedCommand {
  /// The value of `--include`. The value `store` is parsed, too, so that ``validate()`` can refuse it with a message
  /// that says why.
  struct Include: ExpressibleByArgument {
    let wanted: BundleCreate.Include

    init(_ contents: BundleManifest.Contents) { wanted = BundleCreate.Include(contents) }

    init?(argument: String) {
      guard let wanted = BundleCreate.Include(argument: argument) else { return nil }
      self.wanted = wanted
    }

    static var allValueStrings: [String] { ["structure", "rows", "rows:ENTITY,…"] }
    var defaultValueDescription: String { wanted.defaultValueDescription }
  }

  static let configuration = CommandConfiguration(
    commandName: "redact",
    abstract: "Make a stricter copy of a bundle, and list what was removed.",
    usage: "lifeboat bundle redact [<options>] <path> --output <output>",
    discussion: """
      Examples: lifeboat bundle redact Notes.zip -o Notes-redacted.zip
                lifeboat bundle redact Notes.zip.age -i support.key --include structure -o Notes-structure.zip

      The copy holds rows with a token for each value, and never the store itself. Nothing is added that the \
      first bundle does not hold. Like any new bundle, the copy is searched for texts that must not be in it.

      Exit status: 0; 65 when the bundle is not as it was made, or the copy would hold a text that must not be in it; \
      73 when the output exists.
      """)

  @Argument(help: .bundle, completion: .file())
  var path: String

  @Option(name: .long, help: "What the copy keeps: rows, rows:ENTITY,… or structure.")
  var include = Include(.rows)

  @OptionGroup var packing: PackingOptions

  @Option(
    name: .shortAndLong,
    help: "A file with the secret key that opens an encrypted bundle; may be repeated.",
    completion: .file())
  var identity: [String] = []

  @Option(
    name: .customLong("opening-passphrase-file"),
    help: "A file whose first line is the passphrase of the bundle to copy.",
    completion: .file())
  var openingPassphraseFile: String?

  @OptionGroup(title: "Encryption") var encryption: EncryptionOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var evidencePaths: [String] { [path] }
  var outputPaths: [String] { packing.outputPaths }

  struct Report: Encodable {
    let schema = "lifeboat.bundleRedaction"
    let version = 1
    /// The path of the copy; nil for a dry run.
    let output: String?
    let manifest: BundleManifest
    /// The parts of the original bundle that the copy does not contain, each described in one sentence.
    let removed: [String]
  }

  func validate() throws {
    guard include.wanted.contents != .store else {
      throw ValidationError(
        "A redacted copy never holds the store; use --include rows or --include structure.")
    }
    guard packing.allow == nil || include.wanted.contents == .rows else {
      throw ValidationError("--allow is only for rows; add --include rows.")
    }
  }

  func run() throws {
    var secrets = BundleSecretOptions()
    secrets.identity = identity
    secrets.passphraseFile = openingPassphraseFile
    try StoreInput.reading(path, bundle: secrets, isBundle: true, redact)
  }

  private func redact(_ input: StoreInput) throws {
    guard let bundle = input.bundle, let file = input.file else {
      // If the file is missing or cannot be read, this call throws an error that says so.
      if !StoreInput.isWithin(path) { _ = try BundleFile(path) }
      throw StoreInput.notABundle(path)
    }
    let verification = try BundleVerification.verify(file)
    guard verification.outcome == .intact else {
      throw Failure(
        65, BundleError.Code.notIntact.rawValue,
        "\(path) was changed after it was made: \(verification.problems.first?.message ?? "")",
        hint: "to see what is wrong, run: lifeboat bundle verify \(input.argument)")
    }
    try packing.target.map(input.check)
    var request = try packing.request(include.wanted.contents, encryption)
    request.entities = include.wanted.entities
    request.redaction = try packing.redaction()
    let key = try packing.signingKey()
    let interruption = Interruption(lettingWorkEnd: true)
    let copy = try copy(of: bundle, input, request, interruption)
    try packing.sign(with: key, interruption)
    var text = packing.text(
      copy.receipt, isEncrypted: request.encryption != nil, key, display)
    for sentence in copy.removed { text += "removed: \(VisibleText.visible(sentence))\n" }
    if copy.removed.isEmpty {
      text += "removed: nothing; the bundle was already as strict as the copy\n"
    }
    try display.write(
      json: Report(output: packing.target, manifest: copy.receipt.manifest, removed: copy.removed),
      orText: text, evenIfQuiet: packing.dryRun)
  }

  /// Makes the copy of `bundle`. If `bundle` contains the store, a new bundle is packed from this store, so that all
  /// rules for new bundles apply. Otherwise the copy is made from the records in `bundle`.
  private func copy(
    of bundle: UnpackedBundle, _ input: StoreInput, _ request: BundleRequest,
    _ interruption: Interruption
  ) throws -> BundleCopy {
    guard bundle.manifest.contents == .store else {
      return try request.copy(
        of: bundle, to: packing.target, isCancelled: { interruption.isRequested },
        making: interruption.files.making)
    }
    let receipt = try request.make(
      of: try input.storePath(), input.incident, to: packing.target,
      isCancelled: { interruption.isRequested }, making: interruption.files.making)
    let kept = Set(receipt.manifest.entries.map(\.name))
    var removed = bundle.manifest.entries.filter { !kept.contains($0.name) }.map {
      "\($0.name), \(Quantity.bytes($0.sizeBytes)): \($0.why)"
    }
    let known = Set(bundle.manifest.withheld)
    removed += receipt.manifest.withheld.filter { !known.contains($0) }
    return BundleCopy(receipt: receipt, removed: removed)
  }
}
