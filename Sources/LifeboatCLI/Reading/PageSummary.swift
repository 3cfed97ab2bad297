import SQLiteFile
import SQLiteForensics
import StoreExtraction
import Terminal

/// A summary of the pages of a store: the number of pages of each kind, the number of pages that each table or index
/// owns, and the runs of pages.
struct PageSummary {
  /// Consecutive pages of the same kind that the same table or index owns.
  struct Run: Encodable {
    let firstPage: UInt32
    var pageCount: Int
    let kind: String
    let owner: String?
  }

  /// The JSON output of `lifeboat pages`.
  struct Report: Encodable {
    let schema = "lifeboat.pages"
    let version = 1
    let path: String
    let pageSizeBytes: Int
    let pageCount: UInt32
    let kinds: [String: Int]
    let members: [String: Int]
    let owners: [PageOwner]
    let runs: [Run]
  }

  /// The maximum number of page runs that the summary lists without `-v`.
  private static let maxShown = 100

  var owners: [PageOwner] = []
  private let pageSize: Int
  private let pageCount: UInt32
  /// The message of the first finding about the database header; nil if the header could be used as it is.
  private let headerProblem: String?
  private var kinds: [PageKind: Int] = [:]
  private var members: [Finding.Member: Int] = [:]
  private var runs: [Run] = []

  init(_ database: SQLiteDatabase) {
    pageSize = database.header.pageSize
    pageCount = database.pageCount
    headerProblem =
      database.votedLayout == nil
      ? nil
      : database.findings.kept.first { CheckText.layoutFindings.contains($0.id) }?.message
  }

  mutating func add(_ entry: PageEntry) {
    kinds[entry.kind, default: 0] += 1
    members[entry.member, default: 0] += 1
    if let last = runs.last, last.kind == entry.kind.name,
      ExactText.isSame(last.owner, entry.owner)
    {
      runs[runs.count - 1].pageCount += 1
    } else {
      runs.append(
        Run(firstPage: entry.page, pageCount: 1, kind: entry.kind.name, owner: entry.owner))
    }
  }

  func report(_ path: String) -> Report {
    Report(
      path: path, pageSizeBytes: pageSize, pageCount: pageCount,
      kinds: Dictionary(uniqueKeysWithValues: kinds.map { ($0.name, $1) }),
      members: Dictionary(uniqueKeysWithValues: members.map { ($0.rawValue, $1) }),
      owners: owners, runs: runs)
  }

  func text(_ display: DisplayOptions) -> String {
    var block = KeyValueBlock()
    var sources = members.filter { $0.key != .main }
      .sorted { $0.key.rawValue < $1.key.rawValue }
      .map { "\(Quantity.count($0.value)) from the -\($0.key.rawValue)" }.joined(separator: ", ")
    if !sources.isEmpty { sources = "; " + sources }
    block.add(
      "Pages",
      "\(Quantity.count(pageCount)) of \(Quantity.count(pageSize)) bytes\(sources)")
    if let headerProblem { block.add("Header", headerProblem, tone: .red) }
    let parts = PageKind.allCases.filter { kinds[$0] != nil }
      .map { "\(Quantity.count(kinds[$0] ?? 0)) \($0.name)" }
    block.add("Kinds", parts.joined(separator: ", "))
    var text = block.text(width: display.width, style: display.style)
    text += "\n" + ownerTable(display)
    text += "\n" + runTable(display)
    return text
  }

  private func ownerTable(_ display: DisplayOptions) -> String {
    var table = TextTable([
      .init("Owner", isFlexible: true), .init("Root", .trailing), .init("Pages", .trailing),
      .init("Overflow", .trailing), .init("Cells", .trailing), .init("Free", .trailing),
    ])
    for owner in owners {
      let name = owner.isIndex ? "\(owner.name) (index of \(owner.table))" : owner.name
      table.add([
        name, Quantity.count(owner.rootPage), Quantity.count(owner.treePages),
        Quantity.count(owner.overflowPages), Quantity.count(owner.cells),
        Quantity.bytes(owner.freeBytes),
      ])
    }
    return table.text(width: display.width, style: display.style)
  }

  private func runTable(_ display: DisplayOptions) -> String {
    var table = TextTable([
      .init("Pages", .trailing), .init("Count", .trailing), .init("Kind"),
      .init("Owner", isFlexible: true),
    ])
    let maxShown = display.verbose > 0 ? runs.count : Self.maxShown
    for run in runs.prefix(maxShown) {
      let last = UInt64(run.firstPage) + UInt64(run.pageCount) - 1
      let range =
        run.pageCount == 1
        ? Quantity.count(run.firstPage)
        : "\(Quantity.count(run.firstPage))-\(Quantity.count(last))"
      table.add([range, Quantity.count(run.pageCount), run.kind, run.owner ?? ""])
    }
    var text = table.text(width: display.width, style: display.style)
    if runs.count > maxShown {
      text += "and \(Quantity.count(runs.count - maxShown, "more run")) (-v shows all)\n"
    }
    return text
  }
}
