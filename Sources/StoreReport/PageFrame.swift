import Crypto
import Foundation
import ModelTools
import Mustache
import SQLiteFile
import SafeText
import StoreFiles
import Terminal

/// The parts that all HTML pages share: content security policy, style sheet and script. A page loads nothing from
/// elsewhere, is usable without its script, and runs no code that comes from a store.
enum PageFrame {
  /// The beginning of a page, up to its content: the content security policy, the style sheet, the title, and the line
  /// that names the program.
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

  /// The part of a template that shows one sentence. Its values are made by ``sentence(_:limit:)``.
  static let sentence =
    "{{#parts}}{{#isCode}}<code>{{text}}</code>{{/isCode}}{{^isCode}}{{text}}{{/isCode}}{{/parts}}"

  /// The part of a template that shows the page's verdict. Its values are made by ``PageVerdict``.
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

  /// The part of a template that shows names with their values. Each of the values is made by ``pair(_:)``.
  static let facts = """
    <dl>{{#facts}}<dt>{{name}}</dt><dd>{{value}}</dd>
    {{/facts}}</dl>
    """

  /// The part of a template that shows the section "In numbers".
  static let summary = """
    {{#summary}}<section aria-labelledby="summary">
    <h2 id="summary">In numbers</h2>
    \(facts)
    </section>{{/summary}}
    """

  /// The part of a template that shows links to the sections of the page.
  static let contents = """
    <nav aria-label="Sections"><ul>
    {{#sections}}<li><a href="#{{id}}">{{name}}</a></li>
    {{/sections}}
    </ul></nav>
    """

  /// A fragment of an HTML template for a table of counts. Each line of the table has a name in the first column, and a
  /// count in each further column.
  static let countTable = """
    <table class="sortable" tabindex="0">
    <thead><tr><th scope="col">{{holder}}</th>{{#columns}}<th scope="col" class="number">{{.}}</th>{{/columns}}</tr></thead>
    <tbody>
    {{#lines}}<tr><th scope="row">{{name}}</th>{{#counts}}<td class="number">{{.}}</td>{{/counts}}</tr>
    {{/lines}}
    </tbody>
    </table>
    """

  /// The part of a template that shows the section of findings. Its values are made by ``findings(_:of:at:)``.
  static let findingTable = """
    {{#findings}}<section aria-labelledby="findings">
    <h2 id="findings">Findings</h2>
    {{#note}}<p>{{.}}</p>{{/note}}
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
  ///   - body: the Mustache template of the content. Values in double braces are escaped. Triple braces escape nothing,
  ///     and are only for values that this target has made itself.
  ///   - content: the values for the template.
  ///   - showsImages: whether the page has images, which are in `data:` URLs.
  /// - Returns: the page as HTML.
  /// - Throws: an error of the template engine.
  static func page(
    _ title: String, by: String, _ body: String, _ content: PageContent,
    showsImages: Bool = false
  ) throws -> String {
    // The hashes allow only this style sheet and this script.
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

  /// Makes text from a store safe to show: characters that a browser would hide, or would use to reorder text, are
  /// replaced by visible escapes. The text is cut after `limit` scalars. Markup is not escaped here; the template does
  /// that.
  static func text(_ text: String, limit: Int = 300) -> String {
    VisibleText.visible(text, limit: limit)
  }

  /// Splits a sentence into the parts that the template part ``sentence`` shows. Text between backticks is code.
  static func sentence(_ sentence: String, limit: Int = 2_000) -> [String: Any] {
    let parts = text(sentence, limit: limit).utf8
      .split(separator: UInt8(ascii: "`"), omittingEmptySubsequences: false)
    return [
      "parts": parts.enumerated().map { place, part in
        ["isCode": place % 2 == 1, "text": String(decoding: part, as: UTF8.self)] as [String: Any]
      }
    ]
  }

  static func pair(_ fact: (name: String, value: String)) -> [String: Any] {
    ["name": text(fact.name), "value": text(fact.value, limit: 1_000)]
  }

  /// Returns the values for ``findingTable``. The first `limit` findings are listed.
  ///
  /// `count` is the number of all findings. If some are not listed, a note gives this number.
  static func findings(_ findings: [Finding], of count: Int, at limit: Int) -> [String: Any] {
    let lines = findings.prefix(limit).map { finding -> [String: Any] in
      [
        "kind": finding.severity.rawValue, "id": text(finding.id.rawValue),
        "page": finding.page.map { Quantity.count($0) } ?? "",
        "offset": finding.offset.map { Quantity.count($0) } ?? "",
        "table": text(finding.table ?? ""), "message": text(finding.message, limit: 600),
      ]
    }
    let note = lines.isEmpty ? ["No findings."] : cut(count, at: lines.count)
    return ["note": note, "hasLines": !lines.isEmpty, "lines": lines]
  }

  /// Returns a sentence that says how many of `count` lines are shown; empty when all lines are shown.
  static func cut(_ count: Int, at limit: Int) -> [String] {
    count > limit ? ["\(Quantity.count(limit)) of \(Quantity.count(count)) are shown."] : []
  }
}

/// The values for the template of a page, and the sections of the page, in the order of the links in
/// ``PageFrame/contents``.
struct PageContent {
  var values: [String: Any]
  private var sections: [[String: Any]] = []

  init(_ values: [String: Any]) { self.values = values }

  var context: [String: Any] { values.merging(["sections": sections]) { $1 } }

  /// Adds a link to a section whose values are already in ``values``.
  mutating func addSection(_ id: String, _ name: String) {
    sections.append(["id": id, "name": name])
  }

  /// Adds a section to the page: its link, and its values for the template. Adds nothing if `part` is nil.
  mutating func addSection(_ id: String, _ name: String, _ part: [String: Any]?) {
    guard let part else { return }
    values[id] = part
    addSection(id, name)
  }
}

/// The verdict at the top of a page: a sentence, explanations, and the commands to run next.
struct PageVerdict {
  /// The verdict's class in the style sheet: `good`, `bad` or `doubt`.
  var tone: String
  var sentence: String
  var more: [String] = []
  var steps: [(command: String, why: String)] = []

  /// Returns the verdict on a file with `count` findings of damage. `isAllChecked` says whether all parts of the file
  /// were checked.
  static func onDamage(_ count: Int, isAllChecked: Bool) -> PageVerdict {
    guard count > 0 else {
      return PageVerdict(
        tone: "good",
        sentence: isAllChecked ? "No damage found" : "No damage found in what was checked")
    }
    return PageVerdict(tone: "bad", sentence: "Damaged: \(Quantity.count(count, "finding"))")
  }

  var context: [String: Any] {
    [
      "tone": tone, "sentence": PageFrame.text(sentence),
      "more": more.map { PageFrame.sentence($0) },
      "hasSteps": !steps.isEmpty,
      "steps": steps.map { ["command": PageFrame.text($0.command), "why": $0.why] },
    ]
  }
}
