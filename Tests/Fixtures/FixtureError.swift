/// A fixture that could not be made; it fails the test that asked for it.
public struct FixtureError: Error, CustomStringConvertible {
  /// What went wrong.
  public let description: String

  /// Wraps a sentence.
  public init(_ description: String) {
    self.description = description
  }
}
