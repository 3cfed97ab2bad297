import StoreExtraction
package import StoreTriage
import Terminal

/// A page about the triage of many inputs. The page shows the number of inputs by day, the remedies, the builds of the
/// app, and the cases with their trends. A case is a `TriageGroups.Group`. The page holds no value of any row.
package struct TriagePage {
  private let report: TriageGroups.Report

  package static let maxCases = 500
  /// The maximum number of cases that have a section of their own on the page. These are the first cases in the table
  /// of cases.
  package static let maxSections = 20
  private static let maxLines = 100

  package init(_ report: TriageGroups.Report) { self.report = report }

  package func html() throws -> String {
    let shown = report.groups.prefix(Self.maxSections)
    var content = PageContent([
      "verdict": verdict.context, "summary": ["facts": summary.map { PageFrame.pair($0) }],
      "cases": cases, "groups": shown.enumerated().map { Self.section($1, number: $0 + 1) },
    ])
    content.addSection("summary", "In numbers")
    content.addSection("times", "Over time", times)
    content.addSection("fixes", "What helps", fixes)
    content.addSection("builds", "By build", builds)
    content.addSection("cases", "Cases")
    return try PageFrame.page(
      "Triage of \(Quantity.count(report.inputCount, "input"))",
      by: ". The inputs were only read. Days are in UTC.", Self.template, content)
  }

  // MARK: - In numbers

  private var verdict: PageVerdict {
    var verdict = PageVerdict(
      tone: report.careCount == 0 ? "good" : "bad",
      sentence: report.careCount == 0
        ? "Nothing to be looked at"
        : "\(Quantity.count(report.careCount)) of \(Quantity.count(report.inputCount, "input")) to be looked at"
    )
    if let most = report.groups.first(where: { $0.signature.verdict != TriageSignature.healthy }) {
      verdict.more.append(
        "Most often, \(Quantity.count(most.count, "time", "times")): \(most.words).")
    }
    if report.failedCount > 0 {
      verdict.more.append("\(Quantity.count(report.failedCount)) of the inputs could not be read.")
    }
    if report.otherCount > 0 {
      verdict.more.append(
        "Inputs of rarer cases, counted but not shown: \(Quantity.count(report.otherCount)).")
    }
    return verdict
  }

  private var summary: [(name: String, value: String)] {
    let dates = report.groups.flatMap { [$0.firstSeen, $0.lastSeen] }.compactMap(\.self)
    var facts = [
      ("Inputs", Quantity.count(report.inputCount)),
      ("To be looked at", Quantity.count(report.careCount)),
      ("Not readable", Quantity.count(report.failedCount)),
      ("Cases", Quantity.count(report.groups.count)),
    ]
    if let first = dates.min(), let last = dates.max() {
      facts.append(("Seen", first == last ? first : "\(first) to \(last)"))
    }
    return facts
  }

  // MARK: - Over time

  private static let parts: [StackedBars.Part] = [
    .init(style: "sound", words: "healthy"), .init(style: "care", words: "to be looked at"),
  ]

  private static func kind(_ group: TriageGroups.Group) -> Int {
    group.signature.verdict == TriageSignature.healthy ? 0 : 1
  }

  private static func bins(_ groups: some Sequence<TriageGroups.Group>) -> TimeBins {
    var bins = TimeBins(kinds: parts.count, areOfDays: true)
    for group in groups {
      for (day, count) in group.days {
        guard let seconds = DateText.seconds(in: day)?.lowerBound else { continue }
        bins.add(seconds, kind: kind(group), count: count)
      }
    }
    return bins
  }

  private var times: [String: Any]? {
    let bins = Self.bins(report.groups)
    guard
      let bars = StackedBars(
        id: "times", title: "Inputs of each \(bins.unit); the table below has the numbers",
        parts: Self.parts, of: bins)
    else { return nil }
    var context = bars.context(unit: bins.unit, holder: "From")
    let undated = report.groups.reduce(0) { $0 + $1.undatedCount }
    if undated > 0 { context["undated"] = Quantity.count(undated) }
    // The number of dated inputs that no bar counts: inputs of rarer cases, inputs of days for which there is no bar,
    // and inputs with unlikely dates.
    let shown = bins.bins.reduce(0) { $0 + $1.counts.reduce(0, +) }
    let others = report.inputCount - undated - shown
    if others > 0 { context["others"] = Quantity.count(others) }
    return context
  }

  // MARK: - Tables

  /// Returns the names with their counts, highest count first. Names with equal counts are sorted by name.
  private static func sorted(_ counts: [String: Int]) -> [(name: String, count: Int)] {
    counts.map { ($0.key, $0.value) }.sorted { one, other in
      one.count == other.count
        ? one.name.utf8.lexicographicallyPrecedes(other.name.utf8) : one.count > other.count
    }
  }

  /// Returns the first `limit` of the names with their counts, the most frequent name first, as text.
  package static func names(_ counts: [String: Int], _ limit: Int) -> String {
    let all = sorted(counts)
    let shown = all.prefix(limit).map { "\($0.name): \(Quantity.count($0.count))" }
    let rest = all.count - shown.count
    return shown.joined(separator: ", ") + (rest > 0 ? " and \(Quantity.count(rest)) more" : "")
  }

  private var fixes: [String: Any]? {
    var counts: [String: Int] = [:]
    for group in report.groups {
      for (fix, count) in group.fixes { counts[fix, default: 0] += count }
    }
    guard !counts.isEmpty else { return nil }
    return [
      "lines": Self.sorted(counts).map { fix, count in
        [
          "name": PageFrame.text(fix), "count": Quantity.count(count),
          "what": PageFrame.text(Fix(rawValue: fix)?.sentence ?? ""),
        ]
      }
    ]
  }

  private var builds: [String: Any]? {
    var all: [String: Int] = [:]
    var care: [String: Int] = [:]
    for group in report.groups {
      for (build, count) in group.builds {
        all[build, default: 0] += count
        if Self.kind(group) == 1 { care[build, default: 0] += count }
      }
    }
    guard !all.isEmpty else { return nil }
    return [
      "note": PageFrame.cut(all.count, at: Self.maxLines),
      "holder": "Build", "columns": ["To be looked at", "Inputs"],
      "lines": Self.sorted(all).prefix(Self.maxLines).map { build, count in
        [
          "name": PageFrame.text(build),
          "counts": [Quantity.count(care[build] ?? 0), Quantity.count(count)],
        ] as [String: Any]
      },
    ]
  }

  private var cases: [String: Any] {
    let shown = report.groups.prefix(Self.maxCases)
    return [
      "note": ["The most frequent case is first."]
        + PageFrame.cut(report.groups.count, at: Self.maxCases),
      "hasLines": !shown.isEmpty,
      "lines": shown.enumerated().map { place, group -> [String: Any] in
        [
          "hasSection": place < Self.maxSections, "id": "case\(place + 1)",
          "words": PageFrame.text(group.words), "count": Quantity.count(group.count),
          "first": PageFrame.text(group.firstSeen.map(TriageGroups.day) ?? ""),
          "last": PageFrame.text(group.lastSeen.map(TriageGroups.day) ?? ""),
          "helps": PageFrame.text(Self.names(group.fixes, 3)),
          "builds": PageFrame.text(Self.names(group.builds, 3)),
        ]
      },
    ]
  }

  /// Returns the template values for the page's section about one case, which is a group of inputs. The section has a
  /// histogram if the inputs are from several days.
  private static func section(_ group: TriageGroups.Group, number: Int) -> [String: Any] {
    var facts = [("Inputs", Quantity.count(group.count)), ("Id", group.id)]
    if let seen = group.seen { facts.append(("Seen", seen)) }
    for (title, counts) in [
      ("Helps", group.fixes), ("Builds", group.builds), ("Models", group.models),
      ("SQLite", group.sqlite),
    ] where !counts.isEmpty { facts.append((title, names(counts, 10))) }
    if let rows = group.liveRows { facts.append(("Live rows", Quantity.count(rows))) }
    if group.failedCount > 0 { facts.append(("Not readable", Quantity.count(group.failedCount))) }
    facts.append(("Examples", group.examples.joined(separator: ", ")))
    let id = "case\(number)"
    var context: [String: Any] = [
      "id": id, "number": number, "words": PageFrame.text(group.words),
      "facts": facts.map { PageFrame.pair($0) },
    ]
    let bins = bins([group])
    if group.days.count > 1,
      let bars = StackedBars(
        id: id, title: "Inputs of each \(bins.unit)", parts: parts, of: bins)
    {
      context["svg"] = bars.svg
    }
    return context
  }
}

extension TriagePage {
  private static let template = """
    \(PageFrame.verdict)
    \(PageFrame.contents)
    \(PageFrame.summary)
    {{#times}}<section aria-labelledby="times">
    <h2 id="times">Over time</h2>
    <p class="key">A bar for each {{unit}}. \(StackedBars.legend)</p>
    {{#undated}}<p>Inputs without a date are not shown: {{undated}}.</p>{{/undated}}
    {{#others}}<p>Inputs of rarer cases or days, or with an unlikely date, are not shown: {{others}}.</p>{{/others}}
    <div class="strip" tabindex="0" role="group" aria-label="Histogram of inputs">{{{svg}}}</div>
    \(StackedBars.table)
    </section>{{/times}}
    {{#fixes}}<section aria-labelledby="fixes">
    <h2 id="fixes">What helps</h2>
    <table class="sortable" tabindex="0">
    <thead><tr><th scope="col">Fix</th><th scope="col" class="number">Inputs</th><th scope="col">What to do</th></tr></thead>
    <tbody>
    {{#lines}}<tr><th scope="row">{{name}}</th><td class="number">{{count}}</td><td>{{what}}</td></tr>
    {{/lines}}
    </tbody>
    </table>
    </section>{{/fixes}}
    {{#builds}}<section aria-labelledby="builds">
    <h2 id="builds">By build</h2>
    {{#note}}<p>{{.}}</p>{{/note}}
    \(PageFrame.countTable)
    </section>{{/builds}}
    {{#cases}}<section aria-labelledby="cases">
    <h2 id="cases">Cases</h2>
    {{#note}}<p>{{.}}</p>{{/note}}
    {{#hasLines}}<table class="sortable stacked" tabindex="0">
    <thead><tr><th scope="col" class="number">Inputs</th><th scope="col">Case</th><th scope="col">First seen</th><th scope="col">Last seen</th><th scope="col">Helps</th><th scope="col">Builds</th></tr></thead>
    <tbody>
    {{#lines}}<tr><td class="number">{{count}}</td><td>{{#hasSection}}<a href="#{{id}}">{{words}}</a>{{/hasSection}}{{^hasSection}}{{words}}{{/hasSection}}</td><td class="keep">{{first}}</td><td class="keep">{{last}}</td><td>{{helps}}</td><td>{{builds}}</td></tr>
    {{/lines}}
    </tbody>
    </table>{{/hasLines}}
    </section>{{/cases}}
    {{#groups}}<section aria-labelledby="{{id}}">
    <h3 id="{{id}}">{{number}}. {{words}}</h3>
    \(PageFrame.facts)
    {{#svg}}<div class="strip" tabindex="0" role="group" aria-label="Trend">{{{svg}}}</div>{{/svg}}
    </section>
    {{/groups}}
    """
}
