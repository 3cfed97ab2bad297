import CoreDataStore
import StoreExtraction
import Terminal

/// Counts the events of a timeline: by kind, by time and by entity. For each commit of the write-ahead log, counts the
/// rows that it changed.
struct TimelineCounts {
  /// The kinds of events that the histogram counts, in the order of the parts of a bar from bottom to top.
  enum Kind: Int, CaseIterable {
    case insert, update, delete, other, transaction, date

    /// The CSS class of the events of this kind.
    var style: String {
      switch self {
      case .insert: "inserts"
      case .update: "updates"
      case .delete: "deletes"
      case .other, .transaction: "others"
      case .date: "dates"
      }
    }

    var words: String {
      switch self {
      case .insert: "inserted"
      case .update: "updated"
      case .delete: "deleted"
      case .other: "changed in another way"
      case .transaction: "transactions without recorded changes"
      case .date: "dates in rows"
      }
    }
  }

  /// The kinds of events that are changes of rows.
  static let changes: [Kind] = [.insert, .update, .delete, .other]

  private(set) var eventCount = 0
  private(set) var bins = TimeBins(kinds: Kind.allCases.count)
  private(set) var counts: [Kind: Int] = [:]
  private(set) var undatedCount = 0
  private(set) var commits = CommitCounts()
  private(set) var remainderCount = 0
  /// The number of changes of each kind to rows of each entity.
  private(set) var entities: [ExactText: [Kind: Int]] = [:]

  /// The maximum number of entities that are counted by name. The limit is needed because a damaged history may name
  /// any number of entities.
  private static let maxNames = 1_000
  static let otherEntities = "(other entities)"

  mutating func add(_ event: StoreTimeline.Event) {
    eventCount += 1
    switch event {
    case .change(let change):
      let kind: Kind =
        switch change.change {
        case "insert": .insert
        case "update": .update
        case "delete": .delete
        default: .other
        }
      count(kind, event)
      var name = ExactText(
        change.entity ?? "entity \(change.entityNumber.map(String.init) ?? "?")")
      if entities[name] == nil, entities.count >= Self.maxNames {
        name = ExactText(Self.otherEntities)
      }
      entities[name, default: [:]][kind, default: 0] += 1
    case .transaction: count(.transaction, event)
    case .date: count(.date, event)
    case .commit(let commit): commits.add(commit)
    case .frames: remainderCount += 1
    }
  }

  private mutating func count(_ kind: Kind, _ event: StoreTimeline.Event) {
    counts[kind, default: 0] += 1
    if let seconds = event.date?.seconds {
      bins.add(seconds, kind: kind.rawValue)
    } else {
      undatedCount += 1
    }
  }

  /// The events by time; nil when no event has a date in range.
  var histogram: StackedBars? {
    StackedBars(
      id: "times", title: "Events for each \(bins.unit); the table below has the numbers",
      parts: Kind.allCases.map { .init(style: $0.style, words: $0.words) }, of: bins)
  }
}

/// Counts the rows that the commits of a write-ahead log added, changed and removed. Each group of consecutive commits
/// has its own counts. A group is a single commit, unless the log has more commits than a picture has bars.
struct CommitCounts {
  /// A group of consecutive commits: the numbers of its first and last commit, and the numbers of rows that its commits
  /// added, changed and removed, in this order.
  private struct Group {
    var first: Int
    var last: Int
    var counts: [Int]
  }

  private var groups: [Group] = []
  private var size = 1
  private(set) var count = 0
  /// The number of commits whose changes are unknown, because the database before or after the commit cannot be read.
  private(set) var unknownCount = 0
  /// The numbers of rows that all commits together added, changed and removed, in this order.
  private(set) var totals = [0, 0, 0]

  private static let maxGroups = 60
  static let parts: [StackedBars.Part] = [
    .init(style: "inserts", words: "added"), .init(style: "updates", words: "changed"),
    .init(style: "deletes", words: "removed"),
  ]

  mutating func add(_ commit: StoreTimeline.LogCommit) {
    count += 1
    if commit.tables == nil { unknownCount += 1 }
    var counts = [0, 0, 0]
    for table in commit.tables ?? [] {
      counts[0] += table.added
      counts[1] += table.changed
      counts[2] += table.removed
    }
    totals = zip(totals, counts).map(+)
    if (count - 1) % size == 0, groups.count == Self.maxGroups { halve() }
    if (count - 1) % size != 0, let last = groups.indices.last {
      groups[last].last = commit.number
      groups[last].counts = zip(groups[last].counts, counts).map(+)
    } else {
      groups.append(Group(first: commit.number, last: commit.number, counts: counts))
    }
  }

  /// Joins each pair of neighbouring groups of commits into one group.
  private mutating func halve() {
    size *= 2
    groups = stride(from: 0, to: groups.count, by: 2).map { place in
      var group = groups[place]
      if place + 1 < groups.count {
        group.last = groups[place + 1].last
        group.counts = zip(group.counts, groups[place + 1].counts).map(+)
      }
      return group
    }
  }

  /// The commits that a bar stands for, in words: "commit" or "4 commits".
  var unit: String { size == 1 ? "commit" : "\(size) commits" }

  /// The changed rows by commit; nil when no commit changed a row.
  var histogram: StackedBars? {
    guard totals != [0, 0, 0] else { return nil }
    return StackedBars(
      id: "commits", title: "Rows changed in each \(unit) of the log", parts: Self.parts,
      bars: groups.map { group in
        (
          group.first == group.last
            ? "commit \(Quantity.count(group.first))"
            : "commits \(Quantity.count(group.first)) to \(Quantity.count(group.last))",
          group.counts
        )
      }, isOfTime: false)
  }
}
