import ModelTools
import Terminal

/// A page that shows the plan for the migration of a store: the versions, and the steps between these versions. For
/// each step, the page shows what the step does and which data it leaves behind, or why the step cannot be carried out.
package struct PlanPage {
  package struct Step {
    /// How a step is carried out: by a mapping model, or by a mapping that Core Data infers. `uncertain` means that it
    /// is unknown whether the mapping can be inferred; `refused` means that the mapping cannot be inferred.
    package enum Way: String, Sendable {
      case mapping, inferred, uncertain, refused
    }

    package let from: String
    package let to: String
    package let way: Way
    /// Clauses about what the step does and needs, or about why the step cannot be carried out.
    package let lines: [String]
    /// The entities and properties whose data the step leaves behind; empty when none are known.
    package let losses: [String]
    /// Sentences about the differences between the two models. The first sentence is a summary. Empty when the
    /// differences are unknown.
    package let changes: [String]

    package init(
      from: String, to: String, way: Way, lines: [String], losses: [String] = [],
      changes: [String] = []
    ) {
      self.from = from
      self.to = to
      self.way = way
      self.lines = lines
      self.losses = losses
      self.changes = changes
    }
  }

  private let store: String
  private let start: String
  private let target: String
  /// The migration steps of the plan. Empty when the store needs no migration, nil when no sequence of steps leads to
  /// the target.
  private let steps: [Step]?
  /// The single step from the store's model directly to the target, as Core Data would take it by itself. Nil if the
  /// plan has fewer than two steps, or if ``obstacle`` is this step.
  package var direct: Step?
  /// The step that cannot be carried out; nil if a sequence of steps leads to the target.
  package var obstacle: Step?
  package var remarks: [String] = []
  /// The file names of the mapping models, each with a sentence about the versions that the mapping model is for.
  package var mappings: [(name: String, sentence: String)] = []
  package var unread: [(name: String, problem: String)] = []

  private static let maxSteps = 200
  private static let maxLines = 200
  /// The maximum number of differences between models that are listed for one step.
  private static let maxChanges = 60
  /// The maximum total number of list lines on the page.
  private static let maxListed = 4_000

  /// Creates a page about the migration of a store from the version `start` to the version `target`. `steps` is empty
  /// when no migration is needed, and nil when no sequence of steps leads to `target`.
  package init(store: String, from start: String, to target: String, steps: [Step]?) {
    self.store = store
    self.start = start
    self.target = target
    self.steps = steps
  }

  package func html() throws -> String {
    let flow = PlanFlow(
      start: start, target: target, steps: steps, direct: direct, obstacle: obstacle)
    var content = PageContent([
      "verdict": verdict.context,
      "flow": ["svg": flow.svg, "ways": Self.chips(shownSteps)],
    ])
    content.addSection("flow", "The way")
    var room = Self.maxListed
    content.addSection("steps", "The steps", stepList(&room))
    room = max(room, Self.maxLines)
    content.addSection(
      "obstacle", "What fails", obstacle.map { ["step": Self.context($0, number: nil, &room)] })
    room = max(room, Self.maxLines)
    content.addSection(
      "direct", "In one step", direct.map { ["step": Self.context($0, number: nil, &room)] })
    content.addSection("mappings", "Mapping models", mappingTable)
    content.addSection("unread", "Not read", unreadTable)
    return try PageFrame.page(
      "Migration of \(store)", by: ". The store was only read, and nothing was migrated.",
      Self.template, content)
  }

  private var shownSteps: [Step] {
    (steps ?? []) + [obstacle, direct].compactMap { $0 }
  }

  private static func chips(_ steps: [Step]) -> [[String: Any]] {
    [
      (Step.Way.mapping, "by a mapping model"), (.inferred, "inferred"),
      (.uncertain, "not known whether a mapping model can be inferred"),
      (.refused, "cannot be done"),
    ].filter { way in steps.contains { $0.way == way.0 } }
      .map { ["class": $0.0.rawValue, "name": $0.1] }
  }

  // MARK: - Parts

  private var verdict: PageVerdict {
    var verdict: PageVerdict
    if let steps {
      if steps.isEmpty {
        verdict = PageVerdict(
          tone: "good", sentence: "The store opens with \(target) without a migration")
        verdict.more.append("Nothing needs to be done.")
      } else {
        let lost = steps.reduce(0) { $0 + $1.losses.count }
        let isUncertain = steps.contains { $0.way == .uncertain }
        verdict = PageVerdict(
          tone: lost > 0 || isUncertain ? "doubt" : "good",
          sentence: "From \(start) to \(target): \(Quantity.count(steps.count, "step"))")
        verdict.more.append(
          lost == 0
            ? "As far as is known, no data is left behind."
            : "Left behind: \(Quantity.count(lost, "entity or property", "entities and properties"))."
        )
        if isUncertain {
          verdict.more.append(
            "Lightweight migration may not be able to do all of the steps.")
        }
      }
    } else {
      verdict = PageVerdict(tone: "bad", sentence: "There is no way from \(start) to \(target)")
    }
    verdict.more += remarks
    return verdict
  }

  private func stepList(_ room: inout Int) -> [String: Any]? {
    guard let steps, !steps.isEmpty else { return nil }
    return [
      "note": PageFrame.cut(steps.count, at: Self.maxSteps),
      "list": steps.prefix(Self.maxSteps).enumerated().map { number, step in
        Self.context(step, number: number + 1, &room)
      },
    ]
  }

  private static func context(
    _ step: Step, number: Int?, _ room: inout Int
  ) -> [String: Any] {
    var context: [String: Any] = [
      "title": PageFrame.text("\(step.from) → \(step.to)"), "way": step.way.rawValue,
      "lines": clipped(step.lines, &room),
    ]
    if let number { context["id"] = "step\(number)" }
    if !step.losses.isEmpty {
      context["loss"] =
        [
          "count": Quantity.count(step.losses.count), "items": clipped(step.losses, &room),
        ] as [String: Any]
    }
    if let summary = step.changes.first {
      let all = step.changes.dropFirst()
      context["change"] =
        [
          "summary": [PageFrame.sentence(summary)],
          "items": clipped(Array(all), at: maxChanges, &room),
          "hasItems": !all.isEmpty,
        ] as [String: Any]
    }
    return context
  }

  /// Returns the first of `lines` as sentences of a page: at most `limit` lines, and at most `room` lines. Lowers
  /// `room` by the number of these lines. If lines are left out, one more sentence says how many.
  private static func clipped(
    _ lines: [String], at limit: Int = maxLines, _ room: inout Int
  ) -> [[String: Any]] {
    let count = min(lines.count, limit, room)
    room -= count
    var shown = lines.prefix(count).map { PageFrame.sentence($0, limit: 500) }
    if lines.count > count {
      shown.append(PageFrame.sentence("and \(Quantity.count(lines.count - count)) more"))
    }
    return shown
  }

  private var mappingTable: [String: Any]? {
    guard !mappings.isEmpty else { return nil }
    return [
      "note": PageFrame.cut(mappings.count, at: Self.maxLines),
      "lines": mappings.prefix(Self.maxLines).map { mapping in
        ["name": PageFrame.text(mapping.name), "what": [PageFrame.sentence(mapping.sentence)]]
          as [String: Any]
      },
    ]
  }

  private var unreadTable: [String: Any]? {
    guard !unread.isEmpty else { return nil }
    return [
      "note": PageFrame.cut(unread.count, at: Self.maxLines),
      "lines": unread.prefix(Self.maxLines).map { version in
        [
          "name": PageFrame.text(version.name),
          "problem": PageFrame.text(version.problem, limit: 600),
        ]
      },
    ]
  }
}

extension PlanPage {
  private static let stepTemplate = """
    {{#lines}}<li>\(PageFrame.sentence)</li>
    {{/lines}}
    {{#loss}}<li><span class="loss">leaves behind {{count}}:</span>
    <ul>
    {{#items}}<li>\(PageFrame.sentence)</li>
    {{/items}}
    </ul></li>{{/loss}}
    {{#change}}<li>{{#summary}}\(PageFrame.sentence){{/summary}}
    {{#hasItems}}<details><summary>What changes</summary>
    <ul>
    {{#items}}<li>\(PageFrame.sentence)</li>
    {{/items}}
    </ul></details>{{/hasItems}}</li>{{/change}}
    """

  private static let template = """
    \(PageFrame.verdict)
    \(PageFrame.contents)
    {{#flow}}<section aria-labelledby="flow">
    <h2 id="flow">The way</h2>
    <p class="key">{{#ways}}<span class="chip way-{{class}}">{{name}}</span>
    {{/ways}}</p>
    <div class="strip flow" tabindex="0" role="group" aria-label="The versions and the steps between them">{{{svg}}}</div>
    </section>{{/flow}}
    {{#steps}}<section aria-labelledby="steps">
    <h2 id="steps">The steps</h2>
    {{#note}}<p>{{.}}</p>{{/note}}
    <ol class="steps">
    {{#list}}<li class="{{way}}"><h3 id="{{id}}">{{title}}</h3>
    <ul>
    \(stepTemplate)
    </ul></li>
    {{/list}}
    </ol>
    </section>{{/steps}}
    {{#obstacle}}{{#step}}<section aria-labelledby="obstacle">
    <h2 id="obstacle">What fails</h2>
    <h3>{{title}}</h3>
    <p>This step has no mapping model, and cannot be inferred:</p>
    <ul>
    \(stepTemplate)
    </ul>
    </section>{{/step}}{{/obstacle}}
    {{#direct}}{{#step}}<section aria-labelledby="direct">
    <h2 id="direct">In one step</h2>
    <p>What Core Data does by itself, without steps on the way:</p>
    <ul>
    \(stepTemplate)
    </ul>
    </section>{{/step}}{{/direct}}
    {{#mappings}}<section aria-labelledby="mappings">
    <h2 id="mappings">Mapping models</h2>
    {{#note}}<p>{{.}}</p>{{/note}}
    <table class="stacked" tabindex="0">
    <thead><tr><th scope="col">File</th><th scope="col">What it is for</th></tr></thead>
    <tbody>
    {{#lines}}<tr><th scope="row">{{name}}</th><td>{{#what}}\(PageFrame.sentence){{/what}}</td></tr>
    {{/lines}}
    </tbody>
    </table>
    </section>{{/mappings}}
    {{#unread}}<section aria-labelledby="unread">
    <h2 id="unread">Not read</h2>
    <p>These versions could not be read; each of them may be the one that wrote the store.</p>
    {{#note}}<p>{{.}}</p>{{/note}}
    <table class="stacked" tabindex="0">
    <thead><tr><th scope="col">Version</th><th scope="col">Why</th></tr></thead>
    <tbody>
    {{#lines}}<tr><th scope="row">{{name}}</th><td>{{problem}}</td></tr>
    {{/lines}}
    </tbody>
    </table>
    </section>{{/unread}}
    """
}
