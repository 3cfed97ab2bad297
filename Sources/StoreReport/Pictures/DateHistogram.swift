import CoreDataStore
import StoreExtraction
import Terminal

/// Counts two kinds of dates by time: the dates in the store's rows, and the dates of the changes that the store's
/// history records. The first span of time has the earliest counted date, and the last span has the latest.
struct DateHistogram {
  private var bins = TimeBins(kinds: 2)
  /// The commits of the write-ahead log, in order. Only the first ``maxCommits`` commits are kept. Most commits have no
  /// time.
  private(set) var commits: [StoreTimeline.LogCommit] = []
  /// The number of commits in the write-ahead log. ``commits`` has only the first 200.
  private(set) var commitCount = 0
  /// The number of dates in rows that the histogram does not count, because there are too many dates to sort.
  private var omittedCount = 0

  private static let maxCommits = 200
  /// The parts of each bar, from bottom to top.
  private static let parts: [StackedBars.Part] = [
    .init(style: "dates", words: "dates in rows"),
    .init(style: "changes", words: "changes that the history records"),
  ]

  /// Counts the events of a timeline.
  ///
  /// - Throws: the errors that `StoreTimeline` throws while it reads events.
  init(_ timeline: StoreTimeline) throws {
    try timeline.forEachEvent { event in
      switch event {
      case .change, .transaction:
        if let seconds = event.date?.seconds { bins.add(seconds, kind: 1) }
      case .date(let date): bins.add(date.date.seconds, kind: 0)
      case .commit(let commit):
        commitCount += 1
        if commits.count < Self.maxCommits { commits.append(commit) }
      case .frames: break
      }
      return true
    }
    omittedCount = timeline.omittedDateCount
  }

  /// The values for the section "When" of ``ReportTemplate``; nil when the store has no dates.
  var context: [String: Any]? {
    let bars = StackedBars(
      id: "times", title: "Events for each \(bins.unit)", parts: Self.parts, of: bins)
    var context = bars?.context(unit: bins.unit, holder: "From") ?? [:]
    if let ends = bins.ends {
      context["from"] = Self.day(ends.first)
      context["to"] = Self.day(ends.last)
    }
    if bins.outOfRange > 0 { context["outOfRange"] = Quantity.count(bins.outOfRange) }
    if omittedCount > 0 { context["omitted"] = Quantity.count(omittedCount) }
    return context.isEmpty ? nil : context
  }

  private static func day(_ seconds: Double) -> String {
    String(StackedBars.moment(seconds).prefix(10))
  }
}
