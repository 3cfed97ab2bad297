import ArgumentParser
import CoreDataStore
import SQLiteFile
import SafeText
import StoreExtraction
import StoreReport
import Terminal

struct Timeline: StoreReader {
  enum Format: String, ExpressibleByArgument, CaseIterable {
    case text, ndjson, timesketch, html
  }

  static let configuration = CommandConfiguration(
    abstract: "Show what happened to a store, and when.",
    usage: "lifeboat timeline [<options>] <path>",
    discussion: """
      Examples: lifeboat timeline Notes.sqlite
                lifeboat timeline Notes.sqlite --since 2026-11-20 --entity Note
                lifeboat timeline Notes.sqlite --dates --format timesketch > Notes.jsonl
                lifeboat timeline Notes.sqlite --format html -o Timeline.html

      Shows the changes that Core Data's persistent history recorded, then the commits in the write-ahead log and \
      what each commit did to rows. --dates adds the dates in rows. Text and html begin with the newest event, the \
      other formats with the oldest. --format html is one page with a histogram, and holds no value of a row.

      Exit status: 1 when damage was found; 65 when the file is not a readable store; 73 when the output exists; 75 \
      when the store changed while it was read.
      """)

  @Argument(help: .store, completion: .file())
  var path: String

  @Option(name: .long, help: "text, ndjson, timesketch or html; text by default.")
  var format: Format?

  @OptionGroup var made: PageOutput

  @Flag(name: .long, help: "Also show the dates in rows as events.")
  var dates = false

  @Option(
    name: .long, help: "Only events at or after this date or time (UTC), such as 2026-11-20T21:53.")
  var since: String?

  @Option(
    name: .long, help: "Only events until the end of this month, day, minute or second (UTC).")
  var until: String?

  @Option(name: .long, help: "Only events of rows of this entity or table; may be repeated.")
  var entity: [String] = []

  @Flag(name: .long, help: "Begin with the oldest event.")
  var oldest = false

  @Option(name: .long, help: "The maximum number of events; by default 50 in text and 200 in html.")
  var limit: Int?

  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var outputPaths: [String] { made.paths }

  func validate() throws {
    try made.validate(format == .html ? "html" : nil, among: "html", display)
    if let limit, limit < 0 {
      throw ValidationError("--limit takes a number of events, 0 or more.")
    }
    for text in [since, until].compactMap({ $0 }) where DateText.seconds(in: text) == nil {
      throw ValidationError(
        "'\(text)' is not a date that can be read. Write it as 2026-11-20 or 2026-11-20T21:53.")
    }
  }

  func read(_ input: StoreInput) throws {
    let path = try input.storePath()
    if let output = made.output { try input.check(output) }
    let watch = EvidenceWatch(path)
    let timeline = try StoreTimeline(path: path, includesDates: dates)
    timeline.name = input.shown(path)
    switch format ?? (display.json ? .ndjson : .text) {
    case .text: try writeText(timeline)
    case .html: try writePage(timeline, input.names, watch)
    case .ndjson: _ = try timeline.write(as: .ndjson, selection, limit: limit, to: 1)
    case .timesketch:
      let written = try timeline.write(as: .timesketch, selection, limit: limit, to: 1)
      if written.undatedCount > 0 {
        let isOne = written.undatedCount == 1
        display.note(
          "note: \(Quantity.count(written.undatedCount, "event")) without a date "
            + (isOne ? "is left out" : "are left out"))
      }
    }
    try watch.requireUnchanged()
    for sentence in leftOut(timeline) { display.note("note: \(sentence)") }
    display.note(timeline.findings.kept)
    if timeline.findings.damageCount > 0 { try display.exitWithFindings() }
  }

  /// Sentences without a full stop about dates that the output leaves out.
  private func leftOut(_ timeline: StoreTimeline) -> [String] {
    var sentences: [String] = []
    if timeline.omittedDateCount > 0 {
      sentences.append(
        "left out because there are too many to sort: "
          + Quantity.count(timeline.omittedDateCount, "date"))
    }
    return sentences
      + timeline.findings.kept.filter { $0.id == .timelineDateOutOfRange }.map(\.message)
  }

  private var selection: StoreTimeline.Selection {
    var selection = StoreTimeline.Selection()
    selection.since = since.flatMap { DateText.seconds(in: $0)?.lowerBound }
    selection.until = until.flatMap { DateText.seconds(in: $0)?.upperBound }
    selection.names = entity.isEmpty ? nil : entity
    return selection
  }

  private func writePage(
    _ timeline: StoreTimeline, _ names: (title: String, argument: String), _ watch: EvidenceWatch
  ) throws {
    var page = try TimelinePage(
      timeline, names, selection, limit: limit ?? 200, isOldestFirst: oldest)
    if let since { page.choice.append("since \(since)") }
    if let until { page.choice.append("until \(until)") }
    if !entity.isEmpty { page.choice.append("of \(entity.joined(separator: ", "))") }
    page.notes += leftOut(timeline).map { $0 + "." }
    if !dates, !timeline.hasHistory, timeline.store.kind != .sqlite {
      page.notes.append("`--dates` shows the dates in rows, too.")
    }
    // Nothing is written if the store has changed while it was read.
    try watch.requireUnchanged()
    try made.write(page.html(), display)
  }

  /// Prints each event: the date, or a dash if the date is not known, and what happened. Long sentences continue on
  /// indented lines.
  private func writeText(_ timeline: StoreTimeline) throws {
    let limit = limit ?? 50
    var events: [StoreTimeline.Event] = []
    var total = 0
    if oldest {
      try timeline.forEachEvent(selection) { event in
        if total < limit { events.append(event) }
        total += 1
        return true
      }
    } else {
      (events, total) = try timeline.lastEvents(limit, selection)
    }
    var rows: [ExactText: Set<Int64>] = [:]
    for case let row? in events.map(\.row) {
      rows[ExactText(row.entity), default: []].insert(row.key)
    }
    let titles = rows.isEmpty ? [:] : try timeline.titles(of: rows)
    let output = StandardStream(descriptor: 1)
    for event in events {
      let date = event.date?.iso8601 ?? "-"
      let padding = String(repeating: " ", count: max(0, 28 - date.utf8.count))
      let title = event.row.flatMap { titles[ExactText($0.entity)]?[$0.key] }
      var sentence = VisibleText.visible(event.sentence)
      if let title { sentence += "  \"" + VisibleText.visible(title, limit: 40) + "\"" }
      let indent = String(repeating: " ", count: 28)
      let lines = DisplayText.wrapped(sentence, to: max(30, display.width - indent.utf8.count))
      for (place, line) in lines.enumerated() {
        try output.writeLine((place == 0 ? date + padding : indent) + line)
      }
    }
    if total > events.count {
      try output.writeLine(
        "\(Quantity.count(events.count)) of \(Quantity.count(total)) events shown; --limit shows more"
      )
    }
    if total == 0 { try output.writeLine("no events") }
    try output.flush()
    if !dates, !timeline.hasHistory, timeline.store.kind != .sqlite {
      display.note("note: the store has no persistent history; --dates shows the dates in its rows")
    }
  }
}
