import ArgumentParser
import CoreDataForensics
import CoreDataStore
import StoreFiles
import SQLCipherFiles
import SQLiteFile
import SQLiteForensics
import Quoting
import SafeText
import StoreExtraction
import SupportBundle
import Terminal

struct Inspect: ParsableCommand, RecordedCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show on one screen what a store is and whether it is sound.",
    usage: "lifeboat inspect [<options>] <path> ...",
    discussion: """
      Example: lifeboat inspect Notes.sqlite

      Exit status: 0, also when the store is damaged (this command only describes); 1 when files beside the store \
      cannot be read, when a backup lacks files of the store, such as the log, or when a folder holds a store or \
      former store that cannot be described (each is named); 65 when the file is not a readable store; 66 when it is \
      missing.
      """,
    aliases: ["info"])

  @Argument(
    help: "A store, or a folder, bundle or archive that holds stores.", completion: .file()
  )
  var paths: [String]

  @Flag(
    name: .customLong("no-hash"),
    help: "Do not compute the SHA-256 of the files, which needs another full read of each file.")
  var isWithoutHashes = false

  @Flag(
    name: .customLong("show-values"),
    help: "Show the values that the app keeps in the metadata; they may be private.")
  var showsValues = false

  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var evidencePaths: [String] { paths }

  /// The JSON output of `lifeboat inspect` for several stores. For a single store, the output is a `StoreInspection`.
  struct Report: Encodable {
    let schema = "lifeboat.inspections"
    let version = 1
    let inspections: [StoreInspection]
    /// Files that are, were or may be stores and that were not inspected; nil when there are no such files.
    let passedOver: [StoreFinder.PassedOver]?
  }

  func run() throws {
    let kept = KeptArchive()
    defer { withExtendedLifetime(kept) {} }
    let all = try paths.map { try found(at: $0, kept) }
    // Several stores are shown as a list, a single store as a screen.
    let isList = !display.json && display.verbose == 0 && (all.count != 1 || all[0].isSeveral)
    var list = StoreTable(display)
    var failures: [Failure] = []
    var inspections: [StoreInspection] = []
    var passedOver: [StoreFinder.PassedOver] = []
    var isInDoubt = false
    func note(_ failure: Failure, at path: String) {
      failures.append(failure)
      list.add(failure, at: path)
    }
    for found in all {
      passedOver += found.others
      found.others.forEach { list.add($0) }
      if let failure = found.failure { note(failure, at: found.path) }
      for path in found.stores {
        do {
          var repair: RepairCommand?
          let (inspection, isOfBundle) = try inspect(path, kept, &isInDoubt) { inspection, place in
            // A bundle records the name of the store, which does not say what bundle it is in.
            let name = place == nil ? path : nil
            if isList { list.add(inspection, at: place, named: name, wal: store.wal) }
            if let place { repair = self.repair(inspection, at: place, isList: isList) }
          }
          if !isList, !display.json {
            if !inspections.isEmpty { try display.write("\n") }
            let text = InspectionText(
              inspection: inspection, display: display, secrets: secrets, repair: repair,
              isOfBundle: isOfBundle)
            try display.write(text.text)
          }
          inspections.append(inspection)
        } catch {
          note(try failure(error), at: path)
        }
      }
    }
    if display.json, !inspections.isEmpty || !passedOver.isEmpty {
      if inspections.count == 1, failures.isEmpty, passedOver.isEmpty {
        try display.write(json: inspections[0])
      } else {
        try display.write(
          json: Report(
            inspections: inspections, passedOver: passedOver.isEmpty ? nil : passedOver))
      }
    }
    if isList { try display.write(list.text) }
    // The note has the complete reason and the code of the reason. A line of the list has no room for them.
    for other in passedOver { display.note(other) }
    // The worst failure has the highest code: a bug outranks a missing file, which outranks a finding.
    if let worst = failures.max(by: { $0.exitCode < $1.exitCode }) {
      guard failures.count + inspections.count + passedOver.count > 1 else { throw worst }
      for failure in failures { failure.report(asJSON: display.json) }
      throw ExitCode(worst.exitCode)
    }
    let changed = inspections.flatMap(\.changedDuringRead)
    if !changed.isEmpty { throw Failure.changedDuringRead(changed) }
    if isInDoubt || !passedOver.isEmpty
      || inspections.contains(where: { $0.unreadFiles != nil })
    {
      try display.exitWithFindings()
    }
  }
}

extension Inspect {
  /// The stores that were found at a path that the user gave.
  private struct Found {
    let path: String
    /// The paths of the stores. A store in an archive has the path of the archive here.
    var stores: [String] = []
    /// Files that may be stores or remains of stores and cannot be inspected.
    var others: [StoreFinder.PassedOver] = []
    /// The reason why the path could not be searched; nil when the path was searched.
    var failure: Failure?

    var isSeveral: Bool { stores.count + others.count > 1 }
  }

  private func found(at path: String, _ kept: KeptArchive) throws -> Found {
    var found = Found(path: path)
    do {
      found.stores = try StoreInput.all(at: path, secrets.bundle, kept) {
        found.others.append($0)
      }
    } catch {
      found.failure = try failure(error)
    }
    if secrets.keyFile != nil {
      let codes: [SQLiteFileError.Code] = [.looksEncrypted, .notADatabase]
      let encrypted = found.others.filter { codes.map(\.rawValue).contains($0.code) }
      found.stores += encrypted.map(\.path)
      found.others.removeAll(where: encrypted.contains)
    }
    return found
  }

  /// Inspects a store, and passes the inspection and the path of the main file to `receive`. If the main file is a
  /// decrypted or unpacked copy, the copy is removed after `receive` returns. If a bundle does not contain the store,
  /// the inspection that the bundle has recorded is returned, the path is nil, and `isOfBundle` is true. Sets
  /// `isInDoubt` if rows may be wrong or missing (``StoreInput/isInDoubt``).
  private func inspect(
    _ path: String, _ kept: KeptArchive, _ isInDoubt: inout Bool,
    _ receive: (StoreInspection, String?) -> Void
  ) throws -> (inspection: StoreInspection, isOfBundle: Bool) {
    guard StoreInput.isPacked(path) || StoreInput.isIncident(path) || secrets.keyFile != nil else {
      let inspection = try inspected(path, as: path, nil)
      receive(inspection, path)
      return (inspection, false)
    }
    return try StoreInput.reading(
      path, bundle: secrets.bundle, key: secrets.key(), kept: kept
    ) { input in
      if input.isInDoubt { isInDoubt = true }
      if let recorded = try input.recordedInspection() {
        input.tellChanges(display)
        display.note(
          "note: the bundle does not hold the store; what follows is the bundle's record of the store"
        )
        receive(recorded, nil)
        return (recorded, true)
      }
      let place = try input.storePath()
      let inspection = try inspected(place, as: input.shown(place), input.decrypted)
      input.tellChanges(display)
      receive(inspection, place)
      return (inspection, false)
    }
  }

  private func inspected(
    _ place: String, as name: String, _ decrypted: DecryptedStore?
  ) throws -> StoreInspection {
    var inspection = try StoreInspection(
      path: place, logView: store.wal, takesHashes: !isWithoutHashes && decrypted == nil,
      showsValues: showsValues)
    inspection.path = name
    if let decrypted {
      try inspection.setEncrypted(decrypted, takesHashes: !isWithoutHashes)
    }
    return inspection
  }

  /// Returns the command that the screen of a damaged store names. Nil for a sound store, and if no screen is shown.
  private func repair(
    _ inspection: StoreInspection, at place: String, isList: Bool
  ) -> RepairCommand? {
    guard inspection.damageCount > 0, !isList, !display.json else { return nil }
    return RepairCommand(forFileAt: place, logView: store.wal)
  }

  /// Converts an error about one store to a failure to report, so that the other stores are still inspected. Rethrows
  /// an error of an unknown type, and the error that the reader has closed the output.
  private func failure(_ error: any Error) throws -> Failure {
    guard !Interruption.isOfClosedOutput(error), let failure = Failure(error) else { throw error }
    return failure
  }
}

/// The text that `lifeboat inspect` prints for one store.
struct InspectionText {
  let inspection: StoreInspection
  let display: DisplayOptions
  /// The options that open the store; suggested commands repeat them. Nil for a store that needs no options.
  var secrets: SecretOptions?
  /// The command that makes a sound file of the store. If it is nil, the inspection decides.
  var repair: RepairCommand?
  /// Whether the inspection is from a bundle that does not contain the store. In this case no commands are suggested,
  /// because no command could read the store.
  var isOfBundle = false

  var text: String {
    var block = KeyValueBlock()
    block.add(title, kind)
    if inspection.kind != .sqlite {
      block.add("Written by", writer)
      block.add("Model", model)
    }
    if let header { block.add("Header", header, tone: .red) }
    if let encryption = inspection.encryption {
      block.add("Encrypted", encryption + "; each command needs --key-file")
    }
    block.add(
      "Health", health,
      tone: inspection.damageCount > 0 ? .red : .green)
    if let unread = inspection.unreadFiles { block.add("Not read", unread, tone: .yellow) }
    block.add("Rows", rows)
    block.add("Evidence", evidence)
    if !isOfBundle { block.add("Next", suggestions) }
    var text = block.text(width: display.width, style: display.style)
    if !entityTable.isEmpty { text += "\n" + entityTable }
    if let values = inspection.metadata?.otherValues { text += "\n" + Self.text(values, display) }
    if display.verbose > 0 { text += details }
    return text
  }

  /// The name of the store's main file and, if the store is in an archive or bundle, the name of the latter.
  private var title: String {
    let outer = PathText.lastComponent(of: inspection.path)
    guard let main = inspection.members.first(where: { $0.role == .main })?.name,
      !PathText.isSame(main, outer)
    else { return outer }
    return "\(main) in \(outer)"
  }

  private static func text(_ values: [String: JSONValue], _ display: DisplayOptions) -> String {
    guard !values.isEmpty else { return "The app added no keys to the metadata.\n" }
    var block = KeyValueBlock()
    for (key, value) in values.sorted(by: { $0.key < $1.key }) {
      // A string is shown without JSON quotes.
      if case .string(let text) = value {
        block.add(key, text)
      } else {
        block.add(
          key, PathText.dropping(suffix: "\n", from: (try? JSONText.line(value)) ?? "") ?? "")
      }
    }
    return "Metadata values\n" + block.text(width: display.width, style: display.style)
  }

  private var kind: String {
    var text = "\(inspection.kind.words), \(Quantity.bytes(inspection.file.sizeBytes))"
    if let log = inspection.writeAheadLog {
      text += ", WAL \(Quantity.bytes(log.sizeBytes)) ("
      if let problem = log.problem {
        text += "not used: \(problem))"
      } else {
        text += "\(Quantity.count(log.committedFrameCount, "committed frame"))"
        text += log.committedFrameCount > 0 ? ", applied" : ""
        if log.committedFramesBehindBreak > 0 {
          text +=
            "; \(Quantity.count(log.committedFramesBehindBreak)) more after an invalid frame"
        } else if log.uncommittedFrameCount > 0 {
          text += "; \(Quantity.count(log.uncommittedFrameCount, "uncommitted one")) ignored"
        }
        text += ")"
      }
    }
    if inspection.writeAheadLog == nil, inspection.file.journalMode == "wal", !hasLog {
      text += ", in WAL mode without a -wal (if that file was lost, the newest rows are missing)"
    }
    if let journal = inspection.journal, journal.state == "hot" {
      text +=
        ", hot journal (\(Quantity.count(journal.pageCount, "page")), rolled back while reading)"
    }
    return text
  }

  private var hasLog: Bool { inspection.members.contains { $0.role == .wal } }

  private var writer: String {
    guard let metadata = inspection.metadata else {
      return "not recorded: the table Z_METADATA has no row"
    }
    if let problem = metadata.problem { return "not recorded: \(problem)" }
    var text = metadata.frameworkVersion.map { "framework \($0)" } ?? "framework not recorded"
    if let system = metadata.system { text += " (\(system))" }
    let identifiers = metadata.versionIdentifiers.filter { !$0.isEmpty }
    if !identifiers.isEmpty {
      text += ", model version \(identifiers.joined(separator: ", "))"
    }
    return text
  }

  private var model: String {
    guard let model = inspection.model else {
      return "the store has none; give one to lifeboat rows and lifeboat extract with --model"
    }
    if let problem = model.problem { return "\(model.source), not readable: \(problem)" }
    var text =
      "\(model.source), \(Quantity.count(model.entityCount, "entity", "entities"))"
    switch model.hashesAgree {
    case true?: text += ", version hashes agree with the metadata"
    case false?: text += ", version hashes differ from the metadata"
    case nil: text += ", version hashes not compared"
    }
    return text + ", SwiftData: \(model.looksLikeSwiftData ? "likely" : "no")"
  }

  private var health: String {
    guard inspection.damageCount > 0 else {
      let notes = inspection.findings.count
      return
        (inspection.notChecked.isEmpty
        ? "no damage found"
        : "no damage found in the parts that were checked"
          + (isOfBundle ? "" : " (lifeboat check lists the rest)"))
        + (notes > 0 ? ", \(Quantity.count(notes, "note"))" : "")
    }
    return
      "damaged: \(Quantity.count(inspection.damageCount, "finding"))"
      + CheckText.places(of: inspection.findings, pageCount: inspection.file.pageCount)
  }

  /// The message of the first finding about the file's header; nil when no finding is about the header.
  private var header: String? {
    inspection.findings.first { CheckText.layoutFindings.contains($0.id) }?.message
  }

  private var rows: String {
    if inspection.tables.isEmpty, header != nil || isSchemaLost {
      return "the schema is lost and with it the names of tables; the commands below find the rows"
    }
    let holders =
      inspection.kind == .sqlite
      ? (inspection.tables.count, "table", "tables")
      : (inspection.entities.filter { $0.rowCount > 0 }.count, "entity", "entities")
    let unknown = inspection.unknownEntityRowCount ?? 0
    let known = inspection.liveRowCount - unknown
    var text = Quantity.count(known, "row") + " in "
    text += Quantity.count(holders.0, holders.1, holders.2)
    if known == 0, inspection.kind != .sqlite { text = "no entity has a row" }
    if unknown > 0 { text += ", \(Quantity.count(unknown, "row")) of unknown entities" }
    if let plain = inspection.plainTables {
      let count = Quantity.count(Self.sum(plain.map(\.rowCount)))
      text += ", \(count) in \(Quantity.count(plain.count, "table")) outside the model"
    }
    return isSchemaLost ? text + "; the schema is damaged, so some tables are missing here" : text
  }

  /// The ids of the findings about damage that makes no row unreadable.
  private static let losesNothing: Set<Finding.ID> = [
    .pageBadFragments, .pageBadContentStart, .cellOverlap, .treeUnevenDepth,
    .treeKeyOrder, .headerBadCount, .recordTrailingBytes, .recordAffinity,
    .recordReservedType,
  ]

  private var isSchemaLost: Bool {
    inspection.findings.contains {
      $0.severity == .damage && $0.table == "sqlite_schema" && !Self.losesNothing.contains($0.id)
        && !PathText.starts($0.id.rawValue, with: "freeblock.")
    }
  }

  private var evidence: String {
    let main = inspection.members.first { $0.role == .main }?.sha256
    let hash =
      main.map { ", sha256 \(display.verbose > 0 ? $0 : String($0.prefix(16)) + "…")" } ?? ""
    let unchanged = isOfBundle ? "unchanged while the bundle was made" : "unchanged"
    return
      (inspection.changedDuringRead.isEmpty
      ? unchanged
      : "CHANGED WHILE READ: \(inspection.changedDuringRead.joined(separator: ", "))")
      + hash
  }

  private var suggestions: [KeyValueBlock.Suggestion] {
    let store = secrets?.argument(inspection.path) ?? ShellText.path(inspection.path)
    guard inspection.damageCount > 0 else {
      return [
        .init("lifeboat rows \(store)", "look at the rows"),
        .init("lifeboat extract \(store) -o DIR", "save every row that can be read"),
      ]
    }
    let repair =
      repair
      ?? RepairCommand(
        kind: inspection.kind, carriesModel: inspection.model.map { $0.problem == nil } ?? false)
    let all = RecoveryAdvice.suggestions(for: store, inspection.findings, repair)
    guard display.verbose == 0 else { return all }
    return [.init("lifeboat inspect -v \(store)", "see the findings")] + all
  }

  private var entityTable: String {
    let isCoreData = inspection.kind != .sqlite
    var table = TextTable([
      .init(isCoreData ? "Entity" : "Table", isFlexible: true), .init("Rows", .trailing),
    ])
    let unknown: [(String, Int)] =
      inspection.unknownEntityRowCount.map { [("unknown entities", $0)] } ?? []
    let rows =
      isCoreData
      ? inspection.entities.map { ($0.name, $0.rowCount) }
        + unknown
        + (inspection.plainTables ?? []).map { ($0.name + " (a table)", $0.rowCount) }
      : inspection.tables.map { ($0.name, $0.rowCount) }
    // With at most seven lines in the table, the report fits on one screen.
    let maxShown = display.verbose > 0 ? rows.count : 7
    let ordered = rows.count > maxShown ? rows.sorted { $0.1 > $1.1 } : rows
    let shown = ordered.prefix(maxShown)
    for (name, count) in shown { table.add([name, Quantity.count(count)]) }
    guard !rows.isEmpty else { return "" }
    var text = table.text(width: display.width, style: display.style)
    if rows.count > maxShown {
      let rest = Self.sum(ordered.dropFirst(maxShown).map(\.1))
      text +=
        "and \(Quantity.count(rows.count - maxShown)) more with \(Quantity.count(rest, "row")) (-v shows all)\n"
    }
    return text
  }

  /// The sum of `counts`. An overflow is clamped, because a bundle may record any numbers.
  private static func sum(_ counts: [Int]) -> Int { counts.reduce(0) { $0.addingClamped($1) } }

  private var details: String {
    var text = "\n"
    let file = inspection.file
    var block = KeyValueBlock()
    block.add(
      "File",
      "\(Quantity.count(file.pageCount, "page")) of \(Quantity.count(file.pageSizeBytes)) bytes, \(Quantity.count(file.freePageCount)) free; \(file.textEncoding); \(file.journalMode) journal; auto-vacuum \(file.autoVacuum); SQLite \(file.sqliteVersion)"
    )
    for member in inspection.members {
      let size = Quantity.bytes(member.sizeBytes)
      block.add(
        member.name,
        (member.isSizeApproximate == true ? "at least \(size)" : size)
          + ", sha256 \(member.sha256 ?? (isOfBundle ? "not in the bundle" : "not taken"))"
      )
    }
    if let metadata = inspection.metadata {
      if let uuid = metadata.uuid { block.add("Store UUID", uuid) }
      if let digest = metadata.digest {
        block.add(
          "Digest", digest + (metadata.digestHolds == true ? " (valid)" : " (NOT VALID)"))
      }
      if let checksum = metadata.checksum {
        block.add(
          "Checksum", checksum + (metadata.checksumHolds == true ? " (valid)" : " (NOT VALID)"))
      }
      for key in metadata.otherKeys {
        block.add(
          "Other key",
          "\(key.name): \(key.kind), \(Quantity.bytes(key.sizeBytes)), value not shown (--show-values shows it)"
        )
      }
    }
    text += block.text(width: display.width, style: display.style)
    if !inspection.findings.isEmpty {
      text += "\nFindings\n"
      for finding in inspection.findings.prefix(200) {
        text += FindingText.block(FindingText.line(finding), display)
      }
      if inspection.findings.count > 200 {
        text += "  and \(Quantity.count(inspection.findings.count - 200)) more (--json shows all)\n"
      }
    }
    if let hashes = inspection.metadata?.versionHashes, !hashes.isEmpty {
      var table = TextTable([.init("Entity", isFlexible: true), .init("Version hash")])
      for (name, hash) in hashes.sorted(by: { $0.key < $1.key }) { table.add([name, hash]) }
      text += "\n" + table.text(width: display.width, style: display.style)
    }
    return text
  }
}
