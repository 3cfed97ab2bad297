/// A fixture could not be made. This error makes the test fail that has asked for the fixture.
public struct FixtureError: Error, CustomStringConvertible {
  /// What went wrong.
  public let description: String

  /// Creates an error with a sentence that says what went wrong.
  public init(_ description: String) {
    self.description = description
  }
}
