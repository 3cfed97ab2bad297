import ArgumentParser
import CoreDataStore
import SQLiteFile
import SafeText
import StoreExtraction
import Terminal

/// `lifeboat timeline`
struct Timeline: StoreReader {
  enum Format: String, ExpressibleByArgument, CaseIterable {
    case text, ndjson, timesketch
  }

  static let configuration = CommandConfiguration(
    abstract: "Show what happened to a store, and when.",
    usage: "lifeboat timeline [<options>] <path>",
    discussion: """
      Examples: lifeboat timeline Notes.sqlite
                lifeboat timeline Notes.sqlite --dates --format timesketch > Notes.jsonl

      Shows the changes that Core Data's persistent history recorded, then the commits in the write-ahead log with \
      what each did to rows, and with --dates also the dates in rows.

      Exit status: 1 when damage was found; 65 when the file is not a readable store; 75 when it changed \
      while it was read.
      """)

  @Argument(help: .store, completion: .file())
  var path: String

  @Option(name: .long, help: "text, ndjson or timesketch; text by default.")
  var format: Format?

  @Flag(name: .long, help: "Also show the dates in rows as events.")
  var dates = false

  @Option(name: .long, help: "The maximum number of events.")
  var limit: Int?

  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var outputPaths: [String] { [] }

  func validate() throws {
    if let limit, limit < 0 {
      throw ValidationError("--limit takes a number of events, 0 or more.")
    }
  }

  func read(_ input: StoreInput) throws {
    let path = try input.storePath()
    let watch = EvidenceWatch(path)
    let timeline = try StoreTimeline(path: path, includesDates: dates)
    timeline.name = input.shown(path)
    switch format ?? (display.json ? .ndjson : .text) {
    case .text: try writeText(timeline)
    case .ndjson: _ = try timeline.write(as: .ndjson, limit: limit, to: 1)
    case .timesketch:
      let written = try timeline.write(as: .timesketch, limit: limit, to: 1)
      if written.undatedCount > 0 {
        display.note(
          "note: \(Quantity.count(written.undatedCount)) events without a date are left out")
      }
    }
    try watch.requireUnchanged()
    if timeline.omittedDateCount > 0 {
      display.note(
        "note: \(Quantity.count(timeline.omittedDateCount)) dates are left out: too many to sort"
      )
    }
    display.note(timeline.findings.kept)
    if timeline.findings.damageCount > 0 { try display.exitWithFindings() }
  }

  /// A line for each event: the date, or a dash, and what happened.
  private func writeText(_ timeline: StoreTimeline) throws {
    let output = StandardStream(descriptor: 1)
    var count = 0
    var failure: (any Error)?
    if limit != 0 {
      try timeline.forEachEvent { event in
        let date = event.date?.iso8601 ?? "-"
        let padding = String(repeating: " ", count: max(0, 28 - date.count))
        do {
          try output.writeLine(date + padding + VisibleText.visible(event.sentence))
        } catch {
          failure = error
        }
        count += 1
        return failure == nil && limit.map { count < $0 } ?? true
      }
    }
    if let failure { throw failure }
    if count == 0 { try output.writeLine("no events") }
    try output.flush()
  }
}
