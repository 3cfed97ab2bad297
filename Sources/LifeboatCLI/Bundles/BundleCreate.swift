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
  enum Include: String, ExpressibleByArgument, CaseIterable {
    case structure, rows, store
  }

  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Pack what support needs to know about a store or an incident.",
    usage: "lifeboat bundle create [<options>] <input> --output <output>",
    discussion: """
      Examples: lifeboat bundle create Notes.sqlite -o Notes-support.zip
                lifeboat bundle create Incompatible/2026-11-20-21-53-07Z -o incident.zip --include rows

      Exit status: 1 when the store is damaged (the bundle is still made); 73 when the output exists; 75 \
      when the store changed while it was read.
      """)

  @Argument(help: "A store, or the folder of an incident.", completion: .file())
  var input: String

  @Option(name: .shortAndLong, help: "The bundle to make.", completion: .file())
  var output: String

  @Option(
    name: .long,
    help:
      "structure (nothing that a user typed), rows (also every row) or store (also the files themselves)."
  )
  var include: Include = .structure

  @Option(
    name: .long,
    help: "How hard to compress, from 1 (fastest) to 9 (smallest).")
  var level = 6

  @OptionGroup var store: StoreOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var evidencePaths: [String] { [input] }
  var outputPaths: [String] { [output] }

  func validate() throws {
    guard CompressionLevel(level) != nil else {
      throw ValidationError("The level is a number from 1 to 9.")
    }
  }

  func run() throws {
    let subject = try BundleSubject(input)
    try EvidenceGuard.check(output, against: subject.storePath)
    let receipt = try Self.write(
      subject, to: output, include: include, level: CompressionLevel(level) ?? .standard,
      logView: store.wal, created: Date())
    if display.json {
      try display.write(json: Report(output: output, manifest: receipt.manifest))
    } else if !display.quiet {
      var text = BundleText.table(receipt.manifest, display)
      text += "packed into \(VisibleText.visible(output)), \(Quantity.bytes(receipt.sizeBytes))\n"
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
    let output: String
    let manifest: BundleManifest
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
    _ subject: BundleSubject, to output: String, include: Include,
    level: CompressionLevel = .standard, logView: SQLiteDatabase.LogView = .committed,
    created: Date,
    interruption: Interruption = Interruption(lettingWorkEnd: true)
  ) throws -> Receipt {
    let watch = EvidenceWatch(subject.storePath)
    let contents: BundleManifest.Contents =
      switch include {
      case .structure: .structure
      case .rows: .rows
      case .store: .store
      }
    var bundle = try StoreBundle(
      storePath: subject.storePath, tool: .init(name: "lifeboat", version: Tool.version),
      created: BundleDate(secondsSince1970: created.timeIntervalSince1970.rounded(.down)),
      contents: contents)
    if let incident = subject.incident { try bundle.add(incident) }

    // Rows are written into a private folder, which is removed afterwards, and never beside the user's files.
    var scratch: PrivateFolder?
    var findings: [Finding] = []
    do {
      let coreData = try CoreDataStore(path: subject.storePath, logView: logView)
      let inspecting = AnotherThread {
        try StoreInspection(path: subject.storePath, logView: logView)
      }
      var rows: String?
      if include != .structure {
        let folder = try PrivateFolder(
          in: FileManager.default.temporaryDirectory.path, making: interruption.files.making)
        scratch = folder
        rows = try writeRows(of: coreData, to: folder)
      }
      let inspection = try inspecting.wait()
      try bundle.add(coreData, inspection, rows: rows)
      findings = inspection.findings
    } catch let error as SQLiteFileError where subject.incident != nil || include == .store {
      // What cannot be read can still be passed on.
      try bundle.add(
        unreadable: subject.storePath, code: error.code.rawValue, message: error.message)
      findings = [Finding(.init(rawValue: error.code.rawValue), error.message)]
    }
    let written = try withExtendedLifetime(scratch) {
      try bundle.plan.measured(isCancelled: { interruption.isRequested })
        .write(
          to: output, level: level, isCancelled: { interruption.isRequested },
          making: interruption.files.making)
    }
    let check = try BundleVerification.verify(path: output)
    guard check.outcome == .intact, let manifest = check.manifest else {
      throw Failure(
        74, "bundle.notIntact",
        "\(output): the bundle does not read back as it was written: \(check.problems.first?.message ?? "")"
      )
    }
    let changed = watch.changes()
    guard changed.isEmpty else {
      throw Failure(
        75, "evidence.changedDuringRead",
        "the store changed while it was packed: \(changed.joined(separator: ", "))",
        hint: "close every program that writes to the store and try again with another output")
    }
    return Receipt(
      manifest: manifest, sizeBytes: written.size, findings: findings,
      isPartial: !StoreSet(at: subject.storePath).isComplete)
  }

  private static func writeRows(of store: CoreDataStore, to folder: PrivateFolder) throws -> String
  {
    let name = "rows.ndjson"
    let file = try folder.makeFile([name])
    defer { _ = close(file) }
    if store.kind == .sqlite {
      try store.database.writeJSON(of: store.database.schema.tables, to: file)
    } else {
      try RowOutput().writeJSON(of: store, to: file)
    }
    return PathText.joined(folder.path, name)
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

  /// The problems, one per line.
  static func lines(_ problems: [BundleVerification.Problem]) -> String {
    problems.map { problem in
      let place = problem.entry.map { ", \(VisibleText.visible($0))" } ?? ""
      return "\(VisibleText.visible(problem.message))\(place) (\(problem.id.rawValue))\n"
    }.joined()
  }
}
