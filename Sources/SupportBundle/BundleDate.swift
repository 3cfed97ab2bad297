internal import Foundation

/// The date that is written into the manifest of a bundle. The caller chooses the date, so that the same bundle can be
/// made again byte for byte.
public struct BundleDate: Sendable, Equatable {
  package var secondsSince1970: Double

  /// Makes a date from the seconds since 1970-01-01 00:00:00 UTC.
  public init(secondsSince1970: Double) {
    self.secondsSince1970 = secondsSince1970
  }

  /// The date in UTC as ISO 8601 with milliseconds. Throws `bundle.badDate` outside the years 1 to 9999.
  func text() throws(BundleError) -> String {
    let milliseconds = (secondsSince1970 * 1000).rounded(.down)
    // From 0001-01-01 to the end of 9999.
    guard milliseconds >= -62_135_596_800_000, milliseconds < 253_402_300_800_000 else {
      throw BundleError(.badDate, "the date \(secondsSince1970) is outside the years 1 to 9999")
    }
    return Date(timeIntervalSince1970: milliseconds / 1000)
      .formatted(
        .iso8601.year().month().day().timeZone(separator: .omitted)
          .time(includingFractionalSeconds: true))
  }
}
