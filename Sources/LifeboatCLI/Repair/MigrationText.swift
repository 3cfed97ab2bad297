import StoreExtraction
import Quoting
import SafeText
import StoreMigration
import Terminal

/// The text that `lifeboat migrate` and `lifeboat salvage` print about a migration.
struct MigrationText {
  private let report: MigrationReport
  private let display: DisplayOptions

  /// Writes a report as text or JSON, and then the report's findings. If the migration has lost something, throws the
  /// exit code for findings.
  static func tell(_ report: MigrationReport, _ display: DisplayOptions) throws {
    try display.write(json: report, orText: MigrationText(report: report, display: display).text)
    display.note(report.findings)
    if !report.isLossless { try display.exitWithFindings() }
  }

  /// Writes the result of a dry run: the steps of the migration that would be done. `present`: the path of the store
  /// into which the rows would be merged; nil for a migration without a merge. `found` describes what can be read of a
  /// damaged store. The JSON is a migration report without row counts, but with what can be read.
  static func announce(
    _ steps: [MigrationStep], of store: String, into present: String?, found: RecoverText?,
    _ display: DisplayOptions
  ) throws {
    let report = MigrationReport(announcing: steps, of: store, survey: found?.result)
    guard !display.json else { return try display.write(json: report) }
    var block = KeyValueBlock()
    block.add(
      PathText.lastComponent(of: store), MigrationText(report: report, display: display).way)
    if let present { block.add("Merged", "into the rows of \(present)") }
    if let found {
      block.add("Rows", found.rows, tone: found.result.isLossless ? .green : .yellow)
      if !found.lost.isEmpty { block.add("Lost", found.lost, tone: .red) }
      block.add(
        "Not counted", "references that lead to no row, and rows that break a rule of the model")
    }
    block.add("Written", "nothing: this was a dry run")
    try display.write(block.text(width: display.width, style: display.style))
  }

  var text: String {
    var block = KeyValueBlock()
    block.add(PathText.lastComponent(of: report.source), way)
    block.add("Rows", rows, tone: report.isLossless ? .green : .yellow)
    if let merge = report.merge { add(merge, to: &block) }
    if report.cutCount > 0 { block.add("Cut", cuts, tone: .yellow) }
    if let files = report.externalFiles, files.fileCount + files.strayCount > 0 {
      let strays =
        files.strayCount > 0
        ? "; \(Quantity.count(files.strayCount)) not copied, because no row of the new store names them"
        : ""
      block.add("Files", "\(Quantity.count(files.fileCount, "external file")) copied\(strays)")
    }
    for text in report.allSteps.flatMap(\.leftOut) { block.add("Left out", text, tone: .yellow) }
    for note in Set(report.allSteps.flatMap(\.notes) + (report.merge?.notes ?? [])).sorted() {
      block.add("Note", note)
    }
    if let rejects = report.rejects {
      block.add("Not whole", "rejected and incomplete rows are in \(rejects)", tone: .red)
    }
    if let output = report.output {
      block.add("Written", output)
      block.add(
        "Next", [.init("lifeboat check \(ShellText.path(output))", "check the new store once more")]
      )
    }
    var text = block.text(width: display.width, style: display.style)
    for (index, step) in report.steps.enumerated() {
      let table = table(step)
      guard !table.isEmpty else { continue }
      text += "\n"
      if report.steps.count > 1 {
        let versions = [step.from, step.to].map(VisibleText.visible).joined(separator: " → ")
        text += "Step \(index + 1) of \(report.steps.count): \(versions)\n"
      }
      text += table
    }
    if let merge = report.merge { text += "\n" + table(merge) }
    return text
  }

  private func add(_ merge: MigrationReport.Merge, to block: inout KeyValueBlock) {
    func sum(_ count: (MigrationReport.Merge.Entity) -> Int) -> Int {
      merge.entities.reduce(0) { $0 + count($1) }
    }
    block.add(
      "Merged",
      "\(Quantity.count(sum(\.addedCount), "object")) added to the \(Quantity.count(sum(\.presentCount))) in \(PathText.lastComponent(of: merge.into))"
    )
    let same = sum(\.sameValuesCount)
    if same > 0 {
      let what =
        switch merge.duplicates {
        case .keep: "the values of the present store stay"
        case .fill: "old values fill the gaps of the present store"
        case .replace: "old values replace those of the present store"
        }
      let objects = Quantity.count(same, "object")
      block.add("In both", "\(objects) whose unique attributes have equal values: \(what)")
    }
    let equal = sum(\.sameContentCount)
    if equal > 0 { block.add("Equal", "\(Quantity.count(equal, "object")) with the same content") }
    if merge.differingCount > 0 {
      block.add(
        "Differing",
        "\(Quantity.count(merge.differingCount, "old object")) had values that are not in the new store",
        tone: .yellow)
    }
    if merge.replacedCount > 0 {
      block.add(
        "Replaced", "values of \(Quantity.count(merge.replacedCount, "present object"))",
        tone: .yellow)
    }
  }

  private func table(_ merge: MigrationReport.Merge) -> String {
    var table = TextTable([
      .init("Merged entity", isFlexible: true), .init("Present", .trailing),
      .init("Added", .trailing), .init("In both", .trailing), .init("Rejected", .trailing),
    ])
    let maxShown = display.verbose > 0 ? merge.entities.count : 20
    for entity in merge.entities.prefix(maxShown) {
      table.add([
        entity.name, Quantity.count(entity.presentCount), Quantity.count(entity.addedCount),
        Quantity.count(entity.sameValuesCount + entity.sameContentCount),
        Quantity.count(entity.rejectedCount),
      ])
    }
    return table.text(width: display.width, style: display.style)
      + more(merge.entities.count - maxShown)
  }

  private func more(_ count: Int) -> String {
    count > 0 ? "and \(Quantity.count(count)) more (-v shows all)\n" : ""
  }

  private var way: String {
    var names = report.steps.first.map { [$0.from] } ?? []
    for step in report.steps where step.to != names.last { names.append(step.to) }
    return names.map(VisibleText.visible).joined(separator: " → ")
  }

  private var rows: String {
    var text = "\(Quantity.count(report.writtenCount)) written"
    if report.incompleteCount > 0 {
      text += ", \(Quantity.count(report.incompleteCount)) of them not whole"
    }
    if report.rejectedCount > 0 { text += ", \(Quantity.count(report.rejectedCount)) rejected" }
    let left = report.steps.reduce(0) { $0 + $1.entities.reduce(0) { $0 + $1.leftBehindCount } }
    if left > 0 {
      text += ", \(Quantity.count(left)) left behind, of entities that the new model does not have"
    }
    return text
  }

  private var cuts: String {
    let all = report.allCut
    let named = all.prefix(5).map { "\($0.entity).\($0.property): \(Quantity.count($0.count))" }
    let more = all.count > 5 ? ", and \(all.count - 5) more relationships" : ""
    return
      "\(Quantity.count(report.cutCount, "reference")) to a missing row, or more than the relationship allows: \(named.joined(separator: ", "))\(more)"
  }

  private func table(_ step: MigrationReport.Step) -> String {
    let entities = step.entities.filter { $0.readCount > 0 }
    guard !entities.isEmpty else { return "" }
    let hasLeft = entities.contains { $0.leftBehindCount > 0 }
    var columns: [TextTable.Column] = [
      .init("Entity", isFlexible: true), .init("Became", isFlexible: true),
      .init("Read", .trailing),
      .init("Written", .trailing), .init("Rejected", .trailing),
    ]
    if hasLeft { columns.append(.init("Left behind", .trailing)) }
    var table = TextTable(columns)
    let maxShown = display.verbose > 0 ? entities.count : 20
    for entity in entities.prefix(maxShown) {
      var cells = [
        entity.name ?? "(unknown)", entity.became.joined(separator: ", "),
        Quantity.count(entity.readCount), Quantity.count(entity.writtenCount),
        Quantity.count(entity.rejectedCount),
      ]
      if hasLeft { cells.append(Quantity.count(entity.leftBehindCount)) }
      table.add(cells)
    }
    return table.text(width: display.width, style: display.style) + more(entities.count - maxShown)
  }
}
