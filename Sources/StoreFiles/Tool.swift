package enum Tool {
  /// Written into every record that Lifeboat makes.
  package static let version = "0.1.0"
}
