import CoreDataStore
import Quoting
import SQLiteFile
package import StoreExtraction
import Terminal

/// A page that shows what happened to a store: a histogram of changes over time, the rows that each commit of the
/// write-ahead log changed, and a list of events.
package struct TimelinePage {
  private let name: String
  private let argument: String
  private let counts: TimelineCounts
  private let events: [StoreTimeline.Event]
  private let isOldestFirst: Bool
  private let findings: [Finding]
  private let damageCount: Int
  private let hasHistory: Bool
  /// Phrases that say by which conditions the events on the page were selected; empty when all events were selected.
  package var choice: [String] = []
  /// Sentences about the events that are added to the verdict at the top of the page.
  package var notes: [String] = []

  package static let maxEvents = 1_000
  private static let maxLines = 200

  /// Reads the timeline of a store once, and keeps the counts and the first `limit` events, at most ``maxEvents``.
  /// `names` has the store's name for the title, and the store's path for the commands that the page shows.
  ///
  /// - Throws: the errors that `StoreTimeline` throws while it reads events.
  package init(
    _ timeline: StoreTimeline, _ names: (title: String, argument: String),
    _ selection: StoreTimeline.Selection, limit: Int, isOldestFirst: Bool
  ) throws {
    let limit = max(0, min(limit, Self.maxEvents))
    var counts = TimelineCounts()
    if isOldestFirst {
      var events: [StoreTimeline.Event] = []
      try timeline.forEachEvent(selection) { event in
        counts.add(event)
        if events.count < limit { events.append(event) }
        return true
      }
      self.events = events
    } else {
      events = try timeline.lastEvents(limit, selection) { counts.add($0) }.events
    }
    (name, argument) = names
    self.counts = counts
    self.isOldestFirst = isOldestFirst
    findings = timeline.findings.kept.filter { $0.severity == .damage }
    damageCount = timeline.findings.damageCount
    hasHistory = timeline.hasHistory
  }

  package func html() throws -> String {
    var content = PageContent([
      "verdict": verdict.context, "summary": summary, "events": list,
    ])
    content.addSection("summary", "In numbers")
    content.addSection("times", "Over time", times)
    content.addSection("commits", "Commits of the log", commits)
    content.addSection("entities", "By entity", entities)
    content.addSection("events", "Events")
    content.addSection("findings", "Findings", damage)
    return try PageFrame.page(
      "Timeline of \(name)", by: ". The store was only read. Times are in UTC.",
      Self.template, content)
  }

  // MARK: - Parts

  private func count(_ kind: TimelineCounts.Kind) -> Int { counts.counts[kind] ?? 0 }

  private var verdict: PageVerdict {
    var verdict = PageVerdict(
      tone: damageCount > 0 ? "bad" : "good",
      sentence: counts.eventCount == 0
        ? "No events" : Quantity.count(counts.eventCount, "event"))
    if let ends = counts.bins.ends {
      let (first, last) = (
        StackedBars.moment(ends.first.rounded(.down)), StackedBars.moment(ends.last.rounded(.down))
      )
      verdict.more.append(
        first == last
          ? "The only event date from 1980 to 2080 is \(first)."
          : "The first event date from 1980 to 2080 is \(first), and the last is \(last).")
    }
    if !choice.isEmpty {
      verdict.more.append(
        "This page has only the events that were asked for: \(choice.joined(separator: ", ")).")
    }
    if !hasHistory {
      verdict.more.append(
        "The store has no persistent history. Changes of rows are known only from the commits "
          + "that the write-ahead log still holds."
      )
    }
    if damageCount > 0 {
      verdict.more.append(
        "Damaged: \(Quantity.count(damageCount, "finding")). Events may be missing.")
      verdict.steps.append(
        (
          "lifeboat check \(ShellText.path(argument))",
          "lists everything that is wrong with the file."
        ))
    }
    verdict.more += notes
    return verdict
  }

  private var summary: [String: Any] {
    var facts: [(String, String)] = []
    for kind in TimelineCounts.changes where kind != .other || count(kind) > 0 {
      facts.append(("Rows \(kind.words)", Quantity.count(count(kind))))
    }
    for kind in [TimelineCounts.Kind.transaction, .date] where count(kind) > 0 {
      facts.append(
        (
          kind == .date ? "Dates in rows" : "Transactions without recorded changes",
          Quantity.count(count(kind))
        ))
    }
    if counts.commits.count > 0 {
      let rows = zip(CommitCounts.parts, counts.commits.totals)
        .map { "\(Quantity.count($1)) \($0.words)" }.joined(separator: ", ")
      let unknown = counts.commits.unknownCount
      facts.append(
        (
          "Commits of the log",
          "\(Quantity.count(counts.commits.count)); rows: \(rows)"
            + (unknown > 0 ? "; not known for \(Quantity.count(unknown, "commit"))" : "")
        ))
    }
    if counts.remainderCount > 0 {
      facts.append(("Other frames of the log", Quantity.count(counts.remainderCount, "group")))
    }
    return ["facts": facts.map { PageFrame.pair($0) }]
  }

  private var times: [String: Any]? {
    var context = counts.histogram?.context(unit: counts.bins.unit, holder: "From") ?? [:]
    if counts.bins.outOfRange > 0 { context["outOfRange"] = Quantity.count(counts.bins.outOfRange) }
    if counts.undatedCount > 0 { context["undated"] = Quantity.count(counts.undatedCount) }
    return context.isEmpty ? nil : context
  }

  private var commits: [String: Any]? {
    counts.commits.histogram?.context(unit: counts.commits.unit, holder: "Commits")
  }

  private var entities: [String: Any]? {
    let all = counts.entities.map { (name: $0.key.text, counts: $0.value) }.sorted { one, other in
      let (left, right) = (one.counts.values.reduce(0, +), other.counts.values.reduce(0, +))
      return left == right ? one.name.utf8.lexicographicallyPrecedes(other.name.utf8) : left > right
    }
    guard !all.isEmpty else { return nil }
    let kinds = TimelineCounts.changes.filter { kind in
      kind != .other || all.contains { $0.counts[kind] != nil }
    }
    return [
      "note": PageFrame.cut(all.count, at: Self.maxLines),
      "holder": "Entity", "columns": kinds.map(\.words),
      "lines": all.prefix(Self.maxLines).map { entity in
        [
          "name": PageFrame.text(entity.name),
          "counts": kinds.map { Quantity.count(entity.counts[$0] ?? 0) },
        ] as [String: Any]
      },
    ]
  }

  private var list: [String: Any] {
    var note = "No events."
    if counts.eventCount > 0 {
      note = isOldestFirst ? "The oldest event is first." : "The newest event is first."
      if events.count < counts.eventCount {
        note +=
          " \(Quantity.count(events.count)) of \(Quantity.count(counts.eventCount)) events are "
          + "shown; `--limit` shows up to \(Quantity.count(Self.maxEvents)), "
          + "and `--format ndjson` shows all."
      }
      note += " Most commits of the write-ahead log have no time; they are in the order of the log."
    }
    return [
      "note": PageFrame.sentence(note), "hasLines": !events.isEmpty,
      "lines": events.map { event -> [String: Any] in
        [
          "time": event.date?.iso8601 ?? "", "kind": Self.kind(event),
          "what": PageFrame.text(event.sentence),
        ]
      },
    ]
  }

  private static func kind(_ event: StoreTimeline.Event) -> String {
    if case .change(let change) = event, ["insert", "update", "delete"].contains(change.change) {
      return change.change
    }
    return event.kind
  }

  private var damage: [String: Any]? {
    guard !findings.isEmpty else { return nil }
    return PageFrame.findings(findings, of: damageCount, at: Self.maxLines)
  }
}

extension TimelinePage {
  private static let template = """
    \(PageFrame.verdict)
    \(PageFrame.contents)
    \(PageFrame.summary)
    {{#times}}<section aria-labelledby="times">
    <h2 id="times">Over time</h2>
    {{#svg}}<p class="key">A bar for each {{unit}}. \(StackedBars.legend)</p>{{/svg}}
    {{#outOfRange}}<p>Dates before 1980, after 2080 or at the zero of the calendar are not shown: {{outOfRange}}.</p>{{/outOfRange}}
    {{#undated}}<p>Events of the history without a date are not shown: {{undated}}.</p>{{/undated}}
    {{#svg}}<div class="strip" tabindex="0" role="group" aria-label="Histogram of events">{{{svg}}}</div>{{/svg}}
    \(StackedBars.table)
    </section>{{/times}}
    {{#commits}}<section aria-labelledby="commits">
    <h2 id="commits">Commits of the log</h2>
    <p class="key">A bar for each {{unit}}, from the oldest to the newest; its height is the number of rows. \(StackedBars.legend)</p>
    <div class="strip" tabindex="0" role="group" aria-label="Histogram of commits">{{{svg}}}</div>
    \(StackedBars.table)
    </section>{{/commits}}
    {{#entities}}<section aria-labelledby="entities">
    <h2 id="entities">By entity</h2>
    {{#note}}<p>{{.}}</p>{{/note}}
    \(PageFrame.countTable)
    </section>{{/entities}}
    {{#events}}<section aria-labelledby="events">
    <h2 id="events">Events</h2>
    {{#note}}<p>\(PageFrame.sentence)</p>{{/note}}
    {{#hasLines}}<table class="sortable stacked" tabindex="0">
    <thead><tr><th scope="col">Time</th><th scope="col">Kind</th><th scope="col">What</th></tr></thead>
    <tbody>
    {{#lines}}<tr class="event-{{kind}}"><td class="keep">{{time}}</td><td class="keep">{{kind}}</td><td>{{what}}</td></tr>
    {{/lines}}
    </tbody>
    </table>{{/hasLines}}
    </section>{{/events}}
    \(PageFrame.findingTable)
    """
}
