/// Interprets the text of a YES/NO attribute in an `.xcdatamodel`.
package enum SwitchText {
  /// Returns the value of a string, in upper or lower case: YES or NO (which Xcode nearly always writes), true or false
  /// (found once, in one of Xcode's templates), 1 or 0. An empty string is false. Nil for any other string.
  package static func value(_ text: String) -> Bool? {
    switch text.lowercased() {
    case "yes", "true", "1": true
    case "no", "false", "0", "": false
    default: nil
    }
  }
}
