/// Reads the text of a YES/NO attribute in an `.xcdatamodel`.
package enum SwitchText {
  /// The value of YES and NO (which Xcode nearly always writes), true and false (once in its own template), 1 and 0, in
  /// upper or lower case; empty text is no. Nil for any other text.
  package static func value(_ text: String) -> Bool? {
    switch text.lowercased() {
    case "yes", "true", "1": true
    case "no", "false", "0", "": false
    default: nil
    }
  }
}
