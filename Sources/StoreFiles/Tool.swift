package enum Tool {
  /// The version of Lifeboat, which is written into every record that Lifeboat makes.
  package static let version = "0.1.0"
}
