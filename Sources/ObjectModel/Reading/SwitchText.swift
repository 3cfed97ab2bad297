/// Interprets the text of a YES/NO attribute in an `.xcdatamodel`.
package enum SwitchText {
  /// Returns the value of a string, in upper or lower case. YES, true and 1 are true. NO, false, 0 and an empty string
  /// are false. Nil for any other string. Xcode nearly always writes YES and NO; true and false were found in one of
  /// its templates.
  package static func value(_ text: String) -> Bool? {
    switch text.lowercased() {
    case "yes", "true", "1": true
    case "no", "false", "0", "": false
    default: nil
    }
  }
}
