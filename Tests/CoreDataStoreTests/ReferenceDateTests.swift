import CoreDataStore
import Fixtures
import Foundation
import Testing

/// Dates as text, against Foundation's.
@Suite struct ReferenceDateTests {
  @Test func wholeSecondsAreAsFoundationWritesThem() throws {
    let formatter = ISO8601DateFormatter()
    var generator = SplitMix64(seed: 11)
    // Foundation changes to the Julian calendar in 1582, which ISO 8601 does not know, so its own text is only
    // compared from then on; before, the calendar is counted with the proleptic Gregorian one.
    var calendar = Calendar(identifier: .iso8601)
    calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
    var compared = 0
    for _ in 0..<10_000 {
      // From year 1 to 9999.
      let seconds = Double(Int64.random(in: -63_113_904_000..<252_423_993_600, using: &generator))
      let date = Date(timeIntervalSinceReferenceDate: seconds)
      let text = try #require(ReferenceDate(seconds: seconds).iso8601)
      if seconds > -13_197_600_000 {
        #expect(text == formatter.string(from: date))
        compared += 1
      }
      #expect(Self.seconds(of: text) == seconds, "\(text)")
    }
    #expect(compared > 7000)
  }

  /// The seconds that a text stands for, counted year by year.
  private static func seconds(of text: String) -> Double? {
    let numbers = text.split { !$0.isNumber }.compactMap { Int($0) }
    guard numbers.count == 6, text.hasSuffix("Z") else { return nil }
    let (year, month, day) = (numbers[0], numbers[1], numbers[2])
    func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }
    let before = year - 1
    var days = before * 365 + before / 4 - before / 100 + before / 400
    let lengths = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    days += lengths[..<(month - 1)].reduce(0, +) + day - 1
    // Days from 0001-01-01 to 2001-01-01.
    days -= 2000 * 365 + 2000 / 4 - 2000 / 100 + 2000 / 400
    return Double(days * 86_400 + numbers[3] * 3600 + numbers[4] * 60 + numbers[5])
  }

  @Test(
    arguments: [
      (0, "2001-01-01T00:00:00Z"), (-1, "2000-12-31T23:59:59Z"), (0.5, "2001-01-01T00:00:00.5Z"),
      (-0.25, "2000-12-31T23:59:59.75Z"), (0.000_000_4, "2001-01-01T00:00:00Z"),
      (0.999_999_9, "2001-01-01T00:00:01Z"), (-0.000_000_1, "2001-01-01T00:00:00Z"),
      (1.000_001, "2001-01-01T00:00:01.000001Z"), (-978_307_200, "1970-01-01T00:00:00Z"),
      (-63_113_904_000, "0001-01-01T00:00:00Z"), (63_113_904_000, "4001-01-01T00:00:00Z"),
      (252_423_993_599, "9999-12-31T23:59:59Z"), (694_224_000, "2023-01-01T00:00:00Z"),
    ] as [(Double, String)])
  func edges(_ seconds: Double, _ text: String) {
    #expect(ReferenceDate(seconds: seconds).iso8601 == text)
  }

  @Test(
    arguments: [
      252_423_993_600, 1e12, -1e12, 1e300, -1e300, .infinity, -.infinity, .nan,
      -64_000_000_000 - 1e9,
      .greatestFiniteMagnitude, 9e15,
    ] as [Double])
  func whatTheFormCannotSayIsNil(_ seconds: Double) {
    #expect(ReferenceDate(seconds: seconds).iso8601 == nil)
  }
}
