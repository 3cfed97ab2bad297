package enum Tool {
  /// The version of Lifeboat, which Lifeboat writes into its records.
  package static let version = "0.1.0"
}
