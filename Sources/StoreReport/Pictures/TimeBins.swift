import CoreDataStore

/// Events counted by time, in as many spans as a picture has bars. The spans grow as the time between the first and the
/// last event does.
struct TimeBins {
  /// A span of time and its events.
  struct Bin {
    let start: Double
    let counts: [Int]
  }

  /// The counts of each span, by its number.
  private var counts: [Int: [Int]] = [:]
  private var lowest = Int.max
  private var highest = Int.min
  private var level = 0
  private let kindCount: Int
  /// The first and the last date; nil without events.
  private(set) var ends: (first: Double, last: Double)?
  /// Events at dates that are not counted.
  private(set) var outOfRange = 0

  private static let maxBins = 60
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
        return TimeBins.seconds(year: month / 12, month: month % 12 + 1)
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

  /// Bins for so many kinds of events. Of events by day, no bin is shorter.
  init(kinds: Int, areOfDays: Bool = false) {
    kindCount = kinds
    if areOfDays { level = Self.spans.firstIndex { $0.unit == "day" } ?? 0 }
  }

  /// Counts events at a date, in seconds since 2001.
  mutating func add(_ seconds: Double, kind: Int, count: Int = 1) {
    // Zero is the calendar's own beginning: a date that nobody has set.
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

  /// Takes the next longer span. Each span of one length is within one of the next.
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

  /// How long a span is, in words.
  var unit: String { Self.spans[level].unit }

  /// The spans from the first to the last event, empty ones among them.
  var bins: [Bin] {
    guard lowest <= highest else { return [] }
    let nothing = Array(repeating: 0, count: kindCount)
    return (lowest...highest).map { place in
      Bin(start: Self.spans[level].span.start(of: place), counts: counts[place] ?? nothing)
    }
  }
}
