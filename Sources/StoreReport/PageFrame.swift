import Crypto
import Foundation
import ModelTools
import Mustache
import SQLiteFile
import SafeText
import StoreFiles
import Terminal

/// What every HTML page has in common: its content security policy, style sheet and script. A page loads nothing, works
/// without its script, and runs nothing that a store has put into it.
enum PageFrame {
  /// The start of a page, down to its content: policy, style sheet, title, and the line that names the program.
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

  /// The part of a template that shows a sentence made by ``sentence(_:limit:)``.
  static let sentence =
    "{{#parts}}{{#isCode}}<code>{{text}}</code>{{/isCode}}{{^isCode}}{{text}}{{/isCode}}{{/parts}}"

  /// The part of a template that shows the verdict of a page, a ``PageVerdict``.
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

  /// The part of a template that shows the section "In numbers": names with their values.
  static let summary = """
    {{#summary}}<section aria-labelledby="summary">
    <h2 id="summary">In numbers</h2>
    <dl>{{#facts}}<dt>{{name}}</dt><dd>{{value}}</dd>
    {{/facts}}</dl>
    </section>{{/summary}}
    """

  /// The part of a template that links to the sections of the page.
  static let contents = """
    <nav aria-label="Sections"><ul>
    {{#sections}}<li><a href="#{{id}}">{{name}}</a></li>
    {{/sections}}
    </ul></nav>
    """

  /// The part of a template that shows a table: a name in each line, and a count in each further column.
  static let countTable = """
    <table class="sortable" tabindex="0">
    <thead><tr><th scope="col">{{holder}}</th>{{#columns}}<th scope="col" class="number">{{.}}</th>{{/columns}}</tr></thead>
    <tbody>
    {{#lines}}<tr><th scope="row">{{name}}</th>{{#counts}}<td class="number">{{.}}</td>{{/counts}}</tr>
    {{/lines}}
    </tbody>
    </table>
    """

  /// The part of a template that shows the section of findings. Its values come from ``findings(_:of:at:)``.
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

  /// Makes a page.
  ///
  /// - Parameters:
  ///   - title: the title of the page, which is also its heading.
  ///   - by: text that follows the program's name and version in the line below the title.
  ///   - body: the template of the content. Mustache escapes values between two braces. Three braces, which escape
  ///     nothing, are only for values that this target has made itself.
  ///   - content: the values that the template names.
  ///   - showsImages: whether the page has images, which are in `data:` addresses.
  /// - Returns: the page as HTML.
  /// - Throws: an error of the template engine.
  static func page(
    _ title: String, by: String, _ body: String, _ content: PageContent,
    showsImages: Bool = false
  ) throws -> String {
    // The hashes allow this style sheet and this script, and no other.
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

  /// Makes text from a store visible: characters that a browser would hide or use to reorder text are escaped. The text
  /// is cut after `limit` scalars. The template escapes markup.
  static func text(_ text: String, limit: Int = 300) -> String {
    VisibleText.visible(text, limit: limit)
  }

  /// Splits a sentence into the parts that ``sentence`` shows. Text between backticks is code.
  static func sentence(_ sentence: String, limit: Int = 2_000) -> [String: Any] {
    let parts = text(sentence, limit: limit).utf8
      .split(separator: UInt8(ascii: "`"), omittingEmptySubsequences: false)
    return [
      "parts": parts.enumerated().map { place, part in
        ["isCode": place % 2 == 1, "text": String(decoding: part, as: UTF8.self)] as [String: Any]
      }
    ]
  }

  /// A name and its value, for a list of facts.
  static func pair(_ fact: (name: String, value: String)) -> [String: Any] {
    ["name": text(fact.name), "value": text(fact.value, limit: 1_000)]
  }

  /// The values for ``findingTable``.
  ///
  /// Of the findings, the first `limit` are listed. `count` is the number of all findings, which the note names when
  /// some are left out.
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
    if lines.isEmpty { notes.append("No findings.") }
    if lines.count < count { notes.append("\(lines.count) of \(Quantity.count(count)) are shown.") }
    return ["note": notes.joined(separator: " "), "hasLines": !lines.isEmpty, "lines": lines]
  }
}

/// The values for the template of a page, and its sections in the order in which ``PageFrame/contents`` links to them.
struct PageContent {
  var values: [String: Any]
  private var sections: [[String: Any]] = []

  init(_ values: [String: Any]) { self.values = values }

  /// All values for the template, with the links to the sections.
  var context: [String: Any] { values.merging(["sections": sections]) { $1 } }

  /// Adds a link to a section whose values are in ``values`` already.
  mutating func addSection(_ id: String, _ name: String) {
    sections.append(["id": id, "name": name])
  }

  /// Adds a section: a link, and the values for its part of the template. With nil, the page does not have the section.
  mutating func addSection(_ id: String, _ name: String, _ part: [String: Any]?) {
    guard let part else { return }
    values[id] = part
    addSection(id, name)
  }
}

/// The verdict at the top of a page: a sentence, explanations, and commands to run next.
struct PageVerdict {
  /// The class in the style sheet: `good`, `bad` or `doubt`.
  var tone: String
  var sentence: String
  var more: [String] = []
  var steps: [(command: String, why: String)] = []

  /// The values for ``PageFrame/verdict``.
  var context: [String: Any] {
    [
      "tone": tone, "sentence": PageFrame.text(sentence),
      "more": more.map { PageFrame.sentence($0) },
      "hasSteps": !steps.isEmpty,
      "steps": steps.map { ["command": PageFrame.text($0.command), "why": $0.why] },
    ]
  }
}
