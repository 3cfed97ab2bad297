import CoreDataForensics
import CoreDataStore
package import Foundation
import ModelTools
package import ObjectModel
import Quoting
import SafeText
package import SQLiteFile
import SQLiteForensics
package import StoreExtraction
package import StoreRecovery
import StoreFiles
import SupportBundle
import Terminal

/// A file that the report lists, but does not read. The file is, was or may be a store. The message says why it is not
/// read.
package struct PassedOver: Error {
  let message: String

  /// The message is a clause that is shown next to the file's name.
  package init(_ message: String) { self.message = message }
}

/// An HTML page that shows what is known about a store. The page loads nothing, and is usable without its script and on
/// paper. Unless values are requested, the page holds no value of any row.
package struct StoreReport {
  private let name: String
  private let inspection: StoreInspection
  private let survey: RebuildResult?
  /// The command that makes a sound file of the store; nil if the page is about a bundle that lacks the store's files.
  private let repair: RepairCommand?
  private let pages: PageStrip?
  private let times: DateHistogram?
  /// Older versions of rows, with their values; nil if the HTML page shows no values.
  private let changes: ChangedRows?
  /// The number of deleted rows that are still in the files, keyed by entity. Nil for a damaged store and for a plain
  /// SQLite database, because the deleted rows of such a store are counted by table.
  private let deletedCounts: [ExactText: Int]?
  /// The rows that only an index still refers to; nil for a store without damage.
  private let lostRows: LostRows?
  private let model: ManagedObjectModel?
  private let expected: (name: String, model: ManagedObjectModel)?
  private let incident: Incident?
  private let made: Date
  /// Which part of the write-ahead log was read; nil if the HTML page shows a bundle that lacks the store's files.
  private let logView: SQLiteDatabase.LogView?
  private let unreadRecords: [String]
  /// Warnings at the top of the page, for example that a bundle was changed after it was packed.
  package var warnings: [String] = []

  private static let maxLines = 2_000

  /// Reads a store, and keeps the facts that the page shows. `expected` is the app's present model; nil when the model
  /// is not known. `made` is the time that the page shows.
  ///
  /// - Throws: `SQLiteFileError` when the file cannot be opened, or none of its pages is a database page.
  package init(
    storeAt path: String, logView: SQLiteDatabase.LogView = .committed,
    expected: (name: String, model: ManagedObjectModel)? = nil, incident: Incident? = nil,
    values: ShownValues = .none, made: Date
  ) throws {
    name = PathText.lastComponent(of: path)
    let store: CoreDataStore
    (inspection, store) = try StoreInspection.withStore(path: path, logView: logView)
    let database = store.database
    model = store.cachedModel
    var rebuild = StoreRebuild()
    rebuild.includesDeleted = true
    let damaged = try DamagedStore(path: path, logView: logView)
    survey = try rebuild.survey(damaged)
    repair = RepairCommand(of: damaged)
    let isDamaged = inspection.damageCount > 0
    deletedCounts = isDamaged ? nil : try Self.deletedCounts(damaged)
    lostRows = isDamaged ? try LostRows(damaged) : nil
    let sound = isDamaged ? nil : store
    changes =
      switch values {
      case .none: nil
      case .all: try ChangedRows(damaged, sound, showing: nil)
      case .listed(let list): try ChangedRows(damaged, sound, showing: list)
      }
    pages = try PageStrip(database, inspection.findings)
    // A timeline is made only if the database header gives the layout of the file. Like SQLite, a timeline reads the
    // write-ahead log up to the last commit, so it does not fit another log view.
    times =
      logView == .committed && database.votedLayout == nil
      ? try DateHistogram(StoreTimeline(store, includesDates: true)) : nil
    unreadRecords = []
    self.logView = logView
    self.expected = expected
    self.incident = incident
    self.made = made
  }

  /// Reads the records of an unpacked bundle that does not contain the store's files. `made` is the time that the page
  /// shows.
  ///
  /// - Throws: an error of Foundation when the bundle's `inspection.json` is missing or cannot be decoded.
  package init(
    bundleIn folder: String, expected: (name: String, model: ManagedObjectModel)? = nil, made: Date
  ) throws {
    func content(_ name: String) throws -> Data {
      try Data(contentsOf: URL(fileURLWithPath: PathText.joined(folder, name)))
    }
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    inspection = try decoder.decode(StoreInspection.self, from: content("inspection.json"))
    name = PathText.lastComponent(of: inspection.path)
    var unread: [String] = []
    func record<Value>(_ name: String, _ read: (Data) throws -> Value) -> Value? {
      guard let bytes = try? content(name) else { return nil }
      let value = try? read(bytes)
      if value == nil { unread.append(name) }
      return value
    }
    model = record("model.xcdatamodel/contents") {
      try ManagedObjectModel(contentsXML: [UInt8]($0))
    }
    incident = record("incident.json") { try decoder.decode(Incident.self, from: $0) }
    unreadRecords = unread
    self.expected = expected
    self.made = made
    (survey, repair, pages, times) = (nil, nil, nil, nil)
    (changes, deletedCounts, lostRows) = (nil, nil, nil)
    logView = nil
  }

  // MARK: - The page

  package func html() throws -> String {
    let verdict = verdict
    var content = PageContent([
      "verdict": verdict.context,
      "facts": facts.map(PageFrame.pair), "method": method, "files": files,
      "glossary": Self.words.map { ["word": $0.word, "meaning": $0.meaning] },
    ])
    content.addSection("incident", "What happened", incident.map { Self.context($0) })
    content.addSection("facts", "The store")
    content.addSection("rows", "Rows", rows)
    content.addSection("changes", "Before and after", changes?.context)
    content.addSection("findings", "Findings", findings)
    content.addSection("pages", "Pages", pages?.context)
    content.addSection("times", "When", times?.context)
    content.addSection("log", "Write-ahead log", log)
    content.addSection("model", "The model", modelContext)
    content.addSection("hashes", "Version hashes", hashes)
    content.addSection("method", "How this was read")
    content.addSection("glossary", "Words")
    return try PageFrame.page(
      "Report on \(name)", by: ", \(made.ISO8601Format()). The store was only read.",
      ReportTemplate.text, content, showsImages: changes?.hasImages ?? false)
  }

  /// Makes a page with one line for each of several stores. The paths of the stores are relative to `folder`. `made` is
  /// the time that the page shows.
  ///
  /// - Throws: an error of the template engine.
  package static func index(
    of folder: String, _ stores: [(path: String, read: Result<StoreInspection, any Error>)],
    made: Date
  ) throws -> String {
    let lines = stores.map { path, read -> [String: Any] in
      switch read {
      case .success(let inspection):
        let health = Self.health(inspection)
        return [
          "name": PageFrame.text(path), "kind": inspection.kind.words,
          "verdict": health.sentence, "tone": health.tone,
          "rows": Quantity.count(inspection.liveRowCount),
          "bytes": size(of: inspection.members) { Quantity.count($0) },
        ]
      case .failure(let error):
        let message =
          (error as? SQLiteFileError)?.message ?? (error as? PassedOver)?.message
          ?? "the store cannot be read"
        return [
          "name": PageFrame.text(path), "kind": "not read", "tone": "bad",
          "verdict": PageFrame.text(message), "rows": "", "bytes": "",
        ]
      }
    }
    return try PageFrame.page(
      "Stores in \(PathText.lastComponent(of: folder))",
      by: ", \(made.ISO8601Format()). The stores were only read.", ReportTemplate.index,
      PageContent(["lines": lines]))
  }

  // MARK: - Verdict

  private static func health(_ inspection: StoreInspection) -> PageVerdict {
    .onDamage(inspection.damageCount, isAllChecked: inspection.notChecked.isEmpty)
  }

  private var verdict: PageVerdict {
    let health = Self.health(inspection)
    var verdict = health
    if let incident {
      verdict.sentence = "Set aside: \(incident.verdict.reason)"
      verdict.more.append(health.sentence + ".")
      if verdict.tone == "good" { verdict.tone = "doubt" }
    }
    if inspection.damageCount > 0 {
      addRescue(to: &verdict)
    } else if !inspection.notChecked.isEmpty {
      let parts = inspection.notChecked.prefix(5).map(\.message)
      let rest = inspection.notChecked.count - parts.count
      verdict.more.append(
        "Not all parts were checked; `lifeboat check --depth full` checks more. "
          + "Not checked: \(parts.joined(separator: "; "))\(rest > 0 ? "; and \(rest) more" : "")."
      )
    }
    if let expected, let difference {
      if difference.isEmpty {
        verdict.more.append("The store was written by the model \(expected.name).")
      } else {
        if verdict.tone == "good" {
          verdict.tone = "doubt"
          verdict.sentence = "Written by a model other than \(expected.name)"
          verdict.more.insert(health.sentence + ".", at: 0)
        }
        verdict.more.insert(difference.outcome, at: 0)
        if inspection.damageCount == 0, logView != nil {
          verdict.steps.append(
            (
              "lifeboat migrate \(file) --to MODELS -o NEW",
              "copies the rows into a new store that has the app's model."
            ))
        }
      }
    }
    if !inspection.changedDuringRead.isEmpty {
      verdict.tone = "doubt"
      verdict.more.append(
        "Files of the store changed while they were read. Close every program that writes to "
          + "the store, and make this page again."
      )
    }
    if let unread = inspection.unreadFiles { verdict.more.append(unread) }
    for name in unreadRecords {
      verdict.more.append(
        "The record `\(name)` of the bundle cannot be read, so this page leaves it out.")
    }
    if !warnings.isEmpty {
      verdict.tone = "bad"
      verdict.more.insert(contentsOf: warnings, at: 0)
    }
    return verdict
  }

  /// The path of the store's main file, as an argument of a shell command. For an incident, the path is relative to the
  /// incident's folder.
  private var file: String {
    ShellText.path(incident == nil ? name : PathText.joined("store", name))
  }

  private func addRescue(to verdict: inout PageVerdict) {
    guard let survey, let repair else {
      verdict.more.append(
        "The bundle does not hold the files of the store. Ask for a bundle that was made with `--include store`."
      )
      return
    }
    var parts = ["\(Quantity.count(survey.rowCount)) from known tables"]
    if survey.partialRowCount > 0 {
      parts[0] += " (\(Quantity.count(survey.partialRowCount)) of them partial)"
    }
    if survey.unattributedCount > 0 {
      parts.append("\(Quantity.count(survey.unattributedCount)) whose table is not certain")
    }
    verdict.more.append(
      "Rows that can be read in spite of the damage: \(parts.joined(separator: "; ")).")
    // Without this option, frames after a broken frame are not read.
    let isBroken = inspection.findings.contains { $0.id == .walBrokenChain }
    let flags = isBroken && logView != .all ? "--wal all " : ""
    if isBroken, logView != .all {
      verdict.more.append(
        "The write-ahead log has more commits after a broken frame; `--wal all` reads them too.")
    }
    guard !RepairCommand.lacksOnlyFiles(inspection.findings) else { return }
    verdict.steps.append((repair.text(file, options: flags), "to \(repair.purpose)."))
  }

  private var difference: ModelDifference? {
    guard let model, let expected else { return nil }
    return ModelDifference(from: model, to: expected.model)
  }

  // MARK: - Facts

  private var facts: [(name: String, value: String)] {
    let file = inspection.file
    var facts = [("What it is", inspection.kind.words)]
    if let metadata = inspection.metadata {
      var writer = metadata.frameworkVersion.map { "framework \($0)" } ?? "not recorded"
      if let system = metadata.system { writer += " (\(system))" }
      facts.append(("Written by", writer))
      let versions = metadata.versionIdentifiers.filter { !$0.isEmpty }
      if !versions.isEmpty { facts.append(("Model version", versions.joined(separator: ", "))) }
      if let uuid = metadata.uuid { facts.append(("Store UUID", uuid)) }
      for key in metadata.otherKeys {
        facts.append(
          ("Metadata of the app", "\(key.name): \(key.kind), \(key.sizeBytes) bytes, not shown"))
      }
    }
    facts += [
      (
        "Size",
        Self.size(of: inspection.members) { Quantity.bytes($0) }
          + (inspection.members.count == 1
            ? "" : " in \(Quantity.count(inspection.members.count, "file"))")
      ),
      (
        "Pages",
        "\(Quantity.count(file.pageCount)), each of \(Quantity.count(file.pageSizeBytes)) bytes; free: \(Quantity.count(file.freePageCount))"
      ), ("Last written by", "SQLite \(file.sqliteVersion)"),
      ("Text encoding", file.textEncoding), ("Journal mode", file.journalMode),
    ]
    return facts
  }

  /// Returns the total size of `files` as text. `text` formats a number of bytes. The sum is clamped, because a bundle
  /// may record any sizes.
  private static func size(
    of files: [StoreInspection.Member], _ text: (UInt64) -> String
  ) -> String {
    let sum: UInt64 = files.reduce(0) { $0.addingClamped(UInt64(clamping: $1.sizeBytes)) }
    return (files.contains { $0.isSizeApproximate == true } ? "at least " : "") + text(sum)
  }

  private static func context(_ incident: Incident) -> [String: Any] {
    let notice = incident.notice
    return [
      "sentences": [notice.title, notice.whatHappened, notice.whatWasKept, notice.whatToDo].map {
        PageFrame.text($0, limit: 2_000)
      },
      "facts": [
        ("When", incident.created.ISO8601Format()),
        ("Finding", incident.verdict.finding.rawValue), ("Why", incident.verdict.reason),
        ("App", incident.app.words), ("Lifeboat", incident.toolVersion),
      ].map { PageFrame.pair($0) },
    ]
  }

  private var rows: [String: Any]? {
    // The rows of a damaged store are counted by table, because the rows that can be recovered are not those that the
    // app would see.
    let isPlain = inspection.kind == .sqlite || inspection.entities.isEmpty
    guard let survey, isPlain || inspection.damageCount > 0 else { return entityRows }
    return tableRows(survey)
  }

  private var entityRows: [String: Any]? {
    var note =
      "Rows of each entity as the app would see them. A row of a subentity is counted only for the subentity."
    if let deleted = survey?.deletedCount, deleted > 0 {
      note += " Deleted rows that are still in the file: \(Quantity.count(deleted))."
    }
    let hasDeleted = deletedCounts?.isEmpty == false
    let lines =
      inspection.entities.map { entity -> [String: Any] in
        let deleted = deletedCounts?[ExactText(entity.name)] ?? 0
        let counts = [entity.rowCount] + (hasDeleted ? [deleted] : [])
        return ["name": PageFrame.text(entity.name), "counts": counts.map { Quantity.count($0) }]
      }
      + (inspection.plainTables ?? []).map { table -> [String: Any] in
        [
          "name": PageFrame.text(table.name + " (a table)"),
          "counts": [Quantity.count(table.rowCount)] + (hasDeleted ? [""] : []),
        ]
      }
    return [
      "holder": "Entity", "columns": ["Rows"] + (hasDeleted ? ["Deleted"] : []),
      "note": [note] + PageFrame.cut(lines.count, at: Self.maxLines),
      "lines": Array(lines.prefix(Self.maxLines)),
    ]
  }

  /// Returns the number of deleted and replaced rows of each entity; nil for a plain SQLite database.
  private static func deletedCounts(_ store: DamagedStore) throws -> [ExactText: Int]? {
    guard store.kind != .sqlite else { return nil }
    var counts: [ExactText: Int] = [:]
    _ = try RecoveredRowOutput(store).forEachRow(.deleted) { row, _, _ in
      if let name = row.entityName { counts[ExactText(name), default: 0] += 1 }
      return true
    }
    return counts
  }

  private func tableRows(_ survey: RebuildResult) -> [String: Any] {
    var note =
      "Rows that can be read. A partial row lacks a value or a part of one. Deleted rows are still in the file."
    let lost = lostRows.flatMap { $0.counts.isEmpty ? nil : $0 }
    if let lost {
      note += " Lost rows cannot be read: only an index still names them."
      if lost.isCut { note += " There may be more lost rows than are counted here." }
    }
    return [
      "holder": "Table",
      "columns": ["Rows", "Partial", "Deleted"] + (lost == nil ? [] : ["Lost"]),
      "note": [note] + PageFrame.cut(survey.tables.count, at: Self.maxLines),
      "lines": survey.tables.prefix(Self.maxLines).map { table -> [String: Any] in
        let counts = [table.rowCount, table.partialRowCount, table.deletedCount]
        return [
          "name": PageFrame.text(table.name),
          "counts": (counts + (lost.map { [$0.counts[SQLName(table.name)] ?? 0] } ?? []))
            .map { Quantity.count($0) },
        ]
      },
    ]
  }

  private var findings: [String: Any] {
    PageFrame.findings(
      inspection.findings, of: max(inspection.findings.count, inspection.damageCount),
      at: Self.maxLines)
  }

  private var log: [String: Any]? {
    guard let log = inspection.writeAheadLog else { return nil }
    var note =
      Quantity.count(log.commitCount, "commit") + " in "
      + Quantity.count(log.committedFrameCount, "frame")
    if log.uncommittedFrameCount > 0 {
      note +=
        "; "
        + Quantity.count(
          log.uncommittedFrameCount, "frame was never committed", "frames were never committed")
    }
    if log.staleFrameCount > 0 {
      note +=
        "; "
        + Quantity.count(log.staleFrameCount, "frame is", "frames are")
        + " older than the last checkpoint"
    }
    if let problem = log.problem { note += "; the log is not used: \(problem)" }
    if let times, times.commits.count < times.commitCount {
      note +=
        "; the first "
        + Quantity.count(times.commits.count, "commit is shown", "commits are shown")
    }
    let lines = (times?.commits ?? []).map { commit -> [String: Any] in
      let changes = commit.tables?.map { table in
        "\(table.table): \(table.added) added, \(table.changed) changed, \(table.removed) removed"
      }
      return [
        "number": Quantity.count(commit.number), "frames": Quantity.count(commit.frameCount),
        "pages": Quantity.count(commit.pageCount),
        "changed": PageFrame.text(changes?.joined(separator: "; ") ?? "not known", limit: 600),
      ]
    }
    return ["note": PageFrame.text(note + "."), "hasLines": !lines.isEmpty, "lines": lines]
  }

  private var modelContext: [String: Any]? {
    guard let model else { return nil }
    guard let expected, let difference, !difference.isEmpty else {
      let diagram = ModelDiagram(of: model)
      let note =
        "The model that is saved in the store; it has \(Quantity.count(model.entities.count, "entity", "entities"))."
      return ["note": [note] + diagram.leftOut, "hasChanges": false, "svg": diagram.svg]
    }
    let diagram = ModelDiagram(from: model, to: expected.model, difference)
    let note = PageFrame.text(
      "Differences between the model in the store and \(expected.name): \(difference.countText)",
      limit: 600)
    return [
      "note": [note] + PageFrame.cut(difference.changes.count, at: Self.maxLines) + diagram.leftOut,
      "hasChanges": true,
      "changes": difference.changes.prefix(Self.maxLines).map { PageFrame.sentence($0.sentence) },
      "svg": diagram.svg,
    ]
  }

  private var hashes: [String: Any]? {
    guard let hashes = inspection.metadata?.versionHashes, !hashes.isEmpty else { return nil }
    return [
      "note": PageFrame.cut(hashes.count, at: Self.maxLines),
      "lines": hashes.sorted { $0.key < $1.key }.prefix(Self.maxLines).map {
        ["name": PageFrame.text($0.key), "hash": PageFrame.text($0.value)]
      },
    ]
  }

  // MARK: - Method

  private var method: [String] {
    guard let logView else {
      return [
        "This page is made from the records of a bundle, which does not hold the files of the "
          + "store. Sizes of files beside the store are rounded."
      ]
    }
    let log =
      switch logView {
      case .committed:
        "The write-ahead log and the rollback journal were applied to the main file as SQLite would apply them."
      case .ignore: "The main file was read without its write-ahead log."
      case .all:
        "The write-ahead log was applied to the main file, with frames that SQLite leaves out."
      }
    return [
      "Lifeboat opened the files read-only, with its own reader. SQLite did not open them. "
        + log,
      inspection.changedDuringRead.isEmpty
        ? "The files did not change while they were read. The table gives the SHA-256 of "
          + "each file, by which the file can be identified."
        : "These files changed while they were read: "
          + PageFrame.text(
            inspection.changedDuringRead.map {
              Self.isExternal($0) ? "a file of external data" : $0
            }.joined(separator: ", ")),
    ]
  }

  /// The table of the store's files. All external files share one line, because their names and hashes would reveal
  /// something about values.
  private var files: [[String: Any]] {
    var lines = inspection.members.filter { !Self.isExternal($0.name) }.map { member in
      [
        "name": PageFrame.text(member.name),
        "bytes": Self.size(of: [member]) { Quantity.count($0) },
        "hash": PageFrame.text(member.sha256 ?? "not taken"),
      ]
    }
    let external = inspection.members.filter { Self.isExternal($0.name) }
    if !external.isEmpty {
      lines.append([
        "name": "external data: \(Quantity.count(external.count, "file"))",
        "bytes": Self.size(of: external) { Quantity.count($0) }, "hash": "not shown",
      ])
    }
    return lines
  }

  /// Whether `name` is the name of an external file in the list of a store's files. Only the names of external files
  /// contain a folder.
  private static func isExternal(_ name: String) -> Bool {
    PathText.components(of: name).count > 1
  }

  private static let words: [(word: String, meaning: String)] = [
    (
      "Page",
      "A piece of the database file, of a fixed size. A page belongs to one table or index, or is free."
    ),
    ("Entity", "A class of objects in the app's model; its rows are objects."),
    (
      "Version hash",
      "A number computed from the definition of an entity. Models that differ in an entity have "
        + "different hashes for the entity."
    ),
    (
      "Write-ahead log",
      "A file beside the store with the newest changes, before they are copied into the store."
    ),
    (
      "Damage",
      "Bytes that are missing or contradict each other; rows may be lost. "
        + "A finding that is only a note does not mean a loss."
    ),
    ("Deleted row", "A row that the app no longer sees, but whose bytes are still in the file."),
    (
      "Lost row",
      "A row whose bytes are gone. Only lost rows that an index still names can be counted."
    ),
  ]
}
