import Foundation
import SafeText

/// UTC times in the formats that file names and records use, computed without the system's calendar.
enum Timestamp {
  /// The date in the form `yyyy-MM-dd-HH-mm-ssZ`, which sorts by time and is a valid name on every volume.
  static func folderName(_ date: Date) -> String {
    let time = fields(date)
    return
      "\(padded(time.year, 4))-\(padded(time.month, 2))-\(padded(time.day, 2))-\(padded(time.hour, 2))-\(padded(time.minute, 2))-\(padded(time.second, 2))Z"
  }

  /// The date in the form `yyyy-MM-dd HH:mm UTC`, for people.
  static func text(_ date: Date) -> String {
    let time = fields(date)
    return
      "\(padded(time.year, 4))-\(padded(time.month, 2))-\(padded(time.day, 2)) \(padded(time.hour, 2)):\(padded(time.minute, 2)) UTC"
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

  /// The UTC date and time of day of `date`.
  static func fields(_ date: Date) -> Fields {
    let total = seconds(date)
    let day = (total >= 0 ? total : total - 86_399) / 86_400
    let rest = total - day * 86_400
    let civil = CivilDate(dayNumber: day + 719_468)
    return Fields(
      year: civil.year, month: civil.month, day: civil.day, hour: rest / 3600,
      minute: rest / 60 % 60, second: rest % 60)
  }
}
