import SafeText

/// How progress is shown: the values of `--progress`.
package enum ProgressMode: String, Sendable, CaseIterable {
  /// A bar if standard error is a terminal, else plain lines.
  case auto
  /// Progress is shown as a line of text every three seconds.
  case plain
  /// No progress is shown.
  case none
  /// One JSON object on each line, at most two in a second, for programs.
  case json
}

/// What a progress meter counts, such as bytes or rows.
package struct ProgressUnit: RawRepresentable, Sendable, Hashable {
  /// The plural noun that is written in JSON and after a count: `bytes`, `rows`.
  package let rawValue: String

  package init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Bytes, shown as kB, MB and so on.
  package static let bytes = Self(rawValue: "bytes")
  package static let rows = Self(rawValue: "rows")
  package static let pages = Self(rawValue: "pages")

  func text(_ count: UInt64) -> String {
    self == .bytes ? Quantity.bytes(count) : Quantity.count(count) + " " + rawValue
  }

  /// Returns the count as text without the name of the unit, for example the 3 in "3 of 5 rows".
  func shortText(_ count: UInt64) -> String {
    self == .bytes ? Quantity.bytes(count) : Quantity.count(count)
  }
}

/// Decides what a progress meter prints, and when. This type uses neither a clock nor a stream: callers pass the time
/// in nanoseconds.
struct ProgressReport: Sendable {
  enum Form: Sendable { case bar, plain, json, none }

  let operation: String
  let unit: ProgressUnit
  let form: Form
  let columns: Int
  let start: UInt64
  private(set) var total: UInt64?
  private(set) var current: UInt64 = 0

  private struct Sample {
    var time: UInt64
    var current: UInt64
  }

  /// Earlier values of `current` with their times, at most 12. The rate is computed from the oldest of them.
  private var samples: [Sample]
  private var lastPrint: UInt64?
  private var isFinished = false

  private static let second: UInt64 = 1_000_000_000
  /// The time in nanoseconds for which the work must have run before anything is shown.
  private static let showDelay = second
  private static let barInterval = second / 10
  private static let jsonInterval = second / 2
  private static let plainInterval = 3 * second
  private static let sampleInterval = second / 2
  private static let maxSamples = 12

  init(
    operation: String, total: UInt64?, unit: ProgressUnit, form: Form, columns: Int, now: UInt64
  ) {
    self.operation = VisibleText.visible(operation)
    self.unit = unit
    self.form = form
    self.columns = columns
    self.total = total
    start = now
    samples = [Sample(time: now, current: 0)]
  }

  /// Records new progress. Returns the text to print now; nil when nothing is to be printed.
  mutating func update(current: UInt64, total: UInt64?, now: UInt64) -> String? {
    guard !isFinished else { return nil }
    self.current = current
    self.total = total
    if let last = samples.last, elapsed(since: last.time, now) >= Self.sampleInterval {
      samples.append(Sample(time: now, current: current))
      if samples.count > Self.maxSamples { samples.removeFirst() }
    }
    let interval: UInt64
    switch form {
    case .none: return nil
    case .json:
      if let lastPrint, elapsed(since: lastPrint, now) < Self.jsonInterval { return nil }
      lastPrint = now
      return json(type: "progress")
    case .bar: interval = Self.barInterval
    case .plain: interval = Self.plainInterval
    }
    guard elapsed(since: start, now) >= Self.showDelay else { return nil }
    let reference = lastPrint ?? (form == .plain ? start : 0)
    guard elapsed(since: reference, now) >= interval else { return nil }
    lastPrint = now
    return form == .bar ? "\r" + bar(now) + "\u{1B}[K" : plain(now) + "\n"
  }

  /// Ends the report. Returns the text to print; nil when nothing is to be printed.
  mutating func finish(now: UInt64, isComplete: Bool) -> String? {
    guard !isFinished else { return nil }
    isFinished = true
    switch form {
    case .none: return nil
    case .json: return isComplete ? json(type: "finished") : nil
    // The bar is removed, because the result follows.
    case .bar: return lastPrint == nil ? nil : "\r\u{1B}[K"
    case .plain:
      guard lastPrint != nil, isComplete else { return nil }
      let seconds = elapsed(since: start, now) / Self.second
      return "\(operation): \(unit.text(current)) in \(Quantity.duration(seconds: seconds))\n"
    }
  }

  // MARK: - Forms

  private func json(type: String) -> String {
    let total = self.total.map(String.init) ?? "null"
    return #"{"type":"\#(type)","operation":\#(Self.quoted(operation)),"current":\#(current),"#
      + #""total":\#(total),"unit":\#(Self.quoted(unit.rawValue))}"# + "\n"
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in VisibleText.visible(text).unicodeScalars {
      if scalar == "\"" || scalar == "\\" { result += "\\" }
      result.unicodeScalars.append(scalar)
    }
    return result + "\""
  }

  private func plain(_ now: UInt64) -> String {
    var text = "\(operation): \(amount)"
    if let percent { text += " (\(percent)%)" }
    return ([text] + pace(now)).joined(separator: ", ")
  }

  private func bar(_ now: UInt64) -> String {
    // The last column stays free: many terminals break the line when it is filled.
    let room = max(columns - 1, 1)
    var facts = [amount] + pace(now)
    if let percent {
      let padding = String(repeating: " ", count: percent < 10 ? 2 : percent < 100 ? 1 : 0)
      facts.insert(padding + "\(percent)%", at: 0)
    }
    let left = operation + "  "
    let right = facts.joined(separator: "  ")
    let width =
      room - DisplayWidth.columns(of: left) - DisplayWidth.columns(of: right) - "[]  ".count
    guard let percent, width >= 8 else { return DisplayText.truncated(left + right, to: room) }
    let length = min(width, 40)
    let filled = length * percent / 100
    let line =
      String(repeating: "=", count: filled) + String(repeating: " ", count: length - filled)
    return left + "[" + line + "]  " + right
  }

  private var amount: String {
    guard let total, current <= total else { return unit.text(current) }
    return unit.shortText(current) + " of " + unit.text(total)
  }

  /// The percentage of the work that is done, rounded down. Nil when the total is unknown or 0, or when more than the
  /// total is done.
  private var percent: Int? {
    guard let total, total > 0, current <= total else { return nil }
    return min(Int(Double(current) / Double(total) * 100), current == total ? 100 : 99)
  }

  /// Returns the rate and then the remaining time, as strings. The result is empty when the rate is unknown or below
  /// one unit per second. The remaining time is omitted when the total is unknown or reached, or when 100 hours or more
  /// remain.
  private func pace(_ now: UInt64) -> [String] {
    guard let oldest = samples.first, now > oldest.time, current > oldest.current else { return [] }
    let seconds = Double(now - oldest.time) / Double(Self.second)
    let rate = Double(current - oldest.current) / seconds
    guard rate >= 1, rate < 1e18 else { return [] }
    var facts = [unit.text(UInt64(rate)) + "/s"]
    if let total, current < total {
      let left = (Double(total - current) / rate).rounded(.up)
      // Beyond four days (100 hours) the estimate is not useful.
      if left < 360_000 { facts.append(Quantity.duration(seconds: UInt64(left)) + " left") }
    }
    return facts
  }

  private func elapsed(since time: UInt64, _ now: UInt64) -> UInt64 {
    now >= time ? now - time : 0
  }
}
