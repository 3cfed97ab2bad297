import ArgumentParser
import CoreDataStore
import Foundation
import SQLiteFile
import SQLiteForensics
import SafeFiles
import SafeText
import StoreExtraction
import SupportBundle
import Terminal

struct Check: StoreReader {
  enum Format: String, ExpressibleByArgument, CaseIterable {
    case text, json, ndjson
  }

  static let configuration = CommandConfiguration(
    abstract: "Check a store: pages, b-trees, records, Core Data's rules.",
    usage: "lifeboat check [<options>] <path>",
    discussion: """
      Examples: lifeboat check Notes.sqlite
                lifeboat check --depth full --format ndjson Notes.sqlite

      Nothing is repaired or written. The check finds what SQLite's own integrity check finds, even in files that \
      SQLite does not open. It names what it did not look at; a store is called sound only when nothing is left out.

      Exit status: 1 when damage was found, or the backup that the store is in lacks files of the store, such as the \
      log; 0 when nothing or only notes were found; 65 when the file is not a readable store; 75 when it changed \
      while it was read.
      """)

  @Argument(help: .store, completion: .file())
  var path: String

  @Option(
    name: .long,
    help:
      "quick or full; full also compares index entries with rows, and checks the order of entries.")
  var depth: CheckDepth = .quick

  @Option(name: .long, help: "text, json, or ndjson (a line for each finding).")
  var format: Format?

  @Option(
    name: .long, help: "A folder of analysers (.json files) to use beside the built-in ones.",
    completion: .directory)
  var analysers: String?

  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup var progress: ProgressOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  func read(_ input: StoreInput) throws {
    let path = try input.storePath()
    // Analysers that cannot be read are reported before the long work.
    let analysers = try Analysers.including(analysers)
    let meter = progress.meter("Checking", unit: .pages, display)
    var check = try StoreCheck(path: path, logView: store.wal, depth: depth) {
      meter.update($0, of: $1)
    }
    meter.finish()
    check.path = input.shown(path)
    if let decrypted = input.decrypted { check.add(decrypted.findings) }
    let record = try input.incident.map { try JSONText.data($0) }
    check.analyses = analysers.analyses(
      try AnalyserFacts(
        path: path, logView: store.wal, findings: check.findings, damageCount: check.damageCount,
        incident: record))
    guard check.changedDuringRead.isEmpty else {
      throw Failure.changedDuringRead(check.changedDuringRead)
    }
    switch format ?? (display.json ? .json : .text) {
    case .text:
      let repair = check.isSound ? nil : RepairCommand(forFileAt: path, logView: store.wal)
      let text = CheckText(check: check, repair: repair, secrets: secrets, display: display)
      try display.write(text.text)
    case .json: try display.write(json: check)
    case .ndjson: try display.write(lines: check.findings)
    }
    if !check.isSound { try display.exitWithFindings() }
  }
}

extension Analysers {
  /// The built-in analysers, and the analysers in `folder` if `folder` is not nil.
  static func including(_ folder: String?) throws -> Analysers {
    var all = shipped
    guard let folder else { return all }
    guard try FileStatus.of(folder)?.kind == .folder else {
      throw Failure(
        66, "file.missing", "\(folder): there is no such folder",
        hint: "name a folder that holds analysers, which are files that end in .json")
    }
    try all.add(folder: folder)
    return all
  }
}

struct CheckText {
  /// The ids of the findings that say that the header of the file is wrong or missing.
  static let layoutFindings: Set<Finding.ID> = [
    .fileHeadMissing, .fileHeadMoved, .headerUnreadable, .headerOtherPageSize,
    .headerOtherEncoding, .headerOtherReservedBytes,
  ]
  /// The maximum number of findings that are shown without `-v`.
  private static let maxShown = 50
  let check: StoreCheck
  /// The command that makes a sound file of the store; nil if the store is sound.
  let repair: RepairCommand?
  let secrets: SecretOptions
  let display: DisplayOptions

  var text: String {
    var block = KeyValueBlock()
    block.add("Verdict", verdict, tone: check.isSound ? .green : .red)
    block.add("Checked", counts)
    if !check.notChecked.isEmpty { block.add("Not checked", notChecked) }
    block.add("Next", suggestions)
    return block.text(width: display.width, style: display.style) + analyses + findings
  }

  /// The conclusions of the analysers as text. Each conclusion has a verdict, a sentence, a link and an id. Empty when
  /// no analyser draws a conclusion.
  private var analyses: String {
    (check.analyses ?? []).map { analysis in
      let lines =
        [analysis.sentence] + (analysis.link.map { [$0] } ?? []) + ["(\(analysis.id))"]
      return "\n" + display.style.apply(VisibleText.visible(analysis.verdict), .bold) + "\n"
        + lines.flatMap { DisplayText.wrapped(VisibleText.visible($0), to: display.width - 2) }
        .map { "  " + $0 + "\n" }.joined()
    }.joined()
  }

  private var verdict: String {
    let notes = check.findingCount - check.damageCount
    let noteText = notes == 0 ? "" : ", \(Quantity.count(notes, "note"))"
    guard !check.isSound else {
      let areRulesKept =
        check.kind == .coreData
        && !check.notChecked.contains { PathText.starts($0.id.rawValue, with: "coredata.") }
      let also =
        areRulesKept ? ", and Core Data's rules on keys, references and storage classes hold" : ""
      return check.notChecked.isEmpty
        ? "sound: every page, cell and record is as it should be\(also)\(noteText)"
        : "no damage found in the parts that were checked: pages, cells and records are sound\(also)\(noteText)"
    }
    return "damaged: \(Quantity.count(check.damageCount, "finding"))"
      + Self.places(of: check.findings) + noteText
  }

  /// The number of pages that `findings` call damaged, as the end of a sentence. Pages that the file does not have are
  /// counted apart. If `pageCount` is not nil, it follows the number of pages. Empty when no finding names a page.
  static func places(of findings: [Finding], pageCount: UInt32? = nil) -> String {
    let damage = findings.filter { $0.severity == .damage }
    let missing = Set(damage.filter { missingPages.contains($0.id) }.compactMap(\.page))
    let pages = Set(damage.compactMap(\.page)).subtracting(missing).count
    var places: [String] = []
    if pages > 0 {
      let all = pageCount.map { " (of \(Quantity.count($0)))" } ?? ""
      places.append("on \(Quantity.count(pages, "page"))\(all)")
    }
    if !missing.isEmpty {
      places.append("on \(Quantity.count(missing.count, "page")) that the file does not have")
    }
    return places.isEmpty ? "" : " " + places.joined(separator: " and ")
  }

  /// The ids of the findings that name a page that the file does not have.
  private static let missingPages: Set<Finding.ID> = [.pageMissing, .freelistOutOfRange]

  private var counts: String {
    let counts = check.counts
    let trees =
      counts.looseTrees == 0
      ? "" : " and of " + Quantity.count(counts.looseTrees, "b-tree") + " without a schema entry"
    let loose = trees + uncounted
    let entries =
      check.depth == .full
      ? "entries compared with the rows"
        + (check.notChecked.contains { $0.id == .indexEntries } ? " as far as possible" : "")
      : "entries counted, not compared (--depth full compares them)"
    return Quantity.count(counts.checkedPages, "page") + " of \(Quantity.count(counts.pages)) ("
      + "\(Quantity.count(counts.overflowPages)) overflow, \(Quantity.count(counts.freePages)) free), "
      + Quantity.count(counts.rows, "row") + " of "
      + Quantity.count(max(0, counts.tables - 1), "table") + loose
      + ", " + Quantity.count(counts.indexEntries, "entry", "entries") + " of "
      + (counts.indexes == 0 && counts.indexEntries > 0
        ? "indexes without a schema entry" : Quantity.count(counts.indexes, "index", "indexes"))
      + (counts.indexes > 0 ? "; \(entries)" : "")
  }

  /// Says that rows are not counted where pages could not be checked. Empty when the rows of all tables are counted.
  private var uncounted: String {
    guard let names = check.counts.partlyCountedTables, !names.isEmpty else { return "" }
    let shown = names.prefix(3).map(VisibleText.visible).joined(separator: ", ")
    let rest = names.count > 3 ? ", …" : ""
    return " (without the rows on pages that could not be checked, of \(shown)\(rest))"
  }

  private var notChecked: String {
    let full: Set<Finding.ID> = [.indexEntries, .indexOrder]
    let isQuick =
      check.depth == .quick && check.notChecked.contains { full.contains($0.id) }
    return check.notChecked.map(\.message).joined(separator: "; ")
      + (isQuick ? "; --depth full checks more" : "")
  }

  private var suggestions: [KeyValueBlock.Suggestion] {
    let store = secrets.argument(check.path)
    guard let repair else {
      return [.init("lifeboat inspect \(store)", "show what the store is")]
    }
    var all: [KeyValueBlock.Suggestion] = []
    if let page = firstPage {
      all.append(.init("lifeboat pages --page \(page) \(store)", "show the first damaged page"))
    }
    return all + RecoveryAdvice.suggestions(for: store, check.findings, repair)
  }

  /// The number of the first page that is damaged but still in the file; nil when there is no such page.
  private var firstPage: UInt32? {
    let gone = Self.missingPages.union([.schemaLost])
    return check.findings.first {
      $0.severity == .damage && $0.page != nil && $0.offset != nil && !gone.contains($0.id)
    }?.page
  }

  private var findings: String {
    let shown = check.findings.filter { !display.quiet || $0.severity == .damage }
    guard !shown.isEmpty else { return "" }
    var text = "\nFindings\n"
    let maxShown = display.verbose > 0 ? shown.count : Self.maxShown
    for finding in shown.prefix(maxShown) {
      let mark = finding.severity == .note ? "note: " : ""
      text += FindingText.block(mark + FindingText.line(finding), display)
    }
    let rest = shown.count - min(maxShown, shown.count) + check.findingCount - check.findings.count
    if rest > 0 {
      text +=
        "  and \(Quantity.count(rest)) more (-v shows up to \(Quantity.count(FindingList.limit)))\n"
    }
    return text
  }
}
