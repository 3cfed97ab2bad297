/// The program that made a record.
package enum Tool {
  /// The version of Lifeboat, written into every record it makes.
  package static let version = "0.1.0"
}
