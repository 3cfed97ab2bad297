import Crypto
import Foundation
import ModelTools
import Mustache
import SQLiteFile
import SafeText
import StoreFiles
import Terminal

/// The frame that every page for a browser stands in: its policy, style sheet and script. A page loads nothing, works
/// without its script, and runs nothing that a store has put into it.
enum PageFrame {
  /// What stands above the content: the title, and by what the page was made.
  private static let head = """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta http-equiv="Content-Security-Policy" content="{{{policy}}}">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>{{title}}</title>
    <style>{{{style}}}</style>
    </head>
    <body>
    <header>
    <h1>{{title}}</h1>
    <p class="by">{{tool}}{{by}}</p>
    </header>
    <main>

    """
  private static let foot = """
    </main>
    <script>{{{script}}}</script>
    </body>
    </html>

    """

  /// A sentence of ``sentence(_:)``, in a template.
  static let sentence =
    "{{#parts}}{{#isCode}}<code>{{text}}</code>{{/isCode}}{{^isCode}}{{text}}{{/isCode}}{{/parts}}"

  /// The verdict of a page, in a template.
  static let verdict = """
    <section class="verdict {{verdict.tone}}" aria-labelledby="verdict">
    <h2 id="verdict">{{verdict.sentence}}</h2>
    {{#verdict.more}}<p>\(sentence)</p>
    {{/verdict.more}}
    {{#verdict.hasSteps}}<h3>What to do</h3>
    <ul>
    {{#verdict.steps}}<li><code>{{command}}</code> {{why}}</li>
    {{/verdict.steps}}
    </ul>{{/verdict.hasSteps}}
    </section>
    """

  /// The section of facts in numbers, in a template.
  static let summary = """
    {{#summary}}<section aria-labelledby="summary">
    <h2 id="summary">In numbers</h2>
    <dl>{{#facts}}<dt>{{name}}</dt><dd>{{value}}</dd>
    {{/facts}}</dl>
    </section>{{/summary}}
    """

  /// The links to the sections of a page, in a template.
  static let contents = """
    <nav aria-label="Sections"><ul>
    {{#sections}}<li><a href="#{{id}}">{{name}}</a></li>
    {{/sections}}
    </ul></nav>
    """

  /// A table of names and counts, in a template.
  static let countTable = """
    <table class="sortable" tabindex="0">
    <thead><tr><th scope="col">{{holder}}</th>{{#columns}}<th scope="col" class="number">{{.}}</th>{{/columns}}</tr></thead>
    <tbody>
    {{#lines}}<tr><th scope="row">{{name}}</th>{{#counts}}<td class="number">{{.}}</td>{{/counts}}</tr>
    {{/lines}}
    </tbody>
    </table>
    """

  /// The section of findings, in a template.
  static let findingTable = """
    {{#findings}}<section aria-labelledby="findings">
    <h2 id="findings">Findings</h2>
    {{#note}}<p>{{note}}</p>{{/note}}
    {{#hasLines}}<table class="sortable stacked" tabindex="0">
    <thead><tr><th scope="col">Kind</th><th scope="col">Id</th><th scope="col" class="number">Page</th><th scope="col" class="number">Offset</th><th scope="col">Table</th><th scope="col">What</th></tr></thead>
    <tbody>
    {{#lines}}<tr class="{{kind}}"><td>{{kind}}</td><td><code>{{id}}</code></td><td class="number">{{page}}</td><td class="number">{{offset}}</td><td>{{table}}</td><td>{{message}}</td></tr>
    {{/lines}}
    </tbody>
    </table>{{/hasLines}}
    </section>{{/findings}}
    """

  /// A page.
  ///
  /// - Parameters:
  ///   - title: its title.
  ///   - by: what follows the name of the program, which made it.
  ///   - body: the template of its content. Mustache escapes what stands between two braces; three are for what is made
  ///     here.
  ///   - content: what the template takes.
  ///   - showsImages: whether there are images in it.
  /// - Returns: the page as HTML.
  /// - Throws: an error of the template.
  static func page(
    _ title: String, by: String, _ body: String, _ content: PageContent,
    showsImages: Bool = false
  ) throws -> String {
    // Only this style sheet and this script run.
    let policy =
      "default-src 'none'; base-uri 'none'; form-action 'none'; style-src '\(source(ReportStyle.sheet))'; script-src '\(source(ReportStyle.script))'"
      + (showsImages ? "; img-src data:" : "")
    var context = content.context
    context["title"] = text(title)
    context["tool"] = "lifeboat \(Tool.version)"
    context["by"] = by
    context["policy"] = policy
    context["style"] = ReportStyle.sheet
    context["script"] = ReportStyle.script
    return try MustacheTemplate(string: head + body + "\n" + foot).render(context)
  }

  private static func source(_ text: String) -> String {
    "sha256-" + Data(SHA256.hash(data: Data(text.utf8))).base64EncodedString()
  }

  // MARK: - Parts

  /// Text from a store: what a browser would hide or reorder is made visible. The template escapes the rest.
  static func text(_ text: String, limit: Int = 300) -> String {
    VisibleText.visible(text, limit: limit)
  }

  /// A sentence in parts: what stands between backticks is code.
  static func sentence(_ sentence: String, limit: Int = 2_000) -> [String: Any] {
    let parts = text(sentence, limit: limit).utf8
      .split(separator: UInt8(ascii: "`"), omittingEmptySubsequences: false)
    return [
      "parts": parts.enumerated().map { place, part in
        ["isCode": place % 2 == 1, "text": String(decoding: part, as: UTF8.self)] as [String: Any]
      }
    ]
  }

  /// A fact: what it is of, and what it says.
  static func pair(_ fact: (name: String, value: String)) -> [String: Any] {
    ["name": text(fact.name), "value": text(fact.value, limit: 1_000)]
  }

  /// What ``findingTable`` takes: findings, of which there are `count`, and at most `limit` of them.
  static func findings(_ findings: [Finding], of count: Int, at limit: Int) -> [String: Any] {
    let lines = findings.prefix(limit).map { finding -> [String: Any] in
      [
        "kind": finding.severity.rawValue, "id": text(finding.id.rawValue),
        "page": finding.page.map { Quantity.count($0) } ?? "",
        "offset": finding.offset.map { Quantity.count($0) } ?? "",
        "table": text(finding.table ?? ""), "message": text(finding.message, limit: 600),
      ]
    }
    var notes: [String] = []
    if lines.isEmpty { notes.append("None.") }
    if lines.count < count { notes.append("\(lines.count) of \(Quantity.count(count)) are shown.") }
    return ["note": notes.joined(separator: " "), "hasLines": !lines.isEmpty, "lines": lines]
  }
}

/// What the template of a page takes, and the sections that its ``PageFrame/contents`` name, in their order.
struct PageContent {
  var values: [String: Any]
  private var sections: [[String: Any]] = []

  init(_ values: [String: Any]) { self.values = values }

  /// What the template takes, the links to the sections among it.
  var context: [String: Any] { values.merging(["sections": sections]) { $1 } }

  /// Names a section whose values the template has already.
  mutating func addSection(_ id: String, _ name: String) {
    sections.append(["id": id, "name": name])
  }

  /// Adds a section with what its part of the template takes; nil for a section that the page does not have.
  mutating func addSection(_ id: String, _ name: String, _ part: [String: Any]?) {
    guard let part else { return }
    values[id] = part
    addSection(id, name)
  }
}

/// What a page says first.
struct PageVerdict {
  /// `good`, `bad` or `doubt`.
  var tone: String
  var sentence: String
  var more: [String] = []
  var steps: [(command: String, why: String)] = []

  /// What ``PageFrame/verdict`` takes.
  var context: [String: Any] {
    [
      "tone": tone, "sentence": PageFrame.text(sentence),
      "more": more.map { PageFrame.sentence($0) },
      "hasSteps": !steps.isEmpty,
      "steps": steps.map { ["command": PageFrame.text($0.command), "why": $0.why] },
    ]
  }
}
