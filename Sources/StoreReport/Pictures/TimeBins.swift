import CoreDataStore

/// Counts events in spans of time, one span for each bar of a histogram. The more time the events cover, the longer are
/// the spans, so that the number of bars stays limited.
struct TimeBins {
  /// A span of time: the time at which it starts, in seconds since 2001, and the numbers of its events by kind.
  struct Bin {
    let start: Double
    let counts: [Int]
  }

  /// The numbers of events of each kind in each span, keyed by the number of the span. A span without events has no
  /// entry.
  private var counts: [Int: [Int]] = [:]
  private var lowest = Int.max
  private var highest = Int.min
  private var level = 0
  private let kindCount: Int
  /// The earliest and the latest counted date, in seconds since 2001; nil before a date is counted.
  private(set) var ends: (first: Double, last: Double)?
  /// The number of events that are not counted, because their date is zero or is not in the years 1980 to 2080.
  private(set) var outOfRange = 0

  private static let maxBins = 60
  /// The years 1980 to 2080, in seconds since 2001. A date outside this range is not counted, because it is probably
  /// damaged, or a special value that the app uses as a marker.
  private static let likely: Range<Double> = -662_774_400..<2_524_608_000
  /// The length of a span: a number of seconds, or a number of calendar months.
  private enum Span {
    case seconds(Double)
    case months(Int)

    /// Returns the number of the time span that contains a date. The date is in seconds since 2001.
    func place(of date: Double) -> Int {
      switch self {
      case .seconds(let length): return Int((date / length).rounded(.down))
      case .months(let count):
        guard let moment = ReferenceDate(seconds: date).moment else { return 0 }
        return (moment.year * 12 + moment.month - 1) / count
      }
    }

    /// Returns the start of the span that has the number `place`, in seconds since 2001.
    func start(of place: Int) -> Double {
      switch self {
      case .seconds(let length): return Double(place) * length
      case .months(let count):
        let month = place * count
        return TimeBins.seconds(year: month / 12, month: month % 12 + 1)
      }
    }
  }

  private static let spans: [(span: Span, unit: String)] = [
    (.seconds(60), "minute"), (.seconds(600), "ten minutes"), (.seconds(3_600), "hour"),
    (.seconds(21_600), "six hours"), (.seconds(86_400), "day"), (.months(1), "month"),
    (.months(3), "quarter"), (.months(12), "year"), (.months(60), "five years"),
  ]

  /// Returns the start of a month of the Gregorian calendar in UTC, in seconds since 2001.
  private static func seconds(year: Int, month: Int) -> Double {
    // In this computation, years start in March, so that the leap day is the last day of a year.
    let shifted = month <= 2 ? year - 1 : year
    let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400
    let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5
    // Counted in this way, 2001-01-01 is day 730,791.
    return Double(days + ofYear - 730_791) * 86_400
  }

  /// Creates empty bins for `kinds` kinds of events. If `areOfDays` is true, each bin covers at least a day.
  init(kinds: Int, areOfDays: Bool = false) {
    kindCount = kinds
    if areOfDays { level = Self.spans.firstIndex { $0.unit == "day" } ?? 0 }
  }

  /// Counts `count` events of one kind at the same date, which is in seconds since 2001.
  mutating func add(_ seconds: Double, kind: Int, count: Int = 1) {
    // Zero is the reference date itself. It most likely means that the date was never set.
    guard Self.likely.contains(seconds), seconds != 0 else {
      outOfRange += count
      return
    }
    ends = ends.map { (min($0.first, seconds), max($0.last, seconds)) } ?? (seconds, seconds)
    let place = Self.spans[level].span.place(of: seconds)
    lowest = min(lowest, place)
    highest = max(highest, place)
    counts[place, default: Array(repeating: 0, count: kindCount)][kind] += count
    while highest - lowest >= Self.maxBins, level + 1 < Self.spans.count { widen() }
  }

  /// Changes to the next longer time spans, for example from minutes to ten minutes. Adds up the counts of the shorter
  /// spans in each longer span.
  private mutating func widen() {
    let (old, new) = (Self.spans[level].span, Self.spans[level + 1].span)
    level += 1
    var wider: [Int: [Int]] = [:]
    for (place, counts) in counts {
      let place = new.place(of: old.start(of: place))
      wider[place] = wider[place].map { zip($0, counts).map(+) } ?? counts
    }
    counts = wider
    lowest = wider.keys.min() ?? lowest
    highest = wider.keys.max() ?? highest
  }

  /// The length of the time spans in which events are counted, for example "ten minutes".
  var unit: String { Self.spans[level].unit }

  /// The bins from the first to the last event, including bins without events.
  var bins: [Bin] {
    guard lowest <= highest else { return [] }
    let nothing = Array(repeating: 0, count: kindCount)
    return (lowest...highest).map { place in
      Bin(start: Self.spans[level].span.start(of: place), counts: counts[place] ?? nothing)
    }
  }
}
