/// Formats numbers for people. The forms do not depend on the user's language, so that a report reads the same
/// everywhere.
package enum Quantity {
  /// Returns a count with a comma between groups of three digits: `1,012`.
  package static func count(_ value: some BinaryInteger) -> String {
    let digits = Array(String(value.magnitude))
    var result = value < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index).isMultiple(of: 3) { result.append(",") }
      result.append(digit)
    }
    return result
  }

  /// Returns a count with its noun: `1 page`, `1,012 pages`. If `many` is nil, the plural is `one` with an `s`.
  package static func count(
    _ value: some BinaryInteger, _ one: String, _ many: String? = nil
  ) -> String {
    count(value) + " " + (value == 1 ? one : many ?? one + "s")
  }

  /// Returns a number of bytes in decimal units, rounded half up to one digit after the point: `999 bytes`, `1.0 kB`,
  /// `48.2 MB`. A negative number, as a damaged record may have, counts as 0.
  package static func bytes(_ value: some BinaryInteger) -> String {
    let value = UInt64(clamping: value)
    if value == 1 { return "1 byte" }
    if value < 1000 { return "\(value) bytes" }
    var unit: UInt64 = 1000
    for (index, name) in ["kB", "MB", "GB", "TB", "PB", "EB"].enumerated() {
      // Tenths of the unit, rounded half up. The division comes first, so that nothing overflows.
      let step = unit / 10
      let tenths = value / step + (value % step >= step / 2 ? 1 : 0)
      // 999.95 kB would read 1000.0 kB, so the next unit is used.
      if tenths < 10_000 || index == 5 { return "\(tenths / 10).\(tenths % 10) \(name)" }
      unit *= 1000
    }
    return "\(value) bytes"
  }

  /// Returns a span of time, as `0:12`, `12:34` or `1:02:03`.
  package static func duration(seconds: UInt64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60)
    let tail = (rest < 10 ? "0" : "") + "\(rest)"
    if hours == 0 { return "\(minutes):\(tail)" }
    return "\(hours):" + (minutes < 10 ? "0" : "") + "\(minutes):\(tail)"
  }
}
