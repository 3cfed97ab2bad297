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
  private var unit = ""
  private var ends: (first: Double, last: Double)?
  private let outOfRange: Int
  /// Commits in the write-ahead log, which have an order and mostly no time.
  let commits: [StoreTimeline.LogCommit]
  /// How many there are; ``commits`` has the first of them.
  let commitCount: Int

  private static let maxBins = 60
  private static let maxCommits = 200
  /// 1980 to 2080: other dates mark something, or are damaged.
  private static let likely: ClosedRange<Double> = -662_688_000...2_492_985_600
  /// How long a bar is: a number of seconds, or of months of the calendar.
  private enum Span {
    case seconds(Double)
    case months(Int)

    /// The number of the bar that a date is in.
    func place(of date: Double) -> Int {
      switch self {
      case .seconds(let length): return Int((date / length).rounded(.down))
      case .months(let count):
        guard let moment = ReferenceDate(seconds: date).moment else { return 0 }
        return (moment.year * 12 + moment.month - 1) / count
      }
    }

    /// When a bar begins.
    func start(of place: Int) -> Double {
      switch self {
      case .seconds(let length): return Double(place) * length
      case .months(let count):
        let month = place * count
        return DateHistogram.seconds(year: month / 12, month: month % 12 + 1)
      }
    }
  }

  private static let spans: [(span: Span, unit: String)] = [
    (.seconds(60), "minute"), (.seconds(600), "ten minutes"), (.seconds(3_600), "hour"),
    (.seconds(21_600), "six hours"), (.seconds(86_400), "day"), (.months(1), "month"),
    (.months(3), "quarter"), (.months(12), "year"), (.months(60), "five years"),
  ]

  /// Seconds since 2001 at which a month begins, in the Gregorian calendar.
  private static func seconds(year: Int, month: Int) -> Double {
    // Years start in March, so that leap days come last.
    let shifted = month <= 2 ? year - 1 : year
    let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400
    let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5
    // 2001-01-01 is day 730,791 of that count.
    return Double(days + ofYear - 730_791) * 86_400
  }

  /// Reads the dates of a store.
  init(_ timeline: StoreTimeline) throws {
    var changes: [Double] = []
    var dates: [Double] = []
    var commits: [StoreTimeline.LogCommit] = []
    var commitCount = 0
    try timeline.forEachEvent { event in
      switch event {
      case .change(let change):
        if let seconds = change.transaction.date?.seconds { changes.append(seconds) }
      case .transaction(let transaction):
        if let seconds = transaction.date?.seconds { changes.append(seconds) }
      case .date(let date): dates.append(date.date.seconds)
      case .commit(let commit):
        commitCount += 1
        if commits.count < Self.maxCommits { commits.append(commit) }
      case .frames: break
      }
      return true
    }
    outOfRange = (changes + dates).count { !Self.likely.contains($0) || $0 == 0 }
    changes = changes.filter { Self.likely.contains($0) && $0 != 0 }
    dates = dates.filter { Self.likely.contains($0) && $0 != 0 }
    self.commits = commits
    self.commitCount = commitCount
    guard let first = (changes + dates).min(), let last = (changes + dates).max() else { return }
    let (span, unit) =
      Self.spans.first { $0.span.place(of: last) - $0.span.place(of: first) < Self.maxBins }
      ?? Self.spans[Self.spans.count - 1]
    self.unit = unit
    ends = (first, last)
    let lowest = span.place(of: first)
    bins = (lowest...span.place(of: last)).map { Bin(start: span.start(of: $0)) }
    for date in changes { bins[span.place(of: date) - lowest].changes += 1 }
    for date in dates { bins[span.place(of: date) - lowest].dates += 1 }
  }

  /// What the template needs; nil without dates.
  var context: [String: Any]? {
    guard let ends else {
      return outOfRange > 0 ? ["outOfRange": Quantity.count(outOfRange)] : nil
    }
    var context: [String: Any] = [
      "hasBins": true, "svg": svg, "unit": unit, "from": Self.day(ends.first),
      "to": Self.day(ends.last),
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
