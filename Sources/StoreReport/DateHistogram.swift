import Terminal
import CoreDataStore
import StoreExtraction

/// How many events a store records for each span of time, from its first to its last date.
struct DateHistogram {
  /// A bar.
  private struct Bin {
    let start: Double
    var changes = 0
    var dates = 0
  }

  private var bins: [Bin] = []
  private let span: Double
  private let unit: String
  private let outOfRange: Int
  /// Commits in the write-ahead log, which have an order and mostly no time.
  let commits: [StoreTimeline.LogCommit]

  private static let maxBins = 60.0
  private static let maxCommits = 200
  /// 1980 to 2080: other dates mark something, or are damaged.
  private static let likely: ClosedRange<Double> = -662_688_000...2_492_985_600
  /// Spans of a bar, in seconds.
  private static let spans: [(seconds: Double, unit: String)] = [
    (60, "minute"), (600, "ten minutes"), (3_600, "hour"), (21_600, "six hours"), (86_400, "day"),
    (604_800, "week"), (2_629_746, "month"), (7_889_238, "quarter"), (31_556_952, "year"),
  ]

  /// Reads the dates of a store.
  init(_ timeline: StoreTimeline) throws {
    var changes: [Double] = []
    var dates: [Double] = []
    var commits: [StoreTimeline.LogCommit] = []
    var odd = 0
    try timeline.forEachEvent { event in
      switch event {
      case .change(let change):
        if let seconds = change.transaction.date?.seconds { changes.append(seconds) }
      case .transaction(let transaction):
        if let seconds = transaction.date?.seconds { changes.append(seconds) }
      case .date(let date): dates.append(date.date.seconds)
      case .commit(let commit): if commits.count < Self.maxCommits { commits.append(commit) }
      case .frames: break
      }
      return true
    }
    odd = (changes + dates).count { !Self.likely.contains($0) || $0 == 0 }
    changes = changes.filter { Self.likely.contains($0) && $0 != 0 }
    dates = dates.filter { Self.likely.contains($0) && $0 != 0 }
    self.commits = commits
    outOfRange = odd
    guard let first = (changes + dates).min(), let last = (changes + dates).max() else {
      (span, unit) = (1, "")
      return
    }
    let length = last - first
    let (seconds, unit) =
      Self.spans.first { length / $0.seconds <= Self.maxBins - 1 } ?? Self.spans[8]
    span = seconds
    self.unit = unit
    let start = (first / seconds).rounded(.down) * seconds
    let count = Int(((last - start) / seconds).rounded(.down)) + 1
    bins = (0..<count).map { Bin(start: start + Double($0) * seconds) }
    func bin(_ date: Double) -> Int { min(count - 1, max(0, Int((date - start) / seconds))) }
    for date in changes { bins[bin(date)].changes += 1 }
    for date in dates { bins[bin(date)].dates += 1 }
  }

  /// What the template needs; nil without dates.
  var context: [String: Any]? {
    guard let first = bins.first, let last = bins.last else { return nil }
    var context: [String: Any] = [
      "svg": svg, "unit": unit, "from": Self.day(first.start), "to": Self.day(last.start + span),
      "bins": bins.filter { $0.changes + $0.dates > 0 }.map { bin -> [String: Any] in
        [
          "start": Self.moment(bin.start), "changes": Quantity.count(bin.changes),
          "dates": Quantity.count(bin.dates),
        ]
      },
    ]
    if outOfRange > 0 { context["outOfRange"] = Quantity.count(outOfRange) }
    return context
  }

  private var svg: String {
    let (width, height) = (900, 160)
    let highest = max(1, bins.map { $0.changes + $0.dates }.max() ?? 1)
    let step = Double(width) / Double(bins.count)
    var text =
      "<svg viewBox=\"0 0 \(width) \(height + 4)\" width=\"\(width)\" height=\"\(height + 4)\" role=\"img\" aria-labelledby=\"times-title\">"
    text += "<title id=\"times-title\">Events for each \(unit)</title>"
    for (place, bin) in bins.enumerated() where bin.changes + bin.dates > 0 {
      let x = Double(place) * step
      let changes = Double(bin.changes) / Double(highest) * Double(height)
      let dates = Double(bin.dates) / Double(highest) * Double(height)
      let words = "\(Self.moment(bin.start)): changes: \(bin.changes), dates in rows: \(bin.dates)"
      text += "<g><title>\(words)</title>"
      text += Self.bar("dates", x, step, from: Double(height), dates)
      text += Self.bar("changes", x, step, from: Double(height) - dates, changes)
      text += "</g>"
    }
    return text + "<path class=\"axis\" d=\"M0 \(height)h\(width)\"/></svg>"
  }

  private static func bar(
    _ name: String, _ x: Double, _ step: Double, from bottom: Double, _ height: Double
  ) -> String {
    guard height > 0 else { return "" }
    let tall = max(2, height)
    return
      "<rect class=\"\(name)\" x=\"\(rounded(x))\" y=\"\(rounded(bottom - tall))\" width=\"\(rounded(max(1, step - 1)))\" height=\"\(rounded(tall))\"/>"
  }

  private static func rounded(_ number: Double) -> String {
    let tenths = Int((number * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }

  private static func moment(_ seconds: Double) -> String {
    ReferenceDate(seconds: seconds).iso8601 ?? ""
  }

  private static func day(_ seconds: Double) -> String { String(moment(seconds).prefix(10)) }
}
