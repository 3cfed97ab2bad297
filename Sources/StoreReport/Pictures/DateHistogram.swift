import CoreDataStore
import StoreExtraction
import Terminal

/// How many dates in rows and how many recorded changes a store has in each span of time, from the first date to the
/// last.
struct DateHistogram {
  private var bins = TimeBins(kinds: 2)
  /// The first commits of the write-ahead log, in their order. Most commits have no time.
  private(set) var commits: [StoreTimeline.LogCommit] = []
  /// How many commits the write-ahead log has; ``commits`` holds at most the first 200.
  private(set) var commitCount = 0

  private static let maxCommits = 200
  /// The parts of each bar, from below.
  private static let parts: [StackedBars.Part] = [
    .init(style: "dates", words: "dates in rows"), .init(style: "changes", words: "changes"),
  ]

  /// Counts the events of a store's timeline.
  ///
  /// - Throws: the errors that `StoreTimeline` throws while it reads events.
  init(_ timeline: StoreTimeline) throws {
    var bins = bins
    var commits: [StoreTimeline.LogCommit] = []
    var commitCount = 0
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
    self.bins = bins
    self.commits = commits
    self.commitCount = commitCount
  }

  /// The values for the section "When" of ``ReportTemplate``; nil when the store has no date at all.
  var context: [String: Any]? {
    guard let ends = bins.ends else {
      return bins.outOfRange > 0 ? ["outOfRange": Quantity.count(bins.outOfRange)] : nil
    }
    let all = bins.bins
    let bars = StackedBars(
      id: "times", title: "Events for each \(bins.unit)", parts: Self.parts,
      bars: all.map { (StackedBars.moment($0.start), $0.counts) })
    var context: [String: Any] = [
      "hasBins": true, "svg": bars.svg, "unit": bins.unit, "from": Self.day(ends.first),
      "to": Self.day(ends.last),
      "bins": all.filter { $0.counts != [0, 0] }.map { bin -> [String: Any] in
        [
          "start": StackedBars.moment(bin.start), "changes": Quantity.count(bin.counts[1]),
          "dates": Quantity.count(bin.counts[0]),
        ]
      },
    ]
    if bins.outOfRange > 0 { context["outOfRange"] = Quantity.count(bins.outOfRange) }
    return context
  }

  private static func day(_ seconds: Double) -> String {
    String(StackedBars.moment(seconds).prefix(10))
  }
}
