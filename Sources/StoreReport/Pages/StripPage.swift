import ModelTools
import Quoting
package import SQLiteFile
package import SQLiteForensics
package import StoreExtraction
import Terminal

/// A page that shows what each page of a database is used for, as HTML or as a single picture. A map shows the uses of
/// all database pages, and each of the largest b-trees has a lane that shows where its pages are. Damage is marked in
/// the map and in the lanes.
package struct StripPage {
  /// A run of consecutive database pages that have the same kind and belong to the same b-tree, or to none.
  private struct Run {
    let first: UInt32
    var count: Int
    let kind: PageKind
    let owner: String?
  }

  private let name: String
  private let argument: String
  private let pageSize: Int
  private let pageCount: UInt32
  private var strip = PageStrip()
  private var lanes = TreeLanes()
  private var kinds: [PageKind: Int] = [:]
  private var members: [Finding.Member: Int] = [:]
  private var runs: [Run] = []
  private var runCount = 0
  private var last: Run?
  private var owners: [PageOwner] = []
  private var findings: [Finding] = []
  private var findingCount = 0
  private var damageCount = 0
  private var isAllChecked = true

  private static let maxLines = 500

  /// Makes a page to which no database page was added yet. `names` has the store's name for the title, and the store's
  /// path for the commands that the page shows. Only the page size and the number of pages are taken from `database`.
  package init(_ names: (title: String, argument: String), _ database: SQLiteDatabase) {
    (name, argument) = names
    pageSize = database.header.pageSize
    pageCount = database.pageCount
  }

  /// Adds a database page. The entries must be added in the order of their page numbers.
  package mutating func add(_ entry: PageEntry) {
    strip.add(entry)
    lanes.add(entry)
    kinds[entry.kind, default: 0] += 1
    members[entry.member, default: 0] += 1
    if let run = last, run.kind == entry.kind,
      ExactText.isSame(run.owner, entry.owner)
    {
      last?.count += 1
    } else {
      keepRun()
      last = Run(first: entry.page, count: 1, kind: entry.kind, owner: entry.owner)
    }
  }

  private mutating func keepRun() {
    guard let last else { return }
    runCount += 1
    if runs.count < Self.maxLines { runs.append(last) }
  }

  /// Adds the b-trees, and the findings of a check. Must be called after the last database page was added.
  package mutating func finish(_ owners: [PageOwner], _ check: StoreCheck) {
    keepRun()
    last = nil
    self.owners = owners
    findings = check.findings
    findingCount = check.findingCount
    damageCount = check.damageCount
    isAllChecked = check.notChecked.isEmpty
    strip.mark(findings)
    lanes.finish(owners, findings)
  }

  // MARK: - The page

  package func html() throws -> String {
    var content = PageContent([
      "verdict": verdict.context, "facts": facts.map { PageFrame.pair($0) },
      "strip": strip.context,
      "lanes": ["svg": lanes.svg, "scale": lanes.scale], "trees": trees, "kinds": kindTable,
      "runs": runTable,
    ])
    content.addSection("facts", "The file")
    content.addSection("pages", "By use")
    content.addSection("lanes", "By tree")
    content.addSection("trees", "Trees")
    content.addSection("runs", "In their order")
    content.addSection(
      "findings", "Findings",
      findings.isEmpty
        ? nil : PageFrame.findings(findings, of: findingCount, at: Self.maxLines))
    return try PageFrame.page(
      "Pages of \(name)", by: ". The store was only read.", Self.template, content)
  }

  private var damagedPages: [UInt32] {
    Set(findings.filter { $0.severity == .damage }.compactMap(\.page)).sorted()
  }

  private var verdict: PageVerdict {
    var verdict = PageVerdict.onDamage(damageCount, isAllChecked: isAllChecked)
    guard damageCount > 0 else { return verdict }
    let pages = damagedPages
    let isCut = findings.count < findingCount
    if let first = pages.first {
      verdict.more.append(
        "Damage is on \(isCut ? "at least " : "")\(Quantity.count(pages.count, "page")): "
          + pages.prefix(12).map { Quantity.count($0) }.joined(separator: ", ")
          + (pages.count > 12 ? " and \(Quantity.count(pages.count - 12)) more." : "."))
      verdict.steps.append(
        (
          "lifeboat pages --page \(first) \(ShellText.path(argument))",
          "shows the first damaged page in full."
        ))
    }
    verdict.steps.append(
      ("lifeboat check \(ShellText.path(argument))", "says what is wrong, and what to do about it.")
    )
    return verdict
  }

  private var facts: [(name: String, value: String)] {
    var facts = [
      (
        "Pages",
        "\(Quantity.count(strip.pageCount)), each of \(Quantity.count(pageSize)) bytes"
      )
    ]
    if strip.pageCount != Int(pageCount) {
      facts.append(("Pages according to the header", Quantity.count(pageCount)))
    }
    for member in [Finding.Member.wal, .journal] {
      if let count = members[member] {
        facts.append(("From the -\(member.rawValue)", Quantity.count(count, "page")))
      }
    }
    let free = PageKind.allCases.filter { PageStrip.Group($0) == .free }
      .reduce(0) { $0 + (kinds[$1] ?? 0) }
    facts.append(("Free", Quantity.count(free, "page")))
    facts.append(
      (
        "Trees",
        "\(Quantity.count(owners.count { !$0.isIndex }, "table")), \(Quantity.count(owners.count { $0.isIndex }, "index", "indexes"))"
      ))
    return facts
  }

  private var kindTable: [String: Any] {
    [
      "holder": "Kind", "columns": ["Pages"],
      "lines": PageKind.allCases.filter { kinds[$0] != nil }.map { kind in
        ["name": kind.name, "counts": [Quantity.count(kinds[kind] ?? 0)]] as [String: Any]
      },
    ]
  }

  private var trees: [String: Any] {
    let sorted = owners.enumerated().sorted { one, other in
      let (left, right) = (
        one.element.treePages + one.element.overflowPages,
        other.element.treePages + other.element.overflowPages
      )
      return left == right ? one.offset < other.offset : left > right
    }.map(\.element)
    let note =
      sorted.isEmpty
      ? ["No schema names a b-tree."]
      : ["The largest b-tree is first."] + PageFrame.cut(owners.count, at: Self.maxLines)
    return [
      "note": note, "hasLines": !sorted.isEmpty,
      "lines": sorted.prefix(Self.maxLines).map { owner -> [String: Any] in
        [
          "name": PageFrame.text(owner.name),
          "what": owner.isIndex ? "index" : "table",
          "of": owner.isIndex ? PageFrame.text(owner.table) : "",
          "counts": [
            Int(owner.rootPage), owner.treePages, owner.overflowPages, owner.cells,
            owner.freeBytes,
          ].map { Quantity.count($0) },
        ]
      },
    ]
  }

  private var runTable: [String: Any] {
    [
      "note": ["Each line stands for neighbouring pages of the same kind and the same b-tree."]
        + PageFrame.cut(runCount, at: Self.maxLines),
      "lines": runs.map { run -> [String: Any] in
        let last = UInt64(run.first) + UInt64(run.count) - 1
        return [
          "first": Quantity.count(run.first), "last": Quantity.count(last),
          "count": Quantity.count(run.count), "kind": run.kind.name,
          "owner": PageFrame.text(run.owner ?? ""),
        ]
      },
    ]
  }

  // MARK: - The picture

  /// The map and the lanes as one SVG file.
  package var svg: String {
    let margin = 20
    var y = 32
    var text = "<text class=\"heading\" x=\"\(margin)\" y=\"\(y)\">"
    let heading = "Pages of \(PictureText.clipped(name, to: 60))"
    text += "\(PictureText.html(heading))</text>"
    y += 22
    let damage =
      damageCount == 0
      ? "no damage found" : "damaged: \(Quantity.count(damageCount, "finding")), marked by crosses"
    let summary =
      "\(Quantity.count(strip.pageCount, "page")) of \(Quantity.count(pageSize)) bytes; \(damage). \(strip.scale)"
    text += "<text class=\"label quiet\" x=\"\(margin)\" y=\"\(y)\">\(summary)</text>"
    y += 14
    var x = margin
    for group in strip.groups {
      let words = "\(group.words) \(Quantity.count(strip.totals[group] ?? 0))"
      text +=
        "<rect class=\"page \(group.rawValue)\" x=\"\(x)\" y=\"\(y)\" width=\"14\" height=\"14\"/><text class=\"label\" x=\"\(x + 20)\" y=\"\(y + 12)\">\(words)</text>"
      x += 44 + words.utf8.count * 7
    }
    y += 30
    text += "<g transform=\"translate(\(margin) \(y))\">\(strip.body)</g>"
    y += strip.height + 34
    text +=
      "<text class=\"label strong\" x=\"\(margin)\" y=\"\(y)\">By tree</text><text class=\"label quiet\" x=\"\(margin + 64)\" y=\"\(y)\">\(lanes.scale)</text>"
    y += 12
    text += "<g transform=\"translate(\(margin) \(y))\">\(lanes.body)</g>"
    return SVGFile.text(
      width: max(PageStrip.width, TreeLanes.width) + 2 * margin, height: y + lanes.height + margin,
      title: "\(heading): \(summary)", body: text, rules: PictureStyle.alone)
  }
}

extension StripPage {
  private static let template = """
    \(PageFrame.verdict)
    \(PageFrame.contents)
    <section aria-labelledby="facts">
    <h2 id="facts">The file</h2>
    \(PageFrame.facts)
    </section>
    {{#strip}}<section aria-labelledby="pages">
    <h2 id="pages">By use</h2>
    \(PageStrip.template){{/strip}}
    {{#kinds}}<details><summary>The same as a table</summary>
    \(PageFrame.countTable)
    </details>{{/kinds}}
    </section>
    {{#lanes}}<section aria-labelledby="lanes">
    <h2 id="lanes">By tree</h2>
    <p class="key">{{scale}} <span class="chip page-table">table</span> <span class="chip page-index">index</span></p>
    <div class="strip" tabindex="0" role="group" aria-label="Where the pages of each tree are">{{{svg}}}</div>
    </section>{{/lanes}}
    {{#trees}}<section aria-labelledby="trees">
    <h2 id="trees">Trees</h2>
    {{#note}}<p>{{.}}</p>{{/note}}
    {{#hasLines}}<table class="sortable" tabindex="0">
    <thead><tr><th scope="col">Tree</th><th scope="col">Kind</th><th scope="col" class="number">Root</th><th scope="col" class="number">Pages</th><th scope="col" class="number">Overflow</th><th scope="col" class="number">Cells</th><th scope="col" class="number">Free bytes</th><th scope="col">Of</th></tr></thead>
    <tbody>
    {{#lines}}<tr><th scope="row">{{name}}</th><td class="keep">{{what}}</td>{{#counts}}<td class="number">{{.}}</td>{{/counts}}<td>{{of}}</td></tr>
    {{/lines}}
    </tbody>
    </table>{{/hasLines}}
    </section>{{/trees}}
    {{#runs}}<section aria-labelledby="runs">
    <h2 id="runs">In their order</h2>
    {{#note}}<p>{{.}}</p>{{/note}}
    <table class="sortable" tabindex="0">
    <thead><tr><th scope="col" class="number">From</th><th scope="col" class="number">To</th><th scope="col" class="number">Pages</th><th scope="col">Kind</th><th scope="col">Tree</th></tr></thead>
    <tbody>
    {{#lines}}<tr><td class="number">{{first}}</td><td class="number">{{last}}</td><td class="number">{{count}}</td><td class="keep">{{kind}}</td><td>{{owner}}</td></tr>
    {{/lines}}
    </tbody>
    </table>
    </section>{{/runs}}
    \(PageFrame.findingTable)
    """
}
