import ArgumentParser
import SQLiteFile
import SafeText
import SupportBundle
import Terminal

struct BundleVerify: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Check that a bundle is whole and unchanged.",
    discussion: """
      Example: lifeboat bundle verify Notes-support.zip

      Exit status: 0 when the bundle is intact; 1 when it was changed or damaged; 65 when the file is not a bundle, or \
      was refused because it may do harm; 66 when it is missing.
      """)

  @Argument(help: .bundle, completion: .file())
  var path: String

  @Option(
    name: .customLong("public-key"),
    help:
      "Check the signature of the bundle with this minisign public key; give the key itself or its file."
  )
  var publicKey: String?

  @Option(
    name: .long,
    help: "The file of the signature; default: the bundle's path with .minisig at the end.",
    completion: .file())
  var signature: String?

  @OptionGroup(title: "Encryption") var secrets: BundleSecretOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  struct Report: Encodable {
    let schema = "lifeboat.bundleVerification"
    let version = 1
    let path: String
    let outcome: BundleVerification.Outcome
    let intactEntryCount: Int
    /// The id of the key that the bundle was signed with; nil when the signature was not checked.
    let signedBy: String?
    let problems: [BundleVerification.Problem]
  }

  /// The codes of the errors that are thrown for an encrypted bundle that was changed or cut off.
  private static let changed: Set<String> = [
    "age.headerChanged", "age.contentChanged", "age.truncated",
  ]

  private func reportChanged(_ error: BundleError) throws {
    try display.write(
      json: Report(
        path: path, outcome: .damaged, intactEntryCount: 0, signedBy: nil,
        problems: [.init(error)]),
      orText: "\(error.message) (\(error.code.rawValue))\nNOT INTACT: ask for the bundle again\n",
      evenIfQuiet: true)
    try display.exitWithFindings()
  }

  func validate() throws {
    guard signature == nil || publicKey != nil else {
      throw ValidationError("A signature is checked with a public key: add --public-key.")
    }
  }

  /// Checks the signature of the bundle. Returns the id of the key that the bundle was signed with, and the signer's
  /// comment. Nil without `--public-key`.
  private func signed() throws -> (key: String, comment: String)? {
    guard let publicKey else { return nil }
    guard !StoreInput.isWithin(path) else {
      throw Failure(
        64, "usage.signedInArchive",
        "\(path): the signature of a bundle in an archive cannot be checked",
        hint: "unpack the archive, and name the bundle itself")
    }
    let key: MinisignPublicKey
    if ByteFile.exists(publicKey) {
      key = try KeyFile.read(publicKey) { text throws(BundleError) in try MinisignPublicKey(text) }
    } else {
      key = try MinisignPublicKey(publicKey)
    }
    let place = signature ?? MinisignSignature.path(for: path)
    let found = try KeyFile.read(place) { text throws(BundleError) in try MinisignSignature(text) }
    try found.check(path, by: key)
    return (key.name, found.comment)
  }

  func run() throws {
    let signed = try signed()
    let bundle: BundleFile
    do { bundle = try secrets.open(path) } catch let error as BundleError
      where Self.changed.contains(error.code.rawValue)
    {
      return try reportChanged(error)
    }
    let result = try BundleVerification.verify(bundle)
    if display.json {
      try display.write(
        json: Report(
          path: path, outcome: result.outcome, intactEntryCount: result.intactEntryCount,
          signedBy: signed?.key, problems: result.problems))
    }
    switch result.outcome {
    case .intact:
      if !display.json, !display.quiet {
        try display.write(
          "intact: "
            + Quantity.count(result.intactEntryCount, "entry agrees", "entries agree")
            + " with the manifest\n")
        if let signed {
          try display.write(
            "signed by the key \(signed.key): \(VisibleText.visible(signed.comment))\n")
        }
      }
    case .damaged:
      if !display.json {
        try display.write(BundleText.lines(result.problems))
        try display.write("NOT INTACT: ask for the bundle again\n")
      }
      if let refused = result.problems.first(where: { $0.isRefusal }) {
        throw Failure(
          65, refused.id.rawValue,
          "\(path): refused: \(refused.message)\(refused.entry.map { ", entry \($0)" } ?? "")",
          hint:
            "do not unpack this archive with other tools: the archive may have been made to do harm"
        )
      }
      try display.exitWithFindings()
    case .notABundle:
      let problem = result.problems.first
      throw Failure(
        65, problem?.id.rawValue ?? "bundle.notAZip",
        "\(path): not a support bundle: \(problem?.message ?? "")",
        hint: problem?.id.rawValue == BundleError.Code.isReturn.rawValue
          ? Failure.returnHint(path)
          : bundle.innerHint ?? "to make a bundle, run: lifeboat bundle create STORE -o FILE")
    }
  }
}
