/// What the text of a switch in a model's source says.
package enum SwitchText {
  /// YES and NO, which Xcode nearly always writes, true and false, which its own template has once, 1 and 0, in
  /// upper or lower case; empty text is no. Nil for any other text.
  package static func value(_ text: String) -> Bool? {
    switch text.lowercased() {
    case "yes", "true", "1": true
    case "no", "false", "0", "": false
    default: nil
    }
  }
}
