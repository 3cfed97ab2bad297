import Foundation

/// UTC times in the formats that file names and records use, computed without the system's calendar.
enum Timestamp {
  /// The date in the form `yyyy-MM-dd-HH-mm-ssZ`, which sorts by time and is a valid name on every volume.
  static func folderName(_ date: Date) -> String {
    let time = fields(date)
    return
      "\(pad(time.year, 4))-\(pad(time.month, 2))-\(pad(time.day, 2))-\(pad(time.hour, 2))-\(pad(time.minute, 2))-\(pad(time.second, 2))Z"
  }

  /// The date in the form `yyyy-MM-dd HH:mm UTC`, for people.
  static func text(_ date: Date) -> String {
    let time = fields(date)
    return
      "\(pad(time.year, 4))-\(pad(time.month, 2))-\(pad(time.day, 2)) \(pad(time.hour, 2)):\(pad(time.minute, 2)) UTC"
  }

  /// The date without its fraction of a second, which a record could not hold.
  static func wholeSeconds(_ date: Date) -> Date {
    Date(timeIntervalSince1970: Double(seconds(date)))
  }

  static func isFolderName(_ name: String) -> Bool {
    var count = 0
    for byte in name.utf8.prefix(20) {
      let isRight =
        switch count {
        case 4, 7, 10, 13, 16: byte == UInt8(ascii: "-")
        case 19: byte == UInt8(ascii: "Z")
        default: (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
      guard isRight else { return false }
      count += 1
    }
    return count == 20
  }

  struct Fields {
    var year, month, day, hour, minute, second: Int
  }

  /// The whole seconds since 1970, clamped to the years 0 to 9999, so that a wrong clock cannot break a name.
  private static func seconds(_ date: Date) -> Int {
    let value = date.timeIntervalSince1970
    guard value.isFinite else { return 0 }
    return Int(min(max(value.rounded(.down), -62_167_219_200), 253_402_300_799))
  }

  /// The UTC date and time of day of `date`. The proleptic Gregorian calendar repeats every 146097 days.
  static func fields(_ date: Date) -> Fields {
    let total = seconds(date)
    let day = (total >= 0 ? total : total - 86_399) / 86_400
    let rest = total - day * 86_400
    // Days are counted from 0000-03-01, so that the leap day is the last day of a year.
    let shifted = day + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let civilMonth = month < 10 ? month + 3 : month - 9
    return Fields(
      year: yearOfEra + era * 400 + (civilMonth <= 2 ? 1 : 0), month: civilMonth,
      day: dayOfYear - (153 * month + 2) / 5 + 1, hour: rest / 3600, minute: rest / 60 % 60,
      second: rest % 60)
  }

  private static func pad(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
