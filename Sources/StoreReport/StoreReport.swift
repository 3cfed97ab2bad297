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

/// A file that is, was or may be a store, and why it is not read.
package struct PassedOver: Error {
  let message: String

  /// With the reason.
  package init(_ message: String) { self.message = message }
}

/// What is known about a store, as one page for a browser: it loads nothing, works without its script and on paper, and
/// holds no value of a row unless it is asked for.
package struct StoreReport {
  private let name: String
  private let inspection: StoreInspection
  private let survey: RebuildResult?
  private let pages: PageStrip?
  private let times: DateHistogram?
  /// Nil for a page without values.
  private let changes: ChangedRows?
  /// How many deleted rows of each entity are still in the files; nil when that was not counted.
  private let deletedCounts: [String: Int]?
  /// Nil for a store without damage.
  private let lostRows: LostRows?
  private let model: ManagedObjectModel?
  private let expected: (name: String, model: ManagedObjectModel)?
  private let incident: Incident?
  private let made: Date
  /// Which part of the log was used; nil for a page that is made of a bundle without the files.
  private let logView: SQLiteDatabase.LogView?
  /// What is to be said first: that a bundle is not as it was made.
  package var warnings: [String] = []

  /// The most lines of a table.
  private static let maxLines = 2_000

  /// Reads a store.
  ///
  /// - Parameters:
  ///   - path: the main file.
  ///   - logView: which part of the write-ahead log counts.
  ///   - expected: the model that the app has now, and its name; nil when it is not known.
  ///   - incident: the incident that the store was kept for; nil without one.
  ///   - values: whose values are shown, where an older version of a row differs.
  ///   - made: the time that the page names.
  /// - Throws: `SQLiteFileError` when the file cannot be opened or contains no database page.
  package init(
    storeAt path: String, logView: SQLiteDatabase.LogView = .committed,
    expected: (name: String, model: ManagedObjectModel)? = nil, incident: Incident? = nil,
    values: ShownValues = .none, made: Date
  ) throws {
    name = PathText.lastComponent(of: path)
    inspection = try StoreInspection(path: path, logView: logView)
    let store = try CoreDataStore(path: path, logView: logView)
    model = store.cachedModel
    var rebuild = StoreRebuild()
    rebuild.includesDeleted = true
    let damaged = try DamagedStore(path: path, logView: logView)
    survey = try rebuild.survey(damaged)
    deletedCounts = inspection.damageCount == 0 ? try Self.deletedCounts(damaged) : nil
    lostRows = inspection.damageCount > 0 ? try LostRows(damaged) : nil
    changes =
      switch values {
      case .none: nil
      case .all:
        try ChangedRows(damaged, isDamaged: inspection.damageCount > 0, showing: nil)
      case .listed(let list):
        try ChangedRows(damaged, isDamaged: inspection.damageCount > 0, showing: list)
      }
    pages = try PageStrip(
      SQLiteDatabase.surveyed(path: path, logView: logView), inspection.findings)
    // A timeline always takes the log as SQLite would.
    times =
      logView == .committed
      ? try? DateHistogram(StoreTimeline(path: path, includesDates: true)) : nil
    self.logView = logView
    self.expected = expected
    self.incident = incident
    self.made = made
  }

  /// Takes what an unpacked bundle says of a store whose files are not in it.
  ///
  /// - Parameters:
  ///   - folder: the folder of the bundle.
  ///   - expected: the model that the app has now, and its name; nil when it is not known.
  ///   - made: the time that the page names.
  /// - Throws: an error of decoding when there is no inspection in the bundle that can be read.
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
    model = (try? content("model.xcdatamodel/contents")).flatMap {
      try? ManagedObjectModel(contentsXML: [UInt8]($0))
    }
    incident = try? decoder.decode(Incident.self, from: content("incident.json"))
    self.expected = expected
    self.made = made
    (survey, pages, times, changes, deletedCounts, lostRows) = (nil, nil, nil, nil, nil, nil)
    logView = nil
  }

  // MARK: - The page

  /// The page as HTML.
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

  /// A page of several stores.
  ///
  /// - Parameters:
  ///   - folder: the folder in which they are.
  ///   - stores: the path of each store within it, and what was read; else why it could not be.
  ///   - made: the time that the page names.
  /// - Returns: the page as HTML.
  /// - Throws: an error of the template.
  package static func index(
    of folder: String, _ stores: [(path: String, read: Result<StoreInspection, any Error>)],
    made: Date
  ) throws -> String {
    let lines = stores.map { path, read -> [String: Any] in
      switch read {
      case .success(let inspection):
        let health = Self.health(inspection)
        return [
          "name": PageFrame.text(path), "kind": kindName(inspection.kind),
          "verdict": health.sentence, "tone": health.tone,
          "rows": Quantity.count(inspection.liveRowCount),
          "bytes": Quantity.count(inspection.members.reduce(0) { $0 + $1.sizeBytes }),
        ]
      case .failure(let error):
        let message =
          (error as? SQLiteFileError)?.message ?? (error as? PassedOver)?.message
          ?? "it cannot be read"
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

  private static func health(_ inspection: StoreInspection) -> (tone: String, sentence: String) {
    guard inspection.damageCount > 0 else {
      return inspection.notChecked.isEmpty
        ? ("good", "No damage found")
        : ("good", "No damage found in what was looked at")
    }
    let count = inspection.damageCount
    return ("bad", "Damaged: \(Quantity.count(count)) \(count == 1 ? "finding" : "findings")")
  }

  private var verdict: PageVerdict {
    let health = Self.health(inspection)
    var verdict = PageVerdict(tone: health.tone, sentence: health.sentence)
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
        "Not looked at: \(parts.joined(separator: "; "))\(rest > 0 ? "; and \(rest) more" : ""). `lifeboat check --depth full` looks at more."
      )
    }
    if let expected, let difference {
      if difference.isEmpty {
        verdict.more.append("The model \(expected.name) is the one that the store was written by.")
      } else {
        if verdict.tone == "good" {
          verdict.tone = "doubt"
          verdict.sentence = "Written by another model than \(expected.name)"
          verdict.more.insert(health.sentence + ".", at: 0)
        }
        verdict.more.insert(difference.outcome, at: 0)
        if inspection.damageCount == 0, logView != nil {
          verdict.steps.append(
            ("lifeboat migrate \(file) --to MODELS -o NEW", "carries the rows into the new model."))
        }
      }
    }
    if !inspection.changedDuringRead.isEmpty {
      verdict.tone = "doubt"
      verdict.more.append("Files of the store changed while they were read; read it again.")
    }
    if let unread = inspection.unreadFiles { verdict.more.append(unread) }
    if !warnings.isEmpty {
      verdict.tone = "bad"
      verdict.more.insert(contentsOf: warnings, at: 0)
    }
    return verdict
  }

  /// The store as a command names it; in an incident, from the incident's folder.
  private var file: String {
    ShellText.path(incident == nil ? name : PathText.joined("store", name))
  }

  private func addRescue(to verdict: inout PageVerdict) {
    guard let survey else {
      verdict.more.append(
        "The files of the store are not in the bundle: ask for one with `--include store`.")
      return
    }
    var parts = ["\(Quantity.count(survey.rowCount)) of known tables"]
    if survey.partialRowCount > 0 {
      parts[0] += ", \(Quantity.count(survey.partialRowCount)) of them in part"
    }
    if survey.unattributedCount > 0 {
      parts.append("\(Quantity.count(survey.unattributedCount)) whose table is not certain")
    }
    verdict.more.append("Rows that can be read in spite of it: \(parts.joined(separator: "; ")).")
    // Frames behind a broken one are only used on request.
    let isBroken = inspection.findings.contains { $0.id == .walBrokenChain }
    let flags = isBroken && logView != .all ? "--wal all " : ""
    if isBroken, logView != .all {
      verdict.more.append(
        "The log has more commits after a frame that is broken; `--wal all` reads them, too.")
    }
    if inspection.model != nil, inspection.model?.problem == nil {
      verdict.steps.append(
        (
          "lifeboat salvage \(flags)\(file) -o NEW",
          "puts the rows into a store that the app opens."
        ))
    }
    verdict.steps.append(
      ("lifeboat recover \(flags)\(file) -o NEW.sqlite", "puts them into a fresh SQLite file."))
  }

  private var difference: ModelDifference? {
    guard let model, let expected else { return nil }
    return ModelDifference(from: model, to: expected.model)
  }

  // MARK: - Facts

  private static func kindName(_ kind: CoreDataStore.Kind) -> String {
    switch kind {
    case .coreData: "Core Data store"
    case .coreDataShaped: "Core Data store without metadata"
    case .sqlite: "SQLite database"
    }
  }

  private var facts: [(name: String, value: String)] {
    let file = inspection.file
    var facts = [("What it is", Self.kindName(inspection.kind))]
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
        Quantity.bytes(UInt64(clamping: inspection.members.reduce(0) { $0 + $1.sizeBytes }))
          + (inspection.members.count == 1
            ? "" : " in \(Quantity.count(inspection.members.count)) files")
      ),
      (
        "Pages",
        "\(Quantity.count(file.pageCount)) of \(Quantity.count(file.pageSizeBytes)) bytes, \(Quantity.count(file.freePageCount)) free"
      ), ("Last written by", "SQLite \(file.sqliteVersion)"),
      ("Text", file.textEncoding), ("Journal", file.journalMode),
    ]
    return facts
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
        (
          "App",
          [incident.app.name, incident.app.version, incident.app.build].compactMap { $0 }
            .joined(separator: " ")
        ), ("Lifeboat", incident.toolVersion),
      ].map { PageFrame.pair($0) },
    ]
  }

  private var rows: [String: Any]? {
    // What the app would see of a damaged store is not what can be read of it.
    let isPlain = inspection.kind == .sqlite || inspection.entities.isEmpty
    guard let survey, isPlain || inspection.damageCount > 0 else { return entityRows }
    return tableRows(survey)
  }

  /// Says that a table is cut off.
  private static func cut(_ count: Int) -> String {
    count > maxLines ? " \(maxLines) of \(Quantity.count(count)) are shown." : ""
  }

  private var entityRows: [String: Any]? {
    var note = "Rows of each entity, without its descendants, as the app would see them."
    if let deleted = survey?.deletedCount, deleted > 0 {
      note += " Deleted rows that are still in the file: \(Quantity.count(deleted))."
    }
    note += Self.cut(inspection.entities.count)
    let hasDeleted = deletedCounts?.isEmpty == false
    return [
      "holder": "Entity", "columns": ["Rows"] + (hasDeleted ? ["Deleted"] : []), "note": note,
      "lines": inspection.entities.prefix(Self.maxLines).map { entity -> [String: Any] in
        let counts = [entity.rowCount] + (hasDeleted ? [deletedCounts?[entity.name] ?? 0] : [])
        return ["name": PageFrame.text(entity.name), "counts": counts.map { Quantity.count($0) }]
      }
        + (inspection.plainTables ?? []).prefix(Self.maxLines).map { table -> [String: Any] in
          [
            "name": PageFrame.text(table.name + " (a table)"),
            "counts": [Quantity.count(table.rowCount)] + (hasDeleted ? [""] : []),
          ]
        },
    ]
  }

  /// The deleted and replaced rows of each entity.
  private static func deletedCounts(_ store: DamagedStore) throws -> [String: Int]? {
    guard store.kind != .sqlite else { return nil }
    var counts: [String: Int] = [:]
    _ = try RecoveredRowOutput(store).forEachRow(.deleted) { row, _, _ in
      if let name = row.entityName { counts[name, default: 0] += 1 }
      return true
    }
    return counts
  }

  private func tableRows(_ survey: RebuildResult) -> [String: Any] {
    var note =
      "Rows that can be read; those in part lack a value, deleted ones are still in the file."
    let lost = lostRows.flatMap { $0.counts.isEmpty ? nil : $0 }
    if let lost {
      note += " Lost rows cannot be read: only an index still names them."
      if lost.isCut { note += " There may be more than are counted here." }
    }
    return [
      "holder": "Table",
      "columns": ["Rows", "In part", "Deleted"] + (lost == nil ? [] : ["Lost"]),
      "note": note + Self.cut(survey.tables.count),
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
    PageFrame.findings(inspection.findings, of: inspection.findings.count, at: Self.maxLines)
  }

  private var log: [String: Any]? {
    guard let log = inspection.writeAheadLog else { return nil }
    var note =
      "\(Quantity.count(log.commitCount)) commits in \(Quantity.count(log.committedFrameCount)) frames"
    if log.uncommittedFrameCount > 0 {
      note += "; \(Quantity.count(log.uncommittedFrameCount)) frames were never committed"
    }
    if log.staleFrameCount > 0 {
      note += "; \(Quantity.count(log.staleFrameCount)) are older than the last checkpoint"
    }
    if let problem = log.problem { note += "; not used: \(problem)" }
    if let times, times.commits.count < times.commitCount {
      note += "; the first \(times.commits.count) are shown"
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
    if let expected, let difference, !difference.isEmpty {
      return [
        "note": PageFrame.text(
          "From the model that the store carries to \(expected.name). \(difference.countText)",
          limit: 600),
        "hasChanges": true,
        "changes": difference.changes.prefix(Self.maxLines).map { PageFrame.sentence($0.sentence) },
        "svg": ModelDiagram(from: model, to: expected.model, difference).svg,
      ]
    }
    return [
      "note": "The model that the store carries: \(Quantity.count(model.entities.count)) entities.",
      "hasChanges": false, "svg": ModelDiagram(of: model).svg,
    ]
  }

  private var hashes: [String: Any]? {
    guard let hashes = inspection.metadata?.versionHashes, !hashes.isEmpty else { return nil }
    return [
      "lines": hashes.sorted { $0.key < $1.key }.prefix(Self.maxLines).map {
        ["name": PageFrame.text($0.key), "hash": PageFrame.text($0.value)]
      }
    ]
  }

  // MARK: - Method

  private var method: [String] {
    guard let logView else {
      return [
        "This page is made of what a bundle says of the store. The files themselves are not in it; sizes of files beside the store are rounded."
      ]
    }
    let log =
      switch logView {
      case .committed: "The log and the journal were laid over the main file as SQLite would."
      case .ignore: "The main file was read alone, without its log."
      case .all:
        "The log was laid over the main file, with frames that SQLite would leave out."
      }
    return [
      "Lifeboat opened the files for reading only, with its own reader; SQLite did not see them. "
        + log,
      inspection.changedDuringRead.isEmpty
        ? "The files did not change meanwhile. Their SHA-256 says which ones they were."
        : "These files changed meanwhile: "
          + PageFrame.text(
            inspection.changedDuringRead.map {
              Self.isExternal($0) ? "a file of external data" : $0
            }.joined(separator: ", ")),
    ]
  }

  /// The files, with those of external data in one line: their names and hashes would tell of values.
  private var files: [[String: Any]] {
    var lines = inspection.members.filter { !Self.isExternal($0.name) }.map {
      [
        "name": PageFrame.text($0.name), "bytes": Quantity.count($0.sizeBytes),
        "hash": PageFrame.text($0.sha256 ?? "not taken"),
      ]
    }
    let external = inspection.members.filter { Self.isExternal($0.name) }
    if !external.isEmpty {
      lines.append([
        "name": "external data: \(Quantity.count(external.count)) files",
        "bytes": Quantity.count(external.reduce(0) { $0 + $1.sizeBytes }), "hash": "not shown",
      ])
    }
    return lines
  }

  /// Whether a member of the store is a file in its support folder.
  private static func isExternal(_ name: String) -> Bool {
    PathText.components(of: name).count > 1
  }

  private static let words: [(word: String, meaning: String)] = [
    ("Page", "A piece of the file of fixed size. Each belongs to one table or index, or is free."),
    ("Entity", "A class of objects in the app's model; its rows are objects."),
    ("Version hash", "A number computed from an entity. Where it differs, the models differ."),
    (
      "Write-ahead log",
      "A file beside the store with the newest changes, before they are copied into it."
    ),
    (
      "Damage",
      "Bytes that are missing, or contradict each other. A note is worth knowing, and nothing is lost."
    ),
    ("Deleted row", "A row that the app no longer sees and whose bytes were not overwritten yet."),
    ("Lost row", "A row whose bytes are gone; here, one that an index still names."),
  ]
}
