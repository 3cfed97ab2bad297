import StoreReport
import StoreTriage
import Terminal

/// The text that `lifeboat triage --group` prints.
struct GroupText {
  let report: TriageGroups.Report
  let display: DisplayOptions

  /// The maximum number of groups that are shown without `-v`.
  private static let maxShown = 20
  /// The maximum number of days of a trend that are shown without `-v`.
  private static let maxDays = 14

  var text: String {
    var text =
      "\(Quantity.count(report.inputCount, "input")), \(Quantity.count(report.careCount)) to be "
      + "looked at, \(Quantity.count(report.failedCount)) of them unreadable\n"
    let shown = display.verbose > 0 ? report.groups : Array(report.groups.prefix(Self.maxShown))
    for group in shown { text += "\n" + self.text(of: group) }
    let rest = report.groups.count - shown.count
    if rest > 0 { text += "\nand \(Quantity.count(rest, "more group")) (-v shows all)\n" }
    if report.otherCount > 0 {
      text +=
        "\nand \(Quantity.count(report.otherCount, "input")) in further groups, which are counted but not listed\n"
    }
    return text
  }

  private func text(of group: TriageGroups.Group) -> String {
    var block = KeyValueBlock()
    block.add(group.id, "\(Quantity.count(group.count, "input")): " + group.words)
    if let seen = group.seen { block.add("Seen", seen) }
    let limit = display.verbose > 0 ? Int.max : 5
    for (title, counts) in [
      ("Builds", group.builds), ("Models", group.models), ("SQLite", group.sqlite),
      ("Helps", group.fixes),
    ] where !counts.isEmpty { block.add(title, TriagePage.names(counts, limit)) }
    if group.days.count > 1 { block.add("By day", trend(group.days)) }
    block.add("Such as", group.examples.joined(separator: ", "))
    return block.text(width: display.width, style: display.style)
  }

  /// Returns the days with their numbers of inputs, for example `11-20 3` for 3 inputs on 20 November. Without `-v`,
  /// only the last ``maxDays`` days are shown.
  private func trend(_ days: [String: Int]) -> String {
    let sorted = days.sorted { $0.key < $1.key }
    let shown = display.verbose > 0 ? sorted[...] : sorted.suffix(Self.maxDays)
    return shown.map { "\(Substring($0.key.utf8.suffix(5))) \(Quantity.count($0.value))" }
      .joined(separator: ", ")
  }
}
