import ArgumentParser
import CoreDataStore
import StoreFiles
import RowText
import SQLiteFile
import SafeText
import StoreExtraction
import StoreRecovery
import SupportBundle
import Terminal

/// The command `lifeboat bundle create`, which packs a store or an incident for support.
struct BundleCreate: ParsableCommand, RecordedCommand {
  /// The value of `--include`, which says how much goes into the bundle: `structure`, `rows`, `rows:Note,Folder` or
  /// `store`.
  struct Include: ExpressibleByArgument {
    var contents: BundleManifest.Contents
    /// The entities and tables whose rows go into the bundle; nil for all.
    var entities: [String]?

    init(_ contents: BundleManifest.Contents) { self.contents = contents }

    init?(argument: String) {
      guard let list = PathText.dropping(prefix: "rows:", from: argument) else {
        guard let contents = BundleManifest.Contents(rawValue: argument) else { return nil }
        self.contents = contents
        return
      }
      contents = .rows
      let names = list.utf8.split(separator: UInt8(ascii: ","))
      guard !names.isEmpty else { return nil }
      entities = names.map { String(decoding: $0, as: UTF8.self) }
    }

    static var allValueStrings: [String] { ["structure", "rows", "rows:ENTITY,…", "store"] }
    var defaultValueDescription: String { contents.rawValue }
  }

  /// The value of `--redact`, which says what replaces the values of rows in the bundle.
  enum Redact: String, ExpressibleByArgument, CaseIterable {
    case values, listed, none
  }

  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Pack what support needs to know about a store or an incident.",
    usage: "lifeboat bundle create [<options>] <input> --output <output>",
    discussion: """
      Examples: lifeboat bundle create Notes.sqlite -o Notes-support.zip
                lifeboat bundle create Incompatible/2026-11-20-21-53-07Z -o incident.zip --include rows

      With --include rows, a token replaces each value: support can see which values are equal, empty, long or out of \
      order, but cannot read them. With --redact none, the bundle holds the values themselves.

      Exit status: 1 when the store is damaged, or a backup lacks some of its files, such as the log (the bundle is \
      still made); 73 when the output exists; 75 when the store changed while it was read.
      """)

  @Argument(help: .store, completion: .file())
  var input: String

  @Option(
    name: .long,
    help:
      """
      What to pack: structure (nothing that a user typed); rows or rows:ENTITY,… (also rows, \
      redacted); or store (also the files of the store).
      """
  )
  var include = Include(.structure)

  @Option(
    name: .long,
    help:
      """
      Which values of rows a token replaces: values (all; the default), listed (all that --allow \
      does not name) or none.
      """
  )
  var redact: Redact?

  @Option(
    name: .long,
    help:
      """
      What is written beside the token of a number: ranges (the powers of ten around the number) or \
      ranks (the place of the number in its sorted column).
      """
  )
  var numbers: NumberForm?

  @OptionGroup var packing: PackingOptions
  @OptionGroup(title: "Encryption") var encryption: EncryptionOptions
  @OptionGroup(title: "Encryption") var cipher: CipherOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var evidencePaths: [String] { [input] }
  var outputPaths: [String] { packing.outputPaths }

  func validate() throws {
    guard (redact == .listed) == (packing.allow != nil) else {
      throw ValidationError(
        packing.allow == nil
          ? "--redact listed needs an allow-list: add --allow FILE."
          : "--allow is only for --redact listed: add --redact listed.")
    }
    guard numbers == nil || include.contents == .rows && redact != Redact.none else {
      throw ValidationError(
        "--numbers is only for redacted rows: add --include rows, and leave out --redact none.")
    }
    guard redact == nil || include.contents == .rows else {
      throw ValidationError(
        include.contents == .store
          ? "--redact cannot be used with --include store: the files of a store hold all values."
          : "--redact is only for rows; add --include rows.")
    }
  }

  func run() throws {
    try StoreInput.reading(input, bundle: nil, key: cipher.key(), pack)
  }

  private func pack(_ subject: StoreInput) throws {
    // The absolute path is needed, so that the name of the store's folder can be masked in every record that contains
    // it.
    let given = try subject.decrypted?.evidence.mainPath ?? subject.storePath()
    let storePath = StoreInput.absolute(given)
    try packing.target.map(subject.check)
    subject.tellPassedOver(display)
    subject.tellChanges(display)
    var request = try packing.request(include.contents, encryption)
    request.entities = include.entities
    request.redaction = redact == Redact.none ? .none : try packing.redaction()
    request.numbers = numbers ?? .ranges
    request.logView = store.wal
    let key = try packing.signingKey()
    let interruption = Interruption(lettingWorkEnd: true)
    let receipt = try request.make(
      of: storePath, subject.incident, decrypted: subject.decrypted, to: packing.target,
      isCancelled: { interruption.isRequested }, making: interruption.files.making)
    try packing.sign(with: key, interruption)
    var text = packing.text(receipt, isEncrypted: request.encryption != nil, key, display)
    for sentence in warnings(request, isDecrypted: subject.decrypted != nil) {
      text += DisplayText.hanging("note: \(sentence)", width: display.width, rest: 6)
    }
    for sentence in receipt.manifest.withheld {
      text += DisplayText.hanging(
        "left out: \(VisibleText.visible(sentence))", width: display.width, rest: 6)
    }
    try display.write(
      json: Report(output: packing.target, manifest: receipt.manifest), orText: text,
      evenIfQuiet: packing.dryRun)
    display.note(receipt.findings)
    if receipt.findings.contains(where: { $0.severity == .damage }) || receipt.isPartial
      || subject.isInDoubt
    {
      try display.exitWithFindings()
    }
  }

  struct Report: Encodable {
    let schema = "lifeboat.bundleReceipt"
    let version = 1
    /// The path of the bundle; nil for a dry run.
    let output: String?
    let manifest: BundleManifest
  }

  /// Warnings that the user should read before passing the bundle on, as clauses; empty when the bundle contains no
  /// values of the store.
  private func warnings(_ request: BundleRequest, isDecrypted: Bool) -> [String] {
    let decrypted =
      "the store is encrypted, but its values are not encrypted in the bundle"
      + (request.encryption == nil ? "; to encrypt the bundle, add --to RECIPIENT" : "")
    switch (request.contents, request.redaction) {
    case (.store, _):
      return [
        "the bundle holds the store itself, with everything that the user has entered"
          + (isDecrypted
            ? "; the files of the store are encrypted, and can only be read with the key" : "")
      ]
    case (.rows, .none):
      return ["the bundle holds rows as they are, with everything that the user has entered"]
        + (isDecrypted ? [decrypted] : [])
    case (.rows, .values(let allowed)) where allowed != .nothing:
      return ["the bundle holds readable values of the attributes in the allow-list"]
        + (isDecrypted ? [decrypted] : [])
    default: return []
    }
  }
}

extension NumberForm: ExpressibleByArgument {}

enum BundleText {
  static func table(_ manifest: BundleManifest, _ display: DisplayOptions) -> String {
    table(manifest.entries.map { ($0.name, $0.sizeBytes, $0.why) }, display)
  }

  static func table(
    _ entries: [(name: String, sizeBytes: UInt64, why: String)], _ display: DisplayOptions
  ) -> String {
    var table = TextTable([
      .init("Entry", isWhole: true), .init("Bytes", .trailing),
      .init("What it is", isFlexible: true),
    ])
    for entry in entries {
      table.add([entry.name, Quantity.count(entry.sizeBytes), entry.why])
    }
    return table.text(width: display.width, style: display.style)
  }

  static func lines(_ manifest: BundleManifest, _ display: DisplayOptions) -> String {
    manifest.entries.map { entry in
      DisplayText.hanging(
        "  \(VisibleText.visible(entry.name)), \(Quantity.bytes(entry.sizeBytes)): \(entry.why)",
        width: display.width, rest: 6)
    }.joined()
  }

  static func lines(_ problems: [BundleVerification.Problem]) -> String {
    problems.map { problem in
      let place = problem.entry.map { ", \(VisibleText.visible($0))" } ?? ""
      return "\(VisibleText.visible(problem.message))\(place) (\(problem.id.rawValue))\n"
    }.joined()
  }
}
