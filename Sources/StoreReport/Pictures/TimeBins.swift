import CoreDataStore

/// Events counted by time, in at most as many spans as a picture has bars. The spans become longer as the time between
/// the first and the last event grows.
struct TimeBins {
  /// A span of time: its start in seconds since 2001, and the number of its events by kind.
  struct Bin {
    let start: Double
    let counts: [Int]
  }

  /// The counts by kind of each span that has events, by the span's number.
  private var counts: [Int: [Int]] = [:]
  private var lowest = Int.max
  private var highest = Int.min
  private var level = 0
  private let kindCount: Int
  /// The first and the last date that was counted, in seconds since 2001; nil when there was none.
  private(set) var ends: (first: Double, last: Double)?
  /// How many events have a date that is not counted, because it is zero or not in 1980 to 2080.
  private(set) var outOfRange = 0

  private static let maxBins = 60
  /// 1980 to 2080, in seconds since 2001. Apps use other dates as markers, or the bytes are damaged.
  private static let likely: ClosedRange<Double> = -662_688_000...2_492_985_600
  /// How long a span is: a number of seconds, or of months of the calendar.
  private enum Span {
    case seconds(Double)
    case months(Int)

    /// The number of the span that holds a date.
    func place(of date: Double) -> Int {
      switch self {
      case .seconds(let length): return Int((date / length).rounded(.down))
      case .months(let count):
        guard let moment = ReferenceDate(seconds: date).moment else { return 0 }
        return (moment.year * 12 + moment.month - 1) / count
      }
    }

    /// The start of the span with this number, in seconds since 2001.
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

  /// The start of a month of the Gregorian calendar in UTC, in seconds since 2001.
  private static func seconds(year: Int, month: Int) -> Double {
    // Years start in March, so that leap days come last.
    let shifted = month <= 2 ? year - 1 : year
    let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400
    let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5
    // In this count of days, 2001-01-01 is day 730,791.
    return Double(days + ofYear - 730_791) * 86_400
  }

  /// Creates bins for a number of kinds of events. With `areOfDays`, no span is shorter than a day.
  init(kinds: Int, areOfDays: Bool = false) {
    kindCount = kinds
    if areOfDays { level = Self.spans.firstIndex { $0.unit == "day" } ?? 0 }
  }

  /// Counts `count` events of a kind at a date, in seconds since 2001.
  mutating func add(_ seconds: Double, kind: Int, count: Int = 1) {
    // Zero is the reference date itself: a date that nobody has set.
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

  /// Takes the next longer span. Each span lies within one of the next longer spans.
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

  /// The length of a span, in words, such as "ten minutes".
  var unit: String { Self.spans[level].unit }

  /// All spans from the first to the last event, with those that have no event.
  var bins: [Bin] {
    guard lowest <= highest else { return [] }
    let nothing = Array(repeating: 0, count: kindCount)
    return (lowest...highest).map { place in
      Bin(start: Self.spans[level].span.start(of: place), counts: counts[place] ?? nothing)
    }
  }
}
