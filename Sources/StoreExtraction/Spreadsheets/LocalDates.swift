import CoreDataStore
package import Foundation

/// Dates as the clocks of a time zone show them.
package struct LocalDates: Sendable {
  /// The time zone.
  package let zone: TimeZone
  /// What the user calls it.
  package let name: String

  /// The dates of UTC.
  package static let utc = LocalDates(zone: .gmt, name: "UTC")

  private init(zone: TimeZone, name: String) {
    self.zone = zone
    self.name = name
  }

  /// The dates of a time zone of the IANA database, such as `Europe/Berlin`, or of this machine for `local`; nil for an
  /// unknown name.
  package init?(named name: String) {
    if name.utf8.elementsEqual("local".utf8) {
      zone = .current
      self.name = zone.identifier
    } else {
      guard let zone = TimeZone(identifier: name) else { return nil }
      self.zone = zone
      self.name = name
    }
  }

  /// The names of all time zones.
  package static var names: [String] { ["UTC", "local"] + TimeZone.knownTimeZoneIdentifiers }

  /// 2001-01-01 and 9999-12-31, in days since 1899-12-30.
  private static let firstOf2001: Int64 = 36_892
  private static let lastDay: Int64 = 2_958_465

  /// A moment of the Gregorian calendar.
  struct Moment {
    /// Days since 2001-01-01, in the time zone.
    let day: Int64
    let secondOfDay: Int
    /// The rest of the last second, 0 or more and less than 1.
    let fraction: Double
  }

  /// What the clocks show; nil for a date that is not finite or more than 30,000 years away.
  func moment(of date: ReferenceDate) -> Moment? {
    guard date.seconds.isFinite, abs(date.seconds) < 1e12 else { return nil }
    let whole = date.seconds.rounded(.down)
    let offset = zone.secondsFromGMT(for: Date(timeIntervalSinceReferenceDate: whole))
    let seconds = Int64(whole) + Int64(offset)
    let day = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
    return Moment(
      day: day, secondOfDay: Int(seconds - day * 86_400), fraction: date.seconds - whole)
  }

  /// The date as text without its fraction, such as `2026-11-20 22:53:07`; nil outside the years 0 to 9999.
  func text(of date: ReferenceDate) -> String? {
    guard let moment = moment(of: date),
      var text = ReferenceDate(seconds: Double(moment.day * 86_400) + Double(moment.secondOfDay))
        .iso8601.map({ Array($0.utf8) }), text.count == 20
    else { return nil }
    // The text of UTC, `2026-11-20T22:53:07Z`, is that of the clocks here.
    text[10] = UInt8(ascii: " ")
    text.removeLast()
    return String(decoding: text, as: UTF8.self)
  }

  /// The date as the number by which spreadsheets know it: days since 1899-12-30. Nil before 1900-03-01, because they
  /// count a 1900-02-29, and after 9999.
  func serial(of date: ReferenceDate) -> Double? {
    guard let moment = moment(of: date) else { return nil }
    let day = moment.day + Self.firstOf2001
    guard day >= 61, day <= Self.lastDay else { return nil }
    let serial = Double(day) + (Double(moment.secondOfDay) + moment.fraction) / 86_400
    // The last millionths of a second of a day may round to the next one.
    return min(serial, Double(day + 1).nextDown)
  }
}

/// How CSV is written for a spreadsheet program that opens it without being asked.
package struct ExcelForm: Sendable {
  /// Whether the reader's language writes numbers with a comma.
  package let hasDecimalComma: Bool
  /// How dates are shown.
  package let dates: LocalDates

  /// A form of these two.
  package init(hasDecimalComma: Bool, dates: LocalDates) {
    self.hasDecimalComma = hasDecimalComma
    self.dates = dates
  }

  /// Whether the language that the environment names writes numbers with a comma; the system's language where it names
  /// none.
  ///
  /// - Parameter environment: the environment of the process: `LC_ALL`, `LC_NUMERIC` and `LANG` count, in this order.
  /// - Returns: whether it does.
  package static func hasDecimalComma(_ environment: [String: String]) -> Bool {
    let named = ["LC_ALL", "LC_NUMERIC", "LANG"].lazy.compactMap { environment[$0] }
      .first { !$0.utf8.isEmpty }
    let locale = named.map { Locale(identifier: $0) } ?? .current
    return locale.decimalSeparator.map { $0.utf8.elementsEqual(",".utf8) } ?? false
  }
}
