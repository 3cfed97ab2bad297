import CoreDataStore
package import Foundation

/// Converts dates to the local time of a time zone.
package struct LocalDates: Sendable {
  package let zone: TimeZone
  /// The name of the time zone, such as `Europe/Berlin`.
  package let name: String

  package static let utc = LocalDates(zone: .gmt, name: "UTC")

  private init(zone: TimeZone, name: String) {
    self.zone = zone
    self.name = name
  }

  /// Creates a converter for a time zone of the IANA database, such as `Europe/Berlin`, or for `local`, the time zone
  /// of this machine. Returns nil for an unknown name.
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

  /// The names that ``init(named:)`` accepts: UTC, `local`, and the names of the IANA database.
  package static var names: [String] { ["UTC", "local"] + TimeZone.knownTimeZoneIdentifiers }

  /// The number of days from 1899-12-30 to 2001-01-01.
  private static let firstOf2001: Int64 = 36_892
  /// The day number of 9999-12-31, the last day in a spreadsheet. Day 0 is 1899-12-30.
  private static let lastDay: Int64 = 2_958_465

  /// A moment in the Gregorian calendar, in the local time of the time zone.
  struct Moment {
    /// The number of days since 2001-01-01 in the time zone; negative for earlier days.
    let day: Int64
    let secondOfDay: Int
    /// The fraction of a second: at least 0, and less than 1.
    let fraction: Double
  }

  /// Returns a date in local time. Returns nil if the date is not finite, or if it is more than 30,000 years before or
  /// after 2001.
  func moment(of date: ReferenceDate) -> Moment? {
    guard date.seconds.isFinite, abs(date.seconds) < 1e12 else { return nil }
    let whole = date.seconds.rounded(.down)
    let offset = zone.secondsFromGMT(for: Date(timeIntervalSinceReferenceDate: whole))
    let seconds = Int64(whole) + Int64(offset)
    let day = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
    return Moment(
      day: day, secondOfDay: Int(seconds - day * 86_400), fraction: date.seconds - whole)
  }

  /// Returns a date in local time, as text without fractions of a second, such as `2026-11-20 22:53:07`; nil outside
  /// the years 0 to 9999.
  func text(of date: ReferenceDate) -> String? {
    guard let moment = moment(of: date),
      var text = ReferenceDate(seconds: Double(moment.day * 86_400) + Double(moment.secondOfDay))
        .iso8601.map({ Array($0.utf8) }), text.count == 20
    else { return nil }
    // `text` has the form that is used for UTC, `2026-11-20T22:53:07Z`, but shows the local time.
    text[10] = UInt8(ascii: " ")
    text.removeLast()
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns a date in local time as a spreadsheet's serial number: the number of days since 1899-12-30. Returns nil
  /// after the year 9999, and before 1900-03-01, because spreadsheets count 1900-02-29, a day that did not exist.
  func serial(of date: ReferenceDate) -> Double? {
    guard let moment = moment(of: date) else { return nil }
    let day = moment.day + Self.firstOf2001
    guard day >= 61, day <= Self.lastDay else { return nil }
    let serial = Double(day) + (Double(moment.secondOfDay) + moment.fraction) / 86_400
    // The last microseconds of a day may be rounded up to the next day.
    return min(serial, Double(day + 1).nextDown)
  }
}

/// The variant of CSV for a spreadsheet program in the user's language. The program opens such a file correctly and
/// does not ask for the format.
package struct ExcelForm: Sendable {
  package let hasDecimalComma: Bool
  package let dates: LocalDates

  package init(hasDecimalComma: Bool, dates: LocalDates) {
    self.hasDecimalComma = hasDecimalComma
    self.dates = dates
  }

  /// Whether the user's language writes numbers with a decimal comma. The first of `LC_ALL`, `LC_NUMERIC` and `LANG` in
  /// `environment` that is not empty names the language. If all of them are empty, the language is that of the system.
  package static func hasDecimalComma(_ environment: [String: String]) -> Bool {
    let named = ["LC_ALL", "LC_NUMERIC", "LANG"].lazy.compactMap { environment[$0] }
      .first { !$0.utf8.isEmpty }
    let locale = named.map { Locale(identifier: $0) } ?? .current
    return locale.decimalSeparator.map { $0.utf8.elementsEqual(",".utf8) } ?? false
  }
}
