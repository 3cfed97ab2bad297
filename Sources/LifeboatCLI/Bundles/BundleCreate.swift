import ArgumentParser
import CoreDataStore
import StoreFiles
import Foundation
import RowText
import SQLiteFile
import SafeText
import StoreExtraction
import StoreRecovery
import SupportBundle
import Terminal

/// `lifeboat bundle create`
struct BundleCreate: ParsableCommand, RecordedCommand {
  /// How much goes in: `structure`, `rows`, `rows:Note,Folder` or `store`.
  struct Include: ExpressibleByArgument {
    var contents: BundleManifest.Contents
    /// The entities or tables whose rows go in; nil for all.
    var entities: Set<String>?

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
      entities = Set(names.map { String(decoding: $0, as: UTF8.self) })
    }

    static var allValueStrings: [String] { ["structure", "rows", "store"] }
    var defaultValueDescription: String { contents.rawValue }
  }

  /// What stands for the values of rows.
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

      Rows go in with tokens for their values, so that support sees what is equal, empty, long or out of order \
      without reading it. --redact none puts the values themselves in.

      Exit status: 1 when the store is damaged (the bundle is still made); 73 when the output exists; 75 \
      when the store changed while it was read.
      """)

  @Argument(help: "A store, or the folder of an incident.", completion: .file())
  var input: String

  @Option(name: .shortAndLong, help: "The bundle to make.", completion: .file())
  var output: String?

  @Option(
    name: .long,
    help:
      "structure (nothing that a user typed), rows or rows:ENTITY,… (also rows, redacted) or store (also the files of the store)."
  )
  var include = Include(.structure)

  @Option(
    name: .long,
    help:
      "values (a token for each value of a row; the default), listed (but for those that --allow names) or none (the values themselves)."
  )
  var redact: Redact?

  @Option(
    name: .long, help: "A file that lists which attributes stay readable, as ENTITY.ATTRIBUTE.",
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

  @OptionGroup(title: "Encryption") var encryption: EncryptionOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var evidencePaths: [String] { [input] }
  var outputPaths: [String] { [output].compactMap { $0 } }

  func validate() throws {
    guard CompressionLevel(level) != nil else {
      throw ValidationError("The level is a number from 1 to 9.")
    }
    guard dryRun || output != nil else {
      throw ValidationError("Missing expected argument '--output <output>'")
    }
    guard (redact == .listed) == (allow != nil) else {
      throw ValidationError("--redact listed and --allow FILE need each other.")
    }
    guard redact == nil || include.contents == .rows else {
      throw ValidationError(
        include.contents == .store
          ? "The files of a store hold all values: --include store cannot be redacted."
          : "--redact says what happens to rows; add --include rows.")
    }
  }

  /// What stands for the values of rows.
  private func redaction() throws -> Redaction {
    guard let allow else {
      return redact == Redact.none ? .none : .values(except: .nothing)
    }
    return .values(except: try AllowList(contentsOf: allow))
  }

  func run() throws {
    let subject = try BundleSubject(input)
    if let output, !dryRun { try EvidenceGuard.check(output, against: subject.storePath) }
    let request = Request(
      include: include, redaction: try redaction(), includesModel: !noModel,
      level: CompressionLevel(level) ?? .standard, encryption: try encryption.encryption(),
      logView: store.wal, created: Date())
    let receipt = try Self.write(subject, to: dryRun ? nil : output, request)
    if display.json {
      try display.write(json: Report(output: dryRun ? nil : output, manifest: receipt.manifest))
    } else if !display.quiet || dryRun {
      var text: String
      if let output, !dryRun {
        text = BundleText.table(receipt.manifest, display)
        let how = request.encryption == nil ? "packed" : "packed and encrypted"
        text += "\(how) into \(VisibleText.visible(output)), \(Quantity.bytes(receipt.sizeBytes))\n"
      } else {
        text = "This would leave the machine:\n" + BundleText.lines(receipt.manifest)
      }
      text += request.warning.map { "note: \($0)\n" } ?? ""
      for sentence in receipt.manifest.withheld {
        text += "left out: \(VisibleText.visible(sentence))\n"
      }
      try display.write(text)
    }
    display.note(receipt.findings)
    if receipt.findings.contains(where: { $0.severity == .damage }) || receipt.isPartial {
      try display.exitWithFindings()
    }
  }

  /// The JSON form.
  struct Report: Encodable {
    let schema = "lifeboat.bundleReceipt"
    let version = 1
    /// Nil for a dry run.
    let output: String?
    let manifest: BundleManifest
  }

  /// What a bundle shall hold.
  struct Request {
    var include = Include(.structure)
    var redaction = Redaction.values(except: .nothing)
    var includesModel = true
    var level = CompressionLevel.standard
    /// Nil for a bundle that everybody can read.
    var encryption: BundleEncryption?
    var logView = SQLiteDatabase.LogView.committed
    var created: Date

    /// What is to be known before the bundle is passed on; nil when it holds no values.
    var warning: String? {
      switch (include.contents, redaction) {
      case (.store, _):
        "the bundle holds the store itself, with everything that the user has entered"
      case (.rows, .none):
        "the bundle holds rows as they are, with everything that the user has entered"
      case (.rows, .values(let allowed)) where allowed != .nothing:
        "the bundle holds the values that the allow-list names"
      default: nil
      }
    }
  }

  /// What was packed.
  struct Receipt {
    let manifest: BundleManifest
    let sizeBytes: UInt64
    let findings: [Finding]
    /// Whether some files of the store could not be read.
    let isPartial: Bool
  }

  /// Packs a bundle and checks it.
  ///
  /// A caller with files to protect passes its own `interruption`: a new one would end that protection.
  static func write(
    _ subject: BundleSubject, to output: String?, _ request: Request,
    interruption: Interruption = Interruption(lettingWorkEnd: true)
  ) throws -> Receipt {
    let watch = EvidenceWatch(subject.storePath)
    let contents = request.include.contents
    var bundle = try StoreBundle(
      storePath: subject.storePath, tool: .init(name: "lifeboat", version: Tool.version),
      created: BundleDate(secondsSince1970: request.created.timeIntervalSince1970.rounded(.down)),
      contents: contents)
    if let incident = subject.incident { try bundle.add(incident) }

    // Rows are written into a private folder, which is removed afterwards, and never beside the user's files.
    var scratch: PrivateFolder?
    var store: CoreDataStore?
    var findings: [Finding] = []
    do {
      let logView = request.logView
      let coreData = try CoreDataStore(path: subject.storePath, logView: logView)
      store = coreData
      let inspecting = AnotherThread {
        try StoreInspection(path: subject.storePath, logView: logView)
      }
      var rows: StoreBundle.Rows?
      if contents == .rows {
        let folder = try PrivateFolder(
          in: FileManager.default.temporaryDirectory.path, making: interruption.files.making)
        scratch = folder
        let file = try folder.makeFile(["rows.ndjson"])
        defer { _ = close(file) }
        rows = try bundle.writeRows(
          of: coreData, entities: request.include.entities, request.redaction, to: file,
          at: PathText.joined(folder.path, "rows.ndjson"))
      }
      let inspection = try inspecting.wait()
      try bundle.add(coreData, inspection, rows: rows, includesModel: request.includesModel)
      findings = inspection.findings
    } catch let error as SQLiteFileError where subject.incident != nil || contents == .store {
      // What cannot be read can still be passed on.
      try bundle.add(
        unreadable: subject.storePath, code: error.code.rawValue, message: error.message)
      findings = [Finding(.init(rawValue: error.code.rawValue), error.message)]
    }
    let measured = try withExtendedLifetime(scratch) {
      try bundle.plan.measured(isCancelled: { interruption.isRequested })
    }
    let isPartial = !StoreSet(at: subject.storePath).isComplete
    guard let output else {
      return Receipt(
        manifest: measured.manifest, sizeBytes: 0, findings: findings, isPartial: isPartial)
    }
    let packed = try withExtendedLifetime(scratch) {
      try measured.packed(
        for: output, level: request.level, encryption: request.encryption,
        isCancelled: { interruption.isRequested }, making: interruption.files.making)
    }
    try packed.check()
    try ResidueScan(store, contents, request.redaction).check(packed)
    let changed = watch.changes()
    guard changed.isEmpty else {
      throw Failure(
        75, "evidence.changedDuringRead",
        "the store changed while it was packed: \(changed.joined(separator: ", "))",
        hint: "close every program that writes to the store and try again")
    }
    let size = try packed.publish(
      isCancelled: { interruption.isRequested }, making: interruption.files.making)
    return Receipt(
      manifest: measured.manifest, sizeBytes: size, findings: findings, isPartial: isPartial)
  }
}

/// What a bundle is about.
struct BundleSubject {
  let storePath: String
  let incident: Incident?

  /// Takes the path of a store, or of a folder with an incident's record and store.
  init(_ path: String) throws {
    let record = PathText.joined(path, "incident.json")
    guard ByteFile.exists(record) else {
      let found = try StoreFinder.find(at: path)
      // A former store counts too: packing only the other one would silently leave it out.
      let stores = found.stores + found.passedOver.map(\.path)
      guard let only = stores.first, stores.count == 1 else {
        throw Failure(
          64, "usage.oneStore", "\(path) holds \(stores.count) stores; a bundle holds one",
          hint: "name one: \(stores.prefix(5).joined(separator: ", "))")
      }
      // The full path, so that the folder can be found and left out wherever a record names it.
      storePath = URL(fileURLWithPath: only).standardizedFileURL.path
      incident = nil
      return
    }
    let folder = URL(fileURLWithPath: path).standardizedFileURL
    let entry = try Incidents(in: folder.deletingLastPathComponent()).show(folder.lastPathComponent)
    if let failure = Failure(unreadable: entry) { throw failure }
    guard let incident = entry.incident else {
      throw Failure(65, "incident.unreadable", "\(record): \(entry.problem ?? "not readable")")
    }
    self.incident = incident
    storePath = folder.path + "/store/" + incident.storeName
  }
}

/// The contents and problems of a bundle as text.
enum BundleText {
  static func table(_ manifest: BundleManifest, _ display: DisplayOptions) -> String {
    table(manifest.entries.map { ($0.name, $0.sizeBytes, $0.why) }, display)
  }

  static func table(
    _ entries: [(name: String, sizeBytes: UInt64, why: String)], _ display: DisplayOptions
  ) -> String {
    var table = TextTable([
      .init("Entry", isFlexible: true), .init("Bytes", .trailing),
      .init("What it is", isFlexible: true),
    ])
    for entry in entries {
      table.add([entry.name, Quantity.count(entry.sizeBytes), entry.why])
    }
    return table.text(width: display.width, style: display.style)
  }

  /// The entries in whole sentences, one per line.
  static func lines(_ manifest: BundleManifest) -> String {
    manifest.entries.map { entry in
      "  \(VisibleText.visible(entry.name)), \(Quantity.bytes(entry.sizeBytes)): \(entry.why)\n"
    }.joined()
  }

  /// The problems, one per line.
  static func lines(_ problems: [BundleVerification.Problem]) -> String {
    problems.map { problem in
      let place = problem.entry.map { ", \(VisibleText.visible($0))" } ?? ""
      return "\(VisibleText.visible(problem.message))\(place) (\(problem.id.rawValue))\n"
    }.joined()
  }
}
